//! Decides whether the present tree is verified: compares the plan that is requested now with the
//! runs that vplan remembers.

use super::base_contract::{BaseTerms, accepted_for, attach, caveats};
use super::baseline::counting;
use super::judge_commit::JudgeCommit;
use super::propose::ProposerUse;
use super::subject::check_name;
use crate::{
    Caveat, ChangeSource, Code, Digest, Effect, Engine, Exit, Failure, History, Plan, PlanRequest,
    Report, Session, Site, visible,
};
use std::collections::BTreeMap;
use std::io;
use vplan_check::outcome::Cause;
use vplan_plan::caveat;
use vplan_plan::request::{Boundary, ChangedIn, Mode, Request, RequestRecord, Risk};
use vplan_repo::ledger_file::LedgerFile;
use vplan_run::known::BaselineUse;
use vplan_run::recorded_answer::{
    EndedRun, RecordedEvidence, VerifiedAnswer, WhyNot, believed, failed, verifies,
};
use vplan_run::run_summary::{State, short};
use vplan_runner::tree::Present;

/// Maximum number of examined runs, the newest first.
const LOOKED_AT: usize = 200;
/// Maximum number of records that are read: those that may verify the request, or contradict it.
const READ: usize = 20;

/// The request that must be verified. Settings that are absent are taken from the run that is
/// compared.
#[derive(Clone, Debug, Default)]
pub struct StatusRequest {
    /// The role of the change's author.
    pub role: Option<String>,
    /// The risk of the change.
    pub risk: Option<Risk>,
    /// The boundaries that the change completes.
    pub boundaries: Vec<Boundary>,
    /// The minimum tier, 0 to 2.
    pub min_tier: Option<u8>,
    /// The revision from which the contract is read; the work tree otherwise.
    pub contract_from: Option<String>,
    /// The changed files; without it everything since the merge base with the default branch, or
    /// since the subject began.
    pub changes: Option<ChangeSource>,
    /// The subject: its base is compared with, and the contracts count that a person has accepted
    /// for it.
    pub subject: Option<String>,
    /// The contract that is accepted although it is weaker than the one at the base.
    pub allow_contract_change: Option<Digest>,
}

impl StatusRequest {
    fn is_explicit(&self) -> bool {
        self.role.is_some()
            || self.contract_from.is_some()
            || matches!(self.changes, Some(ChangeSource::Base(_)))
            || self.subject.is_some()
    }
}

/// Whether the present tree is verified, and by which run.
#[derive(Debug)]
pub struct TreeStatus {
    /// Whether it is verified.
    pub answer: VerifiedAnswer,
    /// The run that verifies it; `None` if no check applies.
    pub by: Option<String>,
    /// The reasons why the answer does not cover the whole request.
    pub caveats: Vec<Caveat>,
    /// The comparison that found the change; `None` if the plan cannot be made.
    pub compared: Option<String>,
    /// Whether the whole change requires no check of the contract.
    pub nothing_applies: bool,
    /// The reason, if it is not verified.
    pub why_not: Option<String>,
}

/// The records and the tree that the search reads.
#[derive(Clone, Copy, Debug)]
pub struct RecordedState<'a> {
    /// The recorded runs.
    pub history: &'a History,
    /// The work tree; `None` if no run has ended yet.
    pub present: Option<&'a Present>,
    /// The repository whose tree is compared.
    pub site: &'a Site,
}

/// Decides whether the present tree is verified.
///
/// # Errors
/// The records cannot be listed, or the flags of the request match nothing (exit 2).
pub fn tree_status(
    engine: &Engine<'_>,
    wanted: &StatusRequest,
    found: &RecordedState<'_>,
) -> Result<TreeStatus, Failure> {
    let unplanned = |compared, failure: Failure| match failure.exit {
        Exit::Usage if wanted.is_explicit() => Err(failure),
        _ => Ok(TreeStatus::not(compared, cannot_plan(&failure))),
    };
    let mut asker = match RequestedPlans::open(engine, wanted, found.site) {
        Ok(asker) => asker,
        Err(failure) => return unplanned(None, failure),
    };
    let compared = Some(asker.compared.clone());
    let plan = match asker.plan(None) {
        Ok(made) => made.plan.clone(),
        Err(failure) => return unplanned(compared, failure),
    };
    let mut standing = TreeStatus {
        caveats: plan.caveats.clone(),
        ..TreeStatus::not(compared, WhyNot::not(""))
    };
    let answer = match whole(&plan) {
        Err(why) => Err(why),
        Ok(_) if plan.steps.is_empty() => {
            let nothing = asker.nothing_applies();
            standing.nothing_applies = nothing.is_ok();
            nothing.map(|()| None)
        }
        Ok(_) => search(&mut asker, found, engine)?.map(Some),
    };
    Ok(match answer {
        Ok(by) => TreeStatus {
            answer: VerifiedAnswer::Verified,
            by,
            why_not: None,
            ..standing
        },
        Err(why) => TreeStatus {
            answer: why.answer,
            why_not: Some(why.message),
            ..standing
        },
    })
}

