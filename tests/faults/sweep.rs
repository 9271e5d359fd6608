//! How much of a fault is tried, with which seed, and what was seen? A share of each in every run
//! of the tests; all of it by `tests/faults/all`, which writes one line for each sweep.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

/// One fault, tried many times. A failing case says how to try that very case again.
pub struct Sweep {
    name: &'static str,
    seed: u64,
    cases: u64,
    only: Option<u64>,
    tried: u64,
    counts: BTreeMap<String, u64>,
    start: Instant,
    reason: Option<String>,
}

/// One try: its number and numbers that look random and are the same for the same seed.
pub struct Case {
    pub number: u64,
    state: u64,
    test: &'static str,
    seed: u64,
    closed: bool,
}

fn number(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("`{name}` is a number, not `{value}`")),
    )
}

impl Sweep {
    /// The sweep of a test (its whole name): `fast` cases in every run of the tests, `whole` cases
    /// in the whole set; a share of that is never less than in every run.
    pub fn new(name: &'static str, fast: u64, whole: u64) -> Self {
        let percent = number("VPLAN_FAULTS_PERCENT");
        Self {
            name,
            seed: number("VPLAN_FAULTS_SEED").unwrap_or(1),
            cases: percent.map_or(fast, |percent| {
                (whole * percent).div_ceil(100).max(fast.min(whole))
            }),
            only: number("VPLAN_FAULTS_CASE"),
            tried: 0,
            counts: BTreeMap::new(),
            start: Instant::now(),
            reason: None,
        }
    }

    /// Whether the whole set is asked for: some sweeps do not count cases but go on until nothing
    /// is left to try.
    pub fn whole(&self) -> bool {
        std::env::var_os("VPLAN_FAULTS_PERCENT").is_some()
    }

    /// The next try, until there were enough. Close it with [`Case::held`].
    pub fn next(&mut self) -> Option<Case> {
        let number = match self.only {
            Some(only) if self.tried == 0 => only,
            Some(_) => return None,
            None if self.tried < self.cases => self.tried,
            None => return None,
        };
        self.tried += 1;
        let state = self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Some(Case {
            number,
            state,
            test: self.name,
            seed: self.seed,
            closed: false,
        })
    }

    /// There is nothing more to try: a sweep that goes on until a fault finds nothing to hit any
    /// more.
    pub fn exhausted(&mut self) {
        self.cases = self.tried;
    }

    /// Counts what was seen in a try.
    pub fn count(&mut self, what: &str, times: u64) {
        *self.counts.entry(what.to_owned()).or_default() += times;
    }

    /// Keeps the largest of what was seen, such as a time in ms.
    pub fn most(&mut self, what: &str, value: u64) {
        let entry = self.counts.entry(format!("most {what}")).or_default();
        *entry = (*entry).max(value);
    }

    /// The machine cannot do this; the reason stands in the figures.
    pub fn cannot(mut self, reason: &str) {
        eprintln!("SKIPPED: {}: {reason}", self.name);
        self.reason = Some(reason.to_owned());
    }

    /// How often this was seen.
    pub fn seen(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }
}

impl Drop for Sweep {
    fn drop(&mut self) {
        let Some(path) = std::env::var_os("VPLAN_FAULTS_FIGURES") else {
            return;
        };
        let counts: Vec<String> = self
            .counts
            .iter()
            .map(|(what, n)| format!("{n} {what}"))
            .collect();
        let seen = if std::thread::panicking() {
            "**failed**".to_owned()
        } else {
            counts.join(", ")
        };
        let seen = self
            .reason
            .as_ref()
            .map_or(seen, |reason| format!("not tried: {reason}"));
        let seconds = self.start.elapsed().as_secs();
        let line = format!(
            "| `{}` | {} | {} | {seconds} | {seen} |\n",
            self.name, self.seed, self.tried
        );
        let file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .unwrap_or_else(|e| eprintln!("no figures: {e}"));
    }
}

impl Case {
    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }

    /// One of these.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }

    /// One of `total` points: another one in each case until there was each, and the first few are
    /// spread over all of them.
    pub fn point(&self, total: u64) -> u64 {
        let coprime =
            |step: &u64| (2..=*step).all(|d| !step.is_multiple_of(d) || !total.is_multiple_of(d));
        let step = (total * 618 / 1000 + 1..).find(coprime).unwrap_or(1);
        (self.number % total.max(1) * step + self.seed * 7919) % total.max(1)
    }

    /// What was to hold, held.
    pub fn held(mut self) {
        self.closed = true;
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if !self.closed && std::thread::panicking() {
            // Some tests try other things in the whole set.
            let whole =
                std::env::var("VPLAN_FAULTS_PERCENT").map(|p| format!("VPLAN_FAULTS_PERCENT={p} "));
            eprintln!(
                "again: {}VPLAN_FAULTS_SEED={} VPLAN_FAULTS_CASE={} cargo test --test main {} -- --exact",
                whole.unwrap_or_default(),
                self.seed,
                self.number,
                self.test
            );
        }
    }
}
