//! Writes the contract of the candidates that are kept: names, order, comments with the sources.

use super::candidate::{Candidate, Declarations, Reason, State, Work};
use super::conditions::Condition;
use super::kind;
use super::tree::Tree;
use crate::base::command::{Command, Env, Piece, is_env_name};
use crate::base::glob::Glob;
use crate::base::path::RepoPath;
use crate::base::word::{Word, quote_literal, quote_string, visible};
use crate::check::Kind;
use crate::lang::command::{is_shell_line, parse_command};
use std::collections::{BTreeMap, BTreeSet};

/// The most lines about what was left out.
const MAX_LEFT_OUT: usize = 6;
/// The most characters that tell a check from others of its name.
const MAX_MARK: usize = 24;

/// The most files that a trial gives to a check in place of the changed ones.
const MOST_TRIED_FILES: usize = 500;

/// A check of the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name, unique in the contract.
    pub name: String,
    /// The index of its candidate.
    pub candidate: usize,
    /// Its verb.
    pub kind: Kind,
    /// The changes for which it is wanted.
    pub condition: Condition,
}

/// Returns the checks of the contract, in its order: by kind of work, then by folder.
#[must_use]
pub fn checks(found: &Declarations, conditions: &BTreeMap<usize, Condition>) -> Vec<Check> {
    let mut kept: Vec<(usize, &Candidate)> = found
        .candidates
        .iter()
        .enumerate()
        .filter(|(_, c)| c.state == State::Open)
        .collect();
    kept.sort_by_key(|(index, c)| (!c.setup, kind::of(c), c.dir.clone(), *index));
    let named = names(&kept);
    let blank = Condition::Always;
    kept.into_iter()
        .zip(named)
        .map(|((index, candidate), name)| Check {
            name,
            candidate: index,
            kind: kind::verb(candidate),
            condition: conditions.get(&index).unwrap_or(&blank).clone(),
        })
        .collect()
}

/// Chooses the names: what the source calls the work, or the tool; where two would be equal, with
/// the folder, then the job, then a number.
fn names(kept: &[(usize, &Candidate)]) -> Vec<String> {
    let short: Vec<String> = kept.iter().map(|(_, c)| kind::name(c)).collect();
    let own: Vec<Distinct> = kept.iter().map(|(_, c)| Distinct::of(c)).collect();
    let mut taken = BTreeSet::new();
    let mut out = Vec::with_capacity(kept.len());
    for (((_, candidate), name), marks) in kept.iter().zip(&short).zip(&own) {
        let alone = short.iter().filter(|other| *other == name).count() == 1;
        let folder = kind::word(candidate.dir.name());
        let label = kind::word(candidate.origin.label.as_bytes());
        let mut wanted = Vec::new();
        if alone || candidate.dir.is_root() {
            wanted.push(name.clone());
        }
        if !candidate.dir.is_root() {
            wanted.push(format!("{folder}-{name}"));
            wanted.push(format!("{}-{name}", kind::word(candidate.dir.as_bytes())));
        }
        if !alone {
            let same = short.iter().zip(&own).filter(|(other, _)| *other == name);
            let same: Vec<&Distinct> = same.map(|(_, own)| own).collect();
            let mark = marks.mark(&same);
            wanted.extend(mark.map(|mark| format!("{name}-{mark}")));
        }
        if label != *name && label.len() <= MAX_MARK {
            wanted.push(format!("{name}-{label}"));
        }
        let numbered = (2..).map(|n: u64| format!("{name}-{n}"));
        let free = wanted
            .into_iter()
            .chain(numbered)
            .find(|name| !taken.contains(name))
            .unwrap_or_default();
        taken.insert(free.clone());
        out.push(free);
    }
    out
}

/// The words of a command that may tell it from another one of its name.
#[derive(Default)]
struct Distinct {
    /// Operands and values of options.
    values: Vec<String>,
    /// Options.
    options: Vec<String>,
    /// Words in variables.
    variables: Vec<String>,
}

impl Distinct {
    fn of(candidate: &Candidate) -> Self {
        let Work::Words(words) = &candidate.work else {
            return Self::default();
        };
        let (options, values) = words
            .iter()
            .skip(1)
            .filter(|word| !word.starts_with('+') && *word != "--")
            .cloned()
            .partition(|word| word.starts_with('-'));
        let variables = candidate.env.values();
        let variables = variables.flat_map(|value| value.split_whitespace());
        Self {
            values,
            options,
            variables: variables.map(str::to_owned).collect(),
        }
    }

