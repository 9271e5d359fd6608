//! Validates a check's verb and what it does.

use super::Body;
use super::checker::Checker;
use super::draft::{self, At, Verb};
use super::error::{
    ABSENT_AND_MORE, CHANGED_MISPLACED, EMPTY_FILE, NO_VERB, REGEX, SEVERAL_VERBS, SIZE_RANGE,
};
use vplan_base::command::{Command, Env};
use vplan_base::diagnostic::Diagnostic;
use vplan_base::unit::show_size;
use vplan_check::Kind;
use vplan_check::file;
use vplan_check::request::Assertion;

impl Checker<'_> {
    /// The kind of a check, its body, and the assignments in front of its command. `None` after an
    /// error.
    pub(super) fn body(&mut self, check: &draft::Check) -> Option<(Kind, Body, Env)> {
        let Some((first, further)) = check.verbs.split_first() else {
            let name = check.name.as_ref().map_or("", |n| n.value.as_str());
            let message = format!("check `{name}` does nothing");
            let help = "add one of `run`, `compile`, `test`, `lint`, `shell`, `file`, `judge`";
            let error = Diagnostic::at(NO_VERB, message, check.place, "has no verb");
            self.report(error.help(help));
            return None;
        };
        let broken = self.is_broken(first);
        for verb in further.iter().filter(|_| !broken) {
            let name = check.name.as_ref().map_or("", |n| n.value.as_str());
            self.report(
                Diagnostic::error(SEVERAL_VERBS, format!("check `{name}` does two things"))
                    .label(verb.place, "a second verb")
                    .label(first.place, "the first")
                    .help("a check has one verb: write two checks, and `needs` if one goes before the other"),
            );
        }
        let body = self.verb(first)?;
        Some((first.value.kind(), body.0, body.1))
    }

    /// Whether the verb is one that the front end could not read, and said so: its kind may be a
    /// guess.
    pub(super) fn is_broken(&self, verb: &At<Verb>) -> bool {
        self.incomplete && matches!(verb.value, Verb::Command(_, Command::Unsupported { .. }))
    }

    fn verb(&mut self, verb: &At<Verb>) -> Option<(Body, Env)> {
        match &verb.value {
            Verb::Command(_, Command::Argv { env, pieces }) => {
                let bare = Command::Argv {
                    env: Env::new(),
                    pieces: pieces.clone(),
                };
                Some((Body::Command(bare), env.clone()))
            }
            Verb::Command(_, unsupported) => Some((Body::Command(unsupported.clone()), Env::new())),
            Verb::Shell(text) => {
                if text.contains("{changed}") && !self.incomplete {
                    let message = "`{changed}` has no meaning for a shell";
                    let label = "names of files would become part of a program";
                    let error = Diagnostic::at(CHANGED_MISPLACED, message, verb.place, label);
                    self.report(
                        error.help("use `run`, which hands each file over as one argument"),
                    );
                }
                Some((Body::Shell(text.clone()), Env::new()))
            }
            Verb::File { path, assertions } => {
                self.warn_of_path("what `file` examines", &path.value, path.place);
                let read = self.path("the path", &path.value, path.place);
                self.assertions(path, assertions);
                let assertions = assertions.iter().map(|a| a.value.clone()).collect();
                Some((
                    Body::File {
                        path: read?,
                        assertions,
                    },
                    Env::new(),
                ))
            }
            Verb::Judge(question) => Some((Body::Judge(question.clone()), Env::new())),
        }
    }

    fn assertions(&mut self, path: &At<String>, assertions: &[At<Assertion>]) {
        if assertions.is_empty() {
            let message = "a `file` check that asserts nothing";
            let label = "nothing is asked of this path";
            let error = Diagnostic::at(EMPTY_FILE, message, path.place, label);
            self.report(error.help("say `exists`, or what else must hold"));
        }
        for assertion in assertions {
            match &assertion.value {
                Assertion::Matches(pattern) => {
                    if let Err(fault) = file::regex(pattern) {
                        let message = format!("the regular expression cannot be read: {fault}");
                        let label = "in this expression";
                        self.report(Diagnostic::at(REGEX, message, assertion.place, label));
                    }
                }
                Assertion::Size {
                    min: Some(min),
                    max: Some(max),
                } if min > max => {
                    let (min, max) = (show_size(*min), show_size(*max));
                    let message = format!("no size lies between {min} and {max}");
                    let label = "the ends are the wrong way round";
                    let error = Diagnostic::at(SIZE_RANGE, message, assertion.place, label);
                    self.report(error.help(format!("write `size {max}..{min}`")));
                }
                Assertion::Size {
                    min: None,
                    max: None,
                } => {
                    let message = "a range of sizes has at least one end";
                    let label = "every size lies in it";
                    let error = Diagnostic::at(SIZE_RANGE, message, assertion.place, label);
                    self.report(error.help("write `size 1B..`, `size ..2MiB` or `size 1B..2MiB`"));
                }
                _ => {}
            }
        }
        let absent = assertions.iter().find(|a| a.value == Assertion::Absent);
        let other = assertions.iter().find(|a| a.value != Assertion::Absent);
        if let (Some(absent), Some(other)) = (absent, other) {
            self.report(
                Diagnostic::warning(
                    ABSENT_AND_MORE,
                    "what is absent has no content, size or type: this can never pass",
                )
                .label(absent.place, "nothing may be there")
                .label(other.place, "something must be there"),
            );
        }
    }
}
