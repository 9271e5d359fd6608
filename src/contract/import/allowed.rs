//! Restricts files of other repositories to what the importing file allows: only the operator of
//! a check may widen its confinement, not the authors of imported files.

use super::error::IMPORT_NOT_ALLOWED;
use super::file::{File, FileIndex, Use};
use crate::InclusionIndex;
use crate::draft::{Allowance, Allowed, At, Draft, Setting, VerbDefaults, Written};
use std::collections::BTreeSet;
use vplan_base::diagnostic::{Diagnostic, Diagnostics};
use vplan_base::index::Dense;
use vplan_base::setting::Row;
use vplan_base::span::Place;
use vplan_base::word::visible;
use vplan_check::confine::is_toolchain;

/// Returns what a setting widens that an importing file has to allow.
fn widened(setting: &Setting) -> Option<Allowance> {
    match (setting.row, &setting.value) {
        (Row::Reads, Written::Texts(paths)) => {
            let is_free = paths.iter().all(|path| is_toolchain(&path.value));
            (!is_free).then_some(Allowance::Reads)
        }
        (Row::Network, Written::Text(word)) => (word == "on").then_some(Allowance::Network),
        (Row::Sandbox, Written::Text(word)) => (word == "none").then_some(Allowance::Sandbox),
        _ => None,
    }
}

/// Reports settings of files of other repositories that are not allowed, once the blocks of all
/// imports are applied: what one of them replaces or takes out is no more.
pub(super) fn report(
    draft: &Draft,
    uses: &Dense<InclusionIndex, Use>,
    files: &Dense<FileIndex, File>,
    sink: &mut Diagnostics,
) {
    let foreign = Foreign { uses, files };
    let of_checks = draft.checks().flat_map(|check| {
        let origin = |setting: &At<Setting>| foreign.origin(check.inclusion, setting.place);
        (check.settings.iter()).filter_map(move |setting| Some((origin(setting)?, setting)))
    });
    let is_foreign = |of: &InclusionIndex| foreign.file(*of).is_foreign;
    let foreign_uses = uses.numbered().map(|(of, _)| of).filter(is_foreign);
    let of_defaults = foreign_uses.flat_map(|of| {
        let draft = &foreign.file(of).draft;
        let of_verbs = draft.verb_defaults.iter();
        let of_verbs = of_verbs.flat_map(|block: &VerbDefaults| &block.settings);
        (draft.defaults.iter().chain(of_verbs)).map(move |setting| (of, setting))
    });
    // A file that is used twice has its settings twice.
    let mut told = BTreeSet::new();
    for (of, setting) in of_checks.chain(of_defaults) {
        if let Some(refusal) = foreign.refusal(of, setting)
            && told.insert(setting.place)
        {
            sink.push(refusal);
        }
    }
}

/// Returns what the files of this repository allow those of others, by import.
pub(super) fn allowed(
    uses: &Dense<InclusionIndex, Use>,
    files: &Dense<FileIndex, File>,
) -> Vec<Allowed> {
    let is_ours = |index: InclusionIndex| !files[uses[index].file].is_foreign;
    let uses = uses.iter().skip(1).filter(|used| is_ours(used.importer));
    uses.filter(|used| files[used.file].is_foreign && !used.changes.allowed.is_empty())
        .map(|used| {
            let name = &files[used.file].name;
            // Which commit it is of is none of the question.
            let name = name.split_once('?').map_or(name.as_str(), |(url, _)| url);
            let place = used.chain.last().copied().unwrap_or_default();
            let words = used.changes.allowed.iter().map(|word| word.value);
            Allowed {
                import: At::new(name.to_owned(), place),
                namespace: used.scope.namespace.clone(),
                words: words.collect(),
            }
        })
        .collect()
}

/// The uses of files, including files of other repositories.
struct Foreign<'f> {
    uses: &'f Dense<InclusionIndex, Use>,
    files: &'f Dense<FileIndex, File>,
}

impl Foreign<'_> {
    fn file(&self, of: InclusionIndex) -> &File {
        &self.files[self.uses[of].file]
    }

    /// Returns the use of a file of another repository in which a place of a check is, if it is in
    /// one: the file that brings the check, or one that imports it and changes it.
    fn origin(&self, check: InclusionIndex, place: Place) -> Option<InclusionIndex> {
        let mut of = check;
        while of != InclusionIndex::CONTRACT {
            let file = self.file(of);
            if file.source == place.source {
                return file.is_foreign.then_some(of);
            }
            of = self.uses[of].importer;
        }
        None
    }

    /// Returns the use by which a file of another repository came into those of this one.
    fn entrance(&self, of: InclusionIndex) -> InclusionIndex {
        let mut of = of;
        while self.file(self.uses[of].importer).is_foreign {
            of = self.uses[of].importer;
        }
        of
    }

    /// Reports a setting in a use of a file of another repository, if it needs to be allowed and is
    /// not.
    fn refusal(&self, of: InclusionIndex, setting: &At<Setting>) -> Option<Diagnostic> {
        let widened = widened(&setting.value)?;
        let entrance = &self.uses[self.entrance(of)];
        let allowed: BTreeSet<_> = (entrance.changes.allowed.iter())
            .map(|word| word.value)
            .collect();
        if allowed.contains(&widened) {
            return None;
        }
        let word = widened.name();
        let name = visible(&self.file(of).name);
        let message = format!(
            "`{name}` widens what its checks may do, and the importing file does not allow it"
        );
        let error = Diagnostic::error(IMPORT_NOT_ALLOWED, message);
        let error = error.label(setting.place, widened.label());
        let error = match entrance.chain.last() {
            Some(import) => error.label(*import, format!("imported here without `allow {word}`")),
            None => error,
        };
        Some(error.help(format!(
            "write `allow {word}` in the block of the import, or change the check there with `override`"
        )))
    }
}
