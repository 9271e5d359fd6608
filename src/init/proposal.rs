//! Proposes a contract: sources, classes, folding, order, conditions, names, text.

use super::account::{Account, Sources, shorten};
use super::check::{Check, Condition, Uncovered};
use super::classify::{Class, Classified, classify};
use super::found::{Ending, NotRead, Origin, Place, Reading, SourceCommand};
use super::listed::listed;
use super::tree::Tree;
use super::{
    circleci, conditions, fold,
    github::{self, ELSEWHERE},
    gitlab, hooks, manifests, names, rank, text, workspace,
};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::command::Command;
use vplan_base::path::RepoPath;
use vplan_base::word::visible;
use vplan_check::Kind;
use vplan_check::tool::table::{TaskVerb, task_word};

/// Maximum depth of commands that replace others.
const MAX_DEPTH: usize = 3;

/// A proposed contract, with the account of all that was found.
#[derive(Clone, Debug, Default)]
pub struct Proposal {
    /// The checks, in the order of their sources.
    pub checks: Vec<Check>,
    pub account: Account,
    /// The contract, laid out as `vplan fmt` does.
    pub text: String,
}

impl Proposal {
    fn of(checks: Vec<Check>, account: Account, title: &str, tree: &Tree) -> Self {
        let text = text::write(title, &checks, &account, tree);
        Self {
            checks,
            account,
            text,
        }
    }
}

/// Proposes a contract from all sources.
#[must_use]
pub fn propose(tree: &Tree, title: &str) -> Proposal {
    let (ci, sources) = ci(tree);
    let mut maker = Maker::default();
    maker.take(tree, ci);
    maker.take(tree, hooks::read(tree));
    // What a workflow of another repository runs, the manifests may say.
    let is_elsewhere = |part: &NotRead| part.why.starts_with(ELSEWHERE);
    let is_said = maker.all.iter().any(|check| check.origin == Origin::Ci);
    if !is_said || maker.not_read.iter().any(is_elsewhere) {
        let named: BTreeSet<Kind> = maker.all.iter().map(|check| check.verb).collect();
        maker.take(tree, manifests::read(tree));
        let is_new = |check: &Check| !named.contains(&check.verb);
        maker
            .all
            .retain(|check| check.origin != Origin::Manifest || is_new(check));
    }
    maker.leave_served();
    maker.fill_gaps(tree);
    let mut rest = Reading::default();
    for (file, why) in &tree.unread {
        rest.skip(Place::of(file, 1), None, why);
    }
    maker.not_read.extend(rest.not_read);
    workspace::rows(&mut maker.all, tree);
    maker.close(tree, sources, title, rank::BUDGET)
}

/// Proposes a contract from what one file declares, all of it.
#[must_use]
pub fn translate(tree: &Tree, reading: Reading, name: &str) -> Proposal {
    let mut maker = Maker::default();
    maker.take(tree, reading);
    let sources = Sources {
        converted: Some(name.to_owned()),
        ..Sources::default()
    };
    maker.close(tree, sources, "", usize::MAX)
}

/// The commands of a repository without a contract, from its manifests, with their ids.
#[must_use]
pub fn fallback(tree: &Tree) -> Vec<(String, Command)> {
    let mut maker = Maker::default();
    let mut reading = manifests::read(tree);
    reading.found.retain(|found| found.dir.is_root());
    maker.take(tree, reading);
    maker.fill_gaps(tree);
    let proposal = maker.close(tree, Sources::default(), "", rank::BUDGET);
    let checks = proposal.checks.into_iter();
    let at_root = checks.filter(|check| check.dir.is_root());
    at_root
        .map(|check| (check.name, text::command(&check.words)))
        .collect()
}

/// The proposal without these checks, by name, each with the reason.
#[must_use]
pub fn without(
    proposal: &Proposal,
    left_out: &BTreeMap<String, String>,
    title: &str,
    tree: &Tree,
) -> Proposal {
    let mut account = proposal.account.clone();
    let kept = proposal.checks.iter().enumerate();
    let kept = kept.filter(|(_, check)| !left_out.contains_key(&check.name));
    let kept: BTreeSet<usize> = kept.map(|(at, _)| at).collect();
    let (checks, out) = split(proposal.checks.clone(), &kept);
    account.leave(out.iter().map(|check| {
        let why = left_out.get(&check.name);
        check.left(why.cloned().unwrap_or_default())
    }));
    Proposal::of(checks, account, title, tree)
}

