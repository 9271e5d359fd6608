//! The result of a conversion, as a document.

use schemars::JsonSchema;
use serde::Serialize;
use vplan_engine::convert::{Converted, Item};

/// The result of a conversion.
#[serde_with::skip_serializing_none]
#[derive(Serialize, JsonSchema)]
pub(crate) struct ImportDocument<'a> {
    /// The number of checks in the contract.
    pub checks: usize,
    /// The file that was read.
    pub file: &'a str,
    /// The tool whose configuration it is.
    pub from: &'static str,
    /// The parts that the contract lacks, or has otherwise.
    pub lost: Vec<Line<'a>>,
    /// The file that was written.
    pub output: Option<&'a str>,
    /// The contract, when no file was written.
    pub text: Option<&'a str>,
    /// The number of risk triggers in the contract.
    pub triggers: usize,
}

/// Something that the contract does not say, or says otherwise.
#[serde_with::skip_serializing_none]
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Lost")]
pub struct Line<'a> {
    /// From 1, in bytes.
    pub column: usize,
    /// The file that it is in, when that is another one than the file that was read.
    pub file: Option<&'a str>,
    /// The change to make by hand, where that is known.
    pub instead: Option<&'a str>,
    /// From 1.
    pub line: usize,
    /// Whether it is lost, means something else now, or has no effect on checks.
    pub weight: &'static str,
    /// The lost part.
    pub what: &'a str,
    /// The reason, in one line.
    pub why: &'a str,
}

impl<'a> ImportDocument<'a> {
    pub(super) fn of(found: &'a Converted, output: Option<&'a str>, text: Option<&'a str>) -> Self {
        let line = |lost: &'a Item| Line {
            column: lost.column,
            file: (lost.file != found.name).then_some(&*lost.file),
            instead: lost.instead.as_deref(),
            line: lost.line,
            weight: lost.weight.name(),
            what: &lost.what,
            why: &lost.why,
        };
        Self {
            checks: found.contract.checks.len(),
            file: &found.name,
            from: found.kind.name(),
            lost: found.lost.iter().map(line).collect(),
            output,
            text,
            triggers: found.contract.risks.len(),
        }
    }
}
