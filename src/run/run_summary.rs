//! Reads past runs: found by name, summed up by their journals, counted over many runs.

use super::journal::{JournalEnd, ReplayedRun, ReplayedStep, StepState};
use super::record::StepRecord;
use super::verdict::Verdict;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use vplan_base::canon::Digest;
use vplan_base::nearest::nearest;
use vplan_check::Kind;
use vplan_check::outcome::{Cause, Outcome, Status};
use vplan_plan::step::empty;
use vplan_plan::{Coverage, Origin, Step};

/// The state of a run, by its journal and by whether a process still writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its end is in the journal.
    Finished,
    /// No process writes it, and its end is missing: it was killed. Never a pass.
    Interrupted,
    /// A running vplan writes it.
    Running,
}

/// The summary of a run.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The part of the request that was verified.
    pub coverage: Option<Coverage>,
    /// From its start to its end, or to its last sign of life, in milliseconds.
    pub duration_ms: u64,
    /// Its exit code.
    pub exit_code: Option<u8>,
    /// The steps that failed, in plan order.
    pub failed: Vec<String>,
    /// The number of steps that passed.
    pub passed: usize,
    /// The plan that it executed last.
    pub plan_digest: Option<Digest>,
    /// Its name.
    pub run_id: String,
    /// The time of its start: RFC 3339, UTC.
    pub started_at: Option<String>,
    /// Its state.
    pub state: State,
    /// The number of steps in its plan.
    pub total: usize,
    /// Its verdict, if it has one.
    pub verdict: Option<Verdict>,
}

impl Summary {
    /// Summarises a run. `id`: the name of its folder. `writing`: a process holds its journal.
    pub fn new(id: &str, run: &ReplayedRun, writing: bool) -> Self {
        let (state, coverage, exit_code, verdict) = match run.end {
            JournalEnd::Finished {
                coverage,
                exit_code,
                verdict,
            } => (
                State::Finished,
                Some(coverage),
                Some(exit_code),
                Some(verdict),
            ),
            JournalEnd::Interrupted if writing => (State::Running, None, None, None),
            JournalEnd::Interrupted => (State::Interrupted, None, None, None),
        };
        let is = |step: &&ReplayedStep, wanted: fn(Status) -> bool| matches!(step.state, StepState::Ended(status, _) if wanted(status));
        Self {
            coverage,
            duration_ms: run.t,
            exit_code,
            failed: run
                .steps
                .iter()
                .filter(|s| is(s, Status::is_failure))
                .map(|s| s.id.clone())
                .collect(),
            passed: run.steps.iter().filter(|s| is(s, Status::is_pass)).count(),
            plan_digest: run.plan_digest.clone(),
            run_id: id.to_owned(),
            started_at: run.started_at.clone().or_else(|| started_at(id)),
            state,
            total: run.steps.len(),
            verdict,
        }
    }

    /// Returns its verdict in one word, `interrupted` or `running`.
    pub fn word(&self) -> &'static str {
        match (self.state, self.verdict) {
            (State::Finished, Some(verdict)) => verdict.name(),
            (State::Running, _) => "running",
            _ => "interrupted",
        }
    }
}

/// Whether a run is one in sixteen, by the last digit of its name, which is random: what costs more
/// than a small run, and need not be done each time, is done by these.
pub fn is_one_in_sixteen(id: &str) -> bool {
    id.ends_with('0')
}

/// Whether a name is one that vplan gives to runs: `20260102T030405.678Z-` and 32 hexadecimal
/// digits.
pub fn is_run_id(name: &str) -> bool {
    let Some((time, random)) = name.split_at_checked(21) else {
        return false;
    };
    let plain = |c: char| if c.is_ascii_digit() { '0' } else { c };
    time.chars().map(plain).eq("00000000T000000.000Z-".chars())
        && random.len() == 32
        && random
            .bytes()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns when a run began, by its name: RFC 3339, UTC.
pub fn started_at(id: &str) -> Option<String> {
    if !is_run_id(id) {
        return None;
    }
    let part = |range| id.get(range).unwrap_or_default();
    let date = format!("{}-{}-{}", part(0..4), part(4..6), part(6..8));
    Some(format!(
        "{date}T{}:{}:{}.{}Z",
        part(9..11),
        part(11..13),
        part(13..15),
        part(16..19)
    ))
}

/// Returns the short name of a run: the first digits of the random part of its name.
pub fn short(id: &str) -> &str {
    id.get(21..29).filter(|_| is_run_id(id)).unwrap_or(id)
}

/// The reason why a run was not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotFound {
    /// No run is recorded.
    #[error("no run is recorded yet")]
    Nothing,
    /// There are fewer runs.
    #[error("there are only {0} runs")]
    TooFew(usize),
    /// No run has such a name.
    #[error("no run is called `{name}`")]
    Unknown {
        /// The requested name, safe to print.
        name: String,
        /// The nearest name, if one is near.
        near: Option<String>,
    },
    /// Several runs have such a name.
    #[error("`{name}` is the beginning of {count} runs")]
    Ambiguous {
        /// The requested name, safe to print.
        name: String,
        /// The number of runs.
        count: usize,
        /// The newest of them.
        first: Vec<String>,
    },
}

