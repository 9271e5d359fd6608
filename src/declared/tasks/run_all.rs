//! Programs that start several scripts of a package: `run-s`, `run-p`, `npm-run-all`,
//! `concurrently`.

use super::super::tree::{Syntax, Tree};
use super::kit::{self, appended, line};
use super::{Body, package};
use crate::base::path::RepoPath;
use crate::front::tree::Node;

/// Finds the scripts and commands that are started.
pub fn body(tree: &Tree, dir: &RepoPath, words: &[String]) -> Option<Body> {
    let rest = words.get(1..).unwrap_or_default();
    match kit::program(words) {
        "run-s" | "run-p" | "npm-run-all" | "npm-run-all2" => Some(scripts(tree, dir, rest)),
        "concurrently" | "conc" => Some(concurrently(tree, dir, rest)),
        _ => None,
    }
}

/// A manifest: its folder, its file, and the names of its scripts with their lines.
type Scripts = (RepoPath, RepoPath, Vec<(String, u32)>);

/// The scripts of the nearest manifest, in order.
fn declared(tree: &Tree, dir: &RepoPath) -> Result<Scripts, String> {
    let Some((dir, file)) = kit::nearest(tree, dir, &[package::FILE]) else {
        return Err(format!("there is no `{}`", package::FILE));
    };
    let doc = tree
        .read(&file, Syntax::Json)
        .map_err(|why| format!("`{file}` was not understood: {why}"))?;
    let entries = doc
        .root
        .get("scripts")
        .map_or(&[][..], Node::entries)
        .iter();
    let scripts = entries
        .map(|(key, value)| (key.name.clone(), doc.line(value)))
        .collect();
    Ok((dir, file, scripts))
}

fn scripts(tree: &Tree, dir: &RepoPath, rest: &[String]) -> Body {
    let (dir, file, known) = match declared(tree, dir) {
        Ok(found) => found,
        Err(why) => return Body::Opaque(why),
    };
    let manager = package::manager(tree, &dir).0;
    let end = rest.iter().position(|w| w == "--").unwrap_or(rest.len());
    let mut lines = Vec::new();
    let mut value = false;
    for word in rest.iter().take(end) {
        if std::mem::take(&mut value) || word.starts_with('-') {
            value = matches!(word.as_str(), "--max-parallel" | "--npm-path");
            continue;
        }
        // `"test -- --fix"`: arguments of one script.
        let (name, args) = word
            .split_once(' ')
            .map_or((word.as_str(), ""), |(n, a)| (n, a));
        if name.contains(['!', '{', '(']) {
            return Body::Opaque(format!("`{name}` selects scripts by a pattern"));
        }
        let hits: Vec<&(String, u32)> = if name.contains('*') {
            let hit = |s: &&(String, u32)| kit::matches(name, &s.0, ':');
            known.iter().filter(hit).collect()
        } else {
            known.iter().filter(|s| s.0 == name).collect()
        };
        if hits.is_empty() && !name.contains('*') {
            return Body::Opaque(format!("`{file}` declares no script `{name}`"));
        }
        for (script, number) in hits {
            let run = kit::joined(&kit::words(&[manager, "run", script]));
            let args = if args.is_empty() {
                String::new()
            } else {
                format!(" {args}")
            };
            lines.push(line(&file, *number, script, format!("{run}{args}"), &dir));
        }
        if lines.len() > kit::MAX_LINES {
            break;
        }
    }
    Body::Lines(lines)
}

/// Options of concurrently that take a value.
const VALUED: &[&str] = &[
    "-n",
    "--names",
    "-c",
    "--prefix-colors",
    "-p",
    "--prefix",
    "-s",
    "--success",
    "-m",
    "--max-processes",
    "-l",
    "--prefix-length",
    "--restart-tries",
    "--restart-after",
    "--kill-others-on",
    "--name-separator",
];

fn concurrently(tree: &Tree, dir: &RepoPath, rest: &[String]) -> Body {
    let (dir, file, known) = match declared(tree, dir) {
        Ok(found) => found,
        Err(why) => return Body::Opaque(why),
    };
    let manager = package::manager(tree, &dir).0;
    let mut lines = Vec::new();
    let mut rest = rest.iter();
    let mut further: Vec<String> = Vec::new();
    while let Some(word) = rest.next() {
        if word == "--" {
            further = rest.by_ref().cloned().collect();
            break;
        }
        if word.starts_with('-') {
            if VALUED.contains(&word.as_str()) {
                rest.next();
            }
            continue;
        }
        let prefixes = ["npm:", "pnpm:", "yarn:", "bun:", "node:"];
        let script = prefixes.iter().find_map(|p| word.strip_prefix(p));
        match script {
            None => lines.push(line(&file, 1, "concurrently", word.clone(), &dir)),
            Some(text) => {
                let (name, args) = text.split_once(' ').map_or((text, ""), |(n, a)| (n, a));
                let hits = known.iter().filter(|s| kit::matches(name, &s.0, '\0'));
                let before = lines.len();
                for (script, number) in hits {
                    let run = kit::joined(&kit::words(&[manager, "run", script]));
                    let run = format!("{run} {args}").trim_end().to_owned();
                    lines.push(line(&file, *number, script, run, &dir));
                }
                if lines.len() == before {
                    return Body::Opaque(format!("`{file}` declares no script `{name}`"));
                }
            }
        }
        if lines.len() > kit::MAX_LINES {
            break;
        }
    }
    // Words behind `--` are for `{1}`, `{@}` and the like, or appended to nothing.
    if !further.is_empty() {
        let text = appended(&further);
        for one in &mut lines {
            one.text = one.text.replace("{@}", text.trim_start());
        }
    }
    Body::Lines(lines)
}
