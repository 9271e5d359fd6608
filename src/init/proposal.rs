//! Proposes a contract: sources, classes, folding, order, conditions, names, text.

use crate::account::{Account, shorten};
use crate::check::{CheckKey, CommandClass, ProposedCheck, ProposedCondition, Uncovered};
use crate::classify::classify;
use crate::found::{CommandOrigin, NotRead, Place, SourceCommand, SourceReading};
use crate::github::{self, ELSEWHERE};
use crate::tree::RepositoryTree;
use crate::words::is_listed;
use crate::{circleci, conditions, fold, gitlab, hooks, manifests, names, rank, text, workspace};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::command::Command;
use vplan_base::path::RepoPath;
use vplan_base::word::visible;
use vplan_check::Kind;
use vplan_check::tool::table::{TaskVerb, list_of, task_word};

/// Maximum depth of commands that replace others.
const MAX_DEPTH: usize = 3;

/// A proposed contract, with the account of all that was found.
#[derive(Clone, Debug, Default)]
pub struct ContractProposal {
    /// The checks, in the order of their sources.
    pub checks: Vec<ProposedCheck>,
    pub account: Account,
    /// The contract, laid out as `vplan fmt` does.
    pub text: String,
}

impl ContractProposal {
    fn new(
        checks: Vec<ProposedCheck>,
        account: Account,
        title: &str,
        tree: &RepositoryTree,
    ) -> Self {
        let text = text::write(title, &checks, &account, tree);
        Self {
            checks,
            account,
            text,
        }
    }
}

/// Proposes a contract from all sources.
pub fn propose(tree: &RepositoryTree, title: &str) -> ContractProposal {
    let mut maker = Maker::default();
    let (ci, files) = ci(tree);
    maker.account.files = files;
    maker.take(tree, ci);
    maker.take(tree, hooks::read(tree));
    // What a workflow of another repository runs, the manifests may say.
    let is_elsewhere = |part: &NotRead| part.why.starts_with(ELSEWHERE);
    let is_of = |check: &ProposedCheck, origin: CommandOrigin| check.found.origin == origin;
    let is_said = maker
        .all
        .iter()
        .any(|check| is_of(check, CommandOrigin::Ci));
    if !is_said || maker.account.not_read.iter().any(is_elsewhere) {
        // A check of prose or of all texts says nothing of the code.
        let named = maker
            .all
            .iter()
            .filter(|check| conditions::is_of_code(check.paths));
        let named: BTreeSet<Kind> = named.map(|check| check.verb).collect();
        maker.take(tree, manifests::read(tree, &named));
        let is_old = |check: &ProposedCheck| named.contains(&check.verb);
        maker
            .all
            .retain(|check| !(is_of(check, CommandOrigin::Manifest) && is_old(check)));
    }
    maker.leave_served();
    maker.fill_gaps(tree);
    workspace::rows(&mut maker.all, tree);
    maker.close(tree, title, rank::BUDGET)
}

/// Proposes a contract from what one file declares, all of it.
pub fn translate(tree: &RepositoryTree, reading: SourceReading, name: &str) -> ContractProposal {
    let mut maker = Maker::default();
    maker.take(tree, reading);
    maker.account.converted = Some(name.to_owned());
    maker.close(tree, "", usize::MAX)
}

/// The commands of a repository without a contract, from its manifests, with their ids.
pub fn fallback(tree: &RepositoryTree) -> Vec<(String, Command)> {
    let mut maker = Maker::default();
    let mut reading = manifests::read(tree, &BTreeSet::new());
    reading.found.retain(|found| found.dir.is_root());
    maker.take(tree, reading);
    maker.fill_gaps(tree);
    let proposal = maker.close(tree, "", rank::BUDGET);
    let checks = proposal.checks.into_iter();
    let at_root = checks.filter(|check| check.found.dir.is_root());
    at_root
        .map(|check| (check.name, text::command(&check.found.words)))
        .collect()
}

/// The proposal without these checks, by name, each with the reason.
pub fn without(
    proposal: &ContractProposal,
    left_out: &BTreeMap<String, String>,
    title: &str,
    tree: &RepositoryTree,
) -> ContractProposal {
    let mut account = proposal.account.clone();
    let kept = proposal.checks.iter().enumerate();
    let kept = kept.filter(|(_, check)| !left_out.contains_key(&check.name));
    let kept: BTreeSet<usize> = kept.map(|(at, _)| at).collect();
    let (checks, out) = split(proposal.checks.clone(), &kept);
    account.leave(out.iter().map(|check| {
        let why = left_out.get(&check.name);
        check.left(why.cloned().unwrap_or_default())
    }));
    ContractProposal::new(checks, account, title, tree)
}

