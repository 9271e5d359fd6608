//! Reads lint-staged's configurations: which commands are given which staged files.

use super::{Group, lefthook, split};
use crate::base::path::RepoPath;
use crate::declared::candidate::{Belief, Declarations, Origin, Reason, State, When};
use crate::declared::conditions::below;
use crate::declared::tasks::package::is_ours;
use crate::declared::tree::{Syntax, Tree};
use crate::front::picomatch::{Never, translate};
use crate::front::tree::{Node, Value};

/// Programs that rewrite the files that they are given, and have no form that only checks.
const WRITERS: &[&str] = &[
    "imagemin",
    "imagemin-lint-staged",
    "import-sort",
    "minify-xml",
    "pretty-quick",
    "sort-imports",
    "svgo",
];

/// Whether a file is in a package of the repository, and not in a fixture or in what others wrote.
fn is_our_own(file: &RepoPath) -> bool {
    file.join(b"..").is_ok_and(|dir| is_ours(&dir))
}

/// The configurations that are data.
pub(super) fn files(tree: &Tree) -> Vec<RepoPath> {
    let is = |file: &RepoPath, text: &str| match file.name() {
        b"package.json" => text.contains("\"lint-staged\"") || text.contains("\"nano-staged\""),
        b".lintstagedrc" | b".lintstagedrc.json" | b".lintstagedrc.yaml" | b".lintstagedrc.yml" => {
            true
        }
        _ => false,
    };
    let own = tree
        .texts
        .iter()
        .filter(|(file, text)| is(file, text) && is_our_own(file));
    own.map(|(file, _)| file.clone()).collect()
}

/// Names the configurations in code, which are not read.
pub(super) fn unread(tree: &Tree, found: &mut Declarations) {
    for file in &tree.files {
        let Ok(name) = std::str::from_utf8(file.name()) else {
            continue;
        };
        let code = name
            .strip_prefix("lint-staged.config.")
            .or_else(|| name.strip_prefix(".lintstagedrc."))
            .is_some_and(|ending| ["js", "cjs", "mjs", "ts", "cts", "mts"].contains(&ending));
        let told = found.skipped.iter().any(|s| s.origin.file == *file);
        if code && is_our_own(file) && !told {
            let origin = Origin {
                file: file.clone(),
                line: 1,
                label: "lint-staged".to_owned(),
            };
            let why = "a configuration in code".to_owned();
            found.skip(origin, format!("`{file}`"), Reason::NotRead, why);
        }
    }
}

/// Reads a configuration.
pub(super) fn read(
    tree: &Tree,
    file: &RepoPath,
    belief: Belief,
    found: &mut Declarations,
) -> Result<(), String> {
    let name = file.name();
    let document = if name.ends_with(b".json") {
        tree.read(file, Syntax::Json)?
    } else if name.ends_with(b"yaml") || name.ends_with(b"yml") {
        tree.read(file, Syntax::YamlMerged)?
    } else {
        // JSON is YAML, but for comments.
        tree.read(file, Syntax::Json)
            .or_else(|_| tree.read(file, Syntax::YamlMerged))?
    };
    let root = &document.root;
    let map = if name == b"package.json" {
        let own = root.get("lint-staged").or_else(|| root.get("nano-staged"));
        let Some(own) = own else { return Ok(()) };
        if own.text().is_some() {
            return Err("its lint-staged configuration is elsewhere".to_owned());
        }
        own
    } else {
        root
    };
    // An old form has the map below `linters`.
    let map = map.get("linters").unwrap_or(map);
    let path = file.as_bytes();
    let folder = path.get(..path.len().saturating_sub(name.len() + 1));
    let dir = folder
        .filter(|folder| !folder.is_empty())
        .and_then(|folder| RepoPath::parse(folder).ok())
        .unwrap_or_default();
    for (key, value) in map.entries() {
        if !matches!(value.value, Value::Text(_) | Value::List(_)) {
            continue;
        }
        let mut group = Group::new(file, belief, "lint-staged");
        group.dir = dir.clone();
        group.tool_path = bins(&dir);
        match when(&key.name, &dir) {
            Ok((when, note)) => {
                group.when = when;
                group.notes.extend(note);
            }
            Err(why) => {
                let origin = Origin {
                    file: file.clone(),
                    line: document.line_of(key.place),
                    label: "lint-staged".to_owned(),
                };
                found.skip(origin, format!("`{}`", key.name), Reason::NotRead, why);
                continue;
            }
        }
        let one = std::slice::from_ref(value);
        let commands = match &value.value {
            Value::List(nodes) => nodes.as_slice(),
            _ => one,
        };
        let stages = commands
            .iter()
            .filter_map(Node::text)
            .any(|text| text.trim().starts_with("git add"));
        for node in commands {
            let Some(text) = node.text() else { continue };
            let words = split(text);
            let Some(program) = words.first().cloned() else {
                continue;
            };
            let line = document.line(node);
            let is_git = program == "git";
            let range = group.words(tree, words, !is_git, line, found);
            if WRITERS.contains(&program.as_str()) {
                super::leave_out(found, range, Reason::Writes, &program);
            } else if is_git {
                super::leave_out(found, range, Reason::Writes, "it stages what was written");
            } else if stages {
                lefthook::fixers(tree, range, found);
            } else if is_code(text) {
                for candidate in found.candidates.get_mut(range).into_iter().flatten() {
                    if candidate.state == State::Open {
                        candidate.leave_out(Reason::Unknown, "it is filled in by code");
                    }
                }
            }
        }
    }
    Ok(())
}

/// Whether a command is a function that was written into data.
fn is_code(text: &str) -> bool {
    text.contains("=>") || text.contains("${")
}

/// The folders of the package's own programs, as a package manager puts them in front of PATH.
fn bins(dir: &RepoPath) -> Vec<String> {
    let root = "node_modules/.bin".to_owned();
    if dir.is_root() {
        vec![root]
    } else {
        vec![format!("{dir}/node_modules/.bin"), root]
    }
}

/// The changes that a pattern selects; without a slash it is about names, wherever they are.
fn when(pattern: &str, dir: &RepoPath) -> Result<(When, Option<String>), String> {
    let translated = translate(pattern).map_err(|never| match never {
        Never::Empty => "an empty pattern".to_owned(),
        Never::Outside => "it selects files outside of the repository".to_owned(),
    })?;
    if translated.not {
        return Err("a pattern that selects all other files".to_owned());
    }
    let by_name = !pattern.contains('/');
    let glob = if by_name && translated.glob != "**" {
        format!("**/{}", translated.glob)
    } else {
        translated.glob
    };
    let note = translated
        .wider
        .map(|why| format!("more files than `{pattern}`: {why}"));
    let glob = below(dir, &glob);
    if glob == "**" {
        return Ok((When::Unsaid, note));
    }
    Ok((When::Changed(vec![glob]), note))
}
