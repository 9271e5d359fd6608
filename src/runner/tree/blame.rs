//! Attributes the changes between two snapshots to steps, and decides which of them are allowed.

use super::new_files::{AGAIN, NewFileLines};
use crate::snapshots::{EarlierState, SnapshotChange, SnapshotSpan};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vplan_base::path::RepoPath;
use vplan_base::word::and_more;
use vplan_check::outcome::Status;
use vplan_contract::Contract;
use vplan_git::skipped::HiddenBy;
use vplan_plan::caveat::{Caveat, Code, Effect, FILES_SHOWN};
use vplan_plan::definition::is_defined_by;
use vplan_plan::focus::{Focus, Interest, is_about};
use vplan_plan::{Plan, Step};
use vplan_run::record::StepRecord;

/// The facts of an ended run that decide about its tree.
#[derive(Clone, Copy, Debug)]
pub struct BlamedRun<'a> {
    /// The plans that were executed, in order; at least one.
    pub plans: &'a [Arc<Plan>],
    /// The contract, if there is one.
    pub contract: Option<&'a Contract>,
    /// The records of the last plan's steps.
    pub records: &'a [StepRecord],
    /// The whole plan, if only a shard of it was executed: all shards give one tree the same name.
    pub whole: Option<&'a Plan>,
}

impl BlamedRun<'_> {
    /// Returns the plan that was executed last.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.plans.last().map(Arc::as_ref)
    }

    /// Returns a step of any of the plans.
    pub(super) fn step(&self, id: &str) -> Option<&Step> {
        self.plans
            .iter()
            .rev()
            .flat_map(|plan| &plan.steps)
            .find(|s| s.id == id)
    }

    /// Returns the steps whose passes count.
    pub(super) fn passed(&self) -> Vec<&Step> {
        let steps = self
            .plan()
            .map(|plan| plan.steps.as_slice())
            .unwrap_or_default();
        steps
            .iter()
            .zip(self.records)
            .filter(|(s, r)| !s.setup && r.status.is_pass())
            .map(|(s, _)| s)
            .collect()
    }
}

/// The result of attributing all changes.
#[derive(Debug)]
pub(super) struct Attribution<'a> {
    /// New files that conditions or settings of checks select, with the checks.
    pub appeared: BTreeMap<RepoPath, Vec<&'a str>>,
    /// The caveats about files that must not change, or not in between.
    pub caveats: Vec<Caveat>,
    /// The steps that certainly changed files without permission, with the message.
    pub failed: Vec<(String, String)>,
    /// The caveat about checks that had passed before one of their files was written.
    pub grown: Option<Caveat>,
    /// Whether only allowed changes were made.
    pub is_known: bool,
    /// Files that did not exist before, and that nothing in the plan selects.
    pub left: Vec<RepoPath>,
    /// Files that changed without taking anything from a pass.
    pub others: Vec<RepoPath>,
    /// The steps that ran when files changed that must not.
    pub suspects: Vec<String>,
    /// Files that steps changed with permission.
    pub wrote: Vec<RepoPath>,
}

/// The class of a change, by the steps that ran meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChangeClass {
    /// An output of the plan.
    Product,
    /// A file that one of them may write.
    Written,
    /// A file that one of the steps may delete, or reports in; or an untracked one that concerns no
    /// step.
    Other,
    /// A new file that a step may have made, and that nothing selects.
    New,
    /// A file that did not exist, and that a condition or a setting of a step selects.
    Appeared,
    /// No step may change the file.
    Forbidden,
}

/// The files that steps are about.
struct Concerns<'a> {
    foci: Vec<(&'a Step, Focus<'a>)>,
    /// Untracked files that tools leave, or that git ignores on this machine.
    hidden: &'a BTreeMap<RepoPath, HiddenBy>,
}

impl<'a> Concerns<'a> {
    fn new(run: &BlamedRun<'a>, hidden: &'a BTreeMap<RepoPath, HiddenBy>) -> Self {
        let plan = run.whole.or_else(|| run.plans.last().map(Arc::as_ref));
        let steps = plan.map(|plan| plan.steps.as_slice()).unwrap_or_default();
        let foci = steps
            .iter()
            .filter(|step| !step.setup)
            .map(|step| (step, Focus::new(run.contract, step)))
            .collect();
        Self { foci, hidden }
    }

    fn is_left_by_tools(&self, path: &RepoPath) -> bool {
        self.hidden.get(path) == Some(&HiddenBy::Tool)
    }

