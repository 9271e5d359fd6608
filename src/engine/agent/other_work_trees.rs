//! Finds the work of a session that its work tree lacks: commits that HEAD left, and stash entries.
//! Contents decide: work that was amended, rebased, squashed or popped is still there.
//!
//! The commits of the session come from HEAD's reflog. Other references and other work trees may
//! belong to someone else: they are listed, but do not block a pass.

use super::record::StartState;
use crate::{Digest, Git, GitError, Oid, RepoPath, first_of, visible};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use vplan_git::between::{DiffSide, read};
use vplan_git::reflog::{Movement, WorkTree};
use vplan_git::refs::Refs;

/// Maximum number of compared commits of one kind.
const COMPARED: usize = 50;
/// Maximum number of files, and of references, that a line names.
const NAMED: usize = 3;
/// The longest message of a commit in a line, in characters.
const MESSAGE: usize = 80;
/// Maximum number of contents that a session remembers.
const SETTLED: usize = 5_000;

/// The work of a session that is not in its work tree, a line each.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// Work that blocks a pass of the session.
    pub left: Vec<String>,
    /// Work that is reported to people.
    pub named: Vec<String>,
}

/// Files of a commit whose changes the work tree lacks.
struct Absent {
    files: Vec<RepoPath>,
    /// Whether that is all that it changed.
    is_all: bool,
}

impl Absent {
    fn line(&self, what: &str) -> String {
        let names = self.files.iter().map(|path| format!("`{path}`"));
        format!(
            "{what}: changes to {} are not in this work tree",
            first_of(names, NAMED)
        )
    }
}

/// Identifies a content at a path.
fn content(path: &RepoPath, at: DiffSide) -> String {
    let at = at.map(|(mode, id)| format!("{mode:o} {id}"));
    let digest = Digest::of_value(&(path.to_string(), at)).hex();
    digest.get(..16).unwrap_or_default().to_owned()
}

/// Returns the contents of the files that differ from a commit; of a session, those that a pass
/// settles.
///
/// Those of submodules differ from the commits in `start`.
pub(super) fn contents(
    git: &Git,
    base: Option<&Oid>,
    start: Option<&StartState>,
) -> Result<Vec<String>, GitError> {
    let changed = git.worktree_against(base)?;
    let snapshot = git.snapshot()?;
    let paths = changed.iter().map(|file| &file.path);
    let own = paths.map(|path| content(path, snapshot.file(path)));
    let mut all: Vec<String> = own.collect();
    for (path, inside) in git.submodules()? {
        let start = start.and_then(|start| start.submodules.as_ref()?.get(&path.to_string()));
        if let Some(git) = inside {
            let head = start.and_then(|start| oid(start.head.as_ref()));
            all.extend(contents(&git, head.as_ref(), start)?);
        }
    }
    Ok(all)
}

fn oid(id: Option<&String>) -> Option<Oid> {
    id.and_then(|id| Oid::parse(id.as_bytes()))
}

/// Adds contents to those that a session remembers, the newest last.
pub(super) fn settle(settled: &mut Vec<String>, mut contents: Vec<String>) {
    settled.retain(|old| !contents.contains(old));
    settled.append(&mut contents);
    let more = settled.len().saturating_sub(SETTLED);
    settled.drain(..more);
}

