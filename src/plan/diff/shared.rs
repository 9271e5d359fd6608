//! Compares the statements that apply to a whole contract: triggers, roles, limits, scope,
//! recovery, gate, order.

use super::contracts::{Comparison, Less, MIXED, OTHERS_NEED_IT, Side, difference, subject};
use super::difference::Class::{self, Changes, Cosmetic, Strengthens, Undecided, Weakens};
use super::difference::{At, Difference};
use super::reach::{TOO_LARGE, differing_atoms, raising};
use super::sampled::only_in;
use super::settings::{Finding, arrow, ceiling, finding, items, quote};
use super::units::{Unit, UnitIndex};
use crate::Policy;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use vplan_base::command::to_text;
use vplan_base::glob::{Glob, Selection};
use vplan_base::path::RepoPath;
use vplan_base::unit::show_duration;

use vplan_contract::draft::Allowance;
use vplan_contract::{CheckIndex, Condition, Contract, Risk, Test};

/// Maximum number of checks of tier 1, or with a tag, for which a request is searched when their
/// triggers or roles changed.
const MOST_ASKED: usize = 64;

/// The lines of a statement in the older and in the newer contract.
type Lines = (Option<usize>, Option<usize>);

/// What has no line of its own.
const WHOLE: Lines = (None, None);

impl<'a> Comparison<'a> {
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

    /// Compares what triggers and roles decide in addition to whether a check is selected. With
    /// `{changed}`, a check can apply in several places and be needed by others. When selected, it
    /// gets other files than when only needed, so selecting more may show it less. Of equal
    /// anonymous checks, the first that is selected lends its settings.
    fn handed(&mut self) {
        let old = self.old.contract;
        for unit in self.pairs.old.all.iter().filter(|u| !u.is_uniform(old)) {
            let said = finding(Undecided, "triggers or roles differ", MIXED);
            self.say(&subject(unit), said, WHOLE);
        }
        let is_open = |u: &&Unit| u.changed().is_some() && u.check.placements.len() > 1;
        for unit in self.pairs.old.all.iter().filter(is_open) {
            if (unit.check.tier > 0 || self.restricted) && self.pairs.old.is_needed(unit) {
                let said = finding(Undecided, "triggers or roles differ", OTHERS_NEED_IT);
                self.say(&subject(unit), said, WHOLE);
            }
        }
    }

    fn say(&mut self, subject: &str, finding: Finding, lines: Lines) {
        self.say_with(subject, finding, lines, None);
    }

    /// Reports a difference that a request shows.
    fn say_with(&mut self, subject: &str, finding: Finding, lines: Lines, request: Option<usize>) {
        let at = |side: &Side, line: Option<usize>| {
            let file = side.contract.path.clone();
            line.map(|line| At { file, line })
        };
        let (old, new) = (at(&self.old, lines.0), at(&self.new, lines.1));
        let made = difference(finding, subject.to_owned(), old, new);
        self.push(Difference { request, ..made });
    }

    fn triggers(&mut self) {
        let (old, new) = (self.old.contract, self.new.contract);
        let key = |risk: &Risk| {
            let selection = serde_json::to_string(&risk.selection);
            (risk.name.clone(), risk.tier, selection.unwrap_or_default())
        };
        let known = |contract: &Contract| contract.risks.iter().map(key).collect::<BTreeSet<_>>();
        if known(old) == known(new) {
            return;
        }
        let of =
            |contract| -> Vec<&Selection> { raising(contract).map(|r| &r.selection).collect() };
        let (before, after) = (of(old), of(new));
        // With many triggers those that both have need not be distinguished, as long as they are in
        // both.
        let by_name = |contract| -> BTreeMap<&str, &Risk> {
            raising(contract).map(|r| (r.name.as_str(), r)).collect()
        };
        let (old_risks, new_risks) = (by_name(old), by_name(new));
        for (name, risk) in &old_risks {
            let other = new_risks.get(name);
            if let Some(other) = other.filter(|o| o.selection == risk.selection) {
                self.lowered(risk, other);
                continue;
            }
            let what = match other {
                Some(o) => format!("{} -> {}", items(&risk.selection), items(&o.selection)),
                None if new.risks.iter().any(|r| r.name == **name) => "tier 1 -> 0".to_owned(),
                None => "removed".to_owned(),
            };
            let lost = differing_atoms(&[&risk.selection], &after).or_else(|| {
                let shows = only_in(&[&risk.selection], &after, self.tracked);
                shows.map(|path| (Some(path), None))
            });
            self.trigger(risk, other.copied(), what, lost, &before);
        }
        for (name, risk) in missing(&new_risks, &old_risks) {
            let gained = differing_atoms(&before, &[&risk.selection]).map(|(_, gained)| gained);
            let (class, why) = match gained {
                None => (Changes, TOO_LARGE.to_owned()),
                Some(None) => (Cosmetic, "other triggers select the same files".to_owned()),
                Some(Some(path)) => (Strengthens, now_reached(&path)),
            };
            let said = finding(class, "added", why);
            self.say(&describe("risk", name), said, (None, Some(risk.line)));
        }
    }

