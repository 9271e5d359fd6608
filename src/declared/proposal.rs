//! Proposes a contract from all sources: `vplan init`.

use super::candidate::{Belief, Candidate, Declarations, Origin, Reason, State, Work};
use super::kind::{self, Kind};
use super::text::{self, Check};
use super::tree::Tree;
use super::{
    ci_other, conditions, github, gitlab, hooks, look, manifests, merge, normal, predecessors,
    runners, size,
};
use crate::base::path::RepoPath;
use crate::base::source::{Source, Sources};
use crate::lang::layout::{Formatted, reformat};
use crate::lang::parse::Caps;

/// A proposed contract, with the account of all that was found.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// All that the sources declare; candidates that are still open are the checks.
    pub found: Declarations,
    /// The checks, in the order of the contract.
    pub checks: Vec<Check>,
    /// The text, laid out as `vplan fmt` does.
    pub text: String,
}

impl Proposal {
    /// Whether more than a manifest declares a check: CI, hooks, a predecessor's contract.
    #[must_use]
    pub fn is_said(&self) -> bool {
        let checks = self.checks.iter();
        let candidates = checks.filter_map(|check| self.found.candidates.get(check.candidate));
        candidates
            .into_iter()
            .any(|one| one.belief > Belief::Manifest)
    }
}

/// Whether none of these commands does what no check may, in all that it runs in the end.
#[must_use]
pub fn is_harmless(tree: &Tree, commands: &[(RepoPath, Vec<String>)]) -> bool {
    let mut found = Declarations::default();
    for (dir, words) in commands {
        let origin = Origin {
            file: dir.clone(),
            line: 1,
            label: String::new(),
        };
        let work = Work::Words(words.clone());
        let one = Candidate::new(origin, Belief::Manifest, work, dir.clone());
        found.candidates.push(one);
    }
    look::through(tree, &mut found);
    found.candidates.iter().all(|one| one.state == State::Open)
}

/// Reads all sources and proposes a contract.
#[must_use]
pub fn propose(tree: &Tree, title: &str) -> Proposal {
    let mut found = Declarations::default();
    github::read(tree, &mut found);
    gitlab::read(tree, &mut found);
    ci_other::read(tree, &mut found);
    hooks::read(tree, &mut found);
    predecessors::read(tree, &mut found);
    runners::apply(tree, &mut found);
    look::through(tree, &mut found);
    let spoken = found
        .candidates
        .iter()
        .any(|one| one.state == State::Open && one.belief >= Belief::Started);
    let before = found.candidates.len();
    manifests::read(tree, &mut found);
    if spoken {
        // CI is what maintainers mean: what it does not run is often broken, slow, or writes.
        for candidate in found.candidates.iter_mut().skip(before) {
            if candidate.state == State::Open {
                candidate.leave_out(Reason::NotRun, String::new());
            }
        }
    }
    runners::apply(tree, &mut found);
    look::through(tree, &mut found);
    if spoken {
        test_anyway(&mut found, before);
    }
    close(tree, found, title)
}

/// Takes the tests that a manifest declares where CI runs its own only with what another job or CI
/// itself gives them: a contract without tests is none. The last of the manifests' is the plainest.
fn test_anyway(found: &mut Declarations, from: usize) {
    let is = |one: &Candidate, reason: Option<Reason>| match (&one.state, reason) {
        (State::Open | State::Merged(_), None) => true,
        (State::Out(own, _), Some(reason)) => *own == reason,
        _ => false,
    };
    let tests = |one: &&Candidate| kind::of(one) == Kind::Test;
    let (ci, own) = found.candidates.split_at(from.min(found.candidates.len()));
    let runs = ci.iter().filter(tests).any(|one| is(one, None));
    let wants = ci
        .iter()
        .filter(tests)
        .any(|one| is(one, Some(Reason::Unknown)));
    let last = own
        .iter()
        .rposition(|one| tests(&one) && is(one, Some(Reason::NotRun)));
    if let (false, true, Some(at)) = (runs, wants, last) {
        let one = found.candidate_mut(from + at);
        one.state = State::Open;
        one.notes.push("CI tests with what only it has".to_owned());
    }
}

/// Merges, limits and writes what was found.
#[must_use]
pub fn close(tree: &Tree, mut found: Declarations, title: &str) -> Proposal {
    for candidate in &mut found.candidates {
        candidate
            .env
            .retain(|name, value| normal::means(name, value));
        candidate.tool_path.dedup();
        if candidate.state == State::Open && !text::can_be_said(&candidate.work) {
            let why = "no line of a contract can say it";
            candidate.leave_out(Reason::Inline, why);
        }
    }
    merge::apply(&mut found);
    size::apply(&mut found);
    let conditions = conditions::derive(tree, &found);
    let checks = text::checks(&found, &conditions);
    let written = text::write(title, &found, &checks);
    let text = laid_out(written);
    Proposal {
        found,
        checks,
        text,
    }
}

/// Lays a text out; one that cannot be laid out stays as it is, and a test finds it.
pub(super) fn laid_out(text: String) -> String {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("contracts/verify.vplan", &text));
    match sources
        .get(id)
        .map(|source| reformat(source, id, &Caps::default()))
    {
        Some(Ok(Formatted::Text(laid_out))) => laid_out,
        _ => text,
    }
}

#[cfg(test)]
mod tests;