    /// Returns the steps that a file concerns, each with the kind of interest. Files left by tools
    /// concern no step. Files that the user's own ignore file hides concern only steps that select
    /// them.
    fn concerned_steps(&self, path: &RepoPath) -> Vec<(&'a Step, Interest)> {
        let least = match self.hidden.get(path) {
            Some(HiddenBy::Tool) => return Vec::new(),
            Some(HiddenBy::User) => Interest::Selected,
            _ => Interest::Everything,
        };
        let about = self.foci.iter();
        about
            .filter_map(|(step, focus)| Some((*step, focus.interest(path)?)))
            .filter(|(_, interest)| *interest >= least)
            .collect()
    }

    /// Returns the steps for which a change of a file counts. A new file that only steps without a
    /// condition are about is one that they may leave.
    fn counting(&self, changed: &SnapshotChange) -> Vec<&'a Step> {
        let about = self.concerned_steps(&changed.path).into_iter();
        about
            .filter(|(_, interest)| {
                changed.was != EarlierState::New || *interest == Interest::Selected
            })
            .map(|(step, _)| step)
            .collect()
    }
}

/// Whether one of these steps may delete a file, or report in it.
fn may_leave(ran: &[&Step], path: &RepoPath) -> bool {
    let reports = |s: &Step| s.report.as_ref().is_some_and(|r| r.glob.matches(path));
    ran.iter()
        .any(|s| s.cleans.iter().any(|glob| glob.matches(path)) || reports(s))
}

/// `counts`: whether the change counts for any step.
fn classify(changed: &SnapshotChange, ran: &[&Step], plan: &Plan, counts: bool) -> ChangeClass {
    let path = &changed.path;
    let produces = |s: &&Step| s.produces.iter().any(|glob| glob.matches(path));
    if plan.produces(path) || ran.iter().any(produces) {
        return ChangeClass::Product;
    }
    if ran.iter().any(|s| s.may_write(path)) {
        return ChangeClass::Written;
    }
    let is_free = may_leave(ran, path);
    match changed.was {
        EarlierState::New if !ran.is_empty() && counts && !is_free => ChangeClass::Appeared,
        EarlierState::New if !ran.is_empty() => ChangeClass::New,
        _ if is_free => ChangeClass::Other,
        EarlierState::Tracked => ChangeClass::Forbidden,
        EarlierState::New | EarlierState::Untracked if counts => ChangeClass::Forbidden,
        EarlierState::New | EarlierState::Untracked => ChangeClass::Other,
    }
}

/// Attributes each change between two snapshots to the steps that may have made it. `hidden`: the
/// untracked files among them that tools leave, or that git ignores on this machine.
pub(super) fn blame<'a>(
    spans: &[SnapshotSpan],
    run: &BlamedRun<'a>,
    hidden: &'a BTreeMap<RepoPath, HiddenBy>,
) -> Attribution<'a> {
    let passed = run.passed();
    let concerns = Concerns::new(run, hidden);
    let mut known: BTreeMap<&str, BTreeSet<RepoPath>> = BTreeMap::new();
    let mut unknown: Vec<(RepoPath, BTreeSet<&str>)> = Vec::new();
    let (mut left, mut others, mut wrote) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let (mut suspects, mut before) = (BTreeSet::new(), BTreeMap::new());
    let mut appeared: BTreeMap<RepoPath, Vec<&str>> = BTreeMap::new();
    for span in spans {
        let ran: Vec<&Step> = span.ran.iter().filter_map(|id| run.step(id)).collect();
        for changed in &span.changed {
            let path = changed.path.clone();
            let about = concerns.counting(changed);
            match run.plan().map_or(ChangeClass::Forbidden, |plan| {
                classify(changed, &ran, plan, !about.is_empty())
            }) {
                ChangeClass::Product => {}
                ChangeClass::Written => {
                    let early = had_passed(span, &passed, run, &path);
                    if !early.is_empty() {
                        before.insert(path.clone(), early);
                    }
                    wrote.insert(path);
                }
                ChangeClass::New => _ = left.insert(path),
                ChangeClass::Appeared => {
                    suspects.extend(span.ran.iter().cloned());
                    appeared.insert(path, about.iter().map(|s| s.check()).collect());
                }
                ChangeClass::Other | ChangeClass::Forbidden
                    if left.contains(&path) || appeared.contains_key(&path) => {}
                ChangeClass::Other if concerns.is_left_by_tools(&path) => {}
                ChangeClass::Other => _ = others.insert(path),
                ChangeClass::Forbidden => {
                    suspects.extend(span.ran.iter().cloned());
                    let in_plan = |id: &str| {
                        run.plan()
                            .is_some_and(|plan| plan.steps.iter().any(|s| s.id == id))
                    };
                    match ran.as_slice() {
                        [one] if span.ran.len() == 1 && in_plan(&one.id) => {
                            known.entry(&one.id).or_default().insert(path);
                        }
                        [] if !passed.iter().any(|s| is_about(run.contract, s, &path)) => {
                            _ = others.insert(path)
                        }
                        [] => {
                            let about = passed.iter().filter(|s| is_about(run.contract, s, &path));
                            let about = about.map(|s| s.check()).collect();
                            unknown.push((path, about));
                        }
                        several => {
                            unknown.push((path, several.iter().map(|s| s.check()).collect()))
                        }
                    }
                }
            }
        }
    }
    let (between, doubtful) = between(spans, run, &concerns);
    suspects.extend(doubtful);
    let is_known = known.is_empty() && unknown.is_empty();
    let mut caveats: Vec<Caveat> = known
        .iter()
        .map(|(id, files)| by_one(run, id, files))
        .collect();
    let moved = of_files((Code::TreeMoved, Effect::Incomplete), MOVED, unknown);
    caveats.extend(moved.map(|caveat| caveat.way_out(AGAIN)));
    caveats.extend(between);
    let failed = known
        .iter()
        .map(|(id, files)| ((*id).to_owned(), detail(files)))
        .collect();
    Attribution {
        appeared,
        caveats,
        failed,
        grown: of_files(GREW, BEFORE, before),
        is_known,
        left: left.into_iter().collect(),
        others: others.into_iter().collect(),
        suspects: suspects.into_iter().collect(),
        wrote: wrote.into_iter().collect(),
    }
}

