//! Attributes the changes between two snapshots to steps, and decides which of them are allowed.

use crate::base::path::RepoPath;
use crate::base::word::and_more;
use crate::contract::Contract;
use crate::effect::git::snapshot::Snapshot;
use crate::effect::runner::looks::{Changed, Span, Was};
use crate::plan::about::is_about;
use crate::plan::caveat::{Caveat, Code, Effect, FILES_SHOWN};
use crate::plan::{Plan, Step};
use crate::run::record::StepRecord;
use crate::run::report::NewFile;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The way out for a tree that changed.
pub(super) const AGAIN: &str =
    "run again when nothing else writes to the work tree; `writes` says what a check may change";
/// The most ways out of new files that are named.
const WAYS: usize = 3;

/// The facts of an ended run that decide about its tree.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The plans that were executed, in order; at least one.
    pub plans: &'a [Arc<Plan>],
    /// The contract, if there is one.
    pub contract: Option<&'a Contract>,
    /// The records of the last plan's steps.
    pub records: &'a [StepRecord],
    /// The whole plan, if only a shard of it was executed: all shards name one tree alike.
    pub whole: Option<&'a Plan>,
}

impl Run<'_> {
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

pub(super) fn is_product(plan: &Plan, path: &RepoPath) -> bool {
    plan.steps
        .iter()
        .flat_map(|s| &s.produces)
        .any(|glob| glob.matches(path))
}

/// The result of attributing all changes.
#[derive(Debug)]
pub(super) struct Attribution {
    /// The caveats about files that must not change.
    pub caveats: Vec<Caveat>,
    /// The steps that certainly changed some of them, and the message.
    pub failed: Vec<(String, String)>,
    /// The caveat about checks that had passed before one of their files was written.
    pub grown: Option<Caveat>,
    /// Whether only allowed changes were made.
    pub is_known: bool,
    /// Files that did not exist before.
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
enum Is {
    /// An output of the plan.
    Product,
    /// A file that one of them may write.
    Written,
    /// A file that one of them may delete, or reports in; or a change outside git.
    Other,
    /// A file that did not exist, and that a step may have made.
    New,
    /// A file that none of them may change.
    Forbidden,
}

fn classify(changed: &Changed, ran: &[&Step], plan: &Plan) -> Is {
    let path = &changed.path;
    let produces = |s: &&Step| s.produces.iter().any(|glob| glob.matches(path));
    let reports = |s: &Step| s.report.as_ref().is_some_and(|r| r.glob.matches(path));
    if is_product(plan, path) || ran.iter().any(produces) {
        Is::Product
    } else if ran.iter().any(|s| s.may_write(path)) {
        Is::Written
    } else if changed.was == Was::New && !ran.is_empty() {
        Is::New
    } else if changed.was != Was::Tracked
        || ran
            .iter()
            .any(|s| s.cleans.iter().any(|glob| glob.matches(path)) || reports(s))
    {
        Is::Other
    } else {
        Is::Forbidden
    }
}

/// Attributes each change between two snapshots to the steps that may have made it.
pub(super) fn blame(spans: &[Span], run: &Run<'_>) -> Attribution {
    let passed = run.passed();
    let mut known: BTreeMap<&str, BTreeSet<RepoPath>> = BTreeMap::new();
    let mut unknown: Vec<(BTreeSet<&str>, RepoPath)> = Vec::new();
    let (mut left, mut others, mut wrote) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let (mut suspects, mut before) = (BTreeSet::new(), BTreeMap::new());
    for span in spans {
        let ran: Vec<&Step> = span.ran.iter().filter_map(|id| run.step(id)).collect();
        for changed in &span.changed {
            let path = changed.path.clone();
            match run
                .plan()
                .map_or(Is::Forbidden, |plan| classify(changed, &ran, plan))
            {
                Is::Product => {}
                Is::Written => {
                    let early = had_passed(span, &passed, run, &path);
                    if !early.is_empty() {
                        before.insert(path.clone(), early);
                    }
                    wrote.insert(path);
                }
                Is::New => _ = left.insert(path),
                Is::Other if left.contains(&path) => {}
                Is::Other => _ = others.insert(path),
                Is::Forbidden => {
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
                            unknown.push((about.map(|s| s.check()).collect(), path));
                        }
                        several => {
                            unknown.push((several.iter().map(|s| s.check()).collect(), path))
                        }
                    }
                }
            }
        }
    }
    let is_known = known.is_empty() && unknown.is_empty();
    let mut caveats: Vec<Caveat> = known
        .iter()
        .map(|(id, files)| by_one(run, id, files))
        .collect();
    caveats.extend(by_several(unknown));
    let failed = known
        .iter()
        .map(|(id, files)| ((*id).to_owned(), detail(files)))
        .collect();
    Attribution {
        caveats,
        failed,
        grown: grown(before),
        is_known,
        left: left.into_iter().collect(),
        others: others.into_iter().collect(),
        suspects: suspects.into_iter().collect(),
        wrote: wrote.into_iter().collect(),
    }
}

