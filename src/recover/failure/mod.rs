//! Classifies why a step failed, by a table of rows over all evidence (`causes.table`); structural
//! evidence first, text last. Another tool's output needs only a row there.

mod advice;
mod goal;
mod invocation;
mod requested;
mod scene;
mod script;
pub mod sequence;
mod setup;
mod table;
mod test_runner;
mod text;

pub use advice::{advice, questions as advice_questions};
use invocation::{Layer, ToolLayer};
pub use requested::{AskedKind, RequestedNames, requested_names};
use scene::{Scene, quote};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use table::{Row, TABLE, Test};
use vplan_base::vocabulary::FailureCode;
use vplan_check::evidence::Evidence;
use vplan_plan::facts::{Facts, Question};
use vplan_plan::{Plan, Step, StepIndex};

/// A classified failure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The step's id.
    pub step: String,
    /// The cause of the failure.
    pub code: FailureCode,
    /// The name of the classifier's row that decided.
    pub rule: String,
    /// The line, exit code or error that decided.
    pub evidence: String,
}

/// The test of a row that is a function.
fn structure(name: &str) -> Option<fn(&Scene<'_>) -> Option<String>> {
    Some(match name {
        "unsupported-command" => unsupported,
        "unanswered" => unanswered,
        "timed-out" => timed_out,
        "not-started" => not_started,
        "check-behind-cleanup" => sequence::decides,
        "script-not-declared" => script::not_declared,
        "make-missing-makefile" => setup::makefile_missing,
        "shell-exit-127" => setup::exit_127,
        "script-program-not-found" => setup::program_of_script,
        "make-error-127" => setup::make_127,
        "exec-program-not-found" => setup::program_of_exec,
        "node-no-module" => setup::node_module,
        _ => return None,
    })
}

/// The function that decides whether a line has another meaning.
fn unless(name: &str) -> Option<fn(&Scene<'_>, &Layer) -> bool> {
    match name {
        "script-exists" => Some(script::exists),
        "other-goal" => Some(goal::means_something_else),
        "tests-ran" => Some(test_runner::tests_ran),
        _ => None,
    }
}

fn unsupported(scene: &Scene<'_>) -> Option<String> {
    unsupported_words(scene.step)
}

/// Returns why a command cannot be expressed, on one line.
pub(super) fn unsupported_words(step: &Step) -> Option<String> {
    use vplan_base::command::UnsupportedReason::{
        Builtin, Comment, Empty, Expansion, Operator, Program, Quote,
    };
    let unsupported = step.unsupported.as_ref()?;
    let text = quote(match unsupported.text.as_str() {
        "" => &step.command,
        text => text,
    });
    Some(match unsupported.reason {
        Operator | Expansion | Builtin => format!("`{text}` needs a shell"),
        Quote | Comment | Empty | Program => format!("`{text}` is not how a command is written"),
    })
}

fn unanswered(scene: &Scene<'_>) -> Option<String> {
    (scene.evidence.is_unanswered()).then(|| "no answer from elsewhere".to_owned())
}

fn timed_out(scene: &Scene<'_>) -> Option<String> {
    if scene.evidence.timed_out {
        return Some(format!("time limit of {} ms", scene.step.timeout_ms));
    }
    let mut wrappers = scene.layers.iter().filter(|l| l.tool == ToolLayer::Wrapper);
    let wrapper = wrappers.any(|l| matches!(l.program.as_str(), "timeout" | "gtimeout"));
    (wrapper && scene.exited(124)).then(|| "exit 124 of timeout".to_owned())
}

fn not_started(scene: &Scene<'_>) -> Option<String> {
    scene.evidence.spawn_error.as_ref().map(|e| quote(&e.code))
}

/// Classifies why a step of the plan failed.
pub fn classify(plan: &Plan, index: StepIndex, evidence: &Evidence, facts: &Facts) -> Failure {
    let step = plan.step(index);
    let scene = Scene::new(plan, index, step, evidence, facts);
    let mut rows = TABLE.iter();
    let hit = rows.find_map(|row| decide(row, &scene).map(|seen| (row, seen)));
    let (code, rule, evidence) = match hit {
        Some((row, seen)) => (row.code, row.name, seen),
        None => (FailureCode::Failed, "failed", ending(evidence)),
    };
    Failure {
        step: step.id.clone(),
        code,
        rule: rule.to_owned(),
        evidence,
    }
}

fn ending(evidence: &Evidence) -> String {
    match (&evidence.signal, evidence.exit) {
        (Some(signal), _) => quote(signal),
        (None, Some(code)) => format!("exit {code}"),
        (None, None) => String::new(),
    }
}

fn decide(row: &Row, scene: &Scene<'_>) -> Option<String> {
    let mut layers = scene.layers.iter().filter(|l| row.tools.contains(&l.tool));
    match &row.test {
        Test::Structure => structure(row.name)?(scene),
        Test::Exit(code) => {
            let is_it = scene.exited(*code) && layers.next().is_some();
            is_it.then(|| format!("exit {code}"))
        }
        Test::Text(place, other) if scene.ended_badly() => {
            let means_other = other.and_then(unless);
            layers
                .filter(|layer| means_other.is_none_or(|is_other| !is_other(scene, layer)))
                .find_map(|layer| scene.line_of_layer(layer, *place, &row.lines))
        }
        Test::Text(..) | Test::Lines => None,
    }
}

/// Returns the facts on which classifying this step's failure, or repairing it, depends. Gather
/// them before [`classify`] and [`crate::recover`].
pub fn questions(step: &Step) -> BTreeSet<Question> {
    let questions = requested_names(step).and_then(|asked| asked.questions());
    questions.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests;
