//! Compares the statements that apply to a whole contract: triggers, roles, limits, scope,
//! recovery, gate, order.

use super::contracts::{Comparison, Less, MIXED, Side, Unit, UnitIndex, difference, open_to};
use super::reach::{TOO_LARGE, differing_atoms, raising};
use super::sampled::only_in;
use super::settings::{Finding, ceiling, finding, items, shown};
use super::{At, Class};
use crate::base::command::to_text;
use crate::base::glob::Selection;
use crate::base::path::RepoPath;
use crate::base::unit::show_duration;
use crate::base::vocabulary::RewriteRule;
use crate::contract::draft::Allowance;
use crate::contract::{CheckIndex, Condition, Contract, Risk, Test};
use crate::plan::Policy;
use std::collections::{BTreeMap, BTreeSet};

/// The most checks of tier 1, or with a tag, for which a request is searched when their triggers or
/// roles changed.
const MOST_ASKED: usize = 64;

impl Comparison<'_> {
    /// Compares all of them.
    pub fn shared(&mut self) {
        let before = self.found.len();
        self.triggers();
        self.roles();
        if self.found.len() > before {
            self.handed();
        }
        self.limits();
        self.scope();
        self.allowed();
        self.recovery();
        self.gate();
        self.rest();
    }

    /// Compares what triggers and roles decide besides whether a check is selected. With
    /// `{changed}`, a check that applies in several places and that others need sees other files
    /// when it is selected than when it is only needed: what selects more may show it less. Of
    /// equal anonymous checks the first that is selected lends its settings.
    fn handed(&mut self) {
        let old = self.old.contract;
        for unit in self.pairs.old.all.iter().filter(|u| !u.is_uniform(old)) {
            let said = finding(Class::Undecided, "triggers or roles differ", MIXED);
            self.found.push(difference(
                said,
                format!("check {}", shown(&unit.check.id)),
                None,
                None,
            ));
        }
        for unit in self
            .pairs
            .old
            .all
            .iter()
            .filter(|u| u.changed().is_some() && u.check.placements.len() > 1)
        {
            if (unit.check.tier > 0 || self.restricted) && self.pairs.old.is_needed(unit) {
                let what = "triggers or roles differ";
                let why = "others need it, and which changed files it then sees cannot be compared";
                let subject = format!("check {}", shown(&unit.check.id));
                self.found.push(difference(
                    finding(Class::Undecided, what, why),
                    subject,
                    None,
                    None,
                ));
            }
        }
    }

    fn say(&mut self, subject: &str, finding: Finding, old: Option<usize>, new: Option<usize>) {
        let at = |side: &Side, line: Option<usize>| {
            line.map(|line| At {
                file: side.contract.path.clone(),
                line,
            })
        };
        let (old, new) = (at(&self.old, old), at(&self.new, new));
        self.push(difference(finding, subject.to_owned(), old, new));
    }

    fn triggers(&mut self) {
        let (old, new) = (self.old.contract, self.new.contract);
        let key = |risk: &Risk| {
            (
                risk.name.clone(),
                risk.tier,
                serde_json::to_string(&risk.selection).unwrap_or_default(),
            )
        };
        let known = |contract: &Contract| {
            contract
                .risks
                .iter()
                .map(key)
                .collect::<std::collections::BTreeSet<_>>()
        };
        if known(old) == known(new) {
            return;
        }
        let of = |contract| {
            raising(contract)
                .map(|r| &r.selection)
                .collect::<Vec<&Selection>>()
        };
        let (before, after) = (of(old), of(new));
        // With many triggers those that both have need not be distinguished, as long as they are in
        // both.
        let by_name = |contract| {
            raising(contract)
                .map(|r| (r.name.as_str(), r))
                .collect::<BTreeMap<&str, &Risk>>()
        };
        let (old_risks, new_risks) = (by_name(old), by_name(new));
        for (name, risk) in &old_risks {
            let other = new_risks.get(name);
            if other.is_some_and(|o| o.selection == risk.selection) {
                self.lowered(name, risk, other.copied());
                continue;
            }
            let what = match other {
                Some(o) => format!("{} -> {}", items(&risk.selection), items(&o.selection)),
                None if new.risks.iter().any(|r| r.name == **name) => "tier 1 -> 0".to_owned(),
                None => "removed".to_owned(),
            };
            self.trigger(
                name,
                Some(risk),
                other.copied(),
                what,
                differing_atoms(&[&risk.selection], &after).or_else(|| {
                    let shows = only_in(&[&risk.selection], &after, self.tracked);
                    shows.map(|path| (Some(path), None))
                }),
                &before,
            );
        }
        for (name, risk) in new_risks
            .iter()
            .filter(|(name, _)| !old_risks.contains_key(*name))
        {
            let gained = differing_atoms(&before, &[&risk.selection]).map(|(_, gained)| gained);
            let finding = match gained {
                None => finding(Class::Changes, "added", TOO_LARGE),
                Some(None) => finding(
                    Class::Cosmetic,
                    "added",
                    "other triggers select the same files",
                ),
                Some(Some(path)) => finding(
                    Class::Strengthens,
                    "added",
                    format!("a change of {} now reaches tier 1", shown(path)),
                ),
            };
            self.say(
                &format!("risk {}", shown(name)),
                finding,
                None,
                Some(risk.line),
            );
        }
    }

    /// Compares two tiers of a trigger; tier 2 counts as tier 1.
    fn lowered(&mut self, name: &str, old: &Risk, new: Option<&Risk>) {
        if let Some(new) = new.filter(|new| new.tier != old.tier) {
            let what = format!("tier {} -> {}", old.tier, new.tier);
            let said = finding(Class::Cosmetic, what, "a trigger reaches tier 1 at most");
            self.say(
                &format!("risk {}", shown(name)),
                said,
                Some(old.line),
                Some(new.line),
            );
        }
    }

    fn trigger(
        &mut self,
        name: &str,
        old: Option<&Risk>,
        new: Option<&Risk>,
        what: String,
        lost: Option<(Option<RepoPath>, Option<RepoPath>)>,
        before: &[&Selection],
    ) {
        let subject = format!("risk {}", shown(name));
        let places = (old.map(|r| r.line), new.map(|r| r.line));
        let gained = new
            .and_then(|r| differing_atoms(before, &[&r.selection]))
            .and_then(|(_, gained)| gained);
        match lost {
            None => self.say(
                &subject,
                finding(Class::Undecided, what.clone(), TOO_LARGE),
                places.0,
                places.1,
            ),
            Some((Some(path), _)) => {
                let (class, request, why) = self.tier_one();
                let reached = format!("a change of {} no longer reaches tier 1{why}", shown(path));
                self.say(
                    &subject,
                    finding(class, what.clone(), reached),
                    places.0,
                    places.1,
                );
                if let Some(last) = self.found.last_mut() {
                    last.request = request;
                }
            }
            Some((None, _)) if gained.is_none() => {
                let why = "the same changes reach tier 1";
                self.say(
                    &subject,
                    finding(Class::Cosmetic, what.clone(), why),
                    places.0,
                    places.1,
                );
            }
            Some((None, _)) => {}
        }
        if let Some(path) = gained {
            let why = format!("a change of {} now reaches tier 1", shown(path));
            self.say(
                &subject,
                finding(Class::Strengthens, what, why),
                places.0,
                places.1,
            );
        }
    }

    /// Whether some check of tier 1 is lost when fewer changes reach the tier.
    fn tier_one(&mut self) -> (Class, Option<usize>, String) {
        let pairs = self.pairs;
        let old = self.old.contract;
        let at_one = |unit: &Unit| unit.checks(old).iter().any(|c| c.tier == 1);
        let units = pairs.old.all.numbered();
        let of_tier: Vec<(UnitIndex, &Unit)> = units.filter(|(_, unit)| at_one(unit)).collect();
        let mut unknown = None;
        for (index, unit) in of_tier.iter().take(MOST_ASKED) {
            if !self.counts(unit) {
                continue;
            }
            match self.less(*index, false, None) {
                Less::Yes(request) => return (Class::Weakens, request, String::new()),
                Less::Undecided(why) => unknown = Some(why),
                Less::No => {}
            }
        }
        match unknown {
            Some(why) => (
                Class::Undecided,
                None,
                format!("; whether a check is lost: {why}"),
            ),
            None if of_tier.len() > MOST_ASKED => (Class::Weakens, None, String::new()),
            None => (
                Class::Changes,
                None,
                ", but no check depends on that".to_owned(),
            ),
        }
    }

    fn roles(&mut self) {
        let (old, new) = (self.old.contract, self.new.contract);
        let pairs = self.pairs;
        for (name, before) in &old.roles {
            let subject = format!("role {}", shown(name));
            let Some(after) = new.roles.get(name) else {
                let said = finding(Class::Changes, "removed", "a request for it is refused");
                self.say(&subject, said, before.line, None);
                continue;
            };
            let (a, b) = (sorted(&before.only), sorted(&after.only));
            if a != b {
                let word = |only: &[String]| {
                    if only.is_empty() {
                        "all".to_owned()
                    } else {
                        shown(only.join(" "))
                    }
                };
                let what = format!("only {} -> {}", word(&before.only), word(&after.only));
                let is_lost = |i: &UnitIndex| {
                    let partner = pairs.to_new.get(i).map(|p| &pairs.new.all[*p]);
                    open_to(old, name, &pairs.old.all[*i])
                        && partner.is_some_and(|p| !open_to(new, name, p))
                };
                let lost: Vec<UnitIndex> = pairs.old.all.indices().filter(is_lost).collect();
                let (class, request, why) = self.shut_out(name, &lost);
                self.say(&subject, finding(class, what, why), before.line, after.line);
                if let Some(last) = self.found.last_mut() {
                    last.request = request;
                }
            }
            if before.max_checks != after.max_checks {
                let said = most_checks(before.max_checks, after.max_checks);
                self.say(&subject, said, before.line, after.line);
            }
        }
        for (name, role) in new
            .roles
            .iter()
            .filter(|(name, _)| !old.roles.contains_key(*name))
        {
            // A caller that may choose the role is asked for less by it than by one that was there.
            let names_others = |c: &Condition| matches!(&c.test, Test::Role(roles) if !roles.iter().any(|r| r == name));
            let is_less = !role.only.is_empty() || new.conditions.iter().any(names_others);
            let (class, why) = if is_less {
                let why =
                    "a request for it was refused before, and it is asked for less than others";
                (Class::Undecided, why)
            } else {
                (Class::Changes, "a request for it was refused before")
            };
            let said = finding(class, "added", why);
            self.say(&format!("role {}", shown(name)), said, None, role.line);
        }
    }

    /// Classifies the checks that a narrower role loses.
    fn shut_out(&mut self, role: &str, lost: &[UnitIndex]) -> (Class, Option<usize>, String) {
        let pairs = self.pairs;
        let mut unknown = None;
        for index in lost.iter().take(MOST_ASKED) {
            let unit = &pairs.old.all[*index];
            if !self.counts(unit) {
                continue;
            }
            match self.less(*index, false, Some(&[role.to_owned()])) {
                Less::Yes(request) => {
                    let more = if lost.len() > 1 {
                        format!(", and up to {} more", lost.len() - 1)
                    } else {
                        String::new()
                    };
                    return (
                        Class::Weakens,
                        request,
                        format!("it is no longer asked for {}{more}", shown(&unit.check.id)),
                    );
                }
                Less::Undecided(why) => unknown = Some(why),
                Less::No => {}
            }
        }
        match unknown {
            Some(why) => (Class::Undecided, None, why.to_owned()),
            None if lost.len() > MOST_ASKED => (
                Class::Weakens,
                None,
                format!("it shuts out {} checks", lost.len()),
            ),
            None => (Class::Changes, None, "no check is lost by that".to_owned()),
        }
    }

    fn limits(&mut self) {
        let (old, new) = (&self.old.contract.limits, &self.new.contract.limits);
        if let Some(said) = budget(old.budget_ms, new.budget_ms) {
            self.say("limits", said, None, None);
        }
        if old.max_checks != new.max_checks {
            self.say(
                "limits",
                most_checks(old.max_checks, new.max_checks),
                None,
                None,
            );
        }
        if old.jobs != new.jobs {
            let [before, now] = [old, new].map(|limits| limits.jobs.unwrap_or(Policy::JOBS));
            let what = format!("jobs {before} -> {now}");
            self.say(
                "limits",
                finding(Class::Changes, what, "steps side by side"),
                None,
                None,
            );
        }
    }

    fn scope(&mut self) {
        let (old, new) = (&self.old.contract.scope, &self.new.contract.scope);
        let lines = (old.line, new.line);
        let word = |s: &Option<Selection>, none: &str| s.as_ref().map_or(none.to_owned(), items);
        for (name, a, b, none) in [
            ("allow", &old.allow, &new.allow, "all"),
            ("deny", &old.deny, &new.deny, "none"),
        ] {
            if a == b {
                continue;
            }
            let what = format!("{name} {} -> {}", word(a, none), word(b, none));
            let everything = every_path();
            let list = |s: &Option<Selection>| match (s, name) {
                (Some(s), _) => vec![s.clone()],
                (None, "allow") => everything.iter().cloned().collect(),
                (None, _) => Vec::new(),
            };
            let (before, after) = (list(a), list(b));
            let found = differing_atoms(
                &before.iter().collect::<Vec<_>>(),
                &after.iter().collect::<Vec<_>>(),
            );
            // More allowed, or less denied, is looser.
            let (looser, tighter) = match (found, name) {
                (None, _) => {
                    let (some, none) = if name == "allow" {
                        (&after, &before)
                    } else {
                        (&before, &after)
                    };
                    let (some, none) = (some.iter().collect(), none.iter().collect());
                    match self.only_in(some, none) {
                        Some(path) => (Some(path), None),
                        None => {
                            let said = finding(Class::Undecided, what, TOO_LARGE);
                            self.say("scope", said, lines.0, lines.1);
                            continue;
                        }
                    }
                }
                (Some((gone, come)), "allow") => (come, gone),
                (Some((gone, come)), _) => (gone, come),
            };
            if looser.is_none() && tighter.is_none() {
                self.say(
                    "scope",
                    finding(Class::Cosmetic, what.clone(), "it covers the same"),
                    lines.0,
                    lines.1,
                );
            }
            if let Some(path) = looser {
                let why = format!("a change of {} is no longer a violation by it", shown(path));
                self.say(
                    "scope",
                    finding(Class::Weakens, what.clone(), why),
                    lines.0,
                    lines.1,
                );
            }
            if let Some(path) = tighter {
                let why = format!("a change of {} is a violation", shown(path));
                self.say(
                    "scope",
                    finding(Class::Strengthens, what, why),
                    lines.0,
                    lines.1,
                );
            }
        }
    }

    /// Compares what imports from other repositories may widen.
    fn allowed(&mut self) {
        let words = |contract: &Contract| {
            let mut words = BTreeMap::new();
            for allowed in &contract.allowed {
                for word in &allowed.words {
                    let key = (allowed.import.clone(), allowed.namespace.clone(), *word);
                    words.insert(key, allowed.line);
                }
            }
            words
        };
        let (old, new) = (words(self.old.contract), words(self.new.contract));
        let said = |word: &Allowance| format!("allow {}", word.word());
        for ((import, _, word), line) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
            let why = "a file of another repository may widen what its checks may do";
            let found = finding(Class::Weakens, format!("{} added", said(word)), why);
            self.say(
                &format!("import {}", shown(import)),
                found,
                None,
                Some(*line),
            );
        }
        for ((import, _, word), line) in old.iter().filter(|(key, _)| !new.contains_key(*key)) {
            let why = "a file of another repository may no longer widen what its checks may do";
            let found = finding(Class::Strengthens, format!("{} removed", said(word)), why);
            self.say(
                &format!("import {}", shown(import)),
                found,
                Some(*line),
                None,
            );
        }
    }

    fn only_in(&self, some: Vec<&Selection>, none: Vec<&Selection>) -> Option<RepoPath> {
        only_in(&some, &none, self.tracked)
    }

    fn recovery(&mut self) {
        let (old, new) = (&self.old.contract.recover, &self.new.contract.recover);
        let less = |a: &[RewriteRule], b: &[RewriteRule]| {
            a.iter()
                .filter(|r| !b.contains(r))
                .map(shown)
                .collect::<Vec<_>>()
        };
        let (more, fewer) = (less(&new.rules, &old.rules), less(&old.rules, &new.rules));
        if !more.is_empty() {
            let what = format!("allows {}", more.join(", "));
            self.say(
                "recover",
                finding(Class::Weakens, what, "recovery may rewrite more plans"),
                None,
                None,
            );
        }
        if !fewer.is_empty() {
            self.say(
                "recover",
                finding(
                    Class::Strengthens,
                    format!("no longer allows {}", fewer.join(", ")),
                    "",
                ),
                None,
                None,
            );
        }
        match (old.contract, new.contract) {
            (false, true) => {
                let why = "recovery may drop the contract's own checks";
                self.say(
                    "recover",
                    finding(Class::Weakens, "is now `contract`", why),
                    None,
                    None,
                );
            }
            (true, false) => {
                self.say(
                    "recover",
                    finding(Class::Strengthens, "is no longer `contract`", ""),
                    None,
                    None,
                );
            }
            _ => {}
        }
    }

    fn gate(&mut self) {
        const CONFIRMATIONS: u32 = 1;
        const RETRIES: u32 = 3;
        const SAME_FAILURE: u32 = 3;
        let (old, new) = (&self.old.contract.gate, &self.new.contract.gate);
        let (a, b) = (
            old.confirmations.unwrap_or(CONFIRMATIONS),
            new.confirmations.unwrap_or(CONFIRMATIONS),
        );
        if a != b {
            let class = ceiling(&b, &a);
            self.say(
                "gate",
                finding(class, format!("confirmations {a} -> {b}"), ""),
                None,
                None,
            );
        }
        let (a, b) = (
            old.retries.unwrap_or(RETRIES),
            new.retries.unwrap_or(RETRIES),
        );
        if a != b {
            self.say(
                "gate",
                finding(
                    ceiling(&a, &b),
                    format!("retries {a} -> {b}"),
                    "rounds of repair",
                ),
                None,
                None,
            );
        }
        let (a, b) = (
            old.same_failure.unwrap_or(SAME_FAILURE),
            new.same_failure.unwrap_or(SAME_FAILURE),
        );
        if a != b {
            self.say(
                "gate",
                finding(ceiling(&a, &b), format!("same-failure {a} -> {b}"), ""),
                None,
                None,
            );
        }
        for (name, a, b, order) in [
            (
                "on-exhausted",
                &old.on_exhausted,
                &new.on_exhausted,
                ["fail", "escalate", "allow"],
            ),
            (
                "propagate",
                &old.propagate,
                &new.propagate,
                ["reset", "downgrade", "off"],
            ),
        ] {
            // The defaults: `fail`, and `downgrade`.
            let default = if name == "propagate" {
                "downgrade"
            } else {
                "fail"
            };
            let (a, b) = (
                a.as_deref().unwrap_or(default),
                b.as_deref().unwrap_or(default),
            );
            let rank = |word: &str| order.iter().position(|o| *o == word);
            if a != b {
                self.say(
                    "gate",
                    finding(
                        ceiling(&rank(a), &rank(b)),
                        format!("{name} {a} -> {b}"),
                        "",
                    ),
                    None,
                    None,
                );
            }
        }
    }

    fn rest(&mut self) {
        let (old, new) = (self.old.contract, self.new.contract);
        if old.base != new.base {
            let word = |base: &Option<String>| base.as_deref().map_or("none".to_owned(), cut);
            let what = format!("{} -> {}", word(&old.base), word(&new.base));
            // Which commits a change holds is no matter of the contract: the number that is
            // examined is not compared here.
            self.say(
                "base",
                finding(
                    Class::Undecided,
                    what,
                    "changes are compared with another branch",
                ),
                None,
                None,
            );
        }
        if old.judge_with != new.judge_with {
            let word = |c: &Contract| {
                c.judge_with
                    .as_ref()
                    .map_or("none".to_owned(), |c| shown(c.to_text()))
            };
            let what = format!("{} -> {}", word(old), word(new));
            self.say(
                "judge-with",
                finding(Class::Undecided, what, "another judge"),
                None,
                None,
            );
        }
        if old.toolchains != new.toolchains {
            let words = |c: &Contract| {
                let commands = c.toolchains.iter();
                let each = commands.map(|(name, command)| {
                    format!("{name}: {}", to_text(&command.env, &command.argv))
                });
                let all = each.collect::<Vec<_>>().join(", ");
                shown(if all.is_empty() {
                    "none".to_owned()
                } else {
                    all
                })
            };
            let what = format!("{} -> {}", words(old), words(new));
            let why = "a shared pass of other toolchains may stand for a check";
            self.say(
                "toolchain",
                finding(Class::Undecided, what, why),
                None,
                None,
            );
        }
        let more: Vec<String> = (new.linked.iter())
            .filter(|path| !old.linked.contains(path))
            .map(shown)
            .collect();
        if !more.is_empty() {
            let why = "with `--staged`, checks may find there what is not staged";
            let said = finding(Class::Undecided, more.join(" "), why);
            self.say("linked", said, None, None);
        }
        let names = |contract: &Contract| {
            let id = |i: &CheckIndex| contract.checks[*i].id.as_str();
            let sequence = |s: &crate::contract::Sequence| -> (String, usize) {
                let groups = s
                    .groups
                    .iter()
                    .map(|g| g.iter().map(id).collect::<Vec<_>>().join(", "));
                (groups.collect::<Vec<_>>().join(" -> "), s.line)
            };
            contract
                .sequences
                .iter()
                .map(sequence)
                .collect::<BTreeMap<String, usize>>()
        };
        let (before, after) = (names(old), names(new));
        let kept = self.keeps_order();
        for (text, line) in before.iter().filter(|(text, _)| !after.contains_key(*text)) {
            let what = format!("no longer {}", cut(text));
            let said = if kept {
                finding(Class::Changes, what, "other sequences order the same")
            } else {
                let why = "what one check makes may be there, or not, when another one runs";
                finding(Class::Undecided, what, why)
            };
            self.say("sequence", said, Some(*line), None);
        }
        for (text, line) in after.iter().filter(|(text, _)| !before.contains_key(*text)) {
            self.say(
                "sequence",
                finding(Class::Changes, cut(text), "it only orders steps"),
                None,
                Some(*line),
            );
        }
        if old.name != new.name {
            let word = |c: &Contract| c.name.as_ref().map_or("none".to_owned(), shown);
            self.say(
                "contract",
                finding(
                    Class::Cosmetic,
                    format!("{} -> {}", word(old), word(new)),
                    "",
                ),
                None,
                None,
            );
        }
    }
}

