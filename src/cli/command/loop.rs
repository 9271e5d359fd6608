//! `vplan loop`: verifies, runs a fixer on what failed, and verifies again, until there is a
//! decision.
//!
//! The fixer is not trusted. After a failure nothing that it says, and no way in which it ends,
//! makes anything pass; and between its turn and the next verification the loop makes sure that the
//! request is the same as before, and that the work is still there. Its word can only end the loop,
//! and confirm, as a second look, what has passed already.

mod answer;
mod turn;
mod watch;

use super::run::{Once, Round, once};
use super::{command, format};
use crate::base::command::Env;
use crate::base::vocabulary::Exit;
use crate::base::word::{Word, visible};
use crate::cli::args::{Format, Global, Run, duration};
use crate::cli::error::Failure;
use crate::cli::propose::words;
use crate::cli::regrown::only_grew;
use crate::cli::render::style::{Tone, count, paint};
use crate::cli::round::{Keeper, NOT_RECORDED, tree};
use crate::cli::session::Session;
use crate::cli::terminal::Terminal;
use crate::ledger::round::{Because, Change, Said};
use crate::ledger::{Ledger, Status};
use crate::plan::caveat::{Caveat, Code, Effect};
use crate::plan::request::ChangedFrom;
use crate::run::report::{Decision, Report};
use crate::run::verdict::Verdict;
use answer::{Line, Stop};
use clap::{Arg, Args, ValueEnum};
use std::cell::RefCell;
use std::ffi::OsString;
use watch::{CHANGED, GONE, MOVED, Watch};

pub(super) use answer::{Answer, ReviewRequest, Unexplained};

/// `vplan loop`
#[derive(Debug, Args)]
#[command(
    mut_args(not_in_a_loop),
    after_help = "Examples:\n  \
        vplan loop --fix ./repair.sh\n  \
        vplan loop --fix 'my-agent --print' --subject M1 --max-rounds 5\n  \
        vplan loop --fix ./repair.sh --feedback json --base main\n\n\
        Exit codes: 0 passed; 2 usage; 3 contract invalid or missing; 4 lock or plan drift; 5 setup, also a fixer that cannot be \
                        started; 20 passed, and not confirmed; 21 retries or rounds used up; 22 escalated, also a fixer that is stuck \
                        or changed nothing after a failure, and a contract that was changed; 40 all of the change is gone; 44 retries \
                        used up, and allowed to go on; 130, 143 interrupted. `vplan help rounds` says how the loop decides, and what it does not \
                        believe."
)]
pub struct Loop {
    /// The command that repairs: it finds the feedback on its standard input, and its path in
    /// `VPLAN_FEEDBACK`; after a failure its exit code decides nothing; where the gate asks
    /// for confirmations it is asked to review what has passed, too: 0 and no change confirms;
    /// `STUCK: why` as its last line, or in the file that `VPLAN_STUCK` names, ends the loop.
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true, help_heading = LOOP)]
    pub fix: OsString,
    /// How long one repair may take.
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = duration, help_heading = LOOP)]
    pub fix_timeout: u64,
    /// The form of the feedback.
    #[arg(long, value_name = "FORM", default_value = "md", help_heading = LOOP)]
    pub feedback: Form,
    /// How often is verified at most.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..), help_heading = LOOP)]
    pub max_rounds: u32,
    /// How each round verifies.
    #[command(flatten)]
    pub run: Run,
}

const LOOP: &str = "Loop";

/// What means one run, not many.
fn not_in_a_loop(arg: Arg) -> Arg {
    let single = [
        "names",
        "plan",
        "allow_drift",
        "plan_as_is",
        "expect_digest",
        "shard",
        "attempt",
        "status",
        "events",
    ]
    .contains(&arg.get_id().as_str());
    if single {
        arg.hide(true).conflicts_with("fix")
    } else {
        arg
    }
}

/// Forms of feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Markdown.
    Md,
    /// Plain text.
    Text,
    /// One JSON document.
    Json,
}

impl Form {
    fn ending(self) -> &'static str {
        match self {
            Form::Md => "md",
            Form::Text => "txt",
            Form::Json => "json",
        }
    }
}

/// Verifies and repairs until there is a decision.
///
/// # Errors
/// Whatever keeps the first round from beginning; later what is no decision about the work (a disk
/// that is full).
pub fn run(global: &Global, args: &Loop, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let (argv, env) = words("--fix", command(&args.fix)?)?;
    let memory = RefCell::new(Ledger::default());
    let task = Task {
        global,
        args,
        terminal,
        format,
        argv,
        env,
        memory: &memory,
        run: args.run.clone(),
        watch: Watch::new(args.run.allow_contract_change.clone()),
        lines: Vec::new(),
        stuck: None,
    };
    task.go()
}

