//! Which formats can a contract be written in? One file each: source to draft.

pub mod verify_contract_json;
pub mod vplan;
mod vplan_value;

use crate::base::diagnostic::Diagnostics;
use crate::base::source::Sources;
use crate::base::span::SourceId;
use crate::contract::draft::Draft;

/// Lowers the file to a draft; the format is told by the file's name (`.json`, otherwise the language of its own).
/// The draft is as complete as the text allows, also when the sink received errors.
pub fn lower(sources: &Sources, id: SourceId, sink: &mut Diagnostics) -> Draft {
    let json = sources.get(id).is_some_and(|s| s.name().ends_with(".json"));
    if json { verify_contract_json::lower(sources, id, sink) } else { vplan::lower(sources, id, sink) }
}
