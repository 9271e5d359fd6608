//! Decides the outcome of a step: evidence of one attempt in, status and cause out.

use super::evidence::{Evidence, SERVICE, UNANSWERED, UNCONFINED};
use super::judge::{JudgeAnswer, Ruling};
use super::outcome::{Cause, Outcome, Status, Terms, wrong_exit};
use super::{Kind, agreement};
use vplan_base::word::{has_word, visible};

/// Spawn errors that a person fixes by installing or creating something: exit 5.
const SETUP_CODES: &str = "ENOENT ENOTDIR EACCES ENOEXEC ELOOP PROGRAM_NOT_FOUND \
    PROGRAM_IN_REPOSITORY NO_SUCH_DIRECTORY DIRECTORY_OUTSIDE";

/// Spawn errors of a machine that lacks descriptors, processes, memory or room: exit 5.
const MACHINE_CODES: &str = "EAGAIN EIO EMFILE ENFILE ENOMEM ENOSPC";

/// Judges one try. Total; the first that holds: not started, out of time, ended by a signal,
/// changed what it must not, skipped itself, a false assertion; then what exit code and output say
/// together (`agreement`).
///
/// A try that took longer than its limit is out of time even if it ended before it was stopped: the
/// same durations must give the same outcome however late the clock was read. One that took exactly
/// its limit is within it.
pub fn judge(terms: &Terms<'_>, evidence: &Evidence) -> Outcome {
    if let Some(earlier) = &evidence.earlier {
        let run = visible(&earlier.run_id);
        let detail = match earlier.signed_by.as_ref().zip(earlier.scope.as_ref()) {
            None => format!("passed in run {run} on the same inputs"),
            Some((key, scope)) => {
                let scope = visible(scope);
                format!("passed in `{scope}`, signed by {key}, on the same inputs: run {run}")
            }
        };
        return Outcome::new(Status::Cached, Cause::SameInputs, detail);
    }
    if let Some(error) = &evidence.spawn_error {
        let cause = match error.code.as_str() {
            SERVICE => Cause::Service,
            UNCONFINED => Cause::Sandbox,
            UNANSWERED => Cause::Away,
            code if has_word(SETUP_CODES, code) => Cause::Missing,
            code if has_word(MACHINE_CODES, code) => Cause::Machine,
            _ => Cause::SpawnError,
        };
        return Outcome::new(Status::Errored, cause, visible(&error.message));
    }
    if evidence.timed_out || evidence.duration_ms > terms.limit_ms {
        let limit = vplan_base::unit::show_duration(terms.limit_ms);
        let (cause, detail) = match terms.by_budget {
            true => (Cause::Budget, format!("the run's budget left it {limit}")),
            false => (Cause::TimeLimit, format!("it took longer than {limit}")),
        };
        return Outcome::new(Status::TimedOut, cause, detail);
    }
    if let Some(signal) = &evidence.signal {
        let detail = format!("ended by {}", visible(signal));
        return Outcome::new(Status::Failed, Cause::Signal, detail);
    }
    if terms.kind == Kind::Judge {
        return ruled(evidence);
    }
    let exit = match (evidence.exit, terms.kind) {
        // vplan itself looks at the path; there is no process that could exit.
        (exit, Kind::File) => exit.unwrap_or(0),
        (Some(exit), _) => exit,
        (None, _) => {
            return Outcome::new(Status::Errored, Cause::Lost, "how it ended is not known");
        }
    };
    if let Some(path) = &evidence.mutated {
        let detail = format!("it changed `{path}`, which must stay as it was");
        return Outcome::new(Status::Failed, Cause::Mutated, detail);
    }
    let is_read = matches!(terms.kind, Kind::Compile | Kind::Test | Kind::Lint);
    if terms.skip_exit.contains(&exit) {
        return match agreement::failures(terms, evidence).filter(|_| is_read) {
            // What did not apply cannot have failed.
            Some(failures) => {
                let detail =
                    format!("exit code {exit} says that it does not apply here, but {failures}");
                Outcome::new(Status::Failed, Cause::Contradiction, detail)
            }
            None => {
                let detail = format!("exit code {exit}: it says that it does not apply here");
                Outcome::new(Status::Skipped, Cause::SkipExit, detail)
            }
        };
    }
    if let Some(assertion) = &evidence.assertion {
        return Outcome::new(Status::Failed, Cause::Assertion, visible(assertion));
    }
    if is_read {
        return agreement::judge(terms, evidence, exit);
    }
    if terms.kind != Kind::File && !terms.accepts(exit) {
        let detail = wrong_exit(exit, terms.exit);
        return Outcome::new(Status::Failed, Cause::ExitCode, detail);
    }
    Outcome::PASSED
}

