//! The commit whose contract and baseline a change is compared with.

use crate::{Engine, Oid, Session};
use vplan_plan::request::ChangedIn;
use vplan_repo::changes::base::{DefaultBase, Unrelated};
/// The commit whose contract and baseline a change is compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judge {
    /// The commit, if there is one.
    pub commit: Option<Oid>,
    /// The branch that it is the tip of, if it has no common ancestor with HEAD.
    pub unrelated: Option<Unrelated>,
}

impl Judge {
    /// Finds it for a run. If the caller names a base, that is the commit. If the caller names
    /// files, or takes all, it is the base of the whole change.
    #[must_use]
    pub fn of(session: &Session, engine: &Engine<'_>) -> Self {
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
    #[must_use]
    pub(crate) fn of_subject(base: Option<Oid>, session: &Session, engine: &Engine<'_>) -> Self {
        let Some(base) = base else {
            return Self::of(session, engine);
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
        let (commit, unrelated) = match unrelated {
            None => (base, None),
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
        Self { commit, unrelated }
    }
}

/// Returns the default base of the change, if it is known.
pub(super) fn default(session: &Session, engine: &Engine<'_>) -> Option<DefaultBase> {
    let found = engine.default_base(&session.site, session.loaded.as_ref());
    found.ok().flatten().filter(|base| base.unknown().is_none())
}
