//! Patterns of paths in workflows and in actions that filter paths, as globs of vplan's language.
//! Where one cannot be translated, the result selects more, never less.

use crate::base::glob::Glob;
use crate::base::path::RepoPath;
use crate::front::picomatch;
use std::collections::BTreeSet;

/// The most globs that one pattern becomes.
const MAX_GLOBS: usize = 16;

/// The dialects of patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `paths` of a workflow: `?` and `+` repeat what is before them, braces mean themselves.
    Workflow,
    /// Those of node's matchers: `{a,b}` and `?` as in vplan.
    Node,
}

/// Translates one pattern without its `!`. `None` where it cannot be said.
pub(super) fn translate(pattern: &str, dialect: Dialect) -> Option<Vec<String>> {
    let pattern = pattern.trim();
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let pattern = pattern.trim_start_matches('/');
    if pattern.is_empty() {
        return None;
    }
    if dialect == Dialect::Node {
        let translated = picomatch::translate(pattern).ok()?;
        let valid = !translated.not && Glob::parse(&translated.glob).is_ok();
        return valid.then(|| vec![translated.glob]);
    }
    let mut globs: Vec<String> = Vec::new();
    for one in repeated(pattern)? {
        globs.extend(stars(&one)?);
        if globs.len() > MAX_GLOBS {
            return None;
        }
    }
    let valid = globs.iter().all(|glob| Glob::parse(glob).is_ok());
    (valid && !globs.is_empty()).then_some(globs)
}

/// Translates a pattern that excludes files. `None` where the glob would exclude more.
fn exclusion(pattern: &str, dialect: Dialect) -> Option<Vec<String>> {
    let wider = dialect == Dialect::Node
        && picomatch::translate(pattern.trim()).is_ok_and(|t| t.wider.is_some());
    if wider {
        return None;
    }
    translate(pattern, dialect)
}

/// Spells out `x?` (none or one of it); `+` repeats without an end and cannot be said.
fn repeated(pattern: &str) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    let mut last: Option<String> = None;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let mut unit = String::new();
        match c {
            '?' => {
                let one = last.take()?;
                let mut with: Vec<String> = all.iter().map(|s| format!("{s}{one}")).collect();
                all.append(&mut with);
                if all.len() > MAX_GLOBS {
                    return None;
                }
                continue;
            }
            '+' => return None,
            '[' => {
                unit.push('[');
                loop {
                    let c = chars.next()?;
                    unit.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '\\' => {
                unit.push('\\');
                unit.push(chars.next()?);
            }
            '{' | '}' => {
                unit.push('\\');
                unit.push(c);
            }
            _ => unit.push(c),
        }
        if let Some(before) = last.replace(unit) {
            all.iter_mut().for_each(|s| s.push_str(&before));
        }
    }
    if let Some(before) = last {
        all.iter_mut().for_each(|s| s.push_str(&before));
    }
    Some(all)
}

/// Gives `**` segments of their own: `**.md` is `**/*.md`, `src**` is `src*` and `src*/**`.
fn stars(pattern: &str) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    let segments: Vec<&str> = pattern.split('/').collect();
    let last = segments.len().saturating_sub(1);
    for (at, segment) in segments.iter().enumerate() {
        let ways: Vec<String> = match segment.split_once("**") {
            None => vec![(*segment).to_owned()],
            Some(("", "")) => vec!["**".to_owned()],
            Some((before, after)) if after.contains("**") || before.contains('{') => return None,
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
        let mut next = Vec::new();
        for start in &all {
            for way in &ways {
                let slash = if at == 0 { "" } else { "/" };
                next.push(format!("{start}{slash}{way}"));
            }
        }
        if next.len() > MAX_GLOBS {
            return None;
        }
        all = next;
    }
    Some(all)
}

/// Translates a list of patterns in which a later one overrides an earlier one. `None`: all files,
/// or a list that cannot be said.
pub(super) fn list(patterns: &[String], dialect: Dialect) -> Option<Vec<String>> {
    let mut globs: Vec<String> = Vec::new();
    for (at, pattern) in patterns.iter().enumerate() {
        match pattern.trim().strip_prefix('!') {
            None => globs.extend(translate(pattern, dialect)?),
            Some(excluded) => {
                // A later pattern may select again what this one excludes.
                let last = patterns
                    .iter()
                    .skip(at + 1)
                    .all(|later| later.trim().starts_with('!'));
                let excluded = exclusion(excluded, dialect).filter(|_| last);
                globs.extend(excluded.unwrap_or_default().iter().map(|g| format!("!{g}")));
            }
        }
    }
    proper(globs)
}

/// Translates what is excluded from all files.
pub(super) fn all_but(patterns: &[String], dialect: Dialect) -> Option<Vec<String>> {
    let mut globs = vec!["**".to_owned()];
    for (at, pattern) in patterns.iter().enumerate() {
        let taken_back = patterns
            .iter()
            .skip(at + 1)
            .any(|later| later.trim().starts_with('!'));
        if pattern.trim().starts_with('!') || taken_back {
            continue;
        }
        let excluded = exclusion(pattern, dialect).unwrap_or_default();
        globs.extend(excluded.iter().map(|g| format!("!{g}")));
    }
    proper(globs)
}

