//! Determines the scope of a subject's round: the whole change since the commit at which the
//! subject began, under its first gate.

use super::continuation::{Continuation, site_identity};
use super::judge_commit::JudgeCommit;
use super::open::{gather_from, statement};
use crate::{
    Caveat, ChangeSet, ChangeSource, Code, Contract, Digest, Effect, Engine, Facts, Failure, Git,
    Loaded, Oid, Plan, PlanRequest, RepoPath, Session, Site, VerifyRequest, first_of, visible,
};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;
use vplan_base::word::{framed, text_if};
use vplan_check::verb::CommandRequest;
use vplan_ledger::began::Began;
use vplan_ledger::round::{RoundScope, SubjectRequest};
use vplan_ledger::undone::{PATHS, Trace, moved, undone};
use vplan_ledger::{SubjectEntry, Terms, wrong_name};
use vplan_os::view;
use vplan_plan::containment::missing;
use vplan_plan::request::{Boundary, ChangedIn, Mode, Risk};
use vplan_repo::changes::base::{DefaultBase, default_base};
use vplan_repo::changes::error::ChangeError;
use vplan_repo::contents::in_short;
use vplan_repo::ledger_file::LedgerFile;

/// Maximum number of files that are read to detect renames.
const LOOKED_AT: usize = 5_000;
/// Maximum number of missing checks that a message names.
const NAMED: usize = 3;

/// A subject as the ledger has it when a run begins.
#[derive(Debug)]
pub struct Subject {
    name: String,
    entry: Option<SubjectEntry>,
    /// The commit at which it began, or begins now; `None` without git, and before the first
    /// commit.
    begin: Option<SubjectBase>,
}

/// The base of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubjectBase {
    /// The commit that the work is compared with.
    pub commit: Oid,
    /// Whether it is HEAD only because no default branch is known.
    pub assumed: bool,
}

/// The requirements of a subject's round.
#[derive(Debug)]
pub struct RoundRequirements {
    /// The subject's base and request, for the ledger.
    pub about: SubjectRequest,
    /// The subject's base.
    pub base: Option<Oid>,
    /// The commit whose contract counts.
    pub judge: JudgeCommit,
    /// The reasons why the round cannot complete the work, and notes.
    pub caveats: Vec<Caveat>,
    /// Today's default base of a change, if the contract is among the changed files.
    pub present: Option<Oid>,
    /// The gate that counts.
    pub terms: Terms,
}

/// Refuses a text that is not a subject's name.
///
/// # Errors
/// Exit 2.
pub fn check_name(subject: &str) -> Result<(), Failure> {
    let Some(why) = wrong_name(subject) else {
        return Ok(());
    };
    let message = format!("the subject `{}` {why}", visible(subject));
    Err(Failure::usage("vplan::usage::subject", message)
        .help("a subject is a short name of one line, such as `M1` or `specs/login.md`"))
}

/// The parts of a request that a confirmation must share with the round that it confirms.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Same<'a> {
    base: Option<&'a str>,
    boundaries: &'a [Boundary],
    explicit: Vec<String>,
    min_tier: u8,
    mode: Mode,
    risk: Risk,
    role: &'a str,
}

impl Subject {
    /// Reads the ledger's entry of a round's subject, if it has one.
    ///
    /// # Errors
    /// An invalid name (exit 2), a ledger that cannot be used (exit 5).
    pub fn open(engine: &Engine<'_>, name: Option<&str>) -> Result<Option<Self>, Failure> {
        let Some(name) = name else {
            return Ok(None);
        };
        check_name(name)?;
        let site = engine.locate()?;
        let entry = match engine.kept_state(&site)? {
            Some(place) => LedgerFile::new(place).read()?.entry(name).cloned(),
            None => None,
        };
        let began = entry.as_ref().and_then(|e| e.began.as_ref());
        let kept = began.and_then(|b| {
            let (commit, assumed) = (Oid::parse(b.base.as_ref()?.as_bytes())?, b.assumed);
            Some(SubjectBase { commit, assumed })
        });
        let begin = match kept {
            Some(kept) => Some(kept),
            None => engine.by_default(&site, engine.load_contract(&site).ok().as_ref())?,
        };
        let name = name.to_owned();
        Ok(Some(Self { name, entry, begin }))
    }

