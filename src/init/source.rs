//! From shell text to commands of a source.

use super::found::{Origin, Place, SourceCommand};
use super::shell::{Command, Scope, Value};
use std::collections::BTreeMap;
use vplan_base::path::RepoPath;

impl SourceCommand {
    /// A command of a text that begins at this line.
    #[must_use]
    pub fn of(command: Command, file: &RepoPath, line: u32, origin: Origin) -> Self {
        Self {
            words: command.words,
            unknown: command.unknown,
            text: command.text,
            dir: command.dir,
            env: command.env,
            place: Place::of(file, line.saturating_add(command.line)),
            origin,
            job: None,
            label: String::new(),
            paths: Vec::new(),
            ending: command.ending,
            services: Vec::new(),
            oddness: 0,
        }
    }
}

impl Scope {
    /// A folder with variables that have a value.
    #[must_use]
    pub fn of(dir: &RepoPath, variables: &BTreeMap<String, String>) -> Self {
        let known = variables
            .iter()
            .map(|(name, value)| (name.clone(), Value::Known(value.clone())));
        Self {
            dir: dir.clone(),
            variables: known.collect(),
        }
    }
}

/// A word as shell text.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
