//! Finds globs that name a folder. A glob selects files, so one that names only the folder selects
//! nothing: a condition never holds, and a cached pass has no inputs.

use crate::load::Site;
use std::cell::LazyCell;
use std::collections::BTreeSet;
use vplan_base::change::ChangeSet;
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics};
use vplan_base::glob::{Glob, Item, ItemContent, Selection};
use vplan_base::path::RepoPath;
use vplan_base::setting::{Row, Takes, Value};
use vplan_base::source::Sources;
use vplan_base::span::{Place, SourceId, Span};
use vplan_base::word::visible;
use vplan_base::workspace::is_dependents;
use vplan_contract::draft::{Condition, Draft, Policy, Sel, SelKind, Written};
use vplan_contract::{Contract, Sought, Test};
use vplan_front as front;
use vplan_git::error::GitError;

/// A glob that names a folder.
pub const FOLDER_GLOB: Code = Code("vplan::repository::folder_glob");

/// A glob of a contract, and the place of its use.
#[derive(Clone)]
pub(super) struct UsedGlob<'c> {
    pub(super) glob: &'c Glob,
    /// Whether it selects files that git ignores, too.
    ignored: bool,
    source: SourceId,
    /// From 1.
    line: usize,
}

/// Reports an error for each glob that names a folder of the repository, or one in which files
/// changed. Returns the texts of these globs. Git is only called when a glob names a directory.
///
/// # Errors
/// Errors of git.
pub fn find(
    site: &Site,
    contract: &Contract,
    sources: &Sources,
    changed: &ChangeSet,
    sink: &mut Diagnostics,
) -> Result<BTreeSet<String>, GitError> {
    let mut present: Option<Vec<RepoPath>> = None;
    let mut found = Vec::new();
    for used in used(contract) {
        for (path, _) in used.glob.anchors().into_iter().filter(|(_, whole)| *whole) {
            let is_file = changed.contains(&path);
            let within = changed.below(&path).next().is_some();
            let is_folder = site
                .root
                .join(path.to_os())
                .symlink_metadata()
                .is_ok_and(|found| found.is_dir());
            if is_file || path.is_root() || !(within || is_folder) {
                continue;
            }
            // A repository inside this one is a single path.
            let known = match (&site.git, &mut present) {
                (Ok(_), Some(known)) => known,
                (Ok(git), none) => none.insert(git.present()?),
                (Err(_), _) => &mut Vec::new(),
            };
            let begin = [path.as_bytes(), b"/"].concat();
            let first = known.partition_point(|file| file.as_bytes() < begin.as_slice());
            let holds = known.get(first).is_some_and(|f| f.below(&path).is_some());
            let counts = site.git.is_err() || within || holds || used.ignored;
            if counts && known.binary_search(&path).is_err() {
                found.push((used, path));
                break;
            }
        }
    }
    let mut texts = BTreeSet::new();
    for (used, path) in found {
        let text = used.glob.text();
        if !texts.insert(text.to_owned()) {
            continue;
        }
        let shown = visible(path.as_bytes());
        let message = format!("`{shown}` is a folder, and a glob selects files");
        for (place, not) in label_places(sources, &used) {
            let not = if not { "!" } else { "" };
            let written = if text.contains(['{', '\\']) {
                format!("end it with `/` for all that is in `{shown}`")
            } else {
                format!("write `\"{not}{}/\"` for all that is in it", visible(text))
            };
            sink.push(
                Diagnostic::error(FOLDER_GLOB, message.clone())
                    .label(place, "selects nothing")
                    .help(written),
            );
        }
    }
    Ok(texts)
}

/// Reads the contract's own text again, without its mistakes.
pub(super) fn draft(sources: &Sources) -> Draft {
    let mut sink = Diagnostics::default();
    front::lower_within(sources, SourceId::default(), usize::MAX, &mut sink)
}

/// Returns the places of a glob in the text, and whether it excludes there. If it is not written in
/// the contract itself, returns the line that uses it.
pub(super) fn label_places(sources: &Sources, used: &UsedGlob<'_>) -> Vec<(Place, bool)> {
    let draft = draft(sources);
    let written = sels(&draft);
    let places = written.iter().filter_map(|(sel, _)| match &sel.what.value {
        SelKind::Glob(glob) if glob == used.glob.text() => Some((sel.what.place, sel.not)),
        _ => None,
    });
    let places: Vec<(Place, bool)> = places.collect();
    if used.source != SourceId::default() || places.is_empty() {
        return vec![(line(sources, used.source, used.line), false)];
    }
    places
}

/// Returns the whole of a line.
fn line(sources: &Sources, source: SourceId, line: usize) -> Place {
    let text = sources.get(source).map_or("", |source| source.text());
    let mut start = 0;
    for (number, content) in text.split('\n').enumerate() {
        if number + 1 == line {
            let indent = content.len() - content.trim_start().len();
            let end = start + content.trim_end().len();
            return Place::new(source, Span::new((start + indent).min(end), end));
        }
        start += content.len() + 1;
    }
    Place::new(source, Span::new(0, 0))
}

