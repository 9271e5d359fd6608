//! Reads the output of gcc, clang and the linkers they run, alone or under make: `FILE:LINE:COLUMN:
//! error: MESSAGE [-Wcode]`.
//!
//! Words like these are many tools' own, so this format comes after those whose files have a
//! telling name.

use super::table::GCC;
use crate::output::kit::dedupe::Distinct;
use crate::output::reader::{Format, FormatName, Reader, Stream};
use crate::results::{Finding, Level, Reading};
use crate::tool::base_name;

pub const FORMAT: Format = Format::compiler::<Gcc>("gcc", &[FormatName::Gcc]);

#[derive(Default)]
struct Gcc {
    known: bool,
    reading: Reading,
    met: Distinct,
}

impl Reader for Gcc {
    fn line(&mut self, _: Stream, line: &str) {
        // What is quoted of the source, and where it came from, is indented.
        if matches!(line.as_bytes(), [] | [b' ' | b'\t', ..]) {
            return;
        }
        if let Some(colon) = memchr::memmem::find(line.as_bytes(), b": ")
            && (self.linker(line) || self.located(line) || self.driver(line, colon))
        {
            return;
        }
        self.known |= is_own(line);
    }

    fn finish(self: Box<Self>) -> Option<Reading> {
        self.known.then_some(self.reading)
    }
}

impl Gcc {
    fn find(&mut self, found: Finding) {
        self.known = true;
        if self.met.is_new_finding(&found) {
            self.reading.find(found);
        }
    }

    /// With a place and a severity, or an error of a linker that knows the line.
    fn located(&mut self, line: &str) -> bool {
        let Some(found) = GCC.read(line) else {
            return false;
        };
        self.known = true;
        if !found.is_note {
            self.find(with_code(found.finding));
        }
        true
    }

    /// `[/usr/bin/ld: ]FILE.c:(.text+0xf): undefined reference to …`, and what a linker says
    /// without a file.
    fn linker(&mut self, line: &str) -> bool {
        let (by_linker, text) = match line.split_once(": ") {
            Some((who, text)) if is_linker(base_name(who)) => (true, text),
            _ => (false, line),
        };
        if by_linker && self.located(text) {
            return true;
        }
        if let Some((file, rest)) = text.split_once(":(")
            && let Some((section, message)) = rest.split_once("): ")
            && section.starts_with('.')
            && section.contains("+0x")
        {
            let warning = message.strip_prefix("warning: ");
            self.find(Finding {
                file: Some(file.to_owned()),
                message: warning.unwrap_or(message).to_owned(),
                severity: Level::warning_if(warning.is_some()),
                ..Finding::default()
            });
            return true;
        }
        if !by_linker {
            return false;
        }
        self.known = true;
        match graded(text) {
            Some((Some(Level::Warning), message)) => self.find(Finding {
                message: message.to_owned(),
                severity: Level::Warning,
                ..Finding::default()
            }),
            _ if text.contains(": in function `")
                || text.contains(": warning: ")
                || text.starts_with("NOTE: ") => {}
            _ => self.reading.object(line),
        }
        true
    }

    /// `gcc: error: …`, `cc1: fatal error: …`: without a place. A failure of the linker is not a
    /// separate finding.
    fn driver(&mut self, line: &str, colon: usize) -> bool {
        let Some((who, text)) = line.split_at_checked(colon) else {
            return false;
        };
        let who = base_name(who);
        if !is_compiler(who)
            && ![
                "cc1",
                "cc1plus",
                "collect2",
                "as",
                "lto1",
                "lto-wrapper",
                "f951",
            ]
            .contains(&who)
        {
            return false;
        }
        let text = text.get(2..).unwrap_or_default();
        let Some((severity, message)) = graded(text) else {
            self.known |= text.contains("warnings being treated as errors");
            return false;
        };
        self.known = true;
        let Some(severity) = severity else {
            return true;
        };
        if message.starts_with("ld returned ") || message.starts_with("linker command failed") {
            self.reading.object(line);
        } else {
            self.find(with_code(Finding {
                message: message.to_owned(),
                severity,
                ..Finding::default()
            }));
        }
        true
    }
}

/// The severity before a message; none for a note.
fn graded(text: &str) -> Option<(Option<Level>, &str)> {
    let levels = [
        ("error: ", Some(Level::Error)),
        ("fatal error: ", Some(Level::Error)),
        ("internal compiler error: ", Some(Level::Error)),
        ("sorry, unimplemented: ", Some(Level::Error)),
        ("Error: ", Some(Level::Error)),
        ("warning: ", Some(Level::Warning)),
        ("Warning: ", Some(Level::Warning)),
        ("note: ", None),
        ("remark: ", None),
    ];
    levels
        .iter()
        .find_map(|(word, level)| Some((*level, text.strip_prefix(word)?)))
}

/// The option after a message in brackets: `-Wformat=` of `[-Wformat=]`, `[-Werror=format=]`,
/// `[-Werror,-Wformat=]`; the check of clang-tidy.
fn with_code(mut found: Finding) -> Finding {
    let text = &found.message;
    let Some((message, code)) = text.strip_suffix(']').and_then(|t| t.rsplit_once(" [")) else {
        return found;
    };
    let first = code.split(',').find(|c| *c != "-Werror").unwrap_or(code);
    let is_check = first.contains('-')
        && first
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-.+=_".contains(&b));
    if is_check {
        let name = first.strip_prefix("-Werror=");
        found.code = Some(name.map_or_else(|| first.to_owned(), |name| format!("-W{name}")));
        found.message = message.to_owned();
    }
    found
}

