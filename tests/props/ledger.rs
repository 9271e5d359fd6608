//! Properties of `ledger`: the table of src/ledger/rounds.md, "Confirmations", written down once
//! more, and what follows from it.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use vplan::arbitrary::config;
use vplan::base::canon::Digest;
use vplan::ledger::contract_mark::{ContractChange, ContractMark};
use vplan::ledger::document::{UnusableLedger, VERSION, decode, encode};
use vplan::ledger::round::{
    Because, Recorded, Round, RoundChange, RoundResult, SubjectRequest, record,
};
use vplan::ledger::{Acceptance, Contents, Exhausted, Ledger, Propagate, Status, Terms};
use vplan::run::report::Decision;
use vplan::run::verdict::Verdict;

const SUBJECTS: [&str; 3] = ["A", "B", "größer"];

/// A round as a caller tells it.
#[derive(Clone, Debug)]
struct Told {
    subject: usize,
    what: What,
    /// Which state the files are in; what the caller says of them, if it says anything.
    files: u8,
    says: Option<u64>,
}

#[derive(Clone, Debug)]
enum What {
    Hand(Status),
    Run {
        green: bool,
        accepted: bool,
        failure: u8,
        status: Option<Status>,
    },
}

fn status() -> impl Strategy<Value = Status> {
    prop_oneof![
        Just(Status::Done),
        Just(Status::Continue),
        Just(Status::Rotate),
        Just(Status::Stuck)
    ]
}

fn what() -> impl Strategy<Value = What> {
    let run = (
        any::<bool>(),
        prop::bool::weighted(0.9),
        0..2_u8,
        prop::option::weighted(0.2, status()),
    );
    let run = run.prop_map(|(green, accepted, failure, status)| What::Run {
        green,
        accepted,
        failure,
        status,
    });
    prop_oneof![1 => status().prop_map(What::Hand), 2 => run]
}

fn told() -> impl Strategy<Value = Told> {
    (
        0..SUBJECTS.len(),
        what(),
        0..3_u8,
        prop::option::of(0..3_u64),
    )
        .prop_map(|(subject, what, files, says)| Told {
            subject,
            what,
            files,
            says,
        })
}

fn terms() -> impl Strategy<Value = Terms> {
    let exhausted = prop_oneof![
        Just(Exhausted::Fail),
        Just(Exhausted::Escalate),
        Just(Exhausted::Allow)
    ];
    let propagate = prop_oneof![
        Just(Propagate::Downgrade),
        Just(Propagate::Reset),
        Just(Propagate::Off)
    ];
    (1..5_u32, exhausted, propagate, 0..6_u32, 2..5_u32).prop_map(
        |(confirmations, exhausted, propagate, retries, same_failure)| Terms {
            confirmations,
            exhausted,
            propagate,
            retries,
            same_failure,
        },
    )
}

fn rounds() -> impl Strategy<Value = Vec<Told>> {
    prop::collection::vec(told(), 0..40)
}

fn contents(files: u8) -> Contents {
    Contents {
        digest: Digest::hash(&[files]),
        files: u64::from(files),
    }
}

fn verdict(green: bool) -> Verdict {
    if green {
        Verdict::Passed
    } else {
        Verdict::Failed
    }
}

fn exit(what: &What) -> u8 {
    match what {
        What::Hand(_) => 0,
        What::Run {
            green: true,
            accepted,
            ..
        } => {
            if *accepted {
                0
            } else {
                44
            }
        }
        What::Run { green: false, .. } => 40,
    }
}

fn step(ledger: &Ledger, terms: &Terms, told: &Told) -> (Ledger, Recorded) {
    let said = match &told.what {
        What::Hand(status) => RoundResult::ByHand(*status),
        What::Run {
            green,
            accepted,
            failure,
            status,
        } => RoundResult::Run {
            exit: exit(&told.what),
            run_id: "r".into(),
            signature: (!green || !accepted).then(|| Digest::hash(&[*failure])),
            status: *status,
            verdict: verdict(*green),
        },
    };
    let changed = told.says.map_or(RoundChange::Auto, RoundChange::Files);
    let round = Round {
        about: SubjectRequest::default(),
        changed,
        contents: contents(told.files),
        ended_at: "t",
        result: said,
        subject: SUBJECTS[told.subject],
    };
    record(ledger, terms, &round)
}

