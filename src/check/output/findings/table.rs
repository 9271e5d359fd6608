//! Reads lines that report one finding each: a table of the forms in which tools write them.
//!
//! A form is a pattern with named groups: `file`, `line`, `column`, `code` and `message` are the
//! finding's; a group `warning` or `note` that takes part makes it that, and none an error; `mark`
//! is what else its reader asks for.

use crate::results::{Finding, Level};
use memchr::memmem;
use regex::{Captures, Regex};
use std::sync::OnceLock;

/// A line that reports a finding.
pub(crate) struct TableFinding {
    /// The finding, an error unless it is a warning.
    pub finding: Finding,
    /// Whether it is a note, which is not a finding.
    pub is_note: bool,
    /// Whether the form's `mark` is there.
    pub marked: bool,
}

/// The forms in which one tool reports findings, in the order in which they are tried.
pub struct Forms {
    rows: &'static [Row],
    compiled: OnceLock<Vec<Compiled>>,
}

/// A form as it is searched for: its words and its pattern are compiled once.
struct Compiled {
    has: Vec<memmem::Finder<'static>>,
    pattern: Option<Regex>,
}

/// One form.
struct Row {
    /// A line of this form has one of these words; without any, a colon before a digit. Most lines
    /// of other outputs do not, so they are rejected at once.
    has: &'static [&'static str],
    pattern: &'static str,
}

/// `FILE:LINE:` or `FILE:LINE:COLUMN:` at the beginning; the first such pair of colons counts, and
/// the file's name ends as given.
macro_rules! place {
    ($ending:literal) => {
        concat!(
            r"(?<file>[^:]+(?::(?:[0-9]*[^:0-9][^:]*)?)*",
            $ending,
            r"):(?<line>[0-9]+):(?:(?<column>[0-9]+):)?\s*"
        )
    };
}

/// A file whose name begins the line and holds no colon but that of a drive.
macro_rules! plain_file {
    ($ending:literal) => {
        concat!(r"^(?<file>(?:[A-Za-z]:[\\/])?[!-9;-~][^:]*", $ending, "):")
    };
}

/// The text of MSBuild after the origin: a severity, a code if there is one, a message, and the
/// project.
macro_rules! msbuild {
    ($origin:literal, $code:literal, $project:literal) => {
        concat!(
            r"^\s*(?:[0-9]+>)?\s*",
            $origin,
            r"\s*: (?:(?:fatal |Command line )?error|(?<warning>warning)) ",
            $code,
            r":(?:\s+(?<message>.*?))?(?<mark>\s*\[[^\[]*?",
            r"(?:proj|\.slnx?|\.targets|\.props)(?:::[^\[]*)?\])",
            $project,
            r"\s*$"
        )
    };
}

