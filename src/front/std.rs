//! The contracts shipped with vplan, imported as `std:NAME@VERSION`.
//!
//! A version that was released never changes: a repository that imports it relies on that. An
//! improvement becomes the next version.

use vplan_base::command::Command;
use vplan_base::diagnostic::Diagnostics;
use vplan_base::source::{Source, Sources};
use vplan_contract::draft::{CheckEntry, Verb};

/// A contract inside the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    pub name: &'static str,
    /// Its version, from 1.
    pub version: u32,
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal $version:literal)*) => {
        /// All of them, by name and version. Their files are `contracts/std/NAME-VERSION.vplan`.
        pub const SHIPPED: &[Shipped] = &[$(Shipped {
            name: $name,
            version: $version,
            text: include_str!(concat!("std/", $name, "-", $version, ".vplan")),
        }),*];
    };
}

shipped! {
    "docs" 1
    "formats" 1
    "go" 1
    "go" 2
    "make" 1
    "make" 2
    "node" 1
    "node" 2
    "python" 1
    "python" 2
    "python" 3
    "rust" 1
    "rust" 2
    "rust" 3
}

impl Shipped {
    /// Returns its purpose: its first comment, on one line.
    pub fn description(&self) -> &'static str {
        self.text
            .lines()
            .find_map(|l| l.strip_prefix('#'))
            .map_or("", str::trim)
    }
}

/// Returns the commands of an imported contract (`std:node@1`), those of all its conditions; none
/// where no such contract is shipped.
pub fn commands(import: &str) -> Vec<Command> {
    let parts = import.strip_prefix("std:").and_then(|t| t.split_once('@'));
    let shipped = parts.and_then(|(name, version)| find(name, version.parse().ok()?));
    let Some(shipped) = shipped else {
        return Vec::new();
    };
    let mut sources = Sources::default();
    let id = sources.add(Source::new(import.to_owned(), shipped.text));
    // A test sees that what is shipped is without errors.
    let draft = super::lower(&sources, id, &mut Diagnostics::default());
    let mut commands = Vec::new();
    for entry in draft.entries {
        if let CheckEntry::Check(check) = entry {
            commands.extend(check.verbs.into_iter().filter_map(|verb| match verb.value {
                Verb::Command(_, command) => Some(command),
                _ => None,
            }));
        }
    }
    commands
}

/// Returns the contract of this name and version.
pub fn find(name: &str, version: u32) -> Option<&'static Shipped> {
    SHIPPED
        .iter()
        .find(|s| s.name == name && s.version == version)
}

/// Returns the newest version of a name.
pub fn newest(name: &str) -> Option<&'static Shipped> {
    SHIPPED
        .iter()
        .filter(|s| s.name == name)
        .max_by_key(|s| s.version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_contract::error::NO_CHECKS;
    use vplan_contract::validate::validate;

    #[test]
    fn every_shipped_contract_is_one() {
        let mut before = None;
        for shipped in SHIPPED {
            let mut sources = Sources::default();
            let id = sources.add(Source::new(
                format!("std:{}@{}", shipped.name, shipped.version),
                shipped.text,
            ));
            let mut sink = Diagnostics::default();
            let draft = super::super::lower(&sources, id, &mut sink);
            assert!(
                draft.imports.is_empty(),
                "what is shipped stands alone, or this test reads its imports"
            );
            let contract = validate(&draft, &sources, &mut sink);
            // One that only has formats has nothing to run.
            let has_checks = draft.formats.is_empty();
            sink.retain(|found| has_checks || found.code != NO_CHECKS);
            assert!(sink.is_empty(), "{}: {sink:?}", shipped.name);
            assert_eq!(!contract.unwrap().checks.is_empty(), has_checks);
            assert!(
                !shipped.description().is_empty(),
                "{} says what it is for",
                shipped.name
            );
            let key = (shipped.name, shipped.version);
            assert!(before < Some(key), "sorted");
            before = Some(key);
        }
    }

    #[test]
    fn the_commands_of_an_import() {
        for shipped in SHIPPED.iter().filter(|shipped| shipped.name != "formats") {
            let import = format!("std:{}@{}", shipped.name, shipped.version);
            assert!(!commands(&import).is_empty(), "{import}");
        }
        assert_eq!(commands("std:make@0"), []);
        assert_eq!(commands("git:make@1"), []);
    }

    #[test]
    fn by_name_and_version() {
        assert_eq!(
            find("rust", 1),
            newest("rust")
                .filter(|s| s.version == 1)
                .or(find("rust", 1))
        );
        assert_eq!((find("rust", 0), newest("nothing")), (None, None));
    }
}
