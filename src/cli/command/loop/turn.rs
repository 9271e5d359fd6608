//! Runs one turn of the fixer: what it is given, and what it changed.

use super::answer::{Repair, Review, ReviewRequest, Stop, Unexplained};
use super::{End, Form, Once, Task, shown};
use crate::base::canon::to_canonical;
use crate::base::unit::show_duration;
use crate::base::vocabulary::Exit;
use crate::base::word::{Word, visible};
use crate::cli::args::Format;
use crate::cli::command::run::grants;
use crate::cli::error::Failure;
use crate::cli::render::feedback;
use crate::cli::render::style::{Tone, paint};
use crate::cli::round::{Keeper, tree};
use crate::cli::session::Session;
use crate::cli::subject::Subject;
use crate::effect::os::environment::Environment;
use crate::effect::os::files;
use crate::effect::os::process::program::Root;
use crate::effect::runner::fixer::{Fixer, fix};
use crate::ledger::round::{Change, Said};
use crate::ledger::{Contents, Status};
use crate::plan::caveat;
use crate::run::report::{Decision, Report};

/// How an agent says that it does not go on.
const HOW_TO_END: &str = "If you cannot go on without a person, change nothing more and write `STUCK: ` and the reason as your last line.";
/// What is asked of work that has passed.
const REVIEW: &str = "All checks passed. Look at the whole change once more, as a reviewer who did not write it: does it do what was asked, \
    completely, and nothing else? Repair what is wrong. If nothing is, change no file and end with exit code 0.";

/// Why the fixer is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Repair,
    Review,
}

impl Turn {
    fn name(self) -> &'static str {
        match self {
            Turn::Repair => "repair",
            Turn::Review => "review",
        }
    }
}

