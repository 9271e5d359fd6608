//! `vplan init`: a contract from what the repository declares, with the reason for each line. A proposal; nothing of it is guessed
//! again when a plan is made.

use super::format;
use crate::base::command::Command;
use crate::base::word::visible;
use crate::check::Kind;
use crate::cli::args::{Format, Global, Init};
use crate::cli::error::Failure;
use crate::cli::render::style::count;
use crate::cli::session::locate;
use crate::cli::terminal::Terminal;
use crate::effect::infer::{Inferred, infer};
use crate::effect::load::DEFAULT_CONTRACT;
use crate::effect::{files, load};
use crate::run::verdict::Exit;
use std::os::unix::ffi::OsStrExt as _;

/// Writes the contract, or prints it.
///
/// # Errors
/// A contract that is there already, a place that cannot be written.
pub fn run(global: &Global, args: &Init, terminal: &Terminal) -> Result<u8, Failure> {
    format(global, &[Format::Text])?;
    let site = locate(global)?;
    let found = infer(&site.root)
        .map_err(|e| Failure::usage("vplan::usage::unreadable", format!("the repository cannot be read: {e}")))?;
    let name = site.root.file_name().map(|n| visible(n.as_bytes())).unwrap_or_default();
    let text = contract(&name, &found);
    if args.stdout {
        terminal.print(&text);
        return Ok(Exit::Success.code());
    }
    let wanted =
        load::Wanted { contract: global.contract.as_deref(), revision: None, base: None, max_file: global.max_file };
    let path = load::contract_path(&site, wanted.contract).map_err(|e| Failure::usage(e.code(), e.to_string()))?;
    let target = site.root.join(path.to_os());
    if !args.force && target.symlink_metadata().is_ok() {
        let message = format!("`{path}` is there already");
        return Err(Failure::usage("vplan::init::exists", message)
            .help("`--stdout` prints the proposal, `--force` replaces what is there"));
    }
    files::replace(&target, text.as_bytes()).map_err(|e| {
        Failure::new(Exit::Setup.code(), "vplan::init::write", format!("`{path}` cannot be written: {e}"))
    })?;
    if !terminal.quiet {
        let mut said = format!("{path}: {}\n", count(found.len(), "check"));
        for one in &found {
            said.push_str(&format!("  {}: {} ({})\n", one.id, one.command.to_text(), visible(one.why.as_bytes())));
        }
        let next =
            if path.as_bytes() == DEFAULT_CONTRACT.as_bytes() { String::new() } else { format!(" --contract {path}") };
        said.push_str(&format!("next: `vplan explain --all{next}` shows what would run\n"));
        terminal.print(&said);
    }
    Ok(Exit::Success.code())
}

/// The text of the proposal.
fn contract(name: &str, found: &[Inferred]) -> String {
    let mut out = String::from("vplan 1\n");
    // A name in single quotes takes everything literally, but another single quote.
    if !name.is_empty() && !name.contains('\'') {
        out.push_str(&format!("contract \"{}\"\n", name.replace('\\', "\\\\").replace('"', "\\\"")));
    }
    out.push_str("\n# Proposed from what the repository declares; `vplan help language` teaches how to go on.\n");
    if found.is_empty() {
        out.push_str(
            "# Nothing was found: no package.json, Cargo.toml, Makefile, pyproject.toml or go.mod declares a check.\n",
        );
        out.push_str("#\n# whenChangedAny \"src/**\" {\n#   check unit {\n#     test COMMAND\n#   }\n# }\n");
    }
    for one in found.iter().filter(|i| matches!(i.command, Command::Argv { .. })) {
        out.push_str(&format!("\n# {}: {}\n", one.declared_in, visible(one.why.as_bytes())));
        let command = one.command.to_text();
        if one.kind == Kind::Run {
            out.push_str(&format!("check {}: {command}\n", one.id));
        } else {
            out.push_str(&format!("check {} {{\n  {} {command}\n}}\n", one.id, one.kind.verb()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::diagnostic::Diagnostics;
    use crate::base::path::RepoPath;
    use crate::base::source::{Source, Sources};
    use crate::contract::validate::validate;
    use crate::front::lower;
    use crate::lang::command::parse_command;

    #[test]
    fn a_proposal_is_a_contract() {
        let one = |id: &str, kind, command: &str| Inferred {
            id: id.to_owned(),
            kind,
            command: parse_command(command),
            declared_in: RepoPath::parse(b"Makefile").unwrap(),
            why: "the target".to_owned(),
        };
        let lists = [
            vec![],
            vec![
                one("test", Kind::Test, "make test"),
                one("a", Kind::Run, "FOO='a b' x # '"),
                one("b", Kind::Run, "true"),
            ],
        ];
        for found in lists {
            for name in ["", "shop", "it's", "a\"b\\c"] {
                let text = contract(name, &found);
                let mut sources = Sources::default();
                let id = sources.add(Source::new("contracts/verify.vplan", &text));
                let mut sink = Diagnostics::default();
                let draft = lower(&sources, id, &mut sink);
                assert!(validate(&draft, &sources, &mut sink).is_some(), "{text}\n{sink:?}");
            }
        }
    }
}
