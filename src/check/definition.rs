//! Formats of output that a contract defines: `format NAME { … }`.

use super::Kind;
use super::pattern::{LineHole, LineParts, Pattern};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of lines of a format.
pub const LINES: usize = 32;

/// The way in which a format reads lines.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FormatDefinition {
    /// The words of `{severity}` that mean an error; a word in no list means one, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Its patterns: the first that fits a line reads it, a heading behind all others.
    pub lines: Vec<LinePattern>,
    /// The words that mean no finding.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The words that mean a warning.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A line of a format.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LinePattern {
    /// The level of the findings, where the line says it and not the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<LineLevel>,
    /// The text of a whole line, with holes.
    pub pattern: Pattern,
    /// What such a line says.
    pub says: LineMeaning,
}

vplan_base::vocabulary! {
    /// What a line of output says.
    LineMeaning {
        Finding = "finding",
        /// The file of the findings below.
        Heading = "heading",
        /// That nothing was found.
        Clean = "clean",
        /// That tests passed: how many, or which.
        Passed = "passed",
        /// That tests failed.
        Failed = "failed",
        /// That tests were skipped.
        Skipped = "skipped",
    }
}

vplan_base::vocabulary! {
    /// The level of a finding in an output.
    LineLevel {
        Error = "error",
        Warning = "warning",
        /// What is no finding.
        Note = "note",
    }
}

impl LineMeaning {
    /// The placeholders that its pattern may have, in addition to `{}`.
    pub fn holes(self) -> &'static [LineHole] {
        use LineHole::{Code, Column, Count, File, Line, Message, Name, Severity};
        match self {
            Self::Finding => &[File, Line, Column, Severity, Code, Message],
            Self::Heading => &[File],
            Self::Clean => &[],
            Self::Passed | Self::Failed | Self::Skipped => &[Count, Name],
        }
    }
}

impl FormatDefinition {
    /// Whether it has a line that says this.
    pub fn says(&self, meaning: LineMeaning) -> bool {
        self.lines.iter().any(|line| line.says == meaning)
    }

    /// What it must have to be of use for a kind of check, if that is missing.
    pub fn lacks(&self, kind: Kind) -> Option<LineMeaning> {
        let wanted = match kind {
            Kind::Test => LineMeaning::Passed,
            Kind::Compile | Kind::Lint => LineMeaning::Finding,
            Kind::Run | Kind::Shell | Kind::File | Kind::Judge => return None,
        };
        (!self.says(wanted)).then_some(wanted)
    }

    /// The level of a finding.
    pub(super) fn level(&self, line: &LinePattern, parts: &LineParts<'_>) -> LineLevel {
        let word = parts.text(LineHole::Severity);
        let among = |words: &[String]| words.iter().any(|w| Some(w.as_str()) == word);
        match line.level {
            Some(level) => level,
            None if among(&self.errors) => LineLevel::Error,
            None if among(&self.warnings) => LineLevel::Warning,
            None if among(&self.notes) => LineLevel::Note,
            None => LineLevel::Error,
        }
    }
}
