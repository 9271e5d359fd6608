//! Facts: what a plan needs to know about the repository beyond the changed files
//! (src/engine.md section 2).

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use vplan_base::folders::{EachQuestion, FolderQuery};
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;
use vplan_base::word::Word;
use vplan_base::workspace::WorkspaceQuery;
use vplan_contract::Sought;

/// Maximum number of rounds in which compiling, or the search for steps known to break, gets the
/// facts that it requests: each answer may lead to another question.
pub const MAX_FACT_ROUNDS: usize = 8;

/// A question that only the repository can answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Whether this path exists, by exact bytes of directory entries: yes, no.
    Exists(RepoPath),
    /// Whether a file matches this glob: yes, no; `unknown` when the files cannot be listed. Files
    /// count that git tracks, or neither tracks nor ignores, and ignored ones below a folder that
    /// the glob names literally.
    ExistsMatch(Glob),
    /// The changed files that no longer exist, whatever their status says: a list of paths.
    /// Requested only when a selected check has `{changed}`.
    MissingChanged,
    /// The scripts that `DIR/package.json` declares: a list; `no` when there is no such file;
    /// `unknown` when it cannot be read.
    Scripts(RepoPath),
    /// The targets of the makefile of DIR (GNUmakefile, makefile, Makefile: make's own order): a
    /// list, in which a name with `%` is a pattern rule's; `no` when there is none; `unknown` when
    /// it includes others, or has computed targets.
    MakeTargets(RepoPath),
    /// `Scripts` at the base revision (HEAD, or the merge base with `--base`); `unknown` without
    /// git.
    BaseScripts(RepoPath),
    /// `MakeTargets` at the base revision.
    BaseMakeTargets(RepoPath),
    /// The targets of this very makefile, as `make-targets`.
    MakefileTargets(RepoPath),
    /// `MakefileTargets` at the base revision.
    BaseMakefileTargets(RepoPath),
    /// Whether git tracks this path: yes, no; `unknown` without git.
    Tracked(RepoPath),
    /// The lines of a script, a makefile or a package.json that call other files, in one form: `. NAME`,
    /// `include NAME`, `SCRIPT: TEXT`. A `$` in a NAME is whatever a variable holds. `no` when there is no
    /// such file; `unknown` when it cannot be read.
    Calls(RepoPath),
    /// Whether this table of a configuration file is at the base revision what it is now: yes, no;
    /// `unknown` without git, and for a file that cannot be read.
    SameTable(RepoPath, String),
    /// The folders that an `each` of the contract was written out for, with what is known of
    /// packages: a list. The contract has the answer.
    Folders(EachQuestion),
    /// The folders that the work tree and the base have together, where that is more: a list.
    BaseFolders(EachQuestion),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FactAnswer {
    /// `"yes"`, `"no"` or `"unknown"`.
    Word(Certainty),
    /// A list, sorted.
    List(Vec<Word>),
}

/// A truth value with certainty. `unknown` never drops or blocks anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// It cannot be told.
    Unknown,
}

/// A question with its answer, as a plan records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// The answer.
    pub answer: FactAnswer,
    /// The question.
    pub question: Question,
}

/// All answers known so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts(pub BTreeMap<Question, FactAnswer>);

impl Facts {
    /// Returns the answer to a question, if there is one.
    pub fn get(&self, question: &Question) -> Option<&FactAnswer> {
        self.0.get(question)
    }

    /// Adds an answer.
    pub fn add(&mut self, question: Question, answer: FactAnswer) {
        self.0.insert(question, answer);
    }

    /// Returns a question with its answer.
    pub(crate) fn fact(&self, question: Question) -> Option<Fact> {
        let answer = self.get(&question)?.clone();
        Some(Fact { answer, question })
    }

    /// Whether a makefile's list has a pattern that matches a name.
    pub fn has_pattern(&self, question: &Question, name: &[u8]) -> bool {
        let makes = matches!(
            question,
            Question::MakeTargets(_)
                | Question::BaseMakeTargets(_)
                | Question::MakefileTargets(_)
                | Question::BaseMakefileTargets(_)
        );
        let Some(FactAnswer::List(list)) = self.get(question).filter(|_| makes) else {
            return false;
        };
        list.iter().any(|w| matches_pattern(w.as_bytes(), name))
    }

    /// Whether a list contains a name: yes, no, or unknown (also without an answer, and when only a
    /// pattern rule may make it).
    pub fn holds(&self, question: &Question, name: &[u8]) -> Certainty {
        match self.get(question) {
            Some(FactAnswer::List(list)) if list.iter().any(|w| w.as_bytes() == name) => {
                Certainty::Yes
            }
            Some(FactAnswer::List(_)) if self.has_pattern(question, name) => Certainty::Unknown,
            Some(FactAnswer::List(_) | FactAnswer::Word(Certainty::No)) => Certainty::No,
            Some(FactAnswer::Word(Certainty::Yes | Certainty::Unknown)) | None => {
                Certainty::Unknown
            }
        }
    }
}