    /// Returns the commit at which it began, or begins now.
    pub fn since(&self) -> Option<Oid> {
        self.begin.map(|place| place.commit)
    }

    fn began(&self) -> Option<&Began> {
        self.entry.as_ref()?.began.as_ref()
    }

    /// Compares a plan with the whole change. `saved`: it comes from a file.
    ///
    /// # Errors
    /// `--base` names a commit that is not an ancestor of the subject's base (exit 2), or the whole
    /// change cannot be determined.
    pub fn requirements(
        &self,
        engine: &Engine<'_>,
        session: &Session,
        verified: &VerifyRequest,
        plan: &Plan,
        saved: bool,
    ) -> Result<RoundRequirements, Failure> {
        let requested = &verified.plan;
        let place = self.place(session, requested, saved)?;
        let base = place.map(|p| p.commit);
        let (changes, whole, mut caveats) = whole(session, requested, base.as_ref(), saved)?;
        let is_view = view::is_inside(&session.site.root);
        // The work tree has more than the staged files.
        let mut scope = match is_view {
            true => RoundScope::Part,
            false => scope(plan, whole.as_ref()),
        };
        if scope == RoundScope::Part {
            caveats.push(self.part(plan, whole.as_ref()));
        }
        if place.is_some_and(|p| p.assumed) && !requested.takes_all() {
            caveats.push(unknown_base(changes.is_empty() || plan.steps.is_empty()));
        }
        let head = session.git().and_then(|git| git.head().ok().flatten());
        let (contained, left_behind) = match is_view {
            true => (Vec::new(), false),
            false => self.check_earlier_rounds(session, head.as_ref(), &changes, &mut caveats),
        };
        let touched = changes.contains(&session.contract_path);
        let present = match touched {
            true => engine.by_default(&session.site, session.loaded.as_ref())?,
            false => None,
        };
        let present = present.map(|p| p.commit);
        let present = present.filter(|commit| Some(*commit) != base);
        let judge = JudgeCommit::of_subject(base, session, engine);
        let commits = [judge.commit.as_ref().filter(|_| touched), present.as_ref()];
        let terms = self.gate(engine, session, commits, &mut caveats);
        let head = head.filter(|_| !is_view);
        let trace = head.map(|id| trace(&session.site.root, id.to_string(), &changes));
        let continuation = Continuation {
            engine,
            session,
            requested,
            allowed: verified.allow_contract_change.as_ref(),
            plan,
            changes: &changes,
            base: base.as_ref(),
            name: &self.name,
            entry: self.entry.as_ref(),
        };
        let result = continuation.check()?;
        caveats.extend(result.caveats);
        let mut because = result.because;
        match scope {
            RoundScope::Part => because = because.filter(|_| !result.is_part),
            RoundScope::Whole if result.is_part => scope = RoundScope::Part,
            RoundScope::Whole | RoundScope::Nothing => {}
        }
        let about = SubjectRequest {
            because,
            contained,
            contract: result.contract,
            has_work: !changes.is_empty(),
            left_behind,
            root: site_identity(&session.site),
            scope,
            trace,
            ..self.request(session, place, terms)
        };
        Ok(RoundRequirements {
            about,
            base,
            caveats,
            judge,
            present,
            terms,
        })
    }