/// Evaluates the answer of a judge that ended by itself.
fn ruled(evidence: &Evidence) -> Outcome {
    let bad = |why: String| Outcome::new(Status::Errored, Cause::BadAnswer, why);
    match evidence.exit {
        Some(0) => {}
        Some(exit) => {
            return bad(format!(
                "the judge gave no answer: it ended with exit code {exit}"
            ));
        }
        None => return Outcome::new(Status::Errored, Cause::Lost, "how it ended is not known"),
    }
    let said = &evidence.stdout;
    if said.total > said.head.as_bytes().len() as u64 {
        return bad(format!(
            "the judge's answer has more than {} bytes",
            super::judge::MAX_ANSWER
        ));
    }
    let answer = match JudgeAnswer::read(said.head.as_bytes()) {
        Ok(answer) => answer,
        Err(why) => return bad(format!("the judge's answer cannot be used: {why}")),
    };
    if answer.verdict == Ruling::Pass {
        return Outcome::PASSED;
    }
    let why = super::results::clipped(&visible(answer.reasoning.trim()));
    let detail = format!("the judge says no: {why}");
    Outcome::new(Status::Failed, Cause::Judged, detail)
}

#[cfg(test)]
mod tests {
    use super::super::evidence::SpawnError;
    use super::super::outcome::Output;
    use super::*;
    use vplan_base::path::RepoPath;

