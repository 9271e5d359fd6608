//! `vplan status`: reports how the latest run ended, and whether the present tree is verified.

use super::format;
use crate::base::canon::Digest;
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::cli::args::{Format, Global, Risk, digest};
use crate::cli::history::{Records, headline, ids, open};
use crate::cli::render;
use crate::cli::render::style::{Tone, paint};
use crate::cli::request;
use crate::cli::terminal::Terminal;
use crate::effect::repo::changes::ChangeSource;
use crate::effect::runner::tree::Present;
use crate::effect::store::history::History;
use crate::engine::Failure;
use crate::engine::standing::{Found, Standing, StatusRequest, standing};
use crate::plan::caveat::Caveat;
use crate::run::past::{State, Summary, short};
use crate::run::report::Report;
use crate::run::stands::Answer;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;

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
pub struct Status {
    /// Require that all that is asked for now was verified, on the work tree as it is.
    #[arg(long, value_name = "WHAT")]
    pub require: Option<Required>,
    /// What is asked for.
    #[command(flatten)]
    pub wanted: Wanted,
    /// Where the records are.
    #[command(flatten)]
    pub records: Records,
}

/// For what it must be verified. What is not said is taken from the run that is held against it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Request (what is not said is as in the run that is looked at)")]
pub struct Wanted {
    /// Whose change it is.
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// How risky the change is.
    #[arg(long, value_name = "LEVEL")]
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
    /// Whose work it is: what it began with is compared, and the contracts count that a person has
    /// accepted for it.
    #[arg(long, value_name = "NAME")]
    pub subject: Option<String>,
    /// Accept the contract with this digest although it asks for less than the one at the base;
    /// the answer still says so.
    #[arg(long, value_name = "sha256:…", require_equals = true, value_parser = digest)]
    pub allow_contract_change: Option<Digest>,
}

impl Wanted {
    fn request(&self) -> StatusRequest {
        StatusRequest {
            role: self.role.clone(),
            risk: self.risk.map(Into::into),
            boundaries: request::boundaries(self.milestone_end, self.run_end, self.last),
            min_tier: self.min_tier,
            contract_from: self.contract_from.clone(),
            changes: if self.all {
                Some(ChangeSource::All)
            } else {
                let base = self.base.as_deref().map(request::base);
                base.map(ChangeSource::Base)
            },
            subject: self.subject.clone(),
            allow_contract_change: self.allow_contract_change.clone(),
        }
    }
}

/// What can be required.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Required {
    /// All that is asked for now was verified, on the work tree as it is.
    Verified,
}

/// The latest run, and whether what is here is verified.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a> {
    /// Whether what is here is verified; `unknown`: there is a record, and vplan does not know it
    /// for its own.
    answer: Answer,
    /// What keeps the answer from meaning all that is asked.
    #[serde(skip_serializing_if = "<[Caveat]>::is_empty")]
    caveats: &'a [Caveat],
    /// What was compared to know the change; absent when what is asked for cannot be planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<&'a str>,
    /// The latest run that came to its end, when the latest one did not.
    latest_finished: Option<&'a Summary>,
    /// No check is asked for by the whole change.
    nothing_applies: bool,
    /// The latest run.
    run: Option<&'a Summary>,
    /// The tree that the latest finished run verified, by its report, and the one that is here.
    tree: Option<Tree>,
    /// Whether all that is asked for now was verified, on the work tree as it is.
    verified: bool,
    /// The run that verified it; absent where none did, or nothing applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    verified_by: Option<&'a str>,
    #[schemars(extend("const" = 1))]
    version: u32,
    /// Why it is not verified, by the newest run.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<&'a str>,
}

/// The tree that a run verified, and the one that is here.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Tree {
    /// What git knows of the work tree now; absent when that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    present: Option<String>,
    /// What the run verified.
    recorded: String,
    /// Whether both are the same.
    same: bool,
}