    /// Describes the subject's base and its request for the ledger.
    fn request(
        &self,
        session: &Session,
        place: Option<SubjectBase>,
        gate: Terms,
    ) -> SubjectRequest {
        let base = place.map(|p| p.commit.to_string());
        let request = &session.request;
        let explicit = request.explicit.iter().map(CommandRequest::to_text);
        let asked = Some(Digest::of_value(&Same {
            base: base.as_deref(),
            boundaries: &request.boundaries,
            explicit: explicit.collect(),
            min_tier: request.min_tier,
            mode: request.mode,
            risk: request.risk,
            role: request.role.as_deref().unwrap_or(DEFAULT_ROLE),
        }));
        let began = Began {
            assumed: place.is_some_and(|p| p.assumed),
            base,
            contract: match self.began() {
                Some(began) => began.contract.clone(),
                None => session.contract().map(|c| c.digest.clone()),
            },
            gate,
        };
        SubjectRequest {
            asked,
            began: Some(began),
            known: self.began().and_then(|b| b.base.clone()),
            ..SubjectRequest::default()
        }
    }

    /// Returns the commit that its rounds compare with from now on.
    fn place(
        &self,
        session: &Session,
        requested: &PlanRequest,
        saved: bool,
    ) -> Result<Option<SubjectBase>, Failure> {
        let Some(git) = session.git() else {
            return Ok(None);
        };
        let is_named = requested.names_base() && !saved;
        let found = session.gathered.base.filter(|_| is_named);
        match (self.begin, found) {
            (Some(begin), Some(commit)) if begin.commit != commit => {
                if !is_behind(git, &commit, &begin.commit) {
                    return Err(self.other_base(&begin.commit, &commit));
                }
                let assumed = false;
                Ok(Some(SubjectBase { commit, assumed }))
            }
            (begin, _) => Ok(begin),
        }
    }

    fn other_base(&self, begin: &Oid, found: &Oid) -> Failure {
        let name = visible(&self.name);
        let message = format!(
            "`--base` comes to {}, and the subject `{name}` begins at {}, which is no later commit of that",
            found.short(),
            begin.short()
        );
        Failure::usage("vplan::usage::subject_base", message)
            .help("leave `--base` out: a round is about everything since the subject began; an earlier commit widens it")
    }

    fn part(&self, plan: &Plan, whole: Option<&Plan>) -> Caveat {
        let missing = whole.map(|whole| missing(whole, plan)).unwrap_or_default();
        let checks: BTreeSet<String> = missing.iter().map(|s| s.check().to_owned()).collect();
        let name = |check: &String| format!("`{}`", visible(check));
        let lacks = text_if(!checks.is_empty(), || {
            format!(": {}", first_of(checks.iter().map(name), NAMED))
        });
        let name = visible(&self.name);
        let message = format!(
            "not all of what the whole change of `{name}` asks for, so the round is not done{lacks}"
        );
        let caveat = Caveat::new(Code::PartOfChange, Effect::Narrows, message);
        caveat.of_checks(checks.into_iter().collect())
    }

    /// Checks that the work of earlier rounds is there. Returns which of their commits HEAD
    /// contains, and whether HEAD has left all of them.
    fn check_earlier_rounds(
        &self,
        session: &Session,
        head: Option<&Oid>,
        changes: &ChangeSet,
        caveats: &mut Vec<Caveat>,
    ) -> (Vec<String>, bool) {
        let traces = self.entry.as_ref().map_or(&[][..], |e| &e.traces);
        let (Some(git), Some(head)) = (session.git(), head) else {
            return (Vec::new(), false);
        };
        let (mut here, mut contained, mut elsewhere) = (Vec::new(), Vec::new(), Vec::new());
        for trace in traces {
            match Oid::parse(trace.head.as_bytes()) {
                Some(id) if id == *head => here.push(trace),
                Some(id) if is_behind(git, &id, head) => contained.push(trace.head.clone()),
                _ => elsewhere.push(trace),
            }
        }
        let is_changed = |path: &RepoPath| changes.contains(path);
        let moved = moved(traces, is_changed, || now(&session.site.root, changes));
        let differs = |path: &_| changes.contains(path) || moved.contains(path);
        let behind = undone(elsewhere, differs);
        if let Some(behind) = behind.as_ref().filter(|b| b.all) {
            let name = visible(&self.name);
            let known = match behind.more {
                true => ", as far as they are known",
                false => "",
            };
            let message = format!(
                "the work of earlier rounds of `{name}` is not in `HEAD`: all of its files are as at the base{known}"
            );
            let caveat = Caveat::new(Code::LeftBehind, Effect::Incomplete, message);
            caveats.push(caveat.with_files(behind.files.clone()));
            return (contained, true);
        }
        let here = undone(here, differs);
        let all = || [&behind, &here].into_iter().flatten();
        let files: Vec<_> = all().flat_map(|undone| undone.files.clone()).collect();
        if !files.is_empty() {
            let (effect, what) = match all().any(|undone| undone.tests) {
                true => (Effect::Narrows, ", test files among them"),
                false => (Effect::Note, ""),
            };
            let message =
                format!("files that an earlier round changed are as at the base again{what}");
            caveats.push(Caveat::new(Code::Undone, effect, message).with_files(files));
        }
        (contained, false)
    }