/// Whether a target's pattern matches a name: `%` is at least one byte, and is also matched against
/// the name without its folder.
fn matches_pattern(pattern: &[u8], name: &[u8]) -> bool {
    let Some(at) = pattern.iter().position(|b| *b == b'%') else {
        return false;
    };
    let (before, after) = (
        pattern.get(..at).unwrap_or_default(),
        pattern.get(at + 1..).unwrap_or_default(),
    );
    let matches = |name: &[u8]| {
        name.len() > before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
    };
    matches(name) || name.rsplit(|b| *b == b'/').next().is_some_and(matches)
}

/// The prefix of a question as it is written, and its constructor from a path.
type Kind = (&'static str, fn(RepoPath) -> Question);

fn prefixed(prefix: &str, rest: &[u8]) -> Word {
    Word::new([prefix.as_bytes(), rest].concat())
}

/// The prefix of the questions of conditions.
const EXISTS: &str = "exists:";
/// The prefix of the questions of `each` blocks.
const FOLDERS: &str = "folders:";
const BASE_FOLDERS: &str = "base-folders:";
const WORKSPACE: &str = "workspace:";
const BASE_WORKSPACE: &str = "base-workspace:";
const SAME_TABLE: &str = "same-table:";
/// The prefix of a path that would be a glob where a condition asks for it.
const LITERAL: &[u8] = b"./";

impl Question {
    /// Makes the question that a condition asks.
    pub fn exists(sought: &Sought) -> Self {
        match sought {
            Sought::Path(path) => Question::Exists(path.clone()),
            Sought::Glob(glob) => Question::ExistsMatch(glob.clone()),
        }
    }

    const KINDS: [Kind; 9] = [
        (EXISTS, Question::Exists),
        ("scripts:", Question::Scripts),
        ("make-targets:", Question::MakeTargets),
        ("base-scripts:", Question::BaseScripts),
        ("base-make-targets:", Question::BaseMakeTargets),
        ("makefile-targets:", Question::MakefileTargets),
        ("base-makefile-targets:", Question::BaseMakefileTargets),
        ("tracked:", Question::Tracked),
        ("calls:", Question::Calls),
    ];

    /// Returns the question as a plan writes it: `exists:Cargo.toml`, `exists:*.lock`.
    pub fn to_word(&self) -> Word {
        let (prefix, path) = match self {
            Question::MissingChanged => return Word::from("missing-changed"),
            Question::Exists(p) if glob(p.as_bytes()).is_some() => {
                return Word::new([EXISTS.as_bytes(), LITERAL, p.as_bytes()].concat());
            }
            Question::Exists(p) => (EXISTS, p),
            Question::ExistsMatch(glob) => return Word::from(format!("{EXISTS}{}", glob.text())),
            Question::Scripts(p) => ("scripts:", p),
            Question::MakeTargets(p) => ("make-targets:", p),
            Question::BaseScripts(p) => ("base-scripts:", p),
            Question::BaseMakeTargets(p) => ("base-make-targets:", p),
            Question::MakefileTargets(p) => ("makefile-targets:", p),
            Question::BaseMakefileTargets(p) => ("base-makefile-targets:", p),
            Question::Tracked(p) => ("tracked:", p),
            Question::Calls(p) => ("calls:", p),
            Question::SameTable(p, key) => {
                let text = [SAME_TABLE.as_bytes(), p.as_bytes(), b"#", key.as_bytes()];
                return Word::new(text.concat());
            }
            Question::Folders(asked) => return asked_word(FOLDERS, WORKSPACE, asked),
            Question::BaseFolders(asked) => return asked_word(BASE_FOLDERS, BASE_WORKSPACE, asked),
        };
        Word::new([prefix.as_bytes(), path.as_bytes()].concat())
    }

    /// Parses the text of [`Question::to_word`].
    pub fn from_word(word: &Word) -> Option<Self> {
        let bytes = word.as_bytes();
        if bytes == b"missing-changed" {
            return Some(Question::MissingChanged);
        }
        type QuestionParser = fn(&[u8]) -> Option<EachQuestion>;
        let folders: QuestionParser =
            |query| FolderQuery::from_word(query).map(EachQuestion::Folders);
        let workspace: QuestionParser =
            |query| WorkspaceQuery::from_word(query).map(EachQuestion::Workspace);
        for (prefix, read, make) in [
            (FOLDERS, folders, Question::Folders as fn(_) -> _),
            (BASE_FOLDERS, folders, Question::BaseFolders),
            (WORKSPACE, workspace, Question::Folders),
            (BASE_WORKSPACE, workspace, Question::BaseFolders),
        ] {
            if let Some(query) = bytes.strip_prefix(prefix.as_bytes()) {
                return read(query).map(make);
            }
        }
        if let Some(rest) = bytes.strip_prefix(SAME_TABLE.as_bytes()) {
            let mark = rest.iter().rposition(|byte| *byte == b'#')?;
            let key = std::str::from_utf8(rest.get(mark + 1..)?).ok()?.to_owned();
            let path = RepoPath::from_exact(rest.get(..mark)?)?;
            return Some(Question::SameTable(path, key));
        }
        let (prefix, make) = Self::KINDS
            .iter()
            .find(|(prefix, _)| bytes.starts_with(prefix.as_bytes()))?;
        let path = bytes.get(prefix.len()..)?;
        if *prefix == EXISTS {
            if let Some(glob) = glob(path) {
                return Some(Question::ExistsMatch(glob));
            }
            if let Some(path) = path.strip_prefix(LITERAL) {
                return RepoPath::from_exact(path).map(Question::Exists);
            }
        }
        Some(make(if path == b"." {
            RepoPath::root()
        } else {
            RepoPath::from_exact(path)?
        }))
    }
}

/// Writes the query of an `each` after the prefix of its kind.
fn asked_word(folders: &str, workspace: &str, asked: &EachQuestion) -> Word {
    match asked {
        EachQuestion::Folders(query) => prefixed(folders, query.to_word().as_bytes()),
        EachQuestion::Workspace(query) => prefixed(workspace, query.to_word().as_bytes()),
    }
}

/// Returns the glob that a condition would read there.
fn glob(bytes: &[u8]) -> Option<Glob> {
    Sought::glob(std::str::from_utf8(bytes).ok()?)
}

impl Serialize for Question {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_word().serialize(serializer)
    }
}

