//! Looks through a candidate to the programs that it runs, and judges those.
//!
//! INVARIANT (seen through): a candidate is kept only when every command that it is known to run in
//! the end may be a check. A task with one that may not is replaced by its other commands.

use super::candidate::{Belief, Candidate, Declarations, Leaf, Reason, State, When, Work};
use super::hooks;
use super::judge::{self, Judged};
use super::launch;
use super::script::{self, Job, Script};
use super::shell;
use super::tasks::{self, Body, Line};
use super::text::shorten;
use super::tree::Tree;
use crate::base::path::RepoPath;
use crate::check::tool::Invocation;
use std::collections::{BTreeMap, BTreeSet};

/// The deepest nesting of tasks in tasks.
const DEEPEST: usize = 4;
/// The most candidates that are looked at.
const MOST: usize = 4_000;
/// The most programs of one candidate.
const MOST_LEAVES: usize = 100;

/// Decides about each open candidate by the programs that it runs in the end. A task with a command
/// that may not be a check is replaced by its other commands.
pub fn through(tree: &Tree, found: &mut Declarations) {
    let mut index = 0;
    while index < found.candidates.len().min(MOST) {
        if let Some(candidate) = found.candidates.get(index).cloned()
            && candidate.state == State::Open
            && candidate.leaves.is_empty()
        {
            decide(tree, index, candidate, found);
        }
        index += 1;
    }
    for candidate in found.candidates.iter_mut().skip(MOST) {
        candidate.leave_out(Reason::Size, "more commands than anybody reads");
    }
}

/// Decides about one candidate.
fn decide(tree: &Tree, index: usize, mut candidate: Candidate, found: &mut Declarations) {
    let words = match &candidate.work {
        Work::Words(words) => words.clone(),
        Work::Shell(text) => {
            let judged = judge::text(tree, &candidate.dir, &candidate.env, text);
            match judged {
                Judged::Never(reason, detail) => candidate.leave_out(reason, detail),
                Judged::Generates if candidate.unchanged.is_empty() => {
                    candidate.leave_out(Reason::Writes, "generates files");
                }
                _ => match of_text(tree, &candidate.dir, &candidate.env, text, 0) {
                    Ok(seen) => seen.put_into(&mut candidate),
                    Err(offence) => candidate.leave_out(offence.reason, offence.detail),
                },
            }
            return replace(found, index, candidate);
        }
    };
    if let Some(runner) = hooks::started(&words) {
        hooks::start(tree, &runner, Belief::Started, found);
        candidate.leave_out(Reason::Writes, "its hooks are taken one by one");
        return replace(found, index, candidate);
    }
    match judge::command(tree, &candidate.dir, &candidate.env, &words) {
        Judged::Fine => {}
        Judged::Never(reason, detail) => {
            candidate.leave_out(reason, detail);
            return replace(found, index, candidate);
        }
        Judged::Generates => {
            if candidate.unchanged.is_empty() {
                candidate.leave_out(Reason::Writes, "generates files");
                return replace(found, index, candidate);
            }
        }
        Judged::Checking(words, note) => {
            let (env, words) = assignments(words);
            candidate.env.extend(env);
            candidate.notes.push(note);
            // A comparison with git behind it is what the checking form does by itself.
            candidate.unchanged.clear();
            candidate.work = Work::Words(words);
        }
        Judged::CheckingShell(text, note) => {
            candidate.notes.push(note);
            candidate.unchanged.clear();
            of_text(tree, &candidate.dir, &candidate.env, &text, 0)
                .unwrap_or_default()
                .put_into(&mut candidate);
            candidate.work = Work::Shell(text);
            return replace(found, index, candidate);
        }
    }
    let words = candidate.words().unwrap_or_default().to_vec();
    match of_words(tree, &candidate.dir, &candidate.env, &words, 0) {
        Ok(seen) => {
            seen.put_into(&mut candidate);
            replace(found, index, candidate);
        }
        Err(offence) => split(tree, index, candidate, &words, offence, found),
    }
}

fn replace(found: &mut Declarations, index: usize, candidate: Candidate) {
    if let Some(place) = found.candidates.get_mut(index) {
        *place = candidate;
    }
}

