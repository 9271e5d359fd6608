//! Evaluates conditions.
//!
//! The obviously right answer, one file and one glob at a time. The planner matches all selections
//! in one pass (`base::matching`); tests hold it against this.

use super::{Sought, Test};
use vplan_base::change::ChangeSet;
use vplan_base::glob::Selection;
use vplan_base::path::RepoPath;

/// Whether a condition holds for a role and a change. `exists` answers whether a path, or a file of
/// a glob, exists.
pub fn holds(
    test: &Test,
    role: &str,
    changes: &ChangeSet,
    exists: impl Fn(&Sought) -> bool,
) -> bool {
    let selected = |selection: &Selection| {
        changes
            .files()
            .iter()
            .filter(|f| selection.selects(&f.path))
            .count()
    };
    match test {
        Test::Role(roles) => roles.iter().any(|r| r == role),
        Test::ChangedAny(selection) => selected(selection) > 0,
        Test::ChangedAll(selection) => all_items(selection, changes),
        Test::ChangedOnly(selection) => !changes.is_empty() && selected(selection) == changes.len(),
        Test::ChangedNone(selection) => selected(selection) == 0,
        Test::Exists(all) => all.iter().all(exists),
        Test::ExistsAny(all) => all.iter().any(exists),
        Test::Absent(all) => !all.iter().any(exists),
    }
}

/// Whether every positive item selects a changed file that the list does not exclude.
fn all_items(selection: &Selection, changes: &ChangeSet) -> bool {
    let excluded = |path: &RepoPath| selection.items.iter().any(|i| i.not && i.selects(path));
    selection.items.iter().filter(|item| !item.not).all(|item| {
        changes
            .files()
            .iter()
            .any(|f| item.selects(&f.path) && !excluded(&f.path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use vplan_base::change::{ChangedFile, Status};
    use vplan_base::glob::{Glob, Item, ItemContent};

    fn selection(items: &[&str]) -> Selection {
        let item = |text: &&str| {
            let (not, glob) = text
                .strip_prefix('!')
                .map_or((false, *text), |glob| (true, glob));
            Item {
                not,
                what: ItemContent::Glob(Glob::parse(glob).unwrap()),
            }
        };
        Selection {
            items: items.iter().map(item).collect(),
        }
    }

    fn changes(paths: &[&str]) -> ChangeSet {
        let file = |p: &&str| ChangedFile {
            path: RepoPath::parse(p.as_bytes()).unwrap(),
            status: Status::Deleted,
        };
        ChangeSet::new(paths.iter().map(file).collect())
    }

    /// Whether any, all, only, none hold.
    #[test]
    fn changed_files() {
        for (items, paths, want) in [
            (&["src/**"][..], &[][..], [false, false, false, true]),
            (&["src/**"], &["src/a"], [true, true, true, false]),
            (
                &["src/**"],
                &["src/a", "docs/b"],
                [true, true, false, false],
            ),
            (&["src/**"], &["docs/b"], [false, false, false, true]),
            (
                &["src/**", "docs/**"],
                &["src/a"],
                [true, false, true, false],
            ),
            (
                &["src/**", "**/*.ts"],
                &["src/a.ts"],
                [true, true, true, false],
            ),
            (
                &["src/**", "!**/gen/**"],
                &["src/gen/a"],
                [false, false, false, true],
            ),
            (
                &["src/**", "!**/gen/**"],
                &["src/gen/a", "src/b"],
                [true, true, false, false],
            ),
            (
                &["src/**", "lib/**", "!lib/x"],
                &["src/a", "lib/x"],
                [true, false, false, false],
            ),
        ] {
            let (selection, changes) = (selection(items), changes(paths));
            let tests: [fn(Selection) -> Test; 4] = [
                Test::ChangedAny,
                Test::ChangedAll,
                Test::ChangedOnly,
                Test::ChangedNone,
            ];
            let got =
                tests.map(|make| holds(&make(selection.clone()), "worker", &changes, |_| false));
            assert_eq!(got, want, "{items:?} {paths:?}");
        }
    }

    #[test]
    fn a_name_excludes_inside_itself_only() {
        let inner = ItemContent::Paths {
            items: Arc::new(selection(&["src/**", "!src/gen/**"])),
            name: "code".to_owned(),
        };
        let mut outer = selection(&["src/gen/a"]);
        outer.items.push(Item {
            not: false,
            what: inner,
        });
        let any = Test::ChangedAny(outer.clone());
        assert!(holds(&any, "worker", &changes(&["src/gen/a"]), |_| false));
        assert!(!holds(&any, "worker", &changes(&["src/gen/b"]), |_| false));
        assert!(holds(
            &Test::ChangedAll(outer),
            "worker",
            &changes(&["src/gen/a", "src/b"]),
            |_| false
        ));
    }

    #[test]
    fn roles_and_paths() {
        let none = ChangeSet::default();
        let role = Test::Role(vec!["tester".to_owned(), "docser".to_owned()]);
        assert!(holds(&role, "docser", &none, |_| false));
        assert!(!holds(&role, "worker", &none, |_| true));
        let path = |text: &str| Sought::Path(RepoPath::parse(text.as_bytes()).unwrap());
        let exists = Test::Exists(vec![path("a"), path("b/c")]);
        assert!(holds(&exists, "worker", &none, |_| true));
        assert!(!holds(&exists, "worker", &none, |p| *p == path("a")));
        let any = Test::ExistsAny(vec![path("a"), path("b/c")]);
        assert!(holds(&any, "worker", &none, |p| *p == path("b/c")));
        assert!(!holds(&any, "worker", &none, |p| *p == path("b")));
        let absent = Test::Absent(vec![path("a"), path("b/c")]);
        assert!(holds(&absent, "worker", &none, |_| false));
        assert!(!holds(&absent, "worker", &none, |p| *p == path("b/c")));
    }
}
