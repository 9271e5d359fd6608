//! Finds the changes that are outside the contract's scope. Denied beats allowed.

use super::Note;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::change::ChangeSet;
use vplan_base::matching::{SHOWN, match_all};
use vplan_base::path::RepoPath;
use vplan_contract::Scope;

/// The kind of note that such a change gets. A run of a plan with one runs nothing.
pub const OUTSIDE: &str = "outside-scope";

/// The end of a note about a denied change; notes of the others name what the scope does not allow.
const DENIED: &str = "which the contract's scope denies";

/// The list of the scope that a change is against.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ScopeList")]
pub enum List {
    /// It is not among what is allowed.
    Allow,
    /// It is among what is denied.
    Deny,
}

/// Returns the changes outside the scope from the notes of a plan: the named ones with the list
/// that each violates, and the total number.
pub fn named_outside(notes: &[Note]) -> (Vec<(&RepoPath, List)>, u64) {
    let of_scope = notes.iter().filter(|n| n.kind == OUTSIDE);
    let (mut named, mut rest) = (Vec::new(), 0_u64);
    for note in of_scope {
        match &note.path {
            Some(path) if note.message.ends_with(DENIED) => named.push((path, List::Deny)),
            Some(path) => named.push((path, List::Allow)),
            // The note that counts the rest.
            None => {
                let number = note.message.split(' ').next();
                rest = number.and_then(|n| n.parse().ok()).unwrap_or(1);
            }
        }
    }
    let total = rest.saturating_add(u64::try_from(named.len()).unwrap_or(u64::MAX));
    (named, total)
}

/// Makes one note for each of the first [`SHOWN`] changes outside, in byte order, and one that
/// counts the rest.
pub fn outside(scope: &Scope, changes: &ChangeSet) -> Vec<Note> {
    let of_file = |path: &RepoPath, why: &str| Note {
        path: Some(path.clone()),
        ..Note::new(OUTSIDE, format!("`{path}` is changed, {why}"))
    };
    let mut notes = Vec::new();
    let mut total = 0_u64;
    if let Some(deny) = &scope.deny
        && let Some(denied) = match_all(&[deny], changes).first()
    {
        total += denied.all.count;
        let files = denied.all.first.iter();
        let files = files.filter_map(|i| changes.files().get(usize::try_from(*i).ok()?));
        notes.extend(files.map(|f| of_file(&f.path, DENIED)));
    }
    if let Some(allow) = &scope.allow {
        let denied = |path| scope.deny.as_ref().is_some_and(|deny| deny.selects(path));
        let paths = changes.files().iter().map(|file| &file.path);
        for path in paths.filter(|path| !allow.selects(path) && !denied(path)) {
            total += 1;
            if notes.len() < SHOWN {
                notes.push(of_file(path, "which the contract's scope does not allow"));
            }
        }
    }
    let shown = u64::try_from(notes.len()).unwrap_or(u64::MAX);
    if total > shown {
        let more = total - shown;
        let message = format!("{more} more changes are outside the contract's scope");
        notes.push(Note::new(OUTSIDE, message));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::change::{ChangedFile, Status};
    use vplan_base::glob::{Glob, Item, ItemContent, Selection};
    use vplan_base::path::RepoPath;

    fn selection(globs: &[&str]) -> Selection {
        let item = |g: &&str| Item {
            not: false,
            what: ItemContent::Glob(Glob::parse(g).unwrap()),
        };
        Selection {
            items: globs.iter().map(item).collect(),
        }
    }

    fn outside_of(allow: Option<&[&str]>, deny: Option<&[&str]>, paths: &[&str]) -> Vec<String> {
        let file = |p: &&str| ChangedFile {
            path: RepoPath::from_exact(p.as_bytes()).unwrap(),
            status: Status::Modified,
        };
        let scope = Scope {
            allow: allow.map(selection),
            deny: deny.map(selection),
            line: None,
        };
        let changes = ChangeSet::new(paths.iter().map(file).collect());
        outside(&scope, &changes)
            .iter()
            .filter_map(|n| n.path.as_ref())
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn denied_beats_allowed() {
        let files = &["docs/a", "lib/b", "src/c", "src/key.pem"];
        assert_eq!(outside_of(None, None, files), [""; 0]);
        assert_eq!(
            outside_of(Some(&["src/**", "docs/**"]), None, files),
            ["lib/b"]
        );
        assert_eq!(
            outside_of(None, Some(&["**/*.pem"]), files),
            ["src/key.pem"]
        );
        assert_eq!(
            outside_of(Some(&["src/**"]), Some(&["**/*.pem"]), files),
            ["src/key.pem", "docs/a", "lib/b"]
        );
    }

    #[test]
    fn many_are_counted() {
        let names: Vec<String> = (100..150).map(|i| format!("f{i}")).collect();
        let paths: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(outside_of(Some(&["src/**"]), None, &paths).len(), SHOWN);
        let file = |p: &&str| ChangedFile {
            path: RepoPath::from_exact(p.as_bytes()).unwrap(),
            status: Status::Modified,
        };
        let changes = ChangeSet::new(paths.iter().map(file).collect());
        let scope = Scope {
            allow: Some(selection(&["src/**"])),
            deny: Some(selection(&["f10*"])),
            line: None,
        };
        let notes = outside(&scope, &changes);
        let (named, total) = named_outside(&notes);
        assert_eq!((named.len(), total), (SHOWN, 50), "{notes:?}");
        assert_eq!(
            named.iter().filter(|(_, list)| *list == List::Deny).count(),
            10
        );
    }
}
