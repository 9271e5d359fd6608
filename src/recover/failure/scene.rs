//! The evidence of a failed step, read once for all rows.

use super::invocation::{self, Layer, LayerRole, ToolLayer};
use super::table::{EvidenceStream, row_has};
use super::text::{self, Line, Names, reads_as};
use vplan_base::word::visible;
use vplan_check::evidence::Evidence;
use vplan_plan::facts::Facts;
use vplan_plan::{Plan, Step, StepIndex};

/// The deepest indentation of a message: tools indent their own by one blank at most (pnpm); a line
/// with more is a quotation.
const DEEPEST_INDENT: usize = 1;
/// Limit of a line that is stored as evidence, in characters.
pub(super) const EVIDENCE: usize = 200;

/// The evidence that a row may read.
pub(super) struct Scene<'a> {
    pub(super) plan: &'a Plan,
    pub(super) index: StepIndex,
    pub(super) step: &'a Step,
    pub(super) evidence: &'a Evidence,
    pub(super) facts: &'a Facts,
    /// The tools of the command, and of the script's body if its runner printed it.
    pub(super) layers: Vec<Layer>,
    /// The script's body, as its runner printed it.
    pub(super) body: Option<String>,
    pub(super) out: Vec<Line>,
    pub(super) err: Vec<Line>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        index: StepIndex,
        step: &'a Step,
        evidence: &'a Evidence,
        facts: &'a Facts,
    ) -> Self {
        let (out, err) = (text::lines(&evidence.stdout), text::lines(&evidence.stderr));
        let mut layers = invocation::layers_of(step);
        let body = layers.iter().find_map(|layer| body(layer, &out, &err));
        match &body {
            Some(body) => layers.extend(invocation::layers_of_body(body)),
            None => {
                // A runner that is silent, or never prints its command: the body may be any tool.
                let silent = |layer: &Layer| Layer {
                    tool: ToolLayer::SilentScript,
                    role: LayerRole::Plain,
                    asked: Vec::new(),
                    echoed: true,
                    ..layer.clone()
                };
                let scripts = layers.iter().filter(|l| l.role == LayerRole::Script);
                let scripts: Vec<Layer> = scripts.map(silent).collect();
                layers.extend(scripts);
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
    pub(super) fn ended_badly(&self) -> bool {
        self.evidence.signal.is_none() && self.evidence.exit != Some(0)
    }

    pub(super) fn exited(&self, code: i32) -> bool {
        self.evidence.signal.is_none() && self.evidence.exit == Some(code)
    }

    /// Whether a package manager's layer names a tool rather than a script: `pnpm vitest`, `yarn
    /// eslint`. That one is not installed when it is not found.
    pub(super) fn names_a_program(&self, layer: &Layer) -> bool {
        let starts = |l: &Layer| !l.echoed && layer.asked.contains(&l.program);
        layer.role == LayerRole::Script
            && layer.lenient
            && self.layers.iter().any(|l| {
                starts(l)
                    && (l.tool != ToolLayer::Other
                        || row_has("looking", &l.program)
                        || row_has("programs", &l.program))
            })
    }

    /// Returns the first line at a place that matches one of the templates.
    pub(super) fn line(
        &self,
        place: EvidenceStream,
        templates: &[&str],
        names: Names<'_>,
    ) -> Option<String> {
        let out = self.out.iter().filter(|_| place == EvidenceStream::Either);
        let mut lines = self.err.iter().chain(out);
        let is_it = |line: &&Line| {
            let mut templates = templates.iter();
            line.indent <= DEEPEST_INDENT && templates.any(|t| reads_as(&line.text, t, names))
        };
        lines.find(is_it).map(|line| quote(&line.text))
    }

    /// Like [`Scene::line`], for the names of a layer.
    pub(super) fn line_of_layer(
        &self,
        layer: &Layer,
        place: EvidenceStream,
        templates: &[&str],
    ) -> Option<String> {
        let (asked, program) = (&layer.asked, &layer.program);
        self.line(place, templates, Names { asked, program })
    }
}

pub(super) fn quote(line: &str) -> String {
    visible(line.chars().take(EVIDENCE).collect::<String>().as_bytes())
}

/// Returns the body of the layer's script, if its runner prints it before starting it.
fn body(layer: &Layer, out: &[Line], err: &[Line]) -> Option<String> {
    let name = layer
        .asked
        .first()
        .filter(|_| layer.role == LayerRole::Script)?;
    match layer.tool {
        // > demo@1.0.0 test [/repo]
        // > vitest run
        ToolLayer::Npm | ToolLayer::Pnpm => {
            out.iter().zip(out.iter().skip(1)).find_map(|(head, body)| {
                let head = head.text.strip_prefix("> ").filter(|_| head.indent == 0)?;
                let body = body.text.strip_prefix("> ").filter(|_| body.indent == 0)?;
                let mut words = head.split(' ');
                words.any(|word| word == name).then(|| body.to_owned())
            })
        }
        // yarn run v1.22.22
        // $ vitest run
        ToolLayer::Yarn => {
            let is_before = |line: &&Line| !line.text.starts_with("yarn run v1.");
            let begun = out.iter().skip_while(is_before);
            begun.skip(1).find_map(dollar)
        }
        ToolLayer::Bun => err.iter().chain(out).find_map(dollar),
        _ => None,
    }
}

fn dollar(line: &Line) -> Option<String> {
    let text = line.text.strip_prefix("$ ").filter(|_| line.indent == 0);
    text.map(str::to_owned)
}
