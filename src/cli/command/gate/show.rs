//! Shows the state of all subjects.

use super::standings::{Standings, Subject, is_settled, standing};
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
use crate::ledger::{Contents, Ledger, SubjectEntry, Terms};
use clap::Args;

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

/// Shows the state of subjects.
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
    let loaded = match engine.load(&site, &engine.contract_request(None, None))? {
        Ok(loaded) if loaded.contract.is_none() => return Err(invalid(loaded)),
        Ok(loaded) => Some(loaded),
        // Rounds of `--mode fallback` need none.
        Err(LoadError::Missing(..)) => None,
        Err(error) => return Err(load_failed(error)),
    };
    let contract = loaded.as_ref().and_then(|l| l.contract.as_ref());
    let terms = Terms::of(contract.map(|c| &c.gate));
    let ledger = match engine.kept_state(&site)? {
        Some(place) => LedgerFile::new(place).read()?,
        None => Ledger::default(),
    };
    let entries: Vec<&SubjectEntry> = match &args.subject {
        None => ledger.subjects.iter().collect(),
        Some(subject) => vec![
            ledger
                .entry(subject)
                .ok_or_else(|| unknown(&ledger, subject))?,
        ],
    };
    // The files are looked at only where a subject may be settled.
    let settles = entries.iter().any(|e| e.settled.is_some());
    let shown = SubjectList {
        now: settles
            .then(|| engine.tree(&site, contract, &[]).contents().ok())
            .flatten(),
        entries,
        ledger: &ledger,
        terms,
    };
    if format == Format::Json {
        terminal.print_json(&shown.standings());
    } else if !terminal.quiet {
        terminal.say(&shown.text(terminal.color));
    }
    Ok(if args.check && !shown.is_good() {
        Exit::Unconfirmed
    } else {
        Exit::Success
    }
    .code())
}

/// The subjects that are shown.
struct SubjectList<'a> {
    entries: Vec<&'a SubjectEntry>,
    ledger: &'a Ledger,
    terms: Terms,
    /// The files now, where a subject may be settled.
    now: Option<Contents>,
}

impl SubjectList<'_> {
    fn is_confirmed(&self, entry: &SubjectEntry) -> bool {
        entry.counter >= self.terms.applicable(entry).confirmations
    }

    /// Whether there are some, and nothing is left to do for any.
    fn is_good(&self) -> bool {
        let is_good = |e: &&SubjectEntry| self.is_confirmed(e) || is_settled(e, self.now.as_ref());
        !self.entries.is_empty() && self.entries.iter().all(is_good)
    }

    fn standings(&self) -> Standings<'_> {
        let (terms, ledger, now) = (&self.terms, self.ledger, self.now.as_ref());
        let entries = self.entries.iter();
        Standings {
            complete: !self.entries.is_empty() && entries.clone().all(|e| self.is_confirmed(e)),
            required: terms.confirmations,
            rounds: ledger.rounds,
            subjects: entries
                .map(|e| Subject::of(e, terms, ledger, now))
                .collect(),
            version: 1,
        }
    }

    fn text(&self, color: bool) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            let required = self.terms.applicable(entry).confirmations;
            let counter = entry.counter.min(required);
            let decision = standing(entry, &self.terms, self.ledger);
            text.push_str(&line(&entry.subject, counter, required, decision, color));
            if is_settled(entry, self.now.as_ref()) {
                text.push_str(": nothing applies");
            }
            let at = visible(entry.ended_at.as_bytes());
            let rounds = match usize::try_from(entry.rounds).unwrap_or(usize::MAX) {
                0 => format!("begun at {at}"),
                rounds => format!("{}, the last at {at}", count(rounds, "round")),
            };
            text.push_str(&format!("  {}\n", paint(color, Tone::Faint, &rounds)));
        }
        if self.entries.is_empty() {
            text.push_str("no subject has had a round\n");
        }
        text
    }
}
