//! `vplan fix`: runs the fixes of failing checks, and verifies again.

use super::answer::*;
use super::run::{print, streams, write};
use crate::args::RunArgs;
use crate::progress::ProgressView;
use clap::Arg;
use std::collections::BTreeMap;
use vplan_base::unit::show_duration;
use vplan_base::word::{first_of, has_word};
use vplan_engine::fix::{FixCaller, FixOutcome, FixProgress, FixRecord, fix};
use vplan_engine::staged;

/// `vplan fix`
#[derive(Debug, Args)]
#[command(
    mut_args(not_in_a_fix),
    after_help = "Examples:\n  \
        vplan fix                 what fails of this change\n  \
        vplan fix lint            this check, if it fails\n  \
        vplan fix --staged        what is staged, for a commit\n\n\
        The contract says what mends a check: `fix COMMAND` (`vplan help language`). A fix may change what the conditions around \
        its check select, and what its check may write.\n\n\
        Exit codes: 0 nothing to fix, or passed afterwards; 2 usage, also a staged file with changes that are not staged; 40 a fix \
        changed what it must not; otherwise as `vplan run` after the fixes."
)]
pub struct FixArgs {
    /// The verification before and after.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Options of a single run, which neither a fix nor a loop takes.
fn not_in_a_fix(arg: Arg) -> Arg {
    const OTHER: &str = "plan allow_drift plan_as_is expect_digest shard division attempt \
        subject status events keep_going";
    if has_word(OTHER, arg.get_id().as_str()) {
        arg.hide(true)
    } else {
        arg
    }
}

/// The answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FixDocument<'a> {
    /// The files that are changed now, ascending; none where nothing of it was kept.
    changed: &'a [RepoPath],
    /// The exit code.
    exit_code: u8,
    /// The fixes that ran, in order.
    fixes: &'a [FixRecord],
    /// The verification that counts: after the fixes, or the only one.
    report: &'a Report,
    /// The checks that failed at first and have no fix.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    without: &'a [String],
}

/// Refuses the options of a run that is repeated as it is, or counted.
///
/// # Errors
/// One of them is there: exit 2.
pub(super) fn no_single_run(run: &RunArgs, command: &str) -> Result<(), Failure> {
    let saved = &run.saved;
    let found = [
        ("--plan", saved.plan.is_some()),
        ("--expect-digest", saved.expect_digest.is_some()),
        ("--shard", saved.shard.is_some()),
        ("--division", saved.division.is_some()),
        ("--events", run.events.is_some()),
        ("--attempt", run.attempt != 1),
    ];
    match found.iter().find(|(_, is_there)| *is_there) {
        Some((flag, _)) => {
            let message =
                format!("`{flag}` is of a single run, and `vplan {command}` runs several");
            Err(Failure::usage("vplan::usage::single_run", message)
                .help("it is an option of `vplan run`"))
        }
        None => Ok(()),
    }
}

/// Verifies, fixes what failed, and verifies again.
///
/// # Errors
/// The verification cannot be planned or started, or the fixed files cannot be kept.
pub fn run(global: &Global, args: &FixArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let engine = global.engine();
    let apart = |failure| staged::in_view(&engine, args.run.records.as_deref(), failure);
    let code = run_here(global, args, terminal).map_err(apart);
    staged::leave(&engine);
    code
}

