//! Turns a bare list of commands into a plan, and reports on its repair, for `vplan recover`.

use super::{Failure, Recovery, Refusal};
use crate::base::command::{Command, Env, Piece, to_text};
use crate::base::path::RepoPath;
use crate::base::vocabulary::FailureCode;
use crate::base::vocabulary::{Open, RewriteRule};
use crate::base::word::Word;
use crate::check::Kind;
use crate::plan::step::empty;
use crate::plan::{Coverage, Origin, Plan, Step};
use schemars::JsonSchema;
use serde::Serialize;

/// Returns a plan of explicit commands alone, `command-1` and so on. It has no digest: it was made
/// from no request.
#[must_use]
pub fn bare_plan(commands: &[Command]) -> Plan {
    let steps = commands
        .iter()
        .enumerate()
        .map(|(i, command)| step(&format!("command-{}", i + 1), command))
        .collect();
    let mut plan = Plan::of_steps(steps);
    plan.policy.recover = RewriteRule::ALL.iter().copied().map(Open::Known).collect();
    plan.request.explicit = commands.iter().map(Command::to_text).collect();
    plan.request.role = "worker".to_owned();
    plan
}

/// Creates an explicit step with default settings. `{changed}` expands to no file here.
#[must_use]
pub fn step(id: &str, command: &Command) -> Step {
    let (argv, env, unsupported) = match command {
        Command::Argv { env, pieces } => {
            let word = |piece: &Piece| match piece {
                Piece::Word(word) => Some(word.clone()),
                Piece::Changed => None,
            };
            (
                Some(pieces.iter().filter_map(word).collect::<Vec<Word>>()),
                env.clone(),
                None,
            )
        }
        Command::Unsupported { unsupported, .. } => (None, Env::new(), Some(unsupported.clone())),
    };
    let text = match &argv {
        Some(argv) => to_text(&env, argv),
        None => command.to_text(),
    };
    Step {
        argv,
        command: text,
        env,
        exit: vec![0],
        id: id.to_owned(),
        timeout_ms: Kind::Run.default_timeout_ms(),
        unsupported,
        ..empty(Kind::Run, Origin::Explicit)
    }
}

/// Creates a failure whose code the caller gives: `--failed N --code CODE`, N from 1.
#[must_use]
pub fn reported_failure(number: usize, code: FailureCode) -> Failure {
    Failure {
        step: format!("command-{number}"),
        code,
        rule: "given".to_owned(),
        evidence: String::new(),
    }
}

/// The output of `vplan recover`, apart from its `version`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RecoverAnswer {
    /// Another list.
    #[serde(rename_all = "camelCase")]
    Rewritten {
        /// The coverage that is left.
        coverage: Coverage,
        /// The commands after.
        next_commands: Vec<String>,
        /// The same with their directories.
        next_steps: Vec<NextStep>,
        /// The commands before.
        previous_commands: Vec<String>,
        /// Such as `verification_command_missing_script_adjusted`.
        reason: String,
        /// The rule's name.
        recovery_rule: Open<RewriteRule>,
        /// 1.
        #[schemars(extend("const" = 1))]
        version: u32,
    },
    /// None.
    Refused {
        /// The reason, on one line.
        refused: String,
        /// 1.
        #[schemars(extend("const" = 1))]
        version: u32,
    },
}

/// A command of the list after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NextStep {
    /// Its text.
    pub command: String,
    /// Its working directory.
    pub dir: RepoPath,
}

