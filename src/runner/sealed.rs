//! Selects the files that exist for a sealed step, and copies its outputs to the repository.
//!
//! A sealed step changes folders of its own, which begin empty. After its end, the files that are
//! its products or reports are copied to their places, each as a whole; all others are removed with
//! the folders. Nothing is copied through a link, and no link that leads elsewhere is copied to the
//! repository.

use crate::readable::ReadRule;
use crate::sandbox_error::SandboxError::{self, *};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use vplan_base::glob::Selection;
use vplan_base::path::RepoPath;
use vplan_base::word::visible;
use vplan_os::outside::entries;
use vplan_os::process::program::Root;
use vplan_os::process::sealed_files::SealedFiles;
use vplan_os::process::writable::{copy_in, link_in};
use vplan_plan::Step;
use vplan_reuse::key::all_of;

/// The folders that are private to a sealed step: nothing from outside appears there.
const OWN: [&str; 3] = ["/tmp", "/proc", "/dev"];

/// Collects the files that exist for a step. `outside`: places elsewhere, and links to them.
/// `temporary`, `made`: folders of its own for [`SealedFiles`], given without links; the second is
/// not needed if `folders` is empty.
///
/// # Errors
/// A place elsewhere would hide private folders, or reveal their storage. For people.
pub(super) fn exists(
    root: &Root,
    rules: &[ReadRule],
    outside: impl Iterator<Item = PathBuf>,
    folders: &BTreeSet<RepoPath>,
    [temporary, made]: [&Path; 2],
) -> Result<SealedFiles, SandboxError> {
    let mut readable = Vec::new();
    for path in outside {
        let is_own = |own: &&str| path.starts_with(own);
        // The step's private folders replace these, except for parts of `/tmp` in the repository or
        // in a tool's folder.
        if OWN.iter().skip(1).any(is_own) {
            continue;
        }
        if OWN.iter().any(|own| Path::new(own).starts_with(&path)) {
            return Err(PrivatePlace(path));
        }
        readable.push(path);
    }
    let of = |path: &RepoPath| root.path().join(path.to_os());
    readable.extend(rules.iter().map(|rule| of(&rule.path)));
    let mut own = [temporary, made].into_iter();
    if own.any(|own| readable.iter().any(|path| own.starts_with(path))) {
        return Err(TemporaryRead);
    }
    Ok(SealedFiles {
        readable,
        writable: folders.iter().map(of).collect(),
        root: root.path().to_owned(),
        temporary: temporary.to_owned(),
        made: made.to_owned(),
    })
}

/// The outputs of a sealed step for others.
#[derive(Debug)]
pub(super) struct Products {
    pub files: SealedFiles,
    pub folders: BTreeSet<RepoPath>,
    /// Paths that no step may change.
    pub reserved: BTreeSet<RepoPath>,
    produces: Selection,
    report: Selection,
}

impl Products {
    /// Returns those of a step.
    pub(super) fn of_step(
        step: &Step,
        files: SealedFiles,
        folders: BTreeSet<RepoPath>,
        reserved: BTreeSet<RepoPath>,
    ) -> Self {
        let report: Vec<_> = step
            .report
            .iter()
            .map(|report| report.glob.clone())
            .collect();
        Self {
            files,
            folders,
            reserved,
            produces: all_of(&step.produces),
            report: all_of(&report),
        }
    }

    /// Whether a step may have some.
    pub(super) fn are_made_by(step: &Step) -> bool {
        !step.produces.is_empty() || step.report.is_some()
    }

    /// Copies them into the repository: of a step that has not ended well, its reports alone.
    ///
    /// # Errors
    /// A file cannot be copied to the repository. Others may be copied by then. For people.
    pub(super) fn copy(&self, root: &Root, ended_well: bool) -> Result<(), SandboxError> {
        let copied: Vec<&Selection> = [(&self.report, true), (&self.produces, ended_well)]
            .into_iter()
            .filter(|(selection, is_copied)| *is_copied && !selection.items.is_empty())
            .map(|(selection, _)| selection)
            .collect();
        for folder in &self.folders {
            let own = self.files.made(&root.path().join(folder.to_os()));
            own.map_or(Ok(()), |own| self.folder(root, folder, &own, &copied))?;
        }
        Ok(())
    }