fn play(terms: &Terms, rounds: &[Told]) -> (Ledger, Vec<Recorded>) {
    let mut ledger = Ledger::default();
    let mut all = Vec::new();
    for told in rounds {
        let (next, recorded) = step(&ledger, terms, told);
        ledger = next;
        all.push(recorded);
    }
    (ledger, all)
}

/// The table, and nothing but the table.
#[derive(Default)]
struct Model {
    files: Option<u8>,
    counters: BTreeMap<usize, u32>,
    used: BTreeMap<usize, u32>,
    failures: BTreeMap<usize, Vec<u8>>,
    /// Who was given up in the last round.
    given_up: BTreeMap<usize, bool>,
    /// The failures that are no news to who was given up.
    known: BTreeMap<usize, Vec<u8>>,
    /// Who has had a run.
    by_runs: BTreeMap<usize, bool>,
    /// What the last round came to, and whether that was done.
    last: BTreeMap<usize, (Decision, bool)>,
}

impl Model {
    fn step(&mut self, terms: &Terms, told: &Told) -> (u32, bool, Decision, u8) {
        let n = terms.confirmations;
        let s = told.subject;
        let by_runs = *self.by_runs.get(&s).unwrap_or(&false);
        let differs = self.files != Some(told.files);
        let changed = match told.says {
            Some(0) => differs && by_runs,
            Some(_) => true,
            None => differs,
        };
        let claimed = by_runs && matches!(told.what, What::Hand(Status::Done));
        if claimed && !changed {
            return self.claim(terms, s);
        }
        if changed || self.files.is_none() {
            self.files = Some(told.files);
        }
        if !by_runs && matches!(told.what, What::Run { .. }) {
            self.by_runs.insert(s, true);
            self.counters.insert(s, 0);
        }
        let (done, stuck, failed, passed) = match &told.what {
            What::Hand(_) if claimed => (false, false, false, false),
            What::Hand(status) => (
                *status == Status::Done,
                *status == Status::Stuck,
                false,
                *status == Status::Done,
            ),
            What::Run {
                green,
                accepted,
                status,
                ..
            } => {
                let good = *green && *accepted;
                let done = good && matches!(status, None | Some(Status::Done));
                (done, *status == Some(Status::Stuck), !good, good)
            }
        };
        let counter = self.counters.entry(s).or_insert(0);
        if done && !changed {
            *counter = if *counter == n { n } else { *counter + 1 };
        } else if done {
            *counter = 1;
        } else if changed {
            *counter = 0;
        }
        let counter = *counter;
        if changed {
            for (_, other) in self.counters.iter_mut().filter(|(other, _)| **other != s) {
                match terms.propagate {
                    Propagate::Downgrade if *other == n => *other = n - 1,
                    Propagate::Reset => *other = 0,
                    _ => {}
                }
            }
        }
        let failure = match &told.what {
            What::Run { failure, .. } if failed => Some(*failure),
            _ => None,
        };
        let used = self.used.entry(s).or_insert(0);
        let failures = self.failures.entry(s).or_default();
        let known = self.known.entry(s).or_default();
        if *self.given_up.get(&s).unwrap_or(&false) && failure.is_some_and(|f| !known.contains(&f))
        {
            *used = 0;
            failures.clear();
        }
        if done {
            *used = 0;
        } else if failed || !changed {
            *used += 1;
        }
        if passed {
            failures.clear();
        }
        failures.extend(failure);
        let many = terms.same_failure as usize;
        let last: Vec<u8> = failures.iter().rev().take(many).copied().collect();
        let same = failed && last.len() == many && last.iter().all(|f| *f == last[0]);
        let exhausted = !stuck && !done && *used > terms.retries;
        let gives_up = !stuck && (exhausted || same);
        self.given_up.insert(s, gives_up);
        if done {
            known.clear();
        } else if gives_up {
            known.extend(last);
        } else if !known.is_empty() {
            known.extend(failure);
        }
        let verdict = exit(&told.what);
        let or = |code: u8| if verdict == 0 { code } else { verdict };
        let (decision, code) = if stuck {
            (Decision::Escalate, 22)
        } else if exhausted {
            match terms.exhausted {
                Exhausted::Fail => (Decision::Fail, 21),
                Exhausted::Escalate => (Decision::Escalate, 22),
                Exhausted::Allow => (Decision::Advance, 44),
            }
        } else if same {
            (Decision::Escalate, 22)
        } else if !done {
            (Decision::Retry, or(20))
        } else if counter < n {
            (Decision::Reverify, 20)
        } else if self.counters.values().all(|c| *c == n) {
            (Decision::Complete, 0)
        } else {
            (Decision::Advance, 0)
        };
        self.last.insert(s, (decision, done));
        (counter, changed, decision, code)
    }

