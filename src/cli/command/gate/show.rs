//! Shows the state of all subjects.

use super::words::{line, unknown};
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::cli::args::{Format, Global};
use crate::cli::render::style::{Tone, count, paint};
use crate::cli::terminal::Terminal;
use crate::effect::repo::load::LoadError;
use crate::effect::store::ledger::LedgerFile;
use crate::engine::Failure;
use crate::engine::failure::{invalid, load_failed};
use crate::engine::subject::named;
use crate::ledger::round::Because;
use crate::ledger::{Acceptance, Contents, Entry, Ledger, Status, Terms, Waiver};
use crate::run::report::Decision;
use crate::run::verdict::Verdict;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

/// How all subjects stand.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli::command) struct Standings<'a> {
    /// Whether all that are shown are confirmed often enough.
    complete: bool,
    /// How many confirmations are asked for.
    required: u32,
    /// How many rounds have been recorded, of all subjects together.
    rounds: u64,
    /// The subjects, ascending by name.
    subjects: Vec<Subject<'a>>,
    #[schemars(extend("const" = 1))]
    version: u32,
}

/// How a subject stands.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Subject<'a> {
    /// The contracts that a person has accepted for it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    accepted: &'a [Acceptance],
    /// The commit that its rounds compare with, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<&'a str>,
    /// How often it is confirmed.
    counter: u32,
    /// What its last round came to, as far as its counter still says so.
    decision: Decision,
    /// When its last round ended; when it was begun, if it has had none.
    ended_at: &'a str,
    /// Whether its last round changed nothing.
    no_change: bool,
    /// Why the decision is about more than the last round.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Because>,
    /// How many confirmations it needs: those of the contract, or of the stronger gate that it
    /// began with.
    required: u32,
    /// How many rounds of repair are left.
    retries_remaining: u32,
    /// How many rounds it has had.
    rounds: u64,
    /// The run of its last round, if that was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'a str>,
    /// Nothing of the contract applied to its whole change, and the files are the same now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    settled: bool,
    /// What was said of its last round, or what its verdict says.
    status: Status,
    /// Its name.
    subject: &'a str,
    /// The verdict of its last round, if that was a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    /// When it was allowed to go on without a pass.
    waivers: &'a [Waiver],
}

impl<'a> Subject<'a> {
    fn of(entry: &'a Entry, terms: &Terms, ledger: &Ledger, now: Option<&Contents>) -> Self {
        Self {
            accepted: &entry.accepted,
            base: entry.began.as_ref().and_then(|b| b.base.as_deref()),
            counter: entry.counter.min(terms.held(entry).confirmations),
            decision: standing(entry, terms, ledger),
            ended_at: &entry.ended_at,
            no_change: entry.no_change,
            reason: entry.reason,
            required: terms.held(entry).confirmations,
            retries_remaining: terms
                .held(entry)
                .retries
                .saturating_add(1)
                .saturating_sub(entry.used),
            rounds: entry.rounds,
            run_id: entry.run_id.as_deref(),
            settled: is_settled(entry, now),
            status: entry.status,
            subject: &entry.subject,
            verdict: entry.verdict,
            waivers: &entry.waivers,
        }
    }
}

/// Its decision in the words of today: a confirmation may have been taken back since its last
/// round.
fn standing(entry: &Entry, terms: &Terms, ledger: &Ledger) -> Decision {
    let required = terms.held(entry).confirmations;
    entry.standing(required, ledger.others_complete(&entry.subject, required))
}

/// Whether nothing applied to its whole change, on the files that are there now.
fn is_settled(entry: &Entry, now: Option<&Contents>) -> bool {
    now.is_some() && entry.settled.as_ref() == now
}

/// `vplan gate show`
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Only this one.
    #[arg(long, value_name = "NAME")]
    pub subject: Option<String>,
    /// Exit 20 unless all that is shown is complete.
    #[arg(long)]
    pub check: bool,
}

/// Shows how subjects stand.
///
/// # Errors
/// As [`super::run`].
pub(super) fn show(
    global: &Global,
    args: &ShowArgs,
    format: Format,
    terminal: &Terminal,
) -> Result<u8, Failure> {
    if let Some(subject) = &args.subject {
        named(subject)?;
    }
    let engine = global.engine();
    let site = engine.locate()?;
    let loaded = match engine.load(&site, &engine.wanted(None, None))? {
        Ok(loaded) if loaded.contract.is_none() => return Err(invalid(loaded)),
        Ok(loaded) => Some(loaded),
        // Rounds of `--mode fallback` need none.
        Err(LoadError::Missing(_)) => None,
        Err(error) => return Err(load_failed(error)),
    };
    let contract = loaded.as_ref().and_then(|l| l.contract.as_ref());
    let terms = Terms::of(contract.map(|c| &c.gate));
    let ledger = match engine.kept_state(&site)? {
        Some(place) => LedgerFile::new(place).read()?,
        None => Ledger::default(),
    };
    let required = terms.confirmations;
    let shown: Vec<&Entry> = match &args.subject {
        None => ledger.subjects.iter().collect(),
        Some(subject) => vec![
            ledger
                .entry(subject)
                .ok_or_else(|| unknown(&ledger, subject))?,
        ],
    };
    // The files are looked at only where a subject may be settled.
    let settles = shown.iter().any(|e| e.settled.is_some());
    let now = if settles {
        engine.tree(&site, contract, &[]).contents().ok()
    } else {
        None
    };
    let stands = |e: &Entry| e.counter >= terms.held(e).confirmations;
    let complete = !shown.is_empty() && shown.iter().all(|e| stands(e));
    if format == Format::Json {
        let subjects = shown
            .iter()
            .map(|e| Subject::of(e, &terms, &ledger, now.as_ref()))
            .collect();
        terminal.print_json(&Standings {
            complete,
            required,
            rounds: ledger.rounds,
            subjects,
            version: 1,
        });
    } else if !terminal.quiet {
        let mut text = String::new();
        for entry in &shown {
            let required = terms.held(entry).confirmations;
            let (counter, decision) = (
                entry.counter.min(required),
                standing(entry, &terms, &ledger),
            );
            text.push_str(&line(
                &entry.subject,
                counter,
                required,
                decision,
                terminal.color,
            ));
            text.push_str(if is_settled(entry, now.as_ref()) {
                ": nothing applies"
            } else {
                ""
            });
            let at = visible(entry.ended_at.as_bytes());
            let rounds = match usize::try_from(entry.rounds).unwrap_or(usize::MAX) {
                0 => format!("begun at {at}"),
                rounds => format!("{}, the last at {at}", count(rounds, "round")),
            };
            text.push_str(&format!(
                "  {}\n",
                paint(terminal.color, Tone::Faint, &rounds)
            ));
        }
        if shown.is_empty() {
            text.push_str("no subject has had a round\n");
        }
        terminal.say(&text);
    }
    let good = !shown.is_empty()
        && shown
            .iter()
            .all(|e| stands(e) || is_settled(e, now.as_ref()));
    Ok(if args.check && !good {
        Exit::Unconfirmed
    } else {
        Exit::Success
    }
    .code())
}
