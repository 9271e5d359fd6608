//! Gathers the facts of a path that a `file` check asserts about.

use vplan_base::path::RepoPath;
use vplan_check::evidence::Evidence;
use vplan_check::file::{self, AssertedTarget, CONTENT_CAP, FileFacts};
use vplan_os::files::beneath::{Beneath, Kind, ReadError};
use vplan_os::files::read_start;
use vplan_plan::Step;

/// Reads the state of the path of a `file` check, on the step's thread: it starts no process.
pub(crate) fn evidence(beneath: &Beneath, step: &Step) -> Evidence {
    let path = step.path.clone().unwrap_or_else(RepoPath::root);
    let facts = gather(beneath, &path, file::needs_content(&step.assertions));
    Evidence {
        assertion: file::judge(&step.assertions, &facts).err(),
        ..Evidence::default()
    }
}

/// Gathers the facts for the assertions about a path. `content`: whether they read the file. A path
/// that leads out of the repository is not inspected and stays undecided.
pub fn gather(beneath: &Beneath, path: &RepoPath, content: bool) -> FileFacts {
    let inspection = beneath.inspect(path);
    let mut facts = FileFacts {
        symlink: inspection.symlink,
        ..FileFacts::default()
    };
    match inspection.target {
        Ok(target) => {
            facts.size = target.size;
            facts.executable = target.executable;
            facts.target = match target.kind {
                Kind::File => AssertedTarget::File,
                Kind::Dir => AssertedTarget::Dir,
                Kind::Special => AssertedTarget::Other,
            };
        }
        Err(ReadError::Missing) => return facts,
        Err(e) => facts.target = AssertedTarget::Unknown(e.to_string()),
    }
    if content && facts.target == AssertedTarget::File {
        let file = beneath.file(path).map_err(|e| e.to_string());
        match file.and_then(|f| read_start(f, CONTENT_CAP).map_err(|e| e.to_string())) {
            Ok(bytes) => facts.content = Some(bytes),
            Err(message) => facts.target = AssertedTarget::Unknown(message),
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir_all(root.join("d")).unwrap();
        std::fs::write(root.join("f"), "abc").unwrap();
        std::os::unix::fs::symlink("f", root.join("l")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("out")).unwrap();
        std::os::unix::fs::symlink("nothing", root.join("broken")).unwrap();
        let beneath = Beneath::open(&root).unwrap();
        let look = |path: &str, content| {
            gather(
                &beneath,
                &RepoPath::parse(path.as_bytes()).unwrap(),
                content,
            )
        };
        let file = look("l", true);
        assert_eq!(
            (file.symlink, &file.target, file.size),
            (true, &AssertedTarget::File, 3)
        );
        assert_eq!(file.content.as_deref(), Some(&b"abc"[..]));
        assert_eq!(look("f", false).content, None);
        assert_eq!(look("d", true).target, AssertedTarget::Dir);
        assert_eq!(look("none", true), FileFacts::default());
        let broken = look("broken", true);
        assert_eq!(
            (broken.symlink, broken.target),
            (true, AssertedTarget::Missing)
        );
        let outside = look("out", true);
        assert!(matches!(outside.target, AssertedTarget::Unknown(_)) && outside.content.is_none());
    }
}
