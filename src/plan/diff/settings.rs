//! Compares the settings of a check, and decides which differences let more pass.

use super::difference::Class::{self, Changes, Cosmetic, Strengthens, Undecided, Weakens};
use super::reach::differing_atoms;
use super::sampled::only_in;
use crate::MAY_CHANGE;
use crate::select::item_text;
use std::collections::BTreeSet;
use std::fmt::Display;
use vplan_base::command::Command;
use vplan_base::glob::Selection;
use vplan_base::glob::automaton::{AutomatonLimits, Region, atoms};
use vplan_base::service::Service;
use vplan_base::setting::{Row, Setting, Takes, Unset, Value, Weaker};
use vplan_base::unit::show_duration;
use vplan_base::word::visible;
use vplan_check::confine::SandboxLevel;
use vplan_check::request::{Assertion, FileType};
use vplan_check::{Kind, file};
use vplan_contract::settings::known_by;
use vplan_contract::{Body, Check};

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// The check itself.
    Itself,
    /// What it does to others, whatever its own failure counts for.
    Others,
    /// The order of steps and the verified tree: of one request the files that steps make are compared
    /// instead.
    Order,
}

/// A difference, before its place is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub class: Class,
    /// What it is about.
    pub about: Topic,
    pub what: String,
    pub why: Option<String>,
}

pub(super) fn finding(class: Class, what: impl Into<String>, why: impl Into<String>) -> Finding {
    let why = why.into();
    Finding {
        class,
        about: Topic::Itself,
        what: what.into(),
        why: (!why.is_empty()).then_some(why),
    }
}

/// Compares two forms of one check, except for where it applies and what it needs.
pub(super) fn compare(old: &Check, new: &Check) -> Vec<Finding> {
    let mut found = Vec::new();
    body(old, new, &mut found);
    settings(old, new, &mut found);
    found
}

pub(super) fn arrow(name: &str, old: impl Display, new: impl Display) -> String {
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
                let what = arrow("file", quote(p), quote(q));
                found.push(finding(Undecided, what, "another file"));
            }
            assertions(a, b, found);
        }
        (a, b) => {
            let name = match old.kind {
                Kind::Judge => "question",
                Kind::Shell => "shell text",
                _ => "command",
            };
            let why = "whether another command checks as much cannot be told";
            found.push(finding(Undecided, arrow(name, text(a), text(b)), why));
        }
    }
}

fn text(body: &Body) -> String {
    match body {
        Body::Command(command @ Command::Argv { .. }) => quote(command.to_text()),
        Body::Command(Command::Unsupported { text, .. })
        | Body::Shell(text)
        | Body::Judge(text) => quote(text),
        Body::File { path, .. } => quote(format!("file {path}")),
    }
}

pub(super) fn quote(text: impl Display) -> String {
    format!("`{}`", visible(text.to_string()))
}

