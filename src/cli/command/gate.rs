//! `vplan gate`: records rounds of work by hand, and shows the state of all subjects.

mod accept;
mod begin;
mod show;
mod standings;
mod words;

use super::answer::*;
use crate::args::STATUSES;
use crate::value::one_of;
pub(super) use accept::Accepted;
use clap::Subcommand;
use vplan_engine::round::Keeper;
use vplan_engine::subject::check_name;
use vplan_ledger::Status;
use vplan_ledger::round::{RoundChange, RoundResult};
use vplan_repo::ledger_file::{LedgerFile, PATIENCE};
pub(super) use words::line;
use words::{account, unknown};

/// `vplan gate`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        vplan gate begin --subject M1 --base main\n  \
        vplan gate record --subject M1 --status done\n  \
        vplan gate show --check\n  \
        vplan gate reset --subject M1\n\n\
        Exit codes: 0 complete, or go on; 2 usage; 3 contract invalid or missing; 5 the ledger cannot be used; 20 another round \
                        is needed; 21 retries used up; 22 escalated; 44 retries used up, and allowed to go on, or a weakened gate. `vplan help rounds` \
                        explains rounds, subjects and decisions.")]
pub struct Gate {
    /// The subcommand.
    #[command(subcommand)]
    pub command: GateCommand,
}

/// The subcommands of `gate`.
#[derive(Debug, Subcommand)]
pub enum GateCommand {
    /// Say where the work of a subject begins. Its first round does so, too: at the default base.
    Begin(begin::BeginArgs),
    /// Record a round that has ended, and say what follows. A word makes nothing done that runs
    /// verify.
    Record(GateRecordArgs),
    /// Show the state of subjects.
    Show(show::GateShowArgs),
    /// Accept a contract that asks for less than the one at the base of a subject. For people.
    Accept(accept::AcceptArgs),
    /// Forget subjects: their next round begins at 0.
    Reset(ResetArgs),
}

/// `vplan gate record`
#[derive(Debug, Args)]
pub struct GateRecordArgs {
    /// The subject of the round: a task, a milestone.
    #[arg(long, value_name = "NAME")]
    pub subject: String,
    /// The status of the round.
    #[arg(long, value_name = "STATUS", value_parser = one_of(STATUSES))]
    pub status: Status,
    /// Whether it changed files: `none`, how many, or `auto`: compare with the end of the last
    /// round of any subject.
    #[arg(long, value_name = "WHAT", default_value = "auto", value_parser = changed)]
    pub changed: RoundChange,
}

/// `vplan gate reset`
#[derive(Debug, Args)]
pub struct ResetArgs {
    /// This one (repeatable).
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    pub subject: Vec<String>,
    /// All of them. A damaged ledger is put aside.
    #[arg(long)]
    pub all: bool,
}

fn changed(text: &str) -> Result<RoundChange, &'static str> {
    match text {
        "auto" => Ok(RoundChange::Auto),
        "none" => Ok(RoundChange::Files(0)),
        _ if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
            // More files than can be counted are still some.
            Ok(RoundChange::Files(text.parse().unwrap_or(u64::MAX)))
        }
        _ => Err("it is `auto`, `none`, or a number of files"),
    }
}

/// The subjects that were forgotten.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Forgotten {
    /// Their names.
    reset: Vec<String>,
}

pub(super) use begin::Begun;
pub(super) use standings::Standings;

/// Records, shows or forgets.
///
/// # Errors
/// A contract that is missing or invalid (exit 3), a ledger that cannot be used (exit 5), an
/// unknown subject (exit 2).
pub fn run(global: &Global, args: &Gate, terminal: &Terminal) -> Result<u8, Failure> {
    match &args.command {
        GateCommand::Begin(args) => begin::begin(global, args, terminal),
        GateCommand::Record(args) => record(global, args, terminal),
        GateCommand::Show(args) => show::show(global, args, terminal),
        GateCommand::Accept(args) => accept::accept(global, args, terminal),
        GateCommand::Reset(args) => reset(global, args, terminal),
    }
}

fn record(global: &Global, args: &GateRecordArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    check_name(&args.subject)?;
    let site = global.engine().locate()?;
    let (contract, _) = global.engine().valid_contract(&site)?;
    let keeper = Keeper::by_hand(&global.engine(), &args.subject, &site, Some(&contract))?;
    let tree = global.engine().tree(&site, Some(&contract), &[]);
    let recorded = keeper.note(args.changed, RoundResult::ByHand(args.status), &tree)?;
    let exit = recorded.exit(Exit::Success.code());
    let speaks = !terminal.quiet || exit != Exit::Success.code();
    answer_if(terminal, format, speaks, &recorded, || {
        account(&recorded, terminal.color)
    });
    Ok(exit)
}

fn reset(global: &Global, args: &ResetArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    args.subject
        .iter()
        .try_for_each(|subject| check_name(subject))?;
    let site = global.engine().locate()?;
    let file = LedgerFile::new(global.engine().state(&site)?);
    let reset: Vec<String> = if args.all {
        let (found, aside) = file.begin_anew(PATIENCE)?;
        if let Some(aside) = aside {
            let shown = visible_path(&aside);
            terminal.note(&format!("note: the damaged ledger is now `{shown}`\n"));
        }
        found.subjects.into_iter().map(|e| e.subject).collect()
    } else {
        file.change(PATIENCE, |ledger| {
            let mut next = ledger.clone();
            let mut reset = Vec::new();
            for subject in &args.subject {
                if next.reset(subject) {
                    reset.push(subject.clone());
                } else if ledger.entry(subject).is_none() {
                    // An empty result is what was requested, but perhaps not what was meant.
                    let Failure { message, help, .. } = unknown(ledger, subject);
                    terminal.note(&format!("note: {message}; {}\n", help.unwrap_or_default()));
                }
            }
            reset.sort();
            Ok::<_, Failure>((next, reset))
        })?
    };
    let forgotten = Forgotten { reset };
    answer(terminal, format, &versioned(&forgotten), || {
        let names = forgotten.reset.iter().map(|s| format!("`{}`", visible(s)));
        match names.collect::<Vec<String>>().as_slice() {
            [] => "nothing to forget\n".to_owned(),
            names => format!("forgot {}\n", names.join(", ")),
        }
    });
    Ok(Exit::Success.code())
}
