//! Holds a draft under examination: what all parts of the validation read and write.

use super::caps::Caps;
use super::draft::{At, Draft, PathsIndex};
use super::resolve::Names;
use super::uses::Uses;
use super::{CheckIndex, InclusionIndex};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vplan_base::diagnostic::{Diagnostic, Diagnostics};
use vplan_base::glob::Selection;
use vplan_base::index::Dense;
use vplan_base::service::Service;
use vplan_base::source::Sources;
use vplan_base::span::Place;
use vplan_base::workspace::WorkspaceQuery;
use vplan_check::definition::FormatDefinition;

/// A draft during validation. Its methods are in the other files of this directory; each file
/// says what it decides.
pub(super) struct Checker<'d> {
    pub(super) draft: &'d Draft,
    pub(super) sources: &'d Sources,
    pub(super) caps: Caps,
    /// Whether the front end had to leave parts out.
    pub(super) incomplete: bool,
    pub(super) names: Names<'d>,
    /// The checks' names, or the ids derived from their words.
    pub(super) ids: Dense<CheckIndex, String>,
    pub(super) paths: Resolved,
    pub(super) services: Services,
    /// The formats that the contract defines, by name.
    pub(super) formats: BTreeMap<String, KnownFormat>,
    /// The machines that the contract defines, by name.
    pub(super) machines: BTreeMap<String, KnownMachine>,
    pub(super) sink: &'d mut Diagnostics,
}

impl Checker<'_> {
    pub(super) fn report(&mut self, message: Diagnostic) {
        self.sink.push(message);
    }
}

/// The `paths` definitions, resolved; `None` for those with an error.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    pub(super) selections: Dense<PathsIndex, Option<Arc<Selection>>>,
    pub(super) used: BTreeSet<PathsIndex>,
    /// What the packages of a workspace use.
    pub(super) workspaces: BTreeMap<WorkspaceQuery, Uses>,
}

/// The services of a contract, by name.
#[derive(Debug, Default)]
pub(super) struct Services {
    pub(super) all: BTreeMap<String, DefinedService>,
    pub(super) used: BTreeSet<String>,
}

/// A definition of a service.
#[derive(Debug)]
pub(super) struct DefinedService {
    /// It; `None` after an error.
    pub(super) service: Option<Service>,
    /// The checks that prepare it.
    pub(super) needs: Vec<Reference>,
    pub(super) place: Place,
    pub(super) inclusion: InclusionIndex,
}

/// A format that the contract defines.
#[derive(Debug)]
pub(super) struct KnownFormat {
    /// Where its name is.
    pub(super) place: Place,
    /// What it says; `None` for one with an error.
    pub(super) definition: Option<Arc<FormatDefinition>>,
    /// Whether something names it.
    pub(super) is_used: bool,
}

/// A machine that the contract defines.
#[derive(Debug)]
pub(super) struct KnownMachine {
    /// Where its name is.
    pub(super) place: Place,
    /// The values of its properties, by name.
    pub(super) properties: BTreeMap<String, String>,
    /// Whether something names it.
    pub(super) is_used: bool,
}

/// A check, with the place that names it.
pub(super) type Reference = At<CheckIndex>;
