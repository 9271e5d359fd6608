//! Turns a bare list of commands into a plan, and reports on its repair, for `vplan recover`.

use super::{Failure, Recovery};
use schemars::JsonSchema;
use serde::Serialize;
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::{FailureCode, Open, RewriteRule};
use vplan_check::Kind;
pub use vplan_plan::bare::{bare_plan, plan_of_words, step};
use vplan_plan::{Coverage, Refusal, Step};

/// Makes a failure with a code from the caller: `--failed N --code CODE`, N from 1.
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
    /// Its verb; absent for `run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verb: Option<Kind>,
}

/// Turns the outcome into an answer for a caller with a list of commands. `Answer::Refused` is exit
/// 44.
pub fn answer(recovery: Recovery, failures: &[Failure]) -> RecoverAnswer {
    let refused = match recovery {
        Recovery::Rewritten { plan, rewrite } => {
            let next = |step: &Step| NextStep {
                command: step.command.clone(),
                dir: step.dir.clone(),
                verb: Some(step.kind).filter(|verb| *verb != Kind::Run),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recover;
    use crate::tests::plan_of_lines;
    use vplan_base::command::Env;
    use vplan_base::word::Word;
    use vplan_plan::facts::Facts;

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
            (coverage, recovery_rule.to_known()),
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
