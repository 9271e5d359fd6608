//! The table of what must hold before the findings of a format can be known: the exit codes that
//! its tool has for findings and for nothing else, and whether it looks at everything although it
//! found something.
//!
//! A format that is not in the table excuses nothing: compilers stop at what they find, and a
//! report that many tools write says nothing of its writer's exit code.

use crate::output::ALL;
use crate::results::{FailedTest, Finding, Level, Reading};
use crate::tool::Invocation;

/// A row of the table.
pub(super) struct Rule {
    /// The id of the format.
    formats: &'static [&'static str],
    /// The exit codes with errors or failed tests.
    errors: Codes,
    /// The exit codes with warnings and nothing worse.
    warnings: &'static [i32],
    /// Whether warnings make it exit with a failure too.
    pub counts_warnings: bool,
    /// The words by which it goes on after a failure.
    goes_on: GoesOn,
    /// Whether tests that it did not run after a failure are counted as skipped.
    pub skips_behind_failure: bool,
    /// Whether a finding keeps it from finding others.
    pub hides_finding: fn(&Finding) -> bool,
    /// Whether a failed test keeps others from running.
    pub hides_test: fn(&FailedTest) -> bool,
}

enum Codes {
    Of(&'static [i32]),
    /// A sum of bits, one for each category of messages.
    Pylint,
}

enum GoesOn {
    /// Always, or its output says where it did not.
    Always,
    /// Unless the command has one of these words, or one that begins so.
    Unless(&'static [&'static str]),
    /// If the command has this word.
    With(&'static str),
}

const PLAIN: Rule = Rule {
    formats: &[],
    errors: Codes::Of(&[1]),
    warnings: &[],
    counts_warnings: false,
    goes_on: GoesOn::Always,
    skips_behind_failure: false,
    hides_finding: |_| false,
    hides_test: |_| false,
};

const RULES: &[Rule] = &[
    Rule {
        formats: &["cargo-nextest"],
        errors: Codes::Of(&[100]),
        ..PLAIN
    },
    Rule {
        formats: &["cargo-test"],
        errors: Codes::Of(&[101]),
        goes_on: GoesOn::With("--no-fail-fast"),
        ..PLAIN
    },
    Rule {
        formats: &["eslint", "eslint-json"],
        hides_finding: |finding| finding.code.is_none(),
        warnings: &[0, 1],
        ..PLAIN
    },
    Rule {
        formats: &["flake8", "ruff"],
        hides_finding: is_python_syntax,
        ..PLAIN
    },
    Rule {
        formats: &["gcc", "javac", "msbuild", "rustc", "rustc-json"],
        errors: Codes::Of(&[]),
        warnings: &[0],
        ..PLAIN
    },
    Rule {
        formats: &["go-test", "go-test-json"],
        goes_on: GoesOn::Unless(&["-failfast", "--failfast"]),
        ..PLAIN
    },
    Rule {
        formats: &["jest"],
        skips_behind_failure: true,
        goes_on: GoesOn::Unless(&["--bail", "-b"]),
        ..PLAIN
    },
    Rule {
        formats: &["mypy"],
        hides_finding: |finding| finding.code.as_deref() == Some("syntax"),
        ..PLAIN
    },
    Rule {
        formats: &["node-test"],
        // A file that does not load is one failed test.
        hides_test: |test| {
            [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"]
                .iter()
                .any(|end| test.name.ends_with(end))
        },
        ..PLAIN
    },
    Rule {
        formats: &["pylint"],
        errors: Codes::Pylint,
        counts_warnings: true,
        hides_finding: |finding| {
            let code = finding.code.as_deref().unwrap_or("F");
            code.starts_with('F') || code == "E0001"
        },
        ..PLAIN
    },
    Rule {
        formats: &["pytest"],
        goes_on: GoesOn::Unless(&["-x", "--exitfirst", "--maxfail", "--sw", "--stepwise"]),
        // A file that cannot be collected is a failure without the name of a test.
        hides_test: |test| !test.name.contains("::"),
        ..PLAIN
    },
    Rule {
        formats: &["shellcheck"],
        warnings: &[1],
        counts_warnings: true,
        // What it cannot parse it does not look at.
        hides_finding: |finding| {
            let code = finding.code.as_deref().unwrap_or("SC1");
            finding.severity == Level::Error && code.starts_with("SC1")
        },
        ..PLAIN
    },
    Rule {
        formats: &["tsc"],
        errors: Codes::Of(&[1, 2]),
        // With an error of syntax there is no look at types.
        hides_finding: |finding| {
            let code = finding.code.as_deref().unwrap_or("TS1000");
            code.len() == 6 && code.starts_with("TS1")
        },
        ..PLAIN
    },
    Rule {
        formats: &["unittest"],
        goes_on: GoesOn::Unless(&["-f", "--failfast"]),
        // A module that cannot be imported is one failed test.
        hides_test: |test| test.name.contains("_FailedTest"),
        ..PLAIN
    },
    Rule {
        formats: &["vitest"],
        goes_on: GoesOn::Unless(&["--bail"]),
        skips_behind_failure: true,
        ..PLAIN
    },
];

/// Whether a Python file was not read for its syntax.
fn is_python_syntax(finding: &Finding) -> bool {
    match finding.code.as_deref() {
        None | Some("invalid-syntax") => true,
        Some(code) => code.starts_with("E9"),
    }
}

impl Rule {
    /// Returns the row of a format.
    pub(super) fn from_format(format: &str) -> Option<&'static Rule> {
        RULES.iter().find(|rule| rule.formats.contains(&format))
    }

    /// Checks that a command starts the format's tool and nothing else, which goes on after what it
    /// finds.
    ///
    /// # Errors
    /// The reason why a finding may hide others.
    pub(super) fn is_whole(&self, format: &str, argv: &[&str]) -> Result<(), &'static str> {
        let format = ALL.iter().find(|known| known.id == format);
        // A shell's text is the tool alone only as one plain command: even `true` after it decides
        // about the exit code.
        let run = Invocation::parse(argv);
        let is_alone = format.is_some_and(|format| format.is_written_by(&run));
        if !is_alone {
            return Err("its command may start more than the tool, behind what fails");
        }
        let has = |word: &&str| {
            argv.iter().any(|said| match word.as_bytes() {
                // Letters may be written together: `-vx`.
                [b'-', letter] => {
                    let letters = said.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
                    letters.is_some_and(|letters| letters.as_bytes().contains(letter))
                }
                _ => {
                    let rest = said.strip_prefix(*word);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
                }
            })
        };
        let goes_on = match &self.goes_on {
            GoesOn::Always => true,
            GoesOn::Unless(words) => !words.iter().any(has),
            GoesOn::With(word) => has(word),
        };
        goes_on
            .then_some(())
            .ok_or("its command stops at the first failure")
    }

