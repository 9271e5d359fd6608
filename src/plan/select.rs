//! Decides for each check of a contract whether it applies to this change, with a reason for every
//! yes and every no.

use super::Reason;
use super::facts::{Certainty, FactAnswer, Facts, Question};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use vplan_base::bits::Bits;
use vplan_base::change::{ChangeSet, ChangedIndex};
use vplan_base::glob::{Glob, Item, ItemContent, Selection};
use vplan_base::index::{Dense, Index as _};
use vplan_base::matching::{Hits, SHOWN, Selected, match_all};
use vplan_base::path::RepoPath;
use vplan_base::word::{and_more, visible};
use vplan_contract::{
    Check, CheckIndex, Condition, ConditionIndex, Contract, Placement, Risk, RiskIndex, Sought,
    Test,
};

/// Maximum number of items of a list that a sentence names before it counts the rest.
const ITEMS_SHOWN: usize = 3;
/// The reason for globs without a matching file.
const NO_FILE: &str = "no file matches";
/// Maximum number of files searched for the first one outside a `whenChangedOnly`; beyond that only
/// the count is given.
const FILES_TRIED: usize = 4_096;

/// The results of all conditions and triggers of a contract.
pub(super) struct Judged<'a> {
    pub contract: &'a Contract,
    pub results: ConditionResults,
    /// The changed files of each condition that selects some.
    pub hits: BTreeMap<ConditionIndex, Hits>,
    pub detail: SelectionDetail,
}

/// Details of a selection, in addition to the results of its conditions.
pub(super) enum SelectionDetail {
    /// The reasons of each condition, and the changed files that each trigger selects.
    Reasons(Dense<ConditionIndex, ConditionReasons>, Vec<Selected>),
    /// The checks that may be selected, ascending, without reasons: no place of another one applies.
    Candidates(Vec<CheckIndex>),
}

/// The reasons of one condition.
pub(super) struct ConditionReasons {
    /// The reasons for or against.
    reasons: Vec<Reason>,
    /// The reason why it does not hold, for people.
    denial: String,
}

/// The decision on one check.
pub(super) enum Choice<'c> {
    /// It is selected through these placements.
    Yes(Vec<&'c Placement>, Vec<Reason>),
    /// It is not selected: for people, and for machines.
    No(String, Vec<Reason>),
}

/// Evaluates all conditions and triggers for the request at once, with reasons.
pub(super) fn judge<'a>(
    contract: &'a Contract,
    role: &str,
    changes: &ChangeSet,
    facts: &Facts,
) -> Judged<'a> {
    let mut matched = match_all(&selections(contract), changes).into_iter();
    let conditions = contract.conditions.iter();
    let of_conditions = conditions.map(|c| c.test.selection().and_then(|_| matched.next()));
    let of_conditions: Vec<Option<Selected>> = of_conditions.collect();
    let of_triggers: Vec<Selected> = matched.collect();
    let names = Names::look_up(contract.conditions.iter().zip(&of_conditions), changes);
    let judging = Judging {
        role,
        changes,
        facts,
        names,
    };
    let mut results = ConditionResults {
        holds: Bits::none(contract.conditions.len()),
        pulled: of_triggers.iter().map(|m| m.all.count > 0).collect(),
        ..ConditionResults::default()
    };
    let mut hits = BTreeMap::new();
    let mut reasons = Dense::default();
    for ((index, condition), selected) in contract.conditions.numbered().zip(of_conditions) {
        let selected = selected.unwrap_or_default();
        let file = contract.imported(condition.place.source);
        let (holds, told) = judge_one(&judging, condition, file, &selected);
        results.put(index, holds);
        reasons.push(told);
        if selected.all.count > 0 {
            hits.insert(index, selected.all);
        }
    }
    Judged {
        contract,
        results,
        hits,
        detail: SelectionDetail::Reasons(reasons, of_triggers),
    }
}

/// Returns the selections of all conditions that have one, then those of all triggers.
pub(super) fn selections(contract: &Contract) -> Vec<&Selection> {
    let conditions = contract.conditions.iter();
    let conditions = conditions.filter_map(|c| c.test.selection());
    let triggers = contract.risks.iter().map(|r| &r.selection);
    conditions.chain(triggers).collect()
}

