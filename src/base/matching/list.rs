//! Removes duplicates among the globs and lists of many selections.

use super::table::{SEED, Table, hash, step};
use crate::glob::{Glob, ItemContent, Selection};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The distinct globs and lists of some selections.
#[derive(Default)]
pub(super) struct Lists<'g> {
    /// Each distinct glob.
    pub(super) globs: Vec<&'g Glob>,
    /// Each distinct list, after those that it names.
    pub(super) lists: Vec<List>,
    /// The children of all lists, one list after another.
    pub(super) children: Vec<Child>,
    /// The depth to which lists name lists: at least one more than the level of every list.
    pub(super) levels: usize,
    /// The list of each selection.
    pub(super) roots: Vec<u32>,
    /// The lists in which a glob, or a list, is a positive child.
    pub(super) of_glob: Users,
    pub(super) of_list: Users,
}

/// A list of globs and other lists.
pub(super) struct List {
    /// Its children are `children[from..to]`.
    from: usize,
    to: usize,
    /// Zero without lists among its children, else one more than the highest level among them.
    level: usize,
}

/// A child of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Child {
    /// Its place among the globs or the lists.
    pub(super) number: u32,
    /// Whether it is a list.
    pub(super) list: bool,
    /// Whether it excludes.
    pub(super) not: bool,
}

impl<'g> Lists<'g> {
    /// Collects the globs and lists of selections.
    pub(super) fn new(selections: &[&'g Selection]) -> Self {
        let mut this = Self::default();
        let mut seen = Interner::default();
        for selection in selections {
            let root = this.intern(selection, &mut seen);
            this.roots.push(root);
        }
        this.of_glob = Users::new(this.globs.len(), &this, false);
        this.of_list = Users::new(this.lists.len(), &this, true);
        this
    }

    /// Returns the position of a list's children, and the children.
    pub(super) fn children_of(&self, list: u32) -> (usize, &[Child]) {
        let Some(List { from, to, .. }) = self.lists.get(list as usize) else {
            return (0, &[]);
        };
        (*from, self.children.get(*from..*to).unwrap_or_default())
    }

    /// Returns the level of a list.
    pub(super) fn level(&self, list: u32) -> usize {
        self.lists.get(list as usize).map_or(0, |list| list.level)
    }

    fn intern(&mut self, selection: &'g Selection, seen: &mut Interner) -> u32 {
        let mut children = Vec::with_capacity(selection.items.len());
        for item in &selection.items {
            let (number, list) = match &item.what {
                ItemContent::Glob(glob) => (self.intern_glob(glob, seen), false),
                ItemContent::Paths { items, .. } => {
                    let known = seen.named.get(&Arc::as_ptr(items)).copied();
                    let number = known.unwrap_or_else(|| self.intern(items, seen));
                    seen.named.insert(Arc::as_ptr(items), number);
                    (number, true)
                }
            };
            children.push(Child {
                number,
                list,
                not: item.not,
            });
        }
        let hash = hash_of(&children);
        let found = seen
            .lists
            .find(hash, |number| self.children_of(number).1 == children);
        found.unwrap_or_else(|| {
            let number = u32::try_from(self.lists.len()).unwrap_or(u32::MAX);
            seen.lists
                .insert(hash, number, |number| hash_of(self.children_of(number).1));
            let level = children
                .iter()
                .filter(|c| c.list)
                .map(|c| self.level(c.number) + 1)
                .max()
                .unwrap_or(0);
            self.levels = self.levels.max(level + 1);
            let from = self.children.len();
            self.lists.push(List {
                from,
                to: from + children.len(),
                level,
            });
            self.children.append(&mut children);
            number
        })
    }

    fn intern_glob(&mut self, glob: &'g Glob, seen: &mut Interner) -> u32 {
        let hash_text = |glob: &Glob| hash(glob.text().as_bytes());
        let hash = hash_text(glob);
        let found = seen.globs.find(hash, |number| {
            self.globs.get(number as usize) == Some(&glob)
        });
        found.unwrap_or_else(|| {
            let number = u32::try_from(self.globs.len()).unwrap_or(u32::MAX);
            seen.globs.insert(hash, number, |n| {
                self.globs.get(n as usize).map_or(0, |glob| hash_text(glob))
            });
            self.globs.push(glob);
            number
        })
    }
}

/// The globs and lists found so far.
#[derive(Default)]
struct Interner {
    globs: Table,
    lists: Table,
    /// Named selections by address, for lookups only: a shared one is walked once, however many
    /// names and lists use it.
    named: BTreeMap<*const Selection, u32>,
}

fn hash_of(children: &[Child]) -> u64 {
    let bytes = |c: &Child| {
        c.number
            .to_le_bytes()
            .into_iter()
            .chain([u8::from(c.list) * 2 + u8::from(c.not)])
    };
    children.iter().flat_map(bytes).fold(SEED, step)
}

/// For each node the lists that use it.
#[derive(Default)]
pub(super) struct Users {
    /// The users of node `n` are `users[starts[n]..starts[n + 1]]`.
    starts: Vec<u32>,
    users: Vec<u32>,
}

impl Users {
    fn new(nodes: usize, lists: &Lists<'_>, of_lists: bool) -> Self {
        let uses = || {
            (0..).zip(&lists.lists).flat_map(|(user, list)| {
                let children = lists.children.get(list.from..list.to).unwrap_or_default();
                children
                    .iter()
                    .filter(|c| c.list == of_lists && !c.not)
                    .map(move |c| (c.number, user))
            })
        };
        let mut starts = vec![0_u32; nodes + 1];
        for (node, _) in uses() {
            // Counted one place ahead, so that the running sum is the start of each node's users.
            if let Some(count) = starts.get_mut(node as usize + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut users = vec![0_u32; sum as usize];
        let mut next = starts.clone();
        for (node, user) in uses() {
            if let Some(place) = next.get_mut(node as usize) {
                if let Some(slot) = users.get_mut(*place as usize) {
                    *slot = user;
                }
                *place += 1;
            }
        }
        Self { starts, users }
    }

    /// Returns the lists that use a node.
    pub(super) fn of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        let (Some(from), Some(to)) = (self.starts.get(node), self.starts.get(node + 1)) else {
            return &[];
        };
        self.users
            .get(*from as usize..*to as usize)
            .unwrap_or_default()
    }
}
