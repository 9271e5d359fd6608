//! Reads the output of MSBuild, under `dotnet build`, `dotnet format` or alone:
//! `ORIGIN(LINE,COLUMN): error CODE: MESSAGE [PROJECT]`, again in its summary, and again for each
//! target framework: the same at the same place counts once.

use super::table::MSBUILD;
use crate::output::kit::dedupe::Distinct;
use crate::output::kit::number::counted;
use crate::output::reader::{Format, FormatName, Reader, Stream};
use crate::results::{Finding, Reading};

pub const FORMAT: Format =
    Format::compiler::<Msbuild>("msbuild", &[FormatName::Dotnet, FormatName::Msbuild]);

/// The reader; also of what `dotnet test` says of a build.
#[derive(Default)]
pub struct Msbuild {
    known: bool,
    failed: bool,
    pub(crate) reading: Reading,
    met: Distinct,
}

impl Reader for Msbuild {
    fn line(&mut self, _: Stream, line: &str) {
        if let Some(found) = canonical(line) {
            self.known = true;
            if self.met.is_new_finding(&found) {
                self.reading.find(found);
            }
            return;
        }
        let line = line.trim();
        if line.starts_with("Build ") {
            self.failed |=
                line.starts_with("Build FAILED.") || line.starts_with("Build failed with ");
            self.known |= self.failed || line.starts_with("Build succeeded");
        } else if let Some((n, word @ ("Error(s)" | "Warning(s)"))) = counted(line) {
            self.known = true;
            self.failed |= n > 0 && word == "Error(s)";
        } else if line.starts_with("MSBuild version ")
            || line.starts_with("Microsoft (R) Build Engine version ")
        {
            self.known = true;
        }
    }

    fn finish(self: Box<Self>) -> Option<Reading> {
        if !self.known {
            return None;
        }
        let silent = self.failed && self.reading.errors == 0;
        let mut reading = self.reading;
        if silent {
            reading.object("the build failed without an error that can be read");
        }
        Some(reading)
    }
}

impl Msbuild {
    /// Whether the build has failed, as far as it was read.
    pub fn has_failed(&self) -> bool {
        self.failed || self.reading.errors > 0
    }
}

/// A line in the canonical form of MSBuild.
fn canonical(line: &str) -> Option<Finding> {
    let found = MSBUILD.read(line)?;
    let mut finding = found.finding;
    // The compiler of TypeScript writes the same, but of no project.
    let number = finding.code.as_deref().and_then(|c| c.strip_prefix("TS"));
    if !found.marked && number.is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit())) {
        return None;
    }
    if finding.line.is_none() {
        // A tool, unless it looks like a file.
        finding.file = finding.file.filter(|name| name.contains(['.', '/', '\\']));
    }
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        for (line, want) in [
            (
                "/src/P.cs(5,30): error CS1002: ; expected [/src/app.csproj]",
                "Error /src/P.cs 5 30 CS1002 ; expected",
            ),
            (
                "C:\\p\\F.cs(12,34): error CS1002: ; expected [C:\\p\\F.csproj]",
                "Error C:\\p\\F.cs 12 34 CS1002 ; expected",
            ),
            (
                "     2>/a.cs(1,2,3,4): warning CS1: m [/p.csproj::TargetFramework=net8.0]",
                "Warning /a.cs 1 2 CS1 m",
            ),
            (
                "CSC : error CS5001: Program does not contain 'Main' [/p.csproj]",
                "Error - 0 0 CS5001 Program does not contain 'Main'",
            ),
            (
                "MSBUILD : error MSB1003: Specify a project",
                "Error - 0 0 MSB1003 Specify a project",
            ),
            (
                "/sdk/S.targets(90,5): error NETSDK1045: The current [/p.csproj]",
                "Error /sdk/S.targets 90 5 NETSDK1045 The current",
            ),
            (
                "/p.csproj : error NU1101: Unable to find package X.",
                "Error /p.csproj 0 0 NU1101 Unable to find package X.",
            ),
            (
                "LINK : fatal error LNK1104: cannot open file 'x.lib'",
                "Error - 0 0 LNK1104 cannot open file 'x.lib'",
            ),
            (
                "/a.cs(1,2): warning CS0618: 'X' is obsolete: 'use [Y]' [/p.csproj]",
                "Warning /a.cs 1 2 CS0618 'X' is obsolete: 'use [Y]'",
            ),
            (
                "/a.targets(3,5): error : it broke [/p.csproj]",
                "Error /a.targets 3 5 - it broke",
            ),
            ("src/a.ts(3,5): error TS2322: no", "-"),
            (
                "src/a.ts(3,5): error TS2322: no [/p.csproj]",
                "Error src/a.ts 3 5 TS2322 no",
            ),
            ("a.c:1:2: error: x", "-"),
            ("  Passed: error handling", "-"),
            ("x: error", "-"),
            ("", "-"),
        ] {
            let got = canonical(line).map_or("-".to_owned(), |f| {
                format!(
                    "{:?} {} {} {} {} {}",
                    f.severity,
                    f.file.as_deref().unwrap_or("-"),
                    f.line.unwrap_or(0),
                    f.column.unwrap_or(0),
                    f.code.as_deref().unwrap_or("-"),
                    f.message
                )
            });
            assert_eq!(got, want, "{line}");
        }
    }

    #[test]
    fn a_failed_build_without_errors_is_a_problem() {
        for (text, problems) in [
            ("Build FAILED.", 1),
            ("Build succeeded.", 0),
            ("Build failed with 1 error(s) in 2.3s", 1),
        ] {
            let mut reader = Box::<Msbuild>::default();
            reader.line(Stream::Out, text);
            assert_eq!(reader.finish().unwrap().problems.len(), problems, "{text}");
        }
    }
}
