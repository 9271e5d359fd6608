//! Says what `whenExists`, `whenExistsAny` and `whenAbsent` ask for: paths, and globs.

use super::draft;
use serde::Serialize;
use std::fmt;
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;
use vplan_base::word::visible;

/// What a condition asks the existence of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Sought {
    /// A path, which a file or a folder may have.
    Path(RepoPath),
    /// A glob, which exists when a file matches it.
    Glob(Glob),
}

impl Sought {
    /// Returns the glob that a text is here: one with a `*`, a `?` or a choice `{a,b}`. All other
    /// texts are paths, those of frameworks that write `[id]` into a name among them.
    pub fn glob(text: &str) -> Option<Glob> {
        is_glob(text).then(|| Glob::parse(text).ok()).flatten()
    }

    /// Whether it exists where exactly these files do.
    pub fn is_among<'p>(&self, mut paths: impl Iterator<Item = &'p RepoPath>) -> bool {
        match self {
            Sought::Path(path) => paths.any(|p| p == path),
            Sought::Glob(glob) => paths.any(|p| glob.matches(p)),
        }
    }

    /// Whether it may exist because a file of this path does: its own, or one in a folder of it.
    pub fn is_about(&self, file: &RepoPath) -> bool {
        match self {
            Sought::Path(path) => path == file || file.below(path).is_some(),
            Sought::Glob(glob) => glob.matches(file),
        }
    }
}

/// Whether a text is a glob where conditions ask what exists.
pub(super) fn is_glob(text: &str) -> bool {
    let has_choice = || {
        let (_, inside) = text.split_once('{')?;
        inside.split_once(',')?.1.contains('}').then_some(())
    };
    text.contains(['*', '?']) || has_choice().is_some()
}

impl fmt::Display for Sought {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sought::Path(path) => path.fmt(f),
            Sought::Glob(glob) => f.write_str(&visible(glob.text())),
        }
    }
}

impl draft::Sought {
    /// Makes it of a text in the contract; `inner` is where the text begins in the file, if it
    /// is written there as it is.
    pub fn new(text: draft::At<String>, inner: Option<usize>) -> Self {
        Self {
            is_glob: is_glob(&text.value),
            text,
            inner,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_texts_are_globs() {
        for text in ["*", "a/*.lock", "a?", "{a,b}", "x{a,b/{c,d}}y", "[id]/*"] {
            assert!(is_glob(text) && Sought::glob(text).is_some(), "{text}");
        }
        for text in [
            "a",
            "dir/",
            "[id]/page.tsx",
            "{{slug}}/a",
            "{a}",
            "a,b}{",
            "!a",
            "a\\b",
        ] {
            assert!(!is_glob(text), "{text}");
        }
        // A fault is reported, and no path.
        assert!(is_glob("a/[*") && Sought::glob("a/[*").is_none());
    }

    #[test]
    fn what_exists_where_some_files_do() {
        let path = |text: &str| RepoPath::parse(text.as_bytes()).unwrap();
        let files = [path("a.lock"), path("b/c")];
        for (sought, among, about) in [
            (Sought::Path(path("a.lock")), true, [true, false]),
            // A folder exists when a list names it.
            (Sought::Path(path("b")), false, [false, true]),
            (
                Sought::Glob(Glob::parse("*.lock").unwrap()),
                true,
                [true, false],
            ),
            (Sought::Glob(Glob::parse("*").unwrap()), true, [true, false]),
            (
                Sought::Glob(Glob::parse("b?").unwrap()),
                false,
                [false, false],
            ),
            (
                Sought::Glob(Glob::parse("{b,x}/").unwrap()),
                true,
                [false, true],
            ),
        ] {
            assert_eq!(sought.is_among(files.iter()), among, "{sought}");
            assert_eq!(
                [0, 1].map(|i| sought.is_about(&files[i])),
                about,
                "{sought}"
            );
        }
    }
}