struct Task<'t> {
    global: &'t Global,
    args: &'t Loop,
    terminal: &'t Terminal,
    format: Format,
    argv: Vec<Word>,
    env: Env,
    memory: &'t RefCell<Ledger>,
    /// The request of the next round.
    run: Run,
    watch: Watch,
    lines: Vec<Line>,
    /// Why the fixer does not go on.
    stuck: Option<String>,
}

/// How the loop ends.
#[derive(Debug)]
struct End {
    stop: Stop,
    exit: u8,
    decision: Decision,
}

impl End {
    fn new(stop: Stop, exit: Exit, decision: Decision) -> Self {
        Self {
            stop,
            exit: exit.code(),
            decision,
        }
    }
}

impl Task<'_> {
    fn go(mut self) -> Result<u8, Failure> {
        let mut last: Option<Once> = None;
        for round in 1.. {
            self.announce(round);
            let mut verified = match self.verify() {
                Ok(verified) => verified,
                Err(failure) => match last {
                    Some(last) => return self.refused(failure, last),
                    None => return Err(failure),
                },
            };
            self.line(round, &verified.report);
            let end = match self.stop(round, &verified.report) {
                Some((stop, exit)) => Some(End {
                    stop,
                    exit,
                    decision: verified.report.decision,
                }),
                None if verified.report.decision == Decision::Retry => self.repaired(&verified)?,
                None => match self.reviewed(round, &mut verified) {
                    Ok(end) => end,
                    Err(failure) => return self.refused(failure, verified),
                },
            };
            if let Some(end) = end {
                return Ok(self.end(&end, &verified));
            }
            last = Some(verified);
        }
        // There are fewer rounds than numbers: `--max-rounds` is one.
        Ok(Exit::Exhausted.code())
    }

    fn announce(&self, round: u32) {
        if round > 1 && self.format == Format::Text && !self.terminal.quiet {
            let text = format!("round {round}");
            self.terminal.print(&format!(
                "\n{}\n",
                paint(self.terminal.color, Tone::Strong, &text)
            ));
        }
    }

    fn verify(&mut self) -> Result<Once, Failure> {
        let format = (self.format == Format::Text).then_some(Format::Text);
        let (global, watch) = (self.global, &mut self.watch);
        let mut look = |session: &Session| watch.look(global, session);
        let round = Round {
            format,
            memory: Some(self.memory),
            look: &mut look,
        };
        let mut verified = once(self.global, &self.run, self.terminal, round)?;
        if only_grew(&verified.report) {
            // Nothing is to be repaired: the same once more, of the whole change.
            let round = Round {
                format,
                memory: Some(self.memory),
                look: &mut look,
            };
            verified = once(self.global, &self.run, self.terminal, round)?;
        }
        self.compare(&verified.session);
        Ok(verified)
    }

    /// From the second round on, what is compared with a commit is compared with that of the first
    /// round: whatever the fixer commits, and wherever it moves a branch, its changes stay
    /// changes.
    fn compare(&mut self, session: &Session) {
        // What a subject is compared with is in the ledger.
        let from_commit = self.run.round.subject.is_none()
            && matches!(
                session.request.changed_from,
                Some(ChangedFrom::WorkTree | ChangedFrom::Base(_))
            );
        if let Some(base) = self.watch.base().filter(|_| from_commit) {
            self.run.request.changes.base = Some(base.to_string());
        }
    }

    fn line(&mut self, round: u32, report: &Report) {
        self.lines.push(Line {
            attempt: report.attempt,
            contract_changed: std::mem::take(&mut self.watch.changed),
            decision: report.decision,
            exit_code: report.verdict_code.unwrap_or(report.exit_code),
            fix: None,
            no_change: report.no_change.unwrap_or(false),
            retries_remaining: report.retries_remaining,
            reviews: Vec::new(),
            round,
            run_id: report.run_id.clone(),
            verdict: report.verdict,
        });
    }

    /// Whether this round was the last one, and the exit code.
    fn stop(&self, round: u32, report: &Report) -> Option<(Stop, u8)> {
        let exhausted =
            report.decision_reason.as_deref() == Some(Because::VerificationFailedMaxRetries.word());
        // Without a subject the report is about the round alone.
        let exit = |exit: Exit| {
            if report.subject.is_some() {
                report.exit_code
            } else {
                exit.code()
            }
        };
        let last = round >= self.args.max_rounds;
        match report.decision {
            _ if report.verdict == Verdict::Cancelled => {
                Some((Stop::Interrupted, report.exit_code))
            }
            _ if report.decision_reason.as_deref() == Some(NOT_RECORDED) => {
                Some((Stop::Escalated, report.exit_code))
            }
            Decision::Advance if exhausted => Some((Stop::Exhausted, exit(Exit::Incomplete))),
            Decision::Advance | Decision::Complete => Some((Stop::Passed, report.exit_code)),
            Decision::Fail => Some((Stop::Exhausted, exit(Exit::Exhausted))),
            Decision::Escalate if exhausted => Some((Stop::Exhausted, exit(Exit::Escalated))),
            Decision::Escalate => Some((Stop::Escalated, exit(Exit::Escalated))),
            // What has passed may be confirmed without another round.
            Decision::Retry if last => Some((Stop::MaxRounds, Exit::Exhausted.code())),
            Decision::Retry | Decision::Reverify => None,
        }
    }

    /// A later round could not begin. If that is the fixer's doing, it is a decision about the
    /// work.
    fn refused(self, failure: Failure, mut last: Once) -> Result<u8, Failure> {
        let stop = match failure.code.as_str() {
            CHANGED => Stop::ContractChanged,
            MOVED => Stop::HistoryChanged,
            GONE => Stop::ChangeGone,
            // The contract of the first round was valid, and its changed files were known.
            _ if [Exit::Contract.code(), Exit::Drift.code()].contains(&failure.exit) => {
                Stop::ContractChanged
            }
            _ if failure.exit == Exit::Usage.code() => Stop::HistoryChanged,
            _ => return Err(failure),
        };
        self.terminal.failure(&failure);
        let end = if stop == Stop::ChangeGone {
            // Whatever passed before, it was another work tree.
            self.noted(Status::Continue, &last)?;
            let message = failure.message;
            let caveat = Caveat::new(Code::ChangeGone, Effect::Incomplete, message.clone());
            let report = &mut last.report;
            report.caveats.push(caveat.about(self.watch.undone.clone()));
            report.verdict = Verdict::Failed;
            report.exit_code = Exit::Failed.code();
            report.verdict_code = report.verdict_code.map(|_| Exit::Failed.code());
            report.decision = Decision::Fail;
            report.decision_reason = Some(Code::ChangeGone.name().to_owned());
            report.reason = Some(message);
            report.counter = report.counter.map(|_| 0);
            End::new(stop, Exit::Failed, Decision::Fail)
        } else {
            self.noted(Status::Stuck, &last)?;
            End::new(stop, Exit::Escalated, Decision::Escalate)
        };
        Ok(self.end(&end, &last))
    }

    /// Records what became of a subject's work without a run.
    fn noted(&self, status: Status, last: &Once) -> Result<(), Failure> {
        let Some(subject) = &last.report.subject else {
            return Ok(());
        };
        let Session { site, .. } = &last.session;
        let keeper = Keeper::by_hand(self.global, subject, site, last.session.contract())?;
        let tree = tree(site, last.session.contract(), self.global, &last.own);
        keeper
            .note(Change::Auto, Said::ByHand(status), &tree)
            .map(|_| ())
    }

    fn end(&self, end: &End, last: &Once) -> u8 {
        let End {
            stop,
            exit,
            decision,
        } = *end;
        let exit = match last.finish(&self.run, self.terminal) {
            // A requested document could not be written.
            code if code != last.report.exit_code && exit == Exit::Success.code() => code,
            _ => exit,
        };
        let decision = if stop == Stop::MaxRounds {
            Decision::Fail
        } else {
            decision
        };
        if self.format == Format::Json {
            self.terminal.print_json(&Answer {
                counter: last.report.counter,
                decision,
                exit_code: exit,
                report: &last.report,
                required: last.report.required,
                rounds: &self.lines,
                stop,
                stuck: self.stuck.as_deref(),
                subject: last.report.subject.as_deref(),
                undone: &self.watch.undone,
                version: 1,
            });
        } else if !self.terminal.quiet || exit != Exit::Success.code() {
            let repairs = self.lines.iter().filter(|l| l.fix.is_some()).count();
            let reviews: usize = self.lines.iter().map(|l| l.reviews.len()).sum();
            let tone = if stop == Stop::Passed {
                Tone::Good
            } else {
                Tone::Bad
            };
            let words = paint(self.terminal.color, tone, stop.words());
            let rounds = count(self.lines.len(), "round");
            let reviewed = if reviews > 0 {
                format!(", {}", count(reviews, "review"))
            } else {
                String::new()
            };
            let parts = match reviews {
                0 => format!("{rounds} and {}", count(repairs, "repair")),
                _ => format!("{rounds}, {}{reviewed}", count(repairs, "repair")),
            };
            let why = self
                .stuck
                .as_ref()
                .map(|why| format!("  │ {why}\n"))
                .unwrap_or_default();
            self.terminal
                .say(&format!("\n{words} after {parts}\n{why}"));
        }
        exit
    }
}

fn shown(text: &OsString) -> String {
    visible(text.as_encoded_bytes())
}
