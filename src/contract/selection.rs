//! Validates the file lists of a draft: parses globs and replaces names by their definitions.

use super::InclusionIndex;
use super::caps::Caps;
use super::checker::Checker;
use super::draft::{At, Package, Paths, PathsIndex, Sel, SelKind};
use super::error::{
    GLOB, NOT_A_GLOB, ONLY_EXCLUSIONS, PATHS_CYCLE, PATHS_SIZE, UNKNOWN_PATHS, UNUSED_PATHS,
};
use super::resolve::Names;
use super::uses::Uses;
use std::collections::BTreeSet;
use std::sync::Arc;
use vplan_base::diagnostic::{Diagnostic, Diagnostics};
use vplan_base::folders::EachQuestion;
use vplan_base::glob::{Glob, GlobError, Item, ItemContent, Selection};
use vplan_base::graph::Graph;
use vplan_base::index::{Dense, at, numbered};
use vplan_base::path::{PathError, RepoPath};
use vplan_base::span::{Place, Span};
use vplan_base::word::visible;
use vplan_base::workspace::dependents;

impl Checker<'_> {
    /// Resolves all `paths` definitions, those that others are made of first.
    pub(super) fn resolve_paths(&mut self) {
        let draft = self.draft;
        let node = Graph::<PathsIndex>::node;
        let mut graph = Graph::new(draft.paths.len());
        for (index, paths) in numbered(&draft.paths) {
            for item in &paths.items {
                if let SelKind::Name(name) = &item.what.value
                    && let Some(to) = self.names.paths.get(name.as_str())
                {
                    graph.edge(node(index), node(*to));
                    self.paths.used.insert(*to);
                }
            }
        }
        for cycle in graph.shortest_cycles() {
            self.report_paths_cycle(cycle.into_iter().filter_map(|node| graph.thing(node)));
        }
        self.paths.selections = Dense::filled(None, draft.paths.len());
        let mut sizes = Dense::filled(Size::default(), draft.paths.len());
        let order = graph.bottom_up();
        for index in &order {
            let paths = at(&draft.paths, *index);
            let size = self.size(&paths.items, &sizes);
            sizes[*index] = size;
            if size.depth > self.caps.paths_depth || size.globs > self.caps.paths_globs {
                self.report(too_large(&paths.name, size, &self.caps));
                continue;
            }
            self.paths.selections[*index] = self.selection(&paths.items).map(Arc::new);
        }
        // Definitions on a cycle, and those made of one, are not resolved, but their other faults
        // are.
        let done: BTreeSet<PathsIndex> = order.into_iter().collect();
        for (_, paths) in numbered(&draft.paths).filter(|(index, _)| !done.contains(index)) {
            self.selection(&paths.items);
        }
    }

    /// Warns of `paths` definitions that nothing referred to.
    pub(super) fn report_unused_paths(&mut self) {
        // A list that could not be read may have been the one that uses it.
        for (index, paths) in numbered(&self.draft.paths).filter(|_| !self.incomplete) {
            let first = self.names.paths.get(paths.name.value.as_str()) == Some(&index);
            // What is imported may bring more than is used.
            let own = paths.inclusion == InclusionIndex::CONTRACT;
            if first && own && !self.paths.used.contains(&index) {
                let message = format!("`paths {}` is never used", paths.name.value);
                let warning = Diagnostic::warning(UNUSED_PATHS, message)
                    .label(paths.name.place, "nothing refers to it");
                let help = "remove it, or name it in a selection";
                self.sink.push(warning.help(help));
            }
        }
    }

    /// Returns the selection of a list. Reports all errors of its items, and returns `None` if
    /// there are any.
    pub(super) fn selection(&mut self, items: &[Sel]) -> Option<Selection> {
        if let (Some(first), Some(last)) = (items.first(), items.last())
            && items.iter().all(|i| i.not)
        {
            let (first, last) = (first.what.place, last.what.place);
            let what = match items.len() {
                1 => "this list excludes only",
                _ => "these items exclude only",
            };
            let message = "a selection that only excludes selects nothing";
            self.report(
                Diagnostic::error(ONLY_EXCLUSIONS, message)
                    .label(Place::new(first.source, first.span.to(last.span)), what)
                    .help("put what it excludes from in front, such as `\"**\"` for all files"),
            );
        }
        let mut all = Vec::with_capacity(items.len());
        let mut complete = items.iter().any(|i| !i.not);
        for item in items {
            let not = item.not;
            match self.item_kind(item) {
                Some(what) => all.push(Item { not, what }),
                None => complete = false,
            }
        }
        complete.then_some(Selection { items: all })
    }

    /// The globs of a setting that takes neither names nor exclusions.
    pub(super) fn globs(&mut self, setting: &str, items: &[Sel]) -> Vec<Glob> {
        let globs = items.iter();
        globs
            .filter_map(|item| self.single_glob(setting, item))
            .collect()
    }

    /// The one glob of a setting.
    pub(super) fn single_glob(&mut self, setting: &str, item: &Sel) -> Option<Glob> {
        let place = item.what.place;
        let (takes, what, help) = match (&item.what.value, item.not) {
            (SelKind::Glob(text), false) => return self.glob(text, place, item.inner),
            (SelKind::Glob(_), true) => ("no exclusions", "an exclusion", None),
            (SelKind::Dependents(_), _) => ("globs, not packages", "packages", None),
            (SelKind::Name(name), _) => {
                let help = "write the globs themselves, in quotes; the file of this name is";
                let help = format!("{help} `\"{name}\"`");
                ("globs, not the names of `paths`", "a name", Some(help))
            }
        };
        let message = format!("`{setting}` takes {takes}");
        let mut error = Diagnostic::error(NOT_A_GLOB, message).label(place, what);
        error.help = help;
        self.report(error);
        None
    }

    /// A path that the contract names; reports what can be none of the repository's.
    pub(super) fn path(&mut self, what: &str, text: &str, place: Place) -> Option<RepoPath> {
        repo_path(what, text, place, self.sink)
    }

    /// Warns of a path that looks like a glob. What `at` put in front of it was examined there.
    pub(super) fn warn_of_path(&mut self, what: &str, text: &str, place: Place) {
        let written = self.sources.get(place.source).map(|s| s.slice(place.span));
        if self.draft.inclusions.is_empty() || written.is_none_or(|w| w.contains(['*', '?'])) {
            warn_of_glob(what, text, place, self.sink);
        }
    }

    fn item_kind(&mut self, item: &Sel) -> Option<ItemContent> {
        match &item.what.value {
            SelKind::Glob(text) => {
                let glob = self.glob(text, item.what.place, item.inner);
                glob.map(ItemContent::Glob)
            }
            SelKind::Dependents(package) => self.dependents(package, item.what.place),
            SelKind::Name(name) => {
                let Some(index) = self.names.paths.get(name.as_str()).copied() else {
                    if !self.names.is_absent(name) {
                        self.report(unknown_paths(&self.names, name, item));
                    }
                    return None;
                };
                self.paths.used.insert(index);
                let items = self.paths.selections[index].clone()?;
                Some(ItemContent::Paths {
                    items,
                    name: name.clone(),
                })
            }
        }
    }

    /// A glob; `inner` is where its text begins in the file, if it is written there as it is.
    pub(super) fn glob(&mut self, text: &str, place: Place, inner: Option<usize>) -> Option<Glob> {
        let report = |fault| self.report(glob_error(text, fault, place, inner));
        Glob::parse(text).map_err(report).ok()
    }

    /// The files of a package and of all that it uses, which are made once for all its uses.
    fn dependents(&mut self, package: &Package, place: Place) -> Option<ItemContent> {
        let asked = EachQuestion::Workspace(package.workspace.clone());
        let found = self.draft.folders.get(&asked)?;
        let uses = self.paths.workspaces.entry(package.workspace.clone());
        let uses = uses.or_insert_with(|| Uses::new(found, &package.workspace));
        match uses.selection(&package.folder) {
            Ok(items) => Some(ItemContent::Paths {
                items,
                name: dependents(&package.folder),
            }),
            Err(folder) => {
                let message = format!("no glob can name the files of the package `{folder}`");
                let error = Diagnostic::error(GLOB, message).label(place, "it, or what it uses");
                self.report(error.help("give the folder another name"));
                None
            }
        }
    }

    fn size(&self, items: &[Sel], sizes: &Dense<PathsIndex, Size>) -> Size {
        let mut sum = Size { depth: 1, globs: 0 };
        for item in items {
            let inner = match &item.what.value {
                SelKind::Glob(_) => Size { depth: 0, globs: 1 },
                // Its size is that of the workspace, and it is made once.
                SelKind::Dependents(_) => Size { depth: 1, globs: 1 },
                SelKind::Name(name) => {
                    let index = self.names.paths.get(name.as_str());
                    index.map_or(Size::default(), |index| sizes[*index])
                }
            };
            sum.depth = sum.depth.max(inner.depth.saturating_add(1));
            sum.globs = sum.globs.saturating_add(inner.globs);
        }
        sum
    }

    fn report_paths_cycle(&mut self, cycle: impl Iterator<Item = PathsIndex>) {
        let cycle: Vec<&Paths> = cycle.map(|index| at(&self.draft.paths, index)).collect();
        let around = cycle.iter().chain(cycle.first());
        let chain: Vec<String> = around
            .clone()
            .map(|paths| format!("`{}`", paths.name.value))
            .collect();
        let message = format!("paths that contain themselves: {}", chain.join(" -> "));
        let mut error = Diagnostic::error(PATHS_CYCLE, message);
        for (paths, next) in cycle.iter().zip(around.skip(1)) {
            let (name, next) = (&paths.name.value, &next.name.value);
            let is_next = |i: &&Sel| matches!(&i.what.value, SelKind::Name(n) if n == next);
            if let Some(edge) = paths.items.iter().find(is_next) {
                error = error.label(edge.what.place, format!("`{name}` contains `{next}`"));
            }
        }
        self.report(error.help("write the globs that they share into a `paths` of their own"));
    }
}