    /// Copies the outputs in a folder, which is stored at `own`.
    fn folder(
        &self,
        root: &Root,
        folder: &RepoPath,
        own: &Path,
        copied: &[&Selection],
    ) -> Result<(), SandboxError> {
        for (name, kind) in entries(own).map_err(|e| Unlisted(folder.clone(), e))? {
            let Ok(path) = folder.join(&name) else {
                continue;
            };
            let here = own.join(OsStr::from_bytes(&name));
            // This includes read-only files, and the private folders themselves.
            if self.files.made(&root.path().join(path.to_os())).as_ref() != Some(&here) {
                continue;
            }
            if kind.is_dir() {
                if copied.iter().any(|selection| selection.may_hold(&path)) {
                    self.folder(root, &path, &here, copied)?;
                }
            } else if copied.iter().any(|selection| selection.selects(&path)) {
                if !self.is_free(&path) {
                    return Err(ProductReserved(path));
                }
                if kind.is_symlink() {
                    self.link(root, &path, &here)?;
                } else if kind.is_file() {
                    copy_in(root, &path, &here).map_err(|e| ProductUncopied(path, e))?;
                }
            }
        }
        Ok(())
    }

    /// Whether a path is not reserved, and neither contains nor is in a reserved one.
    fn is_free(&self, path: &RepoPath) -> bool {
        let is_within = |path: &RepoPath, dir: &RepoPath| path == dir || path.below(dir).is_some();
        let mut reserved = self.reserved.iter();
        !path.is_root()
            && path.segments().all(|segment| segment != b".git")
            && !reserved.any(|one| is_within(one, path) || is_within(path, one))
    }

    fn link(&self, root: &Root, path: &RepoPath, own: &Path) -> Result<(), SandboxError> {
        let system = |error| ProductUncopied(path.clone(), error);
        let target = std::fs::read_link(own).map_err(system)?;
        let target = target.as_os_str().as_bytes();
        if !path.leads_to(target).is_some_and(|to| self.is_free(&to)) {
            return Err(ProductElsewhere(path.clone(), visible(target)));
        }
        link_in(root, path, target).map_err(system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn products_are_copied_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (tree, own) = (base.join("tree"), base.join("own"));
        for folder in ["tree/.git", "tree/out/old", "own/tmp", "own/made"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        let root = Root::open(&tree).unwrap();
        let path = |text: &str| RepoPath::parse(text.as_bytes()).unwrap();
        let folders = BTreeSet::from([path("out")]);
        let files = exists(
            &root,
            &[],
            std::iter::empty(),
            &folders,
            [&own.join("tmp"), &own.join("made")],
        )
        .unwrap();
        files.prepare().unwrap();
        let mut step = vplan_arbitrary::made::step("a");
        step.produces = vec![vplan_base::glob::Glob::parse("out/bin/**").unwrap()];
        let reserved = BTreeSet::from([path(".git"), path("verify.vplan")]);
        let products = Products::of_step(&step, files, folders, reserved);
        let at = |name: &str| products.files.made(&tree.join("out").join(name)).unwrap();
        let set = |name: &str, text: &str| {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), text).unwrap();
        };
        set("bin/tool", "new");
        set("bin/deep/more", "more");
        set("other", "other");
        std::fs::set_permissions(at("bin/tool"), std::fs::Permissions::from_mode(0o4755)).unwrap();
        std::os::unix::fs::symlink("tool", at("bin/alias")).unwrap();
        products.copy(&root, false).unwrap();
        assert!(!tree.join("out/bin").exists());
        std::os::unix::fs::symlink("old", tree.join("out/bin")).unwrap();
        let error = products.copy(&root, true).unwrap_err();
        assert!(error.to_string().contains("leads over a link"), "{error}");
        assert_eq!(std::fs::read_dir(tree.join("out/old")).unwrap().count(), 0);
        std::fs::remove_file(tree.join("out/bin")).unwrap();
        products.copy(&root, true).unwrap();
        let read = |name: &str| std::fs::read_to_string(tree.join(name)).ok();
        assert_eq!(read("out/bin/tool").as_deref(), Some("new"));
        assert_eq!(read("out/bin/alias").as_deref(), Some("new"));
        assert_eq!(read("out/bin/deep/more").as_deref(), Some("more"));
        assert_eq!(read("out/other"), None);
        let mode = tree.join("out/bin/tool").metadata().unwrap().permissions();
        assert_eq!(mode.mode() & 0o7777, 0o755);
        for (name, target) in [
            ("bin/git", "../../.git/hooks"),
            ("bin/far", "../../../x"),
            ("bin/root", "../.."),
            ("bin/contract", "../../verify.vplan"),
        ] {
            std::os::unix::fs::symlink(target, at(name)).unwrap();
            let error = products.copy(&root, true).unwrap_err();
            assert!(error.to_string().contains("leads elsewhere"), "{error}");
            assert!(tree.join("out").join(name).symlink_metadata().is_err());
            std::fs::remove_file(at(name)).unwrap();
        }
        set("bin/.git/config", "x");
        assert!(products.copy(&root, true).is_err());
        assert!(!tree.join("out/bin/.git").exists());
    }
}
