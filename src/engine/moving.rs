//! Updates the commits of branches and tags in a lock.

use super::failure::Failure;
use super::lock::{Account, Line, Locking, State};
use std::collections::BTreeSet;
use vplan_base::nearest::nearest;
use vplan_base::origin::GitRef;
use vplan_base::word::visible;
use vplan_contract::Contract;
use vplan_contract::import::source::{Named, Source};
use vplan_lock::{Lock as Pinned, PinnedRef};
use vplan_plan::diff::ContractDiff;
use vplan_plan::diff::contracts::{Side, compare};
use vplan_repo::load::Loaded;

/// A lock whose branches and tags were looked up again. Nothing is written yet.
pub struct Moving<'l, 'e> {
    locking: &'l Locking<'e>,
    before: Pinned,
    pinned: Pinned,
    moved: BTreeSet<GitRef>,
    /// The contract with the new commits of its imports.
    contract: Contract,
    /// The branches and tags that move.
    pub account: Account,
    /// The differences between the contract with the present pins and with the new ones.
    pub diff: ContractDiff,
}

impl<'e> Locking<'e> {
    /// Looks up the present commits of branches and tags. `names`: imports, by the name after `as`
    /// or by URL; empty for all.
    ///
    /// # Errors
    /// A name that no import has, or one that names its commit itself; a contract that is invalid,
    /// before or after; a repository that cannot be read.
    pub fn moving(&self, names: &[String]) -> Result<Moving<'_, 'e>, Failure> {
        if self.engine.locked {
            let message = "`--update` writes the lock, and `--locked` keeps it as it is";
            let failure = Failure::usage("vplan::usage::update", message);
            return Err(failure.help("leave out one of them"));
        }
        let found = self.whole()?;
        let (old, before) = self.loaded(&found.lock, &BTreeSet::new())?;
        let moved = named(&old, &before, names)?;
        let (new, pinned) = self.loaded(&found.lock, &moved)?;
        let sides = (old.contract, new.contract);
        let (Some(contract), Some(after)) = sides else {
            return Err(Failure::contract("vplan::contract::invalid", "no contract"));
        };
        let tracked = self.site.git.as_ref().ok();
        let tracked = tracked
            .and_then(|git| git.tracked().ok())
            .unwrap_or_default();
        let older = Side::new(&contract, &old.sources);
        let newer = Side::new(&after, &new.sources);
        let diff = compare(&older, &newer, &tracked);
        let entries = entries(&before, &pinned, &moved);
        Ok(Moving {
            locking: self,
            account: Account::of(&self.path, entries, &pinned),
            before: found.lock,
            pinned,
            moved,
            contract: after,
            diff,
        })
    }
}

impl Moving<'_, '_> {
    /// Writes the lock. If the contract becomes or may become weaker, the caller has accepted that,
    /// and the lock records it.
    ///
    /// # Errors
    /// A lock that cannot be written, or that another process changed in the meantime.
    pub fn write(mut self) -> Result<Account, Failure> {
        if self.diff.weaker() > 0 {
            let identity = self.contract.identity();
            for at in &self.moved {
                if let Some(pinned) = self.pinned.commit(at).cloned() {
                    self.pinned.pin_ref(PinnedRef {
                        accepted: Some(identity.clone()),
                        ..pinned
                    });
                }
            }
        }
        let written = self.locking.replace(|now| {
            if now.lock != self.before {
                let message = "another `vplan lock` changed the lock in the meantime";
                return Err(Failure::drift("vplan::lock::changed", message).help("try again"));
            }
            let mut pinned = self.pinned.clone();
            pinned.proposals.clone_from(&now.lock.proposals);
            Ok(pinned)
        })?;
        Ok(Account {
            written,
            ..self.account
        })
    }
}

/// Returns the branches and tags with these names; all of them if no names are given.
fn named(loaded: &Loaded, lock: &Pinned, names: &[String]) -> Result<BTreeSet<GitRef>, Failure> {
    if names.is_empty() {
        return Ok(lock.refs.iter().map(|pinned| pinned.at.clone()).collect());
    }
    let importer = Source::Local(loaded.path.clone());
    let mut meant = BTreeSet::new();
    for name in names {
        let is_alias = |import: &&(Option<String>, String)| {
            import.0.as_ref() == Some(name) || import.1 == *name
        };
        let by_url = |pinned: &&PinnedRef| {
            let at = pinned.at.to_string();
            [pinned.at.url.as_str(), at.as_str()].contains(&name.as_str())
                || name.strip_prefix("git+") == Some(pinned.at.url.as_str())
        };
        let of_url: BTreeSet<GitRef> = lock
            .refs
            .iter()
            .filter(by_url)
            .map(|pinned| pinned.at.clone())
            .collect();
        let import = loaded.imports.iter().find(is_alias);
        let written = import.and_then(|(_, text)| Source::parse(text, &importer).ok());
        match written {
            Some(Named::Moving { at, .. }) => {
                meant.insert(at);
            }
            Some(Named::Source(source)) => {
                let message = format!(
                    "`{}` imports `{}`, which does not move",
                    visible(name),
                    visible(source.to_string())
                );
                let failure = Failure::usage("vplan::usage::update", message);
                return Err(failure.help("only imports with `?ref=BRANCH` have something to move"));
            }
            None if of_url.is_empty() => {
                let message = format!("no import is called `{}`", visible(name));
                let aliases = loaded
                    .imports
                    .iter()
                    .filter_map(|(alias, _)| alias.as_deref());
                let near = nearest(name, aliases);
                let help = near.map(|near| format!("did you mean `{near}`?"));
                let help = help.unwrap_or_else(|| {
                    "an import is named by its name behind `as`, or by its URL".to_owned()
                });
                return Err(Failure::usage("vplan::usage::update", message).help(help));
            }
            None => meant.extend(of_url),
        }
    }
    Ok(meant)
}

/// Lists the result for each branch and tag, and for the files imported through those that moved.
fn entries(before: &Pinned, pinned: &Pinned, moved: &BTreeSet<GitRef>) -> Vec<Line> {
    let mut entries = Vec::new();
    for now in pinned.refs.iter().filter(|now| moved.contains(&now.at)) {
        let was = before.commit(&now.at);
        entries.push(Line::of_ref(now, was));
        let of_commit = pinned.imports.iter().filter(|import| {
            import.origin.url == now.at.url && import.origin.revision == now.commit
        });
        entries.extend(of_commit.map(|import| Line::held(import, before)));
    }
    let gone = before
        .imports
        .iter()
        .filter(|i| pinned.import(&i.origin).is_none());
    entries.extend(gone.map(|import| Line::of(&import.origin, Some(import), State::Removed)));
    entries
}
