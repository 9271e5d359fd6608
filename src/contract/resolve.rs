//! Resolves the names of a draft, and suggests one for a name that refers to nothing.

use super::caps::Caps;
use super::draft::{At, Check, Draft, Inclusion, PathsIndex, Rows};
use super::error::{
    EACH_SAME_NAME, NAME_LENGTH, PATTERN_ALL, PATTERN_EMPTY, UNKNOWN_CHECK, another_name,
    defined_twice,
};
use super::{BUILT_IN_ROLES, CheckIndex, InclusionIndex};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics};
use vplan_base::hole::Values;
use vplan_base::index::{Dense, numbered};
use vplan_base::name::{is_pattern, matches, slug};
use vplan_base::nearest::nearest_within;
use vplan_base::source::Sources;
use vplan_base::span::Place;
use vplan_base::word::visible;

/// All names that a contract defines.
#[derive(Debug, Default)]
pub(super) struct Names<'d> {
    /// The definitions of checks, in file order.
    pub(super) defined: Dense<CheckIndex, &'d Check>,
    /// Named checks; of two with one name the first.
    checks: BTreeMap<&'d str, CheckIndex>,
    /// `paths` definitions; of two with one name the first.
    pub(super) paths: BTreeMap<&'d str, PathsIndex>,
    /// The roles, built in ones included.
    pub(super) roles: BTreeSet<&'d str>,
    /// The uses of imported files, for messages.
    inclusions: &'d [Inclusion],
    /// The prefixes of the names in files that could not be read.
    absent: &'d [String],
    /// The number of comparisons that may still be made to find out what was meant.
    comparisons: Cell<usize>,
}

/// Enough for hundreds of misspelt names in a contract of ordinary size, little enough for a
/// contract made of them.
const COMPARISONS: usize = 200_000;

impl<'d> Names<'d> {
    /// No names at all, for looking up what was meant elsewhere.
    pub(super) fn none() -> Self {
        Self {
            comparisons: Cell::new(COMPARISONS),
            ..Self::default()
        }
    }

    /// Collects the names; reports those that are defined twice or too long.
    pub(super) fn collect(
        draft: &'d Draft,
        caps: &Caps,
        incomplete: bool,
        sink: &mut Diagnostics,
    ) -> Self {
        let defined: Dense<CheckIndex, &Check> = draft.checks().collect();
        // A front end with errors of its own has spoken of the names that are too long.
        let most = match incomplete {
            true => usize::MAX,
            false => caps.name_bytes,
        };
        let chains = (draft.inclusions.as_slice(), &draft.rows);
        let named = defined.numbered();
        let named = named.filter_map(|(i, c)| Some((c.name.as_ref()?, i, c.inclusion)));
        let checks = unique("check", named, most, chains, sink);
        let named = numbered(&draft.paths).map(|(i, p)| (&p.name, i, p.inclusion));
        let paths = unique("named selection", named, most, chains, sink);
        let named = draft.roles.iter();
        let named = named.map(|r| (&r.name, (), InclusionIndex::CONTRACT));
        let roles = unique("role", named, most, chains, sink);
        let named = draft.risks.iter().map(|r| (&r.name, (), r.inclusion));
        unique("trigger", named, most, chains, sink);
        let roles = BUILT_IN_ROLES.into_iter().chain(roles.into_keys());
        Self {
            defined,
            checks,
            paths,
            roles: roles.collect(),
            inclusions: chains.0,
            absent: &draft.absent,
            comparisons: Cell::new(COMPARISONS),
        }
    }

