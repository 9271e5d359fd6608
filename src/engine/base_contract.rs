//! Compares the contract with the one at the base of the change: a change must not weaken the
//! contract that it is verified against.

use super::continuation::accepted_by;
use super::failure::valid;
use super::judge_commit::JudgeCommit;
use super::request::Allowed;
use super::subject::{RoundRequirements, check_name};
use crate::{
    Caveat, Code, Contract, ContractRequest, Digest, Effect, Engine, Exit, Facts, Failure, Git,
    LoadError, Oid, Plan, RepoPath, Session, VerifyRequest, visible,
};
use std::path::Path;
use vplan_base::diagnostic::Severity;
use vplan_base::source::Sources;
use vplan_base::word::text_if;
use vplan_ledger::Ledger;
use vplan_plan::diff::contracts::Side;
use vplan_plan::diff::request::{PlannedSide, Weaker, as_of, asks_nothing, weaker};
use vplan_plan::request::Mode;
use vplan_plan::skeleton::without_contract;
use vplan_repo::changes::base::Unrelated;
use vplan_repo::ledger_file::LedgerFile;
use vplan_repo::load::DEFAULT_CONTRACT;
use vplan_repo::lockfile;

/// Maximum number of weakenings that a message lists.
const SAID: usize = 3;

/// Maximum number of checks that a caveat names.
const NAMED: usize = 20;

/// The terms on which the contract is compared with that of the base.
#[derive(Clone, Copy, Debug)]
pub struct BaseTerms<'a> {
    /// The commit whose contract counts, if there is one.
    pub base: Option<&'a Oid>,
    /// The branch that this commit is the tip of, if it has no common ancestor with HEAD.
    pub unrelated: Option<&'a Unrelated>,
    /// Whether the commit is the tip of the branch, because the base has no contract.
    pub is_tip: bool,
    /// The present merge base, if the base is an older commit: to report that others changed the
    /// contract.
    pub present: Option<&'a Oid>,
    /// The effect of a weaker contract: `Narrows` for a plain run, `Incomplete` if a round is
    /// recorded or trusted.
    pub effect: Effect,
    /// The contracts that a person has accepted (`Contract::identity`).
    pub accepted: &'a [Digest],
    /// The subject of the round, for the help text.
    pub subject: Option<&'a str>,
    /// Whether git may be called if the changed files do not show whether the contract is among
    /// them.
    pub may_ask: bool,
}

impl<'a> BaseTerms<'a> {
    /// Returns the terms of a plain run.
    pub fn plain(judge: &'a JudgeCommit) -> Self {
        Self {
            base: judge.commit.as_ref(),
            unrelated: judge.unrelated.as_ref(),
            is_tip: judge.is_tip,
            present: None,
            effect: Effect::Narrows,
            accepted: &[],
            subject: None,
            may_ask: true,
        }
    }
}

/// Compares for a preview. Whatever needs a call of git is left to the run.
pub(crate) fn of_look(session: &Session, engine: &Engine<'_>, judge: &JudgeCommit) -> Vec<Caveat> {
    let terms = BaseTerms {
        may_ask: false,
        ..BaseTerms::plain(judge)
    };
    caveats(session, engine, &terms)
}

/// Compares the contract with that of the base. If the contract, its imports and its lock are
/// unchanged, nothing is read and git is not called.
pub fn caveats(session: &Session, engine: &Engine<'_>, terms: &BaseTerms<'_>) -> Vec<Caveat> {
    let Some(git) = session.git().filter(|_| session.request.mode != Mode::Off) else {
        return Vec::new();
    };
    let unrelated = terms.unrelated;
    let unrelated = unrelated.map(|branch| no_ancestor(session, terms, branch));
    let Some(base) = terms.base else {
        return unrelated.into_iter().collect();
    };
    let comparison = Comparison {
        session,
        engine,
        terms,
        base,
        git,
    };
    let default = RepoPath::from_exact(DEFAULT_CONTRACT.as_bytes())
        .filter(|path| *path != session.contract_path);
    let (is_missing, mut found) = comparison.own(default.is_some());
    found.extend(unrelated);
    if let Some(default) = default {
        // If the base has a contract at this path, the caller chose it: a repository can have
        // several.
        let effect = match terms.effect {
            effect if is_missing || effect >= Effect::Incomplete => effect,
            _ => Effect::Note,
        };
        found.extend(comparison.default(&default, effect));
    }
    found
}

