//! Writes plans as JSON or KDL, and reads them back.

use super::Plan;
pub use super::canonical::VERSION;
use super::digest::write_to;
use super::error::{CONFLICT, DOCUMENT, DocumentError, PlanError, SYNTAX};
use super::kdl::text::conflicts;
use super::kdl::{from_kdl, to_kdl};
use super::validity::{Once, checked, is_known, other_version};
use vplan_base::span::Span;
use vplan_base::word::visible;

/// Returns the plan as one JSON document on one line, with its annotations and its digest, without
/// a final newline.
pub fn to_json(plan: &Plan) -> String {
    serde_json::to_string(plan).unwrap_or_default()
}

/// Writes the text of [`to_json`] to a stream.
///
/// # Errors
/// Errors of the writer.
pub fn write_json(plan: &Plan, writer: impl std::io::Write) -> std::io::Result<()> {
    serde_json::to_writer(writer, plan).map_err(std::io::Error::from)
}

/// Returns the text of [`to_json`], indented for people.
pub fn to_json_pretty(plan: &Plan) -> String {
    serde_json::to_string_pretty(plan).unwrap_or_default()
}

/// Writes the text of [`canonical`] to a stream.
///
/// # Errors
/// Errors of the writer.
pub fn write_canonical(plan: &Plan, writer: impl std::io::Write) -> std::io::Result<()> {
    write_to(plan, writer)
}

/// Returns the form that the digest is computed from: RFC 8785, without annotations, without a
/// final newline.
pub fn canonical(plan: &Plan) -> String {
    let mut bytes = Vec::new();
    // Writing to memory cannot fail.
    let _ = write_to(plan, &mut bytes);
    String::from_utf8(bytes).unwrap_or_default()
}

/// The format of a plan file, given by its ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentForm {
    /// `.json`
    Json,
    /// `.kdl`
    Kdl,
}

impl DocumentForm {
    /// Returns the format by the file name's ending.
    pub fn of_name(name: &[u8]) -> Option<Self> {
        match name {
            [.., _, b'.', b'j', b's', b'o', b'n'] => Some(DocumentForm::Json),
            [.., _, b'.', b'k', b'd', b'l'] => Some(DocumentForm::Kdl),
            _ => None,
        }
    }

    /// Returns the text of the whole file.
    pub fn write(self, plan: &Plan) -> String {
        match self {
            DocumentForm::Json => to_json_pretty(plan) + "\n",
            DocumentForm::Kdl => to_kdl(plan),
        }
    }

    /// Reads a plan file. The text must have its byte-order mark and CR LF taken away, as
    /// `base::source` does.
    ///
    /// # Errors
    /// The text is not a plan, has another version, was changed after it was made, or must not run.
    pub fn read(self, text: &str) -> Result<Plan, DocumentError> {
        match self {
            DocumentForm::Json => read_json(text),
            DocumentForm::Kdl => from_kdl(text),
        }
    }
}

/// Reads a plan that [`to_json`] or [`to_json_pretty`] wrote.
///
/// # Errors
/// The text is not a plan, or has another version, another digest than it contains, or steps that
/// no contract gives.
pub fn from_json(text: &str) -> Result<Plan, PlanError> {
    read_json(text).map_err(|e| e.error)
}

fn read_json(text: &str) -> Result<Plan, DocumentError> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: serde_json::Number,
    }
    let fault = |error: &serde_json::Error| {
        let code = if error.is_data() { DOCUMENT } else { SYNTAX };
        let message = format!("this is no plan: {}", visible(words(error).as_bytes()));
        PlanError::new(code, message, None).at(place(text, error))
    };
    if let Err(found) = conflicts(text) {
        let help = Some("settle the conflict, or make the plan again".to_owned());
        return Err(PlanError::new(CONFLICT, found.message, help).at(found.span));
    }
    match serde_json::from_str::<Versioned>(text) {
        Ok(Versioned { version }) if version.as_u64().is_some_and(is_known) => {}
        Ok(Versioned { version }) => return Err(other_version(&version.to_string()).into()),
        Err(error) => return Err(fault(&error)),
    }
    // A name that occurs twice would show one value to a reader and another one to vplan.
    serde_json::from_str::<Once>(text).map_err(|e| fault(&e))?;
    let plan: Plan = serde_json::from_str(text).map_err(|e| fault(&e))?;
    checked(&plan).map_err(PlanError::from)?;
    Ok(plan)
}

/// Returns the message of serde_json without the place, which is printed separately.
fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let said = text.split(" at line ").next().unwrap_or_default();
    // serde_json names the Rust type that it wanted to fill; people know it as an object.
    match said.split_once("expected struct ") {
        Some((before, _)) => format!("{before}expected an object"),
        None => said.to_owned(),
    }
}

/// Returns the character at which reading stopped.
fn place(text: &str, error: &serde_json::Error) -> Span {
    let line = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum::<usize>();
    let mut at = (line + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let end = text
        .get(at..)
        .and_then(|rest| rest.chars().next())
        .map_or(at, |c| at + c.len_utf8());
    Span::new(at, end)
}
