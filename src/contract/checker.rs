//! Holds a draft under examination: what all parts of the validation read and write.

use super::CheckIndex;
use super::caps::Caps;
use super::draft::{At, Draft, PathsIndex};
use super::resolve::Names;
use super::service::Services;
use crate::base::diagnostic::Diagnostics;
use crate::base::glob::Selection;
use crate::base::index::Dense;
use crate::base::source::Sources;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A draft under examination. Its methods live in the files beside this one, each of which says
/// what it decides.
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
    pub(super) sink: &'d mut Diagnostics,
}

/// The `paths` definitions, resolved; `None` for those with an error.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    pub(super) selections: Dense<PathsIndex, Option<Arc<Selection>>>,
    pub(super) used: BTreeSet<PathsIndex>,
}

/// A check, with the place that names it.
pub(super) type Reference = At<CheckIndex>;