/// Returns the caveats about passes for a content in between, and the steps that ran then.
fn between<'a>(
    spans: &[SnapshotSpan],
    run: &BlamedRun<'a>,
    concerns: &Concerns<'a>,
) -> (Vec<Caveat>, BTreeSet<String>) {
    let passed = run.passed();
    let is_passed = |step: &&Step| passed.iter().any(|s| s.id == step.id);
    // An earlier pass was taken over for the content at that moment.
    let is_cached = |id: &str| {
        let mut records = run.records.iter();
        records.any(|record| record.id == id && record.status == Status::Cached)
    };
    let mut files: BTreeMap<RepoPath, BTreeSet<&str>> = BTreeMap::new();
    let (mut suspects, mut not_known) = (BTreeSet::new(), BTreeSet::new());
    for span in spans {
        let unknown = passed.iter().filter(|s| span.unknown.contains(&s.id));
        not_known.extend(unknown.map(|s| s.check()));
        for file in &span.restored {
            let (path, ran) = (&file.path, &file.ran);
            let steps: Vec<&Step> = ran.iter().filter_map(|id| run.step(id)).collect();
            let may_change =
                |s: &&Step| s.may_write(path) || s.produces.iter().any(|glob| glob.matches(path));
            let is_product = run.plan().is_some_and(|plan| plan.produces(path));
            if is_product || may_leave(&steps, path) || steps.iter().any(may_change) {
                continue;
            }
            let about = concerns
                .concerned_steps(path)
                .into_iter()
                .map(|(step, _)| step);
            let steps = concerns.foci.iter().map(|(step, _)| *step);
            let defined = steps.filter(|step| is_defined_by(step, path));
            let in_doubt = about
                .chain(defined)
                .filter(is_passed)
                .filter(|s| ran.contains(&s.id) || is_cached(&s.id));
            let in_doubt: BTreeSet<&str> = in_doubt.map(|s| s.check()).collect();
            if !in_doubt.is_empty() {
                suspects.extend(ran.iter().cloned());
                files.insert(path.clone(), in_doubt);
            }
        }
        suspects.extend(span.unknown.iter().cloned());
    }
    let restored = of_files((Code::TouchedAndRestored, Effect::Narrows), RESTORED, files);
    let restored = restored.map(|caveat| caveat.way_out(AGAIN));
    let caveats = restored.into_iter().chain(not_compared(not_known));
    (caveats.collect(), suspects)
}

/// Returns the checks about a file that had passed when it was written.
fn had_passed<'a>(
    span: &SnapshotSpan,
    passed: &[&'a Step],
    run: &BlamedRun<'_>,
    path: &RepoPath,
) -> Vec<&'a str> {
    let early = passed
        .iter()
        .filter(|s| span.over.contains(&s.id) && !s.may_write(path));
    early
        .filter(|s| is_about(run.contract, s, path))
        .map(|s| s.check())
        .collect()
}

fn detail(files: &BTreeSet<RepoPath>) -> String {
    let first = files.first().map(ToString::to_string).unwrap_or_default();
    let more = and_more(files.len().saturating_sub(1));
    format!("`{first}`{more} changed while it ran, which nothing in the contract lets it change")
}

