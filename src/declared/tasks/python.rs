//! Scripts in a `pyproject.toml`: hatch, pdm, poe the poet.

use super::super::tree::{DataFile, Syntax, Tree};
use super::kit::{self, Options, appended, line};
use super::{Body, Line};
use crate::base::path::RepoPath;
use crate::front::tree::{Node, Value};

const FILE: &str = "pyproject.toml";

/// Finds the commands of a script.
pub fn body(tree: &Tree, dir: &RepoPath, words: &[String]) -> Option<Body> {
    let rest = words.get(1..).unwrap_or_default();
    let (keys, name, args): (Vec<String>, String, &[String]) = match kit::program(words) {
        "hatch" => {
            let options = Options::of(rest, &["-e", "--env"]);
            let (run, rest) = options.rest.split_first()?;
            let rest = Options::of(rest, &["-e", "--env"]);
            let (first, args) = rest.rest.split_first()?;
            let (environment, name) = match (run.as_str(), first.split_once(':')) {
                ("run", Some((environment, name))) => (environment, name),
                ("run", None) => (
                    options.value(&["-e", "--env"]).unwrap_or("default"),
                    first.as_str(),
                ),
                _ => return None,
            };
            let keys = ["tool", "hatch", "envs", environment, "scripts"];
            (kit::words(&keys), name.to_owned(), args)
        }
        "pdm" => {
            let (run, rest) = rest.split_first()?;
            if run != "run" {
                return None;
            }
            let (name, args) = Options::of(rest, &["-p"]).rest.split_first()?;
            (kit::words(&["tool", "pdm", "scripts"]), name.clone(), args)
        }
        "poe" => {
            let (name, args) = Options::of(rest, &["-C", "-e"]).rest.split_first()?;
            (kit::words(&["tool", "poe", "tasks"]), name.clone(), args)
        }
        _ => return None,
    };
    let (at, file) = kit::nearest(tree, dir, &[FILE])?;
    let doc = match tree.read(&file, Syntax::Toml) {
        Ok(doc) => doc,
        Err(why) => return Some(Body::Opaque(format!("`{file}` was not understood: {why}"))),
    };
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let scripts = kit::at(&doc.root, &keys)?;
    // A name that is no script is a program, and `hatch run X`, `pdm run X` are launchers.
    scripts.get(&name)?;
    let mut found = Vec::new();
    Some(
        match commands(&doc, scripts, &name, &at, args, &mut found, 0) {
            Ok(()) => Body::Lines(found),
            Err(why) => Body::Opaque(why),
        },
    )
}

/// Adds the commands of a script; a name of another script means that one.
fn commands(
    doc: &DataFile,
    scripts: &Node,
    name: &str,
    dir: &RepoPath,
    args: &[String],
    found: &mut Vec<Line>,
    depth: usize,
) -> Result<(), String> {
    if depth > 8 || found.len() > kit::MAX_LINES {
        return Err(format!("`{name}` needs too many scripts"));
    }
    let Some(node) = scripts.get(name) else {
        return Err(format!("`{}` has no script `{name}`", doc.file));
    };
    let table = ["cmd", "shell", "composite", "sequence"]
        .iter()
        .find_map(|key| node.get(key));
    if table.is_none() && matches!(node.value, Value::Map(_)) {
        return Err(format!(
            "the script `{name}` of `{}` is no command",
            doc.file
        ));
    }
    let mut needs: Vec<&str> = node.get("deps").map_or(Vec::new(), kit::texts);
    needs.retain(|need| scripts.get(need).is_some() && *need != name);
    for need in needs {
        commands(doc, scripts, need, dir, &[], found, depth + 1)?;
    }
    let value = table.unwrap_or(node);
    let is_words = node.get("cmd").is_some_and(|c| !c.list().is_empty());
    if is_words {
        let words: Vec<String> = kit::texts(value).into_iter().map(str::to_owned).collect();
        let text = format!("{}{}", kit::joined(&words), appended(args));
        found.push(line(&doc.file, doc.line(value), name, text, dir));
        return Ok(());
    }
    let entries: Vec<&Node> = if value.list().is_empty() {
        vec![value]
    } else {
        value.list().iter().collect()
    };
    for entry in entries {
        let text = entry
            .text()
            .or_else(|| entry.get("cmd").or(entry.get("ref")).and_then(Node::text));
        let Some(text) = text else {
            return Err(format!(
                "the script `{name}` of `{}` is no command",
                doc.file
            ));
        };
        let plain = text.trim_start_matches("- ");
        let first = plain.split_whitespace().next().unwrap_or_default();
        if scripts.get(first).is_some() && first != name {
            let rest: Vec<String> = plain
                .split_whitespace()
                .skip(1)
                .map(str::to_owned)
                .collect();
            commands(doc, scripts, first, dir, &rest, found, depth + 1)?;
            continue;
        }
        // `{args:tests}` of hatch, with its default.
        let mut filled = plain.to_owned();
        if let Some((before, after)) = plain.split_once("{args")
            && let Some((inner, behind)) = after.split_once('}')
        {
            let given = appended(args);
            let default = inner.strip_prefix(':').unwrap_or_default();
            let value = if args.is_empty() {
                default
            } else {
                given.trim_start()
            };
            filled = format!("{before}{value}{behind}");
        } else if !args.is_empty() {
            filled.push_str(&appended(args));
        }
        let mut one = line(
            &doc.file,
            doc.line(entry),
            name,
            filled.trim_end().to_owned(),
            dir,
        );
        one.ignored = text.starts_with("- ");
        one.env = kit::variables(node.get("env"));
        found.push(one);
    }
    Ok(())
}