    fn terms(kind: Kind) -> Terms<'static> {
        Terms {
            by_budget: false,
            exit: &[0],
            kind,
            limit_ms: 1000,
            output: Output::default(),
            skip_exit: &[77],
        }
    }

    fn exited(code: i32) -> Evidence {
        Evidence {
            exit: Some(code),
            ..Evidence::default()
        }
    }

    #[test]
    fn one_try() {
        let run = terms(Kind::Run);
        let three = Terms { exit: &[3], ..run };
        let spawn = |code: &str| Evidence {
            spawn_error: Some(SpawnError {
                code: code.into(),
                message: "no".into(),
            }),
            ..Evidence::default()
        };
        let late = Evidence {
            timed_out: true,
            ..exited(0)
        };
        let took = |duration_ms| Evidence {
            duration_ms,
            ..exited(0)
        };
        let (slow, just) = (took(1001), took(1000));
        let killed = Evidence {
            signal: Some("SIGKILL".into()),
            ..Evidence::default()
        };
        let wrote = Evidence {
            mutated: RepoPath::from_exact(b"gen/a"),
            ..exited(0)
        };
        let wrote_and_skipped = Evidence {
            exit: Some(77),
            ..wrote.clone()
        };
        let wrong = Evidence {
            assertion: Some("exists".into()),
            ..Evidence::default()
        };
        let budget = Terms {
            by_budget: true,
            ..run
        };
        use Cause::{
            Assertion, Budget, ExitCode, Lost, Machine, Missing, Mutated, Signal, SkipExit,
            TimeLimit,
        };
        use Status::{Errored, Failed, Passed, Skipped, TimedOut};
        for (name, terms, evidence, status, cause) in [
            ("exit 0", run, exited(0), Passed, None),
            ("exit 7", run, exited(7), Failed, Some(ExitCode)),
            (
                "0 is not in the list",
                three,
                exited(0),
                Failed,
                Some(ExitCode),
            ),
            ("3 is", three, exited(3), Passed, None),
            ("its skip code", run, exited(77), Skipped, Some(SkipExit)),
            (
                "no program",
                run,
                spawn("PROGRAM_NOT_FOUND"),
                Errored,
                Some(Missing),
            ),
            (
                "no descriptors",
                run,
                spawn("EMFILE"),
                Errored,
                Some(Machine),
            ),
            (
                "too many arguments",
                run,
                spawn("E2BIG"),
                Errored,
                Some(Cause::SpawnError),
            ),
            ("stopped", run, late.clone(), TimedOut, Some(TimeLimit)),
            (
                "stopped by the budget",
                budget,
                late,
                TimedOut,
                Some(Budget),
            ),
            ("nobody stopped it", run, slow, TimedOut, Some(TimeLimit)),
            ("just in time", run, just, Passed, None),
            ("killed", run, killed, Failed, Some(Signal)),
            ("lost", run, Evidence::default(), Errored, Some(Lost)),
            ("mutated", run, wrote, Failed, Some(Mutated)),
            (
                "mutated and skipped",
                run,
                wrote_and_skipped,
                Failed,
                Some(Mutated),
            ),
            (
                "a file as asserted",
                terms(Kind::File),
                Evidence::default(),
                Passed,
                None,
            ),
            (
                "a file not as asserted",
                terms(Kind::File),
                wrong,
                Failed,
                Some(Assertion),
            ),
        ] {
            let outcome = judge(&terms, &evidence);
            assert_eq!((outcome.status, outcome.cause), (status, cause), "{name}");
            assert_eq!(outcome.cause.is_some(), outcome.detail.is_some(), "{name}");
        }
        assert_eq!(
            judge(&three, &exited(0)).detail.as_deref(),
            Some("exit code 0; accepted: 3")
        );
    }

    /// An answer counts only if it is whole, and its process ended well.
    #[test]
    fn judges() {
        use super::super::evidence::Captured;
        let pass = br#"{"reasoning":"fine","verdict":"pass"}"#;
        let fail = br#"{"reasoning":" too\nshort ","verdict":"fail"}"#;
        let said = |answer: &[u8], more: u64| {
            let all = Captured::from(answer);
            Evidence {
                stdout: Captured {
                    total: all.total + more,
                    ..all
                },
                ..exited(0)
            }
        };
        let exit = |exit| Evidence {
            exit,
            ..said(pass, 0)
        };
        let bad = |detail| (Status::Errored, Some(Cause::BadAnswer), Some(detail));
        let fails = (
            Status::Failed,
            Some(Cause::Judged),
            Some("the judge says no: too\\nshort"),
        );
        let lost = (
            Status::Errored,
            Some(Cause::Lost),
            Some("how it ended is not known"),
        );
        let text = "the judge's answer cannot be used: the answer is not one JSON object";
        for (evidence, want) in [
            (said(pass, 0), (Status::Passed, None, None)),
            (said(fail, 0), fails),
            // What was cut off may have said something else.
            (
                said(pass, 1),
                bad("the judge's answer has more than 65536 bytes"),
            ),
            (said(b"pass", 0), bad(text)),
            (
                exit(Some(1)),
                bad("the judge gave no answer: it ended with exit code 1"),
            ),
            (exit(None), lost),
        ] {
            let outcome = judge(&terms(Kind::Judge), &evidence);
            let detail = outcome.detail.as_deref();
            assert_eq!((outcome.status, outcome.cause, detail), want);
        }
    }

    #[test]
    fn words_are_those_of_the_json() {
        for cause in [
            Cause::ExitCode,
            Cause::NoJudge,
            Cause::FailFast,
            Cause::OutputUnread,
            Cause::SkipExit,
        ] {
            let json = serde_json::to_string(&cause).unwrap();
            assert_eq!(json, format!("\"{}\"", cause.name()));
        }
        for status in [Status::NotRun, Status::TimedOut, Status::PassedWithWarnings] {
            let json = serde_json::to_string(&status).unwrap();
            assert_eq!(json, format!("\"{}\"", status.name()));
        }
    }
}