    /// A short name of what not all of the same name have: of values, else of options, else of
    /// variables.
    fn mark(&self, same: &[&Self]) -> Option<String> {
        let rare = |of: fn(&Self) -> &Vec<String>| {
            let rare = of(self)
                .iter()
                .filter(|word| !same.iter().all(|other| of(other).contains(word)));
            let rare: Vec<&str> = rare.map(String::as_str).collect();
            let mark = kind::word(rare.join("-").as_bytes());
            (!rare.is_empty() && mark.len() <= MAX_MARK).then_some(mark)
        };
        rare(|one| &one.values)
            .or_else(|| rare(|one| &one.options))
            .or_else(|| rare(|one| &one.variables))
    }
}

/// Writes the contract, laid out as `vplan fmt` does but for its blank lines.
#[must_use]
pub fn write(title: &str, found: &Declarations, checks: &[Check]) -> String {
    let head =
        "Proposed from what the repository declares; the comment above a check names its source.";
    write_under(head, title, found, checks)
}

/// Writes the contract under another sentence.
#[must_use]
pub fn write_under(head: &str, title: &str, found: &Declarations, checks: &[Check]) -> String {
    let mut out = String::from("vplan 1\n");
    if !title.is_empty() {
        let title = visible(title.as_bytes());
        out.push_str(&format!("contract {}\n", quote_string(&title)));
    }
    out.push_str(&format!("\n# {}\n", visible(head.as_bytes())));
    let common = common_env(found, checks);
    let minutes = |check: &Check| {
        found
            .candidates
            .get(check.candidate)
            .and_then(|c| c.timeout)
            .unwrap_or(0)
    };
    if !checks.is_empty() {
        // Long enough for a test suite; a check that hangs is still found.
        let most = checks.iter().map(minutes).max().unwrap_or(0).clamp(20, 60);
        out.push_str("\ndefaults {\n");
        for (name, value) in &common {
            out.push_str(&format!("  {}\n", env_text(name, value)));
        }
        out.push_str(&format!("  timeout {most}m\n}}\n"));
    }
    let mut own = found.clone();
    for candidate in &mut own.candidates {
        candidate
            .env
            .retain(|name, value| common.get(name) != Some(value));
    }
    let found = &own;
    let by_candidate: BTreeMap<usize, &str> = checks
        .iter()
        .map(|check| (check.candidate, &*check.name))
        .collect();
    let mut written: BTreeSet<&Condition> = BTreeSet::new();
    for check in checks {
        if !written.insert(&check.condition) {
            continue;
        }
        let same: Vec<&Check> = checks
            .iter()
            .filter(|other| other.condition == check.condition)
            .collect();
        out.push('\n');
        match &check.condition {
            Condition::Always => {
                let all = same
                    .iter()
                    .map(|one| text_of(found, one, &by_candidate, ""));
                out.push_str(&all.collect::<Vec<_>>().join("\n"));
            }
            Condition::Changed(globs, why) => {
                out.push_str(&format!("# {}\n", visible(why.as_bytes())));
                let list: Vec<_> = globs.iter().map(|glob| glob_text(glob)).collect();
                out.push_str(&format!("whenChangedAny {} {{\n", list.join(" ")));
                let all = same
                    .iter()
                    .map(|one| text_of(found, one, &by_candidate, "  "));
                out.push_str(&all.collect::<Vec<_>>().join("\n"));
                out.push_str("}\n");
            }
        }
    }
    let left_out = left_out(found);
    if !left_out.is_empty() {
        out.push('\n');
        out.extend(left_out.iter().map(|line| format!("# {line}\n")));
    }
    out
}

fn glob_text(glob: &str) -> String {
    quote_literal(glob).into_owned()
}

/// The variables that all checks have in common.
fn common_env(found: &Declarations, checks: &[Check]) -> BTreeMap<String, String> {
    let mut all = checks
        .iter()
        .filter_map(|check| found.candidates.get(check.candidate))
        .map(|candidate| &candidate.env);
    let Some(first) = all.next().filter(|_| checks.len() > 1) else {
        return BTreeMap::new();
    };
    let mut common = first.clone();
    for env in all {
        common.retain(|name, value| env.get(name) == Some(value));
    }
    common.retain(|name, value| is_env_name(name) && !value.contains('\0'));
    common
}