/// Turns the outcome into an answer for a caller that holds a list. `Answer::Refused` is exit 44.
#[must_use]
pub fn answer(recovery: Recovery, failures: &[Failure]) -> RecoverAnswer {
    let refused = match recovery {
        Recovery::Rewritten { plan, rewrite } => {
            let next = |step: &Step| NextStep {
                command: step.command.clone(),
                dir: step.dir.clone(),
            };
            return RecoverAnswer::Rewritten {
                coverage: rewrite.coverage,
                next_commands: rewrite.next_commands,
                next_steps: plan.steps.iter().map(next).collect(),
                previous_commands: rewrite.previous_commands,
                reason: rewrite.reason,
                recovery_rule: rewrite.recovery_rule,
                version: 1,
            };
        }
        Recovery::Refused(refusals) => {
            let mut reasons: Vec<String> = Vec::new();
            for reason in refusals.into_iter().map(refusal) {
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
            reasons.join("; ")
        }
        Recovery::NotApplicable => {
            let mut codes: Vec<&str> = failures.iter().map(|f| f.code.name()).collect();
            codes.sort_unstable();
            codes.dedup();
            let codes: Vec<String> = codes.into_iter().map(|c| format!("`{c}`")).collect();
            if codes.is_empty() {
                "nothing failed".to_owned()
            } else {
                format!("no rule repairs {}", codes.join(", "))
            }
        }
    };
    RecoverAnswer::Refused {
        refused,
        version: 1,
    }
}

fn refusal(refusal: Refusal) -> String {
    format!("{}: {}", refusal.recovery_rule, refusal.reason)
}

/// Returns a bare plan of commands without quoting, for tests and examples.
#[must_use]
pub fn plan_of_words(commands: &[&str]) -> Plan {
    let command = |text: &&str| {
        let pieces = text
            .split_whitespace()
            .map(|w| Piece::Word(Word::from(w)))
            .collect();
        Command::Argv {
            env: Env::new(),
            pieces,
        }
    };
    bare_plan(&commands.iter().map(command).collect::<Vec<_>>())
}

/// Makes a plan like [`plan_of_words`], where ` && ` makes a conjunction, ` | ` makes a command
/// that cannot be expressed, and `NAME=value` may come in front; `cd DIR` and `export NAME=value`
/// have their meaning, and `set -e` changes the shell.
#[cfg(test)]
pub(super) fn plan_of_lines(lines: &[&str]) -> Plan {
    use crate::base::command::{Link, Unsupported, UnsupportedReason};
    let unsupported = |line: &str, text: &str, chain: Vec<Link>| {
        let changes = |part: &str| {
            ["cd ", "export ", "set "]
                .iter()
                .any(|name| part.starts_with(name))
        };
        let (changes_shell, reason) =
            (line.split(" && ").any(changes), UnsupportedReason::Operator);
        Unsupported {
            chain,
            changes_shell,
            offset: 0,
            reason,
            text: text.to_owned(),
        }
    };
    let command = |line: &&str| {
        let text = (*line).to_owned();
        let links: Vec<Link> = line.split(" && ").map(link).collect();
        match links.as_slice() {
            [Link::Run { argv, env }] => {
                let pieces = argv.iter().cloned().map(Piece::Word).collect();
                Command::Argv {
                    env: env.clone(),
                    pieces,
                }
            }
            [Link::Other { .. }] => Command::Unsupported {
                text,
                unsupported: unsupported(line, "|", Vec::new()),
            },
            _ => Command::Unsupported {
                text,
                unsupported: unsupported(line, "&&", links),
            },
        }
    };
    bare_plan(&lines.iter().map(command).collect::<Vec<_>>())
}

/// Parses one part of such a line.
#[cfg(test)]
pub(super) fn link(part: &str) -> crate::base::command::Link {
    use crate::base::command::{Link, Unsupported, UnsupportedReason};
    let pairs = |words: Vec<&str>| -> Env {
        let pair = |w: &str| {
            w.split_once('=')
                .map(|(name, value)| (name.to_owned(), Word::from(value)))
        };
        words.into_iter().filter_map(pair).collect()
    };
    if let Some(dir) = part.strip_prefix("cd ") {
        return Link::ChangeDirectory {
            cd: Word::from(dir),
        };
    }
    if let Some(variables) = part.strip_prefix("export ") {
        return Link::Export {
            export: pairs(variables.split(' ').collect()),
        };
    }
    if part.contains(" | ") || part.starts_with("set ") {
        let changes_shell = part.starts_with("set ");
        let (reason, text) = (UnsupportedReason::Operator, "|".to_owned());
        let unsupported = Unsupported {
            chain: Vec::new(),
            changes_shell,
            offset: 0,
            reason,
            text,
        };
        return Link::Other {
            text: part.to_owned(),
            unsupported: Box::new(unsupported),
        };
    }
    let (env, argv): (Vec<&str>, Vec<&str>) = part.split(' ').partition(|w| w.contains('='));
    Link::Run {
        argv: argv.into_iter().map(Word::from).collect(),
        env: pairs(env),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::facts::Facts;
    use crate::recover::recover;

    #[test]
    fn an_explicit_step_has_the_settings_of_run() {
        let plan = plan_of_lines(&["CI=1 make x", "a | b"]);
        let [first, second] = plan.steps.as_slice() else {
            panic!("{plan:?}")
        };
        assert_eq!(
            (first.id.as_str(), first.command.as_str()),
            ("command-1", "CI=1 make x")
        );
        assert_eq!(first.env, Env::from([("CI".to_owned(), Word::from("1"))]));
        assert_eq!(
            (first.exit.as_slice(), first.timeout_ms),
            (&[0][..], Kind::Run.default_timeout_ms())
        );
        assert!(first.argv.is_some() && first.unsupported.is_none());
        assert_eq!(
            (second.id.as_str(), second.command.as_str()),
            ("command-2", "a | b")
        );
        assert!(second.argv.is_none() && second.unsupported.is_some());
    }

    fn refused(commands: &[&str], failures: &[Failure]) -> String {
        match answer(
            recover(&plan_of_words(commands), failures, &Facts::default()),
            failures,
        ) {
            RecoverAnswer::Refused { refused, .. } => refused,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_refusal_says_why_once() {
        use FailureCode::{Failed, MissingScript, Timeout};
        assert_eq!(refused(&["a"], &[]), "nothing failed");
        assert_eq!(
            refused(&["a"], &[reported_failure(1, Failed)]),
            "no rule repairs `verification_command_failed`"
        );
        assert_eq!(
            refused(
                &["a", "b", "c"],
                &[
                    reported_failure(1, Timeout),
                    reported_failure(2, Failed),
                    reported_failure(3, Timeout)
                ]
            ),
            "no rule repairs `verification_command_failed`, `verification_timeout`"
        );
        let both = [
            reported_failure(1, MissingScript),
            reported_failure(2, MissingScript),
        ];
        assert_eq!(
            refused(&["npm run x", "npm run y"], &both),
            "drop-missing-script: no step that verifies something would remain"
        );
    }

    #[test]
    fn an_answer_tells_both_lists() {
        let failures = [reported_failure(1, FailureCode::UnsupportedFormat)];
        let plan = plan_of_lines(&["cd web && make", "make"]);
        let RecoverAnswer::Rewritten {
            coverage,
            next_commands,
            next_steps,
            previous_commands,
            recovery_rule,
            ..
        } = answer(recover(&plan, &failures, &Facts::default()), &failures)
        else {
            panic!("not repaired");
        };
        assert_eq!(
            (coverage, recovery_rule.known()),
            (Coverage::Full, Some(RewriteRule::HoistDirectory))
        );
        assert_eq!(
            (previous_commands, next_commands),
            (
                vec!["cd web && make".into(), "make".into()],
                vec!["make".to_owned(); 2]
            )
        );
        let dirs: Vec<String> = next_steps
            .iter()
            .map(|s| format!("{}@{}", s.command, s.dir))
            .collect();
        assert_eq!(dirs, ["make@web", "make@."]);
    }
}
