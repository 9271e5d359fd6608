//! Files that an option names as the place of a document: when one may be overwritten, and how a
//! stream into one failed.

use serde_json::Value;
use std::cell::RefCell;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;
use vplan_base::word::visible_path;
use vplan_engine::Failure;
use vplan_os::{files, view};
use vplan_plan::document::DocumentForm;
use vplan_run::journal::lines;

/// An option that writes a document, which recognises its own files.
#[derive(Clone, Copy, Debug)]
pub struct OutputTarget {
    /// The option, such as `--junit`.
    pub flag: &'static str,
    /// Whether it has written a file of this content.
    is_own: fn(&[u8]) -> bool,
}

/// JUnit XML.
pub const JUNIT: OutputTarget = OutputTarget::new("--junit", |text| {
    text.strip_prefix(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
        .is_some_and(|text| text.starts_with(b"<testsuites name=\"vplan "))
});

/// SARIF.
pub const SARIF: OutputTarget = OutputTarget::new("--sarif", |text| {
    let tool = |log: Value| log.pointer("/runs/0/tool/driver/name").cloned();
    serde_json::from_slice(text).ok().and_then(tool) == Some("vplan".into())
});

/// The page of a run.
pub const PAGE: OutputTarget = OutputTarget::new("--html", |text| {
    std::str::from_utf8(text).is_ok_and(|text| {
        text.starts_with("<!DOCTYPE html>") && text.contains(" \u{b7} vplan</title><style>")
    })
});

/// Makes the failure for a file that could not be written: the machine's if it has no room, or else the
/// caller's, who named it.
pub fn unwritten(path: &Path, error: &io::Error) -> Failure {
    let message = format!("`{}` cannot be written: {error}", visible_path(path));
    let full = [
        io::ErrorKind::StorageFull,
        io::ErrorKind::QuotaExceeded,
        io::ErrorKind::FileTooLarge,
    ];
    if full.contains(&error.kind()) {
        Failure::setup("vplan::usage::output", message)
    } else {
        Failure::usage("vplan::usage::output", message)
    }
}

/// A plan in JSON.
const PLAN_JSON: OutputTarget = OutputTarget::new("--output", |text| {
    has_keys(text, &["digest", "policy", "request", "steps", "version"])
});

/// A plan in KDL.
const PLAN_KDL: OutputTarget =
    OutputTarget::new("--output", |text| text.starts_with(b"// A plan of vplan: "));

/// A division of a plan.
pub const DIVISION: OutputTarget = OutputTarget::new("--output", |text| {
    has_keys(
        text,
        &["count", "digest", "planDigest", "version", "weights"],
    )
});

/// Whether a text is an object in JSON with these keys.
fn has_keys(text: &[u8], keys: &[&str]) -> bool {
    let object: Value = serde_json::from_slice(text).unwrap_or_default();
    keys.iter().all(|key| object.get(key).is_some())
}

/// A file for another system.
pub(crate) const EMITTED: OutputTarget = OutputTarget::new("--output", vplan_emit::is_emitted);

/// A manual page.
pub(crate) const MAN: OutputTarget = OutputTarget::new("--dir", |text| {
    let text = String::from_utf8_lossy(text);
    text.lines()
        .take(8)
        .any(|line| line.starts_with(".TH vplan"))
});

/// The events of a run.
pub const EVENTS: OutputTarget = OutputTarget::new("--events", |text| lines(text).next().is_some());

impl OutputTarget {
    const fn new(flag: &'static str, is_own: fn(&[u8]) -> bool) -> Self {
        Self { flag, is_own }
    }

    /// Returns the option for a plan in this form.
    pub fn plan(form: DocumentForm) -> Self {
        match form {
            DocumentForm::Json => PLAN_JSON,
            DocumentForm::Kdl => PLAN_KDL,
        }
    }

    /// Looks whether the document may be written there, before anything runs. Standard output may
    /// always be.
    ///
    /// # Errors
    /// A directory; without `force`, a file that the option has not written.
    pub fn check(self, path: &Path, force: bool, code: &'static str) -> Result<(), Failure> {
        let (name, flag) = (visible_path(path), self.flag);
        match self.may(path, force) {
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                let message = format!("`{flag}` needs a file, and `{name}` is a directory");
                Err(Failure::usage(code, message))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let message = format!("`{flag}` does not overwrite `{name}`: {error}");
                Err(Failure::usage(code, message)
                    .help("name another file, or replace this one with `--force`"))
            }
            // Other errors are reported when it is written.
            _ => Ok(()),
        }
    }

    /// Writes the document.
    ///
    /// # Errors
    /// As [`Output::check`]; what the system reports.
    pub fn write(self, path: &Path, text: &str, force: bool) -> io::Result<()> {
        self.may(path, force)?;
        files::publish(&view::outside(path), text.as_bytes())
    }

    fn may(self, path: &Path, force: bool) -> io::Result<()> {
        let place = view::outside(path);
        if path == Path::new("-") || force && !place.is_dir() {
            return Ok(());
        }
        files::may_publish(&place, self.is_own)
    }
}

/// A stream into a file that stores its first error. A closed pipe is not an error.
#[derive(Debug)]
pub struct OutputStream<W> {
    into: W,
    fault: WriteFault,
}

/// The error of a stream, if it failed.
pub(crate) type WriteFault = Rc<RefCell<Option<io::Error>>>;

impl<W: Write> OutputStream<W> {
    /// Makes a stream.
    pub fn new(into: W, fault: &WriteFault) -> Self {
        let fault = Rc::clone(fault);
        Self { into, fault }
    }

    fn heed<T>(&self, done: io::Result<T>) -> io::Result<T> {
        done.inspect_err(|error| {
            if error.kind() != io::ErrorKind::BrokenPipe {
                let copy = io::Error::new(error.kind(), error.to_string());
                self.fault.borrow_mut().get_or_insert(copy);
            }
        })
    }
}

impl<W: Write> Write for OutputStream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.into.write(bytes);
        self.heed(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.into.flush();
        self.heed(done)
    }
}