impl JsonSchema for Question {
    fn schema_name() -> Cow<'static, str> {
        "FactQuestion".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kinds: Vec<&str> = Self::KINDS.iter().map(|(prefix, _)| *prefix).collect();
        let mut schema = Word::json_schema(generator);
        let description = format!(
            "What was asked: `missing-changed`, or one of `{}` and a path; behind `exists:` also a glob; or `folders:` or `base-folders:`, a glob of folders, and `//` with each file they have; or `workspace:` or `base-workspace:` and a folder with `/`, and the name of a manifest in it; or `{SAME_TABLE}`, a path, `#` and a table of that file.",
            kinds.join("`, `")
        );
        schema.insert("description".to_owned(), description.into());
        schema
    }
}

impl<'de> Deserialize<'de> for Question {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = Word::deserialize(deserializer)?;
        Question::from_word(&word)
            .ok_or_else(|| serde::de::Error::custom("not a question that vplan asks"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A question is read back as it was, and each has a word of its own.
    #[test]
    fn words_of_what_exists() {
        let path = |text: &[u8]| Question::Exists(RepoPath::from_exact(text).unwrap());
        let glob = |text: &str| Question::ExistsMatch(Glob::parse(text).unwrap());
        for (question, word) in [
            (path(b"Cargo.toml"), &b"exists:Cargo.toml"[..]),
            (path(b"app/[id]/page.tsx"), b"exists:app/[id]/page.tsx"),
            (path(b"{{slug}}/a"), b"exists:{{slug}}/a"),
            (Question::Exists(RepoPath::root()), b"exists:."),
            (glob("*.lock"), b"exists:*.lock"),
            (glob("{a,b}/**"), b"exists:{a,b}/**"),
            // A path that would be read as a glob, and two that would not.
            (path(b"a*"), b"exists:./a*"),
            (path(b"a[*"), b"exists:a[*"),
            (path(b"\xff*"), b"exists:\xff*"),
        ] {
            assert_eq!(question.to_word().as_bytes(), word);
            assert_eq!(Question::from_word(&question.to_word()), Some(question));
        }
        for text in ["calls:ci/test.sh", "same-table:a/pyproject.toml#tool.ruff"] {
            let word = Word::from(text);
            assert_eq!(Question::from_word(&word).unwrap().to_word(), word);
        }
        for text in ["exists:./a", "exists:./*"] {
            let question = Question::from_word(&Word::from(text)).unwrap();
            assert!(matches!(question, Question::Exists(_)), "{text}");
        }
        assert_eq!(Question::from_word(&Word::from("exists:../*")), None);
    }
}
