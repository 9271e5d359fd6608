//! Finds the inputs that a pass has written itself, and decides whether another run may begin where
//! that pass ended.
//!
//! A build folder and a test runner's cache are read and written by the same command. Only files
//! that git ignores can be such an output: a change of any other file is a change of the tree. A
//! pass is cached for the state in which it began: the same run from there gives the same result.
//! It is also cached for the state that it left, if all files that it changed are new or were left
//! by passes of the same step: then it began with nothing but its own memory of passes. But the
//! pass may depend on a file that it read before it wrote it, and that a failed run, another check
//! or a person left (`pytest --lf` runs only failed tests). Then the step must pass once more from
//! where it ended, before a pass replaces it there.

use super::key::Print;
use super::listing::Listing;
pub use super::touched::TouchedFile;
use vplan_base::path::RepoPath;

/// Checks that a step may have written all these files. `is_ignored`: whether git ignores a file,
/// and tracks none at its path.
///
/// # Errors
/// The first file that it must not write. Symlinks are never allowed, since they lead to other
/// places.
pub fn may_be_output(
    touched: &[TouchedFile],
    is_ignored: impl Fn(&RepoPath) -> bool,
) -> Result<(), &RepoPath> {
    let other = |file: &&TouchedFile| file.is_link() || !is_ignored(&file.path);
    match touched.iter().find(other) {
        Some(file) => Err(&file.path),
        None => Ok(()),
    }
}

/// Returns the first file that a pass changed and that neither it nor earlier passes had made: its
/// result may depend on files of others. `then`: the files of the last cached pass of the same
/// step, with the same settings.
pub fn inherited<'t>(touched: &'t [TouchedFile], then: Option<&Listing>) -> Option<&'t RepoPath> {
    let is_own = |path: &RepoPath, before: &Print| then.is_some_and(|t| t.has_left(path, before));
    let changed = touched.iter().filter(|file| file.is_changed());
    let mut inherited = changed.filter(|file| {
        let before = file.before.as_ref();
        before.is_some_and(|before| !is_own(&file.path, before))
    });
    inherited.next().map(|file| &file.path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::canon::Digest;
    use vplan_base::word::Word;

    fn path(text: &str) -> RepoPath {
        RepoPath::from_exact(text.as_bytes()).unwrap()
    }

    fn print(text: &str) -> Print {
        Print {
            content: Some(Digest::hash(text.as_bytes())),
            link: None,
            mode: 0o644,
        }
    }

    fn touched(name: &str, before: Option<&str>, after: Option<&str>) -> TouchedFile {
        TouchedFile {
            path: path(name),
            before: before.map(print),
            after: after.map(print),
        }
    }

    #[test]
    fn only_what_git_ignores_is_output() {
        let ignored = |path: &RepoPath| path.as_bytes().starts_with(b"target/");
        let built = touched("target/a", None, Some("1"));
        let source = touched("src/a", Some("1"), Some("2"));
        assert_eq!(may_be_output(std::slice::from_ref(&built), ignored), Ok(()));
        assert_eq!(
            may_be_output(&[built.clone(), source.clone()], ignored),
            Err(&source.path)
        );
        let link = TouchedFile {
            after: Some(Print {
                link: Some(Word::from("../src/a")),
                ..print("1")
            }),
            ..built
        };
        assert_eq!(
            may_be_output(std::slice::from_ref(&link), ignored),
            Err(&link.path)
        );
    }

    #[test]
    fn what_others_left_is_inherited() {
        let new = touched("c/new", None, Some("1"));
        let gone = touched("c/gone", Some("1"), None);
        let same = touched("c/same", Some("1"), Some("1"));
        let changed = touched("c/changed", Some("1"), Some("2"));
        assert_eq!(inherited(&[new.clone(), same.clone()], None), None);
        assert_eq!(inherited(&[new, gone.clone()], None), Some(&gone.path));
        let of_a_pass = [touched("c/changed", None, Some("1"))];
        let then = Listing::from_files([(path("c/changed"), print("1").digest())]);
        let all = [same, changed.clone()];
        assert_eq!(
            inherited(&all, Some(&then)),
            Some(&changed.path),
            "it was there, and no pass wrote it"
        );
        let then = then.with_output(&of_a_pass, None);
        assert_eq!(inherited(&all, Some(&then)), None);
        let failed_since = [touched("c/changed", Some("9"), Some("2"))];
        assert_eq!(inherited(&failed_since, Some(&then)), Some(&changed.path));
    }
}
