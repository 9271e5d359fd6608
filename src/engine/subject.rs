//! Determines the scope of a subject's round: the whole change since the commit at which the
//! subject began, under its first gate.

use super::continuation::{Continuation, site_identity};
use super::failure::{Failure, changes_unknown};
use super::judge_commit::Judge;
use super::open::{Session, gather_from, statement};
use super::place::Engine;
use super::request::{PlanRequest, VerifyRequest};
use serde::Serialize;
use std::path::Path;
use vplan_base::canon::Digest;
use vplan_base::change::ChangeSet;
use vplan_base::path::RepoPath;
use vplan_base::word::{first_of, visible};
use vplan_check::verb::CommandRequest;
use vplan_contract::Contract;
use vplan_git::Git;
use vplan_git::object::Oid;
use vplan_ledger::began::Began;
use vplan_ledger::round::{About, Scope};
use vplan_ledger::undone::{PATHS, Trace, moved, undone};
use vplan_ledger::{SubjectEntry, Terms, wrong_name};
use vplan_os::view;
use vplan_plan::Plan;
use vplan_plan::caveat::{Caveat, Code, Effect};
use vplan_plan::contains::missing;
use vplan_plan::facts::Facts;
use vplan_plan::request::{Boundary, ChangedIn, Mode, Risk};
use vplan_repo::changes::ChangeSource;
use vplan_repo::changes::base::{DefaultBase, default_base};
use vplan_repo::changes::error::ChangeError;
use vplan_repo::contents::in_short;
use vplan_repo::ledger_file::LedgerFile;
use vplan_repo::load::{Loaded, Site};

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
    pub about: About,
    /// The subject's base.
    pub base: Option<Oid>,
    /// The commit whose contract counts.
    pub judge: Judge,
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
pub fn named(subject: &str) -> Result<(), Failure> {
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

/// The whole change of a subject.
struct Whole {
    changes: ChangeSet,
    /// The plan for the whole change, if the request covers something else.
    plan: Option<Plan>,
}

impl Subject {
    /// Reads the ledger's entry of a round's subject, if it has one.
    ///
    /// # Errors
    /// An invalid name (exit 2), a ledger that cannot be used (exit 5).
    pub fn of(engine: &Engine<'_>, name: Option<&str>) -> Result<Option<Self>, Failure> {
        let Some(name) = name else {
            return Ok(None);
        };
        named(name)?;
        let site = engine.locate()?;
        let entry = match engine.kept_state(&site)? {
            Some(place) => LedgerFile::new(place).read()?.entry(name).cloned(),
            None => None,
        };
        let began = entry.as_ref().and_then(|e| e.began.as_ref());
        let kept = began.and_then(|b| {
            Some(SubjectBase {
                commit: Oid::parse(b.base.as_ref()?.as_bytes())?,
                assumed: b.assumed,
            })
        });
        let begin = match kept {
            Some(kept) => Some(kept),
            None => engine.by_default(&site, engine.load_contract(&site).ok().as_ref())?,
        };
        Ok(Some(Self {
            name: name.to_owned(),
            entry,
            begin,
        }))
    }

    /// Returns the commit at which it began, or begins now.
    #[must_use]
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
        let whole = whole(session, requested, base.as_ref(), saved)?;
        // The work tree has more than the staged files.
        let is_view = view::is_inside(&session.site.root);
        let mut scope = if is_view {
            Scope::Part
        } else {
            scope(plan, whole.plan.as_ref())
        };
        let mut caveats = Vec::new();
        if scope == Scope::Part {
            caveats.push(self.part(plan, whole.plan.as_ref()));
        }
        if place.is_some_and(|p| p.assumed) && !requested.takes_all() {
            caveats.push(unknown_base(
                whole.changes.is_empty() || plan.steps.is_empty(),
            ));
        }
        let head = session.git().and_then(|git| git.head().ok().flatten());
        let (contained, left_behind) = if is_view {
            (Vec::new(), false)
        } else {
            self.look(session, head.as_ref(), &whole.changes, &mut caveats)
        };
        let touched = whole.changes.contains(&session.contract_path);
        let present = if touched {
            engine.by_default(&session.site, session.loaded.as_ref())?
        } else {
            None
        };
        let present = present
            .map(|p| p.commit)
            .filter(|commit| Some(*commit) != base);
        let judge = Judge::of_subject(base, session, engine);
        let reader = GateReader {
            engine,
            session,
            base: judge.commit.as_ref().filter(|_| touched),
            present: present.as_ref(),
        };
        let terms = self.gate(&reader, &mut caveats);
        let trace = head
            .filter(|_| !is_view)
            .map(|id| trace(&session.site.root, id.to_string(), &whole.changes));
        let continuation = Continuation {
            engine,
            session,
            requested,
            allowed: verified.allow_contract_change.as_ref(),
            plan,
            changes: &whole.changes,
            base: base.as_ref(),
            name: &self.name,
            entry: self.entry.as_ref(),
        };
        let result = continuation.check()?;
        caveats.extend(result.caveats);
        let mut because = result.because;
        match scope {
            Scope::Part => because = because.filter(|_| !result.is_part),
            Scope::Whole if result.is_part => scope = Scope::Part,
            Scope::Whole | Scope::Nothing => {}
        }
        let about = About {
            because,
            contained,
            contract: result.contract,
            left_behind,
            root: site_identity(&session.site),
            scope,
            trace,
            ..self.about(session, place, terms)
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
    fn about(&self, session: &Session, place: Option<SubjectBase>, gate: Terms) -> About {
        let base = place.map(|p| p.commit.to_string());
        let known = self.began().and_then(|b| b.base.clone());
        let contract = self.began().map_or_else(
            || session.contract().map(|c| c.digest.clone()),
            |b| b.contract.clone(),
        );
        let request = &session.request;
        let same = Same {
            base: base.as_deref(),
            boundaries: &request.boundaries,
            explicit: request
                .explicit
                .iter()
                .map(CommandRequest::to_text)
                .collect(),
            min_tier: request.min_tier,
            mode: request.mode,
            risk: request.risk,
            role: request.role.as_deref().unwrap_or(DEFAULT_ROLE),
        };
        let asked = Some(Digest::of_value(&same));
        let assumed = place.is_some_and(|p| p.assumed);
        About {
            asked,
            began: Some(Began {
                assumed,
                base,
                contract,
                gate,
            }),
            known,
            ..About::default()
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
        let found = session
            .gathered
            .base
            .filter(|_| requested.names_base() && !saved);
        Ok(match (self.begin, found) {
            (Some(begin), Some(found)) if begin.commit != found => {
                if !is_behind(git, &found, &begin.commit) {
                    return Err(self.other_base(&begin.commit, &found));
                }
                Some(SubjectBase {
                    commit: found,
                    assumed: false,
                })
            }
            (begin, _) => begin,
        })
    }

    fn other_base(&self, begin: &Oid, found: &Oid) -> Failure {
        let name = visible(&self.name);
        let message = format!(
            "`--base` comes to {}, and the subject `{name}` begins at {}, which is no later commit of that",
            found.short(),
            begin.short()
        );
        Failure::usage("vplan::usage::subject_base", message).help(
            "leave `--base` out: a round is about everything since the subject began; an earlier commit widens it",
        )
    }

    fn part(&self, plan: &Plan, whole: Option<&Plan>) -> Caveat {
        let mut checks: Vec<String> = whole
            .map(|whole| missing(whole, plan))
            .unwrap_or_default()
            .iter()
            .map(|s| s.check().to_owned())
            .collect();
        checks.sort();
        checks.dedup();
        let name = |check: &String| format!("`{}`", visible(check));
        let lacks = match checks.as_slice() {
            [] => String::new(),
            all => format!(": {}", first_of(all.iter().map(name), NAMED)),
        };
        let name = visible(&self.name);
        let message = format!(
            "not all of what the whole change of `{name}` asks for, so the round is not done{lacks}"
        );
        Caveat::new(Code::PartOfChange, Effect::Narrows, message).of_checks(checks)
    }

    /// Checks that the work of earlier rounds is there. Returns which of their commits HEAD
    /// contains, and whether HEAD has left all of them.
    fn look(
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
        let moved = moved(
            traces,
            |path| changes.contains(path),
            || now(&session.site.root, changes),
        );
        let differs = |path: &_| changes.contains(path) || moved.contains(path);
        let behind = undone(elsewhere, differs);
        if let Some(behind) = behind.as_ref().filter(|b| b.all) {
            let name = visible(&self.name);
            let known = if behind.more {
                ", as far as they are known"
            } else {
                ""
            };
            let message = format!(
                "the work of earlier rounds of `{name}` is not in `HEAD`: all of its files are as at the base{known}"
            );
            caveats.push(
                Caveat::new(Code::LeftBehind, Effect::Incomplete, message)
                    .about(behind.files.clone()),
            );
            return (contained, true);
        }
        let here = undone(here, differs);
        let tests = [&behind, &here].into_iter().flatten().any(|u| u.tests);
        let files: Vec<_> = [behind, here]
            .into_iter()
            .flatten()
            .flat_map(|u| u.files)
            .collect();
        if !files.is_empty() {
            let effect = if tests { Effect::Narrows } else { Effect::Note };
            let what = if tests { ", test files among them" } else { "" };
            let message =
                format!("files that an earlier round changed are as at the base again{what}");
            caveats.push(Caveat::new(Code::Undone, effect, message).about(files));
        }
        (contained, false)
    }

    /// Returns the gate that counts for the subject from now on.
    fn gate(&self, reader: &GateReader<'_>, caveats: &mut Vec<Caveat>) -> Terms {
        let contract = reader.session.contract();
        let today = Terms::of(contract.map(|c| &c.gate));
        let own = contract.map(Contract::identity);
        if self
            .entry
            .iter()
            .flat_map(|e| &e.accepted)
            .any(|a| Some(&a.contract) == own.as_ref())
        {
            return today;
        }
        let began = self.began().map(|b| b.gate);
        let requirements = match self.began() {
            Some(Began {
                base: Some(_),
                gate,
                ..
            }) => *gate,
            // A contract that the change does not touch is the one at the base.
            _ => match (reader.base.and_then(|base| reader.gate_at(base)), began) {
                (Some(first), Some(by_hand)) if !first.weaker_than(&by_hand).is_empty() => by_hand,
                (first, by_hand) => first.or(by_hand).unwrap_or(today),
            },
        };
        let weaker = today.weaker_than(&requirements);
        if weaker.is_empty() {
            return today;
        }
        // A contract that was merged into the default branch was accepted there.
        let there = reader
            .present
            .filter(|id| reader.gate_at(id) == Some(today));
        let others = there.map_or(String::new(), |id| {
            format!(
                "; the contract at the present merge base ({}) says the same, so others changed it",
                id.short()
            )
        });
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

/// The inputs for reading the gate of an earlier contract.
struct GateReader<'a> {
    engine: &'a Engine<'a>,
    session: &'a Session,
    /// The subject's base, if its contract may differ there.
    base: Option<&'a Oid>,
    present: Option<&'a Oid>,
}

impl GateReader<'_> {
    /// Reads the gate of the contract at a commit, if there is one that can be read.
    fn gate_at(&self, commit: &Oid) -> Option<Terms> {
        let revision = commit.to_string();
        let wanted = self.engine.contract_request(Some(&revision), Some(commit));
        let loaded = self.engine.load(&self.session.site, &wanted).ok()?.ok()?;
        loaded.contract.map(|c| Terms::of(Some(&c.gate)))
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
        let found = default_base(git, loaded.and_then(statement), &self.commit_cache(site))
            .map_err(|e| changes_unknown(ChangeError::Git(e)))?;
        if let Some(lacking) = found.lacking().filter(|_| self.is_ci) {
            return Err(changes_unknown(ChangeError::Lacking(Box::new(
                lacking.clone(),
            ))));
        }
        Ok(Some(found))
    }
}

/// Whether a commit is an ancestor of another one, or the same.
fn is_behind(git: &Git, commit: &Oid, later: &Oid) -> bool {
    commit == later
        || git
            .merge_base(&commit.to_string(), commit, later)
            .is_ok_and(|base| base == *commit)
}

fn unknown_base(empty: bool) -> Caveat {
    let effect = if empty {
        Effect::Incomplete
    } else {
        Effect::Narrows
    };
    let message = "commits before HEAD were not looked at: no default branch was known when the subject began";
    Caveat::new(Code::BaseUnknown, effect, message).way_out(
        "`--base REV` widens the subject; a line `base \"BRANCH\"` in the contract says what changes are made for",
    )
}

/// Returns the change since the base, and the plan for it if the request covers something else.
fn whole(
    session: &Session,
    requested: &PlanRequest,
    base: Option<&Oid>,
    saved: bool,
) -> Result<Whole, Failure> {
    let Some(base) = base else {
        // Without git, or before the first commit, there is no base: the request is the whole
        // change.
        return Ok(Whole {
            changes: session.request.changed.clone(),
            plan: None,
        });
    };
    let elsewhere = saved || requested.names_changes();
    let changes = if elsewhere {
        gather_from(&session.site, Some(&ChangeSource::since(base)))?.changes
    } else {
        session.request.changed.clone()
    };
    let mut request = session.request.whole();
    if !elsewhere && request == session.request {
        return Ok(Whole {
            changes,
            plan: None,
        });
    }
    request.changed = changes.clone();
    request.changed_in = Some(ChangedIn::WorkTree);
    request.base = Some(base.to_string());
    let plan = session.compiled(session.contract(), &request, &mut Facts::default())?;
    Ok(Whole {
        changes,
        plan: Some(plan),
    })
}

/// Records a change, to check later whether it is still there.
pub fn trace(root: &Path, head: String, changes: &ChangeSet) -> Trace {
    let paths = changes.files().iter().map(|f| &f.path);
    let mut files = in_short(root, paths.clone().take(PATHS));
    files.extend(
        paths
            .skip(PATHS)
            .take(1)
            .map(|path| (path.clone(), String::new())),
    );
    Trace::new(head, files)
}

/// Lists the files that differ from the base, with the identity of their content.
pub fn now(root: &Path, changes: &ChangeSet) -> Vec<(RepoPath, String)> {
    in_short(
        root,
        changes.files().iter().map(|f| &f.path).take(LOOKED_AT),
    )
}

fn scope(plan: &Plan, whole: Option<&Plan>) -> Scope {
    match whole {
        Some(whole) if !missing(whole, plan).is_empty() => Scope::Part,
        // Steps that recovery dropped before anything ran are still part of the change's checks.
        _ if plan.steps.is_empty() && !plan.rewrites.is_empty() => Scope::Part,
        _ if plan.steps.is_empty() => Scope::Nothing,
        _ => Scope::Whole,
    }
}
