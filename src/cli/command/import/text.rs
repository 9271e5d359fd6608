//! Renders the result of a conversion for people.

use crate::render::style::count;
use vplan_engine::convert::{Converted, Item};
use vplan_front::convert::Weight;
use vplan_repo::load::DEFAULT_CONTRACT;

pub(super) fn account(found: &Converted, output: &str) -> String {
    let (checks, triggers) = (found.contract.checks.len(), found.contract.risks.len());
    let to = if output.is_empty() {
        String::new()
    } else {
        format!(" to {output}")
    };
    let also = if triggers > 0 {
        format!(", {}", count(triggers, "trigger"))
    } else {
        String::new()
    };
    let (name, from) = (&found.name, found.kind.name());
    let checks = count(checks, "check");
    let mut out = format!("converted {name}{to} ({from}): {checks}{also}\n");
    for (weight, title) in [
        (Weight::Lost, "lost: not in the contract"),
        (
            Weight::Changed,
            "changed: in the contract, but with another meaning; look at each",
        ),
        (Weight::NoEffect, "without effect on checks"),
    ] {
        let of = found.lost.iter().filter(|l| l.weight == weight);
        let lines: String = of.map(line).collect();
        if !lines.is_empty() {
            out.push_str(&format!("{title}\n{lines}"));
        }
    }
    // `check` reads contracts of the repository only.
    let inside = !output.is_empty()
        && !output.starts_with('/')
        && !output.split('/').any(|part| part == "..");
    if inside {
        let which = if output == DEFAULT_CONTRACT {
            String::new()
        } else {
            format!(" --contract {output}")
        };
        out.push_str(&format!(
            "next: `vplan check{which}` compares the contract with the repository\n"
        ));
    }
    out
}

fn line(lost: &Item) -> String {
    let by_hand = |instead| format!("    by hand: {instead}\n");
    let by_hand = lost.instead.as_ref().map_or_else(String::new, by_hand);
    let (file, line, what, why) = (&lost.file, lost.line, &lost.what, &lost.why);
    format!("  {file}:{line}: {what}: {why}\n{by_hand}")
}
