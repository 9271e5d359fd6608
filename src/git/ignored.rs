//! Finds the files that a `.gitignore` hides now and did not hide at the base.
//!
//! Both sets of rules are evaluated in one walk, and only below the files that have changed.

use super::error::{GitError, failed};
use super::object::Oid;
use super::rules::{Line, NAME, Rules};
use super::{Git, is_record, pattern, repository};
use rustix::fs::FileType;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use vplan_base::path::RepoPath;
use vplan_base::word::visible;
use vplan_os::files::beneath::Beneath;

/// Maximum number of listed files.
const MOST: usize = 10_000;
/// Maximum number of searched directories.
const MOST_DIRECTORIES: usize = 100_000;

/// A file that is hidden now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewlyIgnored {
    /// The line that hides it: `.gitignore:3: /src/x`.
    pub by: Arc<str>,
    pub path: RepoPath,
}

/// A directory that is still to be searched.
#[derive(Default)]
struct Open {
    /// With a slash at its end, unless it is the root.
    path: Vec<u8>,
    before: Option<Arc<Rules>>,
    now: Option<Arc<Rules>>,
    /// The line that hides it and everything in it.
    hidden: Option<Arc<str>>,
}

/// Shows a line to people: `.gitignore:3: /src/x`.
fn describe_line((dir, line): (&[u8], &Line)) -> Arc<str> {
    let number = format!(":{}: ", line.number);
    visible([dir, NAME, number.as_bytes(), &line.text].concat()).into()
}

struct Lookup {
    root: PathBuf,
    beneath: Beneath,
    tracked: Vec<RepoPath>,
    /// The rule files that have changed, with their text at the base.
    changed: BTreeMap<Vec<u8>, Vec<u8>>,
    found: Vec<NewlyIgnored>,
    open: Vec<Open>,
}

/// The rules of the `.gitignore` files, for paths that may not exist yet.
pub struct IgnoreRules {
    beneath: Beneath,
    /// Those of folders, by their paths.
    known: RefCell<BTreeMap<RepoPath, Arc<Rules>>>,
}

impl IgnoreRules {
    /// Whether the rules hide the path itself. Folders above it are not considered.
    pub fn hide(&self, path: &RepoPath, is_directory: bool) -> bool {
        let rules = self.rules(&path.folder());
        !path.is_root() && Rules::ignores(Some(&rules), path.as_bytes(), is_directory).is_some()
    }

    /// Returns the line that hides a file, or a folder around it.
    fn line(&self, path: &RepoPath) -> Option<Arc<str>> {
        let hides = |around: &RepoPath| {
            let rules = self.rules(&around.folder());
            Rules::ignores(Some(&rules), around.as_bytes(), around != path).map(describe_line)
        };
        path.ancestors().iter().find_map(hides)
    }

    /// Returns those of a folder. Recursion is bounded by the length of a path.
    fn rules(&self, folder: &RepoPath) -> Arc<Rules> {
        let known = self.known.borrow().get(folder).cloned();
        if let Some(known) = known {
            return known;
        }
        let is_root = folder.is_root();
        let above = (!is_root).then(|| self.rules(&folder.folder()));
        let dir = if is_root {
            Vec::new()
        } else {
            [folder.as_bytes(), b"/"].concat()
        };
        let file = RepoPath::from_exact(&[&dir, NAME].concat());
        let text = file.and_then(|file| self.beneath.read(&file, pattern::MOST).ok());
        let rules = Rules::read(above, &dir, &text.unwrap_or_default());
        self.known
            .borrow_mut()
            .insert(folder.clone(), Arc::clone(&rules));
        rules
    }
}

impl Git {
    /// Returns the rules that determine which paths would be ignored.
    ///
    /// # Errors
    /// The root cannot be opened.
    pub fn ignore_rules(&self) -> Result<IgnoreRules, GitError> {
        Ok(IgnoreRules {
            beneath: self.beneath()?,
            known: RefCell::default(),
        })
    }

    /// Lists those of these files, which git no longer tracks, that are still there because a
    /// `.gitignore` hides them.
    ///
    /// # Errors
    /// The root cannot be opened.
    pub fn kept_and_ignored(&self, removed: &[RepoPath]) -> Result<Vec<NewlyIgnored>, GitError> {
        let hidden = self.skipped_paths().hidden;
        let is_kept = |path: &&RepoPath| {
            let found = self.root().join(path.to_os()).symlink_metadata();
            found.is_ok_and(|found| !found.is_dir())
                && !self.is_beyond_link(path.as_bytes())
                && !hidden.contains_key(*path)
        };
        let kept: Vec<&RepoPath> = removed.iter().filter(is_kept).collect();
        if kept.is_empty() {
            return Ok(Vec::new());
        }
        let rules = self.ignore_rules()?;
        let ignored = |path: &RepoPath| {
            let (by, path) = (rules.line(path)?, path.clone());
            Some(NewlyIgnored { by, path })
        };
        Ok(kept.into_iter().filter_map(ignored).collect())
    }