/// Returns the globs that select files of the repository.
pub(super) fn used(contract: &Contract) -> Vec<UsedGlob<'_>> {
    let mut all = Vec::new();
    for condition in &contract.conditions {
        let (source, line) = (condition.place.source, condition.line);
        match &condition.test {
            // An exclusion without effect makes these hold for more changes, not for fewer.
            Test::ChangedAny(selection)
            | Test::ChangedAll(selection)
            | Test::ChangedOnly(selection) => {
                let mut found = Vec::new();
                add(&mut found, selection, false, source, line);
                let excluded = LazyCell::new(|| excluded(selection));
                all.extend(
                    found
                        .into_iter()
                        .filter(|used| !excluded.contains(&used.glob)),
                );
            }
            Test::ChangedNone(selection) => add(&mut all, selection, false, source, line),
            Test::Exists(sought) | Test::ExistsAny(sought) | Test::Absent(sought) => {
                all.extend(sought.iter().filter_map(|sought| match sought {
                    Sought::Glob(glob) => Some(UsedGlob {
                        glob,
                        ignored: true,
                        source,
                        line,
                    }),
                    Sought::Path(_) => None,
                }));
            }
            Test::Role(_) => {}
        }
    }
    for risk in &contract.risks {
        add(
            &mut all,
            &risk.selection,
            false,
            risk.place.source,
            risk.line,
        );
    }
    let scope = &contract.scope;
    for selection in scope.allow.iter().chain(&scope.deny) {
        let line = scope.line.unwrap_or_default();
        add(&mut all, selection, false, SourceId::default(), line);
    }
    for check in &contract.checks {
        for (row, value) in &check.settings {
            let ignored = matches!(row, Row::Inputs | Row::Unchanged | Row::Requires);
            let (source, line) = (check.place.source, check.line);
            match value {
                Value::Selection(selection) => add(&mut all, selection, ignored, source, line),
                Value::Globs(globs) => all.extend(globs.iter().map(|glob| UsedGlob {
                    glob,
                    ignored,
                    source,
                    line,
                })),
                _ => {}
            }
        }
    }
    all
}

fn add<'c>(
    all: &mut Vec<UsedGlob<'c>>,
    selection: &'c Selection,
    ignored: bool,
    source: SourceId,
    line: usize,
) {
    for item in &selection.items {
        match &item.what {
            ItemContent::Glob(glob) => all.push(UsedGlob {
                glob,
                ignored,
                source,
                line,
            }),
            // Globs of a workspace's packages name folders on purpose.
            ItemContent::Paths { name, .. } if is_dependents(name) => {}
            ItemContent::Paths { items, .. } => add(all, items, ignored, source, line),
        }
    }
}

/// Returns the globs that a selection excludes, those of its `paths` among them.
fn excluded(selection: &Selection) -> Vec<&Glob> {
    let items = selection.items.iter();
    let (not, selects): (Vec<&Item>, Vec<&Item>) = items.partition(|item| item.not);
    let mut found: Vec<&Glob> = Vec::new();
    for item in not {
        match &item.what {
            ItemContent::Glob(glob) => found.push(glob),
            ItemContent::Paths { items, .. } => {
                let globs = items.items.iter().filter_map(|item| match &item.what {
                    ItemContent::Glob(glob) => Some(glob),
                    ItemContent::Paths { .. } => None,
                });
                found.extend(globs);
            }
        }
    }
    for item in selects {
        if let ItemContent::Paths { items, .. } = &item.what {
            found.extend(excluded(items));
        }
    }
    found
}

/// Returns the items of all lists of globs, with the form of the list.
pub(super) fn sels(draft: &Draft) -> Vec<(&Sel, Takes)> {
    let settings = (draft.checks())
        .flat_map(|check| &check.settings)
        .chain(&draft.defaults)
        .chain(draft.verb_defaults.iter().flat_map(|block| &block.settings));
    let lists = draft.paths.iter().map(|paths| paths.items.as_slice());
    let lists = lists.chain(draft.risks.iter().map(|risk| risk.items.as_slice()));
    let lists = lists.chain(draft.policy.iter().map(|line| match &line.value {
        Policy::Allow(items) | Policy::Deny(items) => items.as_slice(),
        _ => &[],
    }));
    let lists = lists.chain(
        draft
            .conditions
            .iter()
            .map(|condition| match &condition.value {
                Condition::ChangedAny(items)
                | Condition::ChangedAll(items)
                | Condition::ChangedOnly(items)
                | Condition::ChangedNone(items) => items.as_slice(),
                Condition::Role(_)
                | Condition::Exists(_)
                | Condition::ExistsAny(_)
                | Condition::Absent(_) => &[],
            }),
    );
    let lists = lists.map(|items| (items, Takes::Selection));
    let lists = lists.chain(settings.map(|setting| match &setting.value.value {
        Written::Sels(items) => (items.as_slice(), setting.value.row.setting().takes),
        _ => (&[][..], Takes::Flag),
    }));
    lists
        .flat_map(|(items, takes)| items.iter().map(move |item| (item, takes)))
        .collect()
}
