//! The thread of a step that is executed elsewhere.

use crate::background::WorkerEvent;
use crate::context::Context;
use crate::remote::{RemoteExecution, Sent};
use rustix::fs::Mode;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use tokio::sync::mpsc::UnboundedSender;
use vplan_os::atomic_file::create;
use vplan_os::files::open_plain;
use vplan_os::process::stop::StopRequest;
use vplan_plan::{Plan, StepIndex};
use vplan_store::reuse::RunCache;
use vplan_store::reuse::scan::Snapshots as _;

/// The parameters of a remote try, in addition to its plan.
pub(super) struct RemoteTry<'e> {
    /// The remote execution.
    pub away: &'e RemoteExecution<'e>,
    pub index: StepIndex,
    /// Its limit in milliseconds.
    pub limit_ms: u64,
    /// The name of its log.
    pub log: Option<String>,
    /// By which it is stopped.
    pub stop: Arc<StopRequest>,
}

impl RemoteTry<'_> {
    /// Has a try executed elsewhere, unless an earlier pass replaces it. `set_out`: its start was reported.
    pub(super) fn run(
        self,
        context: &Context<'_>,
        plan: &Plan,
        recall: Option<&RunCache<'_>>,
        set_out: &Receiver<()>,
        outbox: &UnboundedSender<WorkerEvent>,
    ) {
        let index = self.index;
        // The driving thread outlives this one.
        let leave = |note| drop(outbox.send(note));
        if let Some(pass) = recall.and_then(|recall| recall.find_pass(plan, index, &context.looks))
        {
            return leave(WorkerEvent::Recalled(index, pass));
        }
        leave(WorkerEvent::Looked(index));
        // The sender is gone if the step must not start.
        if set_out.recv().is_err() {
            return;
        }
        let step = plan.step(index);
        if let Some(recall) = context.recall {
            recall.went_away(step);
        }
        let digest = plan.digest.clone();
        let digest = digest.unwrap_or_else(|| vplan_plan::digest::digest(plan));
        let tree = context.looks.newest();
        let sent = Sent {
            step,
            plan: &digest,
            limit_ms: self.limit_ms,
            max_output: context.max_output,
            stop: &self.stop,
            tree: tree.as_deref(),
            keep_log: &|file| keep_log(context, self.log.as_deref(), file),
            began: &|| leave(WorkerEvent::BeganElsewhere(index)),
        };
        let came = self.away.execute(&sent);
        context.recall.into_iter().for_each(RunCache::came_back);
        leave(WorkerEvent::CameBack(index, Box::new(came)));
    }
}

/// Writes the log of a try that was executed elsewhere.
fn keep_log(context: &Context<'_>, log: Option<&str>, from: &Path) -> io::Result<()> {
    let Some((folder, log)) = context.logs.zip(log) else {
        return Ok(());
    };
    // As long as a log here may be, with its marks.
    let most = context.max_output.saturating_add(64 << 10);
    let mut from = open_plain(from)?.take(most);
    let mut to = create(folder, log, Mode::from_raw_mode(0o644))?;
    io::copy(&mut from, &mut to)?;
    Ok(())
}
