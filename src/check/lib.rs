//! The kinds of checks, and when one passes. `decide` turns the evidence of a try into its end, for
//! all kinds; `file` and `judge` have what only these kinds need, `output`, `reading` and
//! `agreement` what those need whose output is read, `baseline` what of it was known before; `tool` and `commands` which tools a command
//! starts.

#![forbid(unsafe_code)]

pub mod agreement;
pub mod baseline;
pub mod commands;
pub mod confine;
pub mod decide;
pub mod definition;
pub mod difference;
pub mod environment;
pub mod evidence;
pub mod file;
pub mod judge;
pub mod observed;
pub mod outcome;
pub mod output;
pub mod pattern;
pub mod request;
pub mod results;
pub mod tool;
pub mod verb;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::vocabulary::{Open, ReportKind};

vplan_base::vocabulary! {
    /// The verb of a check.
    #[derive(Default)]
    Kind {
        /// Passes when the command exits with an accepted code.
        #[default]
        Run = "run",
        /// Likewise; its output counts errors and warnings.
        Compile = "compile",
        /// Likewise; its output or report counts tests.
        Test = "test",
        /// Likewise; its output counts issues.
        Lint = "lint",
        /// Passes when `sh -c` exits with an accepted code.
        Shell = "shell",
        /// Passes when every assertion about a path holds.
        File = "file",
        /// Passes when an external program says so.
        Judge = "judge",
    }
}

impl Kind {
    /// The verb in the language.
    pub const fn verb(self) -> &'static str {
        self.name()
    }

    /// The time limit of a try when the contract gives none, in milliseconds.
    pub fn default_timeout_ms(self) -> u64 {
        match self {
            Kind::Test => 120_000,
            Kind::Judge => 30_000,
            Kind::Run | Kind::Compile | Kind::Lint | Kind::Shell | Kind::File => 60_000,
        }
    }
}

vplan_base::vocabulary! {
    /// Whether a failure fails the plan.
    #[derive(Default)]
    Severity {
        /// It does.
        #[default]
        Blocking = "blocking",
        /// It is shown, stops nothing, and satisfies no `needs`.
        Warning = "warning",
    }
}

/// A report file that a command writes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ReportFile")]
pub struct Report {
    /// `junit`, `trx`, `tap` or `sarif`.
    pub format: Open<ReportKind>,
    /// The files.
    pub glob: vplan_base::glob::Glob,
}
