//! Values for tests.

use super::check::{Check, Condition, Key};
use super::found::{Origin, Place, SourceCommand};
use vplan_base::path::RepoPath;
use vplan_check::Kind;

/// The words of a text.
pub fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A command of CI at the root.
pub fn found(text: &str) -> SourceCommand {
    SourceCommand {
        origin: Origin::Ci,
        ..SourceCommand::plain(&words(text), &RepoPath::root())
    }
}

/// A check at the root that runs this command.
pub fn check(text: &str) -> Check {
    Check {
        name: "check".to_owned(),
        verb: Kind::Test,
        words: words(text),
        env: std::collections::BTreeMap::new(),
        dir: RepoPath::root(),
        place: Place {
            file: RepoPath::parse(b"ci.yml").unwrap(),
            line: 3,
        },
        origin: Origin::Ci,
        job: None,
        label: String::new(),
        condition: Condition::Set("code"),
        needs: Vec::new(),
        unchanged: false,
        notes: Vec::new(),
        is_uncounted: false,
        key: Key {
            tool: text.to_owned(),
            ..Key::default()
        },
        tools: std::collections::BTreeSet::new(),
        is_build: false,
        parts: Vec::new(),
        is_docs: false,
        oddness: 0,
        services: Vec::new(),
        inputs: Vec::new(),
        tier: 0,
    }
}