/// The depth of a definition, and the number of its globs with all names replaced.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    depth: usize,
    globs: usize,
}

fn too_large(name: &At<String>, size: Size, caps: &Caps) -> Diagnostic {
    let At { value: name, place } = name;
    let (Size { depth, globs }, most) = (size, caps.paths_globs);
    let message = if depth > caps.paths_depth {
        format!(
            "`paths {name}` nests {depth} deep, {} is the most",
            caps.paths_depth
        )
    } else {
        format!("`paths {name}` has {globs} globs in all, {most} are the most")
    };
    Diagnostic::error(PATHS_SIZE, message).label(*place, "too large with all names replaced")
}

fn unknown_paths(names: &Names<'_>, name: &str, item: &Sel) -> Diagnostic {
    let known = names.paths.keys().copied();
    let place = item.what.place;
    let error = names.unknown(
        UNKNOWN_PATHS,
        "named selection",
        At::new(name, place),
        known,
    );
    error.or_help(|| {
        let written = name.strip_prefix(names.namespace(name, place));
        format!("a glob stands in quotes: `\"{}\"`", written.unwrap_or(name))
    })
}

/// Points at the fault inside the quotes where that is possible, otherwise at the whole item.
fn glob_error(text: &str, fault: GlobError, place: Place, inner: Option<usize>) -> Diagnostic {
    let place = match inner {
        Some(start) if fault.span.end <= text.len() => Place::new(
            place.source,
            Span::new(start + fault.span.start, start + fault.span.end),
        ),
        _ => place,
    };
    let mut error = Diagnostic::error(GLOB, fault.message).label(place, "in this glob");
    error.help = fault.help;
    error
}

