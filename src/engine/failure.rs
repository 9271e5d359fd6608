//! The failures of the engine: exit code, stable code, message, and help.

use vplan_base::diagnostic::{Diagnostic, Severity};
use vplan_base::source::Sources;
use vplan_base::vocabulary::Exit;
use vplan_base::word::count;
use vplan_contract::Contract;
use vplan_git::error::GitError;
use vplan_repo::changes::error::ChangeError;
use vplan_repo::load::{LoadError, Loaded};
use vplan_store::history::HistoryError;

/// A reason to stop, with its exit code. A failed check is an outcome, not a failure.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// A stable code such as `vplan::usage::empty_change_set`.
    pub code: String,
    /// One line, lower case, no full stop.
    pub message: String,
    /// The next step for the user.
    pub help: Option<String>,
    /// Diagnostics about the contract, printed before the error.
    pub diagnostics: Option<Box<(Sources, Vec<Diagnostic>)>>,
}

impl Failure {
    /// Makes a failure.
    pub fn new(exit: Exit, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            exit,
            code: code.into(),
            message: message.into(),
            help: None,
            diagnostics: None,
        }
    }

    /// Makes a usage error: exit 2.
    pub fn usage(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, code, message)
    }

    /// Makes the failure of this machine or its setup: exit 5.
    pub fn setup(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Exit::Setup, code, message)
    }

    /// Makes the failure of a contract: exit 3.
    pub fn contract(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Exit::Contract, code, message)
    }

    /// Makes the failure for a difference from what was pinned, planned or recorded: exit 4.
    pub fn drift(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Exit::Drift, code, message)
    }

    /// Makes the usage error of a file that cannot be read, by the name that is shown.
    pub fn unreadable(name: &str, why: impl std::fmt::Display) -> Self {
        let message = format!("`{name}` cannot be read: {why}");
        Self::usage("vplan::usage::unreadable", message)
    }

    /// Makes the failure of vplan itself: exit 1, never a pass. For invalid results of its own;
    /// contradictions inside the program end in [`bug`](vplan_base::index::bug).
    pub fn internal(what: impl std::fmt::Display) -> Self {
        let message = format!("a bug in vplan, please report it: {what}");
        Self::new(Exit::Internal, "vplan::internal", message)
    }

    /// Sets the help text.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Adds diagnostics, which are printed before it.
    pub fn diagnosed(self, sources: Sources, list: Vec<Diagnostic>) -> Self {
        Self {
            diagnostics: Some(Box::new((sources, list))),
            ..self
        }
    }

    /// Sets the help text, if there is one.
    pub fn helped(self, help: Option<impl Into<String>>) -> Self {
        Self {
            help: help.map(Into::into).or(self.help),
            ..self
        }
    }
}

impl From<vplan_plan::error::PlanError> for Failure {
    fn from(error: vplan_plan::error::PlanError) -> Self {
        Self {
            help: error.help,
            ..Self::usage(error.code, error.message)
        }
    }
}

/// An error of git is one of usage, or of the machine: exit 2 or 5.
impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        let exit = match error.is_of_machine() {
            true => Exit::Setup,
            false => Exit::Usage,
        };
        Self::new(exit, error.code(), error.to_string()).helped(error.help())
    }
}

/// Unknown changes are an error of usage, a missing commit of a saved plan is drift.
impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Self {
        let exit = match error {
            ChangeError::Git(error) => return error.into(),
            ChangeError::NotFetched { .. } => Exit::Drift,
            _ => Exit::Usage,
        };
        Self::new(exit, error.code(), error.to_string()).helped(error.help())
    }
}

/// Records that cannot be read.
impl From<HistoryError> for Failure {
    fn from(error: HistoryError) -> Self {
        Self::setup("vplan::records::unreadable", error.to_string())
            .help("`--records DIR` looks in another place")
    }
}

/// Takes the contract out of what was loaded, if it has no errors.
pub fn valid(mut loaded: Loaded) -> Result<(Contract, Loaded), Failure> {
    match loaded.contract.take() {
        Some(contract) => Ok((contract, loaded)),
        None => Err(invalid(loaded)),
    }
}

/// Makes the failure of a contract with errors: exit 3, or 4 when only pinned imports cannot be
/// read.
pub fn invalid(loaded: Loaded) -> Failure {
    let list = loaded.diagnostics.sorted();
    let path = &loaded.path;
    let failure = if loaded.drift {
        let message =
            format!("the contract `{path}` imports what its lock and the cache do not give");
        Failure::drift("vplan::contract::drift", message)
    } else {
        let errors = list
            .iter()
            .filter(|d| d.severity == Severity::Error)
            .count();
        let message = format!("the contract `{path}` has {}", count(errors, "error"));
        Failure::contract("vplan::contract::invalid", message)
    };
    failure.diagnosed(loaded.sources, list)
}

/// A contract that is missing or cannot be read.
impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        let exit = match &error {
            LoadError::Unreadable { path, message } => {
                let (path, message) = (path.to_string(), message.clone());
                match (GitError::File { path, message }).is_of_machine() {
                    true => Exit::Setup,
                    false => Exit::Contract,
                }
            }
            LoadError::Git(error) => return error.clone().into(),
            LoadError::Directory { .. } | LoadError::Outside(_) => Exit::Usage,
            _ => Exit::Contract,
        };
        Self::new(exit, error.code(), error.to_string()).helped(error.help())
    }
}