fn env_text(name: &str, value: &str) -> String {
    let env = Env::from([(name.to_owned(), Word::new(value.as_bytes()))]);
    let pair = Command::Argv {
        env,
        pieces: Vec::new(),
    };
    format!("env {}", pair.to_text().trim_end())
}

/// Writes the contract of a trial: these checks and what they need, each for every change, with the
/// files of the tree where a check takes the changed ones. `linked`: folders for a checkout.
#[must_use]
pub fn for_trial(
    found: &Declarations,
    checks: &[Check],
    wanted: &BTreeSet<String>,
    tree: &Tree,
    linked: &[&str],
) -> String {
    let by_candidate: BTreeMap<usize, &str> = checks
        .iter()
        .map(|check| (check.candidate, &*check.name))
        .collect();
    let mut chosen: BTreeSet<usize> = checks
        .iter()
        .filter(|check| wanted.contains(&check.name))
        .map(|check| check.candidate)
        .collect();
    for _ in 0..checks.len() {
        let needed = chosen
            .iter()
            .filter_map(|index| found.candidates.get(*index));
        let needed: Vec<usize> = needed.flat_map(|c| c.needs.clone()).collect();
        chosen.extend(needed);
    }
    let mut out = String::from("vplan 1\ndefaults {\n  timeout 60m\n}\n");
    if !linked.is_empty() {
        let list: Vec<_> = linked.iter().map(|name| quote_string(name)).collect();
        out.push_str(&format!("linked {}\n", list.join(" ")));
    }
    for check in checks
        .iter()
        .filter(|check| chosen.contains(&check.candidate))
    {
        let mut one = found.candidate(check.candidate).clone();
        if let Work::Words(words) = &mut one.work {
            let files = files_for(tree, &one.dir, &check.condition);
            let expanded = words.iter().flat_map(|word| {
                if word == "{changed}" {
                    files.clone()
                } else {
                    vec![word.clone()]
                }
            });
            *words = expanded.collect();
        }
        out.push_str(&text_of_one(&one, check, &by_candidate, ""));
    }
    out
}

/// The files of a tree that a condition selects, relative to a directory; at most
/// [`MOST_TRIED_FILES`].
fn files_for(tree: &Tree, dir: &RepoPath, condition: &Condition) -> Vec<String> {
    let (globs, not): (Vec<Glob>, Vec<Glob>) = match condition {
        Condition::Always => (Glob::parse("**").into_iter().collect(), Vec::new()),
        Condition::Changed(list, _) => {
            let parse = |text: &String| Glob::parse(text.trim_start_matches('!')).ok();
            let (no, yes): (Vec<&String>, Vec<&String>) =
                list.iter().partition(|text| text.starts_with('!'));
            let all = |list: Vec<&String>| list.into_iter().filter_map(parse).collect();
            (all(yes), all(no))
        }
    };
    let selected = tree.files.iter().filter(|file| {
        globs.iter().any(|glob| glob.matches(file)) && !not.iter().any(|glob| glob.matches(file))
    });
    let relative = selected.filter_map(|file| {
        let rest = if dir.is_root() {
            Some(file.as_bytes())
        } else {
            file.below(dir)
        };
        String::from_utf8(rest?.to_vec()).ok()
    });
    relative.take(MOST_TRIED_FILES).collect()
}

/// Writes a check with its comment.
fn text_of(
    found: &Declarations,
    check: &Check,
    names: &BTreeMap<usize, &str>,
    indent: &str,
) -> String {
    let one = found.candidates.get(check.candidate);
    one.map(|one| text_of_one(one, check, names, indent))
        .unwrap_or_default()
}