/// Reads a path from the contract; reports one that cannot be in the repository.
pub(super) fn repo_path(
    what: &str,
    text: &str,
    place: Place,
    sink: &mut Diagnostics,
) -> Option<RepoPath> {
    let fault = match RepoPath::parse(text.as_bytes()) {
        Ok(path) => return Some(path),
        Err(fault) => fault,
    };
    let text = visible(text);
    let (message, help) = match fault {
        PathError::Empty => (
            format!("{what} is empty"),
            Some("the repository's root is `.`".to_owned()),
        ),
        PathError::Absolute => {
            let relative = match text.trim_start_matches('/') {
                "" => ".",
                relative => relative,
            };
            (
                format!("{what} `{text}` is absolute"),
                Some(format!(
                    "paths begin at the repository's root: `{relative}`"
                )),
            )
        }
        PathError::Outside => (
            format!("{what} `{text}` leaves the repository"),
            Some(
                "paths begin at the repository's root, not at the contract's directory".to_owned(),
            ),
        ),
        PathError::Nul => (format!("{what} holds a NUL character"), None),
    };
    let mut error =
        Diagnostic::error(super::error::PATH, message).label(place, "not a path of the repository");
    error.help = help;
    sink.push(error);
    None
}

/// Whether a path was probably meant as a glob.
pub(super) fn looks_like_glob(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Warns of a path that was probably meant as a glob.
pub(super) fn warn_of_glob(what: &str, text: &str, place: Place, sink: &mut Diagnostics) {
    if looks_like_glob(text) {
        let message = format!(
            "{what} is a path: `*` and `?` in `{}` stand for themselves",
            visible(text)
        );
        sink.push(
            Diagnostic::warning(super::error::GLOB_IN_PATH, message)
                .label(place, "not a glob here"),
        );
    }
}
