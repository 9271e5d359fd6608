//! Lists the words that crates share with each other and with documents, one enum each. The meaning
//! of a word is in the crate that implements it.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

/// A closed list of words.
pub trait Vocabulary: Copy {
    /// Returns the spelling of the word.
    fn spelling(self) -> &'static str;
    /// Returns the word with this spelling.
    fn spelled(text: &str) -> Option<Self>;
}

/// Declares an enum whose variants are words, in the order of `ALL`.
#[macro_export]
macro_rules! words {
    (
        $(#[$about:meta])*
        $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $(#[$about])*
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// All words.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// The spellings of all words.
            pub const NAMES: &'static [&'static str] = &[$($word),*];

            /// Returns the spelling of the word.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// Returns the word with this spelling.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|word| word.name() == text)
            }
        }
    };
}

/// Declares words, as [`words!`](crate::words) does, that documents have.
#[macro_export]
macro_rules! vocabulary {
    (
        $(#[$about:meta])*
        $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }
    ) => {
        $crate::words! {
            #[derive(Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
            $(#[$about])*
            $name { $($(#[$doc])* #[serde(rename = $word)] $variant = $word,)* }
        }

        impl $crate::vocabulary::Vocabulary for $name {
            fn spelling(self) -> &'static str {
                self.name()
            }

            fn spelled(text: &str) -> Option<Self> {
                Self::parse(text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

vocabulary! {
    /// The risk of the change, as the caller assesses it.
    #[derive(Default)]
    #[schemars(rename = "Risk")]
    RiskLevel {
        /// Does nothing.
        Low = "low",
        /// Does nothing; the default.
        #[default]
        Medium = "medium",
        /// Reaches tier 1.
        High = "high",
    }
}

vocabulary! {
    /// A boundary that a change completes.
    Boundary {
        /// A milestone: reaches tier 1.
        MilestoneEnd = "milestone-end",
        /// The run: reaches tier 2.
        RunEnd = "run-end",
    }
}

vocabulary! {
    /// The name of a rewrite rule of recovery, in the order in which rules are tried.
    /// `recover::rules` has the rule of each.
    RewriteRule {
        /// A conjunction becomes its parts.
        SplitConjunction = "split-conjunction",
        /// A change of directory becomes the directory of what follows.
        HoistDirectory = "hoist-directory",
        /// A check of what a cleanup removes goes before the cleanup.
        ReorderAfterCleanup = "reorder-after-cleanup",
        /// A script that does not exist is not run.
        DropMissingScript = "drop-missing-script",
        /// A goal that does not exist is not made.
        DropMissingMakeTarget = "drop-missing-make-target",
        /// A test run that found no test files is left out.
        DropNoTestFiles = "drop-no-test-files",
        /// A command outside the grammar is left out.
        DropUnsupportedFormat = "drop-unsupported-format",
    }
}

vocabulary! {
    /// The name of a format of output. `check::output` has the formats of each name, which are
    /// several where the output shows which it is.
    FormatName {
        /// The format that the words of the command, or else the output itself, show.
        Auto = "auto",
        /// The output of cargo and its tests.
        Cargo = "cargo",
        /// Messages of rustc, also in JSON.
        Rustc = "rustc",
        /// Messages of the TypeScript compiler.
        Tsc = "tsc",
        /// ESLint, also in JSON.
        Eslint = "eslint",
        /// `file:line:column: error:` as GCC, Clang and many others write it.
        Gcc = "gcc",
        /// javac.
        Javac = "javac",
        /// mypy, also in JSON.
        Mypy = "mypy",
        /// pytest.
        Pytest = "pytest",
        /// Python's unittest.
        Unittest = "unittest",
        /// Jest, also in JSON.
        Jest = "jest",
        /// Vitest, also in Jest's JSON.
        Vitest = "vitest",
        /// Mocha.
        Mocha = "mocha",
        /// The Test Anything Protocol.
        Tap = "tap",
        /// `go test`, also in JSON, `go build` and `go vet`.
        Go = "go",
        /// `dotnet test` and `dotnet build`.
        Dotnet = "dotnet",
        /// XML as JUnit writes it.
        Junit = "junit",
        /// Visual Studio's XML of test results.
        Trx = "trx",
        /// SARIF, JSON of static analysis.
        Sarif = "sarif",
        /// cargo-nextest.
        Nextest = "nextest",
        /// Clippy: rustc's messages.
        Clippy = "clippy",
        /// Ruff.
        Ruff = "ruff",
        /// Flake8.
        Flake8 = "flake8",
        /// Pylint, also in JSON.
        Pylint = "pylint",
        /// The test runner of Node.js, also as TAP.
        Node = "node",
        /// MSBuild.
        Msbuild = "msbuild",
        /// ShellCheck.
        Shellcheck = "shellcheck",
    }
}

vocabulary! {
    /// The kind of a report file that a command writes (`report`). Each is a format of output too.
    ReportKind {
        /// Tests or findings, in XML.
        Junit = "junit",
        /// Tests, in XML.
        Trx = "trx",
        /// Tests.
        Tap = "tap",
        /// Findings, in JSON.
        Sarif = "sarif",
    }
}

vocabulary! {
    /// The cause of a step's failure. Existing pipelines know the names: they never change.
    FailureCode {
        /// The script that a package manager was asked for does not exist.
        MissingScript = "verification_command_missing_script",
        /// The goal that make or ninja was asked for does not exist.
        MissingMakeTarget = "verification_command_missing_make_target",
        /// A test runner found no test files.
        NoTestFiles = "verification_command_no_test_files",
        /// The command is outside the grammar.
        UnsupportedFormat = "verification_command_unsupported_format",
        /// A check of presence follows a cleanup.
        SequenceIssue = "verification_command_sequence_issue",
        /// A tool, a module or a manifest is missing.
        SetupOrBootstrap = "setup_or_bootstrap_issue",
        /// No answer came from where it was sent to be executed.
        RemoteUnavailable = "verification_remote_unavailable",
        /// Its time was up.
        Timeout = "verification_timeout",
        /// A change outside the contract's scope.
        PolicyViolation = "policy_violation",
        /// Everything else: the check really failed.
        Failed = "verification_command_failed",
    }
}

impl FailureCode {
    /// The reason of a rewrite that answers this failure.
    pub fn adjusted(self) -> String {
        let name = self.name();
        format!("{}_adjusted", name.strip_suffix("_issue").unwrap_or(name))
    }
}

/// Declares the exit codes, in the order of `ALL`: ascending.
macro_rules! exit_codes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $words:literal;)*) => {
        /// The exit codes of the program.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Exit {
            $($(#[$doc])* $variant = $code,)*
        }

        impl Exit {
            /// All codes, ascending.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The exit code of the process.
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// Returns this code if the condition is true, and success otherwise.
            pub const fn when(self, holds: bool) -> Self {
                if holds { self } else { Self::Success }
            }

            /// The code of this number, if it has a meaning.
            pub fn of(code: u8) -> Option<Self> {
                Self::ALL.iter().copied().find(|exit| exit.code() == code)
            }

            /// Its meaning for a run, in a help text.
            pub const fn words(self) -> &'static str {
                match self {
                    $(Self::$variant => $words,)*
                }
            }
        }
    };
}

exit_codes! {
    /// Passed, or nothing to verify.
    Success = 0, "passed or nothing to verify";
    /// vplan itself failed.
    Internal = 1, "vplan failed";
    /// Usage.
    Usage = 2, "usage";
    /// The contract is invalid or missing.
    Contract = 3, "contract invalid or missing";
    /// Lock or plan drift.
    Drift = 4, "lock or plan drift";
    /// A tool or a directory is missing, or a `setup` step failed.
    Setup = 5, "setup";
    /// Passed, not yet confirmed often enough.
    Unconfirmed = 20, "to be confirmed again";
    /// Retries used up.
    Exhausted = 21, "retries used up";
    /// Escalated.
    Escalated = 22, "escalated";
    /// A check failed.
    Failed = 40, "a check failed";
    /// Compilation failed.
    Compilation = 41, "compilation failed";
    /// Tests failed.
    Tests = 42, "tests failed";
    /// Timed out, or the budget is used up.
    Time = 43, "time is up";
    /// Something did not run, nothing was verified, or required coverage is narrowed.
    Incomplete = 44, "incomplete";
    /// `vplan diff`: the newer contract asks for less, or may do so.
    Weakened = 45, "the contract is weakened";
    /// SIGINT.
    Interrupted = 130, "interrupted";
    /// SIGTERM.
    Terminated = 143, "interrupted";
}

/// A word of a document, which any version of vplan or any other program may have written: one of
/// the vocabulary, or other text. Reading accepts any text, so that a record with a later version's
/// word can be shown; decisions use [`Open::to_known`]. It compares and serialises as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Open<T> {
    /// A word of the vocabulary.
    Known(T),
    /// Any other text. Made by `From` alone, so never the spelling of a word.
    Other(String),
}

impl<T: Vocabulary> Open<T> {
    /// Returns the word, if it is one.
    pub fn to_known(&self) -> Option<T> {
        match self {
            Self::Known(word) => Some(*word),
            Self::Other(_) => None,
        }
    }
}

/// Compares as text, also for known words.
impl<T: Vocabulary + Eq> Ord for Open<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.deref().cmp(other)
    }
}

impl<T: Vocabulary + Eq> PartialOrd for Open<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Vocabulary> From<T> for Open<T> {
    fn from(word: T) -> Self {
        Self::Known(word)
    }
}

impl<T: Vocabulary> From<&str> for Open<T> {
    fn from(text: &str) -> Self {
        T::spelled(text).map_or_else(|| Self::Other(text.to_owned()), Self::Known)
    }
}

impl<T: Vocabulary> From<String> for Open<T> {
    fn from(text: String) -> Self {
        T::spelled(&text).map_or(Self::Other(text), Self::Known)
    }
}

impl<T: Vocabulary> Deref for Open<T> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Known(word) => word.spelling(),
            Self::Other(text) => text,
        }
    }
}