/// Compares for a run: with a subject or in a loop, a run under a weaker contract does not pass.
///
/// # Errors
/// A ledger that cannot be used (exit 5); `--allow-contract-change` that names no contract (exit
/// 2).
pub fn of_run(
    session: &Session,
    engine: &Engine<'_>,
    requested: &VerifyRequest,
    is_loop: bool,
    judge: &JudgeCommit,
    requirements: Option<&RoundRequirements>,
) -> Result<Vec<Caveat>, Failure> {
    let mut accepted: Vec<Digest> = Vec::new();
    match &requested.allow_contract_change {
        Some(Allowed::Contract(digest)) => accepted.push(digest.clone()),
        Some(Allowed::Any) if !is_loop => {
            let message = "`--allow-contract-change` names no contract";
            let help =
                "`--allow-contract-change=sha256:…`, with the digest that `vplan check` prints";
            return Err(Failure::usage("vplan::usage::contract_change", message).help(help));
        }
        Some(Allowed::Any) | None => {}
    }
    let subject = requested.subject.as_deref();
    if let Some(subject) = subject {
        check_name(subject)?;
        if let Some(place) = engine.kept_state(&session.site)? {
            accepted.extend(accepted_for(&LedgerFile::new(place).read()?, subject));
        }
    }
    let terms = BaseTerms {
        effect: match subject.is_some() || is_loop {
            true => Effect::Incomplete,
            false => Effect::Narrows,
        },
        accepted: &accepted,
        subject,
        present: requirements.and_then(|held| held.present.as_ref()),
        ..BaseTerms::plain(judge)
    };
    Ok(caveats(session, engine, &terms))
}

/// Returns the contracts that a person has accepted for a subject.
pub(crate) fn accepted_for(ledger: &Ledger, subject: &str) -> Vec<Digest> {
    let accepted = ledger.entry(subject).into_iter().flat_map(|e| &e.accepted);
    accepted.map(|a| a.contract.clone()).collect()
}

/// Puts the caveats into a plan, in place of those of an earlier comparison.
pub fn attach(plan: &mut Plan, found: Vec<Caveat>) {
    const CODES: [Code; 4] = [
        Code::BaseContractMissing,
        Code::BaseContractUnreadable,
        Code::ContractWeakened,
        Code::NoCommonAncestor,
    ];
    plan.caveats.retain(|c| !CODES.contains(&c.code));
    plan.caveats.extend(found);
}

/// The contract that the base has at a path.
enum Then {
    Contract(Box<Contract>, Sources),
    Missing,
    Unreadable(String),
}

struct Comparison<'a> {
    session: &'a Session,
    engine: &'a Engine<'a>,
    terms: &'a BaseTerms<'a>,
    base: &'a Oid,
    git: &'a Git,
}

