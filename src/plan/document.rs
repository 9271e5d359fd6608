//! In which forms is a plan written and read?

use super::Plan;
use super::digest::{digest, write_to};
use super::error::{DOCUMENT, PlanError};
use super::order::check_order;

/// The version of plan documents that this program writes and reads.
pub const VERSION: u32 = 1;

/// The plan as one JSON document on one line, with its annotations and its digest, without a final newline.
#[must_use]
pub fn to_json(plan: &Plan) -> String {
    serde_json::to_string(plan).unwrap_or_default()
}

/// Writes what [`to_json`] gives, without holding it in memory.
///
/// # Errors
/// What the writer reports.
pub fn write_json(plan: &Plan, writer: impl std::io::Write) -> std::io::Result<()> {
    serde_json::to_writer(writer, plan).map_err(std::io::Error::from)
}

/// The same, indented for people.
#[must_use]
pub fn to_json_pretty(plan: &Plan) -> String {
    serde_json::to_string_pretty(plan).unwrap_or_default()
}

/// Writes what [`canonical`] gives, without holding it in memory.
///
/// # Errors
/// What the writer reports.
pub fn write_canonical(plan: &Plan, writer: impl std::io::Write) -> std::io::Result<()> {
    write_to(plan, writer)
}

/// The form that the digest is taken of: RFC 8785, without annotations, without a final newline.
#[must_use]
pub fn canonical(plan: &Plan) -> String {
    let mut bytes = Vec::new();
    // Writing to memory cannot fail.
    let _ = write_to(plan, &mut bytes);
    String::from_utf8(bytes).unwrap_or_default()
}

/// Reads what [`to_json`] or [`to_json_pretty`] wrote.
///
/// # Errors
/// What is no plan, has another version, another digest than it says, or steps that are out of order.
pub fn from_json(text: &str) -> Result<Plan, PlanError> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u32,
    }
    let fail = |message: String, help: Option<&str>| Err(PlanError::new(DOCUMENT, message, help.map(str::to_owned)));
    match serde_json::from_str::<Versioned>(text) {
        Ok(Versioned { version: VERSION }) => {}
        Ok(Versioned { version }) => {
            return fail(format!("this plan has version {version}, known is {VERSION}"), None);
        }
        Err(error) => return fail(format!("this is no plan: {error}"), None),
    }
    let plan: Plan = match serde_json::from_str(text) {
        Ok(plan) => plan,
        Err(error) => return fail(format!("this is no plan: {error}"), None),
    };
    let actual = digest(&plan);
    match &plan.digest {
        Some(said) if *said == actual => {}
        Some(said) => {
            let help = "it was changed after it was made; make it again from its contract and request";
            return fail(format!("the plan says its digest is {said}, but it is {actual}"), Some(help));
        }
        None => return fail("the plan has no digest".to_owned(), None),
    }
    match check_order(&plan) {
        Ok(()) => Ok(plan),
        Err(message) => fail(message, None),
    }
}
