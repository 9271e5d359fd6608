//! Validates a contract's tests: every name exists, and no two assertions exclude each other.

use super::{AssertionKind, Expect, ExpectAssertion};
use crate::checker::Checker;
use crate::draft::{self, At, ExpectLine};
use crate::error::{
    DUPLICATE_LINE, DUPLICATE_NAME, EACH_SAME_NAME, EMPTY_EXPECT, EXPECT_CONFLICT, EXPECT_TITLE,
    PATH, TESTS_MISPLACED, UNKNOWN_ROLE,
};
use crate::resolve::{Names, line, matched};
use crate::selection::{repo_path, warn_of_glob};
use crate::settings::quoted_list;
use crate::{BUILT_IN_ROLES, CheckIndex, Contract};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::change::{ChangeSet, ChangedFile, split_status};
use vplan_base::diagnostic::{Diagnostic, Diagnostics};
use vplan_base::name::is_pattern;
use vplan_base::source::Sources;
use vplan_base::span::Place;
use vplan_base::word::visible;

/// Validates the tests of a test file against their contract. Omits those with an error.
pub fn validate_tests(
    drafts: &[draft::Expect],
    contract: &Contract,
    sources: &Sources,
    sink: &mut Diagnostics,
) -> Vec<Expect> {
    let checks = || contract.checks.numbered();
    let known = KnownNames {
        checks: checks().map(|(_, c)| c.id.as_str()).collect(),
        named: checks()
            .filter(|(_, c)| c.named)
            .map(|(index, c)| (c.id.as_str(), index))
            .collect(),
        roles: contract.roles.keys().map(String::as_str).collect(),
        names: &Names::none(),
    };
    known.expects(drafts, sources, sink)
}

impl Checker<'_> {
    /// The contract's own tests.
    pub(crate) fn expects(&mut self) -> Vec<Expect> {
        for tests in &self.draft.tests {
            let message = "`tests` does not stand in a contract";
            let label = "this says that the file holds tests of another";
            let error = Diagnostic::at(TESTS_MISPLACED, message, tests.place, label);
            self.report(error.help("`vplan test` reads files of tests, named `NAME.test.vplan`; a contract's own tests need no `tests`"));
        }
        let named = self.names.named_checks();
        let ids = self.ids.iter().map(String::as_str);
        let known = KnownNames {
            checks: named.keys().copied().chain(ids).collect(),
            named: named.clone(),
            roles: self.names.roles.clone(),
            names: &self.names,
        };
        known.expects(&self.draft.expects, self.sources, self.sink)
    }
}

/// The names that a test may use.
struct KnownNames<'k> {
    checks: BTreeSet<&'k str>,
    /// Those that a pattern can match.
    named: BTreeMap<&'k str, CheckIndex>,
    roles: BTreeSet<&'k str>,
    /// For suggestions.
    names: &'k Names<'k>,
}

