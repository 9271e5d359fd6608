//! `vplan lock`: fetches and pins the bytes of the contract's git imports, and removes pins that
//! are no longer needed.

use super::answer::*;
use crate::args::RequestArgs;
use crate::render::style::Colors;
use crate::value::duration;
use clap::Arg;
use std::time::Duration;
use vplan_base::word::has_word;
use vplan_engine::lock::{
    Account, Line, LockOptions, LockRecording, Locking, MakeRecording, State,
};
use vplan_plan::diff::{ContractDiff, text::contracts};

/// `vplan lock`
#[derive(Debug, Args)]
#[command(
    mut_args(part_of_a_request),
    after_help = "Exit codes: 0 the lock is up to date; 2 usage; 3 contract invalid or missing; 4 something cannot be fetched, or the lock \
                        cannot be used or, with `--check`, is not up to date; 5 the proposer or the judge gave no answer; 45 `--update` would weaken \
                        the contract."
)]
pub struct LockArgs {
    /// Fetch and write nothing; exit 4 unless the lock pins exactly what is imported.
    #[arg(long)]
    pub check: bool,
    /// Move what is pinned for branches and tags (`?ref=NAME`) to where they are now: of these
    /// imports, by the name behind `as` or the URL, or of all.
    ///
    /// It shows what changes with that, and writes nothing where the contract gets weaker, or may
    /// get: that takes `--accept`.
    #[arg(long, value_name = "IMPORT", num_args = 0.., conflicts_with_all = ["check", "record"])]
    pub update: Option<Vec<String>>,
    /// Write what `--update` found although the contract is weaker with it, or may be; the lock says
    /// so.
    #[arg(long, requires = "update")]
    pub accept: bool,
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
    pub request: RequestArgs,
}

/// Makes an option of a request require `--record`: without it, the request has no effect.
fn part_of_a_request(arg: Arg) -> Arg {
    const OWN: &str = "check record timeout contract_from update accept";
    if has_word(OWN, arg.get_id().as_str()) {
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
pub fn run(global: &Global, args: &LockArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let engine = global.engine().with_observer(terminal);
    let revision = args.request.contract_from.as_deref();
    let options = LockOptions {
        revision,
        limit: Duration::from_millis(args.timeout),
        offline: global.offline,
        record: args.record,
    };
    let locking = Locking::open(&engine, options)?;
    if let Some(names) = &args.update {
        return move_pins(&locking, names, args.accept, format, terminal);
    }
    let asked: &MakeRecording<'_> = &|| {
        Ok(LockRecording {
            request: args.request.planned()?,
            judge: args.judge.as_deref(),
        })
    };
    let (account, failure) = match revision {
        _ if args.check => locking.check()?,
        Some(_) => (locking.fetch()?, None),
        None => (locking.update(asked)?, None),
    };
    answer(terminal, format, &account, || text(&account));
    match failure {
        None => Ok(Exit::Success.code()),
        Some(failure) => Err(Failure {
            diagnostics: failure.diagnostics.filter(|_| format == OutputFormat::Text),
            ..failure
        }),
    }
}

/// What would move, and what differs then.
#[derive(Serialize, JsonSchema)]
pub(super) struct UpdateDocument<'a> {
    /// What moves.
    #[serde(flatten)]
    account: &'a Account,
    /// What differs between the contract as it was and as it is with what has moved.
    differences: &'a ContractDiff,
}

/// Shows what moving pins changes, and moves them.
fn move_pins(
    locking: &Locking<'_>,
    names: &[String],
    accept: bool,
    format: OutputFormat,
    terminal: &Terminal,
) -> Result<u8, Failure> {
    let moving = locking.moving(names)?;
    let weaker = moving.diff.weaker();
    if format == OutputFormat::Text && !terminal.quiet {
        terminal.say(&text(&moving.account));
        if !moving.diff.differences.is_empty() {
            terminal.say(&contracts(&moving.diff, &Colors(terminal.color)));
        }
    }
    let document = |account: &Account, differences: &ContractDiff| {
        if format == OutputFormat::Json {
            terminal.print_json(&UpdateDocument {
                account,
                differences,
            });
        }
    };
    if weaker > 0 && !accept {
        document(&moving.account, &moving.diff);
        let message =
            "the contract is weaker with what has moved, or may be; the lock stays as it was";
        return Err(Failure::new(Exit::Weakened, "vplan::lock::weaker", message)
            .help("a maintainer accepts it with `--accept`"));
    }
    let differences = moving.diff.clone();
    document(&moving.write()?, &differences);
    Ok(Exit::Success.code())
}

fn text(account: &Account) -> String {
    let mut out = String::new();
    for line in account.entries.iter().filter(|l| l.state != State::Kept) {
        let state = match line.state {
            State::Moved => "moved",
            State::Kept => "kept",
            State::Pinned => "pinned",
            State::Removed => "removed",
            State::Missing => "missing",
            State::Surplus => "surplus",
        };
        let short = |id: &String| id.chars().take(12).collect::<String>();
        let from = framed("", line.from.as_ref().map(short), " -> ");
        let commits = framed(&format!("  {from}"), line.commit.as_ref().map(short), "");
        out.push_str(&format!("{state:8} {}{commits}\n", line.import));
    }
    for note in &account.notes {
        out.push_str(&format!("note: {note}\n"));
    }
    let is_held = |l: &&Line| l.commit.is_none() && matches!(l.state, State::Kept | State::Pinned);
    let held = count(account.entries.iter().filter(is_held).count(), "import");
    let answers = Some(account.proposals).filter(|answers| *answers > 0);
    let answers = framed(", ", answers.map(|n| count(n, "recorded answer")), "");
    out + &format!("{}: {held}{answers}\n", account.lock)
}
