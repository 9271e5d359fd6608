//! Compares the settings of a check, and decides which differences let more pass.

use super::Class::{self, Changes, Cosmetic, Strengthens, Undecided, Weakens};
use super::reach::apart;
use crate::base::command::Command;
use crate::base::glob::{Glob, ItemContent, Selection};
use crate::base::setting::{Row, Weaker};
use crate::base::unit::show_duration;
use crate::base::vocabulary::FormatName;
use crate::base::word::visible;
use crate::check::request::{Assertion, FileType};
use crate::check::{Kind, Severity, file};
use crate::contract::{Body, Check};
use std::fmt::Display;

/// A difference, before its place is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub class: Class,
    pub what: String,
    pub why: Option<String>,
}

pub(super) fn finding(class: Class, what: impl Into<String>, why: impl Into<String>) -> Finding {
    let why = why.into();
    Finding {
        class,
        what: what.into(),
        why: (!why.is_empty()).then_some(why),
    }
}

/// Compares two forms of one check, except for where it applies and what it needs.
pub(super) fn compare(old: &Check, new: &Check) -> Vec<Finding> {
    let mut found = Vec::new();
    body(old, new, &mut found);
    outcome(old, new, &mut found);
    surroundings(old, new, &mut found);
    found
}

fn arrow(name: &str, old: impl Display, new: impl Display) -> String {
    format!("{name} {old} -> {new}")
}

/// Compares a limit that lets more pass when it is higher.
pub(super) fn ceiling<T: PartialOrd>(old: &T, new: &T) -> Class {
    if new > old { Weakens } else { Strengthens }
}

fn body(old: &Check, new: &Check, found: &mut Vec<Finding>) {
    if old.kind != new.kind {
        let reads = |kind: Kind| matches!(kind, Kind::Compile | Kind::Test | Kind::Lint);
        let what = arrow("verb", old.kind.verb(), new.kind.verb());
        found.push(match (old.kind, new.kind) {
            (from, Kind::Run) if reads(from) => {
                finding(Weakens, what, "its output is no longer read")
            }
            (Kind::Run, to) if reads(to) => finding(Strengthens, what, "its output is read, too"),
            _ => finding(Undecided, what, "another kind of check"),
        });
    }
    match (&old.body, &new.body) {
        (a, b) if a == b => {}
        (
            Body::File {
                path: p,
                assertions: a,
            },
            Body::File {
                path: q,
                assertions: b,
            },
        ) => {
            if p != q {
                found.push(finding(
                    Undecided,
                    arrow("file", shown(p), shown(q)),
                    "another file",
                ));
            }
            assertions(a, b, found);
        }
        (a, b) => found.push(finding(
            Undecided,
            arrow(
                match old.kind {
                    Kind::Judge => "question",
                    Kind::Shell => "shell text",
                    _ => "command",
                },
                text(a),
                text(b),
            ),
            "whether another command checks as much cannot be told",
        )),
    }
}

fn text(body: &Body) -> String {
    match body {
        Body::Command(command @ Command::Argv { .. }) => shown(command.to_text()),
        Body::Command(Command::Unsupported { text, .. })
        | Body::Shell(text)
        | Body::Judge(text) => shown(text),
        Body::File { path, .. } => shown(format!("file {path}")),
    }
}

pub(super) fn shown(text: impl Display) -> String {
    format!("`{}`", visible(text.to_string().as_bytes()))
}

fn assertions(old: &[Assertion], new: &[Assertion], found: &mut Vec<Finding>) {
    let before = found.len();
    let (together_old, together) = (with_sizes_joined(old), with_sizes_joined(new));
    for lost in old
        .iter()
        .filter(|a| !together.iter().any(|b| implies(b, a)))
    {
        found.push(finding(
            Weakens,
            format!("no longer asserts {}", shown(file::show(lost))),
            match new
                .iter()
                .find(|b| std::mem::discriminant(*b) == std::mem::discriminant(lost))
            {
                Some(other) => format!("{} holds for more", shown(file::show(other))),
                None => "a file that fails it passes".to_owned(),
            },
        ));
    }
    for more in new
        .iter()
        .filter(|b| !together_old.iter().any(|a| implies(a, b)))
    {
        found.push(finding(
            Strengthens,
            format!("asserts {}", shown(file::show(more))),
            "",
        ));
    }
    let same = |a: &Assertion| old.contains(a) == new.contains(a);
    if found.len() == before && !(old.iter().all(same) && new.iter().all(same)) {
        found.push(finding(
            Cosmetic,
            "its assertions are written differently",
            "they say the same",
        ));
    }
}

