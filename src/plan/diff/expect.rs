//! How is a request written as a test of a contract? (language.md section 8)

use crate::base::change::{ChangedFile, Status};
use crate::base::path::RepoPath;
use crate::base::word::visible;
use std::fmt::Write as _;

/// Names on one line of an assertion.
const MOST: usize = 8;

/// What a case says.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// Its title.
    pub title: &'a str,
    /// The role.
    pub role: &'a str,
    /// The changed files.
    pub changed: &'a [ChangedFile],
    /// The paths that exist.
    pub exists: &'a [RepoPath],
    /// The risk is high.
    pub high_risk: bool,
    /// It is the run's end.
    pub run_end: bool,
    /// `runs` with these names, if there are any.
    pub runs: &'a [String],
}

/// The case as a block of the language, with a final newline. A path that the language cannot write stands in a comment.
#[must_use]
pub fn write(case: &Case<'_>) -> String {
    let mut text = format!("expect {} {{\n", quote(case.title));
    let _ = writeln!(text, "  role {}", case.role);
    for file in case.changed {
        let prefix = match file.status {
            Status::Added => "added:",
            Status::Deleted => "deleted:",
            Status::Modified | Status::TypeChanged => "",
        };
        match std::str::from_utf8(file.path.as_bytes()) {
            // What looks like a status is part of the name.
            Ok(path) if prefix.is_empty() && path.contains(':') => {
                let _ = writeln!(text, "  changed {}", quote(&format!(":{path}")));
            }
            Ok(path) => {
                let _ = writeln!(text, "  changed {}", quote(&format!("{prefix}{path}")));
            }
            Err(_) => {
                let _ = writeln!(text, "  # changed {prefix}{}: not UTF-8", visible(file.path.as_bytes()));
            }
        }
    }
    for path in case.exists {
        let _ = writeln!(text, "  exists {}", quote(&String::from_utf8_lossy(path.as_bytes())));
    }
    if case.high_risk {
        text.push_str("  risk-level high\n");
    }
    if case.run_end {
        text.push_str("  at run-end\n");
    }
    for names in case.runs.chunks(MOST) {
        let _ = writeln!(text, "  runs {}", names.join(" "));
    }
    text.push_str("}\n");
    text
}

/// A string of the language, in the shorter quoting.
fn quote(text: &str) -> String {
    if (text.contains('"') || text.contains('\\')) && !text.contains('\'') && !text.chars().any(is_odd) {
        return format!("'{text}'");
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if is_odd(c) => {
                let _ = write!(quoted, "\\u{{{:x}}}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a character is better written by its number.
fn is_odd(c: char) -> bool {
    c.is_control() || crate::base::word::is_unsafe_to_show(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case() {
        let file = |path: &[u8], status| ChangedFile { path: RepoPath::from_exact(path).unwrap(), status };
        let case = Case {
            title: "old runs `x`",
            role: "tester",
            changed: &[
                file(b"a b.md", Status::Modified),
                file(b"x", Status::Deleted),
                file(b"added:y", Status::Modified),
                file(b"q\"", Status::Modified),
                file(b"\xff", Status::Modified),
            ],
            exists: &[RepoPath::parse(b"Cargo.toml").unwrap()],
            high_risk: true,
            run_end: true,
            runs: &["lint".to_owned(), "unit".to_owned()],
        };
        let want = "expect \"old runs `x`\" {\n  role tester\n  changed \"a b.md\"\n  changed \"deleted:x\"\n  changed \":added:y\"\n  \
                    changed 'q\"'\n  # changed \\xff: not UTF-8\n  exists \"Cargo.toml\"\n  risk-level high\n  at run-end\n  \
                    runs lint unit\n}\n";
        assert_eq!(write(&case), want);
    }
}
