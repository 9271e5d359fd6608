//! Reads the output of `javac`, alone or under Maven and Gradle.

use super::table::JAVAC;
use crate::output::kit::dedupe::Distinct;
use crate::output::kit::number::counted;
use crate::output::reader::{Format, FormatName, Reader, Stream};
use crate::results::{Finding, Reading};

pub const FORMAT: Format = Format::compiler::<Javac>("javac", &[FormatName::Javac]);

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
            _ => self.flush_left(line),
        }
    }

    fn finish(mut self: Box<Self>) -> Option<Reading> {
        self.flush();
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

    /// A line that is not indented: a finding, what comes before one or ends a build.
    fn flush_left(&mut self, line: &str) {
        if let Some(note) = line.strip_prefix("Note: ") {
            self.known |= note.contains(".java ")
                || note.starts_with("Some input files")
                || note.starts_with("Recompile");
        } else if let Some(found) = JAVAC.read(line) {
            self.flush();
            let Finding {
                code,
                column,
                file,
                message,
                ..
            } = &found.finding;
            let whole = file.is_none() || column.is_some();
            self.known |= file.is_some()
                || code.is_some()
                || OWN.iter().any(|words| message.starts_with(words));
            self.pending = self.known.then_some((found.finding, 0));
            if whole {
                self.flush();
            }
        } else if let Some((_, "error" | "errors" | "warning" | "warnings")) = counted(line) {
            self.known |= line.contains("error") && self.pending.is_some();
        } else {
            self.known |= line.starts_with("BUILD SUCCESSFUL")
                || matches!(line, "[INFO] BUILD SUCCESS" | "[INFO] BUILD FAILURE");
        }
    }
}

/// The messages of javac that name no file.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::read;

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
