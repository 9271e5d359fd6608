//! Values for tests.

use super::check::{CheckKey, ProposedCheck};
use super::found::{CommandOrigin, Place, SourceCommand};
use vplan_base::path::RepoPath;
use vplan_check::Kind;

/// The words of a text.
pub fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A command of CI at the root.
pub fn ci_command(text: &str) -> SourceCommand {
    SourceCommand {
        origin: CommandOrigin::Ci,
        ..SourceCommand::at(
            Place::new(&RepoPath::root(), 1),
            words(text),
            &RepoPath::root(),
        )
    }
}

/// A check at the root that runs this command.
pub fn check(text: &str) -> ProposedCheck {
    let place = Place::new(&RepoPath::parse(b"ci.yml").unwrap(), 3);
    ProposedCheck {
        name: "check".to_owned(),
        verb: Kind::Test,
        found: SourceCommand {
            place,
            ..ci_command(text)
        },
        key: CheckKey {
            tool: text.to_owned(),
            ..CheckKey::default()
        },
        ..ProposedCheck::default()
    }
}
