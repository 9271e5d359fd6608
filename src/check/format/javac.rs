//! Reads the output of `javac`, alone or under Maven and Gradle.

use super::command::program;
use super::distinct::Distinct;
use super::place::{number, place};
use super::reader::{Format, Reader, Stream};
use crate::base::vocabulary::FormatName;
use crate::check::Kind;
use crate::check::reading::{Finding, Level, Reading};

/// The format.
pub const FORMAT: Format = Format {
    id: "javac",
    is_document: false,
    names: &[FormatName::Javac],
    kinds: &[Kind::Compile, Kind::Lint],
    written_by: |argv| {
        ["javac", "mvn", "mvnw", "gradle", "gradlew", "ant"].contains(&program(argv))
    },
    reader: || Box::new(Javac::default()),
};

#[derive(Default)]
struct Javac {
    known: bool,
    reading: Reading,
    met: Distinct,
    /// A finding whose column is to come: a line of source and a caret under it follow.
    pending: Option<(Finding, u8)>,
}

impl Reader for Javac {
    fn line(&mut self, _: Stream, line: &str) {
        if let Some((finding, lines)) = &mut self.pending {
            *lines += 1;
            if *lines >= 2 && line.trim_start() == "^" {
                finding.column = u64::try_from(line.chars().count()).ok();
                return self.flush();
            }
            if *lines > 6 {
                self.flush();
            }
        }
        match line.as_bytes() {
            [b' ' | b'\t', ..] | [] => {}
            [b'[', ..] => self.maven(line),
            _ => self.javac(line),
        }
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        self.flush();
        self.reading.format = FORMAT.id.to_owned();
        self.known.then_some(self.reading)
    }
}

impl Javac {
    /// A finding has all its parts.
    fn flush(&mut self) {
        if let Some((finding, _)) = self.pending.take()
            && self.met.is_new_finding(&finding)
        {
            self.reading.find(finding);
        }
    }

    fn javac(&mut self, line: &str) {
        if let Some(note) = line.strip_prefix("Note: ") {
            self.known |= note.contains(".java ")
                || note.starts_with("Some input files")
                || note.starts_with("Recompile");
        } else if let Some((severity, text)) = graded(line) {
            // Of no file: `error: file not found: X.java`, `warning: [options] …`.
            self.flush();
            let (code, text) = coded(text);
            let own = code.is_some() || OWN.iter().any(|words| text.starts_with(words));
            if own || self.known {
                self.known = true;
                self.pending = Some((finding(severity, code, text, None), 0));
                self.flush();
            }
        } else if line.contains(".java:")
            && let Some(at) =
                place(line).filter(|at| at.file.ends_with(".java") && at.column.is_none())
            && let Some((severity, text)) = graded(at.rest)
        {
            self.flush();
            self.known = true;
            let (code, text) = coded(text);
            self.pending = Some((
                finding(severity, code, text, Some((at.file, at.line, None))),
                0,
            ));
        } else if matches!(line.split_once(' '), Some((n, "error" | "errors" | "warning" | "warnings")) if number(n).0.is_some())
        {
            self.known |= line.contains("error") && self.pending.is_some();
        } else if line.starts_with("BUILD SUCCESSFUL") {
            self.known = true;
        }
    }

    /// `[ERROR] FILE.java:[LINE,COLUMN] MESSAGE`, and the end of a build.
    fn maven(&mut self, line: &str) {
        let (severity, rest) = match line.split_once("] ") {
            Some(("[ERROR", rest)) => (Level::Error, rest),
            Some(("[WARNING", rest)) => (Level::Warning, rest),
            Some(("[INFO", "BUILD SUCCESS" | "BUILD FAILURE")) => {
                self.known = true;
                return;
            }
            _ => return,
        };
        let Some((file, rest)) = rest.split_once(".java:[") else {
            return;
        };
        let Some((at, text)) = rest.split_once("] ") else {
            return;
        };
        let Some((line, column)) = at.split_once(',') else {
            return;
        };
        let (Ok(line), Ok(column)) = (line.parse(), column.parse()) else {
            return;
        };
        self.flush();
        self.known = true;
        let (code, text) = coded(text.strip_prefix("error: ").unwrap_or(text));
        self.pending = Some((
            finding(
                severity,
                code,
                text,
                Some((&format!("{file}.java"), line, Some(column))),
            ),
            0,
        ));
        self.flush();
    }
}

/// What javac says of no file.
const OWN: &[&str] = &[
    "Could not find class file",
    "cannot access",
    "file not found: ",
    "invalid flag: ",
    "invalid source release",
    "invalid target release",
    "module not found",
    "no source files",
    "package ",
    "release version ",
    "unmappable character",
    "warnings found and -Werror specified",
    "option ",
];

fn finding(
    severity: Level,
    code: Option<&str>,
    text: &str,
    at: Option<(&str, u64, Option<u64>)>,
) -> Finding {
    Finding {
        code: code.map(str::to_owned),
        column: at.and_then(|(_, _, column)| column),
        file: at.map(|(file, _, _)| file.to_owned()),
        line: at.map(|(_, line, _)| line),
        message: text.trim_end().to_owned(),
        severity,
    }
}

fn graded(text: &str) -> Option<(Level, &str)> {
    let error = text
        .strip_prefix("error: ")
        .map(|text| (Level::Error, text));
    error.or_else(|| {
        text.strip_prefix("warning: ")
            .map(|text| (Level::Warning, text))
    })
}

/// The lint's name in brackets before the message.
fn coded(text: &str) -> (Option<&str>, &str) {
    let is_lint =
        |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    match text.strip_prefix('[').and_then(|t| t.split_once("] ")) {
        Some((name, text)) if is_lint(name) => (Some(name), text),
        _ => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::format::read;

    #[test]
    fn outputs() {
        for (text, want) in [
            (
                "A.java:3: error: ';' expected\nint x\n     ^\n1 error\n",
                Some("1 0 6"),
            ),
            ("A.java:3: warning: [unchecked] call\n", Some("0 1 0")),
            ("A.java:3: error: x\nA.java:3: error: x\n", Some("1 0 0")),
            ("warning: [options] bootstrap\n1 warning\n", Some("0 1 0")),
            ("error: file not found: A.java\n", Some("1 0 0")),
            (
                "Note: A.java uses unchecked or unsafe operations.\n",
                Some("0 0 0"),
            ),
            (
                "[ERROR] /s/A.java:[3,7] x\n[ERROR] /s/A.java:[3,7] x\n",
                Some("1 0 7"),
            ),
            ("[INFO] BUILD SUCCESS\n", Some("0 0 0")),
            ("BUILD SUCCESSFUL in 1s\n", Some("0 0 0")),
            ("A.java:3:4: error: x\n", None),
            ("error: x\n3 errors\nNote: this\n[ERROR] x\n", None),
            ("    at A.main(A.java:3)\n", None),
            ("", None),
        ] {
            let got = read(&[&FORMAT], b"", text.as_bytes());
            let column = |r: &Reading| r.findings.first().and_then(|f| f.column).unwrap_or(0);
            let got = got.map(|r| format!("{} {} {}", r.errors, r.warnings, column(&r)));
            assert_eq!(got.as_deref(), want, "{text}");
        }
    }
}
