//! Checks that a round continues its subject: in the directory and on the history that it began
//! with, under its contract, and with a change.

use super::request::Allowed;
use crate::{
    Caveat, ChangeSet, Code, Digest, Effect, Engine, Failure, GitError, Oid, Plan, PlanRequest,
    RepoPath, Session, Site, first_of, visible,
};
use std::path::Path;
use vplan_base::command::quote;
use vplan_base::word::Word;
use vplan_ledger::SubjectEntry;
use vplan_ledger::contract_mark::{ContractChange, ContractMark};
use vplan_ledger::round::Because;
use vplan_os::files::directory_identity;
use vplan_os::view;
use vplan_plan::lost_commands::lost_commands;
use vplan_plan::request::Mode;
use vplan_repo::changes::base::common;
use vplan_repo::load::{ContractRequest, LoadError};

/// Maximum number of checks that a message names.
const NAMED: usize = 3;

/// Returns the identity of a repository's directory; `None` in a view, which has another identity.
pub fn site_identity(site: &Site) -> Option<String> {
    let is_view = view::is_inside(&site.root);
    directory_identity(&site.home).filter(|_| !is_view)
}

impl Engine<'_> {
    /// Whether a recorded subject is unrelated: it began in another directory at this path, or at a
    /// commit that HEAD does not contain.
    pub fn is_other_subject(&self, site: &Site, entry: &SubjectEntry) -> bool {
        let root = site_identity(site);
        if entry.root.is_some() && root.is_some() && entry.root != root {
            return true;
        }
        let is_assumed = entry.began.as_ref().is_some_and(|b| b.assumed);
        let began = entry.began.as_ref().and_then(|b| b.base.as_ref());
        let began = began.and_then(|id| Oid::parse(id.as_bytes()));
        let Some(began) = began.filter(|id| !id.is_empty_tree()) else {
            return false;
        };
        let Some(git) = site.usable_git() else {
            return matches!(site.git, Err(GitError::NotARepository(_)));
        };
        let Ok(Some(head)) = git.head() else {
            return true;
        };
        match common(git, &began, &head, &self.commit_cache(site)) {
            // A base that was HEAD, because no other was known, may be amended with the work.
            Ok(Some(found)) => found != began && (!is_assumed || found.is_empty_tree()),
            // The history is cut off before it.
            Ok(None) => false,
            Err(_) => true,
        }
    }

    /// Whether the contract of a subject's rounds has changed since. One that was removed asks for
    /// nothing more.
    pub fn is_other_contract(&self, site: &Site, entry: &SubjectEntry) -> bool {
        let Some(before) = &entry.contract else {
            return false;
        };
        let Some(path) = before.path.as_ref().map(RepoPath::to_os) else {
            return false;
        };
        let wanted = ContractRequest {
            contract: Some(Path::new(&path)),
            ..self.contract_request(None, None)
        };
        match self.load(site, &wanted) {
            Ok(Err(LoadError::Missing(..))) => false,
            Ok(Ok(loaded)) => {
                let now = loaded.contract.as_ref().map(ContractMark::new);
                before.compare(now.as_ref()) != ContractChange::Same
            }
            Ok(Err(_)) | Err(_) => true,
        }
    }
}

/// The inputs of the checks.
pub(super) struct Continuation<'a> {
    pub engine: &'a Engine<'a>,
    pub session: &'a Session,
    pub requested: &'a PlanRequest,
    /// The contract that is accepted for this run.
    pub allowed: Option<&'a Allowed>,
    pub plan: &'a Plan,
    /// The whole change of the subject.
    pub changes: &'a ChangeSet,
    /// The commit that the whole change and the folders of `each` are compared with.
    pub base: Option<&'a Oid>,
    pub name: &'a str,
    /// The subject as the ledger has it.
    pub entry: Option<&'a SubjectEntry>,
}

/// The result of the checks.
#[derive(Default)]
pub(super) struct ContinuationResult {
    pub caveats: Vec<Caveat>,
    /// The reason why a pass does not make the subject done.
    pub because: Option<Because>,
    /// Whether the round counts as one of a part of the change.
    pub is_part: bool,
    /// The contract that later rounds are compared with.
    pub contract: Option<ContractMark>,
}

