//! Workspaces of go: `go.work` and `go.mod`.

use super::said::{Declared, Package, folder_at};
use vplan_base::path::RepoPath;

pub(super) fn workspace(text: &str, dir: &RepoPath) -> Declared {
    let mut declared = Declared::default();
    for words in directives(text) {
        match words.as_slice() {
            [verb, path] if verb == "use" => declared.members.push(path.clone()),
            [verb, name, ..] if verb == "replace" => {
                let folder = replacement(&words).and_then(|path| folder_at(dir, path));
                declared
                    .named
                    .extend(folder.map(|folder| (name.clone(), folder)));
            }
            _ => {}
        }
    }
    declared
}

pub(super) fn package(text: &str, folder: &RepoPath) -> Result<Package, &'static str> {
    let mut package = Package::default();
    for words in directives(text) {
        match words.as_slice() {
            [verb, name] if verb == "module" => package.name = name.clone(),
            [verb, name, ..] if verb == "require" => drop(package.names.insert(name.clone())),
            [verb, ..] if verb == "replace" => {
                let replaced = replacement(&words).and_then(|path| folder_at(folder, path));
                package.folders.extend(replaced);
            }
            _ => {}
        }
    }
    match package.name.is_empty() {
        true => Err("it has no `module`"),
        false => Ok(package),
    }
}

/// Returns the folder after the `=>` of a `replace`.
fn replacement(words: &[String]) -> Option<&str> {
    let mut behind = words.iter().skip_while(|word| *word != "=>");
    behind.next()?;
    let path = behind.next()?;
    let is_path = path.starts_with("./") || path.starts_with("../") || path == "." || path == "..";
    is_path.then_some(path)
}

/// Returns the words of each directive, its verb first; those of a block one by one.
fn directives(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        let line = line.split_once("//").map_or(line, |(line, _)| line);
        let word = |word: &str| word.trim_matches(['"', '`']).to_owned();
        let mut words: Vec<String> = line.split_whitespace().map(word).collect();
        match words.last().map(String::as_str) {
            None => {}
            Some(")") => block = None,
            Some("(") => block = words.first().cloned(),
            Some(_) => {
                if let Some(verb) = &block {
                    words.insert(0, verb.clone());
                }
                found.push(words);
            }
        }
    }
    found
}