/// Shows the latest run, and whether what is here is verified.
///
/// # Errors
/// Records that cannot be read.
pub fn run(global: &Global, args: &Status, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let (site, history) = open(global, &args.records)?;
    let mut latest = None;
    let mut finished = None;
    // Only as many are read as it takes to find one that came to its end.
    for id in ids(&history)? {
        let past = history.past(&id);
        let summary = past.summary();
        let is_finished = summary.state == State::Finished;
        latest.get_or_insert_with(|| (summary.clone(), past.trouble));
        if is_finished {
            finished = Some(summary);
            break;
        }
    }
    // Without a run that has ended, nothing is compared with the tree.
    let present = finished
        .is_some()
        .then(|| Present::look(site.git.as_ref().ok()));
    let found = Found {
        site: &site,
        history: &history,
        present: present.as_ref(),
    };
    let engine = global.engine().told(terminal);
    let standing = standing(&engine, &args.wanted.request(), &found)?;
    let report = finished
        .as_ref()
        .and_then(|run| history.report(&run.run_id).ok()?);
    let verified = standing.answer == Answer::Verified;
    let exit = if args.require.is_some() && !verified {
        Exit::Incomplete
    } else {
        Exit::Success
    };
    if format == Format::Json {
        terminal.print_json(&Document {
            answer: standing.answer,
            caveats: &standing.caveats,
            compared: standing.compared.as_deref(),
            latest_finished: finished.as_ref(),
            nothing_applies: standing.nothing_applies,
            run: latest.as_ref().map(|(run, _)| run),
            tree: report
                .as_ref()
                .zip(present.as_ref())
                .and_then(|(report, present)| tree(&history, report, present)),
            verified,
            verified_by: standing.by.as_deref(),
            version: 1,
            why_not: standing.why_not.as_deref(),
        });
    } else if !terminal.quiet || exit != Exit::Success {
        let shown = Shown {
            latest,
            finished,
            reason: report.and_then(|r| r.reason),
            required: args.require.is_some(),
        };
        terminal.say(&text(&shown, &standing, terminal));
    }
    Ok(exit.code())
}

/// The tree of a report beside the present one.
fn tree(history: &History, report: &Report, present: &Present) -> Option<Tree> {
    let recorded = report.tree.clone()?;
    let plan = history.plan(&report.run_id).ok()??;
    let present = present.digest(&plan, &report.new_files);
    let same = present.as_ref() == Some(&recorded);
    Some(Tree {
        present,
        recorded,
        same,
    })
}

/// What is shown of the recorded runs.
struct Shown {
    /// With what is wrong with its journal.
    latest: Option<(Summary, Option<String>)>,
    finished: Option<Summary>,
    /// What decided the verdict, by the report of the latest finished run.
    reason: Option<String>,
    required: bool,
}

fn text(shown: &Shown, standing: &Standing, terminal: &Terminal) -> String {
    let mut text = String::new();
    if let Some(compared) = &standing.compared {
        text.push_str(&format!("compared: {}\n", visible(compared.as_bytes())));
    }
    text.push_str(&render::caveats(&standing.caveats, terminal.color));
    let Some((latest, trouble)) = &shown.latest else {
        let answer = if shown.required || standing.nothing_applies {
            answer(standing, None)
        } else {
            String::new()
        };
        return text + "no run is recorded yet: `vplan run` makes one\n" + &answer;
    };
    let warn = |what: &str| format!("  {} {what}\n", paint(terminal.color, Tone::Warn, "!"));
    text.push_str(&headline(latest, terminal.color, terminal.columns));
    text.push_str(&trouble.as_ref().map_or_else(String::new, |t| warn(t)));
    if let Some(finished) = &shown.finished {
        if finished.run_id != latest.run_id {
            text.push_str("\nthe latest run that came to its end:\n");
            text.push_str(&headline(finished, terminal.color, terminal.columns));
        }
        if let Some(reason) = &shown.reason {
            text.push_str(&format!("  {}\n", visible(reason.as_bytes())));
        }
    }
    if shown.finished.is_some() || shown.required {
        text.push_str(&answer(standing, shown.finished.as_ref()));
    }
    text
}

fn answer(standing: &Standing, finished: Option<&Summary>) -> String {
    let why = standing.why_not.as_deref().unwrap_or_default();
    match (standing.answer, &standing.by) {
        (Answer::Verified, None) => "  verified: nothing applies\n".to_owned(),
        (Answer::Verified, Some(by)) if finished.is_some_and(|run| run.run_id == *by) => {
            "  the work tree is the one that was verified\n".to_owned()
        }
        (Answer::Verified, Some(by)) => format!(
            "  the work tree is the one that the run {} verified\n",
            short(by)
        ),
        (Answer::NotVerified, _) => format!("  not verified: {why}\n"),
        (Answer::Unknown, _) => format!("  unknown: {why}\n"),
    }
}