/// Returns the assertions, with all ranges joined to the one that they have in common.
fn with_sizes_joined(list: &[Assertion]) -> Vec<Assertion> {
    let (mut least, mut most) = (None, None);
    for assertion in list {
        if let Assertion::Size { max, min } = assertion {
            least = least.max(*min);
            most = [most, *max].into_iter().flatten().min();
        }
    }
    let joined = Assertion::Size {
        max: most,
        min: least,
    };
    let has_size = list.iter().any(|a| matches!(a, Assertion::Size { .. }));
    list.iter()
        .cloned()
        .chain(has_size.then_some(joined))
        .collect()
}

/// Whether a file that fits the first fits the second.
fn implies(a: &Assertion, b: &Assertion) -> bool {
    use Assertion::{Absent, Contains, Exists, Lacks, Matches, NotEmpty, Size, Type};
    match (a, b) {
        _ if a == b => true,
        // A symlink to nothing is a symlink, but its target does not exist.
        (Absent | Type(FileType::Symlink), Exists) => false,
        (_, Exists) => true,
        (Size { min: Some(1..), .. }, NotEmpty) => true,
        (Contains(part), NotEmpty) => !part.is_empty(),
        (Contains(whole), Contains(part)) => whole.contains(part.as_str()),
        (Lacks(part), Lacks(whole)) => whole.contains(part.as_str()),
        (
            NotEmpty,
            Size {
                min: Some(0 | 1) | None,
                max: None,
            },
        ) => true,
        (
            Size {
                max: high,
                min: low,
            },
            Size { max, min },
        ) => {
            low.unwrap_or(0) >= min.unwrap_or(0)
                && high.unwrap_or(u64::MAX) <= max.unwrap_or(u64::MAX)
        }
        (
            Type(FileType::Executable | FileType::Utf8) | NotEmpty | Contains(_) | Lacks(_),
            Type(FileType::File),
        ) => true,
        (Matches(_) | Size { .. }, Type(FileType::File)) => true,
        _ => false,
    }
}

/// Compares the settings that decide whether it passes, and the effect of that.
fn outcome(old: &Check, new: &Check, found: &mut Vec<Finding>) {
    if old.severity != new.severity {
        let word = |s: Severity| {
            if s == Severity::Blocking {
                "blocking"
            } else {
                "warning"
            }
        };
        let what = arrow("severity", word(old.severity), word(new.severity));
        found.push(match new.severity {
            Severity::Warning => finding(Weakens, what, "its failure no longer fails the plan"),
            Severity::Blocking => finding(Strengthens, what, "its failure fails the plan"),
        });
    }
    flag(
        "optional",
        old.optional,
        new.optional,
        "recovery may drop it when what it runs is missing",
        found,
    );
    flag(
        "setup",
        old.setup,
        new.setup,
        "its pass is no evidence any more",
        found,
    );
    codes("exit", "accepted", &old.exit, &new.exit, found);
    codes(
        "skip-exit",
        "taken for \"does not apply\"",
        &old.skip_exit,
        &new.skip_exit,
        found,
    );
    let counts = |check: &Check| matches!(check.kind, Kind::Compile | Kind::Lint);
    if counts(old) && counts(new) {
        let errors = [old.max_errors, new.max_errors];
        limit("max-errors", errors, |n| n.to_string(), "", found);
        let word = |n| match n {
            u64::MAX => "none".to_owned(),
            n => n.to_string(),
        };
        let warnings = [old, new].map(|check| check.max_warnings.unwrap_or(u64::MAX));
        limit("max-warnings", warnings, word, "", found);
    }
    if old.kind == Kind::Test && new.kind == Kind::Test && old.min_tests != new.min_tests {
        let word = |n: Option<u64>| n.map_or("unset (1)".to_owned(), |n| n.to_string());
        // A written setting requires evidence; a default only evaluates evidence that is there.
        let rank = |n: Option<u64>| match n {
            Some(0) => (0, 0),
            None => (1, 0),
            Some(n) => (2, n),
        };
        let class = if rank(new.min_tests) < rank(old.min_tests) {
            Weakens
        } else {
            Strengthens
        };
        found.push(finding(
            class,
            arrow("min-tests", word(old.min_tests), word(new.min_tests)),
            "",
        ));
    }
    let times = [old.timeout_ms, new.timeout_ms];
    limit(
        "timeout",
        times,
        show_duration,
        "a limit on each try",
        found,
    );
    let why = if new.retries > old.retries {
        "a failure gets more tries to pass by chance"
    } else {
        ""
    };
    let tries = [old, new].map(|check| u64::from(check.retries));
    limit("retries", tries, |n| n.to_string(), why, found);
    report(old, new, found);
    for row in Row::ALL {
        found.extend(selection(row, old, new));
    }
}

