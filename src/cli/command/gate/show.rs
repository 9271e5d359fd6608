//! Shows the state of all subjects.

use super::standings::{PresentState, StaleReason, Standings, Subject, is_settled, standing};
use super::words::{line, unknown};
use crate::command::answer::*;
use vplan_engine::failure::invalid;
use vplan_engine::subject::check_name;
use vplan_ledger::{Ledger, SubjectEntry, Terms};
use vplan_repo::ledger_file::LedgerFile;
use vplan_repo::load::LoadError;
use vplan_run::report::Decision;

/// `vplan gate show`
#[derive(Debug, Args)]
pub struct GateShowArgs {
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
pub fn show(global: &Global, args: &GateShowArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    if let Some(subject) = &args.subject {
        check_name(subject)?;
    }
    let engine = global.engine();
    let site = engine.locate()?;
    let loaded = match engine.load(&site, &engine.contract_request(None, None))? {
        Ok(loaded) if loaded.contract.is_none() => return Err(invalid(loaded)),
        Ok(loaded) => Some(loaded),
        // Rounds of `--mode fallback` need none.
        Err(LoadError::Missing(..)) => None,
        Err(error) => return Err(error.into()),
    };
    let contract = loaded.as_ref().and_then(|l| l.contract.as_ref());
    let terms = Terms::from_gate(contract.map(|c| &c.gate));
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
    let own = ledger.own.iter().map(|path| site.root.join(path.to_os()));
    let own: Vec<PathBuf> = own.collect();
    let elsewhere = entries.iter().filter(|e| engine.is_other_subject(&site, e));
    let other_contract = entries
        .iter()
        .filter(|e| engine.is_other_contract(&site, e));
    let now = PresentState {
        contents: engine.tree(&site, contract, &own).contents().ok(),
        elsewhere: elsewhere.map(|e| e.subject.as_str()).collect(),
        other_contract: other_contract.map(|e| e.subject.as_str()).collect(),
    };
    let shown = SubjectList {
        now,
        entries,
        ledger: &ledger,
        terms,
    };
    answer(terminal, format, &versioned(shown.standings()), || {
        shown.text(terminal.color)
    });
    Ok(Exit::Unconfirmed
        .when(args.check && !shown.is_good())
        .code())
}

/// The subjects that are shown.
struct SubjectList<'a> {
    entries: Vec<&'a SubjectEntry>,
    ledger: &'a Ledger,
    terms: Terms,
    now: PresentState<'a>,
}

impl SubjectList<'_> {
    fn is_confirmed(&self, entry: &SubjectEntry) -> bool {
        let standing = standing(entry, &self.terms, self.ledger, &self.now);
        entry.counter >= self.terms.applicable(entry).confirmations
            && !entry.failed
            && matches!(standing, Decision::Advance | Decision::Complete)
            && self.now.outdated(entry, self.ledger).is_none()
    }

    /// Whether there are some, and nothing is left to do for any.
    fn is_good(&self) -> bool {
        let is_good = |e: &&SubjectEntry| self.is_confirmed(e) || is_settled(e, &self.now);
        !self.entries.is_empty() && self.entries.iter().all(is_good)
    }

    fn standings(&self) -> Standings<'_> {
        let (terms, ledger, now) = (&self.terms, self.ledger, &self.now);
        let entries = self.entries.iter();
        Standings {
            complete: !self.entries.is_empty() && entries.clone().all(|e| self.is_confirmed(e)),
            required: terms.confirmations,
            rounds: ledger.rounds,
            subjects: entries
                .map(|e| Subject::new(e, terms, ledger, now))
                .collect(),
        }
    }

    fn text(&self, color: bool) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            let required = self.terms.applicable(entry).confirmations;
            let counter = entry.counter.min(required);
            let decision = standing(entry, &self.terms, self.ledger, &self.now);
            text.push_str(&line(&entry.subject, counter, required, decision, color));
            if is_settled(entry, &self.now) {
                text.push_str(": nothing applies");
            } else if let Some(outdated) = self.now.outdated(entry, self.ledger) {
                text.push_str(match outdated {
                    StaleReason::ContractChanged => ": the contract changed since the last round",
                    StaleReason::FilesChanged => ": files changed since the last round",
                    StaleReason::OtherSubject => {
                        ": of another work tree or history; `vplan gate reset` begins anew"
                    }
                });
            }
            let at = visible(&entry.ended_at);
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