/// Takes leading assignments off.
fn assignments(words: Vec<String>) -> (BTreeMap<String, String>, Vec<String>) {
    let peeled = launch::peel(&words);
    let first = peeled.starts.first().copied().unwrap_or_default();
    let pair = |word: &String| {
        let (name, value) = word.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    };
    let env = words.iter().take(first).filter_map(pair).collect();
    (env, words.into_iter().skip(first).collect())
}

/// A command that may not be a check, in what a candidate runs.
struct Offence {
    reason: Reason,
    detail: String,
}

/// What a command runs in the end.
#[derive(Default)]
struct LookedThrough {
    leaves: Vec<Leaf>,
    /// What could not be looked through, with the reasons.
    unseen: Vec<String>,
}

impl LookedThrough {
    fn of(leaf: Leaf) -> Self {
        Self {
            leaves: vec![leaf],
            unseen: Vec::new(),
        }
    }

    fn add(&mut self, other: LookedThrough) {
        self.leaves.extend(other.leaves);
        for why in other.unseen {
            if !self.unseen.contains(&why) {
                self.unseen.push(why);
            }
        }
    }

    fn put_into(self, candidate: &mut Candidate) {
        candidate.leaves = self.leaves;
        candidate.unseen = self.unseen;
    }
}

/// Finds the programs that an argument vector runs in the end.
fn of_words(
    tree: &Tree,
    dir: &RepoPath,
    env: &BTreeMap<String, String>,
    words: &[String],
    depth: usize,
) -> Result<LookedThrough, Offence> {
    let peeled = launch::peel(words);
    let mut env = env.clone();
    env.extend(peeled.env.clone());
    let dir = peeled.dirs.iter().fold(dir.clone(), |dir, to| {
        dir.join(to.as_bytes()).unwrap_or(dir)
    });
    if let Some(text) = &peeled.text {
        return of_text(tree, &dir, &env, text, depth);
    }
    let program = words.get(peeled.at()..).unwrap_or_default().to_vec();
    let makes_environment = program
        .first()
        .is_some_and(|first| matches!(launch::name(first), "nox" | "tox"));
    let leaf = |words: Vec<String>| Leaf {
        dir: dir.clone(),
        env: env.clone(),
        words,
    };
    // A package's script may be behind a launcher that is one of its own (`pnpm run x`).
    let body = match tasks::body(tree, &dir, &program) {
        Body::NotATask if peeled.at() > 0 => tasks::body(tree, &dir, words),
        body => body,
    };
    match body {
        Body::NotATask => Ok(LookedThrough::of(leaf(program))),
        Body::Opaque(why) => Ok(unseen(leaf(program), &why)),
        Body::Lines(_) if depth >= DEEPEST => {
            let why = format!("it is more than {DEEPEST} tasks deep");
            Ok(unseen(leaf(program), &why))
        }
        Body::Lines(lines) => {
            let mut seen = LookedThrough::default();
            for line in lines.iter().filter(|line| !line.ignored) {
                let mut inner = env.clone();
                inner.extend(line.env.clone());
                let judged = judge::text(tree, &line.dir, &inner, &line.text);
                match offends(judged) {
                    // Its lines need the environment that it makes: what measures stays with them.
                    Err(offence) if makes_environment && offence.reason == Reason::Measures => {
                        continue;
                    }
                    other => other?,
                }
                seen.add(of_text(tree, &line.dir, &inner, &line.text, depth + 1)?);
                if seen.leaves.len() > MOST_LEAVES {
                    break;
                }
            }
            Ok(seen)
        }
    }
}

/// A program that is a task and cannot be read.
fn unseen(leaf: Leaf, why: &str) -> LookedThrough {
    let command = leaf.words.join(" ");
    let why = format!("what `{}` runs is not known: {why}", shorten(&command));
    LookedThrough {
        leaves: vec![leaf],
        unseen: vec![why],
    }
}