impl Elsewhere {
    /// Compares the work of a session with its work tree.
    ///
    /// # Errors
    /// Errors of git.
    pub(super) fn find(
        git: &Git,
        start: &StartState,
        head: Option<&String>,
        settled: &[String],
    ) -> Result<Self, GitError> {
        let first = oid(head);
        let log = git.head_log()?;
        let mut elsewhere = Self::default();
        elsewhere.submodules(git, start, settled)?;
        let Some(moves) = start.since_start(log.as_deref(), first.as_ref()) else {
            let lost = "the reflog of `HEAD` was removed or rewritten: the commits of this session are not known";
            elsewhere.left.push(lost.to_owned());
            return Ok(elsewhere);
        };
        let settled = settled.iter().map(String::as_str).collect();
        let mut comparison = Comparison::new(git, settled)?;
        let mut visited = Visited::new(moves, first);
        visited.branches.extend(start.branch.clone());
        visited.branches.extend(Refs::new(git).head()?);
        comparison.commits(&visited, moves, &mut elsewhere)?;
        let others = git.other_work_trees();
        comparison.stashes(start, &visited, &others, &mut elsewhere)?;
        let is_new = |tree: &&WorkTree| !start.work_trees.contains(&tree.name);
        for tree in others.iter().filter(is_new) {
            elsewhere.named.push(added(&tree.root));
        }
        let is_alone = start.work_trees.is_empty() && others.is_empty();
        if is_alone && let Err(error) = comparison.references(start, &visited, &mut elsewhere) {
            let unknown = format!("cannot compare new references with the work tree: {error}");
            elsewhere.named.push(unknown);
        }
        Ok(elsewhere)
    }

    /// Adds the work in submodules, as if each were the session's repository.
    fn submodules(
        &mut self,
        git: &Git,
        start: &StartState,
        settled: &[String],
    ) -> Result<(), GitError> {
        let Some(known) = &start.submodules else {
            return Ok(());
        };
        // One that was checked out since then has only lines of the session.
        let new = StartState {
            since: start.since,
            submodules: Some(BTreeMap::new()),
            ..StartState::default()
        };
        for (path, inside) in git.submodules()? {
            let start = known.get(&path.to_string());
            let Some(inside) = inside else {
                let gone =
                    format!("submodule `{path}` was checked out at the start, and is no longer");
                self.left.extend(start.map(|_| gone));
                continue;
            };
            let start = start.unwrap_or(&new);
            let found = Self::find(&inside, start, start.head.as_ref(), settled)?;
            let named = |line: String| format!("submodule `{path}`: {line}");
            self.left.extend(found.left.into_iter().map(named));
            self.named.extend(found.named.into_iter().map(named));
        }
        Ok(())
    }
}

