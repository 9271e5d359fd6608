//! Placeholder of the front end.

use crate::base::diagnostic::Diagnostics;
use crate::base::source::Sources;
use crate::base::span::SourceId;
use crate::contract::draft::Draft;

/// Lowers.
pub fn lower(_sources: &Sources, _id: SourceId, _sink: &mut Diagnostics) -> Draft {
    Draft::default()
}