/// What CI declares. Where GitHub has workflows, another CI system is one line.
fn ci(tree: &RepositoryTree) -> (SourceReading, Vec<RepoPath>) {
    type Reader = fn(&RepositoryTree, &[RepoPath]) -> SourceReading;
    let circleci = ".circleci/config.yml .circleci/config.yaml";
    let systems = [
        (github::files(tree), github::read as Reader),
        (tree.present(".gitlab-ci.yml"), gitlab::read),
        (tree.present(circleci), circleci::read),
    ];
    let mut all = SourceReading::default();
    let mut read = Vec::new();
    for (files, reader) in systems {
        if read.is_empty() && !files.is_empty() {
            all = reader(tree, &files);
            read = files;
            continue;
        }
        for file in files {
            all.skip(Place::new(&file, 1), None, "a second CI system");
        }
    }
    for (file, why) in &tree.unread {
        all.skip(Place::new(file, 1), None, why);
    }
    for file in list_of("unread").flat_map(|file| tree.present(file)) {
        all.skip(Place::new(&file, 1), None, "`init` does not read it");
    }
    (all, read)
}

/// What became of the commands so far.
#[derive(Default)]
struct Maker {
    /// The checks before they are folded.
    all: Vec<ProposedCheck>,
    account: Account,
    /// The services that the commands of jobs start.
    served: BTreeMap<String, String>,
    /// The jobs with a command that is a check, or that is named.
    told: BTreeSet<String>,
    /// Source lines that were taken.
    taken: BTreeSet<(Place, String)>,
}

impl Maker {
    fn take(&mut self, tree: &RepositoryTree, reading: SourceReading) {
        let before = self.taken.clone();
        for found in reading.found {
            // A hook that CI starts was read already.
            if !before.contains(&(found.place.clone(), found.words.join(" "))) {
                self.add(tree, &found, 0);
            }
        }
        self.account.not_read.extend(reading.not_read);
        // Of others a command is named.
        for (job, place) in reading
            .jobs
            .iter()
            .filter(|(job, _)| !self.told.contains(*job))
        {
            let name = job.rsplit('/').next().unwrap_or(job);
            self.account.not_read.push(NotRead {
                place: place.clone(),
                part: Some(format!("job `{name}`")),
                why: "nothing in it is known to verify a change".to_owned(),
            });
        }
    }

    fn add(&mut self, tree: &RepositoryTree, found: &SourceCommand, depth: usize) {
        let line = (found.place.clone(), found.words.join(" "));
        self.taken.insert(line);
        let one = classify(found, tree);
        if let (true, Some(job)) = (one.is_service, &found.job) {
            let text = shorten(&found.text);
            self.served.entry(job.clone()).or_insert(text);
        }
        if !matches!(one.class, CommandClass::Silent | CommandClass::Setup(_)) {
            self.told.extend(found.job.clone());
        }
        let dir = one.found.dir.as_bytes();
        match &one.class {
            CommandClass::Silent => {}
            CommandClass::Instead(inner) if depth < MAX_DEPTH => {
                if inner.is_empty() {
                    self.leave(&one, "nothing that it starts was read");
                }
                for inner in inner {
                    self.add(tree, inner, depth + 1);
                }
            }
            CommandClass::Instead(_) => self.leave(&one, "it starts itself"),
            CommandClass::Out(why) => self.leave(&one, why),
            CommandClass::Setup(how) => self.leave(&one, how),
            CommandClass::Check if visible(dir).as_bytes() != dir => {
                self.leave(&one, "the name of its folder is no plain text");
            }
            CommandClass::Check if !text::can_be_said(&one.found.words) => {
                self.leave(&one, "no line of a contract can say it");
            }
            CommandClass::Check => self.keep(tree, one),
        }
    }

    fn leave(&mut self, one: &ProposedCheck, why: &str) {
        let says = |word: &String| task_word(word) == TaskVerb::Test;
        let command = &one.found;
        let is_test = one.verb == Kind::Test
            || why == "not a known tool" && command.words.iter().take(4).any(says);
        let left = Uncovered {
            text: command.text.clone(),
            is_test,
            ..one.left(why.to_owned())
        };
        let list = match one.class {
            CommandClass::Setup(_) => &mut self.account.setup,
            _ => &mut self.account.left,
        };
        // The cells of a matrix, and the commands of a line, are one line of the account.
        match list.iter_mut().find(|old| old.place == left.place) {
            Some(old) if left.is_test && !old.is_test => *old = left,
            Some(_) => {}
            None => list.push(left),
        }
    }