impl NotFound {
    /// Returns a help text with the next step.
    pub fn help(&self) -> String {
        match self {
            NotFound::Nothing => {
                "`vplan run` makes one; `--records DIR` looks in another place".to_owned()
            }
            NotFound::TooFew(_) => "`vplan runs` lists them".to_owned(),
            NotFound::Unknown {
                near: Some(near), ..
            } => format!("did you mean `{near}`?"),
            NotFound::Unknown { near: None, .. } => {
                "`latest`, `latest~1`, or the beginning of a name that `vplan runs` lists"
                    .to_owned()
            }
            NotFound::Ambiguous { first, .. } => {
                format!("the newest of them: {}", first.join(", "))
            }
        }
    }
}

/// Finds a run by `latest`, `latest~N`, or an unambiguous beginning of its name or of the random
/// part of its name. `ids`: all runs, newest first.
///
/// # Errors
/// No run matches, or several do.
pub fn find<'a>(ids: &'a [String], name: &str) -> Result<&'a str, NotFound> {
    let Some(newest) = ids.first() else {
        return Err(NotFound::Nothing);
    };
    if name == "latest" {
        return Ok(newest);
    }
    let shown = || vplan_base::word::visible(name.as_bytes());
    if let Some(back) = name.strip_prefix("latest~") {
        let back = back
            .parse::<usize>()
            .ok()
            .filter(|_| back.bytes().all(|b| b.is_ascii_digit()));
        let Some(back) = back else {
            return Err(NotFound::Unknown {
                name: shown(),
                near: None,
            });
        };
        return ids
            .get(back)
            .map(String::as_str)
            .ok_or(NotFound::TooFew(ids.len()));
    }
    let random = |id: &str| id.get(21..).is_some_and(|r| r.starts_with(name));
    let mut found = ids
        .iter()
        .filter(|id| !name.is_empty() && (id.starts_with(name) || random(id)));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some(one), Some(two)) => {
            let first = [one, two]
                .into_iter()
                .chain(found.clone().take(3))
                .map(|id| short(id).to_owned())
                .collect();
            Err(NotFound::Ambiguous {
                name: shown(),
                count: 2 + found.count(),
                first,
            })
        }
        (None, _) => {
            let names = ["latest"]
                .into_iter()
                .chain(ids.iter().flat_map(|id| [short(id), id.as_str()]));
            Err(NotFound::Unknown {
                name: shown(),
                near: nearest(name, names).map(str::to_owned),
            })
        }
    }
}

/// Returns the records of a run whose report is missing, as far as its journal has them: in plan
/// order, one a step.
pub fn records(run: &ReplayedRun, state: State) -> Vec<StepRecord> {
    run.steps.iter().map(|step| record(step, state)).collect()
}

fn record(step: &ReplayedStep, state: State) -> StepRecord {
    let cancelled = (state != State::Running).then_some(Cause::Cancelled);
    let (status, cause, detail) = match (step.state, cancelled) {
        (StepState::Ended(status, cause), _) => (status, cause, None),
        (StepState::Running, None) => (Status::NotRun, None, Some("it is running")),
        (StepState::Waiting, None) => (Status::NotRun, None, Some("it has not begun")),
        (StepState::Running, cause) => {
            let detail = "it was running when the run was interrupted";
            (Status::NotRun, cause, Some(detail))
        }
        (StepState::Waiting, cause) => {
            let detail = "the run was interrupted before it began";
            (Status::NotRun, cause, Some(detail))
        }
    };
    let outcome = Outcome {
        cause,
        detail: detail.map(str::to_owned),
        status,
    };
    let planned = empty(step.kind.unwrap_or(Kind::Run), Origin::Contract);
    let planned = Step {
        command: step.command.clone(),
        id: step.id.clone(),
        ..planned
    };
    StepRecord {
        duration_ms: step.duration_ms,
        log: step.log.clone(),
        tests: step.tests,
        tries: step.tries,
        ..StepRecord::without_evidence(&planned, outcome)
    }
}