/// Finds the programs that shell text runs in the end; the text itself has been judged.
fn of_text(
    tree: &Tree,
    dir: &RepoPath,
    env: &BTreeMap<String, String>,
    text: &str,
    depth: usize,
) -> Result<LookedThrough, Offence> {
    let read = shell::read(text);
    let mut seen = LookedThrough::default();
    let mut here = dir.clone();
    for simple in read.commands.iter().take(MOST_LEAVES) {
        let words = simple.shown();
        let Some(first) = words.first() else { continue };
        if first == "cd" {
            let to = words.get(1).map_or("", String::as_str);
            here = here.join(to.as_bytes()).unwrap_or(here);
            continue;
        }
        if read.functions.contains(first) || is_shells_own(first) {
            continue;
        }
        let mut inner = env.clone();
        let set = simple
            .env
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), value.literal()?)));
        inner.extend(set);
        seen.add(of_words(tree, &here, &inner, &words, depth)?);
        if seen.leaves.len() > MOST_LEAVES {
            break;
        }
    }
    Ok(seen)
}

/// Commands of a shell that do no work of their own.
fn is_shells_own(word: &str) -> bool {
    [
        ":", "[", "[[", "break", "continue", "declare", "echo", "eval", "exit", "export", "false",
        "local", "popd", "printf", "pushd", "read", "return", "set", "shift", "source", "test",
        "trap", "true", "umask", "unset", "wait",
    ]
    .contains(&word)
}

/// Whether a command inside a task may be part of a check: there it cannot be rewritten.
fn offends(judged: Judged) -> Result<(), Offence> {
    let (reason, detail) = match judged {
        Judged::Fine => return Ok(()),
        Judged::Never(reason, detail) => (reason, detail),
        Judged::Checking(_, note) | Judged::CheckingShell(_, note) => (Reason::Writes, note),
        Judged::Generates => (Reason::Writes, "generates files".to_owned()),
    };
    Err(Offence { reason, detail })
}

/// Replaces a task by its commands, each on its own.
fn split(
    tree: &Tree,
    index: usize,
    mut candidate: Candidate,
    words: &[String],
    offence: Offence,
    found: &mut Declarations,
) {
    let peeled = launch::peel(words);
    let dir = peeled.dirs.iter().fold(candidate.dir.clone(), |dir, to| {
        dir.join(to.as_bytes()).unwrap_or(dir)
    });
    let program = words.get(peeled.at()..).unwrap_or_default();
    let body = match tasks::body(tree, &dir, program) {
        Body::NotATask if peeled.at() > 0 => tasks::body(tree, &dir, words),
        body => body,
    };
    if let Body::Lines(lines) = body {
        let argv: Vec<&str> = words.iter().map(String::as_str).collect();
        let is_script = Invocation::of(&argv).script().is_some();
        let mut seen = BTreeSet::new();
        for line in lines.iter().filter(|line| !line.ignored) {
            if !seen.insert((line.origin.clone(), line.text.clone())) {
                continue;
            }
            take(tree, &candidate, line, is_script, found);
        }
    }
    candidate.leave_out(offence.reason, offence.detail);
    replace(found, index, candidate);
}

