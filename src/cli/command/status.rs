//! `vplan status`: reports how the latest run ended, and whether the present tree is verified.

mod text;

use super::answer::*;
use crate::args::{RISKS, digest};
use crate::history::ids;
use crate::request;
use crate::value::one_of;
use clap::ValueEnum;
pub(super) use text::StatusDocument;
use text::{Latest, StatusView, tree};
use vplan_engine::tree_status::{RecordedState, StatusRequest, tree_status};
use vplan_plan::request::Risk;
use vplan_repo::changes::ChangeSource;
use vplan_run::recorded_answer::VerifiedAnswer;
use vplan_run::run_summary::{State, Summary};
use vplan_runner::tree::Present;
use vplan_store::history::History;

/// `vplan status`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        vplan status\n  \
        vplan status --require verified && git push\n  \
        vplan status --require verified --last\n\n\
        Verified means: all that is asked for now, of the whole change, was run by one of the recorded runs, under this contract and \
        on exactly this tree, and passed with full coverage. Of which runs that can be said, vplan remembers in its state directory: \
        a record in `.vplan/` that it did not write here is `unknown`. A change that no check is asked for is verified: nothing \
        applies.\n\n\
        Exit codes: 0 shown; 2 usage; 5 the records cannot be read; 44 what is required does not hold.")]
pub struct StatusArgs {
    /// Require that all that is asked for now was verified, on the work tree as it is.
    #[arg(long, value_name = "WHAT")]
    pub require: Option<Required>,
    /// The request that must be verified.
    #[command(flatten)]
    pub request: StatusRequestArgs,
    /// The directory of the records.
    #[command(flatten)]
    pub records: Records,
}

/// The request that must be verified. Settings that are absent are taken from the run that is
/// compared.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Request (what is not said is as in the run that is looked at)")]
pub struct StatusRequestArgs {
    /// The role of the change's author.
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// The risk of the change.
    #[arg(long, value_name = "LEVEL", value_parser = one_of(RISKS))]
    pub risk: Option<Risk>,
    /// The change ends a milestone.
    #[arg(long)]
    pub milestone_end: bool,
    /// The change ends the run.
    #[arg(long)]
    pub run_end: bool,
    /// The last change: `--milestone-end` and `--run-end`.
    #[arg(long)]
    pub last: bool,
    /// The least tier.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub min_tier: Option<u8>,
    /// Read the contract from this revision, not from the work tree.
    #[arg(long, value_name = "REV", allow_hyphen_values = true)]
    pub contract_from: Option<String>,
    /// All changes since the merge base with this revision, not what is compared by default;
    /// `auto` asks the CI system.
    #[arg(long, value_name = "REV", allow_hyphen_values = true, group = "wanted")]
    pub base: Option<String>,
    /// Every tracked file.
    #[arg(long, group = "wanted")]
    pub all: bool,
    /// The subject: its base is compared with, and the contracts count that a person has accepted
    /// for it.
    #[arg(long, value_name = "NAME")]
    pub subject: Option<String>,
    /// Accept the contract with this digest although it asks for less than the one at the base;
    /// the answer still says so.
    #[arg(long, value_name = "sha256:…", require_equals = true, value_parser = digest)]
    pub allow_contract_change: Option<Digest>,
}

impl StatusRequestArgs {
    fn request(&self) -> StatusRequest {
        StatusRequest {
            role: self.role.clone(),
            risk: self.risk,
            boundaries: request::boundaries(self.milestone_end, self.run_end, self.last),
            min_tier: self.min_tier,
            contract_from: self.contract_from.clone(),
            changes: match &self.base {
                _ if self.all => Some(ChangeSource::All),
                base => base.as_deref().map(request::base).map(ChangeSource::Base),
            },
            subject: self.subject.clone(),
            allow_contract_change: self.allow_contract_change.clone(),
        }
    }
}

/// The states that can be required.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Required {
    /// All that is asked for now was verified, on the work tree as it is.
    Verified,
}

/// Shows the latest run, and whether what is here is verified.
///
/// # Errors
/// Records that cannot be read.
pub fn run(global: &Global, args: &StatusArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let (site, history) = open(global, &args.records)?;
    let (latest, finished) = latest(&history)?;
    // Without a run that has ended, nothing is compared with the tree.
    let present = finished
        .is_some()
        .then(|| Present::take(site.git.as_ref().ok()));
    let found = RecordedState {
        site: &site,
        history: &history,
        present: present.as_ref(),
    };
    let engine = global.engine().with_observer(terminal);
    let standing = tree_status(&engine, &args.request.request(), &found)?;
    let ended = finished.as_ref();
    let report = ended.and_then(|run| history.report(&run.run_id).ok()?);
    let verified = standing.answer == VerifiedAnswer::Verified;
    let exit = Exit::Incomplete.when(args.require.is_some() && !verified);
    if format == OutputFormat::Json {
        terminal.print_document(&StatusDocument {
            answer: standing.answer,
            caveats: &standing.caveats,
            compared: standing.compared.as_deref(),
            latest_finished: finished.as_ref(),
            nothing_applies: standing.nothing_applies,
            run: latest.as_ref().map(|(run, _)| run),
            tree: (report.as_ref().zip(present.as_ref()))
                .and_then(|(report, present)| tree(&history, report, present)),
            verified,
            verified_by: standing.by.as_deref(),
            why_not: standing.why_not.as_deref(),
        });
    } else if !terminal.quiet || exit != Exit::Success {
        let shown = StatusView {
            latest,
            finished,
            reason: report.and_then(|r| r.reason),
            required: args.require.is_some(),
        };
        terminal.say(&text::page(&shown, &standing, terminal));
    }
    Ok(exit.code())
}

/// The latest run, with what is wrong with its journal, and the latest one that came to its end.
fn latest(history: &History) -> Result<(Option<Latest>, Option<Summary>), Failure> {
    let mut latest = None;
    // Only as many are read as it takes to find one that came to its end.
    for id in ids(history)? {
        let past = history.read_run(&id);
        let summary = past.summary();
        let is_finished = summary.state == State::Finished;
        latest.get_or_insert_with(|| (summary.clone(), past.trouble));
        if is_finished {
            return Ok((latest, Some(summary)));
        }
    }
    Ok((latest, None))
}
