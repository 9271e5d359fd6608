//! `vplan loop`: verifies, runs a fixer on what failed, and verifies again, until there is a
//! decision.

mod words;

use super::answer::*;
use super::fix::{fixed, no_single_run};
use super::run::{print, streams, write};
use crate::args::{RunArgs, feedback_size, level_of};
use crate::progress::ProgressView;
use crate::value::duration;
use clap::Arg;
use std::ffi::{OsStr, OsString};
use vplan_base::word::has_word;
use vplan_check::confine::SandboxLevel;
use vplan_engine::propose::{command, words as words_of};
use vplan_engine::repair_loop::{
    FixerCommand, LoopCaller, LoopOutcome, LoopProgress, LoopRequest, MAX_ROUNDS, Stop, repair_loop,
};
use vplan_runner::fixer::fix;
use words::Form;
pub(super) use words::{LoopDocument, ReviewRequest, Unexplained};

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
    /// The command that repairs; it reads the feedback.
    ///
    /// The feedback is on its standard input, and in the file that `VPLAN_FEEDBACK` names; after a
    /// failure its exit code decides nothing; where the gate asks for confirmations it is asked to
    /// review what has passed, too: 0 and no change confirms; `STUCK: why` as its last line, or in
    /// the file that `VPLAN_STUCK` names, ends the loop.
    /// Without it the fixes of the failing checks repair, as in `vplan fix`, and nothing reviews.
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true, help_heading = LOOP)]
    pub fix: Option<OsString>,
    /// The time limit of one repair.
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = duration, help_heading = LOOP)]
    pub fix_timeout: u64,
    /// Confine the command: `guard` lets it change the tree and commit, but neither the contract, its
    /// tests, lock and baseline, nor git's hooks and configuration, records, or anything elsewhere.
    #[arg(long, value_name = "LEVEL", default_value = "none", value_parser = level_of(&[SandboxLevel::None, SandboxLevel::Guard]), requires = "fix", help_heading = LOOP)]
    pub fix_sandbox: SandboxLevel,
    /// The form of the feedback.
    #[arg(long, value_name = "FORM", default_value = "md", help_heading = LOOP)]
    pub feedback: Form,
    /// The most bytes of the feedback besides the names of the failing checks, at least 1KiB.
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = feedback_size, help_heading = LOOP)]
    pub max_feedback: usize,
    /// The most verifications.
    #[arg(long, value_name = "N", default_value_t = MAX_ROUNDS, value_parser = clap::value_parser!(u32).range(1..), help_heading = LOOP)]
    pub max_rounds: u32,
    /// The verification of each round.
    #[command(flatten)]
    pub run: RunArgs,
}

const LOOP: &str = "Loop";

/// Options of a single run, which a loop does not take.
fn not_in_a_loop(arg: Arg) -> Arg {
    const OTHER: &str = "names plan allow_drift plan_as_is expect_digest shard division attempt \
        status events";
    if has_word(OTHER, arg.get_id().as_str()) {
        arg.hide(true).conflicts_with("fix")
    } else if arg.get_id() == "keep_going" {
        // A loop goes on after a failure anyway.
        arg.hide(true)
    } else {
        arg
    }
}

