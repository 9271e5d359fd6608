//! Compares the statements that apply to a whole contract: triggers, roles, limits, scope,
//! recovery, gate, order.

use super::contracts::{Comparison, Less, MIXED, Side, difference, open_to};
use super::difference::At;
use super::difference::Class::{self, Changes, Cosmetic, Strengthens, Undecided, Weakens};
use super::reach::{TOO_LARGE, differing_atoms, raising};
use super::sampled::only_in;
use super::settings::{Finding, ceiling, finding, items, shown};
use super::units::{Unit, UnitIndex};
use crate::Policy;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::command::to_text;
use vplan_base::glob::Selection;
use vplan_base::path::RepoPath;
use vplan_base::unit::show_duration;
use vplan_base::vocabulary::RewriteRule;
use vplan_contract::draft::Allowance;
use vplan_contract::{CheckIndex, Condition, Contract, Risk, Test};

/// The most checks of tier 1, or with a tag, for which a request is searched when their triggers or
/// roles changed.
const MOST_ASKED: usize = 64;

/// The lines of a statement in the older and in the newer contract.
type Lines = (Option<usize>, Option<usize>);

/// What has no line of its own.
const WHOLE: Lines = (None, None);

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
            let said = finding(Undecided, "triggers or roles differ", MIXED);
            self.say(&format!("check {}", shown(&unit.check.id)), said, WHOLE);
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
                self.say(&subject, finding(Undecided, what, why), WHOLE);
            }
        }
    }

    fn say(&mut self, subject: &str, finding: Finding, lines: Lines) {
        let at = |side: &Side, line: Option<usize>| {
            line.map(|line| At {
                file: side.contract.path.clone(),
                line,
            })
        };
        let (old, new) = (at(&self.old, lines.0), at(&self.new, lines.1));
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
        let known = |contract: &Contract| contract.risks.iter().map(key).collect::<BTreeSet<_>>();
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
                None => finding(Changes, "added", TOO_LARGE),
                Some(None) => finding(Cosmetic, "added", "other triggers select the same files"),
                Some(Some(path)) => finding(
                    Strengthens,
                    "added",
                    format!("a change of {} now reaches tier 1", shown(path)),
                ),
            };
            self.say(
                &format!("risk {}", shown(name)),
                finding,
                (None, Some(risk.line)),
            );
        }
    }

    /// Compares two tiers of a trigger; tier 2 counts as tier 1.
    fn lowered(&mut self, name: &str, old: &Risk, new: Option<&Risk>) {
        if let Some(new) = new.filter(|new| new.tier != old.tier) {
            let what = format!("tier {} -> {}", old.tier, new.tier);
            let said = finding(Cosmetic, what, "a trigger reaches tier 1 at most");
            self.say(
                &format!("risk {}", shown(name)),
                said,
                (Some(old.line), Some(new.line)),
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
                finding(Undecided, what.clone(), TOO_LARGE),
                places,
            ),
            Some((Some(path), _)) => {
                let (class, request, why) = self.tier_one();
                let reached = format!("a change of {} no longer reaches tier 1{why}", shown(path));
                let said = finding(class, what.clone(), reached);
                self.say(&subject, said, places);
                if let Some(last) = self.found.last_mut() {
                    last.request = request;
                }
            }
            Some((None, _)) if gained.is_none() => {
                let why = "the same changes reach tier 1";
                let said = finding(Cosmetic, what.clone(), why);
                self.say(&subject, said, places);
            }
            Some((None, _)) => {}
        }
        if let Some(path) = gained {
            let why = format!("a change of {} now reaches tier 1", shown(path));
            let said = finding(Strengthens, what, why);
            self.say(&subject, said, places);
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
                Less::Yes(request) => return (Weakens, request, String::new()),
                Less::Undecided(why) => unknown = Some(why),
                Less::No => {}
            }
        }
        match unknown {
            Some(why) => (Undecided, None, format!("; whether a check is lost: {why}")),
            None if of_tier.len() > MOST_ASKED => (Weakens, None, String::new()),
            None => (Changes, None, ", but no check depends on that".to_owned()),
        }
    }

    fn roles(&mut self) {
        let (old, new) = (self.old.contract, self.new.contract);
        let pairs = self.pairs;
        for (name, before) in &old.roles {
            let subject = format!("role {}", shown(name));
            let Some(after) = new.roles.get(name) else {
                let said = finding(Changes, "removed", "a request for it is refused");
                self.say(&subject, said, (before.line, None));
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
                let said = finding(class, what, why);
                self.say(&subject, said, (before.line, after.line));
                if let Some(last) = self.found.last_mut() {
                    last.request = request;
                }
            }
            if before.max_checks != after.max_checks {
                let said = most_checks(before.max_checks, after.max_checks);
                self.say(&subject, said, (before.line, after.line));
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
                (Undecided, why)
            } else {
                (Changes, "a request for it was refused before")
            };
            let said = finding(class, "added", why);
            self.say(&format!("role {}", shown(name)), said, (None, role.line));
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
                        Weakens,
                        request,
                        format!("it is no longer asked for {}{more}", shown(&unit.check.id)),
                    );
                }
                Less::Undecided(why) => unknown = Some(why),
                Less::No => {}
            }
        }
        match unknown {
            Some(why) => (Undecided, None, why.to_owned()),
            None if lost.len() > MOST_ASKED => {
                (Weakens, None, format!("it shuts out {} checks", lost.len()))
            }
            None => (Changes, None, "no check is lost by that".to_owned()),
        }
    }

    fn limits(&mut self) {
        let (old, new) = (&self.old.contract.limits, &self.new.contract.limits);
        if let Some(said) = budget(old.budget_ms, new.budget_ms) {
            self.say("limits", said, WHOLE);
        }
        if old.max_checks != new.max_checks {
            self.say("limits", most_checks(old.max_checks, new.max_checks), WHOLE);
        }
        if old.jobs != new.jobs {
            let [before, now] = [old, new].map(|limits| limits.jobs.unwrap_or(Policy::JOBS));
            let what = format!("jobs {before} -> {now}");
            let said = finding(Changes, what, "steps side by side");
            self.say("limits", said, WHOLE);
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
                            let said = finding(Undecided, what, TOO_LARGE);
                            self.say("scope", said, lines);
                            continue;
                        }
                    }
                }
                (Some((gone, come)), "allow") => (come, gone),
                (Some((gone, come)), _) => (gone, come),
            };
            if looser.is_none() && tighter.is_none() {
                let said = finding(Cosmetic, what.clone(), "it covers the same");
                self.say("scope", said, lines);
            }
            if let Some(path) = looser {
                let why = format!("a change of {} is no longer a violation by it", shown(path));
                let said = finding(Weakens, what.clone(), why);
                self.say("scope", said, lines);
            }
            if let Some(path) = tighter {
                let why = format!("a change of {} is a violation", shown(path));
                let said = finding(Strengthens, what, why);
                self.say("scope", said, lines);
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
            let found = finding(Weakens, format!("{} added", said(word)), why);
            self.say(
                &format!("import {}", shown(import)),
                found,
                (None, Some(*line)),
            );
        }
        for ((import, _, word), line) in old.iter().filter(|(key, _)| !new.contains_key(*key)) {
            let why = "a file of another repository may no longer widen what its checks may do";
            let found = finding(Strengthens, format!("{} removed", said(word)), why);
            self.say(
                &format!("import {}", shown(import)),
                found,
                (Some(*line), None),
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
            let said = finding(Weakens, what, "recovery may rewrite more plans");
            self.say("recover", said, WHOLE);
        }
        if !fewer.is_empty() {
            let said = finding(
                Strengthens,
                format!("no longer allows {}", fewer.join(", ")),
                "",
            );
            self.say("recover", said, WHOLE);
        }
        match (old.contract, new.contract) {
            (false, true) => {
                let why = "recovery may drop the contract's own checks";
                self.say("recover", finding(Weakens, "is now `contract`", why), WHOLE);
            }
            (true, false) => {
                let said = finding(Strengthens, "is no longer `contract`", "");
                self.say("recover", said, WHOLE);
            }
            _ => {}
        }
    }

    fn gate(&mut self) {
        let (old, new) = (self.old.contract, self.new.contract);
        let rank = |order: [&str; 3], word: &str| {
            let at = order.iter().position(|known| *known == word);
            at.map_or(-1, |at| at as i64)
        };
        // Each setting with its word, its rank (more is weaker) and what it counts.
        let settings = |contract: &Contract| {
            let gate = &contract.gate;
            let confirmations = gate.confirmations.unwrap_or(1);
            let retries = gate.retries.unwrap_or(3);
            let same = gate.same_failure.unwrap_or(3);
            let exhausted = gate.on_exhausted.as_deref().unwrap_or("fail");
            let exhausted_rank = rank(["fail", "escalate", "allow"], exhausted);
            let propagate = gate.propagate.as_deref().unwrap_or("downgrade");
            let propagate_rank = rank(["reset", "downgrade", "off"], propagate);
            [
                (
                    "confirmations",
                    confirmations.to_string(),
                    -i64::from(confirmations),
                    "",
                ),
                (
                    "retries",
                    retries.to_string(),
                    i64::from(retries),
                    "rounds of repair",
                ),
                ("same-failure", same.to_string(), i64::from(same), ""),
                ("on-exhausted", exhausted.to_owned(), exhausted_rank, ""),
                ("propagate", propagate.to_owned(), propagate_rank, ""),
            ]
        };
        for ((name, a, before, why), (_, b, after, _)) in
            settings(old).into_iter().zip(settings(new))
        {
            if a != b {
                let said = finding(ceiling(&before, &after), format!("{name} {a} -> {b}"), why);
                self.say("gate", said, WHOLE);
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
            let said = finding(Undecided, what, "changes are compared with another branch");
            self.say("base", said, WHOLE);
        }
        if old.judge_with != new.judge_with {
            let word = |c: &Contract| {
                c.judge_with
                    .as_ref()
                    .map_or("none".to_owned(), |c| shown(c.to_text()))
            };
            let what = format!("{} -> {}", word(old), word(new));
            let said = finding(Undecided, what, "another judge");
            self.say("judge-with", said, WHOLE);
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
            let said = finding(Undecided, what, why);
            self.say("toolchain", said, WHOLE);
        }
        let more: Vec<String> = (new.linked.iter())
            .filter(|path| !old.linked.contains(path))
            .map(shown)
            .collect();
        if !more.is_empty() {
            let why = "with `--staged`, checks may find there what is not staged";
            let said = finding(Undecided, more.join(" "), why);
            self.say("linked", said, WHOLE);
        }
        let names = |contract: &Contract| {
            let id = |i: &CheckIndex| contract.checks[*i].id.as_str();
            let sequence = |s: &vplan_contract::Sequence| -> (String, usize) {
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
                finding(Changes, what, "other sequences order the same")
            } else {
                let why = "what one check makes may be there, or not, when another one runs";
                finding(Undecided, what, why)
            };
            self.say("sequence", said, (Some(*line), None));
        }
        for (text, line) in after.iter().filter(|(text, _)| !before.contains_key(*text)) {
            let said = finding(Changes, cut(text), "it only orders steps");
            self.say("sequence", said, (None, Some(*line)));
        }
        if old.name != new.name {
            let word = |c: &Contract| c.name.as_ref().map_or("none".to_owned(), shown);
            let said = finding(Cosmetic, format!("{} -> {}", word(old), word(new)), "");
            self.say("contract", said, WHOLE);
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
    let glob = vplan_base::glob::Glob::parse("**").ok()?;
    Some(Selection {
        items: vec![vplan_base::glob::Item {
            not: false,
            what: vplan_base::glob::ItemContent::Glob(glob),
        }],
    })
}