    /// A word, of a subject that runs verify: all stays as it was.
    fn claim(&self, terms: &Terms, s: usize) -> (u32, bool, Decision, u8) {
        let counter = self.counters[&s];
        let (decision, code) = match self.last[&s] {
            (_, true) if counter < terms.confirmations => (Decision::Reverify, 20),
            (_, true) if self.counters.values().all(|c| *c == terms.confirmations) => {
                (Decision::Complete, 0)
            }
            (_, true) => (Decision::Advance, 0),
            (Decision::Fail, false) => (Decision::Fail, 21),
            (Decision::Escalate, false) => (Decision::Escalate, 22),
            (Decision::Advance, false) => (Decision::Advance, 44),
            (other, false) => (other, 20),
        };
        (counter, false, decision, code)
    }
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn counter_matches_table(terms in terms(), rounds in rounds()) {
        let (mut ledger, mut model) = (Ledger::default(), Model::default());
        for (index, told) in rounds.iter().enumerate() {
            let (next, got) = step(&ledger, &terms, told);
            let (counter, changed, decision, code) = model.step(&terms, told);
            prop_assert_eq!(got.counter, counter, "round {}", index);
            prop_assert_eq!(got.no_change, !changed);
            prop_assert_eq!(got.decision, decision, "round {}", index);
            prop_assert_eq!(got.exit(exit(&told.what)), code);
            let others: BTreeMap<&str, u32> = got.others.iter().map(|o| (o.subject.as_str(), o.counter)).collect();
            let want = model.counters.iter().filter(|(s, _)| **s != told.subject).map(|(s, c)| (SUBJECTS[*s], *c));
            prop_assert_eq!(others, want.collect::<BTreeMap<_, _>>());
            ledger = next;
        }
    }

    #[test]
    fn counter_bounded(terms in terms(), rounds in rounds()) {
        let (ledger, all) = play(&terms, &rounds);
        for got in &all {
            prop_assert!(got.counter <= terms.confirmations);
            prop_assert!(got.others.iter().all(|o| o.counter <= terms.confirmations));
            prop_assert!(got.others.is_sorted_by(|a, b| a.subject < b.subject));
            prop_assert_eq!(got.retries_remaining, (terms.retries + 1).saturating_sub(got.attempt));
            prop_assert!(got.attempt >= 1);
            let final_code = matches!(got.decision, Decision::Complete | Decision::Advance) && got.reason.is_none();
            prop_assert_eq!(got.exit(0) == 0, final_code, "exit 0 means go on, and only that");
        }
        prop_assert_eq!(ledger.rounds, rounds.len() as u64);
        prop_assert_eq!(ledger.subjects.iter().map(|e| e.rounds).sum::<u64>(), rounds.len() as u64);
        prop_assert!(ledger.subjects.iter().all(|e| e.failures.len() <= 4 && e.given_up.len() <= 32));
        prop_assert_eq!(ledger.is_complete(terms.confirmations), !ledger.subjects.is_empty()
            && ledger.subjects.iter().all(|e| e.counter >= terms.confirmations));
    }