/// Verifies and repairs until there is a decision.
///
/// # Errors
/// The first round cannot start; later, an error that is not a decision about the change, such
/// as a full disk.
pub fn run(global: &Global, args: &Loop, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let fixer = args.fix.as_ref().map(|fix| fixer(fix, args)).transpose()?;
    no_single_run(&args.run, "loop")?;
    // Rounds are shown to people only; the answer is the one JSON document.
    let shown = (format == OutputFormat::Text).then_some(OutputFormat::Text);
    let mut verify = args.run.verified()?;
    // One round shows all faults: a fixer that learns of one at a time needs a round for each.
    verify.plan.request.keep_going = true;
    streams(&args.run, shown)?;
    let asked = LoopRequest {
        verify,
        fixer,
        max_rounds: args.max_rounds,
    };
    let talks = format == OutputFormat::Text && !terminal.quiet;
    let mut view = ProgressView::new(args.run.progress, terminal);
    let mut see = |progress: LoopProgress<'_>| match progress {
        LoopProgress::Round(number) if number > 1 && talks => {
            let text = paint(terminal.color, Tone::Strong, &format!("round {number}"));
            terminal.print(&format!("\n{text}\n"));
        }
        LoopProgress::Round(_) => {}
        LoopProgress::Verifying(progress) => view.see(progress),
        LoopProgress::Verified(verified) => {
            let seen = view.close();
            print(verified, &args.run, (shown, false), &seen, terminal);
        }
        LoopProgress::Turn(turn, record) if talks => {
            terminal.say(&words::turn(turn, record, args.fix_timeout, terminal.color));
        }
        LoopProgress::Fixed(record) if talks => terminal.say(&fixed(record, terminal.color)),
        LoopProgress::Turn(..) | LoopProgress::Fixed(_) => {}
        LoopProgress::Failed(failure) => terminal.failure(failure),
    };
    let outcome = repair_loop(
        &global.engine().with_observer(terminal),
        &asked,
        LoopCaller {
            see: &mut see,
            feedback: &|report| words::feedback((args.feedback, args.max_feedback), report),
            review: &|report| words::review(args.feedback, report),
            tick: ProgressView::tick(args.run.progress, terminal),
            played: None,
            fix: &mut fix,
        },
    );
    view.close();
    Ok(answer(&outcome?, format, args, terminal))
}

/// Reads the command that repairs.
fn fixer(fix: &OsStr, args: &Loop) -> Result<FixerCommand, Failure> {
    let (argv, env) = words_of("--fix", command(fix)?)?;
    Ok(FixerCommand {
        shown: visible(fix.as_encoded_bytes()),
        argv,
        env,
        timeout_ms: args.fix_timeout,
        sandbox: args.fix_sandbox,
        ending: args.feedback.ending(),
    })
}

/// Prints how the loop ended, and gives the exit code.
fn answer(outcome: &LoopOutcome, format: OutputFormat, args: &Loop, terminal: &Terminal) -> u8 {
    let report = &outcome.last.report;
    let exit = match write(&outcome.last, &args.run, None, terminal) {
        // A requested document could not be written.
        code if code != report.exit_code && outcome.exit == Exit::Success.code() => code,
        _ => outcome.exit,
    };
    let document = versioned(LoopDocument {
        counter: report.counter,
        decision: outcome.decision,
        exit_code: exit,
        report,
        required: report.required,
        rounds: &outcome.rounds,
        stop: outcome.stop,
        stuck: outcome.stuck.as_deref(),
        subject: report.subject.as_deref(),
        undone: &outcome.undone,
    });
    let speaks = !terminal.quiet || exit != Exit::Success.code();
    answer_if(terminal, format, speaks, &document, || {
        summary(outcome, terminal.color)
    });
    exit
}

/// Describes why the loop ended, after how many rounds and turns.
fn summary(outcome: &LoopOutcome, color: bool) -> String {
    let repairs = outcome.rounds.iter();
    let repairs = repairs.filter(|l| l.fix.is_some() || !l.fixes.is_empty());
    let reviews: usize = outcome.rounds.iter().map(|l| l.reviews.len()).sum();
    let tone = tone(outcome.stop == Stop::Passed);
    let stop = paint(color, tone, words::stop(outcome.stop));
    let rounds = count(outcome.rounds.len(), "round");
    let repairs = count(repairs.count(), "repair");
    let parts = match reviews {
        0 => format!("{rounds} and {repairs}"),
        _ => format!("{rounds}, {repairs}, {}", count(reviews, "review")),
    };
    let why = framed("  │ ", outcome.stuck.as_ref(), "\n");
    format!("\n{stop} after {parts}\n{why}")
}
