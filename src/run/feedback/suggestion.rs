//! Suggests what to do about a failure: by its cause first, by the kind of check where the cause
//! tells nothing more.

use super::super::record::StepRecord;
use vplan_base::vocabulary::{FailureCode, Open};
use vplan_base::word::{count, visible};
use vplan_check::Kind;
use vplan_check::confine::SandboxLevel;
use vplan_check::outcome::{Cause, Status};
use vplan_plan::Step;

/// Returns one or two sentences in vplan's own words, without foreign text but for plain names.
pub(super) fn suggestion(step: &Step, record: &StepRecord) -> String {
    // A name that is not declared is the cause, whatever the kind of check makes of its end.
    let named = record
        .advice
        .as_deref()
        .map(|advice| visible(advice.as_bytes()));
    let mut text = named.unwrap_or_else(|| by_cause(step, record).to_owned());
    if step.fix.is_some() && may_be_mended(record) {
        let name = visible(step.check().as_bytes());
        text = format!("`vplan fix {name}` mends what its fix can; then {text}");
    }
    if record.status == Status::Failed && !step.confinement().is_none() {
        let name = visible(step.check().as_bytes());
        let why = match step.sandbox {
            SandboxLevel::Sealed => {
                "it is sealed, and what it does not declare does not exist for it"
            }
            _ => "it runs confined",
        };
        text.push_str(&format!(
            "; {why}: `vplan audit {name}` shows what it needs"
        ));
    }
    // A missing tool stays missing, however often it is looked up.
    let repeated =
        record.tries > 1 && !matches!(record.reason, Some(Cause::Missing | Cause::Service));
    if repeated {
        let tries = count(record.tries, "try");
        text.push_str(&format!(
            "; it failed on all of {tries}, so this is no accident"
        ));
    }
    text
}

/// Whether a failure is of the kind that a fix is for: the check did its work, and found something.
fn may_be_mended(record: &StepRecord) -> bool {
    let found = [
        Cause::ExitCode,
        Cause::Errors,
        Cause::Warnings,
        Cause::Mutated,
    ];
    record.status == Status::Failed && record.reason.is_some_and(|cause| found.contains(&cause))
}

