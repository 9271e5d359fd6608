//! Decides whether one condition implies or excludes another. Answers are certain, derived from the
//! texts of the globs: a "yes" holds for every change, a "no" may only mean that it was not found.

use vplan_base::glob::overlap::overlaps;
use vplan_base::glob::{Glob, Item, ItemContent, Selection};
use vplan_contract::Test;

/// Maximum number of pairs of items that are compared for one answer. Names can expand to lists of
/// names, and so to very many globs.
const STEPS: u32 = 512;

/// Whether `b` holds for every request for which `a` holds.
pub fn implies(a: &Test, b: &Test) -> bool {
    let steps = &mut Steps(STEPS);
    match (a, b) {
        _ if a == b => true,
        (Test::Role(a), Test::Role(b)) => a.iter().all(|role| b.contains(role)),
        (Test::Exists(a), Test::Exists(b)) | (Test::Absent(a), Test::Absent(b)) => {
            b.iter().all(|sought| a.contains(sought))
        }
        (Test::ExistsAny(a), Test::ExistsAny(b)) => a.iter().all(|sought| b.contains(sought)),
        (Test::Exists(a), Test::ExistsAny(b)) => a.iter().any(|sought| b.contains(sought)),
        (Test::ExistsAny(a), Test::Exists(b)) => a.iter().all(|a| b.iter().all(|b| a == b)),
        (Test::ChangedAny(a) | Test::ChangedOnly(a), Test::ChangedAny(b))
        | (Test::ChangedOnly(a), Test::ChangedOnly(b)) => covers(b, a, steps),
        (Test::ChangedNone(a), Test::ChangedNone(b)) => covers(a, b, steps),
        (Test::ChangedOnly(a), Test::ChangedNone(b)) => disjoint(a, b, steps),
        // Each item of `whenChangedAll` is a `whenChangedAny` of its own, the exclusions included.
        (Test::ChangedAll(a), Test::ChangedAny(b)) => alone(a).any(|a| covers(b, &a, steps)),
        (Test::ChangedAll(a), Test::ChangedAll(b)) => {
            alone(b).all(|b| alone(a).any(|a| covers(&b, &a, steps)))
        }
        (Test::ChangedAny(a) | Test::ChangedOnly(a), Test::ChangedAll(b)) => {
            alone(b).all(|b| covers(&b, a, steps))
        }
        _ => false,
    }
}

/// Whether no change makes both hold. (`whenExists` and `whenAbsent` of one path both hold where
/// existence is not known.) With itself: whether it never holds.
pub fn contradicts(a: &Test, b: &Test) -> bool {
    let steps = &mut Steps(STEPS);
    match (a, b) {
        (Test::Role(a), Test::Role(b)) => !a.iter().any(|role| b.contains(role)),
        (Test::ChangedAny(some) | Test::ChangedOnly(some), Test::ChangedNone(none))
        | (Test::ChangedNone(none), Test::ChangedAny(some) | Test::ChangedOnly(some)) => {
            covers(none, some, steps)
        }
        (Test::ChangedAll(all), Test::ChangedNone(none))
        | (Test::ChangedNone(none), Test::ChangedAll(all)) => {
            alone(all).any(|one| covers(none, &one, steps))
        }
        (Test::ChangedOnly(a), Test::ChangedAny(b))
        | (Test::ChangedAny(b), Test::ChangedOnly(a)) => disjoint(a, b, steps),
        // Names are expanded on one side first, so that one order may show what the other does not.
        (Test::ChangedOnly(a), Test::ChangedOnly(b)) => {
            disjoint(a, b, steps) || disjoint(b, a, &mut Steps(STEPS))
        }
        (Test::ChangedOnly(only), Test::ChangedAll(all))
        | (Test::ChangedAll(all), Test::ChangedOnly(only)) => {
            alone(all).any(|one| disjoint(only, &one, steps))
        }
        (Test::ChangedAny(a), Test::ChangedAny(b)) if a == b => disjoint(a, a, steps),
        (Test::ChangedAll(a), Test::ChangedAll(b)) if a == b => {
            alone(a).any(|one| disjoint(&one, &one, steps))
        }
        _ => false,
    }
}