    /// Returns the gate that counts for the subject from now on.
    fn gate(
        &self,
        engine: &Engine<'_>,
        session: &Session,
        [base, present]: [Option<&Oid>; 2],
        caveats: &mut Vec<Caveat>,
    ) -> Terms {
        let contract = session.contract();
        let today = Terms::from_gate(contract.map(|c| &c.gate));
        let own = contract.map(Contract::identity);
        let mut accepted = self.entry.iter().flat_map(|e| &e.accepted);
        if accepted.any(|a| Some(&a.contract) == own.as_ref()) {
            return today;
        }
        let gate_at = |commit: &Oid| {
            let revision = commit.to_string();
            let wanted = engine.contract_request(Some(&revision), Some(commit));
            let loaded = engine.load(&session.site, &wanted).ok()?.ok()?;
            loaded.contract.map(|c| Terms::from_gate(Some(&c.gate)))
        };
        let requirements = match self.began() {
            Some(began) if began.base.is_some() => began.gate,
            // A contract that the change does not touch is the one at the base.
            began => match (base.and_then(gate_at), began.map(|b| b.gate)) {
                (Some(first), Some(by_hand)) if !first.weaker_than(&by_hand).is_empty() => by_hand,
                (first, by_hand) => first.or(by_hand).unwrap_or(today),
            },
        };
        let weaker = today.weaker_than(&requirements);
        if weaker.is_empty() {
            return today;
        }
        // A contract that was merged into the default branch was accepted there.
        let there = present.filter(|id| gate_at(id) == Some(today));
        let others = framed(
            "; the contract at the present merge base (",
            there.map(Oid::short),
            ") says the same, so others changed it",
        );
        let name = visible(&self.name);
        let message = format!(
            "the gate asks for less than the one that `{name}` began with: {}{others}",
            weaker.join(", ")
        );
        let way_out =
            format!("`vplan gate reset --subject '{name}'` begins anew, under today's gate");
        caveats.push(Caveat::new(Code::GateWeakened, Effect::Incomplete, message).way_out(way_out));
        requirements
    }
}

/// The role that a request has by default.
const DEFAULT_ROLE: &str = "worker";

impl Engine<'_> {
    /// Returns the commit that a change is compared with when no base is named.
    ///
    /// # Errors
    /// Errors of git (exit 2).
    pub fn by_default(
        &self,
        site: &Site,
        loaded: Option<&Loaded>,
    ) -> Result<Option<SubjectBase>, Failure> {
        let found = self.default_base(site, loaded)?;
        Ok(found.and_then(|found| {
            let assumed = found.unknown().is_some();
            let commit = found.commit?;
            Some(SubjectBase { commit, assumed })
        }))
    }

    /// Returns the default base of a change; `None` without git.
    ///
    /// # Errors
    /// Errors of git (exit 2).
    pub fn default_base(
        &self,
        site: &Site,
        loaded: Option<&Loaded>,
    ) -> Result<Option<DefaultBase>, Failure> {
        let Some(git) = site.usable_git() else {
            return Ok(None);
        };
        let found = default_base(git, loaded.and_then(statement), &self.commit_cache(site))?;
        self.has_history(Some(&found))?;
        Ok(Some(found))
    }

    /// In CI, refuses a clone that lacks the commits by which a default base is found.
    pub(super) fn has_history(&self, base: Option<&DefaultBase>) -> Result<(), Failure> {
        match base.and_then(DefaultBase::lacking).filter(|_| self.is_ci) {
            Some(lacking) => Err(ChangeError::Lacking(Box::new(lacking.clone())).into()),
            None => Ok(()),
        }
    }
}