/// Whether a condition holds; `None` while facts are missing.
pub(super) fn holds(
    test: &Test,
    role: &str,
    changes: &ChangeSet,
    facts: &Facts,
    selected: &Selected,
) -> Option<bool> {
    // One of these answers decides, and all must be known for the opposite.
    let decided = |all: &[Sought], by: &[Certainty], is: bool| {
        let decides = |sought| answer(facts, sought).is_some_and(|answer| by.contains(&answer));
        if all.iter().any(decides) {
            return Some(is);
        }
        let are_known = all.iter().all(|sought| answer(facts, sought).is_some());
        are_known.then_some(!is)
    };
    match test {
        Test::Role(roles) => Some(roles.iter().any(|r| r == role)),
        Test::ChangedAny(_) => Some(selected.all.count > 0),
        Test::ChangedAll(s) => {
            let mut items = s.items.iter().zip(&selected.items);
            Some(items.all(|(item, hits)| item.not || hits.count > 0))
        }
        Test::ChangedOnly(_) => {
            Some(!changes.is_empty() && selected.all.count == changes.len() as u64)
        }
        Test::ChangedNone(_) => Some(selected.all.count == 0),
        Test::Exists(all) => decided(all, &[Certainty::No], false),
        // "Unknown" never leaves anything out.
        Test::ExistsAny(all) => decided(all, &[Certainty::Yes, Certainty::Unknown], true),
        Test::Absent(all) => decided(all, &[Certainty::Yes], false),
    }
}

/// Returns what is known of the existence of a path or of a file of a glob.
fn answer(facts: &Facts, sought: &Sought) -> Option<Certainty> {
    Some(match facts.get(&Question::exists(sought))? {
        FactAnswer::Word(is) => *is,
        FactAnswer::List(_) => Certainty::Unknown,
    })
}

/// The results of the conditions and triggers of a contract, by their indices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ConditionResults {
    /// The conditions that hold.
    pub holds: Bits<ConditionIndex>,
    /// The other conditions, as far as facts are missing.
    pub open: BTreeSet<ConditionIndex>,
    /// Whether a changed file pulled each trigger.
    pub pulled: Dense<RiskIndex, bool>,
}

impl ConditionResults {
    /// Records whether a condition holds, which was not recorded before.
    pub fn put(&mut self, condition: ConditionIndex, holds: Option<bool>) {
        self.holds.put(condition, holds == Some(true));
        if holds.is_none() {
            self.open.insert(condition);
        }
    }

    fn fails(&self, condition: ConditionIndex) -> bool {
        !self.holds.has(condition) && !self.open.contains(&condition)
    }
}

