//! Checks whether the work of an earlier round is still there. Contents decide, not commits.
//!
//! A round leaves a trace: the commit of HEAD, and the files that differed from the subject's base.
//! If HEAD no longer contains that commit, the work may be on another branch. But after an amend, a
//! rebase or a squash it is still there. So each file of the trace is compared. A file that now
//! equals the base is undone, unless its content is there under another name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::path::RepoPath;
use vplan_base::word::has_word;

/// Maximum number of stored files of one commit, the first in byte order.
pub const PATHS: usize = 500;
/// Maximum number of stored commits, the newest: the differences at a later one include the earlier
/// ones.
const COMMITS: usize = 8;

/// The files that differed from the base while HEAD was at a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Trace {
    /// A short digest of each file's content; empty where that is not known, and for a file that
    /// was not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contents: Vec<String>,
    /// The commit that HEAD was.
    pub head: String,
    /// Whether there were more files than are kept here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// The files, in byte order.
    pub paths: Vec<RepoPath>,
}

impl Trace {
    /// Makes the trace of a round with this commit as HEAD.
    pub fn new(head: String, files: impl IntoIterator<Item = (RepoPath, String)>) -> Self {
        let sorted: BTreeMap<RepoPath, String> = files.into_iter().collect();
        let more = sorted.len() > PATHS;
        let (paths, contents) = sorted.into_iter().take(PATHS).unzip();
        Self {
            contents,
            head,
            more,
            paths,
        }
    }

    /// Returns the files with their content at the time.
    fn files(&self) -> impl Iterator<Item = (&RepoPath, &str)> {
        let contents = self.contents.iter().map(String::as_str);
        self.paths.iter().zip(contents.chain(std::iter::repeat("")))
    }
}

/// Adds a trace: merges the files of the same commit, and drops the oldest commits.
pub fn add(traces: &mut Vec<Trace>, trace: Trace) {
    let mut next = trace;
    if let Some(at) = traces.iter().position(|t| t.head == next.head) {
        let before = traces.remove(at);
        let more = before.more || next.more;
        let files = before.files().chain(next.files());
        let files = files.map(|(path, content)| (path.clone(), content.to_owned()));
        let all = Trace::new(next.head.clone(), files);
        next = Trace {
            more: all.more || more,
            ..all
        };
    }
    traces.push(next);
    keep_newest(traces, COMMITS);
}

/// Drops the oldest entries of a list that has more than `most`.
pub(super) fn keep_newest<T>(list: &mut Vec<T>, most: usize) {
    list.drain(..list.len().saturating_sub(most));
}

/// Work of earlier rounds that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// Whether all known work is gone.
    pub all: bool,
    /// The files that equal the base again, in byte order.
    pub files: Vec<RepoPath>,
    /// Whether there were more files than are listed.
    pub more: bool,
    /// Whether test files are among them.
    pub tests: bool,
}

/// Returns the work in the traces that is undone; `differs` returns whether a file differs from the
/// base now. If a trace does not list all of its files, the listed ones decide. `None`: nothing is
/// undone.
pub fn undone<'t>(
    traces: impl IntoIterator<Item = &'t Trace>,
    differs: impl Fn(&RepoPath) -> bool,
) -> Option<Undone> {
    let (mut files, mut kept, mut more) = (BTreeSet::new(), false, false);
    for trace in traces {
        more |= trace.more;
        for path in &trace.paths {
            if differs(path) {
                kept = true;
            } else {
                files.insert(path.clone());
            }
        }
    }
    if files.is_empty() {
        return None;
    }
    let tests = files.iter().any(is_test_file);
    Some(Undone {
        all: !kept,
        files: files.into_iter().collect(),
        more,
        tests,
    })
}