/// Takes the commands of a line of a task as candidates.
fn take(tree: &Tree, whole: &Candidate, line: &Line, is_script: bool, found: &mut Declarations) {
    let mut env = whole.env.clone();
    env.extend(line.env.clone());
    let mut tool_path = whole.tool_path.clone();
    if is_script {
        // A package manager puts the programs of its dependencies in front of PATH.
        tool_path.push("node_modules/.bin".to_owned());
    }
    let mut job = Job {
        file: line.origin.file.clone(),
        belief: whole.belief.min(Belief::Started),
        name: line.origin.label.clone(),
        when: When::Unsaid,
        tier: whole.tier,
        warning: whole.warning,
        timeout: whole.timeout,
        notes: Vec::new(),
        secrets: Vec::new(),
        services: Vec::new(),
        exported: BTreeMap::new(),
        tool_path,
        edited: None,
        built: whole.needs.clone(),
        since_compared: Vec::new(),
    };
    let script = Script {
        text: &line.text,
        line: line.origin.line,
        label: line.origin.label.clone(),
        dir: line.dir.clone(),
        env,
        condition: None,
    };
    let before = found.candidates.len();
    script::read(tree, &mut job, &script, found);
    for candidate in found.candidates.iter_mut().skip(before) {
        candidate.when = whole.when.clone();
        candidate.also.push(whole.origin.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::super::candidate::Origin;
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text.as_bytes()).unwrap()
    }

    fn looked(files: &[(&str, &str)], command: &str) -> Declarations {
        let tree = Tree::of(files);
        let origin = Origin {
            file: path(".github/workflows/ci.yml"),
            line: 1,
            label: "job".to_owned(),
        };
        let words = command.split(' ').map(str::to_owned).collect();
        let mut found = Declarations::default();
        let one = Candidate::new(
            origin,
            Belief::Workflow,
            Work::Words(words),
            RepoPath::root(),
        );
        found.candidates.push(one);
        through(&tree, &mut found);
        found
    }

    fn leaves(found: &Declarations) -> Vec<String> {
        let all = found.candidates.iter().filter(|c| c.state == State::Open);
        all.flat_map(|c| c.leaves.iter().map(|leaf| leaf.words.join(" ")))
            .collect()
    }

    const PACKAGE: &str = r#"{"scripts":{
        "lint":"eslint .","test":"vitest run","fix":"eslint --fix .","check":"npm run lint && npm run test",
        "all":"npm run check && npm run fix","release":"npm publish","loop":"npm run loop",
        "ci":"npm run lint && npm run release && vitest run"}}"#;
    const MAKEFILE: &str = "ci: lint test\nlint:\n\tcargo clippy\ntest:\n\t@cargo test\nship: test\n\tkubectl apply -f x\n";

    #[test]
    fn tasks_are_looked_through() {
        let files = [("package.json", PACKAGE), ("Makefile", MAKEFILE)];
        for (command, want) in [
            ("npm run lint", &["eslint ."][..]),
            ("npm run check", &["eslint .", "vitest run"]),
            ("env CI=1 npm run check", &["eslint .", "vitest run"]),
            ("make ci", &["cargo clippy", "cargo test"]),
            ("cargo test", &["cargo test"]),
        ] {
            let found = looked(&files, command);
            assert_eq!(leaves(&found), want, "{command}");
            assert_eq!(found.candidates.len(), 1, "{command}");
        }
    }

    #[test]
    fn what_offends_is_out_and_the_rest_is_taken_alone() {
        let files = [("package.json", PACKAGE), ("Makefile", MAKEFILE)];
        for (command, reason, rest) in [
            ("npm run fix", Reason::Writes, &["eslint ."][..]),
            ("npm run release", Reason::Publishes, &[]),
            ("npm run ci", Reason::Publishes, &["eslint .", "vitest run"]),
            (
                "npm run all",
                Reason::Writes,
                &["eslint .", "vitest run", "eslint ."],
            ),
            ("make ship", Reason::Deploys, &["cargo test"]),
            ("npm ci", Reason::Installs, &[]),
        ] {
            let found = looked(&files, command);
            let first = found.candidates.first().unwrap();
            assert!(
                matches!(&first.state, State::Out(r, _) if *r == reason),
                "{command}: {:?}",
                first.state
            );
            assert_eq!(leaves(&found), rest, "{command}: {:?}", found.candidates);
        }
        // A script that runs itself has an end.
        looked(&files, "npm run loop");
    }

    #[test]
    fn what_cannot_be_looked_through_is_remarked() {
        let makefile =
            "a: ; $(MAKE) b\nb: ; make c\nc: ; make d\nd: ; make e\ne: ; make f\nf: ; cargo test\n";
        let files = [("package.json", PACKAGE), ("Makefile", makefile)];
        for (command, want) in [
            (
                "npm run nothing",
                "what `npm run nothing` runs is not known: ",
            ),
            (
                "make b",
                "what `make f` runs is not known: it is more than 4 tasks deep",
            ),
        ] {
            let found = looked(&files, command);
            let one = found.candidates.first().unwrap();
            assert_eq!(one.state, State::Open, "{command}");
            let text = crate::declared::text::comment(one);
            assert!(text.contains(want), "{command}: {text}");
        }
        for command in ["make c", "npm run check", "cargo test"] {
            let found = looked(&files, command);
            let one = found.candidates.first().unwrap();
            assert_eq!(one.unseen, Vec::<String>::new(), "{command}");
        }
    }
}