    /// One up is for those that are done and changed nothing.
    #[test]
    fn counter_increase_needs_clean_and_unchanged(terms in terms(), rounds in rounds(), told in told()) {
        let (ledger, _) = play(&terms, &rounds);
        let before = ledger.entry(SUBJECTS[told.subject]).map_or(0, |e| e.counter);
        let (_, got) = step(&ledger, &terms, &told);
        if got.counter > before {
            let done = match &told.what {
                What::Hand(status) => *status == Status::Done,
                What::Run { green, accepted, status, .. } => *green && *accepted && status.is_none_or(|s| s == Status::Done),
            };
            prop_assert!(done && (got.no_change || (before, got.counter) == (0, 1)), "{:?}", told);
            prop_assert_eq!(got.counter, before + 1);
        }
    }

    /// Files changed: one when the round is done, else nothing of what was confirmed is left.
    #[test]
    fn counter_change_resets_or_sets_one(terms in terms(), rounds in rounds(), told in told(), files in 1..9_u64) {
        let (ledger, _) = play(&terms, &rounds);
        let (_, got) = step(&ledger, &terms, &Told { says: Some(files), ..told });
        prop_assert!(!got.no_change && got.counter <= 1, "{:?}", got);
    }

    /// Others fall by one, from the top, and only when files changed; unless the contract says otherwise.
    #[test]
    fn counter_propagation_only_from_n_to_n_minus_1(mut terms in terms(), rounds in rounds(), told in told()) {
        terms.propagate = Propagate::Downgrade;
        let (ledger, _) = play(&terms, &rounds);
        let (_, got) = step(&ledger, &terms, &told);
        for other in &got.others {
            let before = ledger.entry(&other.subject).unwrap().counter;
            let falls = before == terms.confirmations && !got.no_change;
            prop_assert_eq!(other.counter, if falls { before - 1 } else { before });
        }
    }

    #[test]
    fn complete_iff_all_n(terms in terms(), rounds in rounds()) {
        let mut ledger = Ledger::default();
        for told in &rounds {
            let (next, got) = step(&ledger, &terms, told);
            ledger = next;
            let all = ledger.subjects.iter().all(|e| e.counter == terms.confirmations);
            prop_assert!(got.decision != Decision::Complete || all);
            prop_assert!(!(got.decision == Decision::Advance && got.reason.is_none() && all));
            prop_assert_eq!(ledger.is_complete(terms.confirmations), all);
        }
    }

    /// What is written down in between changes nothing.
    #[test]
    fn counter_replay_from_history_equals_stored(terms in terms(), rounds in rounds()) {
        let mut ledger = Ledger::default();
        for told in &rounds {
            let text = encode(&ledger);
            let back = decode(text.as_bytes()).unwrap();
            prop_assert_eq!(&back, &ledger);
            prop_assert_eq!(encode(&back), text);
            ledger = step(&back, &terms, told).0;
        }
        prop_assert_eq!(ledger, play(&terms, &rounds).0);
    }