impl Judged<'_> {
    /// Returns the results and drops thousands of reasons.
    pub(crate) fn into_results(self) -> ConditionResults {
        self.results
    }

    /// Returns the checks that may be selected, when there are no reasons against the others.
    pub fn candidates(&self) -> Option<&[CheckIndex]> {
        match &self.detail {
            SelectionDetail::Reasons(..) => None,
            SelectionDetail::Candidates(checks) => Some(checks),
        }
    }

    /// Returns the reasons of the pulled triggers, one for each glob that selects a changed file. A
    /// trigger for tier 0 raises nothing.
    pub(super) fn triggers(&self, changes: &ChangeSet) -> Vec<Reason> {
        let SelectionDetail::Reasons(_, of_triggers) = &self.detail else {
            return Vec::new();
        };
        let pulled =
            |(risk, selected): &(&Risk, &Selected)| risk.tier > 0 && selected.all.count > 0;
        let pulled = self.contract.risks.iter().zip(of_triggers).filter(pulled);
        let pulled = pulled.map(|(risk, selected)| (risk, Some(selected.clone())));
        let (risks, selected): (Vec<&Risk>, Vec<Option<Selected>>) = pulled.unzip();
        // A trigger has the test of `whenChangedAny`.
        let condition = |risk: &&Risk| Condition {
            line: risk.line,
            place: risk.place,
            test: Test::ChangedAny(risk.selection.clone()),
        };
        let conditions: Vec<Condition> = risks.iter().map(condition).collect();
        let judging = Judging {
            role: "",
            changes,
            facts: &Facts::default(),
            names: Names::look_up(conditions.iter().zip(&selected), changes),
        };
        let reasons = |((condition, selected), risk): ((&Condition, Option<Selected>), &Risk)| {
            let file = self.contract.imported(condition.place.source);
            let (_, told) = judge_one(&judging, condition, file, &selected.unwrap_or_default());
            let of_risk = |reason| Reason {
                condition: "risk".to_owned(),
                names: vec![risk.name.clone()],
                ..reason
            };
            told.reasons.into_iter().map(of_risk).collect::<Vec<_>>()
        };
        let judged = conditions.iter().zip(selected).zip(risks);
        judged.flat_map(reasons).collect()
    }

    /// Whether a check is selected. `asked` receives the facts that it depends on, whether they are
    /// known or not; while one is missing the answer is not valid.
    pub fn choose<'c>(&self, check: &'c Check, asked: &mut BTreeSet<Question>) -> Choice<'c> {
        let mut yes = Vec::new();
        let mut reasons = Vec::new();
        for placement in &check.placements {
            if self.failing(placement, asked).is_empty() {
                yes.push(placement);
                if placement.is_use {
                    reasons.push(Reason {
                        file: self.contract.imported(placement.source).map(str::to_owned),
                        line: Some(placement.line),
                        ..Reason::from_condition("use")
                    });
                } else if placement.conditions.is_empty() {
                    reasons.push(Reason::from_condition("always"));
                }
                if let SelectionDetail::Reasons(told, _) = &self.detail {
                    let told = placement.conditions.iter().map(|c| &told[*c]);
                    reasons.extend(told.flat_map(|t| t.reasons.iter().cloned()));
                }
            }
        }
        if !yes.is_empty() {
            return Choice::Yes(yes, reasons);
        }
        let SelectionDetail::Reasons(told, _) = &self.detail else {
            return Choice::No(String::new(), Vec::new());
        };
        let mut seen = BTreeSet::new();
        let mut sentences = Vec::new();
        for placement in &check.placements {
            let failing = self.failing(placement, asked);
            let first = failing.first();
            sentences.extend(first.map(|c| told[*c].denial.clone()));
            for condition in failing {
                if seen.insert(condition) {
                    reasons.extend_from_slice(&told[condition].reasons);
                }
            }
        }
        sentences.dedup();
        let more = sentences.len().saturating_sub(ITEMS_SHOWN);
        sentences.truncate(ITEMS_SHOWN);
        if more > 0 {
            sentences.push(format!("nor do {more} more uses apply"));
        }
        Choice::No(sentences.join("; "), reasons)
    }

    /// Returns the conditions of a placement that do not hold. Facts are requested only where all
    /// others hold.
    fn failing(
        &self,
        placement: &Placement,
        asked: &mut BTreeSet<Question>,
    ) -> Vec<ConditionIndex> {
        let sought = |c: &ConditionIndex| self.contract.conditions[*c].test.sought();
        let fails = |c: &ConditionIndex| self.results.fails(*c);
        let conditions = placement.conditions.iter();
        let (mut exist, mut other): (Vec<ConditionIndex>, Vec<_>) =
            conditions.partition(|c| sought(c).is_some());
        other.retain(fails);
        if !other.is_empty() {
            return other;
        }
        let sought = exist.iter().filter_map(sought).flatten();
        asked.extend(sought.map(Question::exists));
        exist.retain(fails);
        exist
    }

    /// Returns the indices of the changed files that every selection around these placements
    /// selects, ascending: the candidates for `{changed}`.
    pub fn changed(&self, placements: &[&Placement], changes: &ChangeSet) -> Vec<ChangedIndex> {
        const NO_FILE: &Hits = &Hits {
            count: 0,
            first: Vec::new(),
        };
        let mut found = BTreeSet::new();
        for placement in placements {
            let around = placement.conditions.iter().filter_map(|c| {
                let selection = self.contract.conditions[*c].test.narrowing()?;
                Some((selection, self.hits.get(c).unwrap_or(NO_FILE)))
            });
            let around: Vec<(&Selection, &Hits)> = around.collect();
            let keep = |i: &ChangedIndex| {
                let path = &changes.file(*i).path;
                around.iter().all(|(s, _)| s.selects(path))
            };
            match around.iter().min_by_key(|(_, hits)| hits.count) {
                None => found.extend((0..changes.len()).map(ChangedIndex::new)),
                Some((_, hits)) if hits.count <= hits.first.len() as u64 => {
                    found.extend(hits.first.iter().map(index_of_hit).filter(keep));
                }
                Some((selection, _)) => {
                    for range in ranges(selection, changes) {
                        found.extend(range.map(ChangedIndex::new).filter(keep));
                    }
                }
            }
        }
        found.into_iter().collect()
    }
}

/// Returns which changed file a hit is.
fn index_of_hit(hit: &u32) -> ChangedIndex {
    ChangedIndex::new(*hit as usize)
}

