//! Patterns of paths in CI configurations, as globs of vplan. Where one cannot be translated, the
//! result selects more, never less.

use std::collections::BTreeSet;
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;

/// Whether a path is one of globs; what is no glob has none.
pub(crate) fn any_of<T: AsRef<str>>(globs: &[T]) -> impl Fn(&RepoPath) -> bool + use<T> {
    let globs = globs.iter();
    let globs = globs.filter_map(|glob| Glob::parse(glob.as_ref()).ok());
    let globs: Vec<Glob> = globs.collect();
    move |path| globs.iter().any(|glob| glob.matches(path))
}

/// Translates a pattern of a workflow, in which braces mean themselves and `**` need be no whole
/// segment: `src/**.md` is `src/**/*.md`. `None` where it cannot be translated.
pub(crate) fn translate(pattern: &str) -> Option<String> {
    let pattern = pattern.trim();
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let pattern = pattern.trim_start_matches('/');
    // `?` and `+` repeat what is before them.
    if pattern.is_empty() || pattern.contains(['?', '+', '\\']) {
        return None;
    }
    let translated = |segment: &str| match segment.split_once("**") {
        None | Some(("", "")) => Some(segment.to_owned()),
        Some(("", after)) if !after.contains('*') => Some(format!("**/*{after}")),
        Some(_) => None,
    };
    let segments: Option<Vec<String>> = pattern.split('/').map(translated).collect();
    let glob = segments?.join("/").replace('{', "\\{").replace('}', "\\}");
    Glob::parse(&glob).is_ok().then_some(glob)
}

/// Translates `paths`, in which a later pattern overrides an earlier one. Empty: all files, or a list
/// that cannot be translated.
pub(crate) fn list(patterns: &[String]) -> Vec<String> {
    let mut globs = Vec::new();
    for (at, pattern) in patterns.iter().enumerate() {
        let rest = patterns.iter().skip(at + 1);
        match pattern.trim().strip_prefix('!') {
            None => match translate(pattern) {
                Some(translated) => globs.push(translated),
                None => return Vec::new(),
            },
            // A later pattern may select again what this one excludes.
            Some(excluded) if rest.clone().all(|later| later.trim().starts_with('!')) => {
                globs.extend(translate(excluded).map(|glob| format!("!{glob}")));
            }
            Some(_) => {}
        }
    }
    condition(globs)
}

/// Translates `paths-ignore`: all files but these.
pub(crate) fn all_but(patterns: &[String]) -> Vec<String> {
    let flipped = |pattern: &String| match pattern.trim().strip_prefix('!') {
        Some(own) => own.to_owned(),
        None => format!("!{pattern}"),
    };
    let mut all = vec!["**".to_owned()];
    all.extend(patterns.iter().map(flipped));
    list(&all)
}

/// A list without doubles, those that exclude last; empty where it is no condition.
pub(crate) fn condition(mut globs: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    globs.retain(|glob| seen.insert(glob.clone()));
    globs.sort_by_key(|glob| glob.starts_with('!'));
    let selects = |glob: &String| !glob.starts_with('!');
    let all = globs.iter().all(selects) && globs.iter().any(|glob| glob == "**");
    match all || !globs.iter().any(selects) {
        true => Vec::new(),
        false => globs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simplified(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(|p| (*p).to_owned()).collect()
    }

    #[test]
    fn patterns_become_globs() {
        for (pattern, want) in [
            ("src/**", Some("src/**")),
            ("**.md", Some("**/*.md")),
            ("docs/**.md", Some("docs/**/*.md")),
            ("src**", None),
            ("**/*.jsx?", None),
            ("*.{a}", Some("*.\\{a\\}")),
            ("[0-9]+", None),
            ("[CB]at.md", Some("[CB]at.md")),
            ("./a", Some("a")),
            ("a/**/b**c", None),
            ("", None),
            ("?", None),
            ("[", None),
        ] {
            assert_eq!(translate(pattern).as_deref(), want, "{pattern}");
        }
    }

    #[test]
    fn lists_are_never_narrower() {
        for (patterns, want) in [
            (&["a/**", "!a/*.md"][..], &["a/**", "!a/*.md"][..]),
            (&["a/**", "!a/b/**", "a/b/c"], &["a/**", "a/b/c"]),
            (&["a/**", "x+"], &[]),
            (&["a/**", "!x+"], &["a/**"]),
            (&["**"], &[]),
            (&["**", "!docs/**"], &["**", "!docs/**"]),
            (&["!docs/**"], &[]),
            (&[], &[]),
        ] {
            assert_eq!(
                list(&simplified(patterns)),
                simplified(want),
                "{patterns:?}"
            );
        }
        assert_eq!(
            all_but(&simplified(&["**.md"])),
            simplified(&["**", "!**/*.md"])
        );
        assert_eq!(
            all_but(&simplified(&["docs/**", "!docs/x"])),
            simplified(&[])
        );
        assert_eq!(all_but(&simplified(&["x+"])), simplified(&[]));
    }

    proptest::proptest! {
        #[test]
        fn any_pattern_gives_globs_or_none(pattern in "[a-c*?+!/\\[\\]{},.\\\\]{0,24}") {
            if let Some(glob) = translate(&pattern) {
                proptest::prop_assert!(Glob::parse(&glob).is_ok());
            }
        }
    }
}