    fn keep(&mut self, tree: &RepositoryTree, mut one: ProposedCheck) {
        let is_docs = |name: &str| {
            let mut words = name.split(|c: char| !c.is_alphanumeric());
            words.any(|word| is_listed("docs", word))
        };
        one.is_docs = one.verb != Kind::Test && (is_docs(&one.name) || is_docs(&one.key.tool));
        if one.is_docs && one.verb == Kind::Compile && one.found.origin != CommandOrigin::Ci {
            return self.leave(&one, "it only makes documentation, and CI does not run it");
        }
        if let Some(old) = self.all.iter().find(|old| is_cell(old, &one, tree)) {
            one.key = old.key.clone();
        }
        one.name = names::word(&one.name);
        one.is_uncounted &= one.verb == Kind::Test;
        one.condition = conditions::condition(&one.found.paths, one.paths, tree);
        let job = one.found.job.as_ref();
        let started = job.and_then(|job| self.served.get(job)).cloned();
        one.found.services.extend(started);
        self.all.push(one);
    }

    /// Leaves out the tests that need services, where others need none.
    fn leave_served(&mut self) {
        let is_served =
            |check: &ProposedCheck| check.verb == Kind::Test && !check.found.services.is_empty();
        let is_free = |check: &ProposedCheck| check.verb == Kind::Test && !is_served(check);
        if !self.all.iter().any(is_free) {
            return;
        }
        for check in self.all.extract_if(.., |check| is_served(check)) {
            let why = format!("its job starts {}", check.found.services.join(", "));
            self.account.left.push(check.left(why));
        }
    }

    fn fill_gaps(&mut self, tree: &RepositoryTree) {
        let tests = self.all.iter().filter(|check| check.verb == Kind::Test);
        let tested = tests.map(|check| match check.condition {
            ProposedCondition::Set(set) if set != "code" => set,
            _ => "all",
        });
        let tested: BTreeSet<&str> = tested.collect();
        for found in manifests::gaps(tree, &tested) {
            self.add(tree, &found, 0);
        }
    }

    fn close(self, tree: &RepositoryTree, title: &str, budget: usize) -> ContractProposal {
        let jobs = self.all.iter().map(|check| &check.found);
        let jobs: Vec<_> = jobs
            .map(|one| (one.job.clone(), one.place.clone()))
            .collect();
        let mut account = self.account;
        // What another cell of a matrix proposes is covered.
        let covers = |one: &SourceCommand, left: &Uncovered| {
            let program = |text: &str| text.split_whitespace().next().map(str::to_owned);
            one.text == left.text && left.why.starts_with("cannot fail")
                || one.place == left.place && program(&one.text) == program(&left.text)
        };
        let proposed = |left: &Uncovered| self.all.iter().any(|check| covers(&check.found, left));
        account.left.retain(|left| !proposed(left));
        let (mut checks, folded, stands) = fold::fold(self.all);
        account.folded = folded;
        let commands: Vec<_> = jobs.into_iter().zip(stands).collect();
        rank::order(&mut checks, &commands);
        let kept = rank::choose(&checks, budget);
        let (checks, beyond) = split(checks, &kept);
        for check in beyond {
            let one = check.left(format!("beyond {budget} checks"));
            if account.left.iter().all(|old| old.place != one.place) {
                account.left.push(one);
            }
        }
        let checks = names::name(checks);
        account.close(&checks);
        ContractProposal::new(checks, account, title, tree)
    }
}

/// Whether two commands of a line differ in one word, which another cell of a matrix gave them: unless it names
/// a part of the tree, they are the same work.
fn is_cell(one: &ProposedCheck, other: &ProposedCheck, tree: &RepositoryTree) -> bool {
    let is_odd = one.found.oddness != other.found.oddness;
    let key = |check: &ProposedCheck| CheckKey {
        operands: Vec::new(),
        features: match is_odd {
            true => BTreeSet::new(),
            false => check.key.features.clone(),
        },
        ..check.key.clone()
    };
    let (own, others) = (&one.found.words, &other.found.words);
    let mut pairs = own.iter().zip(others).filter(|(a, b)| a != b);
    let is_part = |word: &String| {
        let path = one.found.dir.join(word.as_bytes());
        path.is_ok_and(|path| tree.files.contains(&path) || tree.has_folder(&path))
    };
    // Names that say nothing, of recipes of the same work: what is installed differs, or an option.
    let says = |check: &ProposedCheck| task_word(&check.name).kind().is_some();
    let is_recipe = !one.works.is_empty() && one.works == other.works && one.verb == other.verb;
    let is_word = own.len() == others.len()
        && pairs
            .next()
            .is_some_and(|(a, b)| !is_part(a) && !is_part(b))
        && pairs.next().is_none()
        && key(one) == key(other);
    one.found.place == other.found.place && (is_word || is_recipe && !says(one) && !says(other))
}

/// Those that are kept, with the places of what they need, and the others.
fn split(
    checks: Vec<ProposedCheck>,
    kept: &BTreeSet<usize>,
) -> (Vec<ProposedCheck>, Vec<ProposedCheck>) {
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
