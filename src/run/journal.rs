//! The journal of a run: written while it goes on, readable afterwards however it ended
//! (src/engine.md section 9).
//!
//! A journal is one JSON object a line. A reader takes the longest valid prefix; a run whose end is
//! not in it was interrupted, whatever else it contains.

use super::event::Interrupt;
use super::record::ProgramRecord;
use super::report::Decision;
use super::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use vplan_base::canon::Digest;
use vplan_base::index::{Index as _, at_mut, bug};
use vplan_base::word::Word;
use vplan_check::Kind;
use vplan_check::environment::EnvironmentUse;
use vplan_check::outcome::{Cause, Status};
use vplan_check::results::TestCounts;
use vplan_plan::{Coverage, Rewrite, StepIndex};

/// The text of `vplan help events`: the meaning of each event.
pub const EVENTS: &str = include_str!("events.md");

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct Line {
    /// Its number, from 0, without gaps.
    pub seq: u64,
    /// The time, in milliseconds since the run's start.
    pub t: u64,
    /// The event.
    #[serde(flatten)]
    pub entry: JournalEntry,
}

/// An event of a run.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum JournalEntry {
    /// The beginning of the run: always the first line.
    #[serde(rename = "run.started")]
    RunStarted {
        /// The variables that the operator passes to steps (`--grant-env`, `--inherit-env`), if
        /// any.
        environment: Option<EnvironmentUse>,
        /// The run.
        run_id: String,
        /// The start by the wall clock: RFC 3339, UTC. For people; nothing depends on it.
        started_at: Option<String>,
        /// The version of this shape: 1.
        #[schemars(extend("const" = 1))]
        version: u32,
    },
    /// A plan is about to be executed: the first one, or a rewritten one.
    #[serde(rename = "plan.compiled")]
    PlanCompiled {
        /// The number of changed files.
        changed_files_count: Option<u64>,
        /// The digest of the plan.
        digest: Option<Digest>,
        /// Its steps, in order.
        steps: Vec<PlannedStep>,
    },
    /// A try has been started.
    #[serde(rename = "step.started")]
    StepStarted {
        /// The number of the try, from 1.
        attempt: u32,
        /// The step.
        id: String,
        /// The effective time limit in milliseconds.
        limit_ms: u64,
    },
    /// A try has ended. Its effect on the verdict is in the report.
    #[serde(rename = "step.finished")]
    StepFinished {
        /// The number of the try, from 1; 0 for a step that never began.
        attempt: u32,
        /// The run whose pass replaces it.
        cached_from: Option<String>,
        /// The reason, for people.
        detail: Option<String>,
        /// Its duration in milliseconds.
        duration_ms: u64,
        /// Its exit code.
        exit_code: Option<i32>,
        /// The step.
        id: String,
        /// The kind of check.
        kind: Option<Kind>,
        /// The number of processes that it left behind.
        #[serde(default)]
        leaked: u32,
        /// Its log.
        log: Option<String>,
        /// The file that was started: the path of a `program.resolved`.
        program: Option<Word>,
        /// The cause of the status.
        reason: Option<Cause>,
        /// The signal that ended it.
        signal: Option<String>,
        /// Its status.
        status: Status,
        /// The number of tests that it ran, where its output was read.
        tests: Option<TestCounts>,
    },
    /// The identity of a file that steps start. Once for each file, after the end of the first step
    /// that started it.
    #[serde(rename = "program.resolved")]
    ProgramResolved {
        /// The file.
        program: ProgramRecord,
    },
    /// Recovery has rewritten the plan; a `plan.compiled` follows.
    #[serde(rename = "plan.rewritten")]
    PlanRewritten {
        /// The rewrite.
        rewrite: Box<Rewrite>,
    },
    /// The run received a signal.
    #[serde(rename = "run.interrupted")]
    RunInterrupted {
        /// The digest of the plan.
        signal: Interrupt,
    },
    /// The end of the run: always the last line; with it the run is complete.
    #[serde(rename = "run.finished")]
    RunFinished {
        /// The number of this round, from 1.
        attempt: Option<u32>,
        /// The part of the request that was verified.
        coverage: Coverage,
        /// The decision for a caller without a subject.
        decision: Option<Decision>,
        /// The exit code.
        exit_code: u8,
        /// The number of rounds left.
        retries_remaining: Option<u32>,
        /// The final status of each step, in plan order.
        steps: Vec<FinalStatus>,
        /// The verdict.
        verdict: Verdict,
    },
}