/// Returns ranges of the change set, ascending and disjoint, that contain everything that the
/// selection selects. They follow from the literal prefixes of its globs.
fn ranges(selection: &Selection, changes: &ChangeSet) -> Vec<Range<usize>> {
    let files = changes.files();
    let range = |glob: &Glob| {
        let plain = glob.text().split(['*', '?', '[', '{', '\\']).next();
        let plain = plain.unwrap_or_default();
        // `x/**` selects `x` too.
        let prefix = plain.strip_suffix('/').unwrap_or(plain).as_bytes();
        let before = |path: &[u8]| path < prefix;
        let from = files.partition_point(|f| before(f.path.as_bytes()));
        let inside = |path: &[u8]| before(path) || path.starts_with(prefix);
        from..files.partition_point(|f| inside(f.path.as_bytes()))
    };
    let globs = selection.positive_globs().into_iter();
    let mut found: Vec<Range<usize>> = globs.map(range).collect();
    found.sort_unstable_by_key(|range| (range.start, range.end));
    let mut end = 0;
    for range in &mut found {
        range.start = range.start.max(end);
        end = end.max(range.end);
    }
    found
}

/// What the conditions of a contract are evaluated for.
struct Judging<'a> {
    role: &'a str,
    changes: &'a ChangeSet,
    facts: &'a Facts,
    names: Names,
}

/// Evaluates one condition, and says why.
fn judge_one(
    judging: &Judging<'_>,
    condition: &Condition,
    file: Option<&str>,
    selected: &Selected,
) -> (Option<bool>, ConditionReasons) {
    let (changes, facts) = (judging.changes, judging.facts);
    let answer = holds(&condition.test, judging.role, changes, facts, selected);
    let holds = answer == Some(true);
    let keyword = condition.test.keyword();
    let about = |names: Vec<String>| Reason {
        condition: keyword.to_owned(),
        file: file.map(str::to_owned),
        line: Some(condition.line),
        names,
        ..Reason::default()
    };
    let path = |hit: &u32| changes.file(index_of_hit(hit)).path.clone();
    let paths = |hits: &Hits| hits.first.iter().map(path).collect::<Vec<RepoPath>>();
    // What selects where it holds, and what should have where it does not.
    let reasons_of = |s: &Selection, wanted: &mut dyn Iterator<Item = &Item>| match holds {
        true => (judging.names).reasons(s, selected, &about(Vec::new()), &paths),
        false => vec![about(item_texts(wanted))],
    };
    let written = |s: &Selection| format!("{keyword} {}", items_text(s.items.iter()));
    let with_files = |selection: &Selection, matched: Vec<RepoPath>, count: u64| Reason {
        matched,
        matched_count: Some(count),
        ..about(item_texts(selection.items.iter()))
    };

    let (reasons, denial) = match &condition.test {
        Test::Role(roles) => {
            let (own, wanted) = (visible(judging.role), visible(roles.join(" or ")));
            let denial = format!("role is {own}, {keyword} asks for {wanted}");
            let own = vec![judging.role.to_owned()];
            (vec![about(if holds { own } else { roles.clone() })], denial)
        }
        Test::ChangedAny(s) => {
            let denial = format!("no changed file is selected by {}", written(s));
            (reasons_of(s, &mut s.items.iter()), denial)
        }
        Test::ChangedAll(s) => {
            let without = || {
                let items = s.items.iter().zip(&selected.items);
                let missed = items.filter(|(item, hits)| !item.not && hits.count == 0);
                missed.map(|(item, _)| item)
            };
            let missed = items_text(without());
            let denial = format!("no changed file is selected by {missed} of {keyword}");
            (reasons_of(s, &mut without()), denial)
        }
        Test::ChangedOnly(s) => {
            let total = changes.len() as u64;
            let outside = total.saturating_sub(selected.all.count);
            if holds {
                (reasons_of(s, &mut s.items.iter()), String::new())
            } else if total == 0 {
                let denial = format!("nothing changed, and {} asks for a change", written(s));
                (reasons_of(s, &mut s.items.iter()), denial)
            } else {
                let witness = first_outside(s, &selected.all, changes);
                let are_outside = match &witness {
                    Some(file) => format!("changed file `{file}` is outside"),
                    None => format!("{outside} changed files are outside"),
                };
                let reason = with_files(s, witness.into_iter().collect(), outside);
                (vec![reason], format!("{are_outside} {}", written(s)))
            }
        }
        Test::ChangedNone(s) => {
            let first = selected.all.first.first().map(path);
            let denial = first.map(|f| format!("changed file `{f}` is selected by {}", written(s)));
            let reason = if holds {
                about(item_texts(s.items.iter()))
            } else {
                with_files(s, paths(&selected.all), selected.all.count)
            };
            (vec![reason], denial.unwrap_or_default())
        }
        Test::Exists(all) => {
            let named = deciding(all, facts, Certainty::No);
            let missing = format_sought(&named, NO_FILE, "does not exist");
            let denial = format!("{missing}, {keyword} asks for it");
            (vec![about(texts(&named))], denial)
        }
        Test::ExistsAny(all) => {
            let named = deciding(all, facts, Certainty::Yes);
            let denial = if named.len() == 1 {
                let missing = format_sought(&named, NO_FILE, "does not exist");
                format!("{missing}, {keyword} asks for it")
            } else {
                let none = ticks(&texts(&named));
                format!("none of {none} exists, {keyword} asks for one")
            };
            (vec![about(texts(&named))], denial)
        }
        Test::Absent(all) => {
            let named = deciding(all, facts, Certainty::Yes);
            let there = format_sought(&named, "a file matches", "exists");
            let denial = format!("{there}, {keyword} asks for its absence");
            (vec![about(texts(&named))], denial)
        }
    };
    (answer, ConditionReasons { reasons, denial })
}