    /// The check with this name, or the checks that a pattern matches, in file order, without the
    /// one that `own` names; reports what no check has.
    pub(super) fn checks(
        &self,
        name: &At<String>,
        own: Option<&str>,
        sink: &mut Diagnostics,
    ) -> Vec<CheckIndex> {
        let all = self.checks.iter().map(|(name, index)| (*name, *index));
        let found: Vec<CheckIndex> = if self.is_lone(&name.value, name.place) {
            Vec::new()
        } else if is_pattern(&name.value) {
            let found = matched(&name.value, &self.checks).into_iter();
            let found = found.filter(|(_, name)| Some(*name) != own);
            found.map(|(index, _)| index).collect()
        } else {
            let found = self.checks.get(name.value.as_str());
            found.copied().into_iter().collect()
        };
        if found.is_empty() && !self.is_absent(&name.value) {
            sink.push(self.unknown_check(name.as_ref(), all.map(|(name, _)| name)));
        }
        found
    }

    /// Whether a name is a lone `*`.
    fn is_lone(&self, name: &str, place: Place) -> bool {
        let own = name.strip_suffix('*');
        own.is_some_and(|own| own.is_empty() || own == self.namespace(name, place))
    }

    /// A message about a name that no check has, or a pattern that matches none.
    pub(super) fn unknown_check<'a>(
        &self,
        name: At<&str>,
        known: impl Iterator<Item = &'a str>,
    ) -> Diagnostic {
        if !is_pattern(name.value) {
            return self.unknown(UNKNOWN_CHECK, "check", name, known);
        }
        let namespace = self.namespace(name.value, name.place);
        let written = name.value.strip_prefix(namespace).unwrap_or(name.value);
        let shown = visible(written);
        if self.is_lone(name.value, name.place) {
            let why = "all checks are meant by `*` in a `sequence` only";
            return Diagnostic::error(PATTERN_ALL, "`*` alone names no check")
                .label(name.place, why)
                .help("name them, or a part of their names, as in `build-*`");
        }
        let error = Diagnostic::error(PATTERN_EMPTY, format!("no check is called `{shown}`"));
        // `bild-*` where there is `build-core`: what the names begin with, as far as a separator.
        let (head, tail) = written.split_once('*').unwrap_or((written, ""));
        let known = known.filter_map(|known| known.strip_prefix(namespace));
        let heads = known.flat_map(|known| {
            let ends = known.match_indices(['-', '_', '.', ':', '/']);
            ends.filter_map(|(at, _)| known.get(..=at))
        });
        let heads: BTreeSet<&str> = heads.collect();
        match self.nearest(head, heads.into_iter()) {
            Some(near) => error
                .label(name.place, format!("did you mean `{near}*{tail}`?"))
                .help(format!("replace `{shown}` by `{near}*{tail}`")),
            None => error
                .label(name.place, "a pattern matches one check at least")
                .help("`*` stands for any characters but `/`"),
        }
    }

    /// Whether a file that could not be read may well have defined this name.
    pub(super) fn is_absent(&self, name: &str) -> bool {
        self.absent.iter().any(|a| name.starts_with(a.as_str()))
    }

    /// The part of a name that an import put in front of what the file says.
    pub(super) fn namespace(&self, name: &str, place: Place) -> &'d str {
        let same = self.inclusions.iter().filter(|i| i.source == place.source);
        let all = same.map(|i| i.namespace.as_str());
        let fits = all.filter(|namespace| name.starts_with(namespace));
        fits.max_by_key(|n| n.len()).unwrap_or_default()
    }

    /// The checks that have names.
    pub(super) fn named_checks(&self) -> &BTreeMap<&'d str, CheckIndex> {
        &self.checks
    }

    /// Whether a check has this name.
    pub(super) fn has_check(&self, name: &str) -> bool {
        self.checks.contains_key(name)
    }

    /// A message about a word that is none of those known, with the nearest of them.
    pub(super) fn unknown<'a>(
        &self,
        code: Code,
        what: &str,
        word: At<&str>,
        known: impl Iterator<Item = &'a str>,
    ) -> Diagnostic {
        let namespace = self.namespace(word.value, word.place);
        let written = word.value.strip_prefix(namespace).unwrap_or(word.value);
        let shown = visible(written);
        let error = Diagnostic::error(code, format!("unknown {what} `{shown}`"));
        match self.nearest(written, known.filter_map(|k| k.strip_prefix(namespace))) {
            Some(near) => error
                .label(word.place, format!("did you mean `{near}`?"))
                .help(format!("replace `{shown}` by `{near}`")),
            None => error.label(word.place, format!("no {what} has this name")),
        }
    }

    /// The known word that was probably meant.
    pub(super) fn nearest<'a>(
        &self,
        word: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Option<&'a str> {
        nearest_within(word, known, &self.comparisons)
    }
}