macro_rules! forms {
    ($($(#[$doc:meta])* $name:ident: $([$($has:expr),*] $pattern:expr),+;)+) => {
        $($(#[$doc])* pub static $name: Forms = Forms {
            rows: &[$(Row { has: &[$($has),*], pattern: $pattern }),+],
            compiled: OnceLock::new(),
        };)+
        #[cfg(test)]
        const ALL: &[&Forms] = &[$(&$name),+];
    };
}

forms! {
    /// ESLint: `  1:7   error    Message  rule` below the name of the file (stylish),
    /// `a.js:1:7: Message. [Error/rule]` (unix), `a.js: line 1, col 7, Error - Message. (rule)`
    /// (compact).
    ESLINT_STYLISH:
        ["error  ", "warning  "] concat!(
            r"^\s+(?<line>[0-9]+):(?<column>[0-9]+)\s*(?:error|(?<warning>warning))  ",
            r"\s*(?<message>.*?)(?:\s*  (?<code>[A-Za-z0-9@/_.-]+))?\s*$"
        );
    /// The other forms of ESLint.
    ESLINT:
        [" [Error", " [Warning"] concat!(
            "^", place!(""),
            r"(?<message>.*) \[(?:Error|(?<warning>Warning))(?:/(?<code>.*))?\]$"
        ),
        [": line "] concat!(
            r"^(?<file>.*?): line (?<line>[0-9]+), col (?<column>[0-9]+), ",
            r"(?:Error|(?<warning>Warning)) - ",
            r"(?<message>.*?)(?: \((?<code>[A-Za-z0-9@/_.-]+)\))?$"
        );
    /// gcc, clang, and linkers that know the line of source, perhaps after the object.
    GCC:
        [] concat!(
            r"^(?:[^: ]*\.o:)?", place!(""),
            "(?:(?:(?:fatal |internal compiler )?error|sorry, unimplemented|Error",
            "|(?<warning>[Ww]arning)|(?<note>note|remark)): (?<message>.*))$"
        ),
        [] concat!(
            r"^(?:[^: ]*\.o:)?", place!(""),
            "(?<message>(?:undefined reference to |multiple definition of |undefined symbol: ).*)$"
        );
    /// Go's compiler, vet, and linters that write like them, staticcheck with `(CODE)` at the end.
    GO:
        [".go:"] concat!(
            "^(?:vet: )?", place!(r"\.go"),
            r"(?:(?<note>too many errors)$|(?<message>.+?)(?: \((?<code>[A-Z]+[0-9]{4})\))?$)"
        );
    /// javac, alone and under Maven; of no file, which others write too.
    JAVAC:
        [".java:"] concat!(
            r"^(?<file>[^:\[\s][^:]*(?::(?:[0-9]*[^:0-9][^:]*)?)*\.java):(?<line>[0-9]+):\s*",
            r"(?:error|(?<warning>warning)): (?:\[(?<code>[a-z-]+)\] )?(?<message>.*?)\s*$"
        ),
        [".java:["] concat!(
            r"^\[(?:ERROR|(?<warning>WARNING))\] (?<file>.+?\.java):\[(?<line>[0-9]+),",
            r"(?<column>[0-9]+)\] (?:error: )?(?:\[(?<code>[a-z-]+)\] )?(?<message>.*?)\s*$"
        ),
        ["error: ", "warning: "]
            r"^(?:error|(?<warning>warning)): (?:\[(?<code>[a-z-]+)\] )?(?<message>.*?)\s*$";
    /// MSBuild's canonical form: the mark is the project.
    MSBUILD:
        [": error", ": warning", ": fatal error", ": Command line error"] msbuild!(
            r"(?<file>.+?)\((?<line>[0-9]+)(?:,(?<column>[0-9]+))?[0-9,-]*\)",
            r"(?<code>[A-Za-z][A-Za-z0-9_-]*)\s*",
            "?"
        ),
        [": error", ": warning", ": fatal error", ": Command line error"] msbuild!(
            r"(?<file>.+?)\((?<line>[0-9]+)(?:,(?<column>[0-9]+))?[0-9,-]*\)",
            "",
            ""
        ),
        [": error", ": warning", ": fatal error", ": Command line error"] msbuild!(
            "(?<file>.+?)",
            r"(?<code>[A-Za-z][A-Za-z0-9_-]*)\s*",
            "?"
        );
    /// mypy; with `--show-error-end` a second place, about a whole file none.
    MYPY:
        [".py:", ".pyi:", ".ipynb:"] concat!(
            r"^(?<file>(?:.:[\\/])?[^:]*\.(?:pyi?|ipynb)):",
            r"(?:(?<line>[0-9]+):)?(?:(?<column>[0-9]+):)?(?:[0-9:]+:)?\s*",
            r"(?:error|(?<warning>warning)|(?<note>note)): ",
            r"(?<message>.*?)\s*(?:  \[(?<code>[a-z0-9-]+)\])?$"
        );
    /// pylint, with the name of the rule after the message.
    PYLINT:
        [] concat!(
            plain_file!(""), r"(?<line>[0-9]+):(?:(?<column>[0-9]+):)?\s*",
            r"(?<code>(?:[FE]|(?<warning>[WCR])|(?<note>I))[0-9]{4}): ",
            r"(?<message>.*?)\s*(?: \([a-z0-9-]+\))?$"
        );
    /// flake8 and the concise form of ruff, whose mark is that it can fix it.
    RUFF:
        [] concat!(
            plain_file!(""), r"(?<line>[0-9]+):(?<column>[0-9]+):\s*",
            r"(?<code>[A-Z]{1,7}[0-9]{3,4}) (?<mark>\[[*-]\] )?(?<message>.*?)\s*$"
        ),
        ["SyntaxError: ", "invalid-syntax: "] concat!(
            plain_file!(""), r"(?<line>[0-9]+):(?<column>[0-9]+):\s*",
            r"(?:SyntaxError|(?<code>invalid-syntax)): (?<mark>\[[*-]\] )?(?<message>.*?)\s*$"
        );
    /// rustc with `--message-format=short`: only a file of Rust, others write the same.
    RUSTC:
        [".rs:"] concat!(
            plain_file!(r"\.rs"), r"(?<line>[0-9]+):(?<column>[0-9]+):\s*",
            r"(?:error|(?<warning>warning))(?:\[(?<code>[^ \]]{0,80})\])?: (?<message>.*?)\s*$"
        );
    /// ShellCheck's form that is like gcc's.
    SHELLCHECK:
        [" [SC"] concat!(
            r"^(?<file>[^:]+(?::(?:[0-9]*[^:0-9][^:]*)?)*):(?<line>[0-9]+):(?<column>[0-9]+):\s*",
            r"(?:error|(?<warning>warning)|(?<note>[a-z]*)): (?<message>.*) \[(?<code>SC[0-9]+)\]$"
        );
    /// TypeScript's compiler: without a place, pretty, with the place in brackets.
    TSC:
        ["error TS", "warning TS"]
            r"^(?:error|(?<warning>warning)) (?<code>TS[0-9]+):(?: (?<message>.*))?$",
        [" - error TS", " - warning TS"] concat!(
            r"^(?<file>.+?):(?<line>[0-9]+):(?<column>[0-9]+) - ",
            r"(?:error|(?<warning>warning)) (?<code>TS[0-9]+):(?: (?<message>.*))?$"
        ),
        ["): error TS", "): warning TS"] concat!(
            r"^(?<file>.+?)\((?<line>[0-9]+),(?<column>[0-9]+)\): ",
            r"(?:error|(?<warning>warning)) (?<code>TS[0-9]+):(?: (?<message>.*))?$"
        );
}

impl Forms {
    /// The finding that a line reports, by the first form that it has.
    pub fn read(&self, line: &str) -> Option<TableFinding> {
        let compiled = self
            .compiled
            .get_or_init(|| self.rows.iter().map(Compiled::from_row).collect());
        let mut forms = compiled.iter().filter(|form| form.may_match(line));
        forms
            .find_map(|form| form.pattern.as_ref()?.captures(line))
            .map(|groups| read_finding(&groups))
    }
}

impl Compiled {
    fn from_row(row: &'static Row) -> Self {
        Self {
            has: row
                .has
                .iter()
                .map(|word| memmem::Finder::new(*word))
                .collect(),
            pattern: Regex::new(row.pattern).ok(),
        }
    }

    fn may_match(&self, line: &str) -> bool {
        match self.has.as_slice() {
            [] => has_place(line),
            words => words
                .iter()
                .any(|word| word.find(line.as_bytes()).is_some()),
        }
    }
}

/// Whether a colon precedes a digit.
fn has_place(line: &str) -> bool {
    let bytes = line.as_bytes();
    memchr::memchr_iter(b':', bytes).any(|at| bytes.get(at + 1).is_some_and(u8::is_ascii_digit))
}

fn read_finding(groups: &Captures<'_>) -> TableFinding {
    let text = |name| groups.name(name).map(|group| group.as_str().to_owned());
    let number = |name| {
        groups
            .name(name)
            .and_then(|group| group.as_str().parse().ok())
    };
    let has = |name| groups.name(name).is_some();
    TableFinding {
        finding: Finding {
            code: text("code"),
            column: number("column"),
            file: text("file"),
            line: number("line").filter(|line| *line > 0),
            message: text("message").unwrap_or_default(),
            severity: Level::warning_if(has("warning")),
        },
        is_note: has("note"),
        marked: has("mark"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_one() {
        for forms in ALL {
            for row in forms.rows {
                assert!(Compiled::from_row(row).pattern.is_some(), "{}", row.pattern);
            }
        }
    }

    #[test]
    fn the_first_pair_of_colons_is_the_place() {
        for (line, want) in [
            ("a.c:1:10: error: m", Some(("a.c", Some(1), Some(10)))),
            ("a.c:6: error: m", Some(("a.c", Some(6), None))),
            ("C:\\a.c:1:2: error: m", Some(("C:\\a.c", Some(1), Some(2)))),
            ("/t/a.o:/s/a.c:3: error: m", Some(("/s/a.c", Some(3), None))),
            (
                "a b: c.c:1:2: error: m",
                Some(("a b: c.c", Some(1), Some(2))),
            ),
            (":1:2: error: m", None),
            ("12:30:45 error: m", None),
            ("a.c: error: m", None),
        ] {
            let found = GCC.read(line).map(|found| found.finding);
            let got = found
                .as_ref()
                .and_then(|f| Some((f.file.as_deref()?, f.line, f.column)));
            assert_eq!(got, want, "{line}");
        }
    }
}