impl TreeStatus {
    fn not(compared: Option<String>, why: WhyNot) -> Self {
        Self {
            answer: why.answer,
            by: None,
            caveats: Vec::new(),
            compared,
            nothing_applies: false,
            why_not: Some(why.message),
        }
    }
}

fn cannot_plan(failure: &Failure) -> WhyNot {
    let why = visible(&failure.message);
    WhyNot::not(format!("what is asked for cannot be planned: {why}"))
}

/// Checks that a pass of a plan would cover the whole request.
fn whole(plan: &Plan) -> Result<(), WhyNot> {
    match caveat::sorted(&plan.caveats).first() {
        Some(first) if caveat::narrows(&plan.caveats) => Err(WhyNot::not(visible(&first.message))),
        _ => Ok(()),
    }
}

/// Makes the requested plans: of one change, under one contract, for the request of each run that
/// is examined.
struct RequestedPlans<'a> {
    engine: &'a Engine<'a>,
    /// The contracts that a person has accepted.
    accepted: Vec<Digest>,
    wanted: &'a StatusRequest,
    request: PlanRequest,
    session: Session,
    compared: String,
    made: BTreeMap<Key, Made>,
}

/// The parts of a request that may differ between runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    role: Option<String>,
    risk: Risk,
    boundaries: Vec<Boundary>,
    min_tier: u8,
    fallback: bool,
}

/// A plan that was requested.
struct Made {
    /// The compiled plan.
    plan: Plan,
    /// The plan after repairing steps that are certain to fail.
    repaired: Plan,
}

impl<'a> RequestedPlans<'a> {
    fn open(
        engine: &'a Engine<'a>,
        wanted: &'a StatusRequest,
        site: &Site,
    ) -> Result<Self, Failure> {
        let (accepted, began) = of_subject(engine, wanted, site)?;
        let since = |commit| ChangeSource::Recorded {
            place: ChangedIn::WorkTree,
            base: Some(commit),
        };
        let request = PlanRequest {
            // Without a contract, only the declarations of the repository can be required; with
            // one, they never are.
            request: Request {
                mode: Mode::Fallback,
                ..Request::default()
            },
            contract_from: wanted.contract_from.clone(),
            changes: wanted.changes.clone().or_else(|| began.map(since)),
            ..PlanRequest::default()
        };
        let session = engine.open(&request)?;
        let compared = session.gathered.description.clone();
        let mut asker = Self {
            engine,
            accepted,
            wanted,
            request,
            session,
            compared,
            made: BTreeMap::new(),
        };
        let is_unknown = |c: &Caveat| c.code == Code::BaseUnknown;
        let by_default = asker.request.changes.is_none();
        if by_default && asker.plan(None)?.plan.caveats.iter().any(is_unknown) {
            // The whole change is not known, so every file must have been verified.
            asker.request.changes = Some(ChangeSource::All);
            asker.session = engine.open(&asker.request)?;
            let what = &asker.session.gathered.description;
            asker.compared = format!("{what}, because no base is known");
            asker.made.clear();
        }
        Ok(asker)
    }

    fn key(&self, of: Option<&RequestRecord>) -> Key {
        let asked = self.wanted;
        let boundaries = match of {
            Some(of) if asked.boundaries.is_empty() => of.boundaries.clone(),
            _ => asked.boundaries.clone(),
        };
        Key {
            role: asked.role.clone().or_else(|| of.map(|r| r.role.clone())),
            risk: asked.risk.or(of.map(|r| r.risk)).unwrap_or_default(),
            boundaries,
            min_tier: asked.min_tier.or(of.map(|r| r.min_tier)).unwrap_or(0),
            fallback: of.is_some_and(|r| r.mode == Mode::Fallback),
        }
    }

    /// Makes the requested plan. `of`: the request of a run, for settings that the command line
    /// lacks.
    fn plan(&mut self, of: Option<&RequestRecord>) -> Result<&Made, Failure> {
        let key = self.key(of);
        let made = match self.made.remove(&key) {
            Some(made) => made,
            None => self.make(&key)?,
        };
        Ok(self.made.entry(key).or_insert(made))
    }