fn run_here(global: &Global, args: &FixArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    no_single_run(&args.run, "fix")?;
    if args.run.round.subject.is_some() || args.run.round.status.is_some() {
        let message = "`vplan fix` counts no rounds";
        return Err(Failure::usage("vplan::usage::single_run", message)
            .help("`vplan loop --subject NAME` without `--fix` does, with the same fixes"));
    }
    let shown = (format == OutputFormat::Text).then_some(OutputFormat::Text);
    let asked = args.run.verified()?;
    streams(&args.run, shown)?;
    let talks = format == OutputFormat::Text && !terminal.quiet;
    let mut view = ProgressView::new(args.run.progress, terminal);
    let mut see = |progress: FixProgress<'_>| match progress {
        FixProgress::Verifying(progress) => view.see(progress),
        FixProgress::Verified(verified) => {
            let seen = view.close();
            if talks {
                print(verified, &args.run, (shown, false), &seen, terminal);
            }
        }
        FixProgress::Fixed(record) if talks => terminal.say(&fixed(record, terminal.color)),
        FixProgress::Fixed(_) => {}
    };
    let caller = FixCaller {
        see: &mut see,
        tick: ProgressView::tick(args.run.progress, terminal),
    };
    let outcome = fix(&global.engine().with_observer(terminal), &asked, caller);
    view.close();
    let outcome = outcome?;
    if shown.is_some() && !talks {
        let none = BTreeMap::new();
        print(&outcome.last, &args.run, (shown, false), &none, terminal);
    }
    let exit = match write(&outcome.last, &args.run, None, terminal) {
        // A requested document could not be written.
        code if code != outcome.last.report.exit_code && outcome.exit == Exit::Success.code() => {
            code
        }
        _ => outcome.exit,
    };
    let document = versioned(FixDocument {
        changed: &outcome.changed,
        exit_code: exit,
        fixes: &outcome.fixes,
        report: &outcome.last.report,
        without: &outcome.without,
    });
    let speaks = talks || exit != Exit::Success.code();
    answer_if(terminal, format, speaks, &document, || {
        summary(&outcome, exit, terminal.color)
    });
    Ok(exit)
}

/// Maximum number of listed checks without a fix.
const NAMED: usize = 5;

/// Describes what a fix did.
pub(in crate::command) fn fixed(record: &FixRecord, color: bool) -> String {
    let how = match (record.outcome, record.exit_code, &record.signal) {
        (_, Some(code), _) => format!("exit code {code}"),
        ("timed_out", ..) => "its time was up".to_owned(),
        ("not_started", ..) => record.reason.clone().unwrap_or_default(),
        ("signalled" | "interrupted", _, Some(signal)) => format!("ended by {signal}"),
        (other, ..) => other.replace('_', " "),
    };
    let changed = match record.changed.len() {
        0 => "changed nothing".to_owned(),
        files => format!("changed {}", count(files, "file")),
    };
    let (sign, check) = (paint(color, Tone::Warn, "↻"), visible(&record.check));
    let how = visible(&how);
    let time = show_duration(record.duration_ms);
    let mut text = format!("  {sign} fix of {check}: {changed} ({how}, {time})\n");
    for path in &record.changed {
        text.push_str(&format!("    {path}\n"));
    }
    text.push_str(&leaked(record.leaked));
    for path in &record.outside {
        let sign = paint(color, Tone::Bad, "✗");
        let path = visible(path);
        text.push_str(&format!("    {sign} {path}: it must not change this\n"));
    }
    if record.outcome != "exited" || record.changed.is_empty() {
        for log in &record.logs {
            text.push_str(&format!("    {}\n", paint(color, Tone::Faint, log)));
        }
    }
    text
}

/// Returns the number of processes that a fix or a fixer left running.
pub(in crate::command) fn leaked(number: u32) -> String {
    let left = count(number, "process");
    text_if(number > 0, || format!("    left {left} behind, stopped\n"))
}

/// Describes what became of it all.
fn summary(outcome: &FixOutcome, exit: u8, color: bool) -> String {
    let without = outcome.without.iter();
    let without = first_of(without.map(|id| format!("`{}`", visible(id))), NAMED);
    let is_outside = outcome.fixes.iter().any(|fix| !fix.outside.is_empty());
    let words = match (outcome.fixes.is_empty(), is_outside) {
        (true, _) if outcome.without.is_empty() => "nothing to fix".to_owned(),
        (true, _) => format!("nothing to fix with: no `fix` in {without}"),
        (_, true) if outcome.changed.is_empty() => {
            "a fix changed what it must not, and nothing of it was kept".to_owned()
        }
        (_, true) => "a fix changed what it must not: look at it, it is kept".to_owned(),
        _ => {
            let files = match outcome.changed.len() {
                0 => "nothing changed".to_owned(),
                files => format!("{} changed", count(files, "file")),
            };
            format!("{files} by {}", count(outcome.fixes.len(), "fix"))
        }
    };
    let tone = tone(exit == Exit::Success.code());
    let mut text = format!("\n{}\n", paint(color, tone, &words));
    if !outcome.fixes.is_empty() && !outcome.without.is_empty() {
        text.push_str(&format!("no `fix` in {without}\n"));
    }
    text
}
