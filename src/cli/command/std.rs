//! `vplan std`: lists and prints the contracts that are shipped with vplan.

use super::answer::*;
use vplan_front::std::{SHIPPED, Shipped, find, newest};

/// `vplan std`
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 printed; 2 usage, also when there is no such contract.")]
pub struct Std {
    /// Print this contract, `NAME` (the newest) or `NAME@VERSION`; without it they are listed.
    pub name: Option<String>,
}

/// The shipped contracts, or the requested one.
#[derive(Serialize, JsonSchema)]
pub(super) struct List {
    /// The contracts.
    contracts: Vec<ShippedContract>,
}

/// A line of the list; with its text when it was asked for. `version` is the contract's own.
#[derive(Serialize, JsonSchema)]
struct ShippedContract {
    /// Its purpose, in one line.
    description: &'static str,
    /// Its source in an `import`.
    import: String,
    /// Its name.
    name: &'static str,
    /// All of it, when it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'static str>,
    /// The contract's own version.
    version: u32,
}

fn entry(shipped: &Shipped, with_text: bool) -> ShippedContract {
    ShippedContract {
        description: shipped.description(),
        import: format!("std:{}@{}", shipped.name, shipped.version),
        name: shipped.name,
        text: with_text.then_some(shipped.text),
        version: shipped.version,
    }
}

/// Lists the shipped contracts, or prints one.
///
/// # Errors
/// A name that is not among them (exit 2).
pub fn run(global: &Global, args: &Std, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    let Some(name) = &args.name else {
        let all: Vec<ShippedContract> = SHIPPED.iter().map(|s| entry(s, false)).collect();
        if format == OutputFormat::Json {
            terminal.print_document(&List { contracts: all });
        } else {
            let width = widest(all.iter().map(|e| &e.import));
            let line = |e: &ShippedContract| format!("{:width$}  {}\n", e.import, e.description);
            terminal.print(&all.iter().map(line).collect::<String>());
        }
        return Ok(Exit::Success.code());
    };
    let asked = name.strip_prefix("std:").unwrap_or(name);
    let shipped = match asked.split_once('@') {
        Some((name, version)) => version.parse().ok().and_then(|version| find(name, version)),
        None => newest(asked),
    };
    let shipped = shipped.ok_or_else(|| {
        let bare = asked.split('@').next().unwrap_or_default();
        let known = newest(bare)
            .map(|s| s.name)
            .or_else(|| vplan_base::nearest::nearest(bare, SHIPPED.iter().map(|s| s.name)));
        let help = match known.and_then(newest) {
            Some(near) => format!("did you mean `{}@{}`?", near.name, near.version),
            None => "`vplan std` lists what there is".to_owned(),
        };
        let message = format!("no contract `{}` is shipped with vplan", visible(asked));
        Failure::usage("vplan::usage::unknown_std", message).help(help)
    })?;
    if format == OutputFormat::Json {
        let contracts = vec![entry(shipped, true)];
        terminal.print_document(&List { contracts });
    } else {
        terminal.print(shipped.text);
    }
    Ok(Exit::Success.code())
}