    fn make(&mut self, key: &Key) -> Result<Made, Failure> {
        let request = &mut self.session.request;
        request.role.clone_from(&key.role);
        request.risk = key.risk;
        request.boundaries.clone_from(&key.boundaries);
        request.min_tier = key.min_tier;
        request.mode = match self.session.loaded {
            None if key.fallback => Mode::Fallback,
            _ => Mode::Contract,
        };
        let (mut plan, _) = self
            .session
            .make(&self.request, ProposerUse::Recorded, false)?;
        let (repaired, _) = self
            .session
            .make(&self.request, ProposerUse::Recorded, true)?;
        let judge = JudgeCommit::find(&self.session, self.engine);
        let terms = BaseTerms {
            effect: Effect::Incomplete,
            accepted: &self.accepted,
            subject: self.wanted.subject.as_deref(),
            ..BaseTerms::plain(&judge)
        };
        attach(&mut plan, caveats(&self.session, self.engine, &terms));
        Ok(Made { plan, repaired })
    }

    /// Checks that the baseline of a run is still the one that counts now.
    fn knows(&self, report: &Report) -> Result<(), WhyNot> {
        if !report.steps.iter().any(|s| s.reason == Some(Cause::Known)) {
            return Ok(());
        }
        let judge = JudgeCommit::find(&self.session, self.engine);
        let now = counting(&self.session, self.engine, judge.commit.as_ref())
            .map_err(|failure| WhyNot::not(visible(&failure.message)))?;
        let digest = |used: &Option<BaselineUse>| used.as_ref().map(|u| u.digest.clone());
        match digest(&now.used) == digest(&report.baseline) {
            true => Ok(()),
            false => Err(WhyNot::not(
                "it passed with findings that another baseline lists",
            )),
        }
    }

    /// Checks that a plan without steps really means that nothing must be verified.
    fn nothing_applies(&self) -> Result<(), WhyNot> {
        let contract = self.session.contract();
        let contract = contract.ok_or_else(|| WhyNot::not("there is no contract"))?;
        match contract.checks.is_empty() {
            true => Err(WhyNot::not("the contract has no check")),
            false => Ok(()),
        }
    }
}

/// Returns the contracts that a person has accepted, and the commit at which the subject began, if
/// it is known.
fn of_subject(
    engine: &Engine<'_>,
    wanted: &StatusRequest,
    site: &Site,
) -> Result<(Vec<Digest>, Option<String>), Failure> {
    let mut accepted: Vec<Digest> = wanted.allow_contract_change.iter().cloned().collect();
    let Some(subject) = &wanted.subject else {
        return Ok((accepted, None));
    };
    check_name(subject)?;
    let Some(place) = engine.kept_state(site)? else {
        return Ok((accepted, None));
    };
    let ledger = LedgerFile::new(place).read()?;
    accepted.extend(accepted_for(&ledger, subject));
    let began = ledger.entry(subject).and_then(|e| e.began.as_ref());
    let began = began.filter(|b| !b.assumed);
    Ok((accepted, began.and_then(|b| b.base.clone())))
}

/// Finds the newest run that verifies the request, or why the newest of all does not.
fn search(
    asker: &mut RequestedPlans<'_>,
    found: &RecordedState<'_>,
    engine: &Engine<'_>,
) -> Result<Result<String, WhyNot>, Failure> {
    let (history, present) = (found.history, found.present);
    let vault = match engine.kept_vault(found.site) {
        Ok(vault) => vault,
        Err(failure) => return Ok(Err(WhyNot::unknown(visible(&failure.message)))),
    };
    let recorded = history.ids()?;
    let kept = vault.as_ref().and_then(|vault| vault.ids().ok());
    let mut all = kept.unwrap_or_default();
    all.extend(recorded.iter().cloned());
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.dedup();
    let mut search = Search {
        plans: asker,
        history,
        present,
        first: None,
        against: Vec::new(),
        read: 0,
    };
    for id in all.iter().take(LOOKED_AT) {
        let known = vault.as_ref().and_then(|vault| vault.get(id));
        if let Some(answer) = search.examine(id, known.as_ref(), recorded.contains(id)) {
            return Ok(answer);
        }
        if search.read >= READ {
            break;
        }
    }
    let none = || WhyNot::not("no run has come to its end");
    Ok(Err(search.first.unwrap_or_else(none)))
}