impl<T: Vocabulary> fmt::Display for Open<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl<T: Vocabulary> Serialize for Open<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de, T: Vocabulary> Deserialize<'de> for Open<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(String::deserialize(deserializer)?))
    }
}

/// Documents promise text, not one of today's words.
impl<T> JsonSchema for Open<T> {
    fn inline_schema() -> bool {
        String::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each_word_is_read_back<T: Vocabulary + fmt::Debug + PartialEq + Serialize>(all: &[T]) {
        for word in all {
            let text = word.spelling();
            assert_eq!(
                T::spelled(text).as_ref(),
                Some(word),
                "{text} is written twice"
            );
            assert_eq!(serde_json::json!(word), text);
            assert_eq!(Open::<T>::from(text), Open::Known(*word));
        }
    }

    #[test]
    fn words_are_read_as_they_are_written() {
        each_word_is_read_back(&RewriteRule::ALL);
        each_word_is_read_back(&FormatName::ALL);
        each_word_is_read_back(&ReportKind::ALL);
        each_word_is_read_back(&FailureCode::ALL);
    }

    #[test]
    fn exit_codes_are_read_back_and_ascend() {
        assert!(Exit::ALL.is_sorted_by_key(|exit| exit.code()));
        for exit in Exit::ALL {
            assert_eq!(Exit::of(exit.code()), Some(*exit));
        }
        assert_eq!(Exit::of(6), None);
    }

    #[test]
    fn a_document_keeps_a_word_that_is_unknown() {
        for text in [
            "",
            "drop-everything",
            "Split-Conjunction",
            "split-conjunction ",
        ] {
            let read: Open<RewriteRule> = serde_json::from_value(text.into()).unwrap();
            assert_eq!((read.to_known(), &*read), (None, text));
            assert_eq!(serde_json::json!(read), text);
        }
        let read: Open<RewriteRule> = serde_json::from_str("\"split-conjunction\"").unwrap();
        assert_eq!(read.to_known(), Some(RewriteRule::SplitConjunction));
        assert!(serde_json::from_str::<Open<RewriteRule>>("1").is_err());
    }
}
