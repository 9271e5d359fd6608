//! Draws a plan as a graph: text for Graphviz and for Mermaid.

use super::text::command_line;
use crate::order::{OrderReason, why};
use crate::{Plan, Step, StepIndex, predecessors};
use vplan_base::index::Index as _;
use vplan_base::inert::escaped_without_commands;
use vplan_base::word::visible;

/// The length at which commands are cut: a picture shows the shape of a plan.
const LONGEST_COMMAND: usize = 60;

/// Returns the graph for Graphviz: one cluster for each tier, solid edges for `needs`, dashed ones
/// for `sequence`, dotted ones for artifacts and writers, grey ones from what prepares.
pub fn dot(plan: &Plan) -> String {
    let quote = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut out = String::from(
        "digraph plan {\n  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n",
    );
    for tier in tiers(plan) {
        out.push_str(&format!(
            "  subgraph cluster_{tier} {{\n    label=\"tier {tier}\";\n"
        ));
        for step in plan.steps.iter().filter(|s| s.tier == tier) {
            let id = visible(&step.id);
            let label = format!("{}\\n{}", escape_dot(&id), escape_dot(&short_command(step)));
            out.push_str(&format!("    {} [label=\"{label}\"];\n", quote(&id)));
        }
        out.push_str("  }\n");
    }
    for (earlier, later) in edges(plan) {
        let (earlier, later) = (plan.step(earlier), plan.step(later));
        let style = match why(earlier, later) {
            OrderReason::Needs => "solid",
            OrderReason::Sequence => "dashed",
            OrderReason::Artifacts | OrderReason::Writer => "dotted",
            OrderReason::Preparing => "dashed, color=grey",
        };
        let (from, to) = (visible(&earlier.id), visible(&later.id));
        out.push_str(&format!(
            "  {} -> {} [style={style}];\n",
            quote(&from),
            quote(&to)
        ));
    }
    out.push_str("}\n");
    escaped_without_commands(&out, "&#91;")
}

/// Returns the graph for Mermaid: as [`dot`]; thick edges for `needs`, plain ones for `sequence`,
/// dotted ones for artifacts and writers, and labelled dotted ones from what prepares.
pub fn mermaid(plan: &Plan) -> String {
    let name = |index: StepIndex| format!("s{}", index.position() + 1);
    let mut out = String::from("flowchart LR\n");
    for tier in tiers(plan) {
        out.push_str(&format!("  subgraph tier{tier}[\"tier {tier}\"]\n"));
        for (index, step) in plan.numbered_steps().filter(|(_, s)| s.tier == tier) {
            let id = escape_mermaid(&visible(&step.id));
            let command = escape_mermaid(&short_command(step));
            out.push_str(&format!("    {}[\"{id}<br/>{command}\"]\n", name(index)));
        }
        out.push_str("  end\n");
    }
    for (earlier, later) in edges(plan) {
        let arrow = match why(plan.step(earlier), plan.step(later)) {
            OrderReason::Needs => "==>",
            OrderReason::Sequence => "-->",
            OrderReason::Artifacts | OrderReason::Writer => "-.->",
            OrderReason::Preparing => "-. prepares .->",
        };
        out.push_str(&format!("  {} {arrow} {}\n", name(earlier), name(later)));
    }
    out
}

fn tiers(plan: &Plan) -> Vec<u8> {
    let mut tiers: Vec<u8> = plan.steps.iter().map(|s| s.tier).collect();
    tiers.dedup();
    tiers
}

/// Returns the pairs of a step and a direct successor, in plan order of the latter.
fn edges(plan: &Plan) -> Vec<(StepIndex, StepIndex)> {
    let positions = plan.positions();
    let of = |(later, step): (StepIndex, &Step)| {
        let before = predecessors(&positions, later, step.after.iter());
        before.map(|e| (e, later)).collect::<Vec<_>>()
    };
    plan.numbered_steps().flat_map(of).collect()
}

fn short_command(step: &Step) -> String {
    let text = command_line(step);
    if text.chars().count() <= LONGEST_COMMAND {
        return text;
    }
    format!(
        "{}…",
        text.chars().take(LONGEST_COMMAND - 1).collect::<String>()
    )
}

fn escape_dot(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Escapes text for Mermaid, which reads `#name;` as an entity and Markdown inside quotes: special
/// characters become numeric entities.
fn escape_mermaid(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || " -_./:=,@".contains(c) {
            out.push(c);
        } else {
            out.push_str(&format!("#{};", u32::from(c)));
        }
    }
    out
}