    fn beneath(&self) -> Result<Beneath, GitError> {
        Beneath::open(self.root()).map_err(|e| failed(".", e))
    }

    /// Lists untracked files that these `.gitignore` files hide now, and did not hide at a commit.
    /// The files are those that differ from it. If there are very many, lists the first ones.
    ///
    /// # Errors
    /// Errors of git.
    pub fn newly_ignored(
        &self,
        base: &Oid,
        changed: &[RepoPath],
    ) -> Result<Vec<NewlyIgnored>, GitError> {
        let beneath = self.beneath()?;
        let mut before = BTreeMap::new();
        for path in changed {
            let then = self.file_at(base, path, pattern::MOST)?.unwrap_or_default();
            if then != beneath.read(path, pattern::MOST).unwrap_or_default() {
                before.insert(path.as_bytes().to_vec(), then);
            }
        }
        if before.is_empty() {
            return Ok(Vec::new());
        }
        let mut look = Lookup {
            root: self.root().to_owned(),
            beneath,
            tracked: self.tracked()?,
            changed: before,
            found: Vec::new(),
            open: vec![Open::default()],
        };
        for _ in 0..MOST_DIRECTORIES {
            let Some(dir) = look.open.pop().filter(|_| look.found.len() < MOST) else {
                break;
            };
            look.look_into(dir);
        }
        Ok(look.found)
    }
}

impl Lookup {
    fn look_into(&mut self, mut dir: Open) {
        let is_root = dir.path.is_empty();
        let own = dir.path.strip_suffix(b"/").and_then(RepoPath::from_exact);
        let own = own.unwrap_or_else(RepoPath::root);
        let listed = self.beneath.list(&own);
        let is_repository = || repository::at(&self.root.join(own.to_os())).is_some();
        if !is_root && listed.iter().any(|(name, _)| name == b".git") && is_repository() {
            return;
        }
        self.read_rules(&mut dir);
        for (name, kind) in listed {
            let mut path = [&dir.path, name.as_slice()].concat();
            let is_directory = kind == FileType::Directory;
            if is_root && (name == b".git" || is_record(&path)) || self.is_tracked(&path) {
                continue;
            }
            if Rules::ignores(dir.before.as_ref(), &path, is_directory).is_some() {
                continue;
            }
            let now = || Rules::ignores(dir.now.as_ref(), &path, is_directory).map(describe_line);
            let hidden = dir.hidden.clone().or_else(now);
            match (kind, hidden) {
                (FileType::Directory, hidden) => {
                    path.push(b'/');
                    if hidden.is_some() || self.is_near(&path) {
                        self.open.push(Open {
                            path,
                            before: dir.before.clone(),
                            now: dir.now.clone(),
                            hidden,
                        });
                    }
                }
                (FileType::RegularFile | FileType::Symlink, Some(by)) => {
                    self.found
                        .extend(RepoPath::from_exact(&path).map(|path| NewlyIgnored { by, path }));
                }
                _ => {}
            }
        }
    }

    /// Adds the rules of the directory's own file, now and at the base.
    fn read_rules(&self, dir: &mut Open) {
        let path = [&dir.path, NAME].concat();
        let Some(file) = RepoPath::from_exact(&path) else {
            return;
        };
        let tracked = self.is_tracked(&path);
        let text = if tracked {
            self.beneath.read(&file, pattern::MOST).unwrap_or_default()
        } else {
            Vec::new()
        };
        let before = self.changed.get(&path).unwrap_or(&text);
        dir.before = Some(Rules::read(dir.before.take(), &dir.path, before));
        // Git does not read the files inside a hidden directory.
        if dir.hidden.is_none() {
            dir.now = Some(Rules::read(dir.now.take(), &dir.path, &text));
        }
    }

    /// Whether a directory is above a rule file that has changed, or below its directory.
    fn is_near(&self, dir: &[u8]) -> bool {
        self.changed.keys().any(|file| {
            let around = file.strip_suffix(NAME).unwrap_or(file);
            dir.starts_with(around) || around.starts_with(dir)
        })
    }

    fn is_tracked(&self, path: &[u8]) -> bool {
        RepoPath::from_exact(path).is_some_and(|path| self.tracked.binary_search(&path).is_ok())
    }
}