/// A list without doubles that is a condition.
fn proper(globs: Vec<String>) -> Option<Vec<String>> {
    let mut out: Vec<String> = Vec::new();
    for glob in globs {
        if !out.contains(&glob) {
            out.push(glob);
        }
    }
    let (selects, excludes): (Vec<String>, Vec<String>) =
        out.into_iter().partition(|glob| !glob.starts_with('!'));
    let all = selects.iter().any(|glob| glob == "**") && excludes.is_empty();
    (!all && !selects.is_empty()).then(|| [selects, excludes].concat())
}

/// The union of two lists: what only one of them excludes is selected by the other, perhaps.
pub(super) fn union(a: &[String], b: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let selects = a.iter().chain(b).filter(|glob| !glob.starts_with('!'));
    let excludes = a
        .iter()
        .filter(|glob| glob.starts_with('!') && b.contains(glob));
    for glob in selects.chain(excludes) {
        if !all.contains(glob) {
            all.push(glob.clone());
        }
    }
    all
}

/// Whether it is certain that a pattern selects no tracked file.
pub(super) fn selects_none(pattern: &str, files: &BTreeSet<RepoPath>) -> bool {
    let Some(globs) = translate(pattern, Dialect::Node) else {
        return false;
    };
    globs
        .iter()
        .filter_map(|glob| Glob::parse(glob).ok())
        .all(|glob| !files.iter().any(|file| glob.matches(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_become_globs() {
        for (pattern, dialect, want) in [
            ("src/**", Dialect::Workflow, Some(vec!["src/**"])),
            ("**.md", Dialect::Workflow, Some(vec!["**/*.md"])),
            ("**/*.md", Dialect::Workflow, Some(vec!["**/*.md"])),
            ("docs/**.md", Dialect::Workflow, Some(vec!["docs/**/*.md"])),
            ("src**", Dialect::Workflow, Some(vec!["src*", "src*/**"])),
            (
                "**/*.jsx?",
                Dialect::Workflow,
                Some(vec!["**/*.js", "**/*.jsx"]),
            ),
            ("*.{a}", Dialect::Workflow, Some(vec!["*.\\{a\\}"])),
            ("[0-9]+", Dialect::Workflow, None),
            ("[CB]at.md", Dialect::Workflow, Some(vec!["[CB]at.md"])),
            ("./a", Dialect::Workflow, Some(vec!["a"])),
            (
                "a/**/b**c",
                Dialect::Workflow,
                Some(vec!["a/**/b*c", "a/**/b*/**/*c"]),
            ),
            ("**", Dialect::Workflow, Some(vec!["**"])),
            ("", Dialect::Workflow, None),
            ("?", Dialect::Workflow, None),
            ("[", Dialect::Workflow, None),
            (
                "src/**/*.{js,ts}",
                Dialect::Node,
                Some(vec!["src/**/*.{js,ts}"]),
            ),
            ("+(a|b)", Dialect::Node, Some(vec!["*"])),
        ] {
            let want = want.map(|w| w.into_iter().map(str::to_owned).collect());
            assert_eq!(translate(pattern, dialect), want, "{pattern}");
        }
    }

    #[test]
    fn lists_are_never_narrower() {
        let of = |patterns: &[&str]| patterns.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>();
        for (patterns, want) in [
            (&["a/**", "!a/*.md"][..], Some(of(&["a/**", "!a/*.md"]))),
            (&["a/**", "!a/b/**", "a/b/c"], Some(of(&["a/**", "a/b/c"]))),
            (&["a/**", "x+"], None),
            (&["a/**", "!x+"], Some(of(&["a/**"]))),
            (&["**"], None),
            (&["**", "!docs/**"], Some(of(&["**", "!docs/**"]))),
            (&["!docs/**"], None),
            (&[], None),
        ] {
            assert_eq!(list(&of(patterns), Dialect::Workflow), want, "{patterns:?}");
        }
        let but = |patterns: &[&str]| all_but(&of(patterns), Dialect::Workflow);
        assert_eq!(but(&["**.md"]), Some(of(&["**", "!**/*.md"])));
        assert_eq!(but(&["docs/**", "!docs/x"]), None);
        assert_eq!(but(&["x+"]), None);
        let joined = union(&of(&["a", "!x", "!y"]), &of(&["b", "a", "!x"]));
        assert_eq!(joined, of(&["a", "b", "!x"]));
    }

    proptest::proptest! {
        #[test]
        fn any_pattern_gives_globs_or_none(pattern in "[a-c*?+!/\\[\\]{},.\\\\]{0,24}") {
            for dialect in [Dialect::Workflow, Dialect::Node] {
                for glob in translate(&pattern, dialect).unwrap_or_default() {
                    proptest::prop_assert!(Glob::parse(&glob).is_ok());
                }
            }
        }
    }
}
