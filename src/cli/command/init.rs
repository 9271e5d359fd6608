//! `vplan init`: proposes a contract from what the repository declares, with the reason for each
//! line. Nothing of it is guessed again when a plan is made.

use super::format;
use crate::base::command::Command;
use crate::base::path::RepoPath;
use crate::base::vocabulary::Exit;
use crate::base::word::quote_string as quote;
use crate::base::word::visible;
use crate::check::Kind;
use crate::cli::args::{Format, Global, Init};
use crate::cli::render::style::count;
use crate::cli::terminal::Terminal;
use crate::effect::os::files;
use crate::effect::repo::infer::propose::{Part, Proposal, Proposed, propose};
use crate::effect::repo::load;
use crate::effect::repo::load::DEFAULT_CONTRACT;
use crate::engine::Failure;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Writes the contract, or prints it.
///
/// # Errors
/// A contract that is there already, a place that cannot be written or that is not the
/// repository's.
pub fn run(global: &Global, args: &Init, terminal: &Terminal) -> Result<u8, Failure> {
    format(global, &[Format::Text])?;
    let site = global.engine().locate()?;
    let found = propose(&site.root, site.git.as_ref().ok()).map_err(|e| {
        Failure::usage(
            "vplan::usage::unreadable",
            format!("the repository cannot be read: {e}"),
        )
    })?;
    let name = site
        .root
        .file_name()
        .map(|n| visible(n.as_bytes()))
        .unwrap_or_default();
    let text = contract(&name, &found);
    if args.stdout {
        terminal.print(&text);
        return Ok(Exit::Success.code());
    }
    let wanted = global.contract.as_deref();
    let path =
        load::contract_path(&site, wanted).map_err(|e| Failure::usage(e.code(), e.to_string()))?;
    let target = site.root.join(path.to_os());
    if !args.force && target.symlink_metadata().is_ok() {
        let message = format!("`{path}` is there already");
        return Err(Failure::usage("vplan::init::exists", message)
            .help("`--stdout` prints the proposal, `--force` replaces what is there"));
    }
    let failed = |why: String| {
        Failure::new(
            Exit::Setup.code(),
            "vplan::init::write",
            format!("`{path}` cannot be written: {why}"),
        )
    };
    if let Some(link) = link_above(&site.root, &path) {
        return Err(failed(format!(
            "`{link}` is a symlink, and may lead out of the repository"
        )));
    }
    files::replace(&target, text.as_bytes()).map_err(|e| failed(e.to_string()))?;
    if !terminal.quiet {
        terminal.say(&said(&path, &found));
    }
    Ok(Exit::Success.code())
}

/// The first directory above the file that is a symlink.
fn link_above(root: &Path, path: &RepoPath) -> Option<RepoPath> {
    let mut at = RepoPath::root();
    for segment in path.segments() {
        at = at.join(segment).ok()?;
        if at != *path
            && root
                .join(at.to_os())
                .symlink_metadata()
                .is_ok_and(|m| m.is_symlink())
        {
            return Some(at);
        }
    }
    None
}

/// What is told about it: each line of the contract with its reason.
fn said(path: &RepoPath, found: &Proposal) -> String {
    let mut lines = String::new();
    let (mut imports, mut checks) = (0, 0);
    for part in &found.parts {
        match part {
            Part::Import {
                source,
                alias,
                at,
                why,
            } => {
                imports += 1;
                let at = if at.is_root() {
                    String::new()
                } else {
                    format!(" at {at}")
                };
                lines.push_str(&format!(
                    "  {alias}: {source}{at} ({})\n",
                    visible(why.as_bytes())
                ));
            }
            Part::Checks {
                why, checks: list, ..
            } => {
                checks += list.len();
                for one in list {
                    let dir = if one.dir.is_root() {
                        String::new()
                    } else {
                        format!(" in {}", one.dir)
                    };
                    let why = visible(one.why.as_bytes());
                    lines.push_str(&format!(
                        "  {}: {}{dir} ({why})\n",
                        one.id,
                        one.command.to_text()
                    ));
                }
                lines.extend(
                    why.iter()
                        .map(|why| format!("    {}\n", visible(why.as_bytes()))),
                );
            }
        }
    }
    lines.extend(
        found
            .left_out
            .iter()
            .map(|what| format!("left out: {}\n", visible(what.as_bytes()))),
    );
    let mut head = Vec::new();
    head.extend((imports > 0).then(|| count(imports, "import")));
    head.extend((checks > 0 || imports == 0).then(|| count(checks, "check")));
    let next = if path.as_bytes() == DEFAULT_CONTRACT.as_bytes() {
        String::new()
    } else {
        format!(" --contract {path}")
    };
    format!(
        "{path}: {}\n{lines}next: `vplan explain --all{next}` shows what would run\n",
        head.join(", ")
    )
}

