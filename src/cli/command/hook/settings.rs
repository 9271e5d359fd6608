//! The agent settings that call the hook, and how others differ from them.

use serde_json::{Value, json};
use vplan_base::word::visible;

/// The events that are answered; the last one only on request.
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
pub(super) fn has_all_hooks(
    found: &Value,
    timeout: u64,
    subagents: bool,
) -> Result<bool, Vec<String>> {
    let of = |event: &str| -> Vec<Value> {
        let is_plain = |group: &&Value| match group.get("matcher") {
            None => true,
            Some(matcher) => matches!(matcher.as_str(), Some("" | "*")),
        };
        let is_ours = |hook: &&Value| {
            let command = hook.get("command").and_then(Value::as_str);
            command.is_some_and(|c| c.contains("hook claude-code"))
        };
        let groups = elements(found.pointer(&format!("/hooks/{event}"))).filter(is_plain);
        let hooks = groups.flat_map(|group| elements(group.get("hooks")));
        hooks.filter(is_ours).cloned().collect()
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

/// The elements of a list; none if the value is not a list.
fn elements(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

fn differs(hook: &Value, wanted: &Value) -> String {
    let keys = ["type", "command", "timeout"].into_iter();
    let differing = keys.filter(|key| hook.get(key) != wanted.get(key));
    let shown =
        |value: Option<&Value>| value.map_or("nothing".to_owned(), |v| visible(v.to_string()));
    let said: Vec<String> = differing
        .map(|key| {
            let (is, should_be) = (shown(hook.get(key)), shown(wanted.get(key)));
            format!("`{key}` is {is}, not {should_be}")
        })
        .collect();
    if said.is_empty() {
        "it has other keys too".to_owned()
    } else {
        said.join("; ")
    }
}
