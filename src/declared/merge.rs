//! Joins candidates that do equal work, and drops those whose work another one does (section "small":
//! a reader wants to keep the contract).

use super::candidate::{Belief, Candidate, Declarations, Reason, State, When};
use super::kind::{self, Kind};
use super::normal;
use std::collections::{BTreeMap, BTreeSet};

/// Merges equal work into the candidate of the highest belief, then lists and their parts, then what
/// a test compiles anyway.
pub fn apply(found: &mut Declarations) {
    equal(found);
    lists(found);
    compiled(found);
    let targets: Vec<usize> = (0..found.candidates.len())
        .map(|i| target(found, i))
        .collect();
    for candidate in &mut found.candidates {
        for needed in &mut candidate.needs {
            *needed = targets.get(*needed).copied().unwrap_or(*needed);
        }
    }
    // What is left out prepares nothing.
    let open: Vec<bool> = found
        .candidates
        .iter()
        .map(|c| c.state == State::Open)
        .collect();
    for (index, candidate) in found.candidates.iter_mut().enumerate() {
        candidate
            .needs
            .retain(|n| *n != index && open.get(*n).copied().unwrap_or(false));
        candidate.needs.sort_unstable();
        candidate.needs.dedup();
    }
}

/// Follows merges to the candidate that is kept.
fn target(found: &Declarations, mut index: usize) -> usize {
    for _ in 0..found.candidates.len() {
        match found.candidates.get(index).map(|c| &c.state) {
            Some(State::Merged(next)) => index = *next,
            _ => break,
        }
    }
    index
}

/// The indices of open candidates, the most believed first.
fn open(found: &Declarations) -> Vec<usize> {
    let mut all: Vec<usize> = (0..found.candidates.len())
        .filter(|i| {
            found
                .candidates
                .get(*i)
                .is_some_and(|c| c.state == State::Open)
        })
        .collect();
    let belief = |i: usize| found.candidates.get(i).map(|c| c.belief);
    all.sort_by_key(|i| (std::cmp::Reverse(belief(*i)), *i));
    all
}

fn equal(found: &mut Declarations) {
    let mut first: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for index in open(found) {
        let candidate = found.candidate(index);
        let form = normal::forms(candidate);
        match first.get(&form) {
            Some(kept) => join(found, *kept, index),
            None => {
                first.insert(form, index);
            }
        }
    }
    // What a manifest declares and CI runs too, perhaps with other variables.
    let said = |one: &Candidate| {
        let words = one.words()?.iter().filter(|word| *word != "--");
        let words: Vec<String> = words.cloned().collect();
        Some(normal::form(&one.dir, &BTreeMap::new(), &words))
    };
    let kept: BTreeMap<String, usize> = first
        .values()
        .filter_map(|index| Some((said(found.candidate(*index))?, *index)))
        .collect();
    for index in 0..found.candidates.len() {
        let candidate = found.candidate(index);
        if matches!(candidate.state, State::Out(Reason::NotRun, _))
            && let Some(kept) = said(candidate).and_then(|said| kept.get(&said))
        {
            found.candidate_mut(index).state = State::Merged(*kept);
        }
    }
}

/// Merges one candidate into another.
fn join(found: &mut Declarations, kept: usize, merged: usize) {
    let other = found.candidate(merged).clone();
    let one = found.candidate_mut(kept);
    one.also.push(other.origin.clone());
    one.also.extend(other.also.iter().cloned());
    one.when = either(&one.when, &other.when);
    one.tier = one.tier.min(other.tier);
    one.warning &= other.warning;
    one.needs.extend(other.needs.iter().copied());
    one.produces.extend(other.produces.iter().cloned());
    one.produces.sort();
    one.produces.dedup();
    if one.unchanged.is_empty() {
        one.unchanged.clone_from(&other.unchanged);
    }
    if one.leaves.is_empty() {
        one.leaves.clone_from(&other.leaves);
    }
    found.candidate_mut(merged).state = State::Merged(kept);
}

/// Both conditions: a change that either is wanted for.
fn either(one: &When, other: &When) -> When {
    match (one, other) {
        (When::Changed(a), When::Changed(b)) if a == b => one.clone(),
        (When::Changed(a), When::Changed(b)) => {
            // An exclusion of one list must not take from the other.
            let excludes = |list: &[String]| list.iter().any(|glob| glob.starts_with('!'));
            if excludes(a) || excludes(b) {
                return When::Unsaid;
            }
            let mut all = a.clone();
            all.extend(b.iter().filter(|glob| !a.contains(glob)).cloned());
            When::Changed(all)
        }
        _ => When::Unsaid,
    }
}

/// A list and its parts: where all parts are candidates the list goes, else the parts.
fn lists(found: &mut Declarations) {
    let all = open(found);
    let forms: BTreeMap<usize, BTreeSet<String>> = all
        .iter()
        .filter_map(|i| {
            Some((
                *i,
                normal::forms(found.candidates.get(*i)?)
                    .into_iter()
                    .collect(),
            ))
        })
        .collect();
    for (index, whole) in forms.iter().filter(|(_, parts)| parts.len() > 1) {
        let is_open = |found: &Declarations, i: usize| {
            found
                .candidates
                .get(i)
                .is_some_and(|c| c.state == State::Open)
        };
        if !is_open(found, *index) {
            continue;
        }
        let parts: Vec<usize> = forms
            .iter()
            .filter(|(other, part)| {
                *other != index && part.len() < whole.len() && part.is_subset(whole)
            })
            .map(|(other, _)| *other)
            .filter(|other| is_open(found, *other))
            .collect();
        let covered: BTreeSet<&String> = parts
            .iter()
            .filter_map(|i| forms.get(i))
            .flatten()
            .collect();
        if covered.len() == whole.len() {
            let Some(first) = parts.first() else { continue };
            if let Some(list) = found.candidates.get(*index).map(|c| c.origin.clone()) {
                for part in &parts {
                    if let Some(part) = found.candidates.get_mut(*part) {
                        part.also.push(list.clone());
                    }
                }
            }
            if let Some(list) = found.candidates.get_mut(*index) {
                list.state = State::Merged(*first);
            }
        } else {
            for part in parts {
                join(found, *index, part);
            }
        }
    }
}

/// A plain compile that a test of the same folder follows.
fn compiled(found: &mut Declarations) {
    let all = open(found);
    let flags = |candidate: &Candidate| normal::compiled(candidate);
    let tests: BTreeSet<String> = all
        .iter()
        .filter_map(|i| found.candidates.get(*i))
        .filter(|c| kind::of(c) == Kind::Test)
        .filter_map(flags)
        .collect();
    for index in all {
        let candidate = found.candidate_mut(index);
        // A predecessor's contract asks for it in so many words.
        let plain = candidate.produces.is_empty()
            && candidate.unchanged.is_empty()
            && candidate.belief != Belief::Predecessor;
        if !plain || kind::of(candidate) != Kind::Build {
            continue;
        }
        if flags(candidate).is_some_and(|flags| tests.contains(&flags)) {
            candidate.leave_out(Reason::Built, String::new());
        }
    }
}
