//! Estimates how long steps will take, by how long the same commands took when they passed.

use super::journal::{ReplayedRun, StepState};
use std::collections::BTreeMap;

/// Maximum number of passes of a step that count.
const PASSES: usize = 3;

/// The times that the latest passes of some steps took.
#[derive(Clone, Debug, Default)]
pub struct ExpectedTimes {
    /// By id and command, in milliseconds.
    times: BTreeMap<(String, String), Vec<u64>>,
}

impl ExpectedTimes {
    /// Makes it for steps, by id and command; nothing is known of them yet.
    pub fn new(steps: impl IntoIterator<Item = (String, String)>) -> Self {
        let times = steps.into_iter().map(|step| (step, Vec::new())).collect();
        Self { times }
    }

    /// Adds a run, as far as it got. Runs come newest first.
    pub fn add(&mut self, run: &ReplayedRun) {
        for step in &run.steps {
            let passed = matches!(step.state, StepState::Ended(status, _) if status.is_pass())
                && step.tries > 0;
            if passed
                && let Some(times) = self.times.get_mut(&(step.id.clone(), step.command.clone()))
                && times.len() < PASSES
            {
                times.push(step.duration_ms);
            }
        }
    }

    /// Whether further runs would add nothing.
    pub fn is_complete(&self) -> bool {
        self.times.values().all(|times| times.len() >= PASSES)
    }

    /// Returns the time that half of a step's latest passes did not exceed, in milliseconds.
    pub fn get(&self, id: &str, command: &str) -> Option<u64> {
        let mut times = self
            .times
            .get(&(id.to_owned(), command.to_owned()))?
            .clone();
        times.sort_unstable();
        let middle = times.len().div_ceil(2).checked_sub(1)?;
        times.get(middle).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::ReplayedStep;
    use vplan_check::outcome::Status;

    fn run(id: &str, command: &str, status: Status, duration_ms: u64) -> ReplayedRun {
        let tries = u32::from(status != Status::Cached);
        let step = ReplayedStep {
            command: command.to_owned(),
            duration_ms,
            id: id.to_owned(),
            kind: None,
            log: None,
            state: StepState::Ended(status, None),
            tests: None,
            tries,
        };
        ReplayedRun {
            steps: vec![step],
            ..ReplayedRun::default()
        }
    }

    #[test]
    fn the_latest_passes_of_the_same_command_count() {
        let mut times = ExpectedTimes::new([("a".to_owned(), "x".to_owned())]);
        assert_eq!(times.get("a", "x"), None);
        for (command, status, ms) in [
            ("x", Status::Failed, 1),
            ("x", Status::Cached, 0),
            ("y", Status::Passed, 2),
            ("x", Status::Passed, 90),
        ] {
            times.add(&run("a", command, status, ms));
        }
        assert_eq!(times.get("a", "x"), Some(90));
        assert_eq!(times.get("a", "y"), None, "not asked");
        times.add(&run("a", "x", Status::Passed, 30));
        assert_eq!(times.get("a", "x"), Some(30));
        assert!(!times.is_complete());
        times.add(&run("a", "x", Status::Flaky, 50));
        assert!(times.is_complete());
        times.add(&run("a", "x", Status::Passed, 9_000));
        assert_eq!(times.get("a", "x"), Some(50), "an older one");
    }
}
