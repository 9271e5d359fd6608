//! The agent settings that call the hook, and how others differ from them.

use serde_json::{Value, json};
use vplan_base::word::visible;

/// The events that are answered; the last one only where it is asked for.
const EVENTS: [&str; 3] = ["SessionStart", "Stop", SUBAGENT];
const SUBAGENT: &str = "SubagentStop";

fn command(timeout: u64) -> String {
    format!("vplan -C \"$CLAUDE_PROJECT_DIR\" hook claude-code --timeout {timeout}")
}

pub(super) fn settings(timeout: u64, subagents: bool) -> Value {
    let hook =
        json!([{"hooks": [{"type": "command", "command": command(timeout), "timeout": timeout}]}]);
    let hooks: serde_json::Map<String, Value> = EVENTS
        .iter()
        .filter(|event| subagents || **event != SUBAGENT)
        .map(|e| ((*e).to_owned(), hook.clone()))
        .collect();
    json!({"hooks": hooks})
}

/// Whether settings have all hooks as they would be printed; `Ok(false)` when they have none of
/// vplan. One for subagents that is not requested may be there.
pub(super) fn look(found: &Value, timeout: u64, subagents: bool) -> Result<bool, Vec<String>> {
    let of = |event: &str| -> Vec<Value> {
        let groups = found
            .pointer(&format!("/hooks/{event}"))
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let plain = groups.filter(|group| {
            group
                .get("matcher")
                .is_none_or(|m| matches!(m.as_str(), Some("" | "*")))
        });
        let hooks = plain.flat_map(|group| {
            group
                .get("hooks")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        });
        hooks
            .filter(|h| {
                h.get("command")
                    .and_then(Value::as_str)
                    .is_some_and(|c| c.contains("hook claude-code"))
            })
            .cloned()
            .collect()
    };
    let all: Vec<(&str, Vec<Value>)> = EVENTS.iter().map(|event| (*event, of(event))).collect();
    if all.iter().all(|(_, hooks)| hooks.is_empty()) {
        return Ok(false);
    }
    let mut faults = Vec::new();
    if found.get("disableAllHooks").and_then(Value::as_bool) == Some(true) {
        faults.push("`disableAllHooks` is set: no hook runs".to_owned());
    }
    let wanted = json!({"type": "command", "command": command(timeout), "timeout": timeout});
    for (event, hooks) in all {
        match hooks.as_slice() {
            [] if event == SUBAGENT && !subagents => {}
            [] => faults.push(format!("`{event}` has no hook of vplan")),
            hooks if hooks.contains(&wanted) => {}
            [hook, ..] => faults.push(format!(
                "`{event}` is not as it would be printed: {}",
                differs(hook, &wanted)
            )),
        }
    }
    if faults.is_empty() {
        Ok(true)
    } else {
        Err(faults)
    }
}

fn differs(hook: &Value, wanted: &Value) -> String {
    let differing = ["type", "command", "timeout"]
        .into_iter()
        .filter(|key| hook.get(key) != wanted.get(key));
    let shown =
        |value: Option<&Value>| value.map_or("nothing".to_owned(), |v| visible(v.to_string()));
    let said: Vec<String> = differing
        .map(|key| {
            format!(
                "`{key}` is {}, not {}",
                shown(hook.get(key)),
                shown(wanted.get(key))
            )
        })
        .collect();
    if said.is_empty() {
        "it has other keys too".to_owned()
    } else {
        said.join("; ")
    }
}