struct Steps(u32);

impl Steps {
    fn next(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 > 0
    }
}

/// Returns each positive item with the exclusions of its list.
pub(crate) fn alone(selection: &Selection) -> impl Iterator<Item = Selection> + '_ {
    selection.positive().map(|item| Selection {
        items: [item]
            .into_iter()
            .chain(selection.excluding())
            .cloned()
            .collect(),
    })
}

/// Whether `a` selects everything that `b` selects.
fn covers(a: &Selection, b: &Selection, steps: &mut Steps) -> bool {
    if a == b {
        return true;
    }
    // `b` must exclude or not select everything that `a` excludes.
    let free = a.excluding().all(|not| {
        excludes(b, &not.what, steps)
            || b.positive()
                .all(|i| item_disjoint(&i.what, &not.what, steps))
    });
    free && b.positive().all(|item| {
        let mut positive = a.positive();
        positive.any(|a| item_covers(&a.what, &item.what, steps))
    })
}

fn item_covers(a: &ItemContent, b: &ItemContent, steps: &mut Steps) -> bool {
    if !steps.next() {
        return false;
    }
    match (a, b) {
        _ if a == b => true,
        (ItemContent::Glob(a), ItemContent::Glob(b)) => glob_covers(a, b),
        (ItemContent::Paths { items, .. }, b) => {
            let (not, what) = (false, b.clone());
            let one = vec![Item { not, what }];
            covers(items, &Selection { items: one }, steps)
        }
        // The exclusions of a name only make it select less.
        (a, ItemContent::Paths { items, .. }) => items
            .positive()
            .all(|item| item_covers(a, &item.what, steps)),
    }
}

/// Whether no file is selected by both.
fn disjoint(a: &Selection, b: &Selection, steps: &mut Steps) -> bool {
    let is_out = |item: &Item, steps: &mut Steps| {
        excludes(a, &item.what, steps) || excludes(b, &item.what, steps)
    };
    a.positive().all(|x| {
        is_out(x, steps)
            || b.positive()
                .all(|y| is_out(y, steps) || item_disjoint(&x.what, &y.what, steps))
    })
}

/// Whether an item of a selection excludes all that another item selects.
fn excludes(by: &Selection, item: &ItemContent, steps: &mut Steps) -> bool {
    by.excluding()
        .any(|not| item_covers(&not.what, item, steps))
}

fn item_disjoint(a: &ItemContent, b: &ItemContent, steps: &mut Steps) -> bool {
    if !steps.next() {
        return false;
    }
    match (a, b) {
        (ItemContent::Glob(a), ItemContent::Glob(b)) => glob_disjoint(a, b),
        (ItemContent::Paths { items, .. }, other) | (other, ItemContent::Paths { items, .. }) => {
            items.positive().all(|item| {
                excludes(items, other, steps) || item_disjoint(&item.what, other, steps)
            })
        }
    }
}

/// Characters that may have a special meaning.
const SPECIAL: [char; 9] = ['*', '?', '[', ']', '{', '}', '!', '\\', ','];

fn glob_covers(a: &Glob, b: &Glob) -> bool {
    let (a, b) = (a.text(), b.text());
    if a == b || matches!(a, "**" | "**/*") {
        return true;
    }
    // `dir/**` has the directory and everything below it.
    if let Some(dir) = a.strip_suffix("/**").or_else(|| a.strip_suffix('/'))
        && !dir.contains(SPECIAL)
        && b.strip_prefix(dir)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    {
        return true;
    }
    // `**/*.md` selects every path with this ending.
    a.strip_prefix("**/*").is_some_and(|end| {
        !end.is_empty() && !end.contains(SPECIAL) && !end.contains('/') && b.ends_with(end)
    })
}