/// Returns the files of the traces, oldest first, that equal the base and yet are not undone:
/// another file that differs from the base has their last content, and did not exist next to them
/// then. A test file must be one under its new name, too. `now`: the files that differ from the
/// base, with a short form of their content.
pub fn moved<'t>(
    traces: impl IntoIterator<Item = &'t Trace>,
    differs: impl Fn(&RepoPath) -> bool,
    now: impl FnOnce() -> Vec<(RepoPath, String)>,
) -> BTreeSet<RepoPath> {
    let mut gone: BTreeMap<&RepoPath, (&str, &Trace)> = BTreeMap::new();
    for trace in traces {
        let same = trace.files().filter(|(path, _)| !differs(path));
        gone.extend(same.map(|(path, had)| (path, (had, trace))));
    }
    gone.retain(|_, (had, _)| !had.is_empty());
    let mut there: BTreeMap<String, Vec<RepoPath>> = BTreeMap::new();
    for (path, content) in if gone.is_empty() { Vec::new() } else { now() } {
        there.entry(content).or_default().push(path);
    }
    // If a commit had several files with this content, each needs a new name of its own.
    let mut taken: BTreeSet<(&str, &RepoPath)> = BTreeSet::new();
    let mut moved = BTreeSet::new();
    for (path, (had, trace)) in gone {
        let is_it = |name: &RepoPath| {
            trace.paths.binary_search(name).is_err() && (!is_test_file(path) || is_test_file(name))
        };
        let names = there.get(had).into_iter().flatten();
        let mut names = names.filter(|name| is_it(name));
        if names.any(|name| taken.insert((&trace.head, name))) {
            moved.insert(path.clone());
        }
    }
    moved
}

/// Names of test folders.
const FOLDERS: &str = "test tests __tests__ spec specs e2e testing testdata";