    /// Compares two tiers of a trigger; tier 2 counts as tier 1.
    fn lowered(&mut self, old: &Risk, new: &Risk) {
        if new.tier != old.tier {
            let what = arrow("tier", old.tier, new.tier);
            let said = finding(Cosmetic, what, "a trigger reaches tier 1 at most");
            let lines = (Some(old.line), Some(new.line));
            self.say(&describe("risk", &old.name), said, lines);
        }
    }

    fn trigger(
        &mut self,
        old: &Risk,
        new: Option<&Risk>,
        what: String,
        lost: Option<(Option<RepoPath>, Option<RepoPath>)>,
        before: &[&Selection],
    ) {
        let subject = describe("risk", &old.name);
        let places = (Some(old.line), new.map(|r| r.line));
        let gained = new
            .and_then(|r| differing_atoms(before, &[&r.selection]))
            .and_then(|(_, gained)| gained);
        let said = match lost {
            None => Some((Undecided, None, TOO_LARGE.to_owned())),
            Some((Some(path), _)) => {
                let (class, request, why) = self.tier_one();
                let why = format!("a change of {} no longer reaches tier 1{why}", quote(path));
                Some((class, request, why))
            }
            Some((None, _)) => {
                let same = "the same changes reach tier 1".to_owned();
                gained.is_none().then_some((Cosmetic, None, same))
            }
        };
        if let Some((class, request, why)) = said {
            self.say_with(&subject, finding(class, what.clone(), why), places, request);
        }
        if let Some(path) = gained {
            let said = finding(Strengthens, what, now_reached(&path));
            self.say(&subject, said, places);
        }
    }

    /// Whether some check of tier 1 is lost when fewer changes reach the tier.
    fn tier_one(&mut self) -> (Class, Option<usize>, String) {
        let pairs = self.pairs;
        let old = self.old.contract;
        let at_one = |unit: &Unit| unit.checks(old).iter().any(|c| c.tier == 1);
        let of_tier: Vec<UnitIndex> = (pairs.old.all.numbered())
            .filter(|(_, unit)| at_one(unit))
            .map(|(index, _)| index)
            .collect();
        match self.first_lost(&of_tier, None) {
            Err(why) => (Undecided, None, format!("; whether a check is lost: {why}")),
            Ok(Some((_, request))) => (Weakens, request, String::new()),
            Ok(None) if of_tier.len() > MOST_ASKED => (Weakens, None, String::new()),
            Ok(None) => (Changes, None, ", but no check depends on that".to_owned()),
        }
    }

    fn roles(&mut self) {
        let (old, new) = (self.old.contract, self.new.contract);
        let pairs = self.pairs;
        for (name, before) in &old.roles {
            let subject = describe("role", name);
            let Some(after) = new.roles.get(name) else {
                let said = finding(Changes, "removed", "a request for it is refused");
                self.say(&subject, said, (before.line, None));
                continue;
            };
            let (a, b) = (sorted(&before.only), sorted(&after.only));
            if a != b {
                let word = |only: &[String]| match only {
                    [] => "all".to_owned(),
                    only => quote(only.join(" ")),
                };
                let what = arrow("only", word(&before.only), word(&after.only));
                let is_lost = |i: &UnitIndex| {
                    let partner = pairs.to_new.get(i).map(|p| &pairs.new.all[*p]);
                    before.lets_through(&pairs.old.all[*i].check.tags)
                        && partner.is_some_and(|p| !after.lets_through(&p.check.tags))
                };
                let lost: Vec<UnitIndex> = pairs.old.all.indices().filter(is_lost).collect();
                let (class, request, why) = self.shut_out(name, &lost);
                let lines = (before.line, after.line);
                self.say_with(&subject, finding(class, what, why), lines, request);
            }
            if before.max_checks != after.max_checks {
                let said = most_checks(before.max_checks, after.max_checks);
                self.say(&subject, said, (before.line, after.line));
            }
        }
        for (name, role) in missing(&new.roles, &old.roles) {
            // If the caller may choose the role, this one requires less than one that existed.
            let names_others = |c: &Condition| matches!(&c.test, Test::Role(roles) if !roles.iter().any(|r| r == name));
            let is_less = !role.only.is_empty() || new.conditions.iter().any(names_others);
            let refused = "a request for it was refused before".to_owned();
            let (class, why) = match is_less {
                true => (
                    Undecided,
                    refused + ", and it is asked for less than others",
                ),
                false => (Changes, refused),
            };
            let said = finding(class, "added", why);
            self.say(&describe("role", name), said, (None, role.line));
        }
    }

