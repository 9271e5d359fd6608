//! Reads the output of `go build`, `go vet` and the linters that write like them:
//! `FILE.go:LINE:COLUMN: MESSAGE`, each an error: Go has no warnings.

use super::table::GO;
use crate::output::kit::dedupe::Distinct;
use crate::output::kit::location::place;
use crate::output::reader::{Format, FormatName, Reader, Stream};
use crate::results::{Finding, Level, Reading};

pub const FORMAT: Format = Format::compiler::<GoBuild>("go-build", &[FormatName::Go]);

/// The reader; also of what `go test` says of a build.
#[derive(Default)]
pub(crate) struct GoBuild {
    known: bool,
    pub(crate) reading: Reading,
    met: Distinct,
    /// `go vet -json`: the analyzer, and the place whose message is to come.
    analyzer: Option<String>,
    posn: Option<String>,
}

impl Reader for GoBuild {
    fn line(&mut self, _: Stream, line: &str) {
        match line.as_bytes() {
            [] => {}
            [b'\t' | b' ', ..] => self.indented(line),
            _ => self.flush(line),
        }
    }

    fn finish(self: Box<Self>) -> Option<Reading> {
        self.known.then_some(self.reading)
    }
}

impl GoBuild {
    /// A line that begins at the left.
    fn flush(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("go: ") {
            self.known = true;
            if BROKEN.iter().any(|words| rest.contains(words)) {
                self.reading.object(line);
            }
        } else if let Some(package) = line.strip_prefix("# ") {
            self.known |= !package.is_empty() && !package.starts_with(' ');
        } else if !self.read_finding(line)
            && BEGINNINGS.iter().any(|words| line.starts_with(words))
            && BROKEN.iter().any(|words| line.contains(words))
        {
            self.known = true;
            self.reading.object(line);
        }
    }

    /// A finding, if it is one: in a file of Go.
    fn read_finding(&mut self, line: &str) -> bool {
        let Some(found) = GO.read(line) else {
            return false;
        };
        self.known = true;
        if !found.is_note {
            self.find(found.finding);
        }
        true
    }

    fn find(&mut self, found: Finding) {
        if self.met.is_new_finding(&found) {
            self.reading.find(found);
        }
    }

    /// `go vet -json` writes one thing a line; imports of a cycle are indented too.
    fn indented(&mut self, line: &str) {
        let line = line.trim();
        if let Some(posn) = value(line, "\"posn\": ") {
            self.posn = Some(posn);
        } else if let Some(message) = value(line, "\"message\": ") {
            let posn = self.posn.take().unwrap_or_default();
            if let Some(at) = place(&format!("{posn}:")) {
                self.known = true;
                self.find(Finding {
                    code: self.analyzer.clone(),
                    column: at.column,
                    file: Some(at.file.to_owned()),
                    line: Some(at.line),
                    message,
                    severity: Level::Error,
                });
            }
        } else if let Some(key) = line.strip_suffix(": [") {
            self.analyzer = serde_json::from_str(key).ok();
        } else if line.ends_with(": import cycle not allowed") {
            self.known = true;
            self.reading.object(line);
        }
    }
}

/// The messages of Go without a place when it cannot build.
const BROKEN: &[&str] = &[
    "build constraints exclude all Go files",
    "cannot find main module",
    "cannot find module providing package",
    "directory not found",
    "errors parsing go.mod",
    "go.mod file not found",
    "import cycle not allowed",
    "missing go.sum entry",
    "no Go files in",
    "no required module provides package",
    "running gcc failed",
    "updates to go.mod needed",
];

/// The beginnings of such a line where `go: ` does not precede it.
const BEGINNINGS: &[&str] = &[
    "build constraints ",
    "cannot find ",
    "no Go files ",
    "no required ",
    "package ",
    "pattern ",
    "stat ",
    "/",
    "link",
];

/// The value of a key of `go vet -json`.
fn value(line: &str, key: &str) -> Option<String> {
    serde_json::from_str(line.strip_prefix(key)?.trim_end_matches(',')).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings() {
        for (line, want) in [
            (
                "./main.go:5:2: undefined: total",
                Some(("./main.go", 5, Some(2), None, "undefined: total")),
            ),
            (
                "vet: e.go:5:28: undeclared name: x",
                Some(("e.go", 5, Some(28), None, "undeclared name: x")),
            ),
            (
                "a.go:3: missing return",
                Some(("a.go", 3, None, None, "missing return")),
            ),
            (
                "C:\\x\\a.go:3:1: y (SA4006)",
                Some(("C:\\x\\a.go", 3, Some(1), Some("SA4006"), "y")),
            ),
            (
                "a.go:1:2: f (want (int))",
                Some(("a.go", 1, Some(2), None, "f (want (int))")),
            ),
            ("m.go:12:2: too many errors", None),
            ("    c_test.go:6: a log line", None),
            ("a.c:1:1: error", None),
            ("a.go:x", None),
        ] {
            let mut reader = GoBuild::default();
            reader.line(Stream::Err, line);
            let got = reader.reading.findings.first();
            let got = got.map(|f| {
                (
                    f.file.as_deref().unwrap_or(""),
                    f.line,
                    f.column,
                    f.code.as_deref(),
                    &*f.message,
                )
            });
            assert_eq!(
                got,
                want.map(|(file, line, column, code, text)| (file, Some(line), column, code, text)),
                "{line}"
            );
        }
    }
}
