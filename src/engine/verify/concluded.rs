//! Makes the report of the executed plan, and completes the record.

use super::journal_writer::JournalWriter;
use super::rounds::Executed;
use super::world::RoundWorld;
use crate::{Caveat, Code, Effect, Note, Plan, Report, Step};
use std::sync::Arc;
use vplan_check::Kind;
use vplan_check::outcome::{Cause, Status};
use vplan_run::known::known_findings;
use vplan_run::record::StepRecord;
use vplan_run::report::{Circumstances, TREE_CHANGED, report};
use vplan_run::state::StateEnding;
use vplan_run::unshown::tests_not_shown;
use vplan_runner::executor::Driver;
use vplan_runner::remote::RemoteExecution;
use vplan_runner::snapshots::RunSnapshots;
use vplan_runner::tree::{self, TreeChanges, blame};
use vplan_store::reuse::RunCache;

/// Ends a run. `recall`, `looks`, `away`: the tools of its steps; `driver`: the receiver of
/// signals.
pub(super) fn concluded(
    executed: Executed,
    (recall, looks, away): (
        Option<RunCache<'_>>,
        Option<&RunSnapshots>,
        Option<&RemoteExecution<'_>>,
    ),
    mut driver: Option<Driver>,
    world: &RoundWorld<'_>,
    mut circumstances: Circumstances,
    book: JournalWriter<'_>,
) -> (Report, Plan) {
    let Executed {
        plans,
        plan,
        mut records,
        ending,
        superseded,
        rounds,
    } = executed;
    circumstances.run_id = book.record.id().to_owned();
    circumstances.superseded.extend(superseded);
    let fallen_back = rounds.fallen_back(&records);
    circumstances.refusals = rounds.refusals;
    circumstances.environment.withheld = rounds.withheld.into_values().collect();
    let ending = StateEnding {
        storage: ending.storage.clone().or(book.fault.clone()),
        ..ending
    };
    let found = tree::ended(
        looks,
        &blame::BlamedRun {
            plans: &plans,
            contract: world.round.session.contract(),
            records: &records,
            whole: circumstances.shard.as_ref().map(|shard| &*shard.plan),
        },
        plan.steps.iter().any(looks_itself) || recall.as_ref().is_some_and(RunCache::is_later),
    );
    let first: (&Plan, _) = (plans.first().unwrap_or(&plan), world);
    let kept = recall.as_ref();
    let note = apply_tree_changes(found, &mut records, &mut circumstances, kept, first);
    let now = looks.and_then(RunSnapshots::newest);
    let is_interrupted = ending.cancelled.is_some();
    let mut is_over = || is_interrupted || driver.as_mut().is_some_and(Driver::is_asked_to_end);
    let notes = recall.map(|recall| recall.finish(now.as_deref(), &mut records, &mut is_over));
    circumstances.notes.extend(notes.unwrap_or_default());
    let known = &world.known;
    let origin = known.as_ref().map_or("", |known| known.origin.as_str());
    let observed = world.findings(&circumstances.run_id);
    circumstances.caveats.extend(
        (world.compare(&plan, &records).into_iter())
            .chain(known_findings(&plan, &records, origin))
            .chain(tests_not_shown(&plan, &records))
            .chain(observed.caveats),
    );
    let away = away.into_iter().flat_map(RemoteExecution::notes);
    let away = fallen_back.into_iter().chain(away);
    circumstances.notes.extend(away);
    let mut report = report(&plan, records, &ending, circumstances);
    report.notes.extend(note.into_iter().chain(observed.notes));
    world.conclude(&mut report);
    book.end(&mut report);
    drop(plans);
    (report, Arc::unwrap_or_clone(plan))
}

/// Whether vplan itself reads files of the tree for a step, and not in a snapshot.
fn looks_itself(step: &Step) -> bool {
    step.kind == Kind::File || step.unchanged.is_some()
}

/// Applies the changes of the tree to the records and the report. Returns a note to add.
fn apply_tree_changes(
    found: TreeChanges,
    records: &mut [StepRecord],
    circumstances: &mut Circumstances,
    recall: Option<&RunCache<'_>>,
    (first, world): (&Plan, &RoundWorld<'_>),
) -> Option<Note> {
    let TreeChanges {
        caveats,
        failed,
        made,
        new,
        note,
        suspects,
        tree,
        wrote,
    } = found;
    for (id, detail) in failed {
        let ran =
            |r: &&mut StepRecord| r.id == id && (r.status.is_pass() || r.status == Status::Skipped);
        if let Some(record) = records.iter_mut().find(ran) {
            record.status = Status::Failed;
            record.reason = Some(Cause::TreeChanged);
            record.detail = Some(detail);
            record.failure_code = Some(TREE_CHANGED.into());
        }
    }
    recall
        .into_iter()
        .for_each(|recall| recall.forget(&suspects));
    let has_grown = caveats.iter().any(|c| c.code == Code::ChangeGrew);
    circumstances.caveats.extend(caveats);
    let whole = circumstances.shard.as_ref().map(|shard| &*shard.plan);
    let whole = whole.unwrap_or(first);
    let mut grown = Vec::new();
    if !(has_grown || wrote.is_empty() && made.is_empty()) {
        grown.extend(world.round.caveat(whole, &wrote, &made));
    }
    if !has_grown && grown.is_empty() && !records.is_empty() {
        grown.extend(world.round.by_existence(whole));
    }
    let narrows = |c: &Caveat| c.code == Code::NewlyIgnored && c.effect == Effect::Narrows;
    if !records.is_empty() && !circumstances.caveats.iter().any(narrows) {
        grown.extend(world.round.newly_ignored(whole));
    }
    circumstances.caveats.extend(grown);
    circumstances.new_files = new;
    circumstances.tree = tree;
    note
}
