//! Finds the conflicts between observed effects, in one walk over all paths of all steps in tree
//! order.

use super::effects::StepEffects;
use super::known::Knowledge;
use crate::StepIndex;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use vplan_base::bits::Bits;
use vplan_base::index::Dense;
use vplan_base::path::RepoPath;
use vplan_check::observed::{Place, Uses};

/// For each step those that it meets.
pub(super) type Meets = Dense<StepIndex, Bits<StepIndex>>;

/// The files of the repository by those who use them.
#[derive(Default)]
pub(super) struct UsedFiles<'a> {
    /// The files that the same steps write, and the same ones use in any way.
    pub files: BTreeMap<UsedBy, Vec<&'a RepoPath>>,
    /// The folders that are listed, with those who do.
    pub listed: BTreeMap<&'a RepoPath, Vec<StepIndex>>,
}

/// Who uses a file, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UsedBy {
    pub writers: Vec<StepIndex>,
    pub users: Vec<StepIndex>,
}

/// A path, ordered so that a folder comes right before all that is in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct TreePath<'a> {
    is_outside: bool,
    /// Empty for the root of the repository, and of the system.
    bytes: &'a [u8],
}

impl<'a> TreePath<'a> {
    pub fn from_place(place: &'a Place) -> Self {
        match place {
            Place::Repository(path) if path.is_root() => Self::new(false, b""),
            Place::Repository(path) => Self::new(false, path.as_bytes()),
            // The slash in front is that of the root.
            Place::Elsewhere(path) if path.as_bytes() == b"/" => Self::new(true, b""),
            Place::Elsewhere(path) => Self::new(true, path.as_bytes()),
        }
    }

    fn new(is_outside: bool, bytes: &'a [u8]) -> Self {
        Self { is_outside, bytes }
    }

    /// Whether it is a folder above another path.
    pub(crate) fn is_above(self, other: Self) -> bool {
        let rest = other.bytes.strip_prefix(self.bytes);
        let is_below = |rest: &[u8]| rest.starts_with(b"/") || self.bytes.is_empty();
        self.is_outside == other.is_outside
            && rest.is_some_and(|rest| !rest.is_empty() && is_below(rest))
    }

    /// Returns the folder that it is in; none of a root.
    pub fn folder(self) -> Option<Self> {
        if self.bytes.is_empty() {
            return None;
        }
        let slash = self.bytes.iter().rposition(|byte| *byte == b'/');
        let bytes = self.bytes.get(..slash.unwrap_or(0)).unwrap_or_default();
        Some(Self { bytes, ..self })
    }

    /// Returns the bytes of the innermost folder that it and another path are in, or that is one of
    /// them; none where that is a root.
    pub(crate) fn common_folder(self, other: Self) -> Option<&'a [u8]> {
        let mut folder = Some(self);
        while let Some(own) = folder.filter(|own| !own.bytes.is_empty()) {
            if own == other || own.is_above(other) {
                return Some(own.bytes);
            }
            folder = own.folder();
        }
        None
    }

    /// Returns its bytes for people; `.` and `/` for the roots.
    pub fn as_bytes(self) -> &'a [u8] {
        match (self.bytes, self.is_outside) {
            (b"", false) => b".",
            (b"", true) => b"/",
            (bytes, _) => bytes,
        }
    }

    /// Whether it is the folder that another path is in.
    pub(crate) fn is_folder_of(self, other: Self) -> bool {
        other.folder() == Some(self)
    }
}

impl PartialOrd for TreePath<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TreePath<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        // No path has a byte 0.
        let in_tree = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
        let (own, others) = (self.bytes.iter(), other.bytes.iter());
        (self.is_outside.cmp(&other.is_outside))
            .then_with(|| own.map(in_tree).cmp(others.map(in_tree)))
    }
}

/// The current path, or a folder above it.
struct Level<'a> {
    path: TreePath<'a>,
    writers: Vec<StepIndex>,
    listers: Bits<StepIndex>,
    /// Those who use something below it.
    below: Bits<StepIndex>,
}

/// Finds who meets whom; it is noted for those who write. Returns the files of the repository.
pub(super) fn meet<'a>(
    steps: &'a Dense<StepIndex, StepEffects<'_>>,
    meets: &mut Meets,
) -> UsedFiles<'a> {
    let mut all: Vec<(TreePath<'a>, &'a Place, StepIndex, &'a Uses)> = Vec::new();
    for (index, step) in steps.numbered() {
        if let Knowledge::All(observed) = &step.seen {
            let files = observed.files.iter();
            all.extend(
                files.map(|(place, uses)| (TreePath::from_place(place), place, index, uses)),
            );
        }
    }
    all.sort_unstable_by(|a, b| (a.0, a.2).cmp(&(b.0, b.2)));
    let mut walk = Walk {
        none: Bits::none(steps.len()),
        levels: Vec::new(),
        used: UsedFiles::default(),
        meets,
    };
    for uses in all.chunk_by(|a, b| a.0 == b.0) {
        walk.visit(uses);
    }
    while walk.leave() {}
    walk.used
}

struct Walk<'a, 'm> {
    none: Bits<StepIndex>,
    levels: Vec<Level<'a>>,
    used: UsedFiles<'a>,
    meets: &'m mut Meets,
}

impl<'a> Walk<'a, '_> {
    /// Visits a path with all its uses.
    fn visit(&mut self, uses: &[(TreePath<'a>, &'a Place, StepIndex, &'a Uses)]) {
        let Some((path, place, ..)) = uses.first().copied() else {
            return;
        };
        let is_left = |level: &Level<'_>| !level.path.is_above(path);
        while self.levels.last().is_some_and(is_left) {
            self.leave();
        }
        let mut by = UsedBy::default();
        let (mut users, mut listers) = (self.none.clone(), self.none.clone());
        for (_, _, step, uses) in uses {
            users.set(*step);
            by.users.push(*step);
            if uses.written {
                by.writers.push(*step);
            }
            if uses.listed {
                listers.set(*step);
            }
        }
        let folder = self.levels.last_mut();
        if let Some(folder) = folder {
            for writer in by.writers.iter().filter(|_| folder.path.is_folder_of(path)) {
                self.meets[*writer].add(&folder.listers);
            }
            folder.below.add(&users);
        }
        for writer in &by.writers {
            self.meets[*writer].add(&users);
        }
        if let Place::Repository(place) = place {
            let listers: Vec<StepIndex> = listers.iter().collect();
            if !listers.is_empty() {
                self.used.listed.insert(place, listers);
            }
            self.used.files.entry(by.clone()).or_default().push(place);
        }
        self.levels.push(Level {
            path,
            writers: by.writers,
            listers,
            below: self.none.clone(),
        });
    }

    /// Leaves the innermost folder; `false` when there is none.
    fn leave(&mut self) -> bool {
        let Some(level) = self.levels.pop() else {
            return false;
        };
        for writer in &level.writers {
            self.meets[*writer].add(&level.below);
        }
        if let Some(folder) = self.levels.last_mut() {
            folder.below.add(&level.below);
        }
        true
    }
}