/// The checks whose names a pattern matches, in file order.
pub(super) fn matched<'n>(
    pattern: &str,
    named: &BTreeMap<&'n str, CheckIndex>,
) -> Vec<(CheckIndex, &'n str)> {
    let literal = pattern.split('*').next().unwrap_or_default();
    let mut found = Vec::new();
    let begins = (Bound::Included(literal), Bound::Unbounded);
    for (name, index) in named.range::<str, _>(begins) {
        if !name.starts_with(literal) {
            break;
        }
        if matches(pattern, name) {
            found.push((*index, *name));
        }
    }
    found.sort();
    found
}

impl At<String> {
    /// The same, borrowed.
    pub(super) fn as_ref(&self) -> At<&str> {
        At::new(&self.value, self.place)
    }
}

/// The first definition of each name; reports the later ones.
fn unique<'d, I>(
    what: &str,
    names: impl Iterator<Item = (&'d At<String>, I, InclusionIndex)>,
    name_bytes: usize,
    (inclusions, rows): (&[Inclusion], &Rows),
    sink: &mut Diagnostics,
) -> BTreeMap<&'d str, I> {
    let mut seen: BTreeMap<&str, (I, Place, InclusionIndex)> = BTreeMap::new();
    let chain = |inclusion| Inclusion::find(inclusions, inclusion).map_or(&[][..], |i| &i.chain);
    for (name, index, inclusion) in names {
        if name.value.len() > name_bytes {
            let bytes = name.value.len();
            let message = format!("a name has {bytes} bytes, {name_bytes} are the most");
            sink.push(Diagnostic::error(NAME_LENGTH, message).label(name.place, "too long"));
        }
        match seen.get(name.value.as_str()) {
            Some((_, first, _)) if first.span == name.place.span && name.place.row > 0 => {
                let shown = visible(&name.value);
                let error = format!("several rows make the {what} `{shown}`");
                let error = Diagnostic::error(EACH_SAME_NAME, error)
                    .label(name.place, "the same in each row")
                    .help(match rows.get(name.place).and_then(Values::innermost) {
                        Some(hole) => format!("put the value into the name: `{shown}-{{{hole}}}`"),
                        None => "put the value into the name".to_owned(),
                    });
                sink.push(error);
            }
            Some((_, first, before)) => {
                let what_of = format!("{what} `{}`", visible(&name.value));
                let mut error = defined_twice(&what_of, name.place, *first);
                for place in chain(inclusion) {
                    error = error.label(*place, "the second comes with this");
                }
                for place in chain(*before) {
                    error = error.label(*place, "the first comes with this");
                }
                sink.push(match what {
                    "role" => error.help("write all of it into one block"),
                    _ => error.help(another_name([inclusion, *before])),
                });
            }
            None => {
                seen.insert(&name.value, (index, name.place, inclusion));
            }
        }
    }
    let seen = seen.into_iter();
    seen.map(|(name, (index, ..))| (name, index)).collect()
}

/// Ids for the checks that have no name: their words joined by `-`, made unique by `-2`, `-3`…,
/// none of them a name that a check has.
pub(super) fn derive_ids(names: &Names<'_>) -> Dense<CheckIndex, String> {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut next: BTreeMap<String, usize> = BTreeMap::new();
    let mut ids = Dense::default();
    for check in &names.defined {
        if let Some(name) = &check.name {
            ids.push(name.value.clone());
            continue;
        }
        let used = Inclusion::find(names.inclusions, check.inclusion);
        let base = used.map_or(String::new(), |used| used.namespace.clone()) + &base_id(check);
        let counter = next.entry(base.clone()).or_insert(1);
        let id = loop {
            let id = match *counter {
                1 => base.clone(),
                _ => format!("{base}-{counter}"),
            };
            *counter += 1;
            if !names.has_check(&id) && taken.insert(id.clone()) {
                break id;
            }
        };
        ids.push(id);
    }
    ids
}

