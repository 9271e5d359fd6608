//! Turns a check into a step, with all its settings filled in.

use super::inclusion::RequestedCommand;
use super::{Origin, Step, StepSource};
use std::collections::BTreeSet;
use vplan_base::command::{Command, Env, Piece, to_text};
use vplan_base::name::slug;
use vplan_base::path::RepoPath;
use vplan_base::setting::Row;
use vplan_base::word::{Word, visible};
use vplan_check::request::Assertion;
use vplan_check::{Kind, file};
use vplan_contract::{Body, Check};

/// The identity of a check's work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity<'a> {
    words: Words<'a>,
    env: &'a Env,
    dir: &'a RepoPath,
    kind: Kind,
}

impl Identity<'_> {
    /// The identity of a request's command that equals a check: the same words, whichever verb the
    /// contract gives them. A shell's text and a judge equal none.
    pub(super) fn into_requested(self) -> Option<Self> {
        use Kind::{Compile, File, Judge, Lint, Run, Shell, Test};
        match self.kind {
            Compile | Lint | Run | Test => Some(Self { kind: Run, ..self }),
            File | Judge | Shell => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Words<'a> {
    Argv(&'a [Piece]),
    Text(&'a str),
}

fn words(command: &Command) -> Words<'_> {
    match command {
        Command::Argv { pieces, .. } => Words::Argv(pieces),
        Command::Unsupported { text, .. } => Words::Text(text.trim_matches([' ', '\t', '\n'])),
    }
}

/// Returns the identity of a check that starts a command; other checks equal no other.
pub(super) fn identity_of_check(check: &Check) -> Option<Identity<'_>> {
    let Body::Command(command) = &check.body else {
        return None;
    };
    Some(Identity {
        words: words(command),
        env: &check.env,
        dir: &check.dir,
        kind: check.kind,
    })
}

/// Returns the identity of a command of the request, with all its variables ([`env_of_command`]).
pub(super) fn identity_of_command<'a>(
    asked: &'a RequestedCommand<'_>,
    env: &'a Env,
) -> Identity<'a> {
    Identity {
        words: words(asked.command),
        env,
        dir: &asked.carried.dir,
        kind: Kind::Run,
    }
}

/// Returns the variables of a command of the request: those that were exported before it, and its
/// own.
pub(super) fn env_of_command(asked: &RequestedCommand<'_>) -> Env {
    match asked.command {
        Command::Argv { env, .. } => asked.carried.env_of(env),
        Command::Unsupported { .. } => asked.carried.env.clone(),
    }
}

/// Makes an id from a command's words (`pnpm-run-lint`), unique by `-2`, `-3`…
pub(super) fn id_of_command(command: &Command, taken: &mut BTreeSet<String>) -> String {
    const LONGEST: usize = 60;
    let text = match command {
        Command::Argv { pieces, .. } => {
            let words = pieces.iter().map(|p| match p {
                Piece::Word(word) => String::from_utf8_lossy(word.as_bytes()).into_owned(),
                Piece::Changed => "changed".to_owned(),
            });
            words.collect::<Vec<_>>().join("-")
        }
        Command::Unsupported { text, .. } => text.clone(),
    };
    unique(slug(&text, LONGEST, "run"), taken)
}

/// Adds `-2`, `-3`… to an id until it is unique.
pub(super) fn unique(id: String, taken: &mut BTreeSet<String>) -> String {
    if taken.insert(id.clone()) {
        return id;
    }
    let mut next = (2_u64..).map(|n| format!("{id}-{n}"));
    let free = next.find(|next| taken.insert(next.clone()));
    free.unwrap_or(id)
}