/// A step as a journal names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedStep {
    /// Its command.
    pub command: String,
    /// Its id.
    pub id: String,
}

/// A step's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FinalStatus {
    /// Its id.
    pub id: String,
    /// The cause of the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cause>,
    /// Its status.
    pub status: Status,
}

/// Writes lines: numbers them and keeps their times from going back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    next: u64,
    last_t: u64,
}

impl Journal {
    /// Writes one line with its final newline.
    pub fn line(&mut self, t: u64, entry: JournalEntry) -> String {
        self.last_t = self.last_t.max(t);
        let line = Line {
            seq: self.next,
            t: self.last_t,
            entry,
        };
        self.next += 1;
        // Strings, integers and string keys only.
        match serde_json::to_string(&line) {
            Ok(text) => text + "\n",
            Err(_) => bug("a line of the journal is no JSON"),
        }
    }
}

/// The state of a run, read from its journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayedRun {
    /// The length of the valid prefix in bytes; the rest is torn or foreign.
    pub bytes: usize,
    /// The plan that was executed last.
    pub plan_digest: Option<Digest>,
    /// Recovery's rewrites, in order.
    pub rewrites: Vec<Rewrite>,
    /// The run; empty when not even the first line is complete.
    pub run_id: String,
    /// The time of its start, by the wall clock.
    pub started_at: Option<String>,
    /// The steps of the last plan, in order.
    pub steps: Vec<ReplayedStep>,
    /// The time of the last valid line, in milliseconds since the run's start.
    pub t: u64,
    /// The end of the run.
    pub end: JournalEnd,
}

/// The end of a run, by its journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum JournalEnd {
    /// Its end is not in the journal: it was killed, or is still going on. Never a pass.
    #[default]
    Interrupted,
    /// It finished.
    Finished {
        /// The part of the request that was verified.
        coverage: Coverage,
        /// The exit code.
        exit_code: u8,
        verdict: Verdict,
    },
}

/// A step, by its run's journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayedStep {
    pub command: String,
    /// The sum of its tries' durations, in milliseconds, since it last began anew.
    pub duration_ms: u64,
    pub id: String,
    /// The kind of check, once a try has ended.
    pub kind: Option<Kind>,
    /// The log of its last try, relative to the run's folder.
    pub log: Option<String>,
    /// Its state when the journal ends.
    pub state: StepState,
    /// The number of tests that its last try ran, where its output was read.
    pub tests: Option<TestCounts>,
    /// The number of its tries that have ended.
    pub tries: u32,
}

/// The state of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepState {
    /// It had not begun.
    #[default]
    Waiting,
    /// It was running.
    Running,
    /// A try had ended with this status; in a finished run, the step's final status.
    Ended(Status, Option<Cause>),
}

impl ReplayedRun {
    /// Whether the run is known to have passed.
    pub fn is_pass(&self) -> bool {
        matches!(self.end, JournalEnd::Finished { verdict, .. } if verdict.is_pass())
    }
}

/// Returns the lines of a journal, as far as it is valid: complete lines in which the numbers have
/// no gap, time does not go back, the first line begins the run, and nothing follows its end.
/// Total: any bytes have a result.
pub fn lines(bytes: &[u8]) -> JournalLines<'_> {
    JournalLines {
        rest: bytes,
        ..JournalLines::default()
    }
}

