//! Decides whether and how earlier results may replace steps.

use super::args::Global;
use super::session::{Session, state};
use crate::effect::os::environment::Environment;
use crate::effect::os::process::program::Root;
use crate::effect::store::reuse::Recall;
use crate::effect::store::reuse::results::{Results, unavailable};
use crate::plan::{Note, Plan};
use crate::reuse::decide::{Use, eligible};
use clap::Args;

/// Flags of `run`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Reuse")]
pub struct Reuse {
    /// Run every step, also those with `inputs` that passed before on the same ones; what passes
    /// now is kept for later runs.
    #[arg(long, conflicts_with = "confirm")]
    pub no_cache: bool,
    /// Run every step, and say where it does not do what it did in an earlier run on the same
    /// inputs; that result is forgotten.
    #[arg(long)]
    pub confirm: bool,
}

impl Reuse {
    /// Decides how earlier results are used. `counts`: the round counts towards more than one
    /// confirmation; each must be won anew then, so that no earlier result replaces a step.
    #[must_use]
    pub fn how(&self, counts: bool) -> Use {
        if self.confirm {
            Use::Confirm
        } else if self.no_cache || counts {
            Use::Keep
        } else {
            Use::Reuse
        }
    }

    /// What earlier runs have left, where a step of the plan may use it. That there is no place for
    /// it is no reason not to run.
    pub fn recall<'a>(
        &self,
        global: &Global,
        session: &Session,
        plan: &Plan,
        of: (&'a Root, &'a Environment),
        run_id: &str,
        counts: bool,
    ) -> (Option<Recall<'a>>, Vec<Note>) {
        if !plan.steps.iter().any(|step| eligible(step).is_ok()) {
            return (None, Vec::new());
        }
        let opened = state(global, &session.site)
            .map_err(|failure| failure.message)
            .and_then(|state| {
                let results = Results::open(&state).map_err(|e| unavailable(&e))?;
                Recall::new(
                    of.0,
                    session.git().cloned(),
                    of.1,
                    results,
                    self.how(counts),
                    run_id,
                )
                .map_err(|e| unavailable(&e))
            });
        match opened {
            Ok(recall) => (Some(recall), Vec::new()),
            Err(message) => (
                None,
                vec![Note {
                    kind: "reuse".to_owned(),
                    message,
                    path: None,
                }],
            ),
        }
    }
}
