//! Patterns of paths in CI configurations, as globs of vplan. Where one cannot be translated, the
//! result selects more, never less.

use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;

/// Whether a path is one of globs; what is no glob has none.
pub(crate) fn any_of<T: AsRef<str>>(globs: &[T]) -> impl Fn(&RepoPath) -> bool + use<T> {
    let globs = globs
        .iter()
        .filter_map(|glob| Glob::parse(glob.as_ref()).ok());
    let globs: Vec<Glob> = globs.collect();
    move |path| globs.iter().any(|glob| glob.matches(path))
}

/// The most globs that one pattern becomes, and the most `?` in it.
const MAX_GLOBS: usize = 16;
const MAX_OPTIONAL: usize = 4;

/// Translates a pattern of a workflow: `?` and `+` repeat what is before them, braces mean themselves.
/// `None` where it cannot be translated.
pub(crate) fn translate(pattern: &str) -> Option<Vec<String>> {
    let pattern = pattern.trim();
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let pattern = pattern.trim_start_matches('/');
    if pattern.is_empty() {
        return None;
    }
    let mut globs: Vec<String> = Vec::new();
    for one in repeated(pattern)? {
        globs.extend(stars(&one)?);
        if globs.len() > MAX_GLOBS {
            return None;
        }
    }
    let valid = globs.iter().all(|glob| Glob::parse(glob).is_ok());
    valid.then_some(globs)
}

/// Writes out `x?` (none or one of it); `+` repeats without an end.
fn repeated(pattern: &str) -> Option<Vec<String>> {
    if pattern.contains(['+', '\\']) || pattern.matches('?').count() > MAX_OPTIONAL {
        return None;
    }
    let Some((before, after)) = pattern.split_once('?') else {
        return Some(vec![pattern.replace('{', "\\{").replace('}', "\\}")]);
    };
    let unit = match before.strip_suffix(']') {
        Some(before) => before.rfind('[')?,
        None => before.char_indices().next_back()?.0,
    };
    let without = repeated(&format!("{}{after}", before.get(..unit)?))?;
    Some([without, repeated(&format!("{before}{after}"))?].concat())
}

/// Gives `**` segments of their own: `**.md` is `**/*.md`, `src**` is `src*` and `src*/**`.
fn stars(pattern: &str) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    let last = pattern.matches('/').count();
    for (at, segment) in pattern.split('/').enumerate() {
        let ways = match segment.split_once("**") {
            None => vec![segment.to_owned()],
            Some(("", "")) => vec!["**".to_owned()],
            Some((_, after)) if after.contains("**") => return None,
            Some(("", after)) => vec![format!("**/*{}", after.trim_start_matches('*'))],
            Some((before, "")) if at == last => vec![format!("{before}*"), format!("{before}*/**")],
            Some((before, after)) => {
                let after = after.trim_start_matches('*');
                vec![
                    format!("{before}*{after}"),
                    format!("{before}*/**/*{after}"),
                ]
            }
        };
        let slash = if at == 0 { "" } else { "/" };
        let join = |start: &String| -> Vec<String> {
            ways.iter()
                .map(|way| format!("{start}{slash}{way}"))
                .collect()
        };
        all = all.iter().flat_map(join).collect();
        if all.len() > MAX_GLOBS {
            return None;
        }
    }
    Some(all)
}

/// Translates `paths`, in which a later pattern overrides an earlier one. Empty: all files, or a list
/// that cannot be translated.
pub(crate) fn list(patterns: &[String]) -> Vec<String> {
    let mut globs = Vec::new();
    for (at, pattern) in patterns.iter().enumerate() {
        let rest = patterns.iter().skip(at + 1);
        match pattern.trim().strip_prefix('!') {
            None => match translate(pattern) {
                Some(translated) => globs.extend(translated),
                None => return Vec::new(),
            },
            // A later pattern may select again what this one excludes.
            Some(excluded) if rest.clone().all(|later| later.trim().starts_with('!')) => {
                let excluded = translate(excluded).unwrap_or_default();
                globs.extend(excluded.iter().map(|glob| format!("!{glob}")));
            }
            Some(_) => {}
        }
    }
    condition(globs)
}

/// Translates `paths-ignore`: all files but these.
pub(crate) fn all_but(patterns: &[String]) -> Vec<String> {
    let last = patterns
        .iter()
        .rposition(|pattern| pattern.trim().starts_with('!'));
    let excluded = patterns.iter().skip(last.map_or(0, |at| at + 1));
    let globs = excluded.flat_map(|pattern| translate(pattern).unwrap_or_default());
    let all = std::iter::once("**".to_owned());
    condition(all.chain(globs.map(|glob| format!("!{glob}"))).collect())
}

/// A list without doubles, those that exclude last; empty where it is no condition.
pub(crate) fn condition(globs: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for glob in globs {
        if !out.contains(&glob) {
            out.push(glob);
        }
    }
    out.sort_by_key(|glob| glob.starts_with('!'));
    let selects = |glob: &String| !glob.starts_with('!');
    let excludes = out.last().is_some_and(|last| !selects(last));
    let all = out.iter().any(|glob| glob == "**") && !excludes;
    if all || !out.iter().any(selects) {
        return Vec::new();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(|p| (*p).to_owned()).collect()
    }

    #[test]
    fn patterns_become_globs() {
        for (pattern, want) in [
            ("src/**", Some(&["src/**"][..])),
            ("**.md", Some(&["**/*.md"])),
            ("docs/**.md", Some(&["docs/**/*.md"])),
            ("src**", Some(&["src*", "src*/**"])),
            ("**/*.jsx?", Some(&["**/*.js", "**/*.jsx"])),
            ("*.{a}", Some(&["*.\\{a\\}"])),
            ("[0-9]+", None),
            ("[CB]at.md", Some(&["[CB]at.md"])),
            ("./a", Some(&["a"])),
            ("a/**/b**c", Some(&["a/**/b*c", "a/**/b*/**/*c"])),
            ("", None),
            ("?", None),
            ("[", None),
        ] {
            assert_eq!(translate(pattern), want.map(of), "{pattern}");
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
            assert_eq!(list(&of(patterns)), of(want), "{patterns:?}");
        }
        assert_eq!(all_but(&of(&["**.md"])), of(&["**", "!**/*.md"]));
        assert_eq!(all_but(&of(&["docs/**", "!docs/x"])), of(&[]));
        assert_eq!(all_but(&of(&["x+"])), of(&[]));
    }

    proptest::proptest! {
        #[test]
        fn any_pattern_gives_globs_or_none(pattern in "[a-c*?+!/\\[\\]{},.\\\\]{0,24}") {
            for glob in translate(&pattern).unwrap_or_default() {
                proptest::prop_assert!(Glob::parse(&glob).is_ok());
            }
        }
    }
}
