//! Draws a plan as a graph: text for Graphviz and for Mermaid.

use super::text::command_line;
use crate::base::word::visible;
use crate::plan::order::{Why, why};
use crate::plan::{Plan, Step};
use std::collections::BTreeMap;

/// The length at which commands are cut: a picture shows the shape of a plan.
const LONGEST_COMMAND: usize = 60;

/// Returns the graph for Graphviz: one cluster for each tier, solid edges for `needs`, dashed ones
/// for `sequence`, dotted ones for artifacts and writers, grey ones from what prepares.
#[must_use]
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
            let id = visible(step.id.as_bytes());
            let label = format!("{}\\n{}", escape_dot(&id), escape_dot(&short_command(step)));
            out.push_str(&format!("    {} [label=\"{label}\"];\n", quote(&id)));
        }
        out.push_str("  }\n");
    }
    for (earlier, later) in edges(plan) {
        let style = match why(earlier, later) {
            Why::Needs => "solid",
            Why::Sequence => "dashed",
            Why::Artifacts | Why::Writer => "dotted",
            Why::Preparing => "dashed, color=grey",
        };
        let (from, to) = (visible(earlier.id.as_bytes()), visible(later.id.as_bytes()));
        out.push_str(&format!(
            "  {} -> {} [style={style}];\n",
            quote(&from),
            quote(&to)
        ));
    }
    out.push_str("}\n");
    out
}

/// Returns the graph for Mermaid: as [`dot`]; thick edges for `needs`, plain ones for `sequence`,
/// dotted ones for artifacts and writers, and labelled dotted ones from what prepares.
#[must_use]
pub fn mermaid(plan: &Plan) -> String {
    let names: BTreeMap<&str, usize> = plan
        .steps
        .iter()
        .enumerate()
        .map(|(i, s)| (s.id.as_str(), i + 1))
        .collect();
    let name = |step: &Step| {
        names
            .get(step.id.as_str())
            .map_or_else(String::new, |n| format!("s{n}"))
    };
    let mut out = String::from("flowchart LR\n");
    for tier in tiers(plan) {
        out.push_str(&format!("  subgraph tier{tier}[\"tier {tier}\"]\n"));
        for step in plan.steps.iter().filter(|s| s.tier == tier) {
            let id = escape_mermaid(&visible(step.id.as_bytes()));
            let command = escape_mermaid(&short_command(step));
            out.push_str(&format!("    {}[\"{id}<br/>{command}\"]\n", name(step)));
        }
        out.push_str("  end\n");
    }
    for (earlier, later) in edges(plan) {
        let arrow = match why(earlier, later) {
            Why::Needs => "==>",
            Why::Sequence => "-->",
            Why::Artifacts | Why::Writer => "-.->",
            Why::Preparing => "-. prepares .->",
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
fn edges(plan: &Plan) -> Vec<(&Step, &Step)> {
    let by_id: BTreeMap<&str, &Step> = plan.steps.iter().map(|s| (s.id.as_str(), s)).collect();
    let of = |later| move |id: &String| Some((*by_id.get(id.as_str())?, later));
    plan.steps
        .iter()
        .flat_map(|later: &Step| {
            later
                .after
                .iter()
                .filter_map(of.clone()(later))
                .collect::<Vec<_>>()
        })
        .collect()
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