impl KnownNames<'_> {
    fn expects(
        &self,
        drafts: &[draft::Expect],
        sources: &Sources,
        sink: &mut Diagnostics,
    ) -> Vec<Expect> {
        let mut titles: BTreeMap<&str, Place> = BTreeMap::new();
        let mut all = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let title = &draft.title;
            if title.value.trim().is_empty() {
                let error = Diagnostic::error(EXPECT_TITLE, "a test has no title")
                    .label(title.place, "nothing is said");
                sink.push(error.help("say what is expected: it is what a failure shows"));
            } else if let Some(first) = titles.get(title.value.as_str())
                && first.span == title.place.span
                && title.place.row > 0
            {
                let error = "several rows make a test with the same text".to_owned();
                sink.push(
                    Diagnostic::error(EACH_SAME_NAME, error)
                        .label(title.place, "the same in each row")
                        .help("put the value into the text: `{NAME}`"),
                );
            } else if let Some(first) = titles.get(title.value.as_str()) {
                let message = format!("two tests are called `{}`", visible(&title.value));
                let error = Diagnostic::twice(DUPLICATE_NAME, message, title.place, *first);
                sink.push(error.help("say what is different about this one"));
            } else {
                titles.insert(&title.value, title.place);
            }
            all.extend(self.expect(draft, sources, sink));
        }
        all
    }

    fn expect(
        &self,
        draft: &draft::Expect,
        sources: &Sources,
        sink: &mut Diagnostics,
    ) -> Option<Expect> {
        let mut wrong = Diagnostics::default();
        let mut expect = Expect {
            title: draft.title.value.clone(),
            place: draft.title.place,
            line: line(sources, draft.title.place),
            role: None,
            changed: ChangeSet::default(),
            min_tier: 0,
            risk: None,
            ends: BTreeSet::new(),
            commands: Vec::new(),
            exists: BTreeSet::new(),
            assertions: Vec::new(),
        };
        let mut seen: BTreeMap<&str, Place> = BTreeMap::new();
        let mut files = Vec::new();
        // The steps of commands have names that no contract knows.
        let closed = !draft
            .lines
            .iter()
            .any(|l| matches!(l.value, ExpectLine::Command(_)));
        for entry in &draft.lines {
            let keyword = entry.value.keyword();
            let repeatable = matches!(entry.value, ExpectLine::Changed(_) | ExpectLine::Command(_));
            if let Some(first) = seen.insert(keyword, entry.place).filter(|_| !repeatable) {
                seen.insert(keyword, first);
                let message = format!("`{keyword}` stands twice");
                let error = Diagnostic::twice(DUPLICATE_LINE, message, entry.place, first);
                wrong.push(error.help("keep one of them"));
                continue;
            }
            match &entry.value {
                ExpectLine::Role(role) => expect.role = self.role(role, &mut wrong),
                ExpectLine::Changed(list) => {
                    files.extend(list.iter().filter_map(|f| changed_file(f, &mut wrong)))
                }
                ExpectLine::Tier(tier) => expect.min_tier = *tier,
                ExpectLine::RiskLevel(level) => expect.risk = Some(*level),
                ExpectLine::At(ends) => expect.ends = ends.iter().copied().collect(),
                ExpectLine::Command(command) => expect.commands.push(command.clone()),
                ExpectLine::Exists(paths) => {
                    for path in paths {
                        warn_of_glob("what `exists` names", &path.value, path.place, &mut wrong);
                        let path = repo_path("the path", &path.value, path.place, &mut wrong);
                        expect.exists.extend(path);
                    }
                }
                ExpectLine::Assertion(kind, names) => {
                    let names = self.names(names, closed, &mut wrong);
                    expect.assertions.push(ExpectAssertion {
                        kind: *kind,
                        names,
                        place: entry.place,
                    });
                }
            }
        }
        expect.changed = ChangeSet::new(files);
        if expect.assertions.is_empty() && !draft.broken {
            let message = format!("the test `{}` asserts nothing", visible(&expect.title));
            let label = "neither `plan` nor `runs` nor `skips`";
            let error = Diagnostic::at(EMPTY_EXPECT, message, expect.place, label);
            wrong.push(error.help("`plan` with the names of all checks that run, in order; a `plan` alone says that nothing runs"));
        }
        conflicts(&expect.assertions, &mut wrong);
        let sound = !wrong.has_errors();
        sink.append(wrong);
        sound.then_some(expect)
    }

    fn role(&self, role: &At<String>, sink: &mut Diagnostics) -> Option<String> {
        if !self.roles.contains(role.value.as_str()) {
            let (role, roles) = (role.as_ref(), self.roles.iter());
            let error = (self.names).unknown(UNKNOWN_ROLE, "role", role, roles.clone().copied());
            let error = error.or_help(|| {
                let own = roles.filter(|role| !BUILT_IN_ROLES.contains(role));
                format!(
                    "known are {}",
                    quoted_list(BUILT_IN_ROLES.iter().chain(own))
                )
            });
            sink.push(error);
        }
        Some(role.value.clone())
    }

    /// The names of an assertion. `closed`: every name must be that of a check.
    fn names(&self, names: &[At<String>], closed: bool, sink: &mut Diagnostics) -> Vec<At<String>> {
        let mut meant = Vec::with_capacity(names.len());
        for name in names {
            let is_pattern = is_pattern(&name.value);
            let found = if name.value == "*" {
                Vec::new()
            } else if is_pattern {
                let found = matched(&name.value, &self.named).into_iter();
                found
                    .map(|(_, id)| At::new(id.to_owned(), name.place))
                    .collect()
            } else if !closed || self.checks.contains(name.value.as_str()) {
                vec![name.clone()]
            } else {
                Vec::new()
            };
            if found.is_empty() && !self.names.is_absent(&name.value) {
                let known = self.checks.iter().copied();
                sink.push(self.names.unknown_check(name.as_ref(), known));
            }
            meant.extend(found);
        }
        meant
    }
}

/// A changed file as a test writes it.
fn changed_file(text: &At<String>, sink: &mut Diagnostics) -> Option<ChangedFile> {
    let (status, path) = split_status(text.value.as_bytes());
    // What was cut off is ASCII.
    let path = std::str::from_utf8(path).unwrap_or(&text.value);
    warn_of_glob("what `changed` names", path, text.place, sink);
    let path = repo_path("the changed path", path, text.place, sink)?;
    if path.is_root() {
        let error = Diagnostic::error(PATH, "the repository's root is no changed file");
        sink.push(error.label(text.place, "not a file of the repository"));
        return None;
    }
    Some(ChangedFile { path, status })
}

/// Reports what cannot hold together: a name that runs and does not, or that occurs twice where
/// each may occur once.
fn conflicts(assertions: &[ExpectAssertion], sink: &mut Diagnostics) {
    let of = |kind| assertions.iter().find(|a| a.kind == kind);
    let mut report = |name: &At<String>, other: Place, message: &str, text: &str, label: &str| {
        let message = format!("`{}` {message}", visible(&name.value));
        let error = Diagnostic::at(EXPECT_CONFLICT, message, name.place, text);
        let error = error.label(other, label);
        sink.push(error.help("no plan fulfils both: keep one of them"));
    };
    for assertion in assertions {
        let mut first: BTreeMap<&str, Place> = BTreeMap::new();
        for name in &assertion.names {
            if let Some(first) = first.insert(&name.value, name.place) {
                report(
                    name,
                    first,
                    "is named twice, and a plan has each check once",
                    "again here",
                    "first here",
                );
            }
        }
    }
    let find = |list: &'_ ExpectAssertion, name: &str| {
        list.names.iter().find(|n| n.value == name).map(|n| n.place)
    };
    for skipped in of(AssertionKind::Skips).into_iter().flat_map(|s| &s.names) {
        for kind in [AssertionKind::Plan, AssertionKind::Runs] {
            if let Some(place) = of(kind).and_then(|a| find(a, &skipped.value)) {
                report(
                    skipped,
                    place,
                    "is expected to run and not to run",
                    "not to run here",
                    "to run here",
                );
                break;
            }
        }
    }
    if let (Some(plan), Some(runs)) = (of(AssertionKind::Plan), of(AssertionKind::Runs)) {
        for name in runs.names.iter().filter(|n| find(plan, &n.value).is_none()) {
            report(
                name,
                plan.place,
                "is expected to run, but is not in the plan",
                "to run here",
                "not among these",
            );
        }
    }
}
