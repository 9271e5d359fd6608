//! Describes standard output, and decides what may be written to it.

use super::render;
use super::render::diagnostic;
use clap::ValueEnum;
use serde::Serialize;
use std::cell::Cell;
use std::io::Write;
use vplan_base::inert::{json_piece_without_commands, json_without_commands, without_commands};
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::Exit;
use vplan_engine::{Failure, Observer};
use vplan_os::terminal;
use vplan_plan::drift::Difference;
use vplan_repo::lockfile::LockFile;

/// The use of colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Standard output and error, with what is known of them.
#[derive(Debug)]
pub struct Terminal {
    /// Whether standard output takes colour.
    pub color: bool,
    /// Whether standard error takes colour.
    pub color_stderr: bool,
    /// Whether standard error is a terminal that a live view can be drawn on.
    pub live: bool,
    /// Columns to fill: the terminal's, or 100.
    pub width: usize,
    /// Columns that a line must not pass; none where there is no terminal.
    pub columns: Option<usize>,
    /// Say only what went wrong.
    pub quiet: bool,
    /// A write to standard output failed for another reason than a reader that went away.
    broken: Cell<bool>,
}

impl Terminal {
    /// Looks at the standard streams, the flags, and `NO_COLOR`, `FORCE_COLOR`, `CI`, `TERM`.
    pub fn new(color: ColorWhen, quiet: bool) -> Self {
        let seen = terminal::read();
        let wants = |is_terminal: bool| match color {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => !seen.no_color && (seen.force_color || (is_terminal && !seen.dumb)),
        };
        Self {
            color: wants(seen.stdout_is_terminal),
            color_stderr: wants(seen.stderr_is_terminal),
            live: seen.stderr_is_terminal && !seen.dumb && !seen.ci,
            width: seen.width.unwrap_or(100).clamp(40, 120),
            columns: seen.width,
            quiet,
            broken: Cell::new(false),
        }
    }

    /// Writes to standard output. A reader that went away ends the output silently; any other fault
    /// (a full disk) makes vplan fail in the end.
    pub fn print(&self, text: &str) {
        self.print_with(|out| out.write_all(text.as_bytes()));
    }

    /// Writes to standard output what `write` writes, piece by piece: a document of many megabytes
    /// need not be in memory.
    pub(crate) fn print_with(&self, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) {
        let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
        let result = write(&mut out).and_then(|()| out.flush());
        if result.is_err_and(|e| e.kind() != std::io::ErrorKind::BrokenPipe) {
            self.broken.set(true);
        }
    }

    /// Writes text for people to standard output: whatever foreign text is in it, no line is a
    /// workflow command.
    pub fn say(&self, text: &str) {
        self.print(&without_commands(text));
    }

    /// Writes a contract to standard output. What is a workflow command in a comment is disarmed.
    ///
    /// # Errors
    /// One is in a statement, whose meaning that would change.
    pub(crate) fn print_contract(&self, text: &str) -> Result<(), Failure> {
        let shown = without_commands(text);
        let mut lines = text.lines().zip(shown.lines());
        if lines.any(|(line, shown)| line != shown && !line.trim_start().starts_with('#')) {
            let message = "the contract has a workflow command in a statement, which a CI system would execute from its log";
            return Err(Failure::usage("vplan::usage::stdout", message).help(
                "write it to a file (without `--stdout`), or print it with `--format json`",
            ));
        }
        self.print(&shown);
        Ok(())
    }

    /// Writes a JSON document and a line end; nothing in it is a workflow command.
    pub(crate) fn print_json<T: Serialize>(&self, value: &T) {
        let mut text = json_without_commands(&vplan_base::canon::to_canonical(value));
        text.push('\n');
        self.print(&text);
    }

    /// Writes a document of a command, with the version of its shape.
    pub(crate) fn print_document<T: Serialize>(&self, document: &T) {
        self.print_json(&versioned(document));
    }

    /// Writes a JSON document in pieces of whole characters, and a line end; nothing in it is a
    /// workflow command.
    pub(crate) fn print_json_with(
        &self,
        write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) {
        self.print_with(|out| {
            let mut pieces = JsonPieces {
                out: &mut *out,
                pending: Vec::new(),
                signs: 0,
            };
            write(&mut pieces)?;
            pieces.flush()?;
            out.write_all(b"\n")
        });
    }