fn is_linker(name: &str) -> bool {
    let name = name.strip_suffix(".real").unwrap_or(name);
    let base = name.rsplit('-').next().unwrap_or(name);
    [
        "ld", "ld.bfd", "ld.gold", "ld.lld", "lld", "mold", "ld.mold",
    ]
    .contains(&base)
}

/// `gcc`, `clang++-14`, `arm-none-eabi-gcc`.
fn is_compiler(name: &str) -> bool {
    let name = name
        .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
        .trim_end_matches('-');
    let base = name.rsplit('-').next().unwrap_or(name);
    ["gcc", "g++", "cc", "c++", "clang", "clang++", "gfortran"].contains(&base)
}

/// Lines without a finding that only this format has: what clang adds up, what gcc gives up with,
/// and what builds say they do, so that a build without a finding is known to be one.
fn is_own(line: &str) -> bool {
    if line == "compilation terminated." || line.starts_with("In file included from ") {
        return true;
    }
    match line.as_bytes() {
        [b'0'..=b'9', ..] => {
            line.ends_with(" generated.") && (line.contains("warning") || line.contains("error"))
        }
        [b'[', ..] => {
            let rest = line.split_once("] ").map_or("", |(_, rest)| rest);
            ["Building C", "Linking C", "Built target "]
                .iter()
                .any(|words| rest.starts_with(words))
        }
        _ if line.starts_with("make") => {
            let (who, rest) = line.split_once(": ").unwrap_or_default();
            (who == "make" || who.starts_with("make[")) && !rest.is_empty()
        }
        _ if line == "ninja: no work to do." => true,
        _ => {
            let (first, rest) = line.split_once(' ').unwrap_or_default();
            !rest.is_empty() && !first.ends_with(':') && is_compiler(base_name(first))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<Reading> {
        let mut reader = Box::<Gcc>::default();
        reader.line(Stream::Err, line);
        reader.finish()
    }

    #[test]
    fn lines() {
        for (line, want) in [
            ("a.c:1:10: fatal error: x.h: No", "Error a.c 1 10 - x.h: No"),
            (
                "a.c:6:2: warning: w [-Wint-conversion]",
                "Warning a.c 6 2 -Wint-conversion w",
            ),
            (
                "a.c:6:2: error: w [-Werror=format=]",
                "Error a.c 6 2 -Wformat= w",
            ),
            (
                "a.c:6:2: error: w [-Werror,-Wformat]",
                "Error a.c 6 2 -Wformat w",
            ),
            (
                "a.c:6: warning: w [enabled by default]",
                "Warning a.c 6 0 - w [enabled by default]",
            ),
            (
                "a.c:6:2: warning: w [bugprone-use-after-move]",
                "Warning a.c 6 2 bugprone-use-after-move w",
            ),
            ("a.c:6:2: note: n", "nothing"),
            (
                "gcc: error: unrecognized command-line option '-f'",
                "Error - 0 0 - unrecognized command-line option '-f'",
            ),
            ("cc1: fatal error: x.c: No", "Error - 0 0 - x.c: No"),
            (
                "/usr/bin/ld: a.c:(.text+0x1): undefined reference to `f'",
                "Error a.c 0 0 - undefined reference to `f'",
            ),
            (
                "/usr/bin/ld: /s/a.c:3: undefined reference to `f'",
                "Error /s/a.c 3 0 - undefined reference to `f'",
            ),
            (
                "/usr/bin/ld: /t/a.o:/s/a.c:3: multiple definition of `f'",
                "Error /s/a.c 3 0 - multiple definition of `f'",
            ),
            (
                "a.c:(.text+0x5): warning: the `gets' function is dangerous",
                "Warning a.c 0 0 - the `gets' function is dangerous",
            ),
            ("/usr/bin/ld: /t/a.o: in function `main':", "nothing"),
            ("make: *** [Makefile:3: a.o] Error 1", "nothing"),
            ("make[2]: Entering directory '/x'", "nothing"),
            ("2 warnings and 1 error generated.", "nothing"),
            ("gcc -Wall -c a.c", "nothing"),
            ("[ 50%] Building C object a.o", "nothing"),
            ("/usr/bin/ld: cannot find -lx: No such file", "problem"),
            ("collect2: error: ld returned 1 exit status", "problem"),
            (
                "clang: error: linker command failed with exit code 1",
                "problem",
            ),
            ("makes nothing", "-"),
            ("   1 | a.c:1:1: error: x", "-"),
            ("error: x", "-"),
            ("a.c:1:1: 3", "-"),
            ("", "-"),
        ] {
            let got = match read(line) {
                None => "-".to_owned(),
                Some(reading) => match (reading.findings.first(), reading.problems.first()) {
                    (Some(f), _) => format!(
                        "{:?} {} {} {} {} {}",
                        f.severity,
                        f.file.as_deref().unwrap_or("-"),
                        f.line.unwrap_or(0),
                        f.column.unwrap_or(0),
                        f.code.as_deref().unwrap_or("-"),
                        f.message
                    ),
                    (None, Some(_)) => "problem".to_owned(),
                    (None, None) => "nothing".to_owned(),
                },
            };
            assert_eq!(got, want, "{line}");
        }
    }
}
