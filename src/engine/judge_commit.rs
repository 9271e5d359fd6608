//! The commit whose contract and baseline a change is compared with.

use super::baseline::has_contract;
use crate::{Engine, Oid, RepoPath, Session, visible};
use vplan_git::refs::Refs;
use vplan_plan::request::ChangedIn;
use vplan_repo::changes::base::{DefaultBase, Unrelated};
use vplan_repo::load::DEFAULT_CONTRACT;

/// The commit whose contract and baseline a change is compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgeCommit {
    /// The commit, if there is one.
    pub commit: Option<Oid>,
    /// The branch that it is the tip of, if it has no common ancestor with HEAD.
    pub unrelated: Option<Unrelated>,
    /// Whether it is the tip of the branch that the change is made for, because the base of the
    /// change has no contract.
    pub is_tip: bool,
}

impl JudgeCommit {
    /// Finds it for a run. If the caller names a base, that is the commit. If the caller names
    /// files, or takes all, it is the base of the whole change.
    pub fn find(session: &Session, engine: &Engine<'_>) -> Self {
        let gathered = &session.gathered;
        let own = || Self::since(gathered.base, gathered.unrelated.clone(), session, engine);
        if gathered.place == Some(ChangedIn::WorkTree) {
            return own();
        }
        match default(session, engine) {
            Some(found) => Self::since(found.commit, found.unrelated, session, engine),
            None => own(),
        }
    }

    /// Finds it for a round of a subject that began at a commit.
    pub(crate) fn of_subject(base: Option<Oid>, session: &Session, engine: &Engine<'_>) -> Self {
        let Some(base) = base else {
            return Self::find(session, engine);
        };
        let named = session.gathered.unrelated.clone();
        let unrelated = base.is_empty_tree().then(|| named.unwrap_or_default());
        Self::since(Some(base), unrelated, session, engine)
    }

    /// Without a common ancestor, the contract at the tip of the branch counts; if that branch is
    /// no longer known, the default one.
    pub(super) fn since(
        base: Option<Oid>,
        unrelated: Option<Unrelated>,
        session: &Session,
        engine: &Engine<'_>,
    ) -> Self {
        let mut is_tip = false;
        let (commit, unrelated) = match unrelated {
            None => {
                let tip = base.and_then(|base| tip_with_contract(&base, session, engine));
                is_tip = tip.is_some();
                (tip.or(base), None)
            }
            Some(found) if found.tip.is_some() => (found.tip, Some(found)),
            Some(lost) => match default(session, engine) {
                // The histories have been merged since.
                Some(DefaultBase {
                    commit: Some(commit),
                    unrelated: None,
                    ..
                }) => (Some(commit), None),
                Some(DefaultBase {
                    unrelated: Some(found),
                    ..
                }) => (found.tip, Some(found)),
                _ => (None, Some(lost)),
            },
        };
        Self {
            commit,
            unrelated,
            is_tip,
        }
    }
}

/// Finds the contract's commit for a change that began before there was a contract: the tip of the
/// branch that the caller names, or else of the default branch. `None` if the base has a contract.
fn tip_with_contract(base: &Oid, session: &Session, engine: &Engine<'_>) -> Option<Oid> {
    let git = session.git()?;
    let gathered = &session.gathered;
    let by_default = || {
        let found = gathered.default.clone();
        let reference = found.or_else(|| default(session, engine))?.reference?;
        Refs::new(git).id(&reference).ok().flatten()
    };
    let tip = gathered.tip.or_else(by_default);
    let tip = tip.filter(|tip| tip != base)?;
    let kept = engine.commit_cache(&session.site);
    let has_contract = |commit: &Oid| {
        let default = RepoPath::from_exact(DEFAULT_CONTRACT.as_bytes());
        let mut paths = [Some(session.contract_path.clone()), default]
            .into_iter()
            .flatten();
        paths.any(|path| {
            let question = format!("contract {commit} {}", visible(path.as_bytes()));
            let answer = kept.get(&question).unwrap_or_else(|| {
                let answer = has_contract(git, commit, &path).to_string();
                kept.put(&question, &answer);
                answer
            });
            answer == "true"
        })
    };
    (!has_contract(base) && has_contract(&tip)).then_some(tip)
}

/// Returns the default base of the change, if it is known.
pub(super) fn default(session: &Session, engine: &Engine<'_>) -> Option<DefaultBase> {
    let found = engine.default_base(&session.site, session.loaded.as_ref());
    found.ok().flatten().filter(|base| base.unknown().is_none())
}