/// The statistics of one check over many runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckStats {
    /// The number of times that an earlier result replaced it.
    pub cached: u64,
    /// The number of times that it failed, was out of time, or could not be run.
    pub failed: u64,
    /// The number of times that it passed on a later try.
    pub flaky: u64,
    /// Flaky passes in a thousand runs of it.
    pub flaky_permille: u64,
    /// Its id.
    pub id: String,
    /// The newest run in which it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<LastFailure>,
    /// Its longest run, in milliseconds.
    pub max_ms: u64,
    /// Half of its runs took no longer, in milliseconds (nearest rank).
    pub median_ms: u64,
    /// The number of times that it was in a plan and did not run, or skipped itself.
    pub not_run: u64,
    /// 95 of 100 of its runs took no longer, in milliseconds (nearest rank).
    pub p95_ms: u64,
    /// Passes in a thousand runs of it, flaky ones with them.
    pub pass_permille: u64,
    /// The number of times that it passed, flaky ones included.
    pub passed: u64,
    /// The number of times that it ran to an end of its own.
    pub runs: u64,
}

/// A failure of a check.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastFailure {
    /// The cause of the status.
    pub reason: Option<Cause>,
    /// The run.
    pub run_id: String,
    /// The time of the run's start.
    pub started_at: Option<String>,
    /// The status of the failure.
    pub status: Status,
}

/// Counts checks over runs, which come newest first. A check is identified by its id, whatever its
/// command was.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    checks: BTreeMap<String, (CheckStats, Vec<u64>)>,
}

impl Tally {
    /// Adds a run, as far as it got. A step that was interrupted does not count.
    pub fn add(&mut self, id: &str, run: &ReplayedRun) {
        for step in &run.steps {
            let StepState::Ended(status, reason) = step.state else {
                continue;
            };
            let (stats, durations) = self.check(&step.id);
            match status {
                Status::Cached => stats.cached += 1,
                Status::Skipped | Status::NotRun => stats.not_run += 1,
                status => {
                    stats.runs += 1;
                    stats.passed += u64::from(status.is_pass());
                    stats.flaky += u64::from(status == Status::Flaky);
                    stats.failed += u64::from(status.is_failure());
                    if step.tries > 0 {
                        durations.push(step.duration_ms);
                    }
                    if status.is_failure() && stats.last_failure.is_none() {
                        let started_at = run.started_at.clone().or_else(|| started_at(id));
                        stats.last_failure = Some(LastFailure {
                            reason,
                            run_id: id.to_owned(),
                            started_at,
                            status,
                        });
                    }
                }
            }
        }
    }

    fn check(&mut self, id: &str) -> &mut (CheckStats, Vec<u64>) {
        self.checks.entry(id.to_owned()).or_insert_with(|| {
            let stats = CheckStats {
                id: id.to_owned(),
                ..CheckStats::default()
            };
            (stats, Vec::new())
        })
    }

    /// Adds the counts of older runs.
    pub fn merge(&mut self, older: Tally) {
        for (id, (stats, durations)) in older.checks {
            let (mine, all) = self.check(&id);
            mine.cached += stats.cached;
            mine.failed += stats.failed;
            mine.flaky += stats.flaky;
            mine.not_run += stats.not_run;
            mine.passed += stats.passed;
            mine.runs += stats.runs;
            mine.last_failure = mine.last_failure.take().or(stats.last_failure);
            all.extend(durations);
        }
    }

    /// Returns the median time of each check that ran, by id, in milliseconds.
    pub fn medians(self) -> BTreeMap<String, u64> {
        let median = |(id, (_, mut durations)): (String, (CheckStats, Vec<u64>))| {
            durations.sort_unstable();
            (!durations.is_empty()).then(|| (id, rank(&durations, 50)))
        };
        self.checks.into_iter().filter_map(median).collect()
    }

    /// Returns the counts, by id in byte order.
    pub fn checks(self) -> Vec<CheckStats> {
        let finish = |(mut stats, mut durations): (CheckStats, Vec<u64>)| {
            durations.sort_unstable();
            stats.median_ms = rank(&durations, 50);
            stats.p95_ms = rank(&durations, 95);
            stats.max_ms = durations.last().copied().unwrap_or(0);
            stats.pass_permille = permille(stats.passed, stats.runs);
            stats.flaky_permille = permille(stats.flaky, stats.runs);
            stats
        };
        self.checks.into_values().map(finish).collect()
    }
}

/// Returns the value at the nearest rank: the least value that so many in a hundred do not exceed.
fn rank(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    rank.checked_sub(1)
        .and_then(|i| sorted.get(i))
        .copied()
        .unwrap_or(0)
}