fn assertions(old: &[Assertion], new: &[Assertion], found: &mut Vec<Finding>) {
    let before = found.len();
    let is_kept = |by: &[Assertion], one: &Assertion| by.iter().any(|by| implies(by, one));
    let (together_old, together) = (with_sizes_joined(old), with_sizes_joined(new));
    for lost in old.iter().filter(|a| !is_kept(&together, a)) {
        let kind = std::mem::discriminant(lost);
        let why = match new.iter().find(|b| std::mem::discriminant(*b) == kind) {
            Some(other) => format!("{} holds for more", quote(file::show(other))),
            None => "a file that fails it passes".to_owned(),
        };
        let what = format!("no longer asserts {}", quote(file::show(lost)));
        found.push(finding(Weakens, what, why));
    }
    for more in new.iter().filter(|b| !is_kept(&together_old, b)) {
        let what = format!("asserts {}", quote(file::show(more)));
        found.push(finding(Strengthens, what, ""));
    }
    let same = |a: &Assertion| old.contains(a) == new.contains(a);
    if found.len() == before && !(old.iter().all(same) && new.iter().all(same)) {
        let what = "its assertions are written differently";
        found.push(finding(Cosmetic, what, "they say the same"));
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
    let (max, min) = (most, least);
    let has_size = list.iter().any(|a| matches!(a, Assertion::Size { .. }));
    let joined = has_size.then_some(Assertion::Size { max, min });
    list.iter().cloned().chain(joined).collect()
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

/// Compares all settings.
fn settings(old: &Check, new: &Check, found: &mut Vec<Finding>) {
    for row in Row::compared().iter().copied() {
        let word = row.setting().word;
        match row {
            Row::Exit => codes(word, "accepted", accepted(old), accepted(new), found),
            Row::SkipExit => {
                let verb = "taken for \"does not apply\"";
                codes(word, verb, &old.skip_exit, &new.skip_exit, found);
            }
            Row::Format => found.extend(setting(row, old, new).or_else(|| definition(old, new))),
            Row::Inputs if holds_to_inputs(old) && holds_to_inputs(new) => {
                found.extend(readable(old, new));
            }
            MAY_CHANGE if is_sealed(new) && !is_sealed(old) => {
                found.extend(setting(row, old, new).map(|found| in_own_folders(found, new)));
            }
            // Without that it may read everything anyway.
            Row::Reads if holds_to_inputs(old) && holds_to_inputs(new) => {
                found.extend(reads(old, new));
            }
            Row::Reads => {}
            // These two are compared where they apply.
            Row::Tier | Row::Needs => {}
            row => found.extend(setting(row, old, new)),
        }
    }
}

/// Compares the definitions of one format.
fn definition(old: &Check, new: &Check) -> Option<Finding> {
    if old.format_definition == new.format_definition {
        return None;
    }
    let name = text_of(Row::Format.setting(), new.value(Row::Format).as_deref());
    let what = format!("format {name} is defined otherwise");
    let why = "its output is read in another way";
    Some(finding(Undecided, what, why))
}

/// Compares a setting for which the table says when it is weaker.
fn setting(row: Row, old: &Check, new: &Check) -> Option<Finding> {
    let setting = row.setting();
    if setting.of_verb && [old, new].iter().any(|c| !known_by(row).contains(&c.kind)) {
        return None;
    }
    let (was, is) = (old, new);
    let (old, new) = (was.value(row), is.value(row));
    let (old, new) = (old.as_deref(), new.as_deref());
    let what = match (row, setting.takes, new) {
        (Row::Dir | Row::Env | Row::PassEnv | Row::ToolPath | Row::Tags | Row::Report, ..) => {
            surroundings(row, was, is)?
        }
        _ if old == new => return None,
        (_, Takes::Flag, Some(_)) => format!("is now `{}`", setting.word),
        (_, Takes::Flag, None) => format!("is no longer `{}`", setting.word),
        _ => arrow(setting.word, text_of(setting, old), text_of(setting, new)),
    };
    let (class, why) = match setting.weaker {
        Weaker::Fewer | Weaker::More { .. } | Weaker::Given { .. } => {
            watched(setting.weaker, was.selection(row), is.selection(row))
        }
        Weaker::Higher { more, less } => match ceiling(&rank(setting, old), &rank(setting, new)) {
            Weakens => (Weakens, more.to_owned()),
            class => (class, less.to_owned()),
        },
        Weaker::Lower => (
            ceiling(&rank(setting, new), &rank(setting, old)),
            String::new(),
        ),
        Weaker::Unsaid { gone, other } => {
            let said = |check: &Check| match row {
                Row::Report => check.report.is_some(),
                row => check.has(row),
            };
            match (said(was), said(is)) {
                (_, false) => (Weakens, gone.to_owned()),
                (false, _) => (Strengthens, String::new()),
                _ => (Undecided, other.to_owned()),
            }
        }
        Weaker::Undecided(why) => (Undecided, why.to_owned()),
        Weaker::Order(_) if row == Row::Requires && is_superset(old, new) => {
            (Changes, "it only waits for more".to_owned())
        }
        Weaker::Order(why) => (Undecided, why.to_owned()),
        Weaker::Changes(_) if row == Row::Always && is.has(row) && !is.needs.is_empty() => {
            let why = "it runs although what it needs has failed";
            (Undecided, why.to_owned())
        }
        Weaker::Changes(why) => (Changes, why.to_owned()),
        Weaker::Cosmetic(what) => return Some(finding(Cosmetic, what, "")),
        Weaker::Particular => return None,
    };
    let about = match setting.weaker {
        Weaker::More { .. } => Topic::Others,
        Weaker::Order(_) => Topic::Order,
        _ => Topic::Itself,
    };
    Some(Finding {
        about,
        ..finding(class, what, why)
    })
}

/// Whether a check can read nothing that it does not declare.
fn holds_to_inputs(check: &Check) -> bool {
    check.level() >= SandboxLevel::Files
}

/// Whether nothing exists for a check but what it declares.
fn is_sealed(check: &Check) -> bool {
    check.level() == SandboxLevel::Sealed
}

/// Returns what it means that a check which is sealed now may write other files than before: nothing of
/// them stays, but what it could read there is gone.
fn in_own_folders(found: Finding, new: &Check) -> Finding {
    let written = new.selection(MAY_CHANGE).zip(new.selection(Row::Inputs));
    let is_apart = written.is_none_or(|(writes, inputs)| {
        let regions = [Region::Selected(writes), Region::Selected(inputs)];
        let atoms = atoms(&regions, &AutomatonLimits::default());
        atoms.is_some_and(|atoms| atoms.iter().all(|atom| atom.inside != [true, true]))
    });
    let (class, why) = if is_apart {
        (Changes, "it is sealed: nothing of that stays")
    } else {
        let why = "it is sealed, and of its `inputs` there is nothing where it may write";
        (Undecided, why)
    };
    let why = Some(why.to_owned());
    Finding {
        class,
        why,
        ..found
    }
}

/// Compares the `inputs` of two checks that can read nothing else: a file outside is not read.
fn readable(old: &Check, new: &Check) -> Option<Finding> {
    let (was, is) = (old.selection(Row::Inputs), new.selection(Row::Inputs));
    if was == is {
        return None;
    }
    let more = Weaker::More {
        more: "it may read more",
        fewer: "it may read less",
    };
    let (class, why) = match watched(more, was, is) {
        (Strengthens, _) if is_sealed(new) => {
            let why = "what it declares no more does not exist for it: whether it checks as much cannot be told";
            (Undecided, why.to_owned())
        }
        watched => watched,
    };
    let [was, is] = [was, is].map(|inputs| inputs.map_or("none".to_owned(), items));
    Some(finding(class, arrow("inputs", was, is), why))
}

/// Compares what two checks may read outside of the repository. Of a folder all that is in it.
fn reads(old: &Check, new: &Check) -> Option<Finding> {
    let setting = Row::Reads.setting();
    let [old, new] = [old, new].map(|check| check.settings.get(&Row::Reads));
    if old == new {
        return None;
    }
    let paths = |value: Option<&'_ Value>| match value {
        Some(Value::Outside(paths)) => paths.clone(),
        _ => Vec::new(),
    };
    let covers = |all: &[String], few: &[String]| {
        let holds = |path: &str, folder: &str| {
            let below = path.strip_prefix(folder);
            below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        };
        let mut few = few.iter();
        few.all(|path| all.iter().any(|folder| holds(path, folder)))
    };
    let (was, is) = (paths(old), paths(new));
    let (class, why) = match (covers(&is, &was), covers(&was, &is)) {
        (true, true) => (Cosmetic, "it may read the same"),
        (true, false) => (Weakens, "it may read more outside of the repository"),
        (false, true) => (Strengthens, "it may read less"),
        (false, false) => {
            let why = "it may read something else outside of the repository";
            (Undecided, why)
        }
    };
    let what = arrow(setting.word, text_of(setting, old), text_of(setting, new));
    Some(finding(class, what, why))
}

/// Whether all globs of the first value are among the second one's.
fn is_superset(old: Option<&Value>, new: Option<&Value>) -> bool {
    match (old, new) {
        (None, _) => true,
        (Some(Value::Globs(old)), Some(Value::Globs(new))) => old.iter().all(|g| new.contains(g)),
        _ => false,
    }
}

/// Returns where a value is among all of its setting, the least first.
fn rank(setting: &Setting, value: Option<&Value>) -> (u64, bool) {
    match (value, setting.takes, setting.unset) {
        (Some(Value::Number(n)), ..) => (*n, true),
        (Some(Value::Word(word)), Takes::Word { known, .. }, _) => {
            let at = known.iter().position(|k| k == word);
            (at.unwrap_or(0) as u64, true)
        }
        (Some(_), ..) => (1, true),
        (None, _, Unset::Unlimited) => (u64::MAX, true),
        // A written number requires evidence; the usual one only evaluates what is there.
        (None, _, Unset::AtMost(n)) => (n, false),
        (None, ..) => (0, false),
    }
}

fn text_of(setting: &Setting, value: Option<&Value>) -> String {
    let listed = |texts: Vec<String>, by: &str| texts.join(by);
    let quoted = |text: &str| format!("\"{}\"", visible(text));
    match (value, setting.unset) {
        (Some(Value::Number(ms)), _) if setting.takes == Takes::Duration => show_duration(*ms),
        (Some(Value::Number(n)), _) => n.to_string(),
        (Some(Value::Word(word)), _) => (*word).to_owned(),
        (Some(Value::Text(text)), _) => quote(text),
        (Some(Value::Globs(globs)), _) => {
            listed(globs.iter().map(|glob| quoted(glob.text())).collect(), " ")
        }
        (Some(Value::Outside(paths)), _) => {
            listed(paths.iter().map(|path| quoted(path)).collect(), " ")
        }
        (Some(Value::Selection(selection)), _) => items(selection),
        (Some(Value::Command(command)), _) => quote(command.to_text()),
        (Some(Value::Services(services)), _) => {
            let one = |s: &Service| format!("{} ({})", s.name, quote(&s.command));
            listed(services.iter().map(one).collect(), ", ")
        }
        (Some(Value::On(on)), _) => {
            let properties = on.machine().into_iter().flat_map(|m| &m.properties);
            let one = |(name, value)| quote(format!("{name}={value}"));
            match listed(properties.map(one).collect(), ", ").as_str() {
                "" => on.word().to_owned(),
                properties => format!("{} ({properties})", on.word()),
            }
        }
        (None, Unset::AtMost(n)) => format!("unset ({n})"),
        (None | Some(Value::Flag), _) => "none".to_owned(),
    }
}

/// Returns the exit codes that pass; 0 where none is written.
fn accepted(check: &Check) -> &[i32] {
    if check.exit.is_empty() {
        &[0]
    } else {
        &check.exit
    }
}

fn codes(name: &str, verb: &str, old: &[i32], new: &[i32], found: &mut Vec<Finding>) {
    let only_in = |some: &[i32], others: &[i32]| {
        let codes = some.iter().filter(|code| !others.contains(code));
        codes.map(i32::to_string).collect::<Vec<_>>()
    };
    let (more, fewer) = (only_in(new, old), only_in(old, new));
    if !more.is_empty() {
        let what = format!("`{name}` adds {}", more.join(" "));
        found.push(finding(Weakens, what, format!("these are {verb}, too")));
    }
    if !fewer.is_empty() {
        let what = format!("`{name}` no longer has {}", fewer.join(" "));
        found.push(finding(Strengthens, what, ""));
    }
}

/// Compares the selections of a setting; none selects nothing.
fn watched(weaker: Weaker, old: Option<&Selection>, new: Option<&Selection>) -> (Class, String) {
    let (stricter, other) = match weaker {
        Weaker::More { .. } => (new, old),
        _ => (old, new),
    };
    let (stricter, other) = (stricter.as_slice(), other.as_slice());
    let shows = || Some((Some(only_in(stricter, other, &[])?), None));
    let (class, why) = match differing_atoms(stricter, other).or_else(shows) {
        None => (Undecided, super::reach::TOO_LARGE.to_owned()),
        Some((Some(lost), _)) => (Weakens, format!("it no longer covers {}", quote(lost))),
        Some((None, Some(more))) => (Strengthens, format!("it covers {} too", quote(more))),
        Some((None, None)) => (Cosmetic, "it covers the same".to_owned()),
    };
    match (weaker, class) {
        (Weaker::Given { given, .. }, _) if old.is_none() => (Weakens, given.to_owned()),
        (Weaker::Given { gone, .. }, _) if new.is_none() => (Strengthens, gone.to_owned()),
        (Weaker::Given { fewer, .. }, Weakens) => (class, why + fewer),
        (Weaker::More { more, .. }, Weakens) => (class, more.to_owned()),
        (Weaker::More { fewer, .. }, Strengthens) => (class, fewer.to_owned()),
        _ => (class, why),
    }
}

/// Formats a selection as the language writes it, cut when it is long.
pub(super) fn items(selection: &Selection) -> String {
    const SHOWN: usize = 6;
    let shown = selection.items.iter().take(SHOWN);
    let mut words: Vec<String> = shown.map(item_text).collect();
    if selection.items.len() > SHOWN {
        words.push(format!("… ({} more)", selection.items.len() - SHOWN));
    }
    words.join(" ")
}

/// Returns in what two checks differ by a setting that is a field of theirs.
fn surroundings(row: Row, old: &Check, new: &Check) -> Option<String> {
    let differs = |of: fn(&Check) -> String| Some(arrow(row.setting().word, of(old), of(new)));
    match row {
        Row::Dir if old.dir != new.dir => differs(|c| quote(&c.dir)),
        Row::PassEnv if old.pass_env != new.pass_env => differs(|c| quote(c.pass_env.join(" "))),
        Row::Tags if old.tags != new.tags => differs(|c| match c.tags.as_slice() {
            [] => "none".to_owned(),
            tags => quote(tags.join(" ")),
        }),
        Row::Report if old.report != new.report => differs(|c| match &c.report {
            Some(r) => quote(format!("{} \"{}\"", r.format, r.glob.text())),
            None => "none".to_owned(),
        }),
        Row::ToolPath if old.tool_path != new.tool_path => Some("tool-path differs".to_owned()),
        Row::Env if old.env != new.env => {
            let names = old.env.keys().chain(new.env.keys());
            let differ = names.filter(|n| old.env.get(*n) != new.env.get(*n));
            let names: BTreeSet<String> = differ.map(quote).collect();
            let names: Vec<String> = names.into_iter().collect();
            Some(format!("env differs in {}", names.join(", ")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::plain_check;
    use vplan_base::command::{Env, Piece};
    use vplan_base::glob::Glob;

    fn classes(edit: impl Fn(&mut Check)) -> (Vec<Class>, Vec<Class>) {
        let old = Check {
            kind: Kind::Lint,
            ..plain_check("c")
        };
        let mut new = old.clone();
        edit(&mut new);
        let list = |a: &Check, b: &Check| compare(a, b).into_iter().map(|f| f.class).collect();
        (list(&old, &new), list(&new, &old))
    }

    fn selection(glob: &str) -> Selection {
        let globs = glob.split(' ').map(Glob::parse);
        globs.map(Result::unwrap).collect()
    }

    fn only(glob: &str) -> Value {
        Value::Selection(selection(glob))
    }

    /// Checks the classes of changes, and of their opposites.
    #[test]
    fn what_lets_more_pass() {
        let mend = Command::Argv {
            env: Env::new(),
            pieces: vec![Piece::Word("mend".into())],
        };
        for (row, value, there, back) in [
            (Row::Severity, Value::Word("warning"), Weakens, Strengthens),
            (Row::Optional, Value::Flag, Weakens, Strengthens),
            (Row::Sandbox, Value::Word("guard"), Strengthens, Weakens),
            (Row::Network, Value::Word("off"), Strengthens, Weakens),
            (Row::Network, Value::Word("loopback"), Strengthens, Weakens),
            (Row::Setup, Value::Flag, Weakens, Strengthens),
            (Row::MaxErrors, Value::Number(1), Weakens, Strengthens),
            (Row::MaxWarnings, Value::Number(3), Strengthens, Weakens),
            (Row::Retries, Value::Number(2), Weakens, Strengthens),
            (Row::Timeout, Value::Number(61_000), Weakens, Strengthens),
            (Row::Format, Value::Word("eslint"), Strengthens, Weakens),
            (Row::Unchanged, only("a"), Strengthens, Weakens),
            (Row::Inputs, only("a"), Weakens, Strengthens),
            (Row::Writes, only("a"), Weakens, Strengthens),
            (Row::Always, Value::Flag, Changes, Changes),
            (Row::Describe, Value::Text("x".into()), Cosmetic, Cosmetic),
            (Row::Fix, Value::Command(mend), Changes, Changes),
            (Row::Exclusive, Value::Text("x".into()), Changes, Changes),
            (Row::Context, only("a"), Undecided, Undecided),
        ] {
            let found = classes(|c| c.set(row, value.clone()));
            assert_eq!(found, (vec![there], vec![back]), "{row:?}");
        }
        type Edit = fn(&mut Check);
        let table: &[(Edit, Class, Class)] = &[
            (|c| c.exit = vec![0, 1], Weakens, Strengthens),
            (|c| c.skip_exit = vec![77], Weakens, Strengthens),
            (|c| c.kind = Kind::Run, Weakens, Strengthens),
            (|c| c.kind = Kind::Compile, Undecided, Undecided),
            (
                |c| c.dir = vplan_base::path::RepoPath::parse(b"x").unwrap(),
                Undecided,
                Undecided,
            ),
            (|c| c.body = Body::Shell("x".into()), Undecided, Undecided),
            (|c| c.tags = vec!["t".to_owned()], Changes, Changes),
        ];
        for (i, (edit, there, back)) in table.iter().enumerate() {
            assert_eq!(classes(edit), (vec![*there], vec![*back]), "row {i}");
        }
        assert_eq!(classes(|_| ()), (vec![], vec![]));
    }

    #[test]
    fn thresholds_of_tests() {
        let class = |a, b| {
            let test = |least: Option<u64>| {
                let mut check = Check {
                    kind: Kind::Test,
                    ..plain_check("c")
                };
                if let Some(n) = least {
                    check.set(Row::MinTests, Value::Number(n));
                }
                check
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
        let why =
            |a: &str, b: &str| watched(Weaker::Fewer, Some(&selection(a)), Some(&selection(b)));
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
            let check = |text: &str| {
                let mut check = plain_check("c");
                check.set(Row::Writes, only(text));
                check
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
