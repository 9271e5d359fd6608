//! Reads and writes the agent settings that call the hook, and compares them with what they should
//! be.

use super::named::{MOST, SETTINGS};
use crate::base::path::RepoPath;
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::cli::args::Global;
use crate::cli::terminal::Terminal;
use crate::contract::Contract;
use crate::effect::git::environment;
use crate::effect::os::files::{is_writable, read_plain};
use crate::effect::repo::load::Site;
use crate::engine::Failure;
use crate::ledger::Terms;
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// The events that are answered.
const EVENTS: [&str; 3] = ["SessionStart", "Stop", "SubagentStop"];
/// The least time that a hook is given, in seconds.
const LEAST: u64 = 120;
/// How much longer than the contract's budget, in seconds.
const MORE: u64 = 60;
/// After so many blocks in a row Claude Code ends the turn whatever a hook says.
const BLOCKS: u32 = 8;

/// After how many seconds the agent ends the hook.
pub(super) fn limit(global: &Global, timeout: Option<u64>) -> u64 {
    let contract = || {
        let site = global.engine().locate().ok()?;
        global.engine().load_contract(&site).ok()?.contract
    };
    timeout.unwrap_or_else(|| of_contract(contract().as_ref()))
}

fn of_contract(contract: Option<&Contract>) -> u64 {
    let budget = contract.and_then(|c| c.limits.budget_ms).unwrap_or(0);
    budget
        .div_ceil(1000)
        .saturating_add(MORE)
        .clamp(LEAST, 86_400)
}

fn command(timeout: u64) -> String {
    format!("vplan -C \"$CLAUDE_PROJECT_DIR\" hook claude-code --timeout {timeout}")
}

fn settings(timeout: u64) -> Value {
    let hook =
        json!([{"hooks": [{"type": "command", "command": command(timeout), "timeout": timeout}]}]);
    let hooks: serde_json::Map<String, Value> = EVENTS
        .iter()
        .map(|e| ((*e).to_owned(), hook.clone()))
        .collect();
    json!({"hooks": hooks})
}

/// Prints the settings, and says where they belong.
///
/// # Errors
/// None.
#[expect(clippy::unnecessary_wraps, reason = "as every command")]
pub(super) fn print(
    global: &Global,
    timeout: Option<u64>,
    terminal: &Terminal,
) -> Result<u8, Failure> {
    let text = serde_json::to_string_pretty(&settings(limit(global, timeout))).unwrap_or_default();
    terminal.say(&format!("{text}\n"));
    if !terminal.quiet {
        terminal.note(
            "note: this belongs into `.claude/settings.json` of the repository, beside what is there; where the agent must not change \
             it, into the managed settings, `/etc/claude-code/managed-settings.json`\n",
        );
    }
    Ok(Exit::Success.code())
}

/// Says what is installed.
///
/// # Errors
/// No repository.
pub(super) fn check(
    global: &Global,
    timeout: Option<u64>,
    terminal: &Terminal,
) -> Result<u8, Failure> {
    let site = global.engine().locate()?;
    let contract = global
        .engine()
        .load_contract(&site)
        .ok()
        .and_then(|l| l.contract);
    let timeout = timeout.unwrap_or_else(|| of_contract(contract.as_ref()));
    let (mut lines, mut is_installed) = (Vec::new(), false);
    for path in places(&site) {
        let Ok(bytes) = read_plain(&path, MOST) else {
            continue;
        };
        let shown = visible(
            path.strip_prefix(&site.root)
                .unwrap_or(&path)
                .as_os_str()
                .as_bytes(),
        );
        let found =
            serde_json::from_slice::<Value>(&bytes).map_err(|e| vec![format!("is no JSON: {e}")]);
        let faults = found.and_then(|found| look(&found, timeout));
        match faults {
            Ok(false) => lines.push(format!("{shown}: no hook of vplan")),
            Ok(true) => {
                is_installed = true;
                lines.push(format!(
                    "{shown}: installed as it would be printed; {}",
                    reach(&site, &path)
                ));
            }
            Err(faults) => {
                lines.extend(faults.iter().map(|fault| format!("{shown}: {fault}")));
                lines.push(format!("{shown}: {}", reach(&site, &path)));
            }
        }
    }
    if !is_installed {
        lines.push(
            "not installed: `vplan hook claude-code --print` prints what belongs there".to_owned(),
        );
    }
    let terms = Terms::of(contract.as_ref().map(|c| &c.gate));
    let blocks = terms
        .retries
        .saturating_add(terms.confirmations.saturating_sub(1));
    if blocks > BLOCKS {
        lines.push(format!(
            "warning: the gate sends an agent back up to {blocks} times in a row, and Claude Code ends a turn after {BLOCKS} \
             (`CLAUDE_CODE_STOP_HOOK_BLOCK_CAP`)"
        ));
    }
    terminal.say(&(lines.join("\n") + "\n"));
    Ok(if is_installed {
        Exit::Success.code()
    } else {
        Exit::Failed.code()
    })
}

/// Where Claude Code reads settings.
fn places(site: &Site) -> Vec<PathBuf> {
    let own = SETTINGS.iter().map(|path| site.root.join(path));
    let home = environment("HOME").map(|home| PathBuf::from(home).join(".claude/settings.json"));
    own.chain(home)
        .chain([PathBuf::from("/etc/claude-code/managed-settings.json")])
        .collect()
}

/// Whether settings have all hooks as they would be printed; `Ok(false)` when they have none of
/// vplan.
fn look(found: &Value, timeout: u64) -> Result<bool, Vec<String>> {
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
    let shown = |value: Option<&Value>| {
        value.map_or("nothing".to_owned(), |v| visible(v.to_string().as_bytes()))
    };
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

/// Who may change a file.
fn reach(site: &Site, path: &std::path::Path) -> String {
    let inside = path
        .strip_prefix(&site.root)
        .ok()
        .and_then(|p| RepoPath::from_exact(p.as_os_str().as_bytes()));
    let tracked = inside.and_then(|path| {
        site.usable_git()?
            .tracked_of(&[path])
            .ok()?
            .first()
            .copied()
    });
    let tracked = match tracked {
        Some(true) => "tracked by git, ",
        Some(false) => "not tracked by git, ",
        None => "",
    };
    let writable = if is_writable(path) {
        "and an agent that runs as this user may change it"
    } else {
        "and this user may not change it"
    };
    format!("{tracked}{writable}")
}