fn text_of_one(
    one: &Candidate,
    check: &Check,
    names: &BTreeMap<usize, &str>,
    indent: &str,
) -> String {
    let mut settings = Vec::new();
    if let (false, Ok(dir)) = (one.dir.is_root(), std::str::from_utf8(one.dir.as_bytes())) {
        settings.push(format!("dir {}", quote_string(dir)));
    }
    for (name, value) in one
        .env
        .iter()
        .filter(|(name, value)| is_env_name(name) && !value.contains('\0'))
    {
        settings.push(env_text(name, value));
    }
    let list = |items: &[String]| {
        let list: Vec<_> = items.iter().map(|item| quote_literal(item)).collect();
        list.join(" ")
    };
    let is_glob =
        |text: &&String| !text.contains('\0') && Glob::parse(text.trim_start_matches('!')).is_ok();
    // `produces` has no globs that exclude.
    let produces: Vec<String> = (one.produces.iter())
        .filter(|glob| is_glob(glob) && !glob.starts_with('!'))
        .cloned()
        .collect();
    let unchanged: Vec<String> = one.unchanged.iter().filter(is_glob).cloned().collect();
    let needs: Vec<&str> = one
        .needs
        .iter()
        .filter_map(|n| names.get(n).copied())
        .collect();
    settings.extend((!needs.is_empty()).then(|| format!("needs {}", needs.join(" "))));
    settings.extend((!produces.is_empty()).then(|| format!("produces {}", list(&produces))));
    let inputs = one.inputs();
    settings.extend((!inputs.is_empty()).then(|| format!("inputs {}", list(&inputs))));
    settings
        .extend((!one.tool_path.is_empty()).then(|| format!("tool-path {}", list(&one.tool_path))));
    settings.extend((!unchanged.is_empty()).then(|| format!("unchanged {}", list(&unchanged))));
    settings.extend(one.warning.then(|| "severity warning".to_owned()));
    settings.extend(one.setup.then(|| "setup".to_owned()));
    settings.extend((one.tier > 0).then(|| format!("tier {}", one.tier)));
    let comment = comment(one);
    let command = command_text(&one.work);
    let name = &check.name;
    if check.kind == Kind::Run && settings.is_empty() {
        return format!("{indent}# {comment}\n{indent}check {name}: {command}\n");
    }
    let settings: String = settings
        .iter()
        .map(|s| format!("{indent}  {s}\n"))
        .collect();
    format!(
        "{indent}# {comment}\n{indent}check {name} {{\n{indent}  {} {command}\n{settings}{indent}}}\n",
        check.kind.verb()
    )
}

/// The comment above a check: its sources, then what was changed.
#[must_use]
pub fn comment(one: &Candidate) -> String {
    let place = |origin: &super::candidate::Origin| format!("{}:{}", origin.file, origin.line);
    let mut parts = vec![place(&one.origin)];
    let mut also: Vec<String> = one.also.iter().map(place).collect();
    also.dedup();
    also.retain(|other| *other != place(&one.origin));
    if !also.is_empty() {
        let more = also.len().saturating_sub(3);
        also.truncate(3);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        parts.push(format!("also {}{more}", also.join(", ")));
    }
    parts.extend(one.remarks().cloned());
    visible(parts.join("; ").as_bytes()).replace('\n', " ")
}

/// The command as the contract has it.
#[must_use]
pub fn command_text(work: &Work) -> String {
    match work {
        Work::Words(words) => {
            let pieces = words.iter().map(|word| {
                if word == "{changed}" {
                    Piece::Changed
                } else {
                    Piece::Word(Word::new(word.as_bytes()))
                }
            });
            Command::Argv {
                env: Env::new(),
                pieces: pieces.collect(),
            }
            .to_text()
        }
        Work::Shell(text) => text.clone(),
    }
}

/// Whether the contract can say this command on a line.
#[must_use]
pub fn can_be_said(work: &Work) -> bool {
    match work {
        Work::Words(words) => {
            !words.iter().any(|word| word.contains('\0'))
                && matches!(parse_command(&command_text(work)), Command::Argv { .. })
        }
        Work::Shell(text) => is_shell_line(text),
    }
}

/// Lines about what was left out: by reason, the most frequent first.
#[must_use]
pub fn left_out(found: &Declarations) -> Vec<String> {
    let mut groups: BTreeMap<Reason, Vec<String>> = BTreeMap::new();
    let mut told = BTreeSet::new();
    for candidate in &found.candidates {
        if let State::Out(reason, _) = &candidate.state {
            // What all jobs begin with is one command.
            let place = (&candidate.origin.file, candidate.origin.line);
            let text = format!("`{}`", candidate.text());
            if told.insert((place, *reason, text.clone())) {
                groups.entry(*reason).or_default().push(text);
            }
        }
    }
    for skipped in &found.skipped {
        groups
            .entry(skipped.reason)
            .or_default()
            .push(skipped.what.clone());
    }
    let mut groups: Vec<(Reason, Vec<String>)> = groups
        .into_iter()
        .filter(|(reason, _)| *reason != Reason::Nothing)
        .collect();
    groups.sort_by_key(|(reason, all)| (std::cmp::Reverse(all.len()), *reason));
    let more = groups.len().saturating_sub(MAX_LEFT_OUT);
    let mut lines: Vec<String> = groups
        .into_iter()
        .take(MAX_LEFT_OUT)
        .map(|(reason, all)| {
            let first = all.first().map(|text| shorten(text)).unwrap_or_default();
            let number = all.len();
            if number == 1 {
                format!("Left out, {}: {first}", reason.sentence())
            } else {
                format!("Left out, {}: {number}, such as {first}", reason.sentence())
            }
        })
        .collect();
    if more > 0 {
        lines.push(format!(
            "And for {more} more reasons: `vplan init --stdout -v` says all of it."
        ));
    }
    lines
}