impl Comparison<'_> {
    /// Compares with the contract of the base at the same path.
    fn own(&self, is_chosen: bool) -> (bool, Vec<Caveat>) {
        if self.is_same() {
            return (false, Vec::new());
        }
        match self.read_at(self.base, self.engine.contract) {
            Then::Contract(contract, sources) => {
                let found = self.compare(&contract, &sources, None, self.terms.effect);
                (false, found.into_iter().collect())
            }
            Then::Unreadable(why) => (false, vec![self.unreadable(&why, self.terms.effect)]),
            Then::Missing if is_chosen || self.terms.effect == Effect::Incomplete => {
                let path = &self.session.contract_path;
                let base = self.base.short();
                let message =
                    format!("the base {base} has no contract `{path}` to compare this one with");
                let caveat = Caveat::new(Code::BaseContractMissing, Effect::Note, message);
                (true, vec![caveat])
            }
            Then::Missing => (true, Vec::new()),
        }
    }

    /// Compares with the base's contract at the usual path, which would apply to this request
    /// without `--contract`.
    fn default(&self, path: &RepoPath, effect: Effect) -> Option<Caveat> {
        let here = self.session.site.root.join(path.to_os());
        let is_here = here.symlink_metadata().is_ok();
        if !is_here && self.is_unchanged(std::slice::from_ref(path)) == Some(true) {
            return None;
        }
        match self.read_at(self.base, None) {
            Then::Contract(contract, sources) => {
                self.compare(&contract, &sources, Some(path), effect)
            }
            Then::Unreadable(why) => Some(self.unreadable(&why, effect)),
            Then::Missing => None,
        }
    }

    /// Whether the contract is the one of the base, as far as that is known without reading the
    /// base.
    fn is_same(&self) -> bool {
        let loaded = self.session.loaded.as_ref();
        if let Some(revision) = loaded.and_then(|loaded| loaded.revision.as_ref()) {
            return *revision == *self.base
                || (self.terms.effect < Effect::Incomplete && self.is_foreign(revision));
        }
        let mut paths = vec![self.session.contract_path.clone()];
        if let Some(contract) = self.session.contract() {
            paths.push(lockfile::path_for(&self.session.contract_path));
            paths.extend(contract.imports.iter().filter_map(|i| i.path.clone()));
        }
        // If this needs a call of git, it is left to the run.
        self.is_unchanged(&paths).unwrap_or(true)
    }

    /// Whether a revision contains nothing of the change: then the caller chose the contract of
    /// another revision.
    fn is_foreign(&self, revision: &Oid) -> bool {
        let base = |head: Oid| self.git.merge_base("", revision, &head).ok();
        let base = self.git.head().ok().flatten().and_then(base);
        base.as_ref() == Some(self.base)
    }

    fn is_unchanged(&self, paths: &[RepoPath]) -> Option<bool> {
        let changes = &self.session.gathered.changes;
        // A list of names that contains the contract is reason enough to compare.
        let is_named = || paths.iter().any(|path| changes.contains(path));
        let may_ask = self.terms.may_ask || is_named();
        self.session.is_same(self.engine, self.base, paths, may_ask)
    }

    /// Reads the contract at the base.
    fn read_at(&self, commit: &Oid, contract: Option<&Path>) -> Then {
        // The empty tree is the base of unrelated histories.
        if commit.is_empty_tree() {
            return Then::Missing;
        }
        let revision = commit.to_string();
        let wanted = ContractRequest {
            contract,
            ..self.engine.contract_request(Some(&revision), Some(commit))
        };
        let failed = |failure: Failure| Then::Unreadable(reason(failure));
        let around = |path: &RepoPath| self.git.submodule_around(commit, path);
        match self.engine.load(&self.session.site, &wanted) {
            Err(failure) => failed(failure),
            Ok(Err(LoadError::MissingIn { path, .. })) => match around(&path) {
                Ok(None) => Then::Missing,
                Ok(Some(module)) => Then::Unreadable(format!("`{module}` is a submodule there")),
                Err(error) => Then::Unreadable(error.to_string()),
            },
            Ok(Err(error)) => Then::Unreadable(error.to_string()),
            Ok(Ok(loaded)) => match valid(loaded) {
                Ok((contract, loaded)) => Then::Contract(Box::new(contract), loaded.sources),
                Err(failure) => failed(failure),
            },
        }
    }

    /// Lists the requirements of the base's contract for this request that today's contract lacks.
    fn compare(
        &self,
        then: &Contract,
        sources: &Sources,
        default: Option<&RepoPath>,
        effect: Effect,
    ) -> Option<Caveat> {
        let session = self.session;
        let now = session.contract();
        if now.is_some_and(|now| now.identity() == then.identity()) {
            return None;
        }
        let none = Sources::default();
        let nothing = Contract {
            path: session.contract_path.to_string(),
            ..without_contract()
        };
        let old = Side::new(then, sources);
        let sources = session.loaded.as_ref().map_or(&none, |l| &l.sources);
        let new = Side::new(now.unwrap_or(&nothing), sources);
        let request = as_of(&session.request, &old, &new);
        if asks_nothing(&session.request, &request) {
            return None;
        }
        let mut facts = Facts::default();
        let plans = session
            .compiled(session.contract(), &session.request, &mut facts)
            .and_then(|now| Ok((now, session.compiled(Some(then), &request, &mut facts)?)));
        let (now, before) = match plans {
            Ok(plans) => plans,
            // The request fits the present contract; otherwise there is no plan to compare.
            Err(failure) => {
                let why = format!("it cannot be asked the same: {}", reason(failure));
                return Some(self.unreadable(&why, effect));
            }
        };
        let planned = |side, plan| PlannedSide { side, plan };
        let found = weaker(&planned(old, &before), &planned(new, &now));
        (!found.is_empty()).then(|| self.weakened(&found, default, effect))
    }

    fn weakened(&self, found: &[Weaker], default: Option<&RepoPath>, effect: Effect) -> Caveat {
        let mut checks: Vec<String> = found.iter().filter_map(|w| w.check.clone()).collect();
        checks.dedup();
        checks.truncate(NAMED);
        let said: Vec<String> = found.iter().take(SAID).map(Weaker::line).collect();
        let more = found.len().saturating_sub(SAID);
        let more = text_if(more > 0, || format!("; and {more} more"));
        let own = &self.session.contract_path;
        let what = match default {
            Some(path) => format!("`{own}` asks for less than `{path}`"),
            None => "the contract asks for less than it did".to_owned(),
        };
        let others = match self.is_of_others() {
            true => ", as it does at the present merge base: others changed it",
            false => "",
        };
        let (place, said) = (self.place(), said.join("; "));
        let message = format!("{what} at {place}{others}: {said}{more}");
        let caveat = Caveat::new(Code::ContractWeakened, effect, message).of_checks(checks);
        settled(self.session, self.terms, caveat)
    }

    /// Names the commit whose contract counts.
    fn place(&self) -> String {
        let commit = self.base.short();
        if self.terms.is_tip {
            format!("the branch's tip {commit} (the base has no contract)")
        } else {
            format!("the base {commit}")
        }
    }

    fn unreadable(&self, why: &str, effect: Effect) -> Caveat {
        let message = format!(
            "what the contract at {} asked for is not known, for it cannot be read: {why}",
            self.place()
        );
        let caveat = Caveat::new(Code::BaseContractUnreadable, effect, message);
        settled(self.session, self.terms, caveat)
    }

    /// Whether the contract is that of the present merge base, so that this change did not weaken
    /// it.
    fn is_of_others(&self) -> bool {
        let present = self.terms.present.filter(|present| *present != self.base);
        let (Some(present), Some(now)) = (present, self.session.contract()) else {
            return false;
        };
        let then = self.read_at(present, self.engine.contract);
        matches!(then, Then::Contract(then, _) if then.identity() == now.identity())
    }
}

