//! Tasks of a `Taskfile.yml`.

use super::super::tree::{Syntax, Tree};
use super::kit::{self, Options, joined, line};
use super::{Body, Line};
use crate::base::path::RepoPath;
use crate::front::tree::Node;
use std::collections::{BTreeMap, BTreeSet};

/// The names that task looks for.
pub const NAMES: [&str; 4] = [
    "Taskfile.yml",
    "taskfile.yml",
    "Taskfile.yaml",
    "taskfile.yaml",
];
/// The most tasks that one command may need.
const MAX_TASKS: usize = 100;

/// Fills `{{.NAME}}` in; anything else becomes a variable that nothing sets.
fn filled(text: &str, known: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((inner, behind)) = after.split_once("}}") else {
            out.push_str("{{");
            rest = after;
            break;
        };
        let name = inner.trim().trim_matches('-').trim();
        match name.strip_prefix('.').and_then(|name| known.get(name)) {
            Some(value) => out.push_str(value),
            None if name == ".CLI_ARGS" => {}
            None => out.push_str("${{ task }}"),
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

struct Walk<'a> {
    doc: &'a super::super::tree::DataFile,
    dir: &'a RepoPath,
    known: BTreeMap<String, String>,
    seen: BTreeSet<String>,
    lines: Vec<Line>,
}

impl Walk<'_> {
    fn task(&mut self, name: &str, depth: usize) -> Result<(), String> {
        if !self.seen.insert(name.to_owned()) {
            return Ok(());
        }
        if self.seen.len() > MAX_TASKS || depth > 32 || self.lines.len() > kit::MAX_LINES {
            return Err(format!("`{name}` needs too many tasks"));
        }
        let doc = self.doc;
        let Some(node) = kit::at(&doc.root, &["tasks", name]) else {
            return Err(format!("`{}` has no task `{name}`", doc.file));
        };
        for need in node.get("deps").map_or(&[][..], Node::list) {
            let need = need
                .text()
                .or_else(|| need.get("task").and_then(Node::text));
            if let Some(need) = need {
                self.task(need, depth + 1)?;
            }
        }
        let mut known = self.known.clone();
        known.extend(kit::variables(node.get("vars")));
        let dir = node
            .get("dir")
            .and_then(Node::text)
            .map(|to| filled(to, &known));
        let dir = match dir {
            Some(to) => self
                .dir
                .join(to.as_bytes())
                .map_err(|_| format!("`{to}` is outside of the repository"))?,
            None => self.dir.clone(),
        };
        let env = kit::variables(node.get("env"));
        let commands = ["cmds", "cmd"]
            .iter()
            .find_map(|key| node.get(key))
            .unwrap_or(node);
        let single = [commands.clone()];
        let list = if commands.text().is_some() {
            &single[..]
        } else {
            commands.list()
        };
        for command in list {
            if let Some(need) = command.get("task").and_then(Node::text) {
                self.task(need, depth + 1)?;
                continue;
            }
            let text = command.text().map(|t| (t, command)).or_else(|| {
                let node = command.get("cmd")?;
                Some((node.text()?, node))
            });
            let Some((text, at)) = text else { continue };
            let mut one = line(
                &doc.file,
                doc.text_line(at),
                name,
                filled(text, &known),
                &dir,
            );
            one.env.clone_from(&env);
            one.ignored =
                command.get("ignore_error").and_then(kit::scalar).as_deref() == Some("true");
            self.lines.push(one);
        }
        Ok(())
    }
}

/// Finds the commands of the tasks that are asked for.
pub fn body(tree: &Tree, dir: &RepoPath, words: &[String]) -> Option<Body> {
    if !matches!(kit::program(words), "task" | "go-task") {
        return None;
    }
    let rest = words.get(1..).unwrap_or_default();
    let end = rest.iter().position(|w| w == "--").unwrap_or(rest.len());
    let (own, args) = rest.split_at(end);
    let options = Options::of(
        own,
        &["-d", "--dir", "-t", "--taskfile", "-o", "--output", "-C"],
    );
    if options.has(&["-l", "--list", "-a", "--list-all", "--init", "-i"]) {
        return None;
    }
    let (at, file) = kit::nearest(tree, dir, &NAMES)?;
    let doc = match tree.read(&file, Syntax::Yaml) {
        Ok(doc) => doc,
        Err(why) => return Some(Body::Opaque(format!("`{file}` was not understood: {why}"))),
    };
    let mut known = kit::variables(doc.root.get("vars"));
    known.insert(
        "CLI_ARGS".to_owned(),
        joined(args.get(1..).unwrap_or_default()),
    );
    let mut walk = Walk {
        doc: &doc,
        dir: &at,
        known,
        seen: BTreeSet::new(),
        lines: Vec::new(),
    };
    let mut asked: Vec<&str> = Vec::new();
    for word in options.rest {
        match word.split_once('=') {
            Some((name, value)) => {
                walk.known.insert(name.to_owned(), value.to_owned());
            }
            None => asked.push(word),
        }
    }
    if asked.is_empty() {
        asked.push("default");
    }
    for name in asked {
        if let Err(why) = walk.task(name, 0) {
            return Some(Body::Opaque(why));
        }
    }
    Some(Body::Lines(walk.lines))
}

/// The names of the root's tasks with their lines.
pub fn names(tree: &Tree) -> Option<(RepoPath, Vec<(String, u32)>)> {
    let root = RepoPath::root();
    let (_, file) = kit::nearest(tree, &root, &NAMES)?;
    let doc = tree.read(&file, Syntax::Yaml).ok()?;
    let entries = doc.root.get("tasks").map_or(&[][..], Node::entries).iter();
    let names = entries
        .map(|(key, node)| (key.name.clone(), doc.line(node)))
        .collect();
    Some((file, names))
}
