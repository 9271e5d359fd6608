//! `vplan lock`: fetches and pins the bytes of the contract's git imports, and removes pins that
//! are no longer needed.

use super::format;
use crate::base::vocabulary::Exit;
use crate::cli::args::{Format, Global, Request, duration};
use crate::cli::render::style::count;
use crate::cli::terminal::Terminal;
use crate::engine::Failure;
use crate::engine::lock::{Account, LockOptions, Locking, MakeRecording, Recording, State};
use clap::{Arg, Args};
use std::time::Duration;

/// `vplan lock`
#[derive(Debug, Args)]
#[command(
    mut_args(part_of_a_request),
    after_help = "Exit codes: 0 the lock is up to date; 2 usage; 3 contract invalid or missing; 4 something cannot be fetched, or the lock \
                        cannot be used or, with `--check`, is not up to date; 5 the proposer or the judge gave no answer."
)]
pub struct Lock {
    /// Fetch and write nothing; exit 4 unless the lock pins exactly what is imported.
    #[arg(long)]
    pub check: bool,
    /// Ask the proposer and the judge what this request (below) makes them say, and record the
    /// answers. Nothing of a request has an effect without this flag, but `--contract-from`:
    /// that fetches what the lock of a revision pins, and writes no lock.
    #[arg(long, conflicts_with = "check")]
    pub record: bool,
    /// The program that answers `judge` checks, instead of the contract's `judge-with`.
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub judge: Option<std::ffi::OsString>,
    /// The time limit of the fetch of one import.
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = duration)]
    pub timeout: u64,
    /// The request whose answers are recorded.
    #[command(flatten)]
    pub request: Request,
}

/// Nothing is asked without `--record`, so that nothing of a request would have an effect then.
fn part_of_a_request(arg: Arg) -> Arg {
    let own = ["check", "record", "timeout", "contract_from"].contains(&arg.get_id().as_str());
    if own {
        arg
    } else {
        arg.requires("record").conflicts_with("check")
    }
}

/// Brings the lock up to date, or says what is wrong with it.
///
/// # Errors
/// A contract that is invalid (exit 3); an import that cannot be fetched, a lock that cannot be
/// read or is not up to date (exit 4).
pub fn run(global: &Global, args: &Lock, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let engine = global.engine().with_observer(terminal);
    let revision = args.request.contract_from.as_deref();
    let locking = Locking::open(
        &engine,
        LockOptions {
            revision,
            limit: Duration::from_millis(args.timeout),
            offline: global.offline,
            record: args.record,
        },
    )?;
    if args.check {
        let (account, failure) = locking.check()?;
        show(&account, format, terminal);
        return match failure {
            None => Ok(Exit::Success.code()),
            Some(failure) => Err(Failure {
                diagnostics: failure.diagnostics.filter(|_| format == Format::Text),
                ..failure
            }),
        };
    }
    let account = if revision.is_some() {
        locking.fetch()?
    } else {
        let asked: &MakeRecording<'_> = &|| {
            Ok(Recording {
                request: args.request.planned()?,
                judge: args.judge.as_deref(),
            })
        };
        locking.update(asked)?
    };
    show(&account, format, terminal);
    Ok(Exit::Success.code())
}

fn show(account: &Account, format: Format, terminal: &Terminal) {
    if format == Format::Json {
        terminal.print_json(account);
    } else if !terminal.quiet {
        terminal.say(&text(account));
    }
}

fn text(account: &Account) -> String {
    let mut out = String::new();
    for line in account.entries.iter().filter(|l| l.state != State::Kept) {
        let state = match line.state {
            State::Kept => "kept",
            State::Pinned => "pinned",
            State::Removed => "removed",
            State::Missing => "missing",
            State::Surplus => "surplus",
        };
        out.push_str(&format!("{state:8} {}\n", line.import));
    }
    let held = account
        .entries
        .iter()
        .filter(|l| matches!(l.state, State::Kept | State::Pinned))
        .count();
    let answers = match account.proposals {
        0 => String::new(),
        n => format!(", {}", count(n, "recorded answer")),
    };
    let held = count(held, "import");
    out + &format!("{}: {held}{answers}\n", account.lock)
}