/// An iterator over the valid lines of a journal.
#[derive(Clone, Debug, Default)]
pub struct JournalLines<'a> {
    rest: &'a [u8],
    next: u64,
    t: u64,
    over: bool,
    bytes: usize,
}

impl JournalLines<'_> {
    /// Returns the length of the lines so far in bytes; once there is no next line, the length of
    /// the journal's valid prefix.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn read(&mut self) -> Option<Line> {
        let end = self.rest.iter().position(|b| *b == b'\n')?;
        let (text, rest) = self.rest.split_at_checked(end)?;
        let line: Line = serde_json::from_slice(text).ok()?;
        let begins = matches!(line.entry, JournalEntry::RunStarted { .. });
        if line.seq != self.next || line.t < self.t || begins != (line.seq == 0) {
            return None;
        }
        // Only a pass has exit code 0: vplan never wrote such a line, so the journal was damaged.
        if matches!(line.entry, JournalEntry::RunFinished { exit_code: 0, verdict, .. } if !verdict.is_pass())
        {
            return None;
        }
        self.t = line.t;
        self.next = self.next.saturating_add(1);
        self.bytes += end + 1;
        self.rest = rest.get(1..).unwrap_or_default();
        self.over = matches!(line.entry, JournalEntry::RunFinished { .. });
        Some(line)
    }
}

impl Iterator for JournalLines<'_> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        if self.over {
            return None;
        }
        let line = self.read();
        self.over |= line.is_none();
        line
    }
}

/// Replays a journal: the state after its valid lines ([`lines`]).
pub fn replay(bytes: &[u8]) -> ReplayedRun {
    let mut replay = Replay::default();
    let mut valid = lines(bytes);
    while let Some(line) = valid.next() {
        replay.run.t = line.t;
        replay.run.bytes = valid.bytes();
        replay.apply(line.entry);
    }
    replay.run
}

#[derive(Default)]
struct Replay {
    run: ReplayedRun,
    /// The indices of the steps of the last plan, by id.
    positions: BTreeMap<String, StepIndex>,
}

impl Replay {
    /// Returns a step of the last plan. Events of others change nothing.
    fn step(&mut self, id: &str) -> Option<&mut ReplayedStep> {
        let index = self.positions.get(id)?;
        Some(at_mut(&mut self.run.steps, *index))
    }

    fn plan(&mut self, steps: Vec<PlannedStep>) {
        let mut known: BTreeMap<String, ReplayedStep> = std::mem::take(&mut self.run.steps)
            .into_iter()
            .map(|s| (s.id.clone(), s))
            .collect();
        self.positions.clear();
        for (i, PlannedStep { command, id }) in steps.into_iter().enumerate() {
            self.positions.insert(id.clone(), StepIndex::new(i));
            let old = known.remove(&id).filter(|old| old.command == command);
            self.run.steps.push(old.unwrap_or(ReplayedStep {
                command,
                id,
                ..ReplayedStep::default()
            }));
        }
    }