fn permille(part: u64, whole: u64) -> u64 {
    part.saturating_mul(1000).checked_div(whole).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(day: u32, random: &str) -> String {
        format!("202601{day:02}T030405.678Z-{random:0<32}")
    }

    #[test]
    fn names() {
        assert!(is_run_id(&id(1, "abc")));
        for wrong in [
            "",
            "latest",
            "20260102T030405.678Z-",
            &id(1, "xyz"),
            &format!("{}0", id(1, "a")),
            "é",
        ] {
            assert!(!is_run_id(wrong), "{wrong}");
        }
        assert_eq!(
            started_at(&id(2, "a")).as_deref(),
            Some("2026-01-02T03:04:05.678Z")
        );
        assert_eq!(short(&id(2, "abcdef123")), "abcdef12");
        assert_eq!(short("other"), "other");
    }

    #[test]
    fn finding() {
        let ids = [id(3, "abcd"), id(2, "abce"), id(1, "1234")];
        let at = |name: &str| {
            find(&ids, name).map(|found| ids.iter().position(|id| id == found).unwrap())
        };
        for (name, want) in [
            ("latest", 0),
            ("latest~0", 0),
            ("latest~2", 2),
            ("20260102", 1),
            ("abce", 1),
            ("1", 2),
            (ids[0].as_str(), 0),
        ] {
            assert_eq!(at(name), Ok(want), "{name}");
        }
        assert_eq!(at("latest~3"), Err(NotFound::TooFew(3)));
        assert!(matches!(
            at("abc"),
            Err(NotFound::Ambiguous { count: 2, .. })
        ));
        assert!(matches!(
            at("2026"),
            Err(NotFound::Ambiguous { count: 3, .. })
        ));
        for (name, near) in [
            ("lastet", Some("latest".to_owned())),
            ("abcx0000", Some("abcd0000".to_owned())),
            ("latest~x", None),
            ("latest~-1", None),
            ("latest~+1", None),
            ("", None),
            ("é", None),
        ] {
            assert_eq!(
                at(name),
                Err(NotFound::Unknown {
                    name: name.to_owned(),
                    near
                }),
                "{name}"
            );
        }
        assert_eq!(find(&[], "latest"), Err(NotFound::Nothing));
    }

    fn run(steps: &[(&str, Status, u64)]) -> ReplayedRun {
        let step = |(id, status, duration_ms): &(&str, Status, u64)| ReplayedStep {
            command: String::new(),
            duration_ms: *duration_ms,
            id: (*id).to_owned(),
            kind: None,
            log: None,
            state: StepState::Ended(*status, None),
            tests: None,
            tries: u32::from(*duration_ms > 0),
        };
        ReplayedRun {
            steps: steps.iter().map(step).collect(),
            ..ReplayedRun::default()
        }
    }

    #[test]
    fn counting() {
        let runs = [
            run(&[("a", Status::Passed, 10), ("b", Status::Failed, 5)]),
            run(&[("a", Status::Flaky, 30), ("b", Status::NotRun, 0)]),
            run(&[("a", Status::Failed, 20), ("b", Status::Cached, 0)]),
            run(&[("a", Status::TimedOut, 40)]),
        ];
        let mut whole = Tally::default();
        let mut halves = [Tally::default(), Tally::default()];
        for (i, run) in runs.iter().enumerate() {
            whole.add(&format!("r{i}"), run);
            halves[i / 2].add(&format!("r{i}"), run);
        }
        let checks = whole.checks();
        let [mut newer, older] = halves;
        newer.merge(older);
        let medians = [("a".to_owned(), 20), ("b".to_owned(), 5)];
        assert_eq!(newer.clone().medians(), medians.into());
        assert_eq!(newer.checks(), checks, "counted in parts is counted");
        let a = &checks[0];
        assert_eq!((a.runs, a.passed, a.failed, a.flaky), (4, 2, 2, 1));
        assert_eq!((a.pass_permille, a.flaky_permille), (500, 250));
        assert_eq!((a.median_ms, a.p95_ms, a.max_ms), (20, 40, 40));
        assert_eq!(a.last_failure.as_ref().unwrap().run_id, "r2");
        let b = &checks[1];
        assert_eq!(
            (b.runs, b.failed, b.cached, b.not_run, b.median_ms),
            (1, 1, 1, 1, 5)
        );
    }

    #[test]
    fn ranks() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!((rank(&hundred, 50), rank(&hundred, 95)), (50, 95));
        assert_eq!((rank(&[7], 50), rank(&[7], 95), rank(&[], 50)), (7, 7, 0));
        assert_eq!((rank(&[1, 2, 3], 50), rank(&[1, 2, 3], 95)), (2, 3));
    }
}