    /// Writes to standard error, which people read: no line is a workflow command. There is no
    /// place left to say that it failed.
    pub fn note(&self, text: &str) {
        self.command(&without_commands(text));
    }

    /// Writes workflow commands of vplan's own to standard error: standard output may hold a
    /// document.
    pub fn command(&self, lines: &str) {
        let _ = std::io::stderr().lock().write_all(lines.as_bytes());
    }

    /// Shows why vplan stopped.
    pub fn failure(&self, failure: &Failure) {
        let text = render::diagnostic::failure(failure, self.color_stderr, self.width);
        self.note(&text);
    }

    /// The exit code, once everything is written.
    pub fn close(&self, code: u8) -> u8 {
        if self.broken.get() && code == Exit::Success.code() {
            self.note("error: standard output could not be written\n");
            return Exit::Internal.code();
        }
        code
    }
}

/// A document of a command, whose shape has the only version there is.
#[derive(Serialize)]
struct Versioned<T> {
    #[serde(flatten)]
    document: T,
    version: u32,
}

/// Adds the version of its shape to a document of a command.
pub(crate) fn versioned<T: Serialize>(document: T) -> impl Serialize {
    let version = 1;
    Versioned { document, version }
}

impl Observer for Terminal {
    fn note(&self, text: &str) {
        if !self.quiet {
            Terminal::note(self, &format!("note: {text}\n"));
        }
    }

    fn mended(&self, path: &RepoPath, found: &LockFile) {
        let LockFile {
            sources,
            diagnostics,
            ..
        } = found;
        let (color, width) = (self.color_stderr, self.width);
        Terminal::note(
            self,
            &diagnostic::diagnostics(sources, diagnostics, color, width),
        );
        Terminal::note(self, &format!("note: the lock `{path}` is mended\n"));
    }

    fn drift(&self, differences: &[Difference]) {
        Terminal::note(self, &render::drift(differences));
    }
}

/// A writer for a JSON document that escapes workflow commands.
struct JsonPieces<'o> {
    out: &'o mut dyn Write,
    /// Whole pieces that were not filtered yet: together they cost less than one by one.
    pending: Vec<u8>,
    signs: usize,
}

/// The number of pending bytes at which they are filtered.
const ENOUGH: usize = 64 << 10;

impl Write for JsonPieces<'_> {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        self.pending.extend_from_slice(piece);
        if self.pending.len() >= ENOUGH {
            self.pass()?;
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.pass()?;
        self.out.flush()
    }
}

impl JsonPieces<'_> {
    fn pass(&mut self) -> std::io::Result<()> {
        // All of it is text. If it were not, the text around those bytes is not a command either.
        for part in self.pending.utf8_chunks() {
            let text = json_piece_without_commands(part.valid(), &mut self.signs);
            self.out.write_all(text.as_bytes())?;
            self.out.write_all(part.invalid())?;
        }
        self.pending.clear();
        Ok(())
    }
}

/// Standard output for lines of JSON, each written in one go: nothing in them is a workflow
/// command.
#[derive(Debug)]
pub(crate) struct JsonLines;

impl Write for JsonLines {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        std::io::stdout().write_all(json_without_commands(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stdout().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_piece_of_json_hides_a_command() {
        // A command across the end of a chunk, one next to invalid UTF-8, one at the end.
        let long = "a".repeat(ENOUGH - 2);
        let pieces = [
            long.as_bytes(),
            b"##",
            b"[x]",
            b"\xff",
            b"##[y]",
            b"#",
            b"#[z]",
        ];
        let mut out = Vec::new();
        let mut filter = JsonPieces {
            out: &mut out,
            pending: Vec::new(),
            signs: 0,
        };
        pieces
            .iter()
            .for_each(|piece| filter.write_all(piece).unwrap());
        filter.flush().unwrap();
        let written = String::from_utf8_lossy(out.strip_prefix(long.as_bytes()).unwrap());
        assert_eq!(written, "##\\u005bx]\u{fffd}##\\u005by]##\\u005bz]");
    }
}
