//! `vplan status`: how did the latest run end, and is what it verified what is here now?

use super::format;
use crate::cli::args::{Format, Global};
use crate::cli::error::Failure;
use crate::cli::history::{Records, headline, ids, open};
use crate::cli::render::style::{Tone, paint};
use crate::cli::terminal::Terminal;
use crate::effect::history::History;
use crate::effect::load::Site;
use crate::effect::tree;
use crate::plan::Plan;
use crate::plan::request::Mode;
use crate::run::past::{State, Summary};
use crate::run::report::Report;
use crate::run::verdict::{Exit, Verdict};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;

/// `vplan status`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        vplan status\n  \
        vplan status --require verified && git push\n\n\
        Exit codes: 0 shown; 2 usage; 5 the records cannot be read; 44 what is required does not hold.")]
pub struct Status {
    /// Require that the latest finished run passed and that the work tree is the one that it verified.
    #[arg(long, value_name = "WHAT")]
    pub require: Option<Required>,
    /// Where the records are.
    #[command(flatten)]
    pub records: Records,
}

/// What can be required of the latest run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Required {
    /// It passed, and nothing has changed since.
    Verified,
}

/// The latest run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a> {
    /// The latest run that came to its end, when the latest one did not.
    latest_finished: Option<&'a Summary>,
    /// The latest run.
    run: Option<&'a Summary>,
    /// Whether what it verified is what is here.
    tree: Option<Tree>,
    /// Whether it passed and is about what is here.
    verified: bool,
    #[schemars(extend("const" = 1))]
    version: u32,
    /// Why it is not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<&'a str>,
}

/// The tree that a run verified, and the one that is here.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tree {
    /// What git knows of the work tree now; absent when that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub present: Option<String>,
    /// What the run verified.
    pub recorded: String,
    /// Whether both are the same.
    pub same: bool,
}

/// Shows the latest run.
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
    let judged = match &finished {
        Some(summary) => judge(&site, &history, summary),
        None => Judged { reason: None, tree: None, why_not: Some("no run has come to its end".to_owned()) },
    };
    let verified = judged.why_not.is_none();
    let exit = if args.require.is_some() && !verified { Exit::Incomplete } else { Exit::Success };
    if format == Format::Json {
        terminal.print_json(&Document {
            latest_finished: finished.as_ref(),
            run: latest.as_ref().map(|(run, _)| run),
            tree: judged.tree,
            verified,
            version: 1,
            why_not: judged.why_not.as_deref(),
        });
    } else if !terminal.quiet || exit != Exit::Success {
        terminal.say(&text(latest, finished.as_ref(), &judged, args.require.is_some(), terminal));
    }
    Ok(exit.code())
}

struct Judged {
    /// What decided the verdict, by the report.
    reason: Option<String>,
    tree: Option<Tree>,
    why_not: Option<String>,
}

/// Whether a finished run still stands for what is here.
fn judge(site: &Site, history: &History, run: &Summary) -> Judged {
    let not = |reason, tree, why: &str| Judged { reason, tree, why_not: Some(why.to_owned()) };
    let report = match history.report(&run.run_id) {
        Ok(Some(report)) => report,
        Ok(None) => return not(None, None, "its report is not there"),
        Err(why) => return not(None, None, &format!("its report cannot be used: {why}")),
    };
    let plan = match history.plan(&run.run_id) {
        Ok(Some(plan)) => plan,
        Ok(None) => return not(report.reason, None, "its plan is not there"),
        Err(why) => return not(report.reason, None, &format!("its plan cannot be used: {why}")),
    };
    let tree = compare(site, &report, &plan);
    let why_not = standing(run, &report, &plan).or_else(|| match &tree {
        None => Some("which tree it verified is not recorded".to_owned()),
        Some(Tree { present: None, .. }) => Some("which tree this is cannot be said".to_owned()),
        Some(tree) => (!tree.same).then(|| "the work tree is not the one that was verified".to_owned()),
    });
    Judged { reason: report.reason, tree, why_not }
}

/// The tree that a report is about beside the present one.
pub(super) fn compare(site: &Site, report: &Report, plan: &Plan) -> Option<Tree> {
    let recorded = report.tree.clone()?;
    let present = site.git.as_ref().ok().and_then(|git| tree::present(git, plan));
    let same = present.as_ref() == Some(&recorded);
    Some(Tree { present, recorded, same })
}

/// Why a run, by itself, verifies nothing.
fn standing(run: &Summary, report: &Report, plan: &Plan) -> Option<String> {
    let is_this = report.run_id == run.run_id && run.verdict == Some(report.verdict);
    let said = match report.verdict {
        _ if !is_this => "its report and its journal do not agree",
        _ if report.plan_digest != plan.digest => "its report is about another plan",
        Verdict::Passed | Verdict::NothingToVerify if report.exit_code != Exit::Success.code() => {
            "it did not end with exit code 0"
        }
        _ if report.shard.is_some() && report.verdict.is_pass() => {
            "it ran only a shard of its plan: `vplan merge` joins the reports"
        }
        // Whoever names no change verifies nothing, and could always do so.
        Verdict::NothingToVerify if plan.request.mode == Mode::Off => "mode is off: it verified nothing",
        Verdict::NothingToVerify if plan.is_change_named() => {
            "it verified nothing, for changes that were named by hand"
        }
        Verdict::Passed | Verdict::NothingToVerify => return None,
        _ => "it did not pass",
    };
    Some(said.to_owned())
}

fn text(
    latest: Option<(Summary, Option<String>)>,
    finished: Option<&Summary>,
    judged: &Judged,
    required: bool,
    terminal: &Terminal,
) -> String {
    let Some((latest, trouble)) = latest else {
        return "no run is recorded yet: `vplan run` makes one\n".to_owned();
    };
    let warn = |what: &str| format!("  {} {what}\n", paint(terminal.color, Tone::Warn, "!"));
    let mut text = headline(&latest, terminal.color, terminal.columns);
    text.push_str(&trouble.map_or_else(String::new, |t| warn(&t)));
    if let Some(finished) = finished {
        if finished.run_id != latest.run_id {
            text.push_str("\nthe latest run that came to its end:\n");
            text.push_str(&headline(finished, terminal.color, terminal.columns));
        }
        if let Some(reason) = &judged.reason {
            text.push_str(&format!("  {}\n", crate::base::word::visible(reason.as_bytes())));
        }
        match &judged.why_not {
            None => text.push_str("  the work tree is the one that was verified\n"),
            Some(why) => text.push_str(&format!("  not verified: {why}\n")),
        }
    } else if required {
        text.push_str("  not verified: no run has come to its end\n");
    }
    text
}
