//! Digests all files of a work tree. For `--changed auto`, and for a fixer that changes nothing.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use vplan_base::canon::Hasher;
use vplan_base::glob::{Glob, Item, Selection, escape};
use vplan_base::path::RepoPath;
use vplan_git::Git;
use vplan_git::fingerprint::{GitPrint, GitPrints, fingerprint};
use vplan_ledger::Contents;
use vplan_os::files::beneath::Beneath;
use vplan_store::records::FOLDER;

/// The choice of the files that count.
#[derive(Clone, Debug)]
pub struct ContentTree<'a> {
    pub root: &'a Path,
    /// Git, if there is one: ignored files do not count.
    pub git: Option<&'a Git>,
    /// Globs of the outputs of checks, which are not part of the change.
    pub produces: Vec<Glob>,
    /// Files and directories that vplan itself writes on this command line, wherever they are.
    pub own: Vec<PathBuf>,
}

impl ContentTree<'_> {
    /// Fingerprints all files that count.
    ///
    /// # Errors
    /// The files cannot be listed.
    pub fn contents(&self) -> io::Result<Contents> {
        let beneath = Beneath::open(self.root)?;
        let prints = fingerprint(&beneath, self.root, self.git, &self.selection());
        digest(&prints?)
    }

    /// Returns the paths that vplan itself writes inside the repository.
    pub fn own_paths(&self) -> Vec<RepoPath> {
        let own = self.own.iter();
        own.filter_map(|path| self.below(path)).collect()
    }

    fn selection(&self) -> Selection {
        let own = self.own_paths().into_iter();
        let own = own
            .chain(RepoPath::from_exact(FOLDER.as_bytes()))
            .filter_map(|path| {
                let text = escape(std::str::from_utf8(path.as_bytes()).ok()?);
                Some([
                    Glob::parse(&text).ok()?,
                    Glob::parse(&format!("{text}/**")).ok()?,
                ])
            });
        let without = own.flatten().chain(self.produces.iter().cloned());
        let without = without.map(|glob| Item {
            not: true,
            ..Item::from(glob)
        });
        let all = Glob::parse("**").ok().map(Item::from);
        Selection {
            items: all.into_iter().chain(without).collect(),
        }
    }

    /// Makes a path of the command line relative to the repository, if it is inside. The file need
    /// not be there yet.
    fn below(&self, path: &Path) -> Option<RepoPath> {
        use std::os::unix::ffi::OsStrExt as _;
        let real = path.canonicalize().ok().or_else(|| {
            let parent = path
                .parent()
                .filter(|p| !p.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            Some(parent.canonicalize().ok()?.join(path.file_name()?))
        })?;
        let inside = real.strip_prefix(self.root.canonicalize().ok()?).ok()?;
        RepoPath::from_exact(inside.as_os_str().as_bytes()).filter(|p| !p.is_root())
    }
}

/// The limits on comparing moved files by content, in bytes: of one file, and of all together.
const MOST: u64 = 8 << 20;
const MOST_OF_ALL: u64 = 64 << 20;

/// Digests the content of files, to recognise one under another name. The digest of a file that is
/// missing, empty or large is an empty text.
pub fn in_short<'p>(
    root: &Path,
    paths: impl IntoIterator<Item = &'p RepoPath>,
) -> Vec<(RepoPath, String)> {
    let beneath = Beneath::open(root).ok();
    let mut left = MOST_OF_ALL;
    let mut content = |path: &RepoPath| {
        let beneath = beneath.as_ref().filter(|_| left > 0)?;
        let (kind, bytes) = match beneath.link(path) {
            Some(target) => (b'l', target),
            None => (b'f', beneath.read(path, MOST).ok()?),
        };
        left = left.saturating_sub(bytes.len() as u64);
        let mut hasher = Hasher::default();
        hasher
            .write_all(&[kind])
            .and_then(|()| hasher.write_all(&bytes))
            .ok()?;
        let digest = hasher.finish().to_string();
        let (_, hex) = digest.split_once(':').filter(|_| !bytes.is_empty())?;
        hex.get(..32).map(str::to_owned)
    };
    paths
        .into_iter()
        .map(|path| (path.clone(), content(path).unwrap_or_default()))
        .collect()
}

/// Combines all fingerprints into one digest. Each part is preceded by its length: no two sets of
/// files have the same bytes.
fn digest(prints: &GitPrints) -> io::Result<Contents> {
    let mut hasher = Hasher::default();
    let mut part = |bytes: &[u8]| {
        hasher.write_all(&(bytes.len() as u64).to_be_bytes())?;
        hasher.write_all(bytes)
    };
    for (path, print) in prints {
        part(path.as_bytes())?;
        let text;
        let (kind, content) = match print {
            GitPrint::File {
                digest, executable, ..
            } => {
                text = digest.to_string();
                (if *executable { b"x" } else { b"-" }, text.as_bytes())
            }
            GitPrint::Symlink(target) => (b"l", target.as_slice()),
            GitPrint::Submodule(head) => (b"m", head.as_deref().unwrap_or_default().as_bytes()),
            GitPrint::Other(why) => (b"?", why.as_bytes()),
        };
        part(kind)?;
        part(content)?;
    }
    Ok(Contents {
        digest: hasher.finish(),
        files: prints.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn what_counts_as_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let write = |path: &str, text: &str| {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        };
        write("a", "1");
        write("d/b", "1");
        let tree = ContentTree {
            root,
            git: None,
            produces: vec![Glob::parse("gen/**").unwrap()],
            own: vec![root.join("out.xml"), root.join("state[1]")],
        };
        let mut last = tree.contents().unwrap();
        assert_eq!(last.files, 2);
        let mut step = |what: &str, changes: bool, act: &dyn Fn()| {
            act();
            let now = tree.contents().unwrap();
            assert_eq!(now != last, changes, "{what}");
            last = now;
        };
        step("nothing", false, &|| {});
        step("the same again", false, &|| write("a", "1"));
        step("another content", true, &|| write("a", "2"));
        step("a new file", true, &|| write("c", ""));
        step("a file moved", true, &|| {
            fs::rename(root.join("c"), root.join("e")).unwrap()
        });
        step("a file removed", true, &|| {
            fs::remove_file(root.join("e")).unwrap()
        });
        step("a mode", true, &|| {
            fs::set_permissions(root.join("a"), fs::Permissions::from_mode(0o755)).unwrap()
        });
        step("a symlink", true, &|| {
            std::os::unix::fs::symlink("a", root.join("l")).unwrap()
        });
        step("what a check produces", false, &|| write("gen/x/y", "1"));
        step("vplan's records", false, &|| {
            write(".vplan/runs/x/report.json", "1")
        });
        step("a report that was asked for", false, &|| {
            write("out.xml", "1")
        });
        step("the state, if it is kept here", false, &|| {
            write("state[1]/ledger.json", "1")
        });
        step("beside it", true, &|| write("state1/ledger.json", "1"));
        step("an empty directory", false, &|| {
            fs::create_dir(root.join("empty")).unwrap()
        });
    }
}