fn glob_disjoint(a: &Glob, b: &Glob) -> bool {
    fn begin(glob: &Glob) -> &str {
        let plain = glob.text().split(SPECIAL).next().unwrap_or("");
        // `x/**` selects `x` too.
        plain.strip_suffix('/').unwrap_or(plain)
    }
    // Most globs differ in their prefix.
    let (from, other) = (begin(a), begin(b));
    !(from.starts_with(other) || other.starts_with(from)) || !overlaps(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn selection(text: &str) -> Selection {
        let item = |text: &str| {
            let (not, text) = text
                .strip_prefix('!')
                .map_or((false, text), |text| (true, text));
            match text.strip_prefix('@') {
                Some(list) => {
                    let items = Arc::new(selection(&list.replace('+', " ").replace('-', "!")));
                    Item {
                        not,
                        what: ItemContent::Paths {
                            items,
                            name: list.to_owned(),
                        },
                    }
                }
                None => Item {
                    not,
                    what: ItemContent::Glob(Glob::parse(text).unwrap()),
                },
            }
        };
        Selection {
            items: text.split(' ').map(item).collect(),
        }
    }

    #[test]
    fn what_is_seen() {
        use Test::{
            ChangedAll as All, ChangedAny as Any, ChangedNone as None, ChangedOnly as Only,
        };
        type Make = fn(Selection) -> Test;
        let any: Make = Any;
        let table: &[(Make, &str, Make, &str, bool, bool)] = &[
            (any, "a/b", Any, "a/**", true, false),
            (any, "a/**", Any, "a/b", false, false),
            (any, "a/**", Any, "a/** !a/b", false, false),
            (any, "a/** !a/b", Any, "a/** !a/b/c", false, false),
            (any, "a/** !a/b/**", Any, "a/** !a/b/c", true, false),
            (any, "a/**", Any, "** !b/**", true, false),
            (any, "docs/**/*.md", Any, "**/*.md", true, false),
            (any, "@a/x", Any, "a/**", true, false),
            (any, "a/x", Any, "@a/**", true, false),
            (any, "a/x", Any, "@a/**+-a/x", false, false),
            (any, "a/x", None, "a/**", false, true),
            (any, "a/**", None, "a/x", false, false),
            (any, "a/** !a/**", Any, "a/** !a/**", true, true),
            (Only, "a/**", Any, "b/**", false, true),
            (Only, "a/**", Any, "a*/**", false, false),
            (Only, "**/*.md", Any, "src/*.rs", false, true),
            (Only, "** !docs/**", Any, "docs/a", false, true),
            (Only, "a/**", None, "b/**", true, false),
            (Only, "a/**", None, "a/**", false, true),
            (Only, "@b+c", Only, "@b+c+-b+-c", false, true),
            (All, "a/x b", Any, "a/**", true, false),
            (All, "a b", All, "a", true, false),
            (All, "a", All, "a b", false, false),
            (All, "a b", None, "b", false, true),
            (Only, "a/**", All, "a/x b", false, true),
            (None, "a/**", None, "a/x", true, false),
            (any, "**/a", Only, "b/**", false, false),
        ];
        for (make_a, a, make_b, b, implied, never) in table {
            let (x, y) = (make_a(selection(a)), make_b(selection(b)));
            assert_eq!(
                (implies(&x, &y), contradicts(&x, &y)),
                (*implied, *never),
                "{x:?} {y:?}"
            );
            assert_eq!(contradicts(&y, &x), *never, "{y:?} {x:?}");
        }
        let role = |names: &[&str]| Test::Role(names.iter().map(|n| (*n).to_owned()).collect());
        assert!(
            implies(&role(&["a"]), &role(&["b", "a"]))
                && !implies(&role(&["a", "b"]), &role(&["a"]))
        );
        assert!(
            contradicts(&role(&["a"]), &role(&["b"]))
                && !contradicts(&role(&["a", "b"]), &role(&["b"]))
        );
    }

    #[test]
    fn it_ends() {
        let mut below = Arc::new(selection("a/** !b"));
        for i in 0..60 {
            let item = |not| Item {
                not,
                what: ItemContent::Paths {
                    items: below.clone(),
                    name: format!("n{i}"),
                },
            };
            below = Arc::new(Selection {
                items: vec![item(false), item(false), item(true)],
            });
        }
        let test = Test::ChangedAny(Selection {
            items: below.items.iter().rev().cloned().collect(),
        });
        assert!(!implies(&test, &Test::ChangedAny(selection("b"))));
        assert!(!contradicts(&test, &Test::ChangedNone(selection("b"))));
    }
}