/// Limit of an id derived from words, in bytes, before it is made unique.
const DERIVED_BYTES: usize = 64;

fn base_id(check: &Check) -> String {
    use super::draft::Verb;
    let text = match check.verbs.first().map(|v| &v.value) {
        Some(Verb::Command(_, command)) => {
            let mut bare = command.clone();
            if let vplan_base::command::Command::Argv { env, .. } = &mut bare {
                env.clear();
            }
            bare.to_text()
        }
        Some(Verb::Shell(text) | Verb::Judge(text)) => text.clone(),
        Some(Verb::File { path, .. }) => path.value.clone(),
        None => String::new(),
    };
    slug(&text, DERIVED_BYTES, "run")
}

/// The line of a place, from 1.
pub(super) fn line(sources: &Sources, place: Place) -> usize {
    sources.position(place).line
}

#[cfg(test)]
mod tests {
    use super::super::draft::{CheckEntry, Verb};
    use super::*;
    use vplan_base::command::{Command, Env, Piece};
    use vplan_base::word::Word;
    use vplan_check::Kind;

    fn check(name: Option<&str>, words: &[&str]) -> CheckEntry {
        let pieces = words.iter().map(|w| Piece::Word(Word::from(*w))).collect();
        let env = Env::from([("CI".to_owned(), Word::from("1"))]);
        CheckEntry::Check(Box::new(Check {
            name: name.map(|n| At::new(n.to_owned(), Place::default())),
            verbs: vec![At::new(
                Verb::Command(Kind::Run, Command::Argv { env, pieces }),
                Place::default(),
            )],
            ..Check::default()
        }))
    }

    #[test]
    fn ids_of_anonymous_checks() {
        let entries = vec![
            check(None, &["pnpm", "run", "lint"]),
            check(None, &["pnpm", "run", "lint"]),
            check(Some("pnpm-run-lint-2"), &["true"]),
            check(None, &["pnpm", "run", "lint"]),
            check(None, &["./scripts/check all.sh", "--fast", "ü*"]),
            check(None, &["7z", "t"]),
            check(None, &["é"]),
            check(None, &["x".repeat(500).as_str()]),
        ];
        let draft = Draft {
            entries,
            ..Draft::default()
        };
        let mut sink = Diagnostics::default();
        let names = Names::collect(&draft, &Caps::default(), false, &mut sink);
        let ids = derive_ids(&names);
        let long = "x".repeat(64);
        let want = [
            "pnpm-run-lint",
            "pnpm-run-lint-3",
            "pnpm-run-lint-2",
            "pnpm-run-lint-4",
            "scripts-check-all-sh-fast",
            "run-7z-t",
            "run",
            long.as_str(),
        ];
        assert_eq!(ids.into_vec(), want);
        assert!(sink.is_empty());
    }

    #[test]
    fn what_was_meant() {
        let mut sink = Diagnostics::default();
        let draft = Draft::default();
        let names = Names::collect(&draft, &Caps::default(), false, &mut sink);
        let known = ["tester", "worker", "docser", "reviewer"];
        for (word, near) in [
            ("testr", Some("tester")),
            ("Tester", Some("tester")),
            ("wroker", Some("worker")),
            ("revewer", Some("reviewer")),
            ("lead", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(names.nearest(word, known.into_iter()), near, "{word}");
        }
        for _ in 0..COMPARISONS {
            names.nearest("aaaaaa", ["bbbbbb"].into_iter());
        }
        assert_eq!(
            names.nearest("testr", known.into_iter()),
            None,
            "a text made of unknown names stays cheap"
        );
    }
}