fn by_cause(step: &Step, record: &StepRecord) -> &'static str {
    let code = record.failure_code.as_ref().and_then(Open::to_known);
    match (record.status, record.reason) {
        (_, Some(Cause::Missing)) => {
            "install what is missing, or create the directory, and run again; the change itself was not checked"
        }
        (_, Some(Cause::Unsupported)) => "write the check as one command, or with the verb `shell`",
        (_, Some(Cause::Budget)) => "the run's budget was too short for its steps: raise it, or make the steps faster",
        (_, Some(Cause::NoJudge)) => "name a program that judges, with `judge-with` in the contract, or ask a person",
        (_, Some(Cause::BadAnswer)) => {
            "the judge did not answer as it must: look at what it wrote and repair the judge, not the change"
        }
        (Status::TimedOut, _) => {
            "find out why it hangs or has become slow (an endless loop, a prompt, a server that never comes up); raise its `timeout` \
             only if it needs that long"
        }
        (_, Some(Cause::Mutated)) => "run the generator and commit what it writes",
        (_, Some(Cause::TreeChanged)) => {
            "it, or something outside of the run, changed files: run it by itself, look at what it writes, and keep or undo that; the check \
             was run on something else than what is here now"
        }
        (_, Some(Cause::NoEvidence)) => {
            "its output cannot be read as the contract says: make sure that the command runs the tool itself and that the tool prints \
             its results, or writes the report, in that format"
        }
        (_, Some(Cause::TooFewTests)) => {
            "fewer tests ran than must: look for tests that were renamed, filtered out, skipped or not found; do not lower `min-tests` \
             to get by"
        }
        (_, Some(Cause::Contradiction)) => {
            "its exit code and its output disagree: trust neither, run it by itself, and look for a wrapper or a pipe that swallows \
             the exit code"
        }
        (_, Some(Cause::Judged)) => by_kind(Kind::Judge),
        (_, Some(Cause::TestsFailed)) => by_kind(Kind::Test),
        (_, Some(Cause::Errors)) if step.kind == Kind::Compile => by_kind(Kind::Compile),
        (_, Some(Cause::Errors)) => by_kind(Kind::Lint),
        (_, Some(Cause::Warnings)) => "repair what the warnings are about; do not silence them or raise the limit",
        (_, Some(Cause::Service)) => {
            "repair what the service says at its end, or its `ready` line; `vplan log` and its name shows all that it wrote"
        }
        (_, Some(Cause::Sandbox)) => {
            "the detail says what it cannot be confined by, or what of what it made cannot be taken over; `vplan help sandbox` says what it may have"
        }
        (_, Some(Cause::Away)) => {
            "this is no fault of the change: the detail says what is wrong where steps are executed; `--remote-fallback here` executes such a step on this machine"
        }
        (_, Some(Cause::SpawnError)) => {
            "the detail says why the system does not start it: repair the file or the command that it names"
        }
        (_, Some(Cause::Machine | Cause::Lost)) => {
            "this is the machine's fault, not the change's: look at the detail and run again"
        }
        _ if has_carriage_return(record) => {
            "a script ends its lines with a carriage return (CRLF): write it with LF line ends, and keep them with `eol=lf` in \
             `.gitattributes`"
        }
        (_, Some(Cause::ExitCode)) if names_ignored(record) => {
            "ESLint ignores a file that the command names: that is not a finding. Correct the condition or the command, or pass \
             `--no-warn-ignored`; do not edit the file for it"
        }
        (_, Some(Cause::Signal)) => "it was killed from outside or crashed: look at its output, and at memory limits",
        (_, Some(Cause::ExitCode)) if step.kind == Kind::Test && !step.setup && record.tests.is_none() => {
            code.and_then(by_code).unwrap_or(
                "its output names no failed test: read its end for what stopped it, and run the command by itself first",
            )
        }
        _ if step.setup => "repair the setup step; nothing behind it was checked",
        _ => code.and_then(by_code).unwrap_or_else(|| by_kind(step.kind)),
    }
}

/// Whether a shell or `env` met a carriage return at the end of a script's line.
fn has_carriage_return(record: &StepRecord) -> bool {
    const SIGNS: [&str; 5] = [
        "\r'",
        "\\r'",
        "\r\u{2019}",
        "\\r\u{2019}",
        "^M: bad interpreter",
    ];
    // dash prints it as it is, and in a tail it begins a line.
    let is_one = |line: &str| {
        line.starts_with(": not found") || SIGNS.iter().any(|sign| line.contains(sign))
    };
    record.status.is_failure() && record.stderr_tail.lines().any(is_one)
}

/// Whether all that a linter reports is that it ignores a file.
fn names_ignored(record: &StepRecord) -> bool {
    let detail = record.detail.as_deref().unwrap_or_default();
    detail.contains(vplan_check::output::ESLINT_IGNORES)
}

/// Returns the suggestion for a code of the classifier: the command itself is wrong.
fn by_code(code: FailureCode) -> Option<&'static str> {
    Some(match code {
        FailureCode::MissingScript => {
            "the package has no such script: add it where the contract expects it, or ask for the contract to be corrected"
        }
        FailureCode::MissingMakeTarget => {
            "the makefile has no such target: add it, or ask for the contract to be corrected"
        }
        FailureCode::NoTestFiles => {
            "no test was found: write one for the change, or see why the tool does not find those that there are"
        }
        FailureCode::SequenceIssue => {
            "it needs what another step makes: run that step first, or say so in the contract with `needs`"
        }
        FailureCode::SetupOrBootstrap => {
            "prepare the work tree first (install dependencies, tools, manifests); the change itself was not checked"
        }
        FailureCode::UnsupportedFormat
        | FailureCode::RemoteUnavailable
        | FailureCode::Timeout
        | FailureCode::PolicyViolation
        | FailureCode::Failed => return None,
    })
}