impl Task<'_> {
    /// Has the fixer repair what failed. Gives how the loop ends, if it does.
    pub(super) fn repaired(&mut self, verified: &Once) -> Result<Option<End>, Failure> {
        let repair = self.turn(verified, Turn::Repair, &self.feedback(&verified.report))?;
        self.told(Turn::Repair, &repair);
        let end = self.broken_off(&repair, verified)?;
        let no_change = repair.no_change;
        if let Some(line) = self.lines.last_mut() {
            line.fix = Some(repair);
        }
        if end.is_none() && no_change {
            self.noted(Status::Stuck, verified)?;
            return Ok(Some(End::new(
                Stop::NoChange,
                Exit::Escalated,
                Decision::Escalate,
            )));
        }
        Ok(end)
    }

    /// Has the fixer look at work that has passed, until it is confirmed as often as it must, or
    /// has changed.
    pub(super) fn reviewed(
        &mut self,
        round: u32,
        verified: &mut Once,
    ) -> Result<Option<End>, Failure> {
        let once_more = (round >= self.args.max_rounds)
            .then(|| End::new(Stop::MaxRounds, Exit::Exhausted, Decision::Fail));
        loop {
            let turn = self.turn(verified, Turn::Review, &self.request(&verified.report))?;
            self.told(Turn::Review, &turn);
            let end = self.broken_off(&turn, verified)?;
            let agrees = end.is_none() && turn.exit_code == Some(0) && turn.no_change;
            let no_change = turn.no_change;
            let confirmed = agrees && self.is_same(verified)? && self.confirm(verified)?;
            let counter = if no_change {
                verified.report.counter.unwrap_or_default()
            } else {
                0
            };
            if let Some(line) = self.lines.last_mut() {
                line.reviews.push(Review {
                    confirmed,
                    counter,
                    turn,
                });
            }
            let decision = verified.report.decision;
            match (end, decision) {
                (Some(end), _) => return Ok(Some(end)),
                // It is verified anew, and counts from 1.
                (None, _) if !no_change || (agrees && !confirmed) => return Ok(once_more),
                (None, _) if !confirmed => {
                    return Ok(Some(End::new(
                        Stop::NotConfirmed,
                        Exit::Unconfirmed,
                        Decision::Reverify,
                    )));
                }
                (None, Decision::Reverify) => {}
                (None, Decision::Advance | Decision::Complete) => {
                    let exit = verified.report.exit_code;
                    return Ok(Some(End {
                        stop: Stop::Passed,
                        exit,
                        decision,
                    }));
                }
                (None, _) => {
                    return Ok(Some(End::new(
                        Stop::Escalated,
                        Exit::Escalated,
                        Decision::Escalate,
                    )));
                }
            }
        }
    }

    /// Returns how the loop ends where the fixer was ended, or gives up.
    fn broken_off(&mut self, repair: &Repair, verified: &Once) -> Result<Option<End>, Failure> {
        match repair.outcome {
            "not_started" => {
                let why = repair.reason.clone().unwrap_or_default();
                let message = format!(
                    "the fixer `{}` could not be started: {why}",
                    shown(&self.args.fix)
                );
                self.terminal.failure(&Failure::new(
                    Exit::Setup.code(),
                    "vplan::loop::fixer",
                    message,
                ));
                Ok(Some(End::new(
                    Stop::FixerNotStarted,
                    Exit::Setup,
                    Decision::Escalate,
                )))
            }
            "interrupted" => {
                let terminated = repair.signal.as_deref() == Some("SIGTERM");
                let exit = if terminated {
                    Exit::Terminated
                } else {
                    Exit::Interrupted
                };
                Ok(Some(End::new(Stop::Interrupted, exit, Decision::Retry)))
            }
            _ if repair.stuck.is_some() => {
                self.stuck.clone_from(&repair.stuck);
                self.noted(Status::Stuck, verified)?;
                Ok(Some(End::new(
                    Stop::Stuck,
                    Exit::Escalated,
                    Decision::Escalate,
                )))
            }
            _ => Ok(None),
        }
    }

    /// Whether a run now would be about the same as the one that passed.
    fn is_same(&mut self, verified: &Once) -> Result<bool, Failure> {
        let since = Subject::of(self.global, &self.run.round)?
            .as_ref()
            .and_then(Subject::since);
        let session = Session::open_since(self.global, &self.run.request, self.terminal, since)?;
        self.watch.look(self.global, &session)?;
        Ok(!self.watch.changed && session.request.changed == verified.session.request.changed)
    }

    /// Records that the work was looked at and left as it is. Returns whether that confirmed it.
    fn confirm(&self, verified: &mut Once) -> Result<bool, Failure> {
        let subject = verified.report.subject.clone();
        let keeper = Keeper::of_review(
            self.global,
            subject.as_deref(),
            self.memory,
            &verified.session,
        )?;
        let tree = tree(
            &verified.session.site,
            verified.session.contract(),
            self.global,
            &verified.own,
        );
        let recorded = keeper.note(Change::Auto, Said::Reviewed, &tree)?;
        let confirmed =
            recorded.no_change && recorded.counter > 0 && recorded.decision != Decision::Retry;
        drop(tree);
        keeper.tell(recorded, &mut verified.report);
        Ok(confirmed)
    }

    /// Starts the fixer, and waits for its end.
    fn turn(&self, verified: &Once, turn: Turn, text: &str) -> Result<Repair, Failure> {
        let Once {
            report,
            session,
            record,
            ..
        } = verified;
        let record = std::path::absolute(record).unwrap_or_else(|_| record.clone());
        let name = if turn == Turn::Repair {
            "feedback"
        } else {
            "review"
        };
        let path = record.join(format!("{name}.{}", self.args.feedback.ending()));
        let stuck = record.join("stuck.txt");
        let failed = |what: &str, e: &dyn std::fmt::Display| {
            Failure::new(
                Exit::Setup.code(),
                "vplan::loop::record",
                format!("{what}: {e}"),
            )
        };
        files::replace(&path, text.as_bytes())
            .map_err(|e| failed("the feedback cannot be written", &e))?;
        let root = Root::open(&session.site.root)
            .map_err(|e| failed("the repository cannot be opened", &e))?;
        let environment = Environment::of_this_process(&root, grants(&self.run)?);
        let mut env = self.env.clone();
        env.insert(
            "VPLAN_FEEDBACK".to_owned(),
            Word::new(path.as_os_str().as_encoded_bytes()),
        );
        env.insert(
            "VPLAN_STUCK".to_owned(),
            Word::new(stuck.as_os_str().as_encoded_bytes()),
        );
        env.insert("VPLAN_TURN".to_owned(), Word::from(turn.name()));
        if let Some(subject) = &report.subject {
            env.insert("VPLAN_SUBJECT".to_owned(), Word::from(subject.as_str()));
        }
        let before = self.contents(verified)?;
        let fixed = fix(Fixer {
            root: &root,
            environment: &environment,
            granted: &self.run.grant_env,
            argv: &self.argv,
            env,
            feedback: text.as_bytes(),
            limit_ms: self.args.fix_timeout,
            max_output: self.run.max_output,
            logs: &record.join("logs"),
            stuck: &stuck,
        })
        .map_err(|e| failed("the fixer could not be run", &e))?;
        // Files that cannot be listed any more are not as they were; the next verification finds
        // out what that means.
        let no_change = self.contents(verified).is_ok_and(|after| after == before);
        Ok(Repair::of(fixed, no_change, &path, &record))
    }

    fn contents(&self, verified: &Once) -> Result<Contents, Failure> {
        let Once { session, own, .. } = verified;
        tree(&session.site, session.contract(), self.global, own)
            .contents()
            .map_err(|e| {
                let message = format!("the files of the work tree cannot be listed: {e}");
                Failure::new(Exit::Setup.code(), "vplan::ledger::contents", message)
            })
    }

    /// What failed, and what to do about it.
    fn feedback(&self, report: &Report) -> String {
        // Nothing failed, and yet it is no pass: a budget that was used up, nothing that was
        // verified.
        let why = visible(report.reason.as_deref().unwrap_or_default().as_bytes());
        let verdict = report.verdict;
        match (self.args.feedback, &report.feedback) {
            (Form::Md, Some(told)) => format!("{}\n{HOW_TO_END}\n", feedback::markdown(told)),
            (Form::Md, None) => format!("## {}\n\n{why}\n\n{HOW_TO_END}\n", verdict.name()),
            (Form::Text, Some(told)) => format!("{}\n{HOW_TO_END}\n", feedback::text(told)),
            (Form::Text, None) => format!("{}: {why}\n\n{HOW_TO_END}\n", verdict.name()),
            (Form::Json, Some(told)) => to_canonical(told) + "\n",
            (Form::Json, None) => {
                to_canonical(&Unexplained {
                    reason: &why,
                    verdict,
                    version: 1,
                }) + "\n"
            }
        }
    }

    /// What is asked after a pass.
    fn request(&self, report: &Report) -> String {
        let (counter, required) = (
            report.counter.unwrap_or_default(),
            report.required.unwrap_or_default(),
        );
        let caveats: Vec<&str> = caveat::sorted(&report.caveats)
            .into_iter()
            .map(|c| c.message.as_str())
            .collect();
        let lines: String = caveats
            .iter()
            .map(|c| format!("- {}\n", visible(c.as_bytes())))
            .collect();
        let lines = if lines.is_empty() {
            lines
        } else {
            format!("What was not looked at, or is worth a look:\n\n{lines}\n")
        };
        match self.args.feedback {
            Form::Md => {
                format!("## review {counter} of {required}\n\n{REVIEW}\n\n{lines}{HOW_TO_END}\n")
            }
            Form::Text => {
                format!("review {counter} of {required}\n\n{REVIEW}\n\n{lines}{HOW_TO_END}\n")
            }
            Form::Json => {
                let verdict = report.verdict;
                to_canonical(&ReviewRequest {
                    caveats,
                    counter,
                    required,
                    review: REVIEW,
                    verdict,
                    version: 1,
                }) + "\n"
            }
        }
    }

    fn told(&self, turn: Turn, repair: &Repair) {
        if self.format != Format::Text || self.terminal.quiet {
            return;
        }
        let how = match (repair.outcome, repair.exit_code, &repair.signal) {
            (_, Some(code), _) => format!("exit code {code}"),
            ("timed_out", ..) => format!(
                "stopped: it took longer than {}",
                show_duration(self.args.fix_timeout)
            ),
            ("signalled", _, Some(signal)) => format!("ended by {}", visible(signal.as_bytes())),
            (other, ..) => other.replace('_', " "),
        };
        let changed = if repair.no_change {
            "changed nothing"
        } else {
            "changed files"
        };
        let sign = paint(self.terminal.color, Tone::Warn, "↻");
        let name = if turn == Turn::Repair {
            "fix"
        } else {
            "review"
        };
        let mut text = format!(
            "  {sign} {name}: {changed} ({how}, {})\n",
            show_duration(repair.duration_ms)
        );
        if repair.leaked > 0 {
            let noun = if repair.leaked == 1 {
                "process"
            } else {
                "processes"
            };
            text.push_str(&format!(
                "    left {} {noun} behind, stopped\n",
                repair.leaked
            ));
        }
        if let Some(log) = &repair.log {
            text.push_str(&format!(
                "    {}\n",
                paint(self.terminal.color, Tone::Faint, &visible(log.as_bytes()))
            ));
        }
        self.terminal.say(&text);
    }
}