    /// Whether the tool exits with this code for what was read, and for nothing else.
    pub(super) fn exits(&self, reading: &Reading, exit: i32) -> bool {
        let codes = match &self.errors {
            Codes::Pylint => return exit == pylint(reading),
            Codes::Of(codes) => codes,
        };
        let failed = reading.tests.is_some_and(|tests| tests.failed > 0);
        if reading.errors > 0 || failed {
            codes.contains(&exit)
        } else {
            self.warnings.contains(&exit)
        }
    }
}

/// The exit code of pylint: a bit for each category that has a message.
fn pylint(reading: &Reading) -> i32 {
    let bit = |finding: &Finding| match finding.code.as_deref().and_then(|c| c.chars().next()) {
        Some('E') => 2,
        Some('W') => 4,
        Some('R') => 8,
        Some('C') => 16,
        _ => 1,
    };
    reading
        .findings
        .iter()
        .map(bit)
        .fold(0, |sum, bit| sum | bit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::TestCounts;

    #[test]
    fn every_row_is_of_a_format() {
        let formats: Vec<_> = RULES.iter().flat_map(|rule| rule.formats).collect();
        for (at, format) in formats.iter().enumerate() {
            assert!(ALL.iter().any(|f| f.id == **format), "{format}");
            assert!(!formats[at + 1..].contains(format), "{format}");
        }
        for format in ["junit", "sarif", "trx", "tap", "eslint+tsc", ""] {
            assert!(Rule::from_format(format).is_none(), "{format}");
        }
    }

    #[test]
    fn commands_that_look_at_everything() {
        let whole = |format: &str, command: &str| {
            let words: Vec<&str> = command.split(' ').collect();
            Rule::from_format(format)
                .unwrap()
                .is_whole(format, &words)
                .is_ok()
        };
        for (format, command) in [
            ("eslint", "eslint ."),
            ("eslint", "npx eslint src"),
            ("ruff", "uv run ruff check"),
            ("pytest", "python -m pytest -q"),
            ("cargo-test", "cargo test --no-fail-fast"),
            ("go-test", "go test ./..."),
            ("tsc", "tsc --noEmit"),
        ] {
            assert!(whole(format, command), "{command}");
        }
        for (format, command) in [
            // Another command follows, or may follow, what failed.
            ("eslint", "npm run lint"),
            ("eslint", "make lint"),
            ("eslint", "sh -c eslint&&tsc"),
            ("ruff", "eslint ."),
            ("pytest", "pytest -x"),
            ("pytest", "pytest -qx"),
            ("pytest", "pytest --maxfail=3"),
            ("cargo-test", "cargo test"),
            ("go-test", "go test -failfast ./..."),
            ("vitest", "vitest run --bail=1"),
        ] {
            assert!(!whole(format, command), "{command}");
        }
    }

    #[test]
    fn exit_codes() {
        let finding = |code: &str, severity| Finding {
            code: Some(code.to_owned()),
            severity,
            ..Finding::default()
        };
        let reading = |format: &str, findings: &[(&str, Level)]| {
            let mut reading = Reading::from_format(format);
            for (code, severity) in findings {
                reading.find(finding(code, *severity));
            }
            reading
        };
        use Level::{Error, Warning};
        for (format, findings, good, bad) in [
            ("eslint", &[("semi", Error)][..], &[1][..], &[0, 2, 139][..]),
            ("eslint", &[("semi", Warning)], &[0, 1], &[2]),
            (
                "pylint",
                &[("E1101", Error), ("C0114", Warning)],
                &[18],
                &[1, 2, 16, 32],
            ),
            ("mypy", &[("arg-type", Error)], &[1], &[2]),
            ("rustc", &[("E0308", Error)], &[], &[0, 1, 101]),
            ("rustc", &[("dead_code", Warning)], &[0], &[101]),
            ("shellcheck", &[("SC2086", Warning)], &[1], &[0, 2]),
        ] {
            let reading = reading(format, findings);
            let rule = Rule::from_format(format).unwrap();
            for exit in good {
                assert!(rule.exits(&reading, *exit), "{format}: {exit}");
            }
            for exit in bad {
                assert!(!rule.exits(&reading, *exit), "{format}: {exit}");
            }
        }
        let mut tests = Reading::from_format("pytest");
        tests.tests = Some(TestCounts {
            failed: 1,
            passed: 1,
            skipped: 0,
            ..TestCounts::default()
        });
        let rule = Rule::from_format("pytest").unwrap();
        assert!(rule.exits(&tests, 1) && !rule.exits(&tests, 2) && !rule.exits(&tests, 3));
    }
}
