//! Removes duplicates among the globs and lists of many selections.

use crate::glob::{Glob, ItemContent, Selection};
use crate::index::{Dense, Index as _};
use hashbrown::HashMap;
use std::rc::Rc;
use std::sync::Arc;

crate::index!(GlobIndex, "glob", "Position of a distinct glob.");
crate::index!(ListIndex, "list", "Position of a distinct list.");
crate::index!(Level, "level", "How deep the lists are that a list names.");

/// The distinct globs and lists of some selections.
#[derive(Default)]
pub(super) struct Lists<'g> {
    /// Each distinct glob.
    pub(super) globs: Dense<GlobIndex, &'g Glob>,
    /// Each distinct list, after those that it names.
    pub(super) lists: Dense<ListIndex, List>,
    /// The list of each selection.
    pub(super) roots: Vec<ListIndex>,
    /// The lists in which a glob, or a list, is a positive child.
    pub(super) of_glob: Dense<GlobIndex, Vec<ListIndex>>,
    pub(super) of_list: Dense<ListIndex, Vec<ListIndex>>,
}

/// A list of globs and other lists.
pub(super) struct List {
    pub(super) children: Rc<[Child]>,
    /// The first without lists among its children, else one more than the highest among them.
    pub(super) level: Level,
}

/// A child of a list.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Child {
    pub(super) what: ChildKind,
    /// Whether it excludes.
    pub(super) not: bool,
}

/// A glob, or another list.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ChildKind {
    Glob(GlobIndex),
    List(ListIndex),
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
        this.of_glob = Dense::filled(Vec::new(), this.globs.len());
        this.of_list = Dense::filled(Vec::new(), this.lists.len());
        for (user, list) in this.lists.numbered() {
            for child in list.children.iter().filter(|c| !c.not) {
                match child.what {
                    ChildKind::Glob(glob) => this.of_glob[glob].push(user),
                    ChildKind::List(list) => this.of_list[list].push(user),
                }
            }
        }
        this
    }

    fn intern(&mut self, selection: &'g Selection, seen: &mut Interner<'g>) -> ListIndex {
        let mut child = |item: &'g crate::glob::Item| {
            let what = match &item.what {
                ItemContent::Glob(glob) => {
                    let add = || self.globs.push(glob);
                    ChildKind::Glob(*seen.globs.entry(glob.text()).or_insert_with(add))
                }
                ItemContent::Paths { items, .. } => {
                    let known = seen.named.get(&Arc::as_ptr(items)).copied();
                    let list = known.unwrap_or_else(|| self.intern(items, seen));
                    seen.named.insert(Arc::as_ptr(items), list);
                    ChildKind::List(list)
                }
            };
            let not = item.not;
            Child { what, not }
        };
        let children: Rc<[Child]> = selection.items.iter().map(&mut child).collect();
        let above = |child: &Child| match child.what {
            ChildKind::Glob(_) => None,
            ChildKind::List(list) => Some(self.lists[list].level.position() + 1),
        };
        let level = Level::new(children.iter().filter_map(above).max().unwrap_or(0));
        let of_list = seen.lists.entry(Rc::clone(&children));
        *of_list.or_insert_with(|| self.lists.push(List { children, level }))
    }
}

/// The globs and lists found so far.
#[derive(Default)]
struct Interner<'g> {
    globs: HashMap<&'g str, GlobIndex>,
    lists: HashMap<Rc<[Child]>, ListIndex>,
    /// Named selections by address: a shared one is walked once, however many names and lists use
    /// it.
    named: HashMap<*const Selection, ListIndex>,
}