    /// Classifies the checks that a narrower role loses.
    fn shut_out(&mut self, role: &str, lost: &[UnitIndex]) -> (Class, Option<usize>, String) {
        match self.first_lost(lost, Some(&[role.to_owned()])) {
            Err(why) => (Undecided, None, why.to_owned()),
            Ok(Some((unit, request))) => {
                let more = match lost.len() {
                    0 | 1 => String::new(),
                    count => format!(", and up to {} more", count - 1),
                };
                let name = quote(&unit.check.id);
                let why = format!("it is no longer asked for {name}{more}");
                (Weakens, request, why)
            }
            Ok(None) if lost.len() > MOST_ASKED => {
                (Weakens, None, format!("it shuts out {} checks", lost.len()))
            }
            Ok(None) => (Changes, None, "no check is lost by that".to_owned()),
        }
    }

    /// Searches the first of these units, of those that count, that the newer contract requires
    /// less, with the request that shows it; an error if that is not decided for one of them.
    fn first_lost(
        &mut self,
        units: &[UnitIndex],
        roles: Option<&[String]>,
    ) -> Result<Option<(&'a Unit<'a>, Option<usize>)>, &'static str> {
        let pairs = self.pairs;
        let mut undecided = None;
        for index in units.iter().take(MOST_ASKED) {
            let unit = &pairs.old.all[*index];
            if !self.counts(unit) {
                continue;
            }
            match self.less(*index, false, roles) {
                Less::Yes(request) => return Ok(Some((unit, request))),
                Less::Undecided(why) => undecided = Some(why),
                Less::No => {}
            }
        }
        undecided.map_or(Ok(None), Err)
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
            let said = finding(Changes, arrow("jobs", before, now), "steps side by side");
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
            let what = arrow(name, word(a, none), word(b, none));
            let everything = Glob::parse("**").into_iter().collect();
            let all = Some(&everything).filter(|_| name == "allow");
            let list = [a, b].map(|s| s.as_ref().or(all).into_iter().collect());
            let [before, after]: [Vec<&Selection>; 2] = list;
            // More allowed, or less denied, is looser.
            let swapped = |(old, new)| {
                if name == "allow" {
                    (new, old)
                } else {
                    (old, new)
                }
            };
            let found = differing_atoms(&before, &after).map(swapped).or_else(|| {
                let (some, none) = match name {
                    "allow" => (&after, &before),
                    _ => (&before, &after),
                };
                only_in(some, none, self.tracked).map(|path| (Some(path), None))
            });
            let Some((looser, tighter)) = found else {
                self.say("scope", finding(Undecided, what, TOO_LARGE), lines);
                continue;
            };
            let same = (looser.is_none() && tighter.is_none())
                .then(|| (Cosmetic, "it covers the same".to_owned()));
            let looser = looser.map(|path| {
                let why = format!("a change of {} is no longer a violation by it", quote(path));
                (Weakens, why)
            });
            let tighter = tighter.map(|path| {
                (
                    Strengthens,
                    format!("a change of {} is a violation", quote(path)),
                )
            });
            for (class, why) in [same, looser, tighter].into_iter().flatten() {
                self.say("scope", finding(class, what.clone(), why), lines);
            }
        }
    }

    /// Compares what imports from other repositories may widen.
    fn allowed(&mut self) {
        let words = |contract: &'a Contract| -> BTreeMap<_, usize> {
            let words = contract.allowed.iter().flat_map(|allowed| {
                let key = |word: &Allowance| (&allowed.import, &allowed.namespace, *word);
                allowed
                    .words
                    .iter()
                    .map(move |word| (key(word), allowed.line))
            });
            words.collect()
        };
        let (old, new) = (words(self.old.contract), words(self.new.contract));
        for ((import, _, word), line) in missing(&new, &old) {
            let why = "a file of another repository may widen what its checks may do";
            let said = finding(Weakens, format!("allow {} added", word.name()), why);
            self.say(&describe("import", import), said, (None, Some(*line)));
        }
        for ((import, _, word), line) in missing(&old, &new) {
            let why = "a file of another repository may no longer widen what its checks may do";
            let said = finding(Strengthens, format!("allow {} removed", word.name()), why);
            self.say(&describe("import", import), said, (Some(*line), None));
        }
    }

    fn recovery(&mut self) {
        let (old, new) = (&self.old.contract.recover, &self.new.contract.recover);
        let more = listed_without(&new.rules, &old.rules, ", ").map(|more| {
            let why = "recovery may rewrite more plans";
            finding(Weakens, format!("allows {more}"), why)
        });
        let fewer = listed_without(&old.rules, &new.rules, ", ");
        let fewer =
            fewer.map(|fewer| finding(Strengthens, format!("no longer allows {fewer}"), ""));
        let own = match (old.contract, new.contract) {
            (false, true) => {
                let why = "recovery may drop the contract's own checks";
                Some(finding(Weakens, "is now `contract`", why))
            }
            (true, false) => Some(finding(Strengthens, "is no longer `contract`", "")),
            _ => None,
        };
        for said in [more, fewer, own].into_iter().flatten() {
            self.say("recover", said, WHOLE);
        }
    }

    fn gate(&mut self) {
        let (old, new) = (self.old.contract, self.new.contract);
        let number = |set: Option<u32>, usual: u32| {
            let number = set.unwrap_or(usual);
            (number.to_string(), i64::from(number))
        };
        let word = |set: &Option<String>, usual: &str, order: [&str; 3]| {
            let word = set.as_deref().unwrap_or(usual);
            let at = order.iter().position(|known| *known == word);
            (word.to_owned(), at.map_or(-1, |at| at as i64))
        };
        // Each setting with its text and its rank: more is weaker.
        let settings = |contract: &Contract| {
            let gate = &contract.gate;
            let (confirmations, rank) = number(gate.confirmations, 1);
            let exhausted = ["fail", "escalate", "allow"];
            let on_exhausted = word(&gate.on_exhausted, "fail", exhausted);
            let propagate = ["reset", "downgrade", "off"];
            let propagate = word(&gate.propagate, "downgrade", propagate);
            [
                ("confirmations", (confirmations, -rank), ""),
                ("retries", number(gate.retries, 3), "rounds of repair"),
                ("same-failure", number(gate.same_failure, 3), ""),
                ("on-exhausted", on_exhausted, ""),
                ("propagate", propagate, ""),
            ]
        };
        let both = settings(old).into_iter().zip(settings(new));
        for ((name, (a, before), why), (_, (b, after), _)) in both {
            if a != b {
                let said = finding(ceiling(&before, &after), arrow(name, a, b), why);
                self.say("gate", said, WHOLE);
            }
        }
    }

    fn rest(&mut self) {
        let (old, new) = (self.old.contract, self.new.contract);
        if old.base != new.base {
            let what = differing([old, new].map(|c| c.base.as_deref().map(cut)));
            // Which commits a change holds is no matter of the contract: the number that is
            // examined is not compared here.
            let said = finding(Undecided, what, "changes are compared with another branch");
            self.say("base", said, WHOLE);
        }
        if old.judge_with != new.judge_with {
            let judge = |c: &Contract| c.judge_with.as_ref().map(|c| quote(c.to_text()));
            let said = finding(Undecided, differing([old, new].map(judge)), "another judge");
            self.say("judge-with", said, WHOLE);
        }
        if old.toolchains != new.toolchains {
            let words = |c: &Contract| {
                let commands = c.toolchains.iter();
                let each = commands.map(|(name, command)| {
                    format!("{name}: {}", to_text(&command.env, &command.argv))
                });
                let all: Vec<String> = each.collect();
                Some(quote(match all.is_empty() {
                    true => "none".to_owned(),
                    false => all.join(", "),
                }))
            };
            let why = "a shared pass of other toolchains may stand for a check";
            let said = finding(Undecided, differing([old, new].map(words)), why);
            self.say("toolchain", said, WHOLE);
        }
        if let Some(more) = listed_without(&new.linked, &old.linked, " ") {
            let why = "with `--staged`, checks may find there what is not staged";
            self.say("linked", finding(Undecided, more, why), WHOLE);
        }
        let names = |contract: &Contract| -> BTreeMap<String, usize> {
            let id = |i: &CheckIndex| contract.checks[*i].id.as_str();
            let group = |g: &Vec<CheckIndex>| g.iter().map(id).collect::<Vec<_>>().join(", ");
            let sequences = contract.sequences.iter().map(|s| {
                let groups: Vec<String> = s.groups.iter().map(group).collect();
                (groups.join(" -> "), s.line)
            });
            sequences.collect()
        };
        let (before, after) = (names(old), names(new));
        let kept = self.keeps_order();
        for (text, line) in missing(&before, &after) {
            let why = "what one check makes may be there, or not, when another one runs";
            let (class, why) = match kept {
                true => (Changes, "other sequences order the same"),
                false => (Undecided, why),
            };
            let said = finding(class, format!("no longer {}", cut(text)), why);
            self.say("sequence", said, (Some(*line), None));
        }
        for (text, line) in missing(&after, &before) {
            let said = finding(Changes, cut(text), "it only orders steps");
            self.say("sequence", said, (None, Some(*line)));
        }
        if old.name != new.name {
            let what = differing([old, new].map(|c| c.name.as_ref().map(quote)));
            self.say("contract", finding(Cosmetic, what, ""), WHOLE);
        }
    }
}