    fn apply(&mut self, entry: JournalEntry) {
        match entry {
            JournalEntry::RunStarted {
                run_id, started_at, ..
            } => {
                self.run.run_id = run_id;
                self.run.started_at = started_at;
            }
            JournalEntry::PlanCompiled { digest, steps, .. } => {
                self.run.plan_digest = digest;
                self.plan(steps);
            }
            JournalEntry::StepStarted { id, attempt, .. } => {
                if let Some(step) = self.step(&id) {
                    step.state = StepState::Running;
                    // A step that a rewrite made run again begins anew.
                    if attempt == 1 {
                        (step.tries, step.duration_ms) = (0, 0);
                    }
                }
            }
            JournalEntry::StepFinished {
                id,
                status,
                reason,
                attempt,
                duration_ms,
                kind,
                log,
                tests,
                ..
            } => {
                if let Some(step) = self.step(&id) {
                    step.state = StepState::Ended(status, reason);
                    step.tries = step.tries.saturating_add(attempt.min(1));
                    step.duration_ms = step.duration_ms.saturating_add(duration_ms);
                    step.kind = kind;
                    step.log = log;
                    step.tests = tests;
                }
            }
            JournalEntry::PlanRewritten { rewrite } => self.run.rewrites.push(*rewrite),
            JournalEntry::ProgramResolved { .. } | JournalEntry::RunInterrupted { .. } => {}
            JournalEntry::RunFinished {
                coverage,
                exit_code,
                steps,
                verdict,
                ..
            } => {
                for FinalStatus { id, status, reason } in steps {
                    if let Some(step) = self.step(&id) {
                        step.state = StepState::Ended(status, reason);
                    }
                }
                self.run.end = JournalEnd::Finished {
                    coverage,
                    exit_code,
                    verdict,
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use vplan_base::canon::Digest;

    /// Returns the type of an entry in the documents. A new variant does not compile until it is
    /// added here and described in `events.md`.
    fn described(entry: &JournalEntry) -> &'static str {
        match entry {
            JournalEntry::RunStarted { .. } => "run.started",
            JournalEntry::PlanCompiled { .. } => "plan.compiled",
            JournalEntry::StepStarted { .. } => "step.started",
            JournalEntry::StepFinished { .. } => "step.finished",
            JournalEntry::ProgramResolved { .. } => "program.resolved",
            JournalEntry::PlanRewritten { .. } => "plan.rewritten",
            JournalEntry::RunInterrupted { .. } => "run.interrupted",
            JournalEntry::RunFinished { .. } => "run.finished",
        }
    }

    /// Returns one entry of each variant, with everything that can be absent present.
    fn all() -> Vec<JournalEntry> {
        let rewrite = Rewrite {
            coverage: Coverage::Full,
            dropped: Vec::new(),
            evidence: None,
            next_commands: Vec::new(),
            next_digest: None,
            previous_commands: Vec::new(),
            previous_digest: None,
            reason: "r".into(),
            recovery_rule: "r".into(),
        };
        vec![
            JournalEntry::RunStarted {
                environment: Some(EnvironmentUse::default()),
                run_id: "r".into(),
                started_at: Some("t".into()),
                version: 1,
            },
            JournalEntry::PlanCompiled {
                changed_files_count: Some(1),
                digest: Some(Digest::hash(b"")),
                steps: vec![PlannedStep {
                    command: "c".into(),
                    id: "i".into(),
                }],
            },
            JournalEntry::StepStarted {
                attempt: 1,
                id: "i".into(),
                limit_ms: 1,
            },
            JournalEntry::StepFinished {
                cached_from: None,
                attempt: 1,
                detail: Some("d".into()),
                duration_ms: 1,
                exit_code: Some(0),
                id: "i".into(),
                kind: Some(Kind::Run),
                leaked: 0,
                log: Some("l".into()),
                program: Some(Word::from("p")),
                reason: Some(Cause::ExitCode),
                signal: Some("s".into()),
                status: Status::Failed,
                tests: Some(TestCounts::default()),
            },
            JournalEntry::ProgramResolved {
                program: ProgramRecord {
                    digest: Some(Digest::hash(b"")),
                    path: Word::from("p"),
                    size: 1,
                },
            },
            JournalEntry::PlanRewritten {
                rewrite: Box::new(rewrite),
            },
            JournalEntry::RunInterrupted {
                signal: Interrupt::Int,
            },
            JournalEntry::RunFinished {
                attempt: Some(1),
                coverage: Coverage::Full,
                decision: Some(Decision::Advance),
                exit_code: 0,
                retries_remaining: Some(0),
                steps: vec![FinalStatus {
                    id: "i".into(),
                    reason: Some(Cause::ExitCode),
                    status: Status::Failed,
                }],
                verdict: Verdict::Passed,
            },
        ]
    }

    /// Returns the rows of a table of the documents whose first cell has this heading.
    fn rows(heading: &str) -> Vec<Vec<&'static str>> {
        let table = EVENTS.split(&format!("| {heading} |")).nth(1).unwrap();
        let rows = table.lines().skip(2).take_while(|l| l.starts_with('|'));
        rows.map(|l| l.trim_matches('|').split('|').map(str::trim).collect())
            .collect()
    }

    fn words(cell: &str) -> Vec<&str> {
        cell.split('`').skip(1).step_by(2).collect()
    }

    #[test]
    fn the_documents_name_every_event_and_every_key() {
        let rows = rows("type");
        let named: Vec<&str> = rows.iter().map(|row| words(row[0])[0]).collect();
        let entries = all();
        assert_eq!(named, entries.iter().map(described).collect::<Vec<_>>());
        for (entry, row) in entries.iter().zip(&rows) {
            let line = serde_json::to_value(Line {
                seq: 0,
                t: 0,
                entry: entry.clone(),
            })
            .unwrap();
            assert_eq!(line["type"], described(entry));
            let said = words(row[2]);
            for key in line
                .as_object()
                .unwrap()
                .keys()
                .filter(|k| !["seq", "t", "type"].contains(&k.as_str()))
            {
                assert!(
                    said.contains(&key.as_str()),
                    "{}: `{key}` is not described",
                    row[0]
                );
            }
            let text = line.to_string();
            for key in said.iter().filter(|k| !["int", "term"].contains(*k)) {
                assert!(
                    text.contains(&format!("\"{key}\":")),
                    "{}: there is no `{key}`",
                    row[0]
                );
            }
        }
    }

    #[test]
    fn the_events_of_other_tools_lead_to_ours() {
        let known: Vec<&str> = all().iter().map(described).collect();
        let rows = rows("tool");
        for tool in ["runr", "Ralph", "ralph-tui", "acode"] {
            assert!(rows.iter().any(|row| row[0] == tool), "{tool}");
        }
        for row in &rows {
            assert_eq!(row.len(), 4, "{row:?}");
            let ours = words(row[2]);
            assert!(
                row[2] == "every line" || ours.iter().all(|name| known.contains(name)),
                "{row:?}"
            );
            assert!(row[2] == "every line" || ours.len() == 1, "{row:?}");
        }
        for name in known.iter().filter(|n| **n != "run.interrupted") {
            assert!(
                rows.iter().any(|row| words(row[2]) == [*name]),
                "nothing leads to {name}"
            );
        }
    }

    #[test]
    fn older_journals_are_read() {
        let old = "{\"runId\":\"r\",\"seq\":0,\"t\":0,\"type\":\"run.started\",\"version\":1}\n\
                   {\"seq\":1,\"steps\":[{\"command\":\"c\",\"id\":\"a\"}],\"t\":0,\"type\":\"plan.compiled\"}\n\
                   {\"attempt\":1,\"durationMs\":3,\"id\":\"a\",\"seq\":2,\"status\":\"passed\",\"t\":4,\"type\":\"step.finished\"}\n\
                   {\"coverage\":\"full\",\"exitCode\":0,\"more\":1,\"seq\":3,\"steps\":[],\"t\":4,\"type\":\"run.finished\",\"verdict\":\"passed\"}\n";
        let run = replay(old.as_bytes());
        assert!(run.is_pass());
        assert_eq!(
            (
                run.steps[0].duration_ms,
                run.steps[0].tries,
                run.steps[0].kind
            ),
            (3, 1, None::<Kind>)
        );
        assert!(serde_json::from_str::<Value>(old.lines().next().unwrap()).is_ok());
    }

    #[test]
    fn a_writer_numbers_its_lines_and_time_does_not_go_back() {
        let mut journal = Journal::default();
        let times = [3, 1, 5].map(|t| {
            journal.line(
                t,
                JournalEntry::RunInterrupted {
                    signal: Interrupt::Int,
                },
            )
        });
        let read =
            |line: &String| serde_json::from_str::<Line>(line.strip_suffix('\n').unwrap()).unwrap();
        let seen: Vec<(u64, u64)> = times
            .iter()
            .map(read)
            .map(|line| (line.seq, line.t))
            .collect();
        assert_eq!(seen, [(0, 3), (1, 3), (2, 5)]);
    }

    #[test]
    fn where_a_journal_ends_to_be_valid() {
        let start = || JournalEntry::RunStarted {
            environment: None,
            run_id: "r".into(),
            started_at: None,
            version: 1,
        };
        let middle = || JournalEntry::RunInterrupted {
            signal: Interrupt::Int,
        };
        let end = all().pop().unwrap();
        let line = |seq, t, entry| serde_json::to_string(&Line { seq, t, entry }).unwrap() + "\n";
        for (name, journal, valid) in [
            (
                "whole",
                vec![
                    line(0, 1, start()),
                    line(1, 1, middle()),
                    line(2, 2, end.clone()),
                ],
                3,
            ),
            (
                "a gap in the numbers",
                vec![line(0, 1, start()), line(2, 1, middle())],
                1,
            ),
            (
                "a number twice",
                vec![
                    line(0, 1, start()),
                    line(1, 1, middle()),
                    line(1, 1, middle()),
                ],
                2,
            ),
            (
                "time goes back",
                vec![line(0, 2, start()), line(1, 1, middle())],
                1,
            ),
            ("it does not begin", vec![line(0, 1, middle())], 0),
            (
                "it begins twice",
                vec![line(0, 1, start()), line(1, 1, start())],
                1,
            ),
            (
                "after its end",
                vec![
                    line(0, 1, start()),
                    line(1, 1, end.clone()),
                    line(2, 1, middle()),
                ],
                2,
            ),
            // An invalid line ends it, although valid ones follow.
            (
                "around a wrong line",
                vec![line(0, 1, start()), "x\n".into(), line(1, 1, middle())],
                1,
            ),
        ] {
            let text = journal.concat();
            let mut lines = lines(text.as_bytes());
            assert_eq!(lines.by_ref().count(), valid, "{name}");
            assert_eq!(
                lines.bytes(),
                journal.iter().take(valid).map(String::len).sum::<usize>(),
                "{name}"
            );
            assert!(lines.next().is_none(), "{name}");
        }
    }

    #[test]
    fn a_step_begins_anew_when_its_plan_does() {
        let planned = |command: &str| JournalEntry::PlanCompiled {
            changed_files_count: None,
            digest: None,
            steps: vec![PlannedStep {
                command: command.into(),
                id: "a".into(),
            }],
        };
        let started = |attempt| JournalEntry::StepStarted {
            attempt,
            id: "a".into(),
            limit_ms: 1,
        };
        let finished = |attempt| JournalEntry::StepFinished {
            cached_from: None,
            attempt,
            detail: None,
            duration_ms: 3,
            exit_code: None,
            id: "a".into(),
            kind: None,
            leaked: 0,
            log: None,
            program: None,
            reason: None,
            signal: None,
            status: Status::Failed,
            tests: None,
        };
        let start = JournalEntry::RunStarted {
            environment: None,
            run_id: "r".into(),
            started_at: None,
            version: 1,
        };
        let tried = [
            start,
            planned("c"),
            started(1),
            finished(1),
            started(2),
            finished(2),
        ];
        let seen = |more: &[JournalEntry]| {
            let mut journal = Journal::default();
            let text: String = tried
                .iter()
                .chain(more)
                .map(|entry| journal.line(0, entry.clone()))
                .collect();
            let step = replay(text.as_bytes()).steps.pop().unwrap();
            (step.state, step.tries, step.duration_ms)
        };
        let failed = StepState::Ended(Status::Failed, None);
        assert_eq!(seen(&[]), (failed, 2, 6));
        assert_eq!(seen(&[planned("c")]), (failed, 2, 6));
        assert_eq!(seen(&[planned("d")]), (StepState::Waiting, 0, 0));
        assert_eq!(seen(&[started(3)]), (StepState::Running, 2, 6));
        assert_eq!(seen(&[started(1)]), (StepState::Running, 0, 0));
    }
}