/// Makes the steps of a contract's check: one, or one for each batch of files. Constraints and
/// reasons are added later.
pub(super) fn of_check(check: &Check, file: &str, files: &[Word]) -> Vec<Step> {
    let mut base = Step {
        dir: check.dir.clone(),
        env: check.env.clone(),
        exit: check.exit.clone(),
        format_definition: check.format_definition.clone(),
        id: check.id.clone(),
        pass_env: check.pass_env.clone(),
        report: check.report.clone(),
        skip_exit: check.skip_exit.clone(),
        source: Some(StepSource {
            column: check.column,
            file: file.to_owned(),
            line: check.line,
        }),
        tags: check.tags.clone(),
        tool_path: check.tool_path.clone(),
        ..empty(check.kind, Origin::Contract)
    };
    for row in Row::ALL {
        if let Some(value) = check.value(*row) {
            base.put(*row, value.into_owned());
        }
    }
    base.timeout_ms = base.timeout_ms.max(1);
    match &check.body {
        Body::Command(command) => of_pieces(base, command, files),
        Body::Shell(text) => {
            let argv = ["sh", "-c", text.as_str()].map(Word::from);
            vec![with_argv(base, argv.to_vec())]
        }
        Body::File { path, assertions } => {
            let command = file_line(path, assertions);
            vec![Step {
                assertions: assertions.clone(),
                command,
                path: Some(path.clone()),
                ..base
            }]
        }
        Body::Judge(question) => {
            let command = format!("judge \"{}\"", visible(question));
            vec![Step {
                command,
                question: Some(question.clone()),
                ..base
            }]
        }
    }
}

/// Makes the steps of a command of the request, with a check's default settings.
pub(super) fn of_command(asked: &RequestedCommand<'_>, files: &[Word]) -> Vec<Step> {
    let (kind, min_tests) = asked.demand();
    let base = Step {
        dir: asked.carried.dir.clone(),
        env: env_of_command(asked),
        exit: vec![0],
        id: asked.id.clone(),
        min_tests,
        timeout_ms: kind.default_timeout_ms(),
        ..empty(kind, asked.origin)
    };
    of_pieces(base, asked.command, files)
}

fn of_pieces(base: Step, command: &Command, files: &[Word]) -> Vec<Step> {
    let pieces = match command {
        Command::Argv { pieces, .. } => pieces,
        Command::Unsupported { text, unsupported } => {
            return vec![Step {
                command: text.clone(),
                unsupported: Some(unsupported.clone()),
                ..base
            }];
        }
    };
    let mut batches = super::changed::batches(pieces, files);
    if batches.len() <= 1 {
        let argv = batches.pop();
        return argv.map(|argv| with_argv(base, argv)).into_iter().collect();
    }
    let name = base.id.clone();
    let batch = |(n, argv): (usize, Vec<Word>)| {
        let step = Step {
            batch_of: Some(name.clone()),
            id: format!("{name}#{}", n + 1),
            ..base.clone()
        };
        with_argv(step, argv)
    };
    batches.into_iter().enumerate().map(batch).collect()
}

fn with_argv(step: Step, argv: Vec<Word>) -> Step {
    Step {
        command: to_text(&step.env, &argv),
        argv: Some(argv),
        ..step
    }
}

/// Creates a step with only its kind and origin set.
pub fn empty(kind: Kind, origin: Origin) -> Step {
    Step {
        kind,
        origin,
        timeout_ms: 1,
        ..Step::default()
    }
}

/// Describes a `file` check on one line.
fn file_line(path: &RepoPath, assertions: &[Assertion]) -> String {
    let parts: Vec<String> = assertions.iter().map(assertion_text).collect();
    format!("file \"{path}\": {}", parts.join(", "))
}

/// Returns an assertion as the language writes it, except that its text is not escaped: the digest
/// depends on it.
fn assertion_text(assertion: &Assertion) -> String {
    let quoted = |word: &str, text: &str| format!("{word} \"{}\"", visible(text));
    match assertion {
        Assertion::Contains(text) => quoted("contains", text),
        Assertion::Lacks(text) => quoted("lacks", text),
        Assertion::Matches(regex) => quoted("matches", regex),
        other => file::show(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_from_words() {
        let mut taken = BTreeSet::new();
        for (words, want) in [
            (vec!["pnpm", "run", "lint"], "pnpm-run-lint"),
            (vec!["pnpm", "run", "lint"], "pnpm-run-lint-2"),
            (vec!["./check.sh", "--all"], "check-sh-all"),
            (vec!["7z", "x"], "run-7z-x"),
            (vec!["…"], "run"),
        ] {
            let pieces = words.into_iter().map(|w| Piece::Word(w.into())).collect();
            assert_eq!(
                id_of_command(
                    &Command::Argv {
                        env: Env::new(),
                        pieces
                    },
                    &mut taken
                ),
                want
            );
        }
    }
}
