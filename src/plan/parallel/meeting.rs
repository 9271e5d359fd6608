//! Says where two steps meet.

use super::declared::{first_glob, may_write_in, overlap};
use super::effects::StepEffects;
use super::known::Knowledge;
use super::paths::TreePath;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::glob::Selection;
use vplan_base::word::{first_of, visible};
use vplan_check::observed::{Observed, Place, Uses};

/// How two steps meet, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    BothWrite,
    Reads(Writer),
    LooksFor(Writer),
    Lists(Writer),
    /// One writes, and so makes or removes, what the other uses something below.
    Below(Writer),
}

/// The writing step: the one in question, or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Writer {
    This,
    That,
}

/// Where two steps meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    kind: Kind,
    /// The file, the folder or the glob.
    what: String,
}

impl Meeting {
    /// Says it for people.
    pub fn sentence(&self) -> String {
        let what = &self.what;
        let (writer, before, after) = match self.kind {
            Kind::BothWrite => return format!("both write {what}"),
            Kind::Reads(writer) => (writer, "which", "reads"),
            Kind::LooksFor(writer) => (writer, "which", "looks for"),
            Kind::Lists(writer) => (writer, "in a folder that", "lists"),
            Kind::Below(writer) => (writer, "and", "uses something below it"),
        };
        let (writes, other) = match writer {
            Writer::This => ("it", "the other"),
            Writer::That => ("the other", "it"),
        };
        format!("{writes} writes {what}, {before} {other} {after}")
    }
}

/// Where two steps meet, by kind: the places, and the globs.
#[derive(Default)]
struct Places<'a>(BTreeMap<Kind, (BTreeSet<TreePath<'a>>, BTreeSet<&'a str>)>);

impl<'a> Places<'a> {
    fn place(&mut self, kind: Kind, place: &'a Place) {
        let (places, _) = self.0.entry(kind).or_default();
        places.insert(TreePath::from_place(place));
    }

    fn glob(&mut self, kind: Kind, selection: &'a Selection) {
        let (_, globs) = self.0.entry(kind).or_default();
        globs.extend(first_glob(selection));
    }
}

/// Returns the conflict of two steps whose effects are known.
pub(super) fn meeting(this: &StepEffects<'_>, that: &StepEffects<'_>) -> Option<Meeting> {
    let mut found = Places::default();
    add(&mut found, Writer::This, this, that);
    add(&mut found, Writer::That, that, this);
    let (kind, (places, globs)) = found.0.into_iter().next()?;
    Some(Meeting {
        kind,
        what: describe_places(&places, &globs),
    })
}

/// Adds where a step meets what another one writes.
fn add<'a>(
    found: &mut Places<'a>,
    by: Writer,
    writer: &'a StepEffects<'_>,
    user: &'a StepEffects<'_>,
) {
    let (Knowledge::All(wrote), Knowledge::All(used)) = (&writer.seen, &user.seen) else {
        return;
    };
    seen_by_both(found, by, wrote, used);
    let (writer, user) = (&writer.declared, &user.declared);
    for (place, uses) in &used.files {
        let Place::Repository(path) = place else {
            continue;
        };
        for selection in &writer.written {
            if selection.selects(path) {
                found.place(kind_of(by, uses), place);
            } else if uses.listed && may_write_in(selection, path) {
                found.glob(Kind::Lists(by), selection);
            }
        }
    }
    let written = wrote.files.iter().filter(|(_, uses)| uses.written);
    for (place, _) in written {
        if let Place::Repository(path) = place
            && user.wanted.iter().any(|selection| selection.selects(path))
        {
            found.place(Kind::Reads(by), place);
        }
    }
    for selection in &writer.written {
        let mut meets = |kind, others: &[Selection]| {
            if others.iter().any(|other| overlap(selection, other)) {
                found.glob(kind, selection);
            }
        };
        meets(Kind::BothWrite, &user.written);
        meets(Kind::Reads(by), &user.wanted);
    }
}

/// Adds the conflicts between the observed writes of a step and the observed uses of another.
fn seen_by_both<'a>(found: &mut Places<'a>, by: Writer, wrote: &'a Observed, used: &'a Observed) {
    let files = used.files.iter();
    let files = files.map(|(place, uses)| (TreePath::from_place(place), uses));
    let mut all: Vec<(TreePath<'_>, &Uses)> = files.collect();
    all.sort_unstable_by_key(|(path, _)| *path);
    for (place, _) in wrote.files.iter().filter(|(_, uses)| uses.written) {
        let path = TreePath::from_place(place);
        if let Some(uses) = used.files.get(place) {
            found.place(kind_of(by, uses), place);
        }
        let next = all.partition_point(|(other, _)| *other <= path);
        let next = all.get(next);
        if next.is_some_and(|(other, _)| path.is_above(*other)) {
            found.place(Kind::Below(by), place);
        }
        let folder = path.folder();
        let at = all.binary_search_by_key(&folder, |(other, _)| Some(*other));
        let listed = at.ok().and_then(|at| all.get(at));
        if listed.is_some_and(|(_, uses)| uses.listed) {
            found.place(Kind::Lists(by), place);
        }
    }
}

/// How a step uses what another one writes.
fn kind_of(by: Writer, uses: &Uses) -> Kind {
    if uses.written {
        Kind::BothWrite
    } else if uses.read {
        Kind::Reads(by)
    } else if uses.missing || uses.found {
        Kind::LooksFor(by)
    } else {
        Kind::Lists(by)
    }
}

/// Shows a file, the folder that several are in, or a glob.
fn describe_places(places: &BTreeSet<TreePath<'_>>, globs: &BTreeSet<&str>) -> String {
    let Some(first) = places.first() else {
        let first = globs.first().copied().unwrap_or_default();
        return visible(first);
    };
    let folder = places.last().and_then(|last| first.common_folder(*last));
    match folder {
        Some(folder) if places.len() > 1 => format!("{}/", visible(folder)),
        _ => first_of(places.iter().map(|place| visible(place.as_bytes())), 1),
    }
}
