//! Names what a step differs in from an earlier pass of it: kinds and names, never a value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::canon::is_default;
use vplan_base::word::{and_more, visible};

/// The first thing in which a step differs from its last kept pass, and the number of the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// What became of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<FileChange>,
    /// The kind of thing.
    pub kind: DifferenceKind,
    /// The number of further differences.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more: u64,
    /// The path of a file or program, the name of a variable, the id of a step: safe to print.
    /// Absent where there is nothing to name, or where too many files are inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A kind of thing that decides whether an earlier pass replaces a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    /// The step's own words or settings.
    Settings,
    /// The settings of the steps before it.
    StepsBefore,
    /// A step before it, which ran or removes what it made.
    Step,
    /// A file that it depends on, or that it made.
    File,
    /// A variable that it sees.
    Variable,
    /// Its program, or that program's interpreter.
    Program,
    /// What it may read outside of the repository.
    Outside,
    /// A toolchain that it may read: packages of the system, a folder of programs.
    Toolchain,
    /// vplan itself.
    Vplan,
    /// The repository's path, or the system.
    Place,
}

/// What became of a file since a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// Its content or its permissions are other ones.
    Changed,
    /// It was not there.
    New,
    /// It is not there any more.
    Gone,
}

impl Difference {
    /// Makes the difference in one thing without a name.
    pub fn unnamed(kind: DifferenceKind) -> Self {
        Self {
            change: None,
            kind,
            more: 0,
            name: None,
        }
    }

    /// Makes the difference in one thing with a name: bytes of a path, a variable, an id.
    pub fn with_name(kind: DifferenceKind, name: &[u8]) -> Self {
        Self {
            name: Some(visible(name)),
            ..Self::unnamed(kind)
        }
    }

    /// Makes the difference in one file.
    pub fn file(change: FileChange, path: &[u8]) -> Self {
        Self {
            change: Some(change),
            ..Self::with_name(DifferenceKind::File, path)
        }
    }

    /// Returns the first of a list, with the number of the rest.
    pub fn first_of(list: Vec<Difference>) -> Option<Self> {
        let more = (list.len() as u64).saturating_sub(1);
        let first = list.into_iter().next()?;
        Some(Self {
            more: more.saturating_add(first.more),
            ..first
        })
    }
}

/// Formats it as half a sentence: ``file `src/a` changed and 2 more``.
impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.name.as_deref();
        let named = |what: &str| name.map_or(what.to_owned(), |name| format!("{what} `{name}`"));
        let what = match self.kind {
            DifferenceKind::Settings => "its words or settings changed".to_owned(),
            DifferenceKind::StepsBefore => "the settings of the steps before it changed".to_owned(),
            DifferenceKind::Step => named("the step") + " ran before it",
            DifferenceKind::Outside => {
                "what it may read outside of the repository changed".to_owned()
            }
            DifferenceKind::Toolchain => "the toolchain changed".to_owned(),
            DifferenceKind::File => match (name, self.change) {
                (None, _) => "its inputs changed".to_owned(),
                (_, Some(FileChange::New)) => named("file") + " is new",
                (_, Some(FileChange::Gone)) => named("file") + " is gone",
                (_, Some(FileChange::Changed) | None) => named("file") + " changed",
            },
            DifferenceKind::Variable => named("variable") + " changed",
            DifferenceKind::Program => named("program") + " changed",
            DifferenceKind::Vplan => "vplan changed".to_owned(),
            DifferenceKind::Place => "the place changed".to_owned(),
        };
        write!(f, "{what}{}", and_more(self.more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_number_of_the_rest() {
        let file = |change| Difference::file(change, b"src/a\n");
        for (difference, want) in [
            (file(FileChange::Changed), "file `src/a\\n` changed"),
            (file(FileChange::New), "file `src/a\\n` is new"),
            (file(FileChange::Gone), "file `src/a\\n` is gone"),
            (
                Difference::with_name(DifferenceKind::Variable, b"LANG"),
                "variable `LANG` changed",
            ),
            (
                Difference::unnamed(DifferenceKind::File),
                "its inputs changed",
            ),
        ] {
            assert_eq!(difference.to_string(), want);
            let all = vec![difference.clone(), difference.clone(), difference];
            let first = Difference::first_of(all).unwrap();
            assert_eq!(first.more, 2);
            assert_eq!(first.to_string(), format!("{want} and 2 more"));
        }
        assert_eq!(Difference::first_of(Vec::new()), None);
    }
}