/// The most pairs of checks whose order is compared.
const MOST_PAIRS: usize = 200_000;

impl Comparison<'_> {
    /// Whether sequences of the newer contract put all checks in order that those of the older one
    /// do, as far as both have them.
    fn keeps_order(&self) -> bool {
        let pairs = self.pairs;
        let now = |i: &CheckIndex| pairs.to_new.get(&pairs.old.of[*i]).copied();
        let before = ordered(self.old.contract, &now);
        let after = ordered(self.new.contract, &|i| Some(pairs.new.of[*i]));
        before
            .zip(after)
            .is_some_and(|(before, after)| before.is_subset(&after))
    }
}

/// Returns which unit comes before which by sequences; `None`: too many.
fn ordered(
    contract: &Contract,
    unit: &dyn Fn(&CheckIndex) -> Option<UnitIndex>,
) -> Option<BTreeSet<(UnitIndex, UnitIndex)>> {
    let mut found = BTreeSet::new();
    for sequence in &contract.sequences {
        let groups: Vec<Vec<UnitIndex>> = sequence
            .groups
            .iter()
            .map(|g| g.iter().filter_map(unit).collect())
            .collect();
        for (index, earlier) in groups.iter().enumerate() {
            for later in groups.iter().skip(index + 1).flatten() {
                found.extend(earlier.iter().map(|first| (*first, *later)));
                if found.len() > MOST_PAIRS {
                    return None;
                }
            }
        }
    }
    Some(found)
}