/// Words of checks of documentation.
const DOCS: &str = "book doc docs documentation mdbook mkdocs site sphinx website";

/// Files of CI systems and hooks that are not read.
const UNREAD: &str = "\
    .appveyor.yml .buildkite/pipeline.yml .cirrus.yml .drone.yml .travis.yml .woodpecker.yml \
    .lintstagedrc.cjs .lintstagedrc.js .lintstagedrc.mjs Jenkinsfile appveyor.yml \
    azure-pipelines.yml bitbucket-pipelines.yml hk.pkl lint-staged.config.cjs \
    lint-staged.config.js lint-staged.config.mjs lint-staged.config.ts";

/// The files of a CI system, and its reader.
type CiReader = (
    fn(&Tree) -> Vec<RepoPath>,
    fn(&Tree, &[RepoPath]) -> Reading,
);

/// What CI declares. Where GitHub has workflows, another CI system is one line.
fn ci(tree: &Tree) -> (Reading, Sources) {
    let readers: [CiReader; 3] = [
        (github::files, github::read),
        (gitlab::files, gitlab::read),
        (circleci::files, circleci::read),
    ];
    let mut all = Reading::default();
    let mut sources = Sources::default();
    for (files, read) in readers {
        let files = files(tree);
        if sources.files.is_empty() && !files.is_empty() {
            all = read(tree, &files);
            sources.files = files;
            continue;
        }
        for file in files {
            all.skip(Place::of(&file, 1), None, "a second CI system");
        }
    }
    for file in tree.present(UNREAD) {
        all.skip(Place::of(&file, 1), None, "`init` does not read it");
    }
    (all, sources)
}

/// What became of the commands so far.
#[derive(Default)]
struct Maker {
    /// The checks before they are folded.
    all: Vec<Check>,
    left: Vec<Uncovered>,
    not_read: Vec<NotRead>,
    /// The commands that install: they are one line together.
    setup: Vec<Uncovered>,
    /// The services that the commands of jobs start.
    served: BTreeMap<String, String>,
    /// Source lines that were taken.
    taken: BTreeSet<(Place, String)>,
}

impl Maker {
    fn take(&mut self, tree: &Tree, reading: Reading) {
        let before = self.taken.clone();
        for found in reading.found {
            // A hook that CI starts was read already.
            if !before.contains(&(found.place.clone(), found.words.join(" "))) {
                self.add(tree, &found, 0);
            }
        }
        self.not_read.extend(reading.not_read);
    }

    fn add(&mut self, tree: &Tree, found: &SourceCommand, depth: usize) {
        let line = (found.place.clone(), found.words.join(" "));
        self.taken.insert(line);
        let one = classify(found, tree);
        if let (true, Some(job)) = (one.is_service, &found.job) {
            let text = shorten(&found.text);
            self.served.entry(job.clone()).or_insert(text);
        }
        match &one.class {
            Class::Silent => {}
            Class::Instead(inner) if depth < MAX_DEPTH => {
                if inner.is_empty() {
                    self.leave(found, &one, "nothing that it starts was read");
                }
                for inner in inner {
                    self.add(tree, inner, depth + 1);
                }
            }
            Class::Instead(_) => self.leave(found, &one, "it starts itself"),
            Class::Out(why) => self.leave(found, &one, why),
            Class::Setup(how) => self.leave(found, &one, how),
            Class::Check if visible(one.dir.as_bytes()).as_bytes() != one.dir.as_bytes() => {
                self.leave(found, &one, "the name of its folder is no plain text");
            }
            Class::Check if !text::can_be_said(&one.form) => {
                self.leave(found, &one, "no line of a contract can say it");
            }
            Class::Check => self.keep(tree, found, one),
        }
    }