/// Compares a limit of which more lets more pass.
fn limit(
    name: &str,
    [old, new]: [u64; 2],
    show: fn(u64) -> String,
    why: &str,
    found: &mut Vec<Finding>,
) {
    if old != new {
        let what = arrow(name, show(old), show(new));
        found.push(finding(ceiling(&old, &new), what, why));
    }
}

fn flag(name: &str, old: bool, new: bool, why: &str, found: &mut Vec<Finding>) {
    match (old, new) {
        (false, true) => found.push(finding(Weakens, format!("is now `{name}`"), why)),
        (true, false) => found.push(finding(Strengthens, format!("is no longer `{name}`"), "")),
        _ => {}
    }
}

fn codes(name: &str, verb: &str, old: &[i32], new: &[i32], found: &mut Vec<Finding>) {
    let list = |codes: &[&i32]| {
        codes
            .iter()
            .map(|c| c.to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let more: Vec<&i32> = new.iter().filter(|c| !old.contains(c)).collect();
    let fewer: Vec<&i32> = old.iter().filter(|c| !new.contains(c)).collect();
    if !more.is_empty() {
        found.push(finding(
            Weakens,
            format!("`{name}` adds {}", list(&more)),
            format!("these are {verb}, too"),
        ));
    }
    if !fewer.is_empty() {
        found.push(finding(
            Strengthens,
            format!("`{name}` no longer has {}", list(&fewer)),
            "",
        ));
    }
}

fn report(old: &Check, new: &Check, found: &mut Vec<Finding>) {
    let reads = |check: &Check| matches!(check.kind, Kind::Compile | Kind::Test | Kind::Lint);
    if old.report != new.report {
        let word = |c: &Check| {
            c.report.as_ref().map_or("none".to_owned(), |r| {
                shown(format!("{} \"{}\"", r.format, r.glob.text()))
            })
        };
        let what = arrow("report", word(old), word(new));
        found.push(match (&old.report, &new.report) {
            (Some(_), None) => finding(
                Weakens,
                what,
                "its result is no longer read from the report",
            ),
            (None, _) => finding(Strengthens, what, ""),
            _ => finding(Undecided, what, "another report"),
        });
    }
    if reads(old) && reads(new) && old.format != new.format {
        let what = arrow("format", old.format, new.format);
        found.push(match (old.format, new.format) {
            (_, FormatName::Auto) => {
                finding(Weakens, what, "how its output is read is left to a guess")
            }
            (FormatName::Auto, _) => finding(Strengthens, what, ""),
            _ => finding(Undecided, what, "its output is read in another way"),
        });
    }
}

enum Watch {
    Same,
    Apart(Class, String),
}

/// Compares two selections of which more is stricter; none selects nothing.
fn watched(old: Option<&Selection>, new: Option<&Selection>) -> Watch {
    if old == new {
        return Watch::Same;
    }
    match apart(old.as_slice(), new.as_slice()) {
        None => Watch::Apart(Undecided, super::reach::TOO_LARGE.to_owned()),
        Some((Some(lost), _)) => {
            Watch::Apart(Weakens, format!("it no longer covers {}", shown(lost)))
        }
        Some((None, Some(more))) => {
            Watch::Apart(Strengthens, format!("it covers {} too", shown(more)))
        }
        Some((None, None)) => Watch::Apart(Cosmetic, "it covers the same".to_owned()),
    }
}

/// Compares a setting of the table.
fn selection(row: Row, old: &Check, new: &Check) -> Option<Finding> {
    let setting = row.setting();
    let (old, new) = (old.selections.get(&row), new.selections.get(&row));
    let seen = match setting.weaker {
        Weaker::More { .. } => watched(new, old),
        Weaker::Fewer | Weaker::Given { .. } => watched(old, new),
    };
    let Watch::Apart(class, why) = seen else {
        return None;
    };
    let (class, why) = match (setting.weaker, class) {
        (Weaker::Given { given, .. }, _) if old.is_none() => (Weakens, given.to_owned()),
        (Weaker::Given { gone, .. }, _) if new.is_none() => (Strengthens, gone.to_owned()),
        (Weaker::Given { fewer, .. }, Weakens) => (class, why + fewer),
        (Weaker::More { more, .. }, Weakens) => (class, more.to_owned()),
        (Weaker::More { fewer, .. }, Strengthens) => (class, fewer.to_owned()),
        _ => (class, why),
    };
    Some(finding(class, watch_text(setting.word, old, new), why))
}

fn watch_text(name: &str, old: Option<&Selection>, new: Option<&Selection>) -> String {
    let word = |s: Option<&Selection>| s.map_or("none".to_owned(), items);
    arrow(name, word(old), word(new))
}

/// Formats a selection as the language writes it, cut when it is long.
pub(super) fn items(selection: &Selection) -> String {
    const SHOWN: usize = 6;
    let mut words: Vec<String> = selection
        .items
        .iter()
        .take(SHOWN)
        .map(|item| {
            let not = if item.not { "!" } else { "" };
            match &item.what {
                ItemContent::Glob(glob) => format!("\"{not}{}\"", visible(glob.text().as_bytes())),
                ItemContent::Paths { name, .. } => format!("{not}{}", visible(name.as_bytes())),
            }
        })
        .collect();
    if selection.items.len() > SHOWN {
        words.push(format!("… ({} more)", selection.items.len() - SHOWN));
    }
    words.join(" ")
}

/// Compares its environment, and how it is shown and ordered.
fn surroundings(old: &Check, new: &Check, found: &mut Vec<Finding>) {
    let other = "what it does there cannot be compared";
    if old.dir != new.dir {
        found.push(finding(
            Undecided,
            arrow("dir", shown(&old.dir), shown(&new.dir)),
            other,
        ));
    }
    if old.env != new.env {
        let names = old
            .env
            .keys()
            .chain(new.env.keys())
            .filter(|n| old.env.get(*n) != new.env.get(*n));
        let mut names: Vec<String> = names.map(shown).collect();
        names.sort();
        names.dedup();
        found.push(finding(
            Undecided,
            format!("env differs in {}", names.join(", ")),
            other,
        ));
    }
    if old.pass_env != new.pass_env {
        let what = arrow(
            "pass-env",
            shown(old.pass_env.join(" ")),
            shown(new.pass_env.join(" ")),
        );
        found.push(finding(Undecided, what, other));
    }
    if old.tool_path != new.tool_path {
        found.push(finding(
            Undecided,
            "tool-path differs",
            "another program of the same name may run",
        ));
    }
    if old.context != new.context {
        found.push(finding(
            Undecided,
            watch_text("context", old.context.as_ref(), new.context.as_ref()),
            "the judge sees other files",
        ));
    }
    let globs = |list: &[Glob]| {
        list.iter()
            .map(|g| format!("\"{}\"", visible(g.text().as_bytes())))
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (name, of) in [
        ("produces", (|c| &c.produces) as fn(&Check) -> &Vec<Glob>),
        ("cleans", |c| &c.cleans),
        ("requires", |c| &c.requires),
    ] {
        if of(old) != of(new) {
            let word = |c: &Check| {
                if of(c).is_empty() {
                    "none".to_owned()
                } else {
                    globs(of(c))
                }
            };
            found.push(finding(
                Changes,
                arrow(name, word(old), word(new)),
                "the order of steps may differ",
            ));
        }
    }
    if old.tags != new.tags {
        let word = |c: &Check| {
            if c.tags.is_empty() {
                "none".to_owned()
            } else {
                shown(c.tags.join(" "))
            }
        };
        found.push(finding(Changes, arrow("tags", word(old), word(new)), ""));
    }
    if old.always != new.always {
        let what = if new.always {
            "is now `always`"
        } else {
            "is no longer `always`"
        };
        found.push(finding(Changes, what, "whether it runs after a failure"));
    }
    if old.exclusive != new.exclusive {
        let word = |c: &Check| c.exclusive.as_ref().map_or("none".to_owned(), shown);
        found.push(finding(
            Changes,
            arrow("exclusive", word(old), word(new)),
            "what runs beside it",
        ));
    }
    if old.describe != new.describe {
        found.push(finding(Cosmetic, "another description", ""));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::plan::plain_check;
    use crate::base::setting::Selections;

    fn classes(edit: impl Fn(&mut Check)) -> (Vec<Class>, Vec<Class>) {
        let old = Check {
            kind: Kind::Lint,
            severity: Severity::Blocking,
            ..plain_check("c")
        };
        let mut new = old.clone();
        edit(&mut new);
        let list = |a: &Check, b: &Check| compare(a, b).into_iter().map(|f| f.class).collect();
        (list(&old, &new), list(&new, &old))
    }

    fn of(glob: &str) -> Selection {
        let item = |text| crate::base::glob::Item {
            not: false,
            what: ItemContent::Glob(Glob::parse(text).unwrap()),
        };
        Selection {
            items: glob.split(' ').map(item).collect(),
        }
    }

    fn only(row: Row, glob: &str) -> Selections {
        Selections::from([(row, of(glob))])
    }

    /// Checks the classes of changes, and of their opposites.
    #[test]
    fn what_lets_more_pass() {
        type Edit = fn(&mut Check);
        let table: &[(Edit, Class, Class)] = &[
            (|c| c.severity = Severity::Warning, Weakens, Strengthens),
            (|c| c.optional = true, Weakens, Strengthens),
            (|c| c.setup = true, Weakens, Strengthens),
            (|c| c.exit = vec![0, 1], Weakens, Strengthens),
            (|c| c.skip_exit = vec![77], Weakens, Strengthens),
            (|c| c.max_errors = 1, Weakens, Strengthens),
            (|c| c.max_warnings = Some(3), Strengthens, Weakens),
            (|c| c.retries = 2, Weakens, Strengthens),
            (|c| c.timeout_ms = 61_000, Weakens, Strengthens),
            (|c| c.kind = Kind::Run, Weakens, Strengthens),
            (|c| c.kind = Kind::Compile, Undecided, Undecided),
            (|c| c.format = FormatName::Eslint, Strengthens, Weakens),
            (
                |c| c.selections = only(Row::Unchanged, "a"),
                Strengthens,
                Weakens,
            ),
            (
                |c| c.selections = only(Row::Inputs, "a"),
                Weakens,
                Strengthens,
            ),
            (
                |c| c.selections = only(Row::Writes, "a"),
                Weakens,
                Strengthens,
            ),
            (
                |c| c.dir = crate::base::path::RepoPath::parse(b"x").unwrap(),
                Undecided,
                Undecided,
            ),
            (
                |c| c.body = Body::Shell("x".to_owned()),
                Undecided,
                Undecided,
            ),
            (|c| c.tags = vec!["t".to_owned()], Changes, Changes),
            (|c| c.always = true, Changes, Changes),
            (|c| c.describe = Some("x".to_owned()), Cosmetic, Cosmetic),
        ];
        for (i, (edit, there, back)) in table.iter().enumerate() {
            assert_eq!(classes(edit), (vec![*there], vec![*back]), "row {i}");
        }
        assert_eq!(classes(|_| ()), (vec![], vec![]));
    }

    #[test]
    fn thresholds_of_tests() {
        let class = |a, b| {
            let test = |min_tests| Check {
                kind: Kind::Test,
                min_tests,
                ..plain_check("c")
            };
            compare(&test(a), &test(b)).first().map(|f| f.class)
        };
        assert_eq!(class(Some(3), Some(2)), Some(Weakens));
        assert_eq!(class(Some(1), None), Some(Weakens));
        assert_eq!(class(None, Some(0)), Some(Weakens));
        assert_eq!(class(None, Some(1)), Some(Strengthens));
        assert_eq!(class(None, None), None);
    }

    #[test]
    fn selections_that_are_watched() {
        let why = |a: &str, b: &str| match watched(Some(&of(a)), Some(&of(b))) {
            Watch::Same => (Cosmetic, String::new()),
            Watch::Apart(class, why) => (class, why),
        };
        assert_eq!(
            why("src/**", "src/*"),
            (Weakens, "it no longer covers `src`".to_owned())
        );
        assert_eq!(why("src/*", "src/**").0, Strengthens);
        assert_eq!(why("src/*", "lib/*").0, Weakens);
        assert_eq!(why("{a,b}", "a b").0, Cosmetic);
    }

    #[test]
    fn what_may_be_written() {
        let class = |a: &str, b: &str| {
            let check = |text: &str| Check {
                selections: only(Row::Writes, text),
                ..plain_check("c")
            };
            compare(&check(a), &check(b))
                .iter()
                .map(|f| f.class)
                .collect::<Vec<_>>()
        };
        assert_eq!(class("src/*", "src/**"), [Weakens]);
        assert_eq!(class("src/**", "src/*"), [Strengthens]);
        assert_eq!(class("src/*", "lib/*"), [Weakens]);
        assert_eq!(class("{a,b}", "a b"), [Cosmetic]);
        assert_eq!(class("a", "a"), []);
    }

    #[test]
    fn assertions_that_say_as_much() {
        use Assertion::{Absent, Contains, Exists, Lacks, NotEmpty, Size, Type};
        let size = |min, max| Size { max, min };
        let text = |t: &str| Contains(t.to_owned());
        for (old, new, want) in [
            (vec![Exists], vec![NotEmpty], vec![Strengthens]),
            (vec![NotEmpty], vec![Exists], vec![Weakens]),
            (
                vec![size(Some(1), Some(9))],
                vec![size(Some(1), Some(10))],
                vec![Weakens],
            ),
            (
                vec![size(Some(1), Some(9))],
                vec![size(Some(2), None)],
                vec![Weakens, Strengthens],
            ),
            (vec![NotEmpty], vec![size(Some(1), None)], vec![Cosmetic]),
            (vec![text("ab"), Exists], vec![text("ab")], vec![Cosmetic]),
            (vec![text("a")], vec![text("ab")], vec![Strengthens]),
            (
                vec![Lacks("ab".to_owned())],
                vec![Lacks("a".to_owned())],
                vec![Strengthens],
            ),
            (
                vec![Type(FileType::Symlink)],
                vec![Exists],
                vec![Weakens, Strengthens],
            ),
            (vec![Absent], vec![Exists], vec![Weakens, Strengthens]),
        ] {
            let mut found = Vec::new();
            assertions(&old, &new, &mut found);
            assert_eq!(
                found.iter().map(|f| f.class).collect::<Vec<_>>(),
                want,
                "{old:?} {new:?}"
            );
        }
    }
}