    /// No byte of a ledger can be lost or changed unseen.
    #[test]
    fn damage(terms in terms(), rounds in rounds(), at in any::<prop::sample::Index>(), to in any::<u8>(), cut in any::<bool>()) {
        let (ledger, _) = play(&terms, &rounds);
        let mut bytes = encode(&ledger).into_bytes();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = to }
        match decode(&bytes) {
            Ok(same) => prop_assert_eq!(same, ledger),
            Err(UnusableLedger::Newer(version)) => prop_assert!(version > VERSION),
            Err(UnusableLedger::Damaged(_)) => {}
        }
    }

    /// A failure counts until a run passes or a person accepts: then an empty change may be done.
    #[test]
    fn failure_lasts_until_a_pass_or_acceptance(terms in terms(), rounds in rounds(), accepted in prop::option::of(0..40_usize)) {
        let (mut ledger, mut failed) = (Ledger::default(), [false; SUBJECTS.len()]);
        for (at, told) in rounds.iter().enumerate() {
            ledger = step(&ledger, &terms, told).0;
            match &told.what {
                What::Run { green: false, .. } => failed[told.subject] = true,
                What::Run { accepted: true, .. } => failed[told.subject] = false,
                // A pass that the caller did not accept, and a word, show nothing.
                What::Run { .. } | What::Hand(_) => {}
            }
            if accepted == Some(at) {
                let acceptance = Acceptance { at: "t".into(), contract: Digest::hash(b"c") };
                prop_assert!(ledger.accept(SUBJECTS[told.subject], acceptance));
                failed[told.subject] = false;
            }
            prop_assert_eq!(ledger.entry(SUBJECTS[told.subject]).unwrap().failed, failed[told.subject], "round {}", at);
        }
    }

    /// What a subject began with must stay as it was, and what was added must stay.
    #[test]
    fn contract_mark_forgets_no_check(contracts in prop::collection::vec(prop::collection::btree_map("[a-d]", "[x-z]", 0..4), 1..12)) {
        let mark = |checks: &BTreeMap<String, String>| ContractMark {
            checks: checks.clone(),
            identity: Digest::of_value(checks),
            path: None,
            rest: String::new(),
            statements: BTreeMap::new(),
            writer: "w".into(),
        };
        let (first, later) = contracts.split_first().unwrap();
        let mut seen: BTreeSet<&String> = first.keys().collect();
        let (mut last, mut known) = (first, mark(first));
        for now in later {
            let altered = first.iter().any(|(name, text)| now.get(name) != Some(text));
            let is_lost = altered || seen.iter().any(|name| !now.contains_key(*name));
            let found = known.compare(Some(&mark(now)));
            if now == last {
                prop_assert_eq!(found, ContractChange::Same);
            } else if is_lost {
                prop_assert!(matches!(found, ContractChange::Lost(names) if !names.is_empty()));
            } else {
                prop_assert_eq!(found, ContractChange::Extended);
                known = known.extended(&mark(now));
                seen.extend(now.keys());
                last = now;
            }
        }
    }

    /// Subjects whose rounds change nothing do not meet: any order of their rounds gives each the same.
    #[test]
    fn independence(terms in terms(), rounds in rounds()) {
        let quiet: Vec<Told> = rounds.into_iter().map(|t| Told { says: Some(0), files: 0, ..t }).collect();
        let mut sorted = quiet.clone();
        sorted.sort_by_key(|t| t.subject);
        let (one, two) = (play(&terms, &quiet).0, play(&terms, &sorted).0);
        for entry in &one.subjects {
            let other = two.entry(&entry.subject).unwrap();
            prop_assert_eq!((entry.counter, entry.used, &entry.failures), (other.counter, other.used, &other.failures));
        }
    }

    /// No subject goes on forever without a pass, a change, or a person.
    #[test]
    fn it_ends(terms in terms(), rounds in rounds(), failures in prop::collection::vec(0..2_u8, 7)) {
        let (mut ledger, _) = play(&terms, &rounds);
        let mut last = None;
        // At the latest when each of the failures is known there is nothing new to try.
        for failure in failures.into_iter().chain([0, 1].repeat(7)) {
            let what = What::Run { green: false, accepted: true, failure, status: None };
            let (next, got) = step(&ledger, &terms, &Told { subject: 0, what, files: 0, says: None });
            ledger = next;
            last = Some(got);
        }
        let last = last.unwrap();
        prop_assert!(last.decision != Decision::Retry && last.decision != Decision::Reverify, "{:?}", last);
        prop_assert!(matches!(last.reason, Some(Because::VerificationFailedMaxRetries | Because::SameFailure)));
    }

    #[test]
    fn a_forgotten_subject_is_new(terms in terms(), rounds in rounds(), told in told()) {
        let (mut ledger, _) = play(&terms, &rounds);
        ledger.reset(SUBJECTS[told.subject]);
        let mut fresh = Ledger { subjects: Vec::new(), ..ledger.clone() };
        let (one, two) = (step(&ledger, &terms, &told).1, step(&fresh, &terms, &told).1);
        prop_assert_eq!((one.counter, one.attempt, one.retries_remaining), (two.counter, two.attempt, two.retries_remaining));
        prop_assert!(!fresh.reset("nobody"));
    }
}
