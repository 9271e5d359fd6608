//! Formats that a contract can be written in, one file each: source to draft.

#![forbid(unsafe_code)]

mod acode_yaml;
pub mod convert;
mod each;
pub mod picomatch;
pub mod print;
mod ralph_tui;
mod runr_json;
pub mod std;
pub mod tree;
pub mod verify_contract_json;
pub mod vplan;
mod vplan_change;
mod vplan_format;
mod vplan_machine;
mod vplan_service;
pub mod vplan_test;
mod vplan_value;
pub mod workspace;

use vplan_base::diagnostic::Diagnostics;
use vplan_base::folders::FolderAnswers;
use vplan_base::path::RepoPath;
use vplan_base::source::Sources;
use vplan_base::span::SourceId;
use vplan_contract::draft::{Draft, Rows};
use vplan_lang::parse::ParserCaps;

/// Lowers the file to a draft; the format follows from the file's name (`.json`, otherwise the
/// language of its own). The draft is as complete as the text allows, also when the sink received
/// errors.
pub fn lower(sources: &Sources, id: SourceId, sink: &mut Diagnostics) -> Draft {
    lower_within(sources, id, ParserCaps::default().file_bytes, sink)
}

/// Lowers as [`lower`] does, with a limit on a file's size, in bytes, that an operator sets
/// (`--max-file`).
pub fn lower_within(
    sources: &Sources,
    id: SourceId,
    file_bytes: usize,
    sink: &mut Diagnostics,
) -> Draft {
    if sources[id].name().ends_with(".json") {
        verify_contract_json::lower(sources, id, sink)
    } else {
        vplan::lower(sources, id, &ParserCaps::of_bytes(file_bytes), sink)
    }
}

/// Lowers a file of any size for a directory, with what is known of its folders and the rows that it
/// has made before.
pub fn lower_for(
    sources: &Sources,
    id: SourceId,
    dir: &RepoPath,
    folders: &FolderAnswers,
    rows: Rows,
    sink: &mut Diagnostics,
) -> Draft {
    if sources[id].name().ends_with(".json") {
        return verify_contract_json::lower(sources, id, sink);
    }
    let caps = ParserCaps::of_bytes(usize::MAX);
    let whereabouts = vplan::Whereabouts {
        dir: dir.clone(),
        folders,
        rows,
    };
    vplan::lower_where(sources, id, &caps, &whereabouts, sink)
}
