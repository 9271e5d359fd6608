//! Prints the agent settings that call the hook, and says of those that there are how they are
//! installed.

use super::args::Hook;
use super::settings::{has_all_hooks, settings};
use crate::command::answer::*;
use serde_json::Value;
use std::os::unix::ffi::OsStrExt as _;
use vplan_contract::Contract;
use vplan_engine::agent::settings::{MOST, SETTINGS};
use vplan_git::environment;
use vplan_ledger::Terms;
use vplan_os::files::{is_writable, read_plain};

/// Minimum time limit of a hook, in seconds.
const LEAST: u64 = 120;
/// The time beyond the contract's budget, in seconds.
const MORE: u64 = 60;
/// After so many blocks in a row Claude Code ends the turn whatever a hook says.
const BLOCKS: u32 = 8;

/// The time after which the agent ends the hook, in seconds.
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

/// Prints the settings, and says where they belong.
///
/// # Errors
/// None.
#[expect(clippy::unnecessary_wraps, reason = "as every command")]
pub(super) fn print(global: &Global, args: &Hook, terminal: &Terminal) -> Result<u8, Failure> {
    let settings = settings(limit(global, args.timeout), args.subagents);
    let text = serde_json::to_string_pretty(&settings).unwrap_or_default();
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
pub(super) fn check(global: &Global, args: &Hook, terminal: &Terminal) -> Result<u8, Failure> {
    let site = global.engine().locate()?;
    let loaded = global.engine().load_contract(&site).ok();
    let contract = loaded.and_then(|l| l.contract);
    let timeout = args
        .timeout
        .unwrap_or_else(|| of_contract(contract.as_ref()));
    let (mut lines, mut is_installed) = (Vec::new(), false);
    for path in places(&site) {
        let Ok(bytes) = read_plain(&path, MOST) else {
            continue;
        };
        let (found, of_file) = installed(&site, &path, &bytes, |found| {
            has_all_hooks(found, timeout, args.subagents)
        });
        is_installed |= found;
        lines.extend(of_file);
    }
    if !is_installed {
        lines.push(
            "not installed: `vplan hook claude-code --print` prints what belongs there".to_owned(),
        );
    }
    let terms = Terms::from_gate(contract.as_ref().map(|c| &c.gate));
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
    Ok(Exit::Failed.when(!is_installed).code())
}

/// Whether a settings file has all hooks, and the lines to print about it.
fn installed(
    site: &Site,
    path: &Path,
    bytes: &[u8],
    look: impl Fn(&Value) -> Result<bool, Vec<String>>,
) -> (bool, Vec<String>) {
    let below = path.strip_prefix(&site.root).unwrap_or(path);
    let shown = visible_path(below);
    let found = serde_json::from_slice(bytes).map_err(|e| vec![format!("is no JSON: {e}")]);
    match found.and_then(|found| look(&found)) {
        Ok(false) => (false, vec![format!("{shown}: no hook of vplan")]),
        Ok(true) => {
            let reach = reach(site, path);
            let line = format!("{shown}: installed as it would be printed; {reach}");
            (true, vec![line])
        }
        Err(mut faults) => {
            faults.push(reach(site, path));
            let line = |fault: String| format!("{shown}: {fault}");
            (false, faults.into_iter().map(line).collect())
        }
    }
}

/// Returns the paths from which Claude Code reads settings.
fn places(site: &Site) -> Vec<PathBuf> {
    let own = SETTINGS.iter().map(|path| site.root.join(path));
    let home = environment("HOME").map(|home| PathBuf::from(home).join(".claude/settings.json"));
    own.chain(home)
        .chain([PathBuf::from("/etc/claude-code/managed-settings.json")])
        .collect()
}

/// Describes whether git tracks a file, and whether this user can change it.
fn reach(site: &Site, path: &Path) -> String {
    let inside = path
        .strip_prefix(&site.root)
        .ok()
        .and_then(|p| RepoPath::from_exact(p.as_os_str().as_bytes()));
    let tracked = inside.and_then(|path| site.usable_git()?.tracked_of(&[path]).ok());
    let tracked = match tracked.and_then(|tracked| tracked.first().copied()) {
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