/// Returns the paths and globs with an answer that decides alone; all of them where none has it.
fn deciding<'s>(all: &'s [Sought], facts: &Facts, is: Certainty) -> Vec<&'s Sought> {
    let decides = |sought: &&Sought| answer(facts, sought) == Some(is);
    let is_decided = all.iter().any(|sought| decides(&sought));
    all.iter().filter(|s| !is_decided || decides(s)).collect()
}

/// Says of globs alone that no file, or a file, matches them, and of all else whether it exists.
fn format_sought(all: &[&Sought], of_globs: &str, of_paths: &str) -> String {
    let listed = ticks(&texts(all));
    if all.iter().all(|sought| matches!(sought, Sought::Glob(_))) {
        format!("{of_globs} {listed}")
    } else {
        format!("{listed} {of_paths}")
    }
}

fn texts(all: &[&Sought]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

/// Returns the first changed file that is not selected, within [`FILES_TRIED`].
fn first_outside(selection: &Selection, hits: &Hits, changes: &ChangeSet) -> Option<RepoPath> {
    // Where the first hits have no gap they need not be examined again.
    let gap = (0..).zip(&hits.first).position(|(i, hit)| i != *hit);
    let solid = gap.filter(|gap| *gap < SHOWN).unwrap_or(hits.first.len());
    let rest = changes.files().iter().skip(solid).take(FILES_TRIED);
    let mut rest = rest.map(|file| &file.path);
    rest.find(|path| !selection.selects(path)).cloned()
}

/// A named list with its exclusions, and what it selected.
type Flat = (Arc<Selection>, Selected);

/// The globs of the named selections that matched, by the file that they select.
#[derive(Default)]
struct Names {
    /// By the address of the list and the exclusions around it; addresses only decide what is
    /// looked up once.
    found: BTreeMap<(usize, usize), Vec<Flat>>,
}

impl Names {
    fn look_up<'c>(
        conditions: impl Iterator<Item = (&'c Condition, &'c Option<Selected>)>,
        changes: &ChangeSet,
    ) -> Self {
        let mut known = BTreeSet::new();
        // Each key with the number of its lists.
        let mut keys: Vec<((usize, usize), usize)> = Vec::new();
        let mut lists: Vec<Arc<Selection>> = Vec::new();
        for (condition, selected) in conditions {
            let (Some(selection), Some(selected)) = (condition.test.selection(), selected) else {
                continue;
            };
            for (item, hits) in selection.items.iter().zip(&selected.items) {
                let ItemContent::Paths { items, .. } = &item.what else {
                    continue;
                };
                if item.not || hits.count == 0 || !known.insert(key(selection, items)) {
                    continue;
                }
                let before = lists.len();
                flatten(items, &exclusions(selection), &mut lists);
                keys.push((key(selection, items), lists.len() - before));
            }
        }
        let asked: Vec<&Selection> = lists.iter().map(AsRef::as_ref).collect();
        let answers = match_all(&asked, changes);
        let mut all = lists.into_iter().zip(answers);
        let keys = keys.into_iter();
        let found = keys.map(|(key, count)| (key, all.by_ref().take(count).collect()));
        Self {
            found: found.collect(),
        }
    }

    /// Returns one reason for each positive glob that selected a file.
    fn reasons(
        &self,
        selection: &Selection,
        selected: &Selected,
        about: &Reason,
        paths: &impl Fn(&Hits) -> Vec<RepoPath>,
    ) -> Vec<Reason> {
        let reason = |glob: &str, name: Option<&str>, hits: &Hits| Reason {
            glob: Some(glob.to_owned()),
            matched: paths(hits),
            matched_count: Some(hits.count),
            paths: name.map(str::to_owned),
            ..about.clone()
        };
        let mut seen: Vec<Reason> = Vec::new();
        let mut add = |reason: Reason| {
            if !seen.contains(&reason) {
                seen.push(reason);
            }
        };
        for (item, hits) in selecting(selection, selected) {
            match &item.what {
                ItemContent::Glob(glob) => add(reason(glob.text(), None, hits)),
                ItemContent::Paths { items, name } => {
                    let lists = self.found.get(&key(selection, items));
                    let lists = lists.into_iter().flatten();
                    for (item, hits) in lists.flat_map(|(list, hits)| selecting(list, hits)) {
                        if let ItemContent::Glob(glob) = &item.what {
                            add(reason(glob.text(), Some(name), hits));
                        }
                    }
                }
            }
        }
        seen
    }
}

