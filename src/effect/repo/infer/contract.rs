//! Writes the text of a proposed contract, in the canonical layout.

use super::propose::{Part, Proposal, Proposed};
use crate::base::command::Command;
use crate::base::word::quote_literal as quote;
use crate::base::word::visible;
use crate::check::Kind;

/// Returns the text of the proposal, in the canonical layout.
#[must_use]
pub fn text(name: &str, found: &Proposal) -> String {
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
    // Long enough for a test suite; a check that hangs is still found.
    if checks.clone().any(|c| c.kind != Kind::Run) {
        out.push_str("\ndefaults {\n  timeout 10m\n}\n");
    }
    out.extend(found.parts.iter().map(self::part));
    out
}

/// Formats a part, with its reason above it.
fn part(part: &Part) -> String {
    let mut out = String::from("\n");
    match part {
        Part::Import {
            source,
            alias,
            at,
            why,
        } => {
            let why = visible(why.as_bytes());
            out.push_str(&format!("# {why}\nimport \"{source}\" as {alias}"));
            if let (false, Ok(at)) = (at.is_root(), std::str::from_utf8(at.as_bytes())) {
                out.push_str(&format!(" at {}", quote(at)));
            }
            out.push('\n');
        }
        Part::Checks { why, when, checks } => {
            let why = why.iter().map(|why| visible(why.as_bytes()));
            out.extend(why.map(|why| format!("# {why}\n")));
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
    out
}

/// Formats a check, with its reason above it.
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
    use crate::base::path::RepoPath;
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
                let text = text(name, &found);
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