/// Whether the work tree has no changes of one of these commits.
///
/// # Errors
/// Errors of git.
pub(super) fn is_left_behind(git: &Git, commits: &[Oid]) -> Result<bool, GitError> {
    let mut comparison = Comparison::new(git, BTreeSet::new())?;
    for tip in git.outside_head(commits, &[])? {
        let absent = comparison.absent(&[tip])?;
        if absent.is_some_and(|absent| absent.is_all) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn added(root: &Path) -> String {
    let root = visible(root.to_string_lossy().as_bytes());
    format!(
        "`{root}` is a work tree that was added since the session began: this session does not verify it"
    )
}

/// The commits that HEAD has been at in a session.
struct Visited {
    all: BTreeSet<Oid>,
    /// The branches that HEAD was on, by their full names.
    branches: BTreeSet<String>,
    /// Those that the session made.
    made: Vec<Oid>,
}

impl Visited {
    fn new(moves: &[Movement], first: Option<Oid>) -> Self {
        let mut all: BTreeSet<Oid> = first.into_iter().collect();
        let (mut made, mut branches) = (Vec::new(), BTreeSet::new());
        for movement in moves {
            branches.extend(movement.branches());
            // A commit without a line that leads to it: that line is missing.
            made.extend(movement.from.filter(|from| all.insert(*from)));
            let is_new = movement.to.is_some_and(|to| all.insert(to));
            let is_made = is_new && !movement.finds_commit();
            made.extend(movement.to.filter(|_| is_made));
        }
        Self {
            all,
            branches,
            made,
        }
    }
}

/// Compares commits with the work tree.
struct Comparison<'a> {
    git: &'a Git,
    head: Option<Oid>,
    /// The contents that passed in the session.
    settled: BTreeSet<&'a str>,
    /// The files that differ from a commit, by the commit.
    changed: BTreeMap<Oid, BTreeSet<RepoPath>>,
}

impl<'a> Comparison<'a> {
    fn new(git: &'a Git, settled: BTreeSet<&'a str>) -> Result<Self, GitError> {
        Ok(Self {
            git,
            head: git.head()?,
            settled,
            changed: BTreeMap::new(),
        })
    }

    fn commits(
        &mut self,
        visited: &Visited,
        moves: &[Movement],
        found: &mut Elsewhere,
    ) -> Result<(), GitError> {
        let tips = self.git.outside_head(&visited.made, &[])?;
        for tip in tips.iter().take(COMPARED) {
            let Some(absent) = self.absent(&[*tip])? else {
                continue;
            };
            let message = moves.iter().rfind(|m| m.to == Some(*tip));
            let message = message.map_or("", |m| m.message.as_str());
            let references = self.git.references_with(tip)?;
            let left = moves.iter().rfind(|m| m.from == Some(*tip));
            let is_kept = !references.is_empty() || left.is_some_and(Movement::leaves_detached);
            let names = references.iter().map(|name| format!("`{name}`"));
            let place = match names.len() {
                0 => "on no branch".to_owned(),
                _ => format!("in {}", first_of(names, NAMED)),
            };
            let message: String = message.chars().take(MESSAGE).collect();
            let line = absent.line(&format!("`{}` ({message}), {place}", tip.short()));
            match (is_kept, absent.is_all) {
                (true, true) => found.left.push(line),
                (true, false) | (false, true) => found.named.push(line),
                // Another commit took its place.
                (false, false) => {}
            }
        }
        Ok(())
    }

    fn stashes(
        &mut self,
        start: &StartState,
        visited: &Visited,
        others: &[WorkTree],
        found: &mut Elsewhere,
    ) -> Result<(), GitError> {
        let own = Refs::new(self.git).head()?;
        let has_neighbours = !(others.is_empty() && start.work_trees.is_empty());
        for (stash, message) in self.git.stashes()?.into_iter().take(COMPARED) {
            if start.stashes.contains(&stash.to_string()) {
                continue;
            }
            let parents = self.git.parents(&stash)?;
            let is_upon = parents.first().is_some_and(|id| visited.all.contains(id));
            let is_own = match stashed_on(&message) {
                Some(branch) => visited.branches.contains(&branch),
                // On no branch, or with its own message.
                None => own.is_none() || others.iter().all(|tree| tree.branch().is_some()),
            };
            if has_neighbours && !(is_upon && is_own) {
                continue;
            }
            // Files that were not tracked are in a commit of their own.
            let untracked = parents.get(2).copied();
            let commits: Vec<Oid> = [stash].into_iter().chain(untracked).collect();
            if let Some(absent) = self.absent(&commits)? {
                let message: String = message.chars().take(MESSAGE).collect();
                let line = absent.line(&format!("stash entry `{}` ({message})", stash.short()));
                match absent.is_all {
                    true => found.left.push(line),
                    false => found.named.push(line),
                }
            }
        }
        Ok(())
    }

    /// Names new commits of references that HEAD did not make.
    fn references(
        &mut self,
        start: &StartState,
        visited: &Visited,
        found: &mut Elsewhere,
    ) -> Result<(), GitError> {
        let mut references = self.git.references_since(start.since)?;
        references.retain(|r| !visited.made.contains(&r.commit));
        let commits: Vec<Oid> = references.iter().map(|r| r.commit).collect();
        for tip in self.git.outside_head(&commits, &[])?.iter().take(COMPARED) {
            let containing = self.git.references_with(tip)?;
            let is_fetched = |name: &String| name.starts_with("refs/remotes/");
            let Some(named) = references.iter().find(|r| r.commit == *tip) else {
                continue;
            };
            if containing.iter().any(is_fetched) {
                continue;
            }
            if let Some(absent) = self.absent(&[*tip])?.filter(|absent| absent.is_all) {
                let what = format!("`{}`, made since the session began", named.name);
                found.named.push(absent.line(&what));
            }
        }
        Ok(())
    }

    /// Returns the files that commits changed, that did not pass with that content, and that the
    /// work tree has as before.
    fn absent(&mut self, commits: &[Oid]) -> Result<Option<Absent>, GitError> {
        let (mut open, mut absent) = (0, Vec::new());
        for (at, commit) in commits.iter().enumerate() {
            // Only the first one has the files of all.
            let base = match at {
                0 => self.base(commit)?,
                _ => self.git.empty_tree()?,
            };
            let difference = self.git.difference(commit, &base)?;
            let unreadable = || GitError::Unreadable("diff-tree");
            let files = read(&difference).ok_or_else(unreadable)?;
            let since = commits.first().map_or(Ok(base), |first| self.base(first))?;
            let changed = self.changed(since)?.clone();
            for (path, content_at) in files {
                if self.settled.contains(content(&path, content_at).as_str()) {
                    continue;
                }
                open += 1;
                if !changed.contains(&path) {
                    absent.push(path);
                }
            }
        }
        Ok((!absent.is_empty()).then_some(Absent {
            is_all: absent.len() == open,
            files: absent,
        }))
    }

    /// Returns the last commit that a commit and HEAD have in common.
    fn base(&self, commit: &Oid) -> Result<Oid, GitError> {
        let Some(head) = self.head else {
            return self.git.empty_tree();
        };
        match self.git.merge_base(&commit.to_string(), commit, &head) {
            Err(GitError::NoMergeBase { .. }) => Ok(head),
            found => found,
        }
    }

    fn changed(&mut self, since: Oid) -> Result<&BTreeSet<RepoPath>, GitError> {
        if !self.changed.contains_key(&since) {
            let files = self.git.worktree_against(Some(&since))?;
            let paths = files.into_iter().map(|file| file.path).collect();
            self.changed.insert(since, paths);
        }
        Ok(self.changed.entry(since).or_default())
    }
}

/// Returns the full name of the branch on which an entry was stashed, by its message.
fn stashed_on(message: &str) -> Option<String> {
    let rest = message
        .strip_prefix("WIP on ")
        .or_else(|| message.strip_prefix("On "))?;
    let name = rest.split_once(": ")?.0;
    (name != "(no branch)").then(|| format!("refs/heads/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> Oid {
        Oid::parse(String::from(digit).repeat(40).as_bytes()).unwrap()
    }

    fn moved(from: char, to: char, message: &str) -> Movement {
        Movement {
            from: Some(id(from)),
            to: Some(id(to)),
            at: 0,
            message: message.to_owned(),
        }
    }

    #[test]
    fn commits_that_a_session_made() {
        let moves = [
            moved('1', '2', "commit: a"),
            moved('2', '1', "checkout: moving from work to main"),
            moved('1', '3', "checkout: moving from main to other"),
            moved('3', '1', "checkout: moving from other to main"),
            // The line that led to 4 is missing.
            moved('4', '1', "checkout: moving from x to main"),
            moved('1', '1', "reset: moving to HEAD"),
        ];
        let visited = Visited::new(&moves, Some(id('1')));
        assert_eq!(visited.made, [id('2'), id('4')]);
        assert_eq!(visited.all.len(), 4);
        let names: Vec<&str> = visited.branches.iter().map(String::as_str).collect();
        assert_eq!(
            names,
            ["main", "other", "work", "x"].map(|name| format!("refs/heads/{name}"))
        );
    }

    #[test]
    fn the_branch_of_a_stash_entry() {
        for (message, branch) in [
            ("WIP on main: 1234567 x", Some("refs/heads/main")),
            ("On a/b: later: x", Some("refs/heads/a/b")),
            ("WIP on (no branch): 1234567 x", None),
            ("", None),
        ] {
            assert_eq!(stashed_on(message).as_deref(), branch, "{message}");
        }
    }

    #[test]
    fn the_newest_contents_are_kept() {
        let mut settled: Vec<String> = (0..SETTLED).map(|n| n.to_string()).collect();
        settle(&mut settled, vec!["1".to_owned(), "x".to_owned()]);
        assert_eq!(settled.len(), SETTLED);
        assert!(settled.ends_with(&["1".to_owned(), "x".to_owned()]) && settled[0] == "2");
    }
}
