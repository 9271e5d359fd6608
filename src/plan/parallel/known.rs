//! Effects of a plan's commands in earlier runs.

use crate::{Plan, Step};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::canon::Digest;
use vplan_base::path::RepoPath;
use vplan_base::service::Service;
use vplan_check::Kind;
use vplan_check::observed::{Gap, Observed, Place, Uses};

/// Maximum number of observations of a command that count, newest first.
const OBSERVATIONS: usize = 8;

/// Returns the identity of a step's processes: a digest of what they are given. `None` for a step
/// that starts none.
///
/// The words count with the changed files in them: for other files, the same linter reads and
/// writes other files. External variables count by name only, because records do not keep their
/// values. The step's other settings (inputs, time limit, order) do not affect its processes.
pub fn identity(step: &Step) -> Option<Digest> {
    let argv = step.argv.as_ref()?;
    let services = step.with.iter().map(|service| Service {
        file: None,
        line: None,
        ..service.clone()
    });
    let services: Vec<Service> = services.collect();
    let Step {
        dir,
        env,
        pass_env,
        tool_path,
        ..
    } = step;
    Some(Digest::of_value(&(
        argv, dir, env, pass_env, tool_path, services,
    )))
}

/// What is known of what a step does.
#[derive(Clone, Debug)]
pub(super) enum Knowledge<'a> {
    /// All of it.
    All(Cow<'a, Observed>),
    /// Not all of it, or nothing.
    Unknown(UnknownEffects),
}

/// Why not everything is known of what a step does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownEffects {
    /// It was never observed while it passed.
    NeverObserved,
    /// It was observed, and this may have hidden something.
    Gap(Gap),
    /// A judge answers, which is not observed.
    Judge,
}

/// The effects of a plan's commands in earlier runs, by command identity.
#[derive(Clone, Debug, Default)]
pub struct KnownEffects(BTreeMap<Digest, Command>);

/// The observed effects of a command.
#[derive(Clone, Debug, Default)]
struct Command {
    observations: usize,
    /// What may have been hidden in the newest observation of a pass, once there is one. A run that
    /// failed may have ended before it did what it does.
    newest_pass: Option<BTreeSet<Gap>>,
    /// What all observations together saw.
    observed: Observed,
}

impl KnownEffects {
    /// Makes it for a plan; nothing is known of its steps yet.
    pub fn new(plan: &Plan) -> Self {
        let wanted = plan.steps.iter().filter_map(identity);
        Self(wanted.map(|id| (id, Command::default())).collect())
    }

    /// Whether further observations of a recorded step's command count for the plan.
    pub fn wants(&self, step: &Step) -> bool {
        let own = identity(step).and_then(|id| self.0.get(&id));
        own.is_some_and(|own| own.observations < OBSERVATIONS)
    }

    /// Adds the observed effects of a recorded step. Runs come newest first.
    pub fn add(&mut self, step: &Step, passed: bool, observed: Observed) {
        let own = identity(step).and_then(|id| self.0.get_mut(&id));
        let Some(own) = own.filter(|own| own.observations < OBSERVATIONS) else {
            return;
        };
        own.observations += 1;
        if passed && own.newest_pass.is_none() {
            own.newest_pass = Some(observed.gaps.clone());
        }
        own.observed.add(observed);
    }

    /// Returns what is known of a step of the plan.
    pub(super) fn get(&self, step: &Step) -> Knowledge<'_> {
        if step.kind == Kind::Judge {
            return Knowledge::Unknown(UnknownEffects::Judge);
        }
        let Some(id) = identity(step) else {
            return Knowledge::All(Cow::Owned(without_process(step)));
        };
        let own = self.0.get(&id);
        let newest = own.and_then(|own| Some((own, own.newest_pass.as_ref()?)));
        match newest {
            None => Knowledge::Unknown(UnknownEffects::NeverObserved),
            Some((own, gaps)) => match gaps.first() {
                Some(gap) => Knowledge::Unknown(UnknownEffects::Gap(gap.clone())),
                None => Knowledge::All(Cow::Borrowed(&own.observed)),
            },
        }
    }
}

/// Returns what vplan itself does for a step that starts no process: it looks at the path of a
/// `file` check.
fn without_process(step: &Step) -> Observed {
    let uses = Uses {
        read: true,
        listed: true,
        missing: true,
        ..Uses::default()
    };
    let look = |path: &RepoPath| (Place::Repository(path.clone()), uses.clone());
    Observed {
        files: step.path.iter().map(look).collect(),
        ..Observed::default()
    }
}
