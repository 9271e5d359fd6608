//! Reads hooks that are shell text: husky's files, and simple-git-hooks, husky 4 and pre-commit (of
//! npm) in `package.json`.

use super::{Group, is_other_hook, judges, started};
use crate::base::path::RepoPath;
use crate::declared::candidate::{Belief, Declarations, Reason};
use crate::declared::tree::{DataFile, Syntax, Tree};
use crate::front::tree::{Node, Value};
use std::ops::Range;

/// Reads what is declared there.
pub(super) fn read(tree: &Tree, found: &mut Declarations) {
    husky(tree, found);
    let root = RepoPath::root();
    for name in [".simple-git-hooks.json", "simple-git-hooks.json"] {
        if let Some((file, _)) = tree.text(&root, name)
            && let Ok(document) = tree.read(&file, Syntax::Json)
        {
            hooks(tree, &document, &document.root, found);
        }
    }
    if let Some((file, _)) = tree.text(&root, "package.json")
        && let Ok(document) = tree.read(&file, Syntax::Json)
    {
        let root = &document.root;
        let husky = root.get("husky").and_then(|husky| husky.get("hooks"));
        for map in [root.get("simple-git-hooks"), husky].into_iter().flatten() {
            hooks(tree, &document, map, found);
        }
    }
}

/// The files of `.husky`.
fn husky(tree: &Tree, found: &mut Declarations) {
    for (file, text) in &tree.texts {
        let Some(name) = file.as_bytes().strip_prefix(b".husky/") else {
            continue;
        };
        let Ok(name) = std::str::from_utf8(name) else {
            continue;
        };
        if name.contains('/') || !(judges(name) || is_other_hook(name)) {
            continue;
        }
        // The line that loads husky's own helper runs nothing.
        let lines: Vec<&str> = text
            .lines()
            .map(|line| {
                let loads = line.contains("husky.sh") && line.trim_start().starts_with('.');
                if loads || line.starts_with("#!") {
                    ""
                } else {
                    line
                }
            })
            .collect();
        let mut group = Group::new(file, Belief::Hook, name);
        group.tier = u8::from(name == "pre-push");
        let range = group.shell(tree, &lines.join("\n"), 1, found);
        close(name, range, found);
    }
}

/// A mapping of hooks to shell text.
fn hooks(tree: &Tree, document: &DataFile, map: &Node, found: &mut Declarations) {
    for (key, value) in map.entries() {
        let name = key.name.as_str();
        if !(judges(name) || is_other_hook(name)) {
            continue;
        }
        let text = match &value.value {
            Value::Text(text) => text.clone(),
            Value::List(nodes) => {
                let texts: Vec<&str> = nodes.iter().filter_map(Node::text).collect();
                texts.join("\n")
            }
            _ => continue,
        };
        let mut group = Group::new(&document.file, Belief::Hook, name);
        group.tier = u8::from(name == "pre-push");
        let line = document.line(value);
        let range = group.shell(tree, &text, line, found);
        for candidate in found
            .candidates
            .get_mut(range.clone())
            .into_iter()
            .flatten()
        {
            candidate.origin.line = line;
        }
        close(name, range, found);
    }
}

/// Leaves out the commands of hooks that judge no change, and those that start a hook manager: its
/// own commands are read one by one.
fn close(hook: &str, range: Range<usize>, found: &mut Declarations) {
    if is_other_hook(hook) {
        super::leave_out(found, range, Reason::Occasion, &format!("only at {hook}"));
        return;
    }
    for candidate in found.candidates.get_mut(range).into_iter().flatten() {
        if candidate
            .words()
            .is_some_and(|words| started(words).is_some())
        {
            let why = "it rewrites what is staged; its commands are read one by one";
            candidate.leave_out(Reason::Writes, why);
        }
    }
}