/// Turns the caveat into a note if a person has accepted the contract; otherwise adds how to accept
/// it.
fn settled(session: &Session, terms: &BaseTerms<'_>, caveat: Caveat) -> Caveat {
    let Some(now) = session.contract().map(Contract::identity) else {
        return caveat;
    };
    if terms.accepted.contains(&now) {
        let message = format!("{} (accepted)", caveat.message);
        return Caveat {
            effect: Effect::Note,
            message,
            ..caveat
        };
    }
    caveat.way_out(match terms.subject {
        Some(subject) => accepted_by(subject, &now),
        None => format!("a person accepts it with `--allow-contract-change={now}`"),
    })
}

/// Makes the caveat about a branch that has no common ancestor with HEAD.
fn no_ancestor(session: &Session, terms: &BaseTerms<'_>, branch: &Unrelated) -> Caveat {
    let message = match (&branch.branch, &branch.tip) {
        (Some(name), Some(tip)) => format!(
            "`{}` and `HEAD` have no common ancestor: the contract is compared with the one at its tip {}",
            visible(name),
            tip.short()
        ),
        _ => "`HEAD` has no common ancestor with the other branches, and no default branch is known: the contract \
              is compared with none"
            .to_owned(),
    };
    let caveat = Caveat::new(Code::NoCommonAncestor, terms.effect, message);
    settled(session, terms, caveat)
}

/// Shows a failure on one line: the first error of a contract, or the failure itself.
fn reason(failure: Failure) -> String {
    let first = failure.diagnostics.as_ref().and_then(|found| {
        let (sources, list) = found.as_ref();
        let error = list.iter().find(|d| d.severity == Severity::Error)?;
        let place = error.labels.first().map(|label| {
            let name = sources.get(label.place.source).map_or("", |s| s.name());
            let line = sources.position(label.place).line;
            format!(" ({}:{line})", visible(name))
        });
        Some(format!("{}{}", error.message, place.unwrap_or_default()))
    });
    let text = first.unwrap_or(failure.message);
    let lock = match failure.exit {
        Exit::Drift => "; `vplan lock` at that commit fetches it",
        _ => "",
    };
    format!("{}{lock}", visible(&text))
}