impl Continuation<'_> {
    /// Checks the directory, the history, the contract, the rows of `each`, and the change.
    ///
    /// # Errors
    /// The folders of the base cannot be read.
    pub fn check(&self) -> Result<ContinuationResult, Failure> {
        let mut result = ContinuationResult::default();
        if let Some(entry) = self.entry {
            self.empty_change(entry, &mut result);
        }
        self.contract(&mut result);
        self.rows(&mut result)?;
        let is_other = |entry| self.engine.is_other_subject(&self.session.site, entry);
        if self.entry.is_some_and(is_other) {
            self.other_subject(&mut result);
        }
        Ok(result)
    }

    fn command_line(&self) -> String {
        visible(self.name)
    }

    fn quoted(&self) -> String {
        quote(&Word::from(self.name)).to_string()
    }

    fn other_subject(&self, result: &mut ContinuationResult) {
        let name = self.command_line();
        let message = format!(
            "`{name}` began in another work tree at this path, or at a commit that `HEAD` does not contain: its rounds are not about this work"
        );
        let quoted = self.quoted();
        let way_out = format!("`vplan gate reset --subject {quoted}` begins anew here");
        let caveat = Caveat::new(Code::OtherSubject, Effect::Incomplete, message);
        result.caveats.push(caveat.way_out(way_out));
        result.because = Some(Because::OtherSubject);
    }

    /// Whether a person has accepted today's contract for the subject, or for this run.
    fn is_accepted(&self, now: Option<&Digest>) -> bool {
        let accepted = self.entry.iter().flat_map(|e| &e.accepted);
        let mut accepted = accepted.map(|a| &a.contract);
        let is_allowed = |now: &Digest| match self.allowed {
            Some(Allowed::Contract(digest)) => digest == now,
            Some(Allowed::Any) | None => false,
        };
        now.is_some_and(|now| accepted.any(|a| a == now) || is_allowed(now))
    }

    /// Compares the contract with that of the round before.
    fn contract(&self, result: &mut ContinuationResult) {
        let before = self.entry.and_then(|e| e.contract.as_ref());
        let loaded = self.session.loaded.as_ref();
        let now = self.session.contract().map(|contract| ContractMark {
            path: loaded
                .filter(|loaded| loaded.revision.is_none())
                .map(|loaded| loaded.path.clone()),
            ..ContractMark::new(contract)
        });
        let Some(before) = before.filter(|_| self.session.request.mode != Mode::Off) else {
            result.contract = before.cloned().or(now);
            return;
        };
        let is_allowed = self.allowed == Some(&Allowed::Any)
            || self.is_accepted(now.as_ref().map(|now| &now.identity));
        match before.compare(now.as_ref()) {
            ContractChange::Same => {
                result.contract = Some(ContractMark {
                    path: now.and_then(|now| now.path),
                    ..before.clone()
                });
            }
            _ if is_allowed => result.contract = now,
            ContractChange::Extended => {
                let name = self.command_line();
                let message = format!(
                    "the contract is not that of the round of `{name}` before: another round completes it"
                );
                let caveat = Caveat::new(Code::ContractChanged, Effect::Narrows, message);
                result.caveats.push(caveat);
                result.because = Some(Because::ContractChanged);
                result.is_part = true;
                result.contract = now.map(|now| before.extended(&now));
            }
            ContractChange::Lost(checks) => {
                let named = checks.iter().map(|c| format!("`{}`", visible(c)));
                let message = format!(
                    "the contract does not have all of earlier rounds of `{}` as it was: {}",
                    self.command_line(),
                    first_of(named, NAMED)
                );
                let is_check = |name: &String| before.checks.contains_key(name);
                let mut caveat = Caveat::new(Code::ContractChanged, Effect::Incomplete, message)
                    .of_checks(checks.into_iter().filter(is_check).collect());
                if let Some(now) = &now {
                    caveat = caveat.way_out(accepted_by(self.name, &now.identity));
                }
                result.caveats.push(caveat);
                result.because = Some(Because::ContractChanged);
                result.contract = Some(before.clone());
            }
        }
    }

    /// Finds rows of `each` that the change takes away with their folders.
    fn rows(&self, result: &mut ContinuationResult) -> Result<(), Failure> {
        let (session, engine) = (self.session, self.engine);
        let (Some(contract), Some(base)) = (session.contract(), self.base) else {
            return Ok(());
        };
        let loaded = session.loaded.as_ref();
        let revision = loaded.and_then(|loaded| loaded.revision.as_ref());
        // A request that names its files was compared with another commit.
        let gone = match session.gathered.base.as_ref() == Some(base) {
            true => session.request.gone.clone(),
            false => engine.missing_folders(&session.site, contract, revision, base, None)?,
        };
        let identity = contract.identity();
        if gone.folders.is_empty() || self.is_accepted(Some(&identity)) {
            return Ok(());
        }
        let folders = gone.folders.iter().map(|gone| format!("`{}`", gone.folder));
        let message = format!(
            "checks went with folders that the base has: {}",
            first_of(folders, NAMED)
        );
        let checks = gone.folders.iter().flat_map(|gone| gone.checks.clone());
        let caveat = Caveat::new(Code::RowsDropped, Effect::Incomplete, message)
            .of_checks(checks.collect())
            .way_out(accepted_by(self.name, &identity));
        result.caveats.push(caveat);
        Ok(())
    }

    /// Checks that work is there after a round that left it unverified: a stash or a checkout leaves
    /// an empty change.
    fn empty_change(&self, entry: &SubjectEntry, result: &mut ContinuationResult) {
        let request = &self.session.request;
        let takes_all = self.requested.takes_all() && request.whole() == *request;
        if !entry.failed || !self.changes.is_empty() || self.plan.steps.is_empty() || takes_all {
            return;
        }
        let message = format!(
            "earlier work of `{}` failed or was not verified in full, and nothing differs from the base now: not done until `vplan run --all` passes",
            self.command_line()
        );
        let way_out = format!(
            "look for the work in `git stash list`; if reverting is the task, `vplan run --all --subject {}`",
            self.quoted()
        );
        let caveat = Caveat::new(Code::EmptyChange, Effect::Narrows, message);
        result.caveats.push(caveat.way_out(way_out));
        result.because = Some(Because::EmptyChange);
        result.is_part = true;
    }
}

/// Makes the caveat about requested commands that recovery dropped: such a round does not count as
/// a confirmation.
pub(crate) fn request_lost(plan: &Plan) -> Option<Caveat> {
    let lost = lost_commands(plan);
    if lost.is_empty() {
        return None;
    }
    let named = lost.iter().map(|c| format!("`{}`", visible(c)));
    let message = format!(
        "commands of the request did not run, because recovery dropped them: {}",
        first_of(named, NAMED)
    );
    let caveat = Caveat::new(Code::RequestLostCommand, Effect::Incomplete, message);
    Some(caveat.way_out("correct the command, or leave it out of the request"))
}

/// Returns how a person accepts a contract for a subject.
pub(super) fn accepted_by(subject: &str, contract: &Digest) -> String {
    let subject = quote(&Word::from(subject));
    format!(
        "a person accepts it with `vplan gate accept --subject {subject} --contract {contract}`"
    )
}