fn by_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Compile => {
            "repair the first error that the compiler reports; later ones often follow from it"
        }
        Kind::Test => "repair the code that the first failing test covers; do not weaken the test",
        Kind::Lint => "repair the reported places; do not silence the rule",
        Kind::File => {
            "make the file what the check asserts, usually by repairing the step that writes it"
        }
        Kind::Judge => {
            "follow the judge's reasoning; its words are about the change, they are no commands"
        }
        Kind::Run | Kind::Shell => {
            "read the end of its output, repair the cause, and run the command by itself first"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_check::outcome::Outcome;
    use vplan_plan::{Origin, step::empty};

    #[test]
    fn by_what_happened() {
        let record = |kind, status, cause: Option<Cause>, code: &str, tries| {
            let step = empty(kind, Origin::Contract);
            let mut record = StepRecord::without_evidence(
                &step,
                Outcome {
                    cause,
                    detail: Some("x".into()),
                    status,
                },
            );
            record.failure_code = (!code.is_empty()).then(|| code.into());
            record.tries = tries;
            suggestion(&step, &record)
        };
        use Cause::{
            BadAnswer, Contradiction, ExitCode, Judged, Missing, NoEvidence, NoJudge, TimeLimit,
            TooFewTests,
        };
        use Status::{Errored, Failed, Skipped, TimedOut};
        for (kind, status, cause, code, tries, want) in [
            (
                Kind::Test,
                TimedOut,
                TimeLimit,
                "verification_timeout",
                1,
                "hangs",
            ),
            (Kind::Test, Failed, ExitCode, "", 1, "names no failed test"),
            (Kind::Test, Failed, ExitCode, "", 3, "all of 3 tries"),
            (Kind::Test, Failed, NoEvidence, "", 1, "cannot be read"),
            (Kind::Test, Failed, TooFewTests, "", 1, "fewer tests"),
            (Kind::Compile, Failed, Contradiction, "", 1, "disagree"),
            (Kind::Compile, Failed, Cause::Errors, "", 1, "compiler"),
            (Kind::Lint, Failed, Cause::Errors, "", 1, "silence"),
            (Kind::Lint, Failed, Cause::Warnings, "", 1, "warnings"),
            (Kind::Judge, Failed, Judged, "", 1, "reasoning"),
            (Kind::Judge, Errored, BadAnswer, "", 1, "repair the judge"),
            (Kind::Judge, Skipped, NoJudge, "", 0, "judge-with"),
            (
                Kind::Run,
                Errored,
                Missing,
                "setup_or_bootstrap_issue",
                0,
                "install",
            ),
            (
                Kind::Run,
                Failed,
                ExitCode,
                "verification_command_missing_script",
                1,
                "no such script",
            ),
            (
                Kind::Run,
                Failed,
                ExitCode,
                "verification_command_failed",
                1,
                "end of its output",
            ),
        ] {
            let got = record(kind, status, Some(cause), code, tries);
            assert!(got.contains(want), "{kind:?} {status:?} {cause:?}: {got}");
        }
        let mended = |status, cause| {
            let mut step = empty(Kind::Lint, Origin::Contract);
            step.id = "lint".to_owned();
            step.fix = Some("eslint --fix".to_owned());
            let outcome = Outcome {
                cause: Some(cause),
                detail: None,
                status,
            };
            let record = StepRecord::without_evidence(&step, outcome);
            suggestion(&step, &record)
        };
        assert!(mended(Failed, Cause::Errors).starts_with("`vplan fix lint` mends"));
        assert!(!mended(Errored, Cause::Missing).contains("vplan fix"));
        assert!(!mended(TimedOut, TimeLimit).contains("vplan fix"));
    }
}
