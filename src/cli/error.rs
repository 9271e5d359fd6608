//! The errors of commands: why vplan cannot do what was requested.

use crate::base::diagnostic::Diagnostic;
use crate::base::source::Sources;
use crate::base::vocabulary::Exit;

/// A reason to stop, with its exit code. A failed check is none: that is an outcome.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: u8,
    /// A stable code such as `vplan::usage::empty_change_set`.
    pub code: String,
    /// One line, lower case, no full stop.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
    /// Diagnostics about the contract, printed before the error.
    pub diagnostics: Option<Box<(Sources, Vec<Diagnostic>)>>,
}

impl Failure {
    /// Makes one.
    #[must_use]
    pub fn new(exit: u8, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            exit,
            code: code.into(),
            message: message.into(),
            help: None,
            diagnostics: None,
        }
    }

    /// A usage error: exit 2.
    #[must_use]
    pub fn usage(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Exit::Usage.code(), code, message)
    }

    /// Says the way out.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// The way out, where one is known.
    #[must_use]
    pub fn helped(self, help: Option<impl Into<String>>) -> Self {
        Self {
            help: help.map(Into::into).or(self.help),
            ..self
        }
    }
}

impl From<crate::plan::error::PlanError> for Failure {
    fn from(error: crate::plan::error::PlanError) -> Self {
        Self {
            help: error.help,
            ..Self::usage(error.code, error.message)
        }
    }
}