/// Whether a file is a test by its path: it is below a folder `test`, `tests`, `__tests__`, `spec`,
/// `specs`, `e2e`, `testing` or `testdata`, or its name without the last extension is `conftest`,
/// `test`, `tests`, `spec` or `specs`, begins with `test_` or `test-`, or ends in one of these
/// words after a `.`, a `_` or a `-`, or with a capital letter (`FooTest`).
pub fn is_test_file(path: &RepoPath) -> bool {
    let mut parts: Vec<&[u8]> = path.as_bytes().split(|b| *b == b'/').collect();
    let name = parts.pop().unwrap_or_default();
    if parts.iter().any(|part| has_word(FOLDERS, part)) {
        return true;
    }
    let dot = name.iter().rposition(|b| *b == b'.');
    let stem = dot.filter(|at| *at > 0).and_then(|at| name.get(..at));
    let stem = stem.unwrap_or(name);
    let ends = |word: &str| {
        let Some(before) = stem.strip_suffix(word.as_bytes()) else {
            return false;
        };
        let apart = matches!(before, [.., _, b'.' | b'_' | b'-']);
        word.starts_with(char::is_uppercase) || before.is_empty() || apart
    };
    let words = [
        "test", "tests", "spec", "specs", "Test", "Tests", "Spec", "Specs",
    ];
    stem == b"conftest"
        || stem.starts_with(b"test_")
        || stem.starts_with(b"test-")
        || words.into_iter().any(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<RepoPath> {
        names
            .iter()
            .map(|n| RepoPath::from_exact(n.as_bytes()).unwrap())
            .collect()
    }

    fn trace(head: &str, names: &[&str]) -> Trace {
        Trace::new(
            head.to_owned(),
            paths(names).into_iter().map(|path| (path, String::new())),
        )
    }

    #[test]
    fn what_is_a_test() {
        for (name, is) in [
            ("tests/a.rs", true),
            ("src/__tests__/a.ts", true),
            ("pkg/testdata/in.json", true),
            ("a/test_b.py", true),
            ("conftest.py", true),
            ("a/b_test.go", true),
            ("a.test.ts", true),
            ("a.spec.tsx", true),
            ("FooTest.java", true),
            ("FooTests.cs", true),
            ("src/latest.rs", false),
            ("src/contest.rs", false),
            ("app/tests.py", true),
            ("src/attests/a.rs", false),
            (".test", false),
            ("README.md", false),
        ] {
            assert_eq!(
                is_test_file(&RepoPath::from_exact(name.as_bytes()).unwrap()),
                is,
                "{name}"
            );
        }
    }

    #[test]
    fn contents_decide() {
        let traces = [trace("1", &["a", "tests/t"]), trace("2", &["b"])];
        let now = |there: &'static [&'static str]| {
            let there = paths(there);
            undone(&traces, |p| there.contains(p))
        };
        assert_eq!(now(&["a", "b", "tests/t", "more"]), None);
        let some = now(&["b", "tests/t"]).unwrap();
        assert_eq!(
            (some.files, some.all, some.tests, some.more),
            (paths(&["a"]), false, false, false)
        );
        let tests = now(&["a", "b"]).unwrap();
        assert_eq!(
            (tests.files, tests.all, tests.tests),
            (paths(&["tests/t"]), false, true)
        );
        let all = now(&["other"]).unwrap();
        assert_eq!((all.files, all.all), (paths(&["a", "b", "tests/t"]), true));
        assert_eq!(
            undone(&[trace("1", &[])], |_| false),
            None,
            "nothing was changed, so nothing is undone"
        );
        assert_eq!(undone(&[], |_| false), None);
    }

    #[test]
    fn what_has_another_name_is_not_undone() {
        let with = |head: &str, files: &[(&str, &str)]| {
            let files = files
                .iter()
                .map(|(p, c)| (RepoPath::from_exact(p.as_bytes()).unwrap(), (*c).to_owned()));
            Trace::new(head.to_owned(), files)
        };
        let found = |traces: &[Trace], now: &[(&str, &str)]| {
            let there = with("", now);
            let files = there
                .files()
                .map(|(path, content)| (path.clone(), content.to_owned()))
                .collect();
            let moved = moved(traces, |p| there.paths.contains(p), || files);
            moved.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let one = [with("1", &[("a", "x")])];
        assert_eq!(found(&one, &[("b", "x")]), ["a"]);
        assert_eq!(
            found(&one, &[("b", "y")]),
            [""; 0],
            "it has another content"
        );
        assert_eq!(
            found(&one, &[("a", "y"), ("b", "x")]),
            [""; 0],
            "it is there"
        );
        assert_eq!(
            found(&[with("1", &[("a", "")])], &[("b", "")]),
            [""; 0],
            "nothing is known of it"
        );
        let two = [with("1", &[("a", "x"), ("b", "x")])];
        assert_eq!(
            found(&two, &[("b", "x")]),
            [""; 0],
            "the other one was there already"
        );
        assert_eq!(
            found(&two, &[("c", "x")]),
            ["a"],
            "one file takes the place of one"
        );
        let test = [with("1", &[("tests/a", "x")])];
        assert_eq!(
            (
                found(&test, &[("a", "x")]),
                found(&test, &[("tests/b", "x")])
            ),
            (vec![], vec!["tests/a".to_owned()])
        );
        // The last content counts, and content that has moved before may move again.
        let later = [with("1", &[("a", "x")]), with("2", &[("a", "y")])];
        assert_eq!(
            (found(&later, &[("b", "x")]), found(&later, &[("b", "y")])),
            (vec![], vec!["a".to_owned()])
        );
        let twice = [with("1", &[("a", "x")]), with("2", &[("b", "x")])];
        assert_eq!(found(&twice, &[("b", "x")]), ["a"]);
        let mut merged = one.to_vec();
        add(&mut merged, with("1", &[("a", "y"), ("b", "z")]));
        assert_eq!(merged, [with("1", &[("a", "y"), ("b", "z")])]);
    }

    #[test]
    fn traces_are_bounded_and_say_so() {
        let many: Vec<String> = (0..PATHS + 1).map(|i| format!("f{i:04}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        let full = trace("1", &names);
        assert_eq!((full.paths.len(), full.more), (PATHS, true));
        assert!(!trace("1", &names[1..]).more);
        let mut traces = Vec::new();
        add(&mut traces, full);
        add(&mut traces, trace("1", &["f0000"]));
        assert_eq!(
            (traces.len(), traces[0].paths.len(), traces[0].more),
            (1, PATHS, true),
            "it is not forgotten"
        );
        let gone = undone(&traces, |_| false).unwrap();
        assert!(gone.all && gone.more);
        for commit in 2..20 {
            add(&mut traces, trace(&commit.to_string(), &["a"]));
        }
        let heads: Vec<&str> = traces.iter().map(|t| t.head.as_str()).collect();
        assert_eq!(heads, ["12", "13", "14", "15", "16", "17", "18", "19"]);
        add(&mut traces, trace("12", &["b"]));
        assert_eq!(
            traces.last().map(|t| t.paths.clone()),
            Some(paths(&["a", "b"])),
            "one commit is one trace"
        );
    }
}
