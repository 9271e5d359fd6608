//! Matches many selections against many files in one pass over the files, with an index of the
//! globs.

mod groups;
mod index;
mod list;
mod matcher;
mod walk;

pub use groups::group_files;
pub use matcher::{Hits, Matcher, SHOWN, Selected, match_all, match_each};

#[cfg(test)]
mod tests {
    use super::super::change::ChangeSet;
    use super::super::glob::{Glob, Item, ItemContent, Selection};
    use super::super::path::RepoPath;
    use super::*;
    use crate::arbitrary::glob::{agree, change_set};
    use std::sync::Arc;

    fn list(items: &[&str]) -> Selection {
        let item = |text: &&str| {
            let (not, text) = text
                .strip_prefix('!')
                .map_or((false, *text), |text| (true, text));
            Item {
                not,
                what: ItemContent::Glob(Glob::parse(text).unwrap()),
            }
        };
        Selection {
            items: items.iter().map(item).collect(),
        }
    }

    fn changes(paths: impl IntoIterator<Item = String>) -> ChangeSet {
        change_set(
            paths
                .into_iter()
                .map(|path| RepoPath::from_exact(path.as_bytes()).unwrap())
                .collect(),
        )
    }

    #[test]
    fn items_and_exclusions() {
        let changes = changes(["a.md", "src/a.md", "src/a.rs", "src/b.rs"].map(str::to_owned));
        let selections = [
            list(&["src/**", "!**/*.md", "**/a.*"]),
            list(&["src/**", "!**/*.md", "**/a.*"]),
        ];
        let got = match_all(&selections.each_ref(), &changes);
        let hits = |first: &[u32]| Hits {
            count: first.len() as u64,
            first: first.to_vec(),
        };
        let want = Selected {
            all: hits(&[2, 3]),
            items: vec![hits(&[2, 3]), hits(&[]), hits(&[2])],
        };
        assert_eq!(got, [want.clone(), want]);
    }

    #[test]
    fn a_pass_leaves_nothing_to_the_next() {
        let selections = [
            list(&["a/**", "!**/*.md"]),
            list(&["**/*.rs", "b/*"]),
            list(&["c"]),
            list(&["a/**", "!**/*.md"]),
            list(&["**"]),
        ];
        let selections = selections.each_ref();
        let matcher = Matcher::new(&selections);
        let few: [&[&str]; 6] = [
            &["a/x.rs", "a/x.md"],
            &["b/x"],
            &[],
            &["a/x.md"],
            &["c", "a/x.rs"],
            &["b/x"],
        ];
        let mut sets = few.map(|set| set.iter().map(|p| (*p).to_owned()).collect());
        // More than a block.
        sets[2] = (0..600).map(|i| format!("a/{i}.rs")).collect::<Vec<_>>();
        for set in sets {
            let changes = changes(set.iter().cloned());
            let all = match_all(&selections, &changes).into_iter().enumerate();
            let want: Vec<_> = all.filter(|(_, s)| s.all.count > 0).collect();
            assert_eq!(matcher.matches(&changes), want, "{set:?}");
        }
    }

    #[test]
    fn nothing_to_match() {
        assert_eq!(match_all(&[], &changes(["a".to_owned()])), []);
        let empty = match_all(&[&list(&["a", "b"])], &ChangeSet::default());
        assert_eq!(
            empty,
            [Selected {
                all: Hits::default(),
                items: vec![Hits::default(); 2]
            }]
        );
    }

    #[test]
    fn more_than_a_block() {
        let changes =
            changes((0..1000).map(|i| format!("{}/{i:04}", if i % 3 == 0 { "a" } else { "b" })));
        let selections = [
            list(&["**"]),
            list(&["**", "!a/**"]),
            list(&["a/**", "*/0999"]),
            list(&["c"]),
        ];
        agree(&selections, &changes);
        let each = match_each(&selections[2], &changes);
        let want: Vec<bool> = changes
            .files()
            .iter()
            .map(|f| selections[2].selects(&f.path))
            .collect();
        assert_eq!(each, want);
        assert!(want.contains(&true) && want.contains(&false));
        let got = match_all(&selections.each_ref(), &changes);
        assert_eq!(
            got[0].all,
            Hits {
                count: 1000,
                first: (0..20).collect()
            }
        );
    }

    #[test]
    fn crowds_under_one_key() {
        // By piece of text; by sets of globset (after the first paths); one by one beyond those.
        let changes = changes((0..290).map(|i| {
            format!(
                "packages/p{}/src/x{i}y{}-worker-{}.rs",
                i % 7,
                i % 11,
                i % 13
            )
        }));
        let mut selections: Vec<Selection> = Vec::new();
        for i in 0..60 {
            selections.push(list(&[
                &format!("packages/*/src/*x{i}*"),
                &format!("!**/*-worker-{i}*"),
            ]));
            selections.push(list(&[
                &format!("**/*y{i}-*"),
                &format!("packages/*/src/**/?{i}*.rs"),
            ]));
        }
        for i in 0..1100 {
            selections.push(list(&[&format!(
                "**/*{}*{}*{}*",
                i % 10,
                i / 10 % 10,
                i / 100
            )]));
        }
        agree(&selections, &changes);
    }

    #[test]
    fn shared_names_are_walked_once() {
        // Each name lists the one before twice: two to the sixtieth ways down to the glob.
        let mut below = Arc::new(list(&["a/**"]));
        for _ in 0..60 {
            let item = |not| Item {
                not,
                what: ItemContent::Paths {
                    items: below.clone(),
                    name: "n".into(),
                },
            };
            below = Arc::new(Selection {
                items: vec![item(false), item(false)],
            });
        }
        let got = match_all(&[&below], &changes(["a/b", "b"].map(str::to_owned)));
        assert_eq!(
            got[0].all,
            Hits {
                count: 1,
                first: vec![0]
            }
        );
    }
}
