//! Records a run without a verdict as a failed round, or an agent could stop by provoking one.

use crate::continuation::site_identity;
use crate::{Digest, Engine, Exit, Failure, Oid, Site, Verdict};
use vplan_base::word::framed;
use vplan_ledger::began::Began;
use vplan_ledger::round::{Recorded, Round, RoundChange, RoundResult, SubjectRequest, record};
use vplan_ledger::{Contents, Ledger, Terms};
use vplan_repo::ledger_file::{LedgerFile, PATIENCE};
use vplan_store::records::wall_clock;

/// The terms under which the work began: the contract's digest at the base, and its gate.
fn gate_at(engine: &Engine<'_>, site: &Site, base: Option<&Oid>) -> (Option<Digest>, Terms) {
    let revision = base.map(ToString::to_string);
    let wanted = engine.contract_request(revision.as_deref(), base);
    let loaded = base.and_then(|_| engine.load(site, &wanted).ok()?.ok());
    let contract = loaded.and_then(|l| l.contract);
    let digest = contract.as_ref().map(|c| c.digest.clone());
    (digest, Terms::from_gate(contract.as_ref().map(|c| &c.gate)))
}

/// Begins the subject of a session, if it has not begun.
///
/// # Errors
/// The ledger cannot be used.
pub(super) fn begin(
    engine: &Engine<'_>,
    site: &Site,
    name: &str,
    base: Option<&Oid>,
) -> Result<(), Failure> {
    let Some(base) = base else {
        return Ok(());
    };
    let has_begun = |ledger: &Ledger| {
        let began = ledger.entry(name).and_then(|e| e.began.as_ref());
        began.is_some_and(|began| began.base.is_some())
    };
    let file = LedgerFile::new(engine.state(site)?);
    if has_begun(&file.read()?) {
        return Ok(());
    }
    let (contract, gate) = gate_at(engine, site, Some(base));
    let began = Began {
        assumed: false,
        base: Some(base.to_string()),
        contract,
        gate,
    };
    file.change(PATIENCE, |ledger| {
        let mut next = ledger.clone();
        if !has_begun(ledger) {
            next.begin(name, &wall_clock(), began);
            next.bind(name, None, site_identity(site));
        }
        Ok((next, ()))
    })
}

/// A round without a report.
#[derive(Debug)]
pub struct Failed {
    /// The exit code of the run, if it ended by itself.
    pub exit: Option<u8>,
    /// The failure, on one line and in vplan's own words.
    pub what: String,
    /// The error output of the run.
    pub stderr: String,
    /// The verdict as which it counts.
    pub verdict: Verdict,
}

impl Failed {
    /// Of a failure before anything ran.
    pub(super) fn from_failure(failure: &Failure) -> Self {
        // Resetting a ledger is left to people.
        let is_of_ledger = failure.code.starts_with("vplan::ledger");
        let help = failure.help.as_ref().filter(|_| !is_of_ledger);
        let help = framed("\n", help, "");
        Self {
            exit: Some(failure.exit.code()),
            what: "the work could not be verified".to_owned(),
            stderr: format!("{}{help}", failure.message),
            verdict: Verdict::Errored,
        }
    }

    /// Makes the failure for work outside of the work tree, a line each: a pass of the present
    /// files does not count.
    pub(super) fn elsewhere(left: &[String]) -> Self {
        let left = left.join("\n");
        Self {
            exit: Some(Exit::Failed.code()),
            what: "work of this session is not in its work tree".to_owned(),
            stderr: format!("{left}\nbring it back into this work tree, and stop there"),
            verdict: Verdict::Failed,
        }
    }

    /// Describes it to people, a line each.
    pub(super) fn for_people(self) -> Vec<String> {
        let mut lines = vec![self.what];
        if self.verdict == Verdict::Failed {
            lines.extend(self.stderr.lines().map(str::to_owned));
        }
        lines
    }

    /// Records the round, and returns the next step.
    ///
    /// # Errors
    /// The ledger cannot be used.
    pub(super) fn record(
        &self,
        engine: &Engine<'_>,
        site: &Site,
        name: &str,
        base: Option<&Oid>,
    ) -> Result<Recorded, Failure> {
        let (_, at_base) = gate_at(engine, site, base);
        let contents = self.contents(engine, site);
        // Work elsewhere has changed, whatever the files here are.
        let changed = match self.verdict {
            Verdict::Failed => RoundChange::Files(1),
            _ if contents.is_none() => RoundChange::Files(1),
            _ => RoundChange::Auto,
        };
        let contents = contents.unwrap_or_else(|| Contents {
            digest: Digest::hash(&[]),
            files: 0,
        });
        let signature = Digest::of_value(&(self.exit, &self.what, self.verdict.name()));
        let result = RoundResult::Run {
            exit: self.exit.unwrap_or(Exit::Internal.code()),
            run_id: String::new(),
            signature: Some(signature),
            status: None,
            verdict: self.verdict,
        };
        let ended_at = wall_clock();
        let round = Round {
            about: SubjectRequest::default(),
            changed,
            contents,
            ended_at: &ended_at,
            result,
            subject: name,
        };
        LedgerFile::new(engine.state(site)?).change(PATIENCE, |ledger| {
            let began = ledger.entry(name).and_then(|e| e.began.as_ref());
            let terms = began.map_or(at_base, |b| b.gate);
            Ok(record(ledger, &terms, &round))
        })
    }

    /// Returns the present files. Files that cannot be listed differ from those of any earlier
    /// round; at the time limit, they are not listed.
    fn contents(&self, engine: &Engine<'_>, site: &Site) -> Option<Contents> {
        if self.verdict == Verdict::TimedOut {
            return None;
        }
        let contract = engine.load_contract(site).ok().and_then(|l| l.contract);
        let tree = engine.tree(site, contract.as_ref(), &[]);
        tree.contents().ok()
    }
}
