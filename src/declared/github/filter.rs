//! The outputs of actions that filter paths, as conditions (C1): `dorny/paths-filter`,
//! `tj-actions/changed-files`.

use super::expression::Value;
use super::globs::{self, Dialect};
use super::{actions::Use, text_of};
use crate::base::path::RepoPath;
use crate::declared::tree::{DataFile, Syntax, Tree};
use crate::front::tree::{Node, Value as Read};

/// The most patterns of a filter that are read.
const MAX_PATTERNS: usize = 2000;

/// Returns the outputs of a filter of paths: of others nothing is known.
pub(super) fn outputs(tree: &Tree, used: &Use<'_>) -> Value {
    let get = |key: &str| {
        let found = used.with.iter().find(|(k, _)| k.eq_ignore_ascii_case(key));
        found.map(|(_, value)| &**value)
    };
    let dorny = used.name.to_ascii_lowercase().contains("paths-filter");
    let mut outputs = Vec::new();
    if dorny {
        let every = get("predicate-quantifier") == Some("every");
        let Some(doc) = get("filters").and_then(|text| document(tree, text)) else {
            return Value::unknown();
        };
        for (key, node) in doc.root.entries() {
            let patterns = patterns(&doc, node);
            outputs.push((key.name.clone(), dorny_filter(&patterns, every)));
        }
        return Value::Partial(outputs);
    }
    let lines = |key: &str| -> Vec<String> {
        let separator = get(&format!("{key}_separator")).unwrap_or("\n");
        get(key)
            .unwrap_or_default()
            .split(separator)
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(str::to_owned)
            .collect()
    };
    let ignored: Vec<String> = lines("files_ignore")
        .iter()
        .map(|p| format!("!{p}"))
        .collect();
    let value = |patterns: &[String]| {
        let all = [patterns, &ignored].concat();
        globs::list(&all, Dialect::Node).map_or_else(|| Value::text("true"), Value::changed)
    };
    let mut add = |prefix: &str, patterns: &[String]| {
        for name in [
            "any_changed",
            "any_modified",
            "only_changed",
            "only_modified",
        ] {
            outputs.push((format!("{prefix}{name}"), value(patterns)));
        }
    };
    let files = lines("files");
    if let Some(doc) = get("files_yaml").and_then(|text| document(tree, text)) {
        for (key, node) in doc.root.entries() {
            add(&format!("{}_", key.name), &patterns(&doc, node));
        }
    } else if get("files_from_source_file").is_none() {
        add("", &files);
    }
    Value::Partial(outputs)
}

/// One pattern is enough, or (`every`) all of them must hold.
fn dorny_filter(patterns: &[String], every: bool) -> Value {
    let (excludes, selects): (Vec<String>, Vec<String>) =
        patterns.iter().cloned().partition(|p| p.starts_with('!'));
    let globs = match (every, &*selects, &*excludes) {
        (false, selects, []) => globs::list(selects, Dialect::Node),
        (false, [], [one]) => {
            globs::all_but(&[one.trim_start_matches('!').to_owned()], Dialect::Node)
        }
        // All files, but those that every pattern leaves out.
        (false, ..) => None,
        (true, [], excludes) => {
            let all = [&["**".to_owned()], excludes].concat();
            globs::list(&all, Dialect::Node)
        }
        // The first one is wider than all of them together.
        (true, [first, ..], excludes) => {
            let all = [std::slice::from_ref(first), excludes].concat();
            globs::list(&all, Dialect::Node)
        }
    };
    globs.map_or_else(|| Value::text("true"), Value::changed)
}

/// Reads YAML inside an input, or the file that it names.
fn document(tree: &Tree, text: &str) -> Option<DataFile> {
    let text = text.trim_end();
    let one_line = !text.trim().contains('\n') && !text.contains(':');
    if one_line {
        let file = RepoPath::parse(text.trim().as_bytes()).ok()?;
        return tree.read(&file, Syntax::YamlMerged).ok();
    }
    let file = RepoPath::parse(b"filters.yml").ok()?;
    let inner = Tree {
        texts: [(file.clone(), text.to_owned())].into(),
        ..Tree::default()
    };
    inner.read(&file, Syntax::YamlMerged).ok()
}

/// All patterns of a filter: texts, lists of them in each other (by anchors), and those behind the
/// kind of a change (`added|modified: …`).
fn patterns(doc: &DataFile, node: &Node) -> Vec<String> {
    let mut all = Vec::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        if all.len() >= MAX_PATTERNS {
            break;
        }
        match &node.value {
            Read::List(items) => open.extend(items.iter().rev()),
            Read::Map(entries) => open.extend(entries.iter().rev().map(|(_, node)| node)),
            Read::Null => {}
            _ => all.push(text_of(doc, node)),
        }
    }
    all
}
