//! `vplan recover`: rewrites a list of commands, or a plan, where one failed because the plan was
//! wrong.

use super::answer::*;
use super::classify::{answer, evidence};
use crate::args::Recover;
use crate::request::{commands, read};
use serde::Deserialize;
use vplan_base::vocabulary::FailureCode;
use vplan_engine::saved::read_plan_as;
use vplan_plan::document::DocumentForm;
use vplan_recover::bare::{self, bare_plan};
use vplan_recover::{self as recover, Recovery};

/// The answer.
#[derive(Serialize, JsonSchema)]
pub(super) struct RecoverDocument {
    #[serde(flatten)]
    answer: bare::RecoverAnswer,
    /// The plan after, for a caller who gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Plan>,
}

/// Prints the rewrite, or why there is none (exit 44).
///
/// # Errors
/// Commands, plans or failures that cannot be read.
pub fn run(global: &Global, args: &Recover, terminal: &Terminal) -> Result<u8, Failure> {
    format(global, &[OutputFormat::Json])?;
    let site = global.engine().locate()?;
    let (plan, failures) = match (&args.plan, &args.failure) {
        (Some(plan), Some(failure)) => from_files(plan, failure)?,
        _ => from_list(&site, args)?,
    };
    let failed = failures.iter().filter_map(|f| plan.find(&f.step));
    let questions = failed.flat_map(|i| recover::questions(plan.step(i)));
    let facts = answer(&site, &plan, &questions.collect());
    let recovery = recover::recover(&plan, &failures, &facts);
    let next = match &recovery {
        Recovery::Rewritten { plan, .. } if args.plan.is_some() => Some(plan.clone()),
        _ => None,
    };
    let answer = bare::answer(recovery, &failures);
    let refused = matches!(answer, bare::RecoverAnswer::Refused { .. });
    // A caller with a plan gets the plan, whole and sealed.
    terminal.print_json(&RecoverDocument {
        answer,
        plan: next.map(|plan| *plan),
    });
    Ok(Exit::Incomplete.when(refused).code())
}

/// A bare list of commands, and which of them failed.
fn from_list(site: &Site, args: &Recover) -> Result<(Plan, Vec<recover::Failure>), Failure> {
    let usage = |message: String| Failure::usage("vplan::usage::recover", message);
    if args.command.is_empty() {
        return Err(usage("nothing to recover".to_owned())
            .help("`--command TEXT…` and `--failed N`, or `--plan` and `--failure`"));
    }
    if args.failed.is_empty() {
        return Err(usage("which command failed?".to_owned()).help("`--failed N`, from 1"));
    }
    let commands = commands(&args.command)?;
    let plan = bare_plan(&commands);
    let code = args.code.as_deref().map(code).transpose()?;
    let evidence = evidence(&args.evidence)?;
    let mut failures = Vec::new();
    for number in &args.failed {
        let number = usize::try_from(*number).unwrap_or(usize::MAX);
        let found = (number.checked_sub(1)).and_then(|n| plan.numbered_steps().nth(n));
        let (index, step) = found.ok_or_else(|| {
            let all = commands.len();
            usage(format!("there is no command {number}, only {all}"))
        })?;
        failures.push(match code {
            Some(code) => bare::reported_failure(number, code),
            None => {
                let facts = answer(site, &plan, &recover::questions(step));
                recover::classify(&plan, index, &evidence, &facts)
            }
        });
    }
    Ok((plan, failures))
}

fn code(name: &str) -> Result<FailureCode, Failure> {
    FailureCode::parse(name).ok_or_else(|| {
        let message = format!("`{}` is no failure code", visible(name));
        let names = format!("`{}`", FailureCode::NAMES.join("`, `"));
        Failure::usage("vplan::usage::code", message).help(names)
    })
}

/// A failure as a caller writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    step: String,
    code: FailureCode,
    #[serde(default)]
    evidence: String,
    #[serde(default)]
    rule: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(Named),
    Many(Vec<Named>),
}

fn from_files(
    plan_path: &Path,
    failure_path: &Path,
) -> Result<(Plan, Vec<recover::Failure>), Failure> {
    use std::os::unix::ffi::OsStrExt as _;
    let wrong = |why: &str| {
        let message = format!("`{}`: {why}", visible_path(failure_path));
        Failure::usage("vplan::usage::recover", message)
    };
    let form = DocumentForm::of_name(plan_path.as_os_str().as_bytes());
    let plan = read_plan_as(plan_path, form.unwrap_or(DocumentForm::Json))?;
    let named: OneOrMany = serde_json::from_slice(&read(failure_path)?).map_err(|_| {
        wrong("is no failure").help(r#"{"step":"NAME","code":"…"}, or a list of them"#)
    })?;
    let named = match named {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    };
    let is_unknown = |n: &&Named| plan.steps.iter().all(|s| s.id != n.step);
    if let Some(unknown) = named.iter().find(is_unknown) {
        let step = visible(&unknown.step);
        return Err(wrong(&format!("the plan has no step `{step}`")));
    }
    let failure = |named: Named| recover::Failure {
        step: named.step,
        code: named.code,
        rule: named.rule,
        evidence: named.evidence,
    };
    Ok((plan, named.into_iter().map(failure).collect()))
}