    fn leave(&mut self, found: &SourceCommand, one: &Classified, why: &str) {
        let says = |word: &str| task_word(word) == TaskVerb::Test;
        let is_test = one.verb == Kind::Test
            || why == "not a known tool" && found.words.iter().take(4).any(|word| says(word));
        let left = Uncovered {
            text: found.text.clone(),
            place: found.place.clone(),
            why: why.to_owned(),
            is_test,
        };
        let list = match one.class {
            Class::Setup(_) => &mut self.setup,
            _ => &mut self.left,
        };
        // The cells of a matrix, and the commands of a line, are one line of the account.
        match list.iter_mut().find(|old| old.place == left.place) {
            Some(old) if left.is_test && !old.is_test => *old = left,
            Some(_) => {}
            None => list.push(left),
        }
    }

    fn keep(&mut self, tree: &Tree, found: &SourceCommand, one: Classified) {
        let is_docs = |name: &str| {
            let mut words = name.split(|c: char| !c.is_alphanumeric());
            words.any(|word| listed(DOCS, word))
        };
        let docs = one.verb != Kind::Test && (is_docs(&one.name) || is_docs(&one.key.tool));
        let started = found.job.as_ref().and_then(|job| self.served.get(job));
        let services = found.services.iter().chain(started).cloned().collect();
        self.all.push(Check {
            name: names::word(&one.name),
            verb: one.verb,
            words: one.form,
            env: found.env.clone(),
            dir: one.dir,
            place: found.place.clone(),
            origin: found.origin,
            job: found.job.clone(),
            label: found.label.clone(),
            condition: conditions::of(&found.paths, one.paths, tree),
            needs: Vec::new(),
            unchanged: one.unchanged && found.ending == Ending::TreeCompared,
            notes: one.note.into_iter().collect(),
            is_uncounted: one.is_uncounted && one.verb == Kind::Test,
            key: one.key,
            tools: one.tools,
            parts: one.parts,
            is_build: one.is_build,
            is_docs: docs,
            oddness: found.oddness,
            services,
            inputs: Vec::new(),
            tier: 0,
        });
    }

    /// Leaves out the tests that need services, where others need none.
    fn leave_served(&mut self) {
        let is_served = |check: &Check| check.verb == Kind::Test && !check.services.is_empty();
        let is_free = |check: &Check| check.verb == Kind::Test && !is_served(check);
        if !self.all.iter().any(is_free) {
            return;
        }
        for check in self.all.extract_if(.., |check| is_served(check)) {
            let why = format!("its job starts {}", check.services.join(", "));
            self.left.push(check.left(why));
        }
    }

    fn fill_gaps(&mut self, tree: &Tree) {
        let tests = self.all.iter().filter(|check| check.verb == Kind::Test);
        let tested = tests.map(|check| match check.condition {
            Condition::Set(set) if set != "code" => set,
            _ => "all",
        });
        let tested: BTreeSet<&str> = tested.collect();
        for found in manifests::gaps(tree, &tested) {
            self.add(tree, &found, 0);
        }
    }

    fn close(self, tree: &Tree, mut sources: Sources, title: &str, budget: usize) -> Proposal {
        let jobs: Vec<Option<String>> = self.all.iter().map(|check| check.job.clone()).collect();
        let (mut checks, folded, stands) = fold::fold(self.all);
        let commands: Vec<_> = jobs.into_iter().zip(stands).collect();
        rank::order(&mut checks, &commands);
        let kept = rank::choose(&checks, budget);
        let mut left = self.left;
        let (checks, beyond) = split(checks, &kept);
        for check in beyond {
            let one = check.left(format!("beyond {budget} checks"));
            if left.iter().all(|old| old.place != one.place) {
                left.push(one);
            }
        }
        let checks = names::name(checks);
        sources.files.sort();
        let account = Account::new(sources, &checks, left, self.setup, self.not_read, folded);
        Proposal::of(checks, account, title, tree)
    }
}

/// Those that are kept, with the places of what they need, and the others.
fn split(checks: Vec<Check>, kept: &BTreeSet<usize>) -> (Vec<Check>, Vec<Check>) {
    let places: Vec<usize> = kept.iter().copied().collect();
    let (mut own, mut beyond) = (Vec::new(), Vec::new());
    for (at, mut check) in checks.into_iter().enumerate() {
        if kept.contains(&at) {
            let needs = check.needs.iter();
            let needs = needs.filter_map(|need| places.binary_search(need).ok());
            check.needs = needs.collect();
            own.push(check);
        } else {
            beyond.push(check);
        }
    }
    (own, beyond)
}

#[cfg(test)]
mod tests;
