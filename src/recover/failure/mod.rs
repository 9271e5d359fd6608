//! Classifies why a step failed. A table of rows over all evidence; structural evidence first, text
//! last.
//!
//! A text row counts only for the tool whose messages it knows, at the place where that tool prints
//! them: a test that *prints* `Missing script: "x"` is not a missing script. Each family of tools
//! has its own file of rows; a further tool is a row there.

mod advice;
mod goal;
mod invocation;
mod script;
pub mod sequence;
mod setup;
mod test_runner;
mod text;

use super::Failure;
use crate::base::path::RepoPath;
use crate::base::vocabulary::FailureCode;
use crate::base::word::visible;
use crate::check::evidence::Evidence;
use crate::plan::facts::{Certainty, FactAnswer, Facts, Question};
use crate::plan::{Plan, Step, StepIndex};
use invocation::{Layer, Role, Tool};
use std::collections::BTreeSet;
use text::{Line, Names, reads_as};

/// One rule that recognises why a step failed.
struct Row {
    /// Its stable name.
    name: &'static str,
    /// The code that it gives.
    code: FailureCode,
    /// The test for it.
    test: Test,
}

enum Test {
    /// Exit codes, errors of the system, facts. Returns the evidence, if the row applies.
    Structure(fn(&Scene<'_>) -> Option<String>),
    /// A line that a tool prints.
    Text(Text),
}

/// A line bound to the tools that print it and the place where they do.
struct Text {
    tools: &'static [Tool],
    place: EvidenceStream,
    /// Templates of whole lines (see [`reads_as`]); any of them.
    lines: &'static [&'static str],
    /// Whether the line means something else here.
    unless: fn(&Scene<'_>, &Layer) -> bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EvidenceStream {
    Stderr,
    Either,
}

/// The deepest indentation of a message: tools indent their own by one blank at most (pnpm); a line
/// with more is a quotation.
const DEEPEST_INDENT: usize = 1;
/// The most characters of a line that are kept as evidence.
const EVIDENCE: usize = 200;

/// Programs of packages that are commonly started by name.
const PROGRAMS: &[&str] = &[
    "esbuild", "next", "nx", "rimraf", "rollup", "ts-node", "tsc", "tsx", "turbo", "vite",
    "webpack",
];

/// The evidence that a row may read.
struct Scene<'a> {
    plan: &'a Plan,
    index: StepIndex,
    step: &'a Step,
    evidence: &'a Evidence,
    facts: &'a Facts,
    /// The tools of the command, and of the script's body if its runner printed it.
    layers: Vec<Layer>,
    /// The script's body, as its runner printed it.
    body: Option<String>,
    out: Vec<Line>,
    err: Vec<Line>,
}

impl<'a> Scene<'a> {
    fn new(
        plan: &'a Plan,
        index: StepIndex,
        step: &'a Step,
        evidence: &'a Evidence,
        facts: &'a Facts,
    ) -> Self {
        let (out, err) = (text::lines(&evidence.stdout), text::lines(&evidence.stderr));
        let mut layers = invocation::layers_of(step);
        let body = layers
            .iter()
            .find_map(|layer| script::body(layer, &out, &err));
        match &body {
            Some(body) => layers.extend(invocation::layers_of_body(body)),
            None => {
                // A runner that is silent, or never prints what it starts: the body may be any
                // tool.
                let silent: Vec<Layer> = layers
                    .iter()
                    .filter(|l| l.role == Role::Script)
                    .map(|l| Layer {
                        tool: Tool::SilentScript,
                        role: Role::Plain,
                        asked: Vec::new(),
                        echoed: true,
                        ..l.clone()
                    })
                    .collect();
                layers.extend(silent);
            }
        }
        Self {
            plan,
            index,
            step,
            evidence,
            facts,
            layers,
            body,
            out,
            err,
        }
    }

    /// Whether the step ended by itself, without success. The output of a killed tool is not
    /// complete.
    fn ended_badly(&self) -> bool {
        self.evidence.signal.is_none() && self.evidence.exit != Some(0)
    }

    fn exited(&self, code: i32) -> bool {
        self.evidence.signal.is_none() && self.evidence.exit == Some(code)
    }