/// Whether a commit is an ancestor of another one, or the same.
fn is_behind(git: &Git, commit: &Oid, later: &Oid) -> bool {
    let base = || git.merge_base(&commit.to_string(), commit, later);
    commit == later || base().is_ok_and(|base| base == *commit)
}

fn unknown_base(empty: bool) -> Caveat {
    let effect = match empty {
        true => Effect::Incomplete,
        false => Effect::Narrows,
    };
    let message = "commits before HEAD were not looked at: no default branch was known when the subject began";
    Caveat::new(Code::BaseUnknown, effect, message)
        .way_out("`--base REV` widens the subject; a line `base \"BRANCH\"` in the contract says what changes are made for")
}

/// Returns the change since the base, and the plan for it if the request covers something else.
fn whole(
    session: &Session,
    requested: &PlanRequest,
    base: Option<&Oid>,
    saved: bool,
) -> Result<(ChangeSet, Option<Plan>, Vec<Caveat>), Failure> {
    let Some(base) = base else {
        return Ok((session.request.changed.clone(), None, Vec::new()));
    };
    let elsewhere = saved || requested.names_changes();
    let changes = match elsewhere {
        true => gather_from(&session.site, Some(&ChangeSource::since(base)))?.changes,
        false => session.request.changed.clone(),
    };
    let mut request = session.request.whole();
    if !elsewhere && request == session.request {
        return Ok((changes, None, Vec::new()));
    }
    request.changed = changes.clone();
    request.changed_in = Some(ChangedIn::WorkTree);
    request.base = Some(base.to_string());
    let mut facts = Facts::default();
    let plan = session.compiled(session.contract(), &request, &mut facts)?;
    let unseen = match session.request.changed_in {
        Some(_) => Vec::new(),
        // The caller names the files.
        None => {
            let named = session.request.changed.files().iter();
            let all = changes.files().iter().chain(named);
            request.changed = ChangeSet::new(all.cloned().collect());
            session.unseen_since(Some(base), &request, &plan, &facts)?
        }
    };
    Ok((changes, Some(plan), unseen))
}

/// Records a change, to check later whether it is still there.
pub fn trace(root: &Path, head: String, changes: &ChangeSet) -> Trace {
    let paths = changes.files().iter().map(|f| &f.path);
    let mut files = in_short(root, paths.clone().take(PATHS));
    let more = paths.skip(PATHS).take(1);
    files.extend(more.map(|path| (path.clone(), String::new())));
    Trace::new(head, files)
}

/// Lists the files that differ from the base, with the identity of their content.
pub fn now(root: &Path, changes: &ChangeSet) -> Vec<(RepoPath, String)> {
    let paths = changes.files().iter().map(|f| &f.path);
    in_short(root, paths.take(LOOKED_AT))
}

fn scope(plan: &Plan, whole: Option<&Plan>) -> RoundScope {
    match whole {
        Some(whole) if !missing(whole, plan).is_empty() => RoundScope::Part,
        // Steps that recovery dropped before anything ran are still part of the change's checks.
        _ if plan.steps.is_empty() && !plan.rewrites.is_empty() => RoundScope::Part,
        _ if plan.steps.is_empty() => RoundScope::Nothing,
        _ => RoundScope::Whole,
    }
}
