//! Converts ralph-tui's configuration, `.ralph-tui/config.toml`: its `[verification]` table.
//!
//! | key | here |
//! |---|---|
//! | `verification.enabled` (false) | false: the commands are converted all the same, and that is reported |
//! | `verification.commands` | a check each, in order |
//! | `verification.timeoutMs` (60000) | `defaults { timeout }`; 0, no limit, becomes 24h |
//! | `verification.maxRetries` (2) | `gate { retries, on-exhausted fail }` |
//! | every other table and key that ralph-tui has: `agent`, `tracker`, `errorHandling`, `maxIterations`, … | no effect on checks |
//! | any other key | lost |
//!
//! Commands run as `sh -c` there, one after another, until one fails. What that becomes is
//! described in
//! `runr_json`.

use super::convert::account::Lost;
use super::convert::builder::{Builder, Spec};
use super::tree::{self, TreeNode};
use vplan_base::setting::Row;
use vplan_base::word::has_word;
use vplan_contract::draft::{At, Policy, Setting};

const ELSEWHERE: &str = "\
    agent agentOptions agents autoCommit broadcast conflictResolution defaultAgent \
    defaultTracker errorHandling fallbackAgents iterationDelay maxIterations notifications \
    outputDir parallel prompt_template rateLimitHandling sandbox skills_dir \
    subagentTracingDetail tracker trackerOptions trackers";
const VERIFICATION: &str = "enabled commands timeoutMs maxRetries";
/// The value that means no time limit, in milliseconds.
const NO_LIMIT_MS: u64 = 24 * 3_600_000;

/// Lowers the file.
pub(super) fn lower(builder: &mut Builder<'_>) {
    let Some(root) = tree::toml(builder.sources, builder.id, builder.sink) else {
        return;
    };
    for (key, node) in builder.map("the configuration", &root) {
        match key.name.as_str() {
            "verification" => verification(builder, node),
            name if has_word(ELSEWHERE, name) => {
                builder.no_effect("", key, "it says how ralph-tui works, not what is checked");
            }
            _ => builder.unknown("", key, &format!("verification {ELSEWHERE}")),
        }
    }
    if root.get("verification").is_none() {
        let why = "the file has no such table, so it checks nothing";
        builder.lose(Lost::no_effect("`verification`", root.place, why));
    }
}

fn verification(builder: &mut Builder<'_>, node: &TreeNode) {
    let mut enabled = Some(false);
    let (mut timeout, mut retries) = (At::new(60_000, node.place), At::new(2, node.place));
    for (key, node) in builder.map("verification", node) {
        let what = format!("verification.{}", key.name);
        match key.name.as_str() {
            "enabled" => enabled = builder.boolean(&what, node),
            "timeoutMs" => {
                let limit = builder.whole(&what, node, 0, 1_000_000_000_000);
                let limit = limit_ms(builder, &what, node, limit.unwrap_or(60_000));
                timeout = At::new(limit, node.place);
            }
            "maxRetries" => {
                let most = builder.whole(&what, node, 0, 1_000_000).unwrap_or(2);
                retries = At::new(u32::try_from(most).unwrap_or(u32::MAX), node.place);
            }
            "commands" => {
                let texts = builder.texts(&what, node);
                builder.list_of(None, |builder| {
                    for (text, place) in texts {
                        builder.command(Spec::bare(text, place));
                    }
                });
            }
            _ => builder.unknown("verification.", key, VERIFICATION),
        }
    }
    if enabled == Some(false) && !builder.draft.entries.is_empty() {
        let why = "the commands are switched off there; here they are checks like any other";
        let place = node.get("enabled").map_or(node.place, |n| n.place);
        let lost = Lost::changed("`verification.enabled`", place, why);
        let lost = lost.by_hand("take out the checks to switch them off");
        builder.lose(lost);
    }
    let timeout = At::new(Setting::new(Row::Timeout, timeout.value), timeout.place);
    builder.draft.defaults.push(timeout);
    let gate = [
        Policy::Retries(retries.value),
        Policy::OnExhausted("fail".to_owned()),
    ];
    let gate = gate.map(|line| At::new(line, retries.place));
    builder.draft.policy.extend(gate);
}

/// Returns the time limit of a value for which 0 is none.
pub(super) fn limit_ms(builder: &mut Builder<'_>, what: &str, node: &TreeNode, ms: u64) -> u64 {
    if ms > 0 {
        return ms;
    }
    let why = "0 is no limit there; here a command always has one, 24h";
    builder.lose(Lost::changed(format!("`{what}`"), node.place, why));
    NO_LIMIT_MS
}