/// Maximum number of pairs of checks whose order is compared.
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
        let units = |group: &Vec<CheckIndex>| group.iter().filter_map(unit).collect();
        let groups: Vec<Vec<UnitIndex>> = sequence.groups.iter().map(units).collect();
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

fn differing(values: [Option<String>; 2]) -> String {
    let [old, new] = values.map(|value| value.unwrap_or_else(|| "none".to_owned()));
    format!("{old} -> {new}")
}

fn describe(what: &str, name: impl Display) -> String {
    format!("{what} {}", quote(name))
}

fn now_reached(path: &RepoPath) -> String {
    format!("a change of {} now reaches tier 1", quote(path))
}

/// Returns the entries whose keys the other map does not have.
fn missing<'m, K: Ord, V>(
    map: &'m BTreeMap<K, V>,
    other: &'m BTreeMap<K, V>,
) -> impl Iterator<Item = (&'m K, &'m V)> {
    map.iter().filter(|(key, _)| !other.contains_key(*key))
}

/// Lists what the other list does not have.
pub(super) fn listed_without<T: Display + PartialEq>(
    list: &[T],
    other: &[T],
    by: &str,
) -> Option<String> {
    let more = list.iter().filter(|one| !other.contains(one));
    let more: Vec<String> = more.map(quote).collect();
    (!more.is_empty()).then(|| more.join(by))
}

