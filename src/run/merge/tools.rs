//! Compares the programs that shards started: the same command may start another tool elsewhere.

use super::part::Checked;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::canon::Digest;
use vplan_base::word::{first_of, visible};
use vplan_plan::Step;
use vplan_plan::caveat::{Caveat, Code, Effect};
use vplan_plan::shard::Shard;

/// Maximum number of named tools.
const NAMED: usize = 5;

/// A tool as plans name it: a bare word means the same wherever it is, a relative path does
/// not.
type Tool = (Vec<u8>, String, Vec<String>);

/// The uses of a tool: by digest the first shard that started it. A content that is not known
/// equals no other.
#[derive(Default)]
struct ToolUses {
    contents: BTreeMap<Option<Digest>, Shard>,
    checks: BTreeSet<String>,
    shards: BTreeSet<Shard>,
}

/// Returns the caveat about tools that differ between shards, and those whose content is not known.
pub(super) fn differing<'a>(shards: impl Iterator<Item = &'a Checked>) -> Differing {
    let mut tools: BTreeMap<Tool, ToolUses> = BTreeMap::new();
    for shard in shards {
        for (step, record) in shard.executed.steps.iter().zip(&shard.report.steps) {
            let (Some(tool), Some(program)) = (tool(step), &record.program) else {
                continue;
            };
            let seen = tools.entry(tool).or_default();
            let own = shard.record.shard();
            seen.contents.entry(program.digest.clone()).or_insert(own);
            seen.checks.insert(step.check().to_owned());
            seen.shards.insert(own);
        }
    }
    tools.retain(|_, seen| seen.shards.len() > 1);
    let unknown = tools
        .iter()
        .filter(|(_, seen)| seen.contents.contains_key(&None))
        .map(|(tool, _)| visible(&tool.0))
        .collect();
    tools.retain(|_, seen| seen.contents.keys().flatten().count() > 1);
    let named = first_of(tools.iter().map(|(tool, seen)| describe(tool, seen)), NAMED);
    let checks: BTreeSet<String> = tools.into_values().flat_map(|seen| seen.checks).collect();
    let caveat = (!named.is_empty()).then(|| {
        Caveat::new(
            Code::ToolsDiffer,
            Effect::Note,
            format!("the shards had different tools: {named}"),
        )
        .of_checks(checks.into_iter().collect())
        .way_out("run all shards in one image; `vplan merge --same-tools` refuses such shards")
    });
    Differing { caveat, unknown }
}

/// The tools of several shards, as far as they are known.
pub(super) struct Differing {
    /// The caveat about those that differ.
    pub caveat: Option<Caveat>,
    /// The tools that cannot be compared, for people.
    pub unknown: Vec<String>,
}

fn tool(step: &Step) -> Option<Tool> {
    let word = step.argv.as_ref()?.first()?.as_bytes().to_vec();
    let is_bare = !word.contains(&b'/');
    let dir = if is_bare || word.starts_with(b"/") {
        String::new()
    } else {
        step.dir.to_string()
    };
    let path = if is_bare {
        step.tool_path.as_slice()
    } else {
        &[]
    };
    Some((word, dir, path.iter().map(ToString::to_string).collect()))
}

fn describe(tool: &Tool, seen: &ToolUses) -> String {
    let shards: BTreeSet<&Shard> = seen.contents.values().collect();
    let shards: Vec<String> = shards.into_iter().map(|s| s.index.to_string()).collect();
    format!("`{}` (shards {})", visible(&tool.0), shards.join(", "))
}