    /// Whether a package manager's layer names a tool rather than a script: `pnpm vitest`, `yarn
    /// eslint`. That one is not installed when it is not found.
    fn names_a_program(&self, layer: &Layer) -> bool {
        let starts = |l: &Layer| !l.echoed && layer.asked.contains(&l.program);
        layer.role == Role::Script
            && layer.lenient
            && self.layers.iter().any(|l| {
                starts(l)
                    && (l.tool != Tool::Other
                        || sequence::looks_only(&l.program)
                        || PROGRAMS.contains(&l.program.as_str()))
            })
    }

    /// Returns the first line at a place that matches one of the templates.
    fn line(&self, place: EvidenceStream, templates: &[&str], names: Names<'_>) -> Option<String> {
        let out = if place == EvidenceStream::Either {
            self.out.as_slice()
        } else {
            &[]
        };
        self.err
            .iter()
            .chain(out)
            .filter(|line| line.indent <= DEEPEST_INDENT)
            .find(|line| templates.iter().any(|t| reads_as(&line.text, t, names)))
            .map(|line| shown(&line.text))
    }

    /// Like [`Scene::line`], for the names of a layer.
    fn line_of_layer(
        &self,
        layer: &Layer,
        place: EvidenceStream,
        templates: &[&str],
    ) -> Option<String> {
        self.line(
            place,
            templates,
            Names {
                asked: &layer.asked,
                program: &layer.program,
            },
        )
    }
}

fn shown(line: &str) -> String {
    visible(line.chars().take(EVIDENCE).collect::<String>().as_bytes())
}

/// The table, in the order in which it is read.
const TABLE: [&[Row]; 7] = [
    STRUCTURE,
    script::FACTS,
    test_runner::EXITS,
    setup::ROWS,
    script::ROWS,
    goal::ROWS,
    test_runner::ROWS,
];

const STRUCTURE: &[Row] = &[
    Row {
        name: "unsupported-command",
        code: FailureCode::UnsupportedFormat,
        test: Test::Structure(unsupported),
    },
    Row {
        name: "unanswered",
        code: FailureCode::RemoteUnavailable,
        test: Test::Structure(unanswered),
    },
    Row {
        name: "timed-out",
        code: FailureCode::Timeout,
        test: Test::Structure(timed_out),
    },
    Row {
        name: "not-started",
        code: FailureCode::SetupOrBootstrap,
        test: Test::Structure(not_started),
    },
    Row {
        name: "check-behind-cleanup",
        code: FailureCode::SequenceIssue,
        test: Test::Structure(sequence::decides),
    },
];

fn unsupported(scene: &Scene<'_>) -> Option<String> {
    unsupported_words(scene.step)
}

/// Returns why a command cannot be expressed, on one line.
pub(super) fn unsupported_words(step: &Step) -> Option<String> {
    use crate::base::command::UnsupportedReason::{
        Builtin, Comment, Empty, Expansion, Operator, Program, Quote,
    };
    let unsupported = step.unsupported.as_ref()?;
    let text = shown(if unsupported.text.is_empty() {
        &step.command
    } else {
        &unsupported.text
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
    let wrapper = scene
        .layers
        .iter()
        .any(|l| l.tool == Tool::Wrapper && matches!(l.program.as_str(), "timeout" | "gtimeout"));
    (wrapper && scene.exited(124)).then(|| "exit 124 of timeout".to_owned())
}

fn not_started(scene: &Scene<'_>) -> Option<String> {
    scene.evidence.spawn_error.as_ref().map(|e| shown(&e.code))
}

/// Classifies the failure of a step (see [`super::classify`]).
pub(super) fn classify(
    plan: &Plan,
    index: StepIndex,
    evidence: &Evidence,
    facts: &Facts,
) -> Failure {
    let step = plan.step(index);
    let scene = Scene::new(plan, index, step, evidence, facts);
    let hit = TABLE
        .iter()
        .copied()
        .flatten()
        .find_map(|row| decide(row, &scene).map(|seen| (row, seen)));
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
        (Some(signal), _) => shown(signal),
        (None, Some(code)) => format!("exit {code}"),
        (None, None) => String::new(),
    }
}

fn decide(row: &Row, scene: &Scene<'_>) -> Option<String> {
    match &row.test {
        Test::Structure(test) => test(scene),
        Test::Text(_) if !scene.ended_badly() => None,
        Test::Text(text) => scene
            .layers
            .iter()
            .filter(|layer| text.tools.contains(&layer.tool) && !(text.unless)(scene, layer))
            .find_map(|layer| scene.line_of_layer(layer, text.place, text.lines)),
    }
}

/// Never applies; the `unless` of most rows.
fn never(_: &Scene<'_>, _: &Layer) -> bool {
    false
}

pub(super) use advice::{advice, questions as advice_questions};

/// The names that a step's command requests from a file that declares scripts or goals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedNames {
    /// Scripts or goals.
    pub kind: AskedKind,
    /// Their names.
    pub names: Vec<String>,
    /// The directory of the declaring file, if that is certain.
    pub dir: Option<RepoPath>,
    /// The names under which such a file is found, or the one that the command gives.
    pub files: Vec<String>,
    /// Whether the command names the file.
    pub given: bool,
    /// Whether a name that is not declared may still work.
    pub lenient: bool,
}

/// The kind of name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedKind {
    /// Scripts of a package.json.
    Script,
    /// Goals of a makefile.
    MakeGoal,
    /// Goals of ninja or just, whose files are not read for facts.
    OtherGoal,
}

