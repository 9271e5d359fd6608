//! Keeps, in the state directory, the results of checks when they last passed on this machine. For
//! notes only: a missing or unreadable entry counts as unknown.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use vplan_contract::{Body, Contract};
use vplan_git::Git;
use vplan_git::object::Oid;
use vplan_os::files::{read_plain, replace};
use vplan_os::state_dir::StateDir;
use vplan_plan::caveat::{Caveat, Code};
use vplan_plan::request::Request;
use vplan_plan::{Origin, Plan, Step};
use vplan_run::last_passes::{Pass, Passes};
use vplan_run::record::StepRecord;

/// The file in the state directory.
const NAME: &str = "passes.json";
/// Size limit of a file that is read, in bytes.
const MOST: u64 = 4 << 20;

/// Compares a run with earlier passes.
pub struct Earlier<'a> {
    git: &'a Git,
    /// The repository, without symlinks.
    root: PathBuf,
    /// The commit that the change is compared with.
    base: Oid,
    /// The commit that HEAD names as the run begins.
    head: Oid,
    contract: Option<&'a Contract>,
    /// Whether a command of the request has `{changed}`.
    changed: bool,
    place: PathBuf,
}

impl<'a> Earlier<'a> {
    /// Opens it for one run. `None` where there is no commit to compare with.
    pub fn new(
        git: &'a Git,
        base: Option<&Oid>,
        contract: Option<&'a Contract>,
        request: &Request,
        state: &StateDir,
    ) -> Option<Self> {
        let proposed = request.proposal.iter().flat_map(|p| &p.commands);
        let mut asked = request
            .explicit
            .iter()
            .chain(proposed.map(|(asked, _)| asked));
        Some(Self {
            git,
            root: git.root().to_owned(),
            base: *base?,
            head: git.head().ok()??,
            contract,
            changed: asked.any(|asked| asked.command.has_changed()),
            place: state.path.join(NAME),
        })
    }

    fn read(&self) -> Passes {
        let bytes = read_plain(&self.place, MOST).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Returns the passes of this run that can be compared: a check with `{changed}` has other
    /// arguments each time.
    fn passes<'p>(
        &'p self,
        plan: &'p Plan,
        records: &'p [StepRecord],
    ) -> impl Iterator<Item = (&'p Step, Pass)> {
        let below = |path: &[u8]| Path::new(OsStr::from_bytes(path)).starts_with(&self.root);
        let head = self.head.to_string();
        let counts = |(step, record): &(&Step, &StepRecord)| {
            record.status.is_pass() && step.argv.is_some() && self.compares(step)
        };
        let passed = plan.steps.iter().zip(records).filter(counts);
        passed.map(move |(step, record)| (step, Pass::from_record(step, record, &head, below)))
    }

    fn compares(&self, step: &Step) -> bool {
        if step.batch_of.is_some() {
            return false;
        }
        if step.origin != Origin::Contract {
            return !self.changed;
        }
        let mut checks = self.contract.into_iter().flat_map(|c| &c.checks);
        let check = checks.find(|check| check.id == step.id);
        check.is_some_and(|c| !matches!(&c.body, Body::Command(command) if command.has_changed()))
    }

    /// Returns the caveats about the passes of this run.
    pub fn compare(&self, plan: &Plan, records: &[StepRecord]) -> Vec<Caveat> {
        let known = self.read();
        let base = self.base.to_string();
        if known.0.is_empty() {
            return Vec::new();
        }
        self.passes(plan, records)
            .flat_map(|(step, pass)| known.compare(&pass, &step.id, &base, &|c| self.is_later(c)))
            .collect()
    }

    /// Whether a commit is the base, or lies between it and HEAD. Other branches do not count.
    fn is_later(&self, commit: &str) -> bool {
        let Some(commit) = Oid::parse(commit.as_bytes()) else {
            return false;
        };
        let within = |one: &Oid, other: &Oid| {
            let base = || self.git.merge_base("HEAD", one, other);
            one == other || base().is_ok_and(|found| found == *one)
        };
        commit == self.base || (within(&commit, &self.head) && within(&self.base, &commit))
    }

    /// Keeps the passes of a run that passed, except those with a caveat: the earlier ones count
    /// for as long as the base is the same, or to run twice would be enough.
    pub fn keep(&self, plan: &Plan, records: &[StepRecord], said: &[Caveat]) {
        let mut known = self.read();
        let before = known.clone();
        for (step, pass) in self.passes(plan, records) {
            let about = |c: &Caveat| matches!(c.code, Code::ProgramChanged | Code::TestsDropped);
            let differs = said.iter().any(|c| about(c) && c.checks.contains(&step.id));
            let says = pass.tests.is_some() || pass.program.is_some();
            if says && !differs && known.0.iter().rfind(|p| p.words == pass.words) != Some(&pass) {
                known.keep(pass);
            }
        }
        if known != before
            && let Err(error) = self::write(&self.place, &known)
        {
            tracing::debug!(%error, "what passed cannot be kept");
        }
    }
}

fn write(place: &Path, passes: &Passes) -> std::io::Result<()> {
    replace(place, &serde_json::to_vec(passes)?)
}