fn cut(text: &str) -> String {
    const LONGEST: usize = 80;
    if text.chars().count() <= LONGEST {
        return quote(text);
    }
    quote(text.chars().take(LONGEST).chain(['…']).collect::<String>())
}

fn sorted(words: &[String]) -> Vec<&String> {
    let mut words: Vec<&String> = words.iter().collect();
    words.sort();
    words.dedup();
    words
}

/// Compares two budgets; `None` if they are equal.
pub(super) fn budget(old: Option<u64>, new: Option<u64>) -> Option<Finding> {
    let [before, after] = [old, new].map(|ms| ms.unwrap_or(u64::MAX));
    let what = differing([old.map(show_duration), new.map(show_duration)]);
    let class = ceiling(&before, &after);
    (old != new).then(|| finding(class, format!("budget {what}"), "time for the whole run"))
}

/// Compares `max-checks`, which cuts explicit, inferred and proposed steps, so that less is weaker.
fn most_checks(old: Option<u64>, new: Option<u64>) -> Finding {
    let [before, after] = [old, new].map(|n| n.unwrap_or(u64::MAX));
    let what = differing([old, new].map(|n| n.map(|n| n.to_string())));
    let why = "how many of a request's own commands run";
    finding(ceiling(&after, &before), format!("max-checks {what}"), why)
}