/// The text of the proposal, in the canonical layout.
fn contract(name: &str, found: &Proposal) -> String {
    let mut out = String::from("vplan 1\n");
    if !name.is_empty() {
        out.push_str(&format!("contract {}\n", quote(name)));
    }
    out.push_str("\n# Proposed from what the repository declares; `vplan help language` teaches how to go on.\n");
    let checks = found.parts.iter().flat_map(|p| {
        if let Part::Checks { checks, .. } = p {
            checks.as_slice()
        } else {
            &[]
        }
    });
    if found.parts.is_empty() {
        out.push_str(
            "# Nothing was found: no package.json, Cargo.toml, Makefile, pyproject.toml or go.mod declares a check.\n",
        );
        out.push_str(
            "#\n# whenChangedAny \"src/**\" {\n#   check unit {\n#     test COMMAND\n#   }\n# }\n",
        );
    }
    for what in &found.left_out {
        out.push_str(&format!("# Left out: {}\n", visible(what.as_bytes())));
    }
    // Long enough for a test suite; what hangs is still found.
    if checks.clone().any(|c| c.kind != Kind::Run) {
        out.push_str("\ndefaults {\n  timeout 10m\n}\n");
    }
    for part in &found.parts {
        match part {
            Part::Import {
                source,
                alias,
                at,
                why,
            } => {
                out.push_str(&format!(
                    "\n# {}\nimport \"{source}\" as {alias}",
                    visible(why.as_bytes())
                ));
                if let (false, Ok(at)) = (at.is_root(), std::str::from_utf8(at.as_bytes())) {
                    out.push_str(&format!(" at {}", quote(at)));
                }
                out.push('\n');
            }
            Part::Checks { why, when, checks } => {
                out.push('\n');
                out.extend(
                    why.iter()
                        .map(|why| format!("# {}\n", visible(why.as_bytes()))),
                );
                if when.is_empty() {
                    let texts: Vec<String> = checks.iter().map(|c| check(c, "")).collect();
                    out.push_str(&texts.join("\n"));
                } else {
                    let list: Vec<_> = when.iter().map(|glob| quote(glob)).collect();
                    out.push_str(&format!("whenChangedAny {} {{\n", list.join(" ")));
                    out.extend(checks.iter().map(|c| check(c, "  ")));
                    out.push_str("}\n");
                }
            }
        }
    }
    out
}

/// A check, with its reason above it.
fn check(one: &Proposed, indent: &str) -> String {
    if !matches!(one.command, Command::Argv { .. }) {
        return String::new();
    }
    let mut settings = Vec::new();
    if let (false, Ok(dir)) = (one.dir.is_root(), std::str::from_utf8(one.dir.as_bytes())) {
        settings.push(format!("dir {}", quote(dir)));
    }
    settings.extend(one.env.iter().map(|pair| format!("env {pair}")));
    if !one.tool_path.is_empty() {
        let list: Vec<_> = one.tool_path.iter().map(|folder| quote(folder)).collect();
        settings.push(format!("tool-path {}", list.join(" ")));
    }
    if !one.produces.is_empty() {
        let list: Vec<_> = one.produces.iter().map(|glob| quote(glob)).collect();
        settings.push(format!("produces {}", list.join(" ")));
    }
    settings.extend((one.tier > 0).then(|| format!("tier {}", one.tier)));
    let (why, id, command) = (visible(one.why.as_bytes()), &one.id, one.command.to_text());
    if one.kind == Kind::Run && settings.is_empty() {
        return format!("{indent}# {why}\n{indent}check {id}: {command}\n");
    }
    let settings: String = settings
        .iter()
        .map(|s| format!("{indent}  {s}\n"))
        .collect();
    format!(
        "{indent}# {why}\n{indent}check {id} {{\n{indent}  {} {command}\n{settings}{indent}}}\n",
        one.kind.verb()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::diagnostic::Diagnostics;
    use crate::base::source::{Source, Sources};
    use crate::contract::validate::validate;
    use crate::front::lower;
    use crate::lang::command::parse_command;

    #[test]
    fn a_proposal_is_a_contract() {
        let one = |id: &str, kind, command: &str, dir: &str| Proposed {
            id: id.to_owned(),
            kind,
            command: parse_command(command),
            dir: RepoPath::parse(dir.as_bytes()).unwrap(),
            env: &["CI=1"],
            tool_path: &[".venv/bin"],
            produces: vec!["a\\[b\\]/\"c'/**".to_owned()],
            tier: 1,
            why: "a\nb".to_owned(),
        };
        let some = Part::Checks {
            why: Some("because".to_owned()),
            when: vec!["a\\[b\\]/\"c'/**".to_owned(), "!**/*.md".to_owned()],
            checks: vec![
                one("test", Kind::Test, "make test", "."),
                one("a", Kind::Run, "FOO='a b' x # '", "it's \"here\""),
                Proposed {
                    env: &[],
                    tool_path: &[],
                    produces: Vec::new(),
                    tier: 0,
                    ..one("b", Kind::Run, "true", ".")
                },
            ],
        };
        let left_out = vec!["x\u{202e}\ny".to_owned()];
        for found in [
            Proposal::default(),
            Proposal {
                parts: vec![some],
                left_out,
            },
        ] {
            for name in ["", "shop", "it's", "a\"b\\c", "a\"b'c"] {
                let text = contract(name, &found);
                let mut sources = Sources::default();
                let id = sources.add(Source::new("contracts/verify.vplan", &text));
                let mut sink = Diagnostics::default();
                let draft = lower(&sources, id, &mut sink);
                assert!(
                    validate(&draft, &sources, &mut sink).is_some(),
                    "{text}\n{sink:?}"
                );
            }
        }
    }
}