/// Returns the positive items that select a file, with what they select.
fn selecting<'a>(
    selection: &'a Selection,
    selected: &'a Selected,
) -> impl Iterator<Item = (&'a Item, &'a Hits)> {
    let items = selection.items.iter().zip(&selected.items);
    items.filter(|(item, hits)| !item.not && hits.count > 0)
}

fn exclusions(selection: &Selection) -> Vec<Item> {
    selection.excluding().cloned().collect()
}

/// Returns the key of a look-up. A list without exclusions around it is looked up once for all its
/// uses.
fn key(outer: &Selection, items: &Arc<Selection>) -> (usize, usize) {
    let excludes = outer.excluding().next().is_some();
    let around = excludes.then(|| std::ptr::from_ref(outer).addr());
    (around.unwrap_or(0), Arc::as_ptr(items).addr())
}

/// Lists a named list and those inside it, each with everything that is excluded from it.
fn flatten(items: &Arc<Selection>, around: &[Item], out: &mut Vec<Arc<Selection>>) {
    out.push(if around.is_empty() {
        Arc::clone(items)
    } else {
        Arc::new(Selection {
            items: items.items.iter().chain(around).cloned().collect(),
        })
    });
    let all: Vec<Item> = around.iter().cloned().chain(exclusions(items)).collect();
    for item in items.positive() {
        if let ItemContent::Paths { items, .. } = &item.what {
            flatten(items, &all, out);
        }
    }
}

/// Returns what a condition asks for, as the language writes it.
pub(super) fn words(test: &Test) -> Vec<String> {
    match test {
        Test::Role(roles) => roles.iter().map(visible).collect(),
        Test::ChangedAny(s) | Test::ChangedAll(s) | Test::ChangedOnly(s) | Test::ChangedNone(s) => {
            item_texts(s.items.iter())
        }
        Test::Exists(all) | Test::ExistsAny(all) | Test::Absent(all) => {
            all.iter().map(|sought| format!("\"{sought}\"")).collect()
        }
    }
}

/// Returns an item as a contract writes it, safe to print.
pub(super) fn item_text(item: &Item) -> String {
    let not = if item.not { "!" } else { "" };
    match &item.what {
        ItemContent::Glob(glob) => format!("\"{not}{}\"", visible(glob.text())),
        ItemContent::Paths { name, .. } => format!("{not}{}", visible(name)),
    }
}

fn item_texts<'a>(items: impl Iterator<Item = &'a Item>) -> Vec<String> {
    items.map(item_text).collect()
}

/// Returns some items on one line.
pub(super) fn items_text<'a>(items: impl Iterator<Item = &'a Item>) -> String {
    shorten(item_texts(items))
}

pub(super) fn shorten(mut texts: Vec<String>) -> String {
    let more = texts.len().saturating_sub(ITEMS_SHOWN);
    texts.truncate(ITEMS_SHOWN);
    texts.join(" ") + &and_more(more)
}

fn ticks(names: &[String]) -> String {
    shorten(names.iter().map(|n| format!("`{n}`")).collect())
}