struct Search<'s, 'a> {
    plans: &'s mut RequestedPlans<'a>,
    history: &'s History,
    present: Option<&'s Present>,
    /// The reason why the newest run does not verify the request.
    first: Option<WhyNot>,
    /// Failed runs without a record: the run, and its tree.
    against: Vec<(String, String)>,
    read: usize,
}

impl Search<'_, '_> {
    /// Examines a run; returns the answer if no further run needs to be examined.
    fn examine(
        &mut self,
        id: &str,
        known: Option<&EndedRun>,
        is_recorded: bool,
    ) -> Option<Result<String, WhyNot>> {
        let Some(ended) = known else {
            if self.first.is_none() && self.is_finished(id) {
                let why = "vplan has not kept that it ran here, so that its record is not believed";
                self.first = Some(WhyNot::unknown(why));
            }
            return None;
        };
        let read = if is_recorded {
            self.read += 1;
            read(self.history, id).and_then(|(report, plan, bytes)| {
                if !self.is_finished(id) {
                    return Err(WhyNot::unknown("its journal does not say how it ended"));
                }
                believed(&recorded(&report, &plan, &bytes), ended)?;
                Ok((report, plan, bytes))
            })
        } else {
            Err(WhyNot::unknown("its record is not there"))
        };
        let (report, plan, bytes) = match read {
            Ok(read) => read,
            Err(why) => {
                if let Some(tree) = ended.tree.clone().filter(|_| ended.failed()) {
                    self.against.push((id.to_owned(), tree));
                }
                self.first.get_or_insert(why);
                return None;
            }
        };
        match self.compare(&recorded(&report, &plan, &bytes)) {
            RunMatch::Verifies => Some(Ok(id.to_owned())),
            RunMatch::Refutes(why) => Some(Err(why)),
            RunMatch::Differs(why) => {
                self.first.get_or_insert(why);
                None
            }
        }
    }

    fn is_finished(&self, id: &str) -> bool {
        self.history.read_run(id).summary().state == State::Finished
    }

    fn compare(&mut self, recorded: &RecordedEvidence<'_>) -> RunMatch {
        let present = self.present;
        let present = present.and_then(|tree| tree.digest(recorded.report, recorded.plan));
        let made = match self.plans.plan(Some(&recorded.plan.request)) {
            Ok(made) => made,
            Err(failure) => return RunMatch::Differs(cannot_plan(&failure)),
        };
        if let Err(why) = whole(&made.plan) {
            return RunMatch::Differs(why);
        }
        if let Err(why) = verifies(recorded, present.as_deref(), &[&made.plan, &made.repaired]) {
            let here = present.is_some() && present == recorded.report.tree;
            return match failed(recorded, &made.plan).first().filter(|_| here) {
                Some(step) => RunMatch::Refutes(WhyNot::not(format!(
                    "it did not pass: `{}` failed on this tree",
                    visible(step.check())
                ))),
                None => RunMatch::Differs(why),
            };
        }
        if let Err(why) = self.plans.knows(recorded.report) {
            return RunMatch::Differs(why);
        }
        let mut against = self.against.iter();
        match against.find(|(_, tree)| Some(tree) == recorded.report.tree.as_ref()) {
            Some((id, _)) => {
                let id = short(id);
                RunMatch::Refutes(WhyNot::unknown(format!(
                    "the run {id} failed on this tree, and its record is not there"
                )))
            }
            None => RunMatch::Verifies,
        }
    }
}

fn recorded<'r>(report: &'r Report, plan: &'r Plan, bytes: &'r Digest) -> RecordedEvidence<'r> {
    RecordedEvidence {
        bytes,
        plan,
        report,
    }
}

/// The result of comparing a run with the request.
enum RunMatch {
    Verifies,
    Differs(WhyNot),
    /// No older run counts.
    Refutes(WhyNot),
}

fn read(history: &History, id: &str) -> Result<(Report, Plan, Digest), WhyNot> {
    let cannot =
        |what: &str, why: io::Error| WhyNot::unknown(format!("its {what} cannot be used: {why}"));
    let missing = |what: &str| WhyNot::unknown(format!("its {what} is not there"));
    let report = history.report_and_digest(id);
    let report = report.map_err(|why| cannot("report", why))?;
    let (report, bytes) = report.ok_or_else(|| missing("report"))?;
    let plan = history.plan(id).map_err(|why| cannot("plan", why))?;
    Ok((report, plan.ok_or_else(|| missing("plan"))?, bytes))
}