fn cut(text: &str) -> String {
    const LONGEST: usize = 80;
    if text.chars().count() <= LONGEST {
        return shown(text);
    }
    shown(text.chars().take(LONGEST).chain(['…']).collect::<String>())
}

fn sorted(words: &[String]) -> Vec<&String> {
    let mut words: Vec<&String> = words.iter().collect();
    words.sort();
    words.dedup();
    words
}

/// Compares two budgets; `None` if they are equal.
pub(super) fn budget(old: Option<u64>, new: Option<u64>) -> Option<Finding> {
    let word = |ms: Option<u64>| ms.map_or("none".to_owned(), show_duration);
    let most = |ms: Option<u64>| ms.unwrap_or(u64::MAX);
    let what = format!("budget {} -> {}", word(old), word(new));
    let class = ceiling(&most(old), &most(new));
    (old != new).then(|| finding(class, what, "time for the whole run"))
}

/// Compares `max-checks`, which cuts explicit, inferred and proposed steps, so that less is weaker.
fn most_checks(old: Option<u64>, new: Option<u64>) -> Finding {
    let word = |n: Option<u64>| n.map_or("none".to_owned(), |n| n.to_string());
    let most = |n: Option<u64>| n.unwrap_or(u64::MAX);
    let class = ceiling(&most(new), &most(old));
    finding(
        class,
        format!("max-checks {} -> {}", word(old), word(new)),
        "how many of a request's own commands run",
    )
}

fn every_path() -> Option<Selection> {
    let glob = crate::base::glob::Glob::parse("**").ok()?;
    Some(Selection {
        items: vec![crate::base::glob::Item {
            not: false,
            what: crate::base::glob::ItemContent::Glob(glob),
        }],
    })
}
