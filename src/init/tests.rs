//! Values for tests.

use super::check::{Check, Key};
use super::found::{Origin, Place, SourceCommand};
use vplan_base::path::RepoPath;
use vplan_check::Kind;

/// The words of a text.
pub fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A command of CI at the root.
pub fn ci_command(text: &str) -> SourceCommand {
    SourceCommand {
        origin: Origin::Ci,
        ..SourceCommand::at(
            Place::new(&RepoPath::root(), 1),
            words(text),
            &RepoPath::root(),
        )
    }
}

/// A check at the root that runs this command.
pub fn check(text: &str) -> Check {
    let place = Place::new(&RepoPath::parse(b"ci.yml").unwrap(), 3);
    Check {
        name: "check".to_owned(),
        verb: Kind::Test,
        found: SourceCommand {
            place,
            ..ci_command(text)
        },
        key: Key {
            tool: text.to_owned(),
            ..Key::default()
        },
        ..Check::default()
    }
}