fn by_one(run: &BlamedRun<'_>, id: &str, files: &BTreeSet<RepoPath>) -> Caveat {
    let check = run.step(id).map_or(id, Step::check);
    let message =
        format!("files changed while only `{check}` ran, by it or by something outside of the run");
    Caveat::new(Code::TreeChanged, Effect::Incomplete, message)
        .of_checks(vec![check.to_owned()])
        .with_files(files.iter().cloned().collect())
        .way_out(AGAIN)
}

/// Makes the caveat about files, each with the checks that it concerns, if there are any.
fn of_files<'c, C: IntoIterator<Item = &'c str>>(
    (code, effect): (Code, Effect),
    message: &str,
    files: impl IntoIterator<Item = (RepoPath, C)>,
) -> Option<Caveat> {
    let (files, checks): (Vec<RepoPath>, Vec<C>) = files.into_iter().unzip();
    let caveat = Caveat::new(code, effect, message);
    let caveat = caveat.of_checks(first_names(checks.into_iter().flatten().collect()));
    (!files.is_empty()).then(|| caveat.with_files(files))
}

/// Makes the caveat about files that appeared and that checks of the plan select.
pub(super) fn appeared(
    appeared: BTreeMap<RepoPath, Vec<&str>>,
    lines: &NewFileLines<'_>,
) -> Option<Caveat> {
    let message = "files appeared while the checks ran, and checks are about them: run again";
    let proposal = lines.proposal(appeared.keys());
    let caveat = of_files(GREW, message, appeared)?;
    Some(match proposal {
        Some(lines) => caveat.way_out(format!("settle what a check leaves {lines}")),
        None => caveat,
    })
}

const GREW: (Code, Effect) = (Code::ChangeGrew, Effect::Incomplete);
const BEFORE: &str = "files were written that checks are about which had passed before: run again";
const MOVED: &str = "files changed while the checks ran, which passed for what is no longer here";
const RESTORED: &str = "files changed while the checks ran and were restored: which content these checks passed for is not known";

/// Makes the caveat about steps after which the tree could not be compared.
fn not_compared(steps: BTreeSet<&str>) -> Option<Caveat> {
    let message = "whether files changed and were restored while the checks ran is not known: the tree could not be compared between them";
    (!steps.is_empty()).then(|| {
        Caveat::new(Code::TouchedAndRestored, Effect::Narrows, message)
            .of_checks(first_names(steps))
            .way_out(AGAIN)
    })
}

/// Returns the first names.
fn first_names(checks: BTreeSet<&str>) -> Vec<String> {
    let names = checks.into_iter().take(FILES_SHOWN);
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::glob::{Glob, Item, ItemContent, Selection};
    use vplan_plan::bare::plan_of_words;

    /// Checks which new files are left by a step, are the change's, or make another tree.
    #[test]
    fn a_new_file_is_left_by_a_step_only_if_one_ran_and_nothing_selects_it() {
        let everything = plan_of_words(&["true"]);
        let item = Item {
            not: false,
            what: ItemContent::Glob(Glob::parse("src/**").unwrap()),
        };
        let mut selected = everything.clone();
        selected.steps[0].inputs = Some(Selection { items: vec![item] });
        let path = RepoPath::parse(b"src/new").unwrap();
        let hidden = |by| BTreeMap::from([(path.clone(), by)]);
        for (plan, has_run, hidden, want) in [
            (&everything, true, BTreeMap::new(), [true, false, false]),
            (&selected, true, BTreeMap::new(), [false, true, false]),
            (
                &selected,
                true,
                hidden(HiddenBy::Repository),
                [false, true, false],
            ),
            (
                &selected,
                true,
                hidden(HiddenBy::User),
                [false, true, false],
            ),
            (
                &selected,
                true,
                hidden(HiddenBy::Tool),
                [true, false, false],
            ),
            (&everything, false, BTreeMap::new(), [false, false, true]),
            (
                &everything,
                false,
                hidden(HiddenBy::Tool),
                [false, false, false],
            ),
        ] {
            let changed = vec![SnapshotChange {
                path: path.clone(),
                was: EarlierState::New,
            }];
            let ran = has_run.then(|| plan.steps[0].id.clone());
            let spans = [SnapshotSpan {
                ran: ran.into_iter().collect(),
                changed,
                ..SnapshotSpan::default()
            }];
            let run = BlamedRun {
                plans: &[Arc::new(plan.clone())],
                contract: None,
                records: &[],
                whole: None,
            };
            let found = blame(&spans, &run, &hidden);
            let is = [
                found.left.contains(&path),
                found.appeared.contains_key(&path),
                found.others.contains(&path),
            ];
            assert_eq!(is, want, "{has_run} {hidden:?}");
        }
    }
}