impl RequestedNames {
    /// Returns the questions for the list of declared names, in the repository and at the base
    /// revision.
    #[must_use]
    pub fn questions(&self) -> Option<[Question; 2]> {
        let dir = self.dir.clone()?;
        match self.kind {
            AskedKind::Script => Some([Question::Scripts(dir.clone()), Question::BaseScripts(dir)]),
            AskedKind::MakeGoal if self.given => {
                let file = dir.join(self.files.first()?.as_bytes()).ok()?;
                Some([
                    Question::MakefileTargets(file.clone()),
                    Question::BaseMakefileTargets(file),
                ])
            }
            AskedKind::MakeGoal => Some([
                Question::MakeTargets(dir.clone()),
                Question::BaseMakeTargets(dir),
            ]),
            AskedKind::OtherGoal => None,
        }
    }

    /// Returns the names that the repository is known not to declare, in a file that it is known to
    /// have.
    #[must_use]
    pub fn undeclared(&self, facts: &Facts) -> Vec<String> {
        let Some([now, _]) = self.questions() else {
            return Vec::new();
        };
        let Some(FactAnswer::List(_)) = facts.get(&now) else {
            return Vec::new();
        };
        let missing = |name: &&String| facts.holds(&now, name.as_bytes()) == Certainty::No;
        self.names.iter().filter(missing).cloned().collect()
    }

    /// Returns the possible paths of the declaring file, in the order in which the tool looks.
    #[must_use]
    pub fn paths(&self) -> Vec<RepoPath> {
        let Some(dir) = &self.dir else {
            return Vec::new();
        };
        self.files
            .iter()
            .filter_map(|file| dir.join(file.as_bytes()).ok())
            .collect()
    }
}

/// Returns what a step's command requests by name.
#[must_use]
pub fn requested_names(step: &Step) -> Option<RequestedNames> {
    invocation::layers_of(step).into_iter().find_map(asked_of)
}

fn asked_of(layer: Layer) -> Option<RequestedNames> {
    let (kind, usual): (AskedKind, &[&str]) = match (layer.role, layer.tool) {
        (Role::Script, _) => (AskedKind::Script, &["package.json"]),
        (Role::Goals, Tool::Make) if !layer.lenient => (
            AskedKind::MakeGoal,
            &["GNUmakefile", "makefile", "Makefile"],
        ),
        (Role::Goals, Tool::Make) => (
            AskedKind::OtherGoal,
            &["GNUmakefile", "makefile", "Makefile"],
        ),
        (Role::Goals, Tool::Ninja) => (AskedKind::OtherGoal, &["build.ninja"]),
        (Role::Goals, Tool::Just) => (AskedKind::OtherGoal, &["justfile", ".justfile", "Justfile"]),
        _ => return None,
    };
    let given = layer.file.is_some();
    let files = match layer.file {
        Some(file) => vec![file],
        None => usual.iter().map(|f| (*f).to_owned()).collect(),
    };
    Some(RequestedNames {
        kind,
        names: layer.asked,
        dir: layer.dir,
        files,
        given,
        lenient: layer.lenient,
    })
}

/// Returns the facts on which classifying a step depends, and dropping it.
pub(super) fn questions(step: &Step) -> BTreeSet<Question> {
    requested_names(step)
        .and_then(|asked| asked.questions())
        .into_iter()
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests;