/// Shows a text on a line, in at most 60 characters.
#[must_use]
pub fn shorten(text: &str) -> String {
    let line = visible(text.replace('\n', " ").as_bytes());
    if line.chars().count() <= 60 {
        return line;
    }
    let cut: String = line.chars().take(59).collect();
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::super::candidate::{Belief, Origin};
    use super::super::proposal::close;
    use super::super::tree::Tree;
    use super::*;
    use crate::base::diagnostic::Diagnostics;
    use crate::base::path::RepoPath;
    use crate::base::source::{Source, Sources};
    use crate::contract::validate::validate;
    use crate::front::lower;
    use proptest::prelude::*;

    fn candidate(words: Vec<String>, dir: &str, label: &str) -> Candidate {
        let origin = Origin {
            file: RepoPath::parse(b"a\"b/ci.yml").unwrap(),
            line: 3,
            label: label.to_owned(),
        };
        let dir = RepoPath::parse(dir.as_bytes()).unwrap_or_else(|_| RepoPath::root());
        Candidate::new(origin, Belief::Workflow, Work::Words(words), dir)
    }

    fn valid(found: Declarations, title: &str) -> String {
        let proposal = close(&Tree::default(), found, title);
        let mut sources = Sources::default();
        let id = sources.add(Source::new("contracts/verify.vplan", &proposal.text));
        let mut sink = Diagnostics::default();
        let draft = lower(&sources, id, &mut sink);
        let contract = validate(&draft, &sources, &mut sink);
        assert!(
            contract.is_some() && !sink.has_errors(),
            "{}\n{sink:?}",
            proposal.text
        );
        proposal.text
    }

    proptest! {
        /// Whatever is declared, the text is a contract.
        #[test]
        fn a_proposal_is_a_contract(
            commands in proptest::collection::vec(
                (proptest::collection::vec(".{0,12}", 1..4), ".{0,8}", ".{0,8}", any::<bool>(), ".{0,6}"),
                0..6,
            ),
            title in ".{0,8}",
        ) {
            let mut found = Declarations::default();
            for (words, dir, label, is_shell, value) in commands {
                let mut one = candidate(words, &dir, &label);
                if is_shell {
                    one.work = Work::Shell(one.text());
                }
                one.env.insert("A_B".to_owned(), value.clone());
                one.notes.push(label.clone());
                one.produces.push(value);
                one.needs.push(0);
                found.candidates.push(one);
            }
            valid(found, &title);
        }
    }

    #[test]
    fn what_would_join_the_next_line_is_not_said() {
        for (text, is_said) in [
            ("a && b", true),
            ("a \\b", true),
            ("a \\", false),
            ("a \\ ", false),
            ("a \\\t ", false),
            (" ", false),
        ] {
            assert_eq!(
                can_be_said(&Work::Shell(text.to_owned())),
                is_said,
                "{text:?}"
            );
        }
    }

    #[test]
    fn names_are_unique_and_short() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mut found = Declarations::default();
        for (command, dir) in [
            ("cargo test --workspace", "."),
            ("cargo test --doc", "."),
            ("npm run test", "web"),
            ("npm run test", "api"),
            ("uv run ruff format --check", "."),
            ("ruff check .", "."),
            ("go vet ./...", "."),
            ("./scripts/check-all.sh", "."),
            ("make lint", "."),
        ] {
            found.candidates.push(candidate(words(command), dir, "job"));
        }
        let checks = checks(&found, &BTreeMap::new());
        let mut names: Vec<&str> = checks.iter().map(|check| &*check.name).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "api-test",
                "check-all",
                "go-vet",
                "lint",
                "ruff",
                "ruff-format",
                "test",
                "test-doc",
                "web-test"
            ]
        );
    }
}