/// Returns the checks about a file that had passed when it was written.
fn had_passed<'a>(
    span: &Span,
    passed: &[&'a Step],
    run: &Run<'_>,
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

fn by_one(run: &Run<'_>, id: &str, files: &BTreeSet<RepoPath>) -> Caveat {
    let check = run.step(id).map_or(id, Step::check);
    let message =
        format!("tracked files changed while only `{check}` ran, which may not change them");
    let first = files.first().map(ToString::to_string).unwrap_or_default();
    Caveat::new(Code::TreeChanged, Effect::Incomplete, message)
        .of_checks(vec![check.to_owned()])
        .about(files.iter().cloned().collect())
        .way_out(format!(
            "`writes \"{first}\"` in the check lets it; a checker has a mode that only looks"
        ))
}

fn by_several(unknown: Vec<(BTreeSet<&str>, RepoPath)>) -> Option<Caveat> {
    if unknown.is_empty() {
        return None;
    }
    let checks: BTreeSet<&str> = unknown
        .iter()
        .flat_map(|(checks, _)| checks.iter().copied())
        .collect();
    let message = "files changed while the checks ran, which passed for what is no longer here";
    let checks = checks
        .into_iter()
        .take(FILES_SHOWN)
        .map(str::to_owned)
        .collect();
    let files = unknown.into_iter().map(|(_, path)| path).collect();
    Some(
        Caveat::new(Code::TreeMoved, Effect::Incomplete, message)
            .of_checks(checks)
            .about(files)
            .way_out(AGAIN),
    )
}

fn grown(before: BTreeMap<RepoPath, Vec<&str>>) -> Option<Caveat> {
    if before.is_empty() {
        return None;
    }
    let checks: BTreeSet<&str> = before.values().flatten().copied().collect();
    let message = "files were written that checks are about which had passed before: run again";
    let checks = checks
        .into_iter()
        .take(FILES_SHOWN)
        .map(str::to_owned)
        .collect();
    Some(
        Caveat::new(Code::ChangeGrew, Effect::Incomplete, message)
            .of_checks(checks)
            .about(before.into_keys().collect()),
    )
}

/// Makes the caveat about new files that git does not ignore.
pub(super) fn new_files(new: &[NewFile], now: &Snapshot) -> Caveat {
    let mut ways: Vec<(String, String)> = Vec::new();
    for file in new {
        // The uppermost folder without a tracked file is named for everything below it.
        let text = file.path.to_string();
        let folder = text
            .match_indices('/')
            .map(|(at, _)| text.get(..at).unwrap_or_default());
        let free = folder
            .into_iter()
            .find(|folder| !now.has_tracked_below(folder.as_bytes()));
        let way = match free {
            Some(folder) => (format!("/{folder}/"), format!("{folder}/**")),
            None => (format!("/{text}"), text),
        };
        if !ways.contains(&way) {
            ways.push(way);
        }
        if ways.len() > WAYS {
            break;
        }
    }
    let list = |of: &dyn Fn(&(String, String)) -> String| {
        ways.iter()
            .take(WAYS)
            .map(of)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let ignored = list(&|(ignored, _)| format!("`{ignored}`"));
    let produced = list(&|(_, produced)| format!("\"{produced}\""));
    Caveat::new(
        Code::NewFiles,
        Effect::Note,
        "new files are there that git does not ignore; the verified tree is without them",
    )
    .about(new.iter().map(|file| file.path.clone()).collect())
    .way_out(format!(
        "settle it with {ignored} in `.gitignore`, or with `produces {}` in the check",
        produced.replace(", ", " ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recover::bare::plan_of_words;

    /// Checks that a file that appears while no step runs belongs to no step: it makes another
    /// tree.
    #[test]
    fn a_new_file_is_left_by_a_step_only_if_one_ran() {
        let plan = plan_of_words(&["true"]);
        let id = plan.steps[0].id.clone();
        let path = RepoPath::parse(b"src/new").unwrap();
        for (ran, left) in [(BTreeSet::from([id]), true), (BTreeSet::new(), false)] {
            let changed = vec![Changed {
                path: path.clone(),
                was: Was::New,
            }];
            let spans = [Span {
                ran,
                over: BTreeSet::new(),
                changed,
            }];
            let found = blame(
                &spans,
                &Run {
                    plans: &[Arc::new(plan.clone())],
                    contract: None,
                    records: &[],
                    whole: None,
                },
            );
            assert_eq!(
                (found.left.contains(&path), found.others.contains(&path)),
                (left, !left)
            );
        }
    }
}
