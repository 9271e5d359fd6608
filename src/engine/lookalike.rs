//! Finds changed files whose names resemble those that a check selects, but are not selected.

use super::open::Session;
use std::sync::Arc;
use vplan_base::glob::{Glob, Item, ItemContent, Selection};
use vplan_base::lookalike::{is_plain, skeleton};
use vplan_base::path::RepoPath;
use vplan_contract::Test;
use vplan_plan::caveat::{Caveat, Code, Effect};

/// Maximum number of files that are examined: those with letters of other scripts first.
const MAX_FILES: usize = 200;
/// Maximum number of files times conditions.
const MAX_PAIRS: usize = 20_000;

/// A path that no contract names.
const NOWHERE: &[u8] = b"\x01";

impl Session {
    /// Returns the caveat about them. A file that another condition names is no matter.
    pub(super) fn lookalikes(&self) -> Option<Caveat> {
        let contract = self.contract()?;
        let files = self.request.changed.files().iter().map(|file| &file.path);
        let mut odd: Vec<&RepoPath> = files.filter(|path| !is_plain(path.as_bytes())).collect();
        if odd.is_empty() {
            return None;
        }
        let conditions = contract.conditions.iter();
        let written: Vec<&Selection> = conditions
            .filter_map(|condition| match &condition.test {
                Test::ChangedAny(s) | Test::ChangedAll(s) => Some(s),
                _ => None,
            })
            .collect();
        odd.sort_by_key(|path| path.as_bytes().is_ascii());
        odd.truncate(MAX_FILES.min(MAX_PAIRS / written.len().max(1)));
        let nowhere = RepoPath::from_exact(NOWHERE)?;
        let own: Vec<&&Selection> = written.iter().filter(|s| !s.selects(&nowhere)).collect();
        odd.retain(|path| !own.iter().any(|selection| selection.selects(path)));
        let alike: Vec<Selection> = if odd.is_empty() {
            Vec::new()
        } else {
            own.iter()
                .map(|selection| as_they_look(selection))
                .collect()
        };
        odd.retain(|path| {
            let text = std::str::from_utf8(path.as_bytes()).ok();
            let look = text.and_then(|text| RepoPath::parse(skeleton(text).as_bytes()).ok());
            look.is_some_and(|look| alike.iter().any(|selection| selection.selects(&look)))
        });
        if odd.is_empty() {
            return None;
        }
        let message = "the names of changed files look like ones that checks are for, and differ in case or in letters of the same form";
        let caveat = Caveat::new(Code::Lookalikes, Effect::Note, message);
        Some(caveat.about(odd.into_iter().cloned().collect()))
    }
}

/// Returns the selection of the skeletons of the names that a selection selects.
fn as_they_look(selection: &Selection) -> Selection {
    let glob = |glob: &Glob| Glob::parse(&skeleton(glob.text())).unwrap_or_else(|_| glob.clone());
    let items = selection.items.iter().map(|item| Item {
        not: item.not,
        what: match &item.what {
            ItemContent::Glob(own) => ItemContent::Glob(glob(own)),
            ItemContent::Paths { items, name } => ItemContent::Paths {
                items: Arc::new(as_they_look(items)),
                name: name.clone(),
            },
        },
    });
    Selection {
        items: items.collect(),
    }
}
