//! Generates values of `run`: small plans, scripts for their steps, and a world in virtual time
//! that plays them in any order of simultaneous events.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
pub use vplan_arbitrary::made::{plan, step};
use vplan_base::command::{Unsupported, UnsupportedReason};
use vplan_base::index::Index as _;
use vplan_base::service::Service;
use vplan_check::evidence::{Captured, Evidence, SpawnError};
use vplan_check::outcome::{GRACE_MS, Status};
use vplan_check::{Kind, Severity};
use vplan_plan::{Plan, Step, StepIndex};
use vplan_run::event::{Action, Event, Interrupt};
use vplan_run::journal::{FinalStatus, Journal, JournalEntry, PlannedStep};
use vplan_run::record::StepRecord;
use vplan_run::remote::Elsewhere;
use vplan_run::report::Report;
use vplan_run::state::{RunState, StateBeginning, StateEnding};

/// The end of a process that is not stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// With an exit code.
    Exit(i32),
    /// It crashes.
    Crash,
    /// It cannot be started.
    NoProgram,
    /// Its end is unknown.
    Lost,
}

/// The behaviour of one try of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// The time that it runs when it is not stopped, in milliseconds.
    pub duration_ms: u64,
    /// Its end then.
    pub finish: Finish,
    /// The time that it takes to end after a request, in milliseconds; `None` if it must be killed.
    pub stop_ms: Option<u64>,
}

/// The behaviour of each try of each step, by index.
pub type Script = Vec<Vec<Behaviour>>;

/// Another event of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Incidents {
    /// Signals, with their times in milliseconds.
    pub interrupts: Vec<(u64, Interrupt)>,
    /// The time at which the record cannot be written, in milliseconds.
    pub record_fails: Option<u64>,
}

/// A plan and the behaviour of its steps.
#[derive(Clone)]
pub struct Case {
    pub plan: Plan,
    /// One entry a step, with one behaviour for each try it may have.
    pub script: Script,
}

impl std::fmt::Debug for Case {
    /// One line a step: the settings that differ from those of [`step`], and the behaviour of its
    /// tries.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{:?}", self.plan.policy)?;
        for (s, tries) in self.plan.steps.iter().zip(&self.script) {
            write!(
                f,
                "{} {:?} tier {} {}ms after {:?} needs {:?}",
                s.id, s.kind, s.tier, s.timeout_ms, s.after, s.needs
            )?;
            for (name, is) in [
                (" always", s.always),
                (" setup", s.setup),
                (" warning", s.severity == Severity::Warning),
                (" unsupported", s.unsupported.is_some()),
            ] {
                write!(f, "{}", if is { name } else { "" })?;
            }
            write!(f, " exclusive {:?}:", s.exclusive)?;
            for b in tries.iter().zip(0..=s.retries).map(|(b, _)| b) {
                let (finish, ms, stop) = (b.finish, b.duration_ms, b.stop_ms);
                write!(f, " {finish:?} {ms}ms stop {stop:?};")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Something that happened in the played world, to a step by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The machine started a try of a step: which try, and its limit in milliseconds.
    Started(usize, u32, u64),
    /// A try ended.
    Ended(usize),
    /// The machine requested the end of a try.
    Terminated(usize),
    /// The machine killed a try.
    Killed(usize),
    /// The machine reported that everything is over.
    Done,
}

/// The result of a played run.
#[derive(Clone, Debug)]
pub struct Played {
    /// The machine's records.
    pub records: Vec<StepRecord>,
    /// The machine's ending.
    pub ending: StateEnding,
    /// The events, with times.
    pub trace: Vec<(u64, Happening)>,
}

#[derive(Clone, Copy)]
struct Process {
    attempt: u32,
    started: u64,
    behaviour: Behaviour,
    /// The time of its end if nothing else happens, and whether it ends by itself.
    ends: u64,
    own_end: bool,
    signal: &'static str,
    timed_out: bool,
}

/// Returns the evidence of a try that is not stopped.
pub fn evidence(behaviour: Behaviour) -> Evidence {
    let mut evidence = Evidence {
        duration_ms: behaviour.duration_ms,
        stdout: Captured::from(&b"some output\n"[..]),
        ..Evidence::default()
    };
    match behaviour.finish {
        Finish::Exit(code) => evidence.exit = Some(code),
        Finish::Crash => evidence.signal = Some("SIGSEGV".to_owned()),
        Finish::NoProgram => {
            evidence.spawn_error = Some(SpawnError {
                code: "PROGRAM_NOT_FOUND".to_owned(),
                message: "no such program".to_owned(),
            });
        }
        Finish::Lost => {}
    }
    evidence
}

impl Process {
    fn evidence(&self) -> Evidence {
        let own = evidence(self.behaviour);
        if self.own_end {
            return own;
        }
        Evidence {
            duration_ms: self.ends - self.started,
            signal: Some(self.signal.to_owned()),
            stdout: own.stdout,
            timed_out: self.timed_out,
            ..Evidence::default()
        }
    }

    fn stop(&mut self, at: u64, signal: &'static str, timed_out: bool) {
        if at < self.ends {
            self.ends = at;
            self.own_end = false;
            self.signal = signal;
            self.timed_out = timed_out;
        }
    }
}

/// The journal of a played case, with the end that its report has.
pub fn journal_of(case: &Case, played: &Played, report: &Report) -> String {
    let mut journal = Journal::default();
    let planned = case.plan.steps.iter().map(|s| PlannedStep {
        command: s.command.clone(),
        id: s.id.clone(),
    });
    let started = JournalEntry::RunStarted {
        environment: None,
        run_id: "r".into(),
        started_at: None,
        version: 1,
    };
    let compiled = JournalEntry::PlanCompiled {
        changed_files_count: Some(1),
        digest: case.plan.digest.clone(),
        steps: planned.collect(),
    };
    let mut text = journal.line(0, started) + &journal.line(0, compiled);
    for (t, happening) in &played.trace {
        let (Happening::Started(number, ..) | Happening::Ended(number)) = happening else {
            continue;
        };
        let Some(step) = case.plan.steps.get(*number) else {
            continue;
        };
        let id = step.id.clone();
        let entry = match happening {
            Happening::Started(_, attempt, limit_ms) => JournalEntry::StepStarted {
                attempt: *attempt,
                id,
                limit_ms: *limit_ms,
            },
            _ => JournalEntry::StepFinished {
                attempt: 1,
                cached_from: None,
                detail: Some("a\nb \u{1b} ü".into()),
                duration_ms: 3,
                exit_code: Some(0),
                id,
                kind: Some(step.kind),
                leaked: 0,
                log: Some("logs/x.1.log".into()),
                program: None,
                reason: None,
                signal: None,
                status: Status::Passed,
                tests: None,
            },
        };
        text += &journal.line(*t, entry);
    }
    let steps = report.steps.iter().map(|r| FinalStatus {
        id: r.id.clone(),
        reason: r.reason,
        status: r.status,
    });
    let end = JournalEntry::RunFinished {
        attempt: Some(report.attempt),
        coverage: report.coverage,
        decision: Some(report.decision),
        exit_code: report.exit_code,
        retries_remaining: Some(report.retries_remaining),
        steps: steps.collect(),
        verdict: report.verdict,
    };
    text + &journal.line(report.duration_ms, end)
}

/// Plays a case in virtual time. Of several events at one moment, `choose` picks one (it gets their
/// number). It also decides, by returning 0 of 4, when an event of time alone comes in between. In
/// every other millisecond the machine gets [`Event::InstantComplete`].
///
/// # Errors
/// The machine makes an invalid request, requests nothing although it is not done, or never ends.
pub fn play(
    case: &Case,
    incidents: &Incidents,
    choose: &mut dyn FnMut(usize) -> usize,
) -> Result<Played, Box<dyn std::error::Error>> {
    play_in_places(case, incidents, None, choose)
}

/// Plays a case as [`play`] does, with steps that are executed elsewhere: their own limits are enforced
/// there.
///
/// # Errors
/// As [`play`].
pub fn play_in_places(
    case: &Case,
    incidents: &Incidents,
    elsewhere: Option<Elsewhere>,
    choose: &mut dyn FnMut(usize) -> usize,
) -> Result<Played, Box<dyn std::error::Error>> {
    let beginning = StateBeginning {
        elsewhere,
        ..StateBeginning::default()
    };
    let (mut state, mut actions) = RunState::begin(Arc::new(case.plan.clone()), beginning);
    let mut now = 0;
    let mut wake: Option<u64>;
    let mut processes: BTreeMap<usize, Process> = BTreeMap::new();
    let mut pending = incidents.clone();
    pending.interrupts.sort();
    let mut trace = Vec::new();
    let mut untold = false;
    for _ in 0..100_000 {
        // Only the last request counts: a machine that forgets to repeat it would wait for ever.
        wake = None;
        for action in actions.drain(..) {
            match action {
                Action::Spawn {
                    step,
                    attempt,
                    limit_ms,
                    elsewhere,
                } => {
                    let step = step.position();
                    trace.push((now, Happening::Started(step, attempt, limit_ms)));
                    let tries = case.script.get(step).map(Vec::as_slice).unwrap_or_default();
                    let nth = usize::try_from(attempt).ok().and_then(|n| n.checked_sub(1));
                    let behaviour = nth.and_then(|nth| tries.get(nth));
                    let behaviour = *behaviour.ok_or("a try that nobody foresaw")?;
                    let mut process = Process {
                        attempt,
                        started: now,
                        behaviour,
                        ends: now + behaviour.duration_ms,
                        own_end: true,
                        signal: "",
                        timed_out: false,
                    };
                    if elsewhere && behaviour.duration_ms > limit_ms {
                        let out_of_time = now + limit_ms + 1;
                        process.stop(out_of_time + GRACE_MS + 1, "SIGKILL", true);
                        if let Some(stop_ms) = behaviour.stop_ms {
                            process.stop(out_of_time + stop_ms, "SIGTERM", true);
                        }
                    }
                    if processes.insert(step, process).is_some() {
                        return Err("a step that runs is started".into());
                    }
                }
                Action::Terminate { step, timed_out } => {
                    let step = step.position();
                    trace.push((now, Happening::Terminated(step)));
                    let process = processes.get_mut(&step);
                    let process = process.ok_or("a step that does not run is stopped")?;
                    if let Some(stop_ms) = process.behaviour.stop_ms {
                        process.stop(now + stop_ms, "SIGTERM", timed_out);
                    }
                }
                Action::Kill { step, timed_out } => {
                    let step = step.position();
                    trace.push((now, Happening::Killed(step)));
                    let process = processes.get_mut(&step);
                    let process = process.ok_or("a step that does not run is killed")?;
                    process.stop(now, "SIGKILL", timed_out);
                }
                Action::WakeAt { at } => wake = Some(at),
                Action::Done => trace.push((now, Happening::Done)),
            }
        }
        if state.is_done() {
            return Ok(Played {
                records: state.records(),
                ending: state.ending(),
                trace,
            });
        }
        let next_end = processes.values().map(|p| p.ends).min();
        let next_interrupt = pending.interrupts.first().map(|(at, _)| *at);
        let next = [next_end, next_interrupt, pending.record_fails, wake];
        let next = next.into_iter().flatten().min();
        let next = next.ok_or_else(|| format!("it waits for nothing: {trace:?} {state:?}"))?;
        let next = next.max(now);
        if choose(4) == 0 {
            // Some time passes, as far as it can without anything else happening.
            if next > now + 1 {
                now += 1 + (next - now - 1) / 2;
            }
            actions = state.handle(Event::Time { at: now });
            continue;
        }
        if next > now && std::mem::take(&mut untold) && now % 2 == 0 {
            actions = state.handle(Event::InstantComplete { at: now });
            continue;
        }
        now = next;
        let ended = processes.iter().filter(|(_, p)| p.ends == now);
        let ended = ended.map(|(step, process)| Event::Finished {
            step: StepIndex::new(*step),
            attempt: process.attempt,
            at: now,
            evidence: Box::new(process.evidence()),
        });
        let interrupt = pending.interrupts.first().filter(|i| i.0 <= now);
        let interrupt = interrupt.map(|i| Event::Interrupt {
            at: now,
            signal: i.1,
        });
        let mut due: Vec<Event> = ended.chain(interrupt).collect();
        if pending.record_fails.is_some_and(|at| at <= now) {
            due.push(Event::RecordFailed {
                at: now,
                message: "no space left".to_owned(),
            });
        }
        if wake.is_some_and(|at| at <= now) {
            due.push(Event::Time { at: now });
        }
        let event = due.swap_remove(choose(due.len()).min(due.len().saturating_sub(1)));
        match &event {
            Event::Finished { step, .. } => {
                processes.remove(&step.position());
                trace.push((now, Happening::Ended(step.position())));
            }
            Event::Interrupt { .. } => {
                pending.interrupts.remove(0);
            }
            Event::RecordFailed { .. } => pending.record_fails = None,
            Event::Began { .. } | Event::Time { .. } | Event::InstantComplete { .. } => {}
        }
        untold = true;
        actions = state.handle(event);
    }
    Err(format!("it never ends: {trace:?}").into())
}

/// A chooser that follows a list of numbers, again and again.
pub fn chooser(picks: Vec<usize>) -> impl FnMut(usize) -> usize {
    let mut position = 0;
    move |of| {
        position += 1;
        let pick = picks.get(position % picks.len().max(1)).unwrap_or(&1);
        // Mixed with the position, so that a short list does not repeat itself.
        let pick = pick.wrapping_mul(2_654_435_761);
        let mixed = pick.wrapping_add(position.wrapping_mul(40_503));
        mixed.rotate_right(7) % of.max(1)
    }
}

/// Numbers for [`chooser`].
pub fn picks() -> impl Strategy<Value = Vec<usize>> {
    vec(any::<usize>(), 1..32)
}

/// Cases of one to eight steps with short times, so that much happens at one moment.
pub fn cases() -> impl Strategy<Value = Case> {
    let budget_ms = prop_oneof![Just(None), (1..80_u64).prop_map(Some)];
    let policy = (budget_ms, any::<bool>(), 1..5_u32);
    let rough = (settings(), vec(behaviours(), 3));
    (vec(rough, 1..9), policy).prop_map(|(rough, (budget_ms, fail_fast, jobs))| {
        let (mut steps, mut script): (Vec<Step>, Script) = (Vec::new(), Vec::new());
        let mut tier = 0;
        for (index, (settings, tries)) in rough.into_iter().enumerate() {
            let earlier = |mask: u8| {
                let picked = (0..index).filter(move |i| mask >> (i % 8) & 1 == 1);
                picked.map(|i| format!("s{i}")).collect::<Vec<String>>()
            };
            let ((after, needs, next_tier), made) = settings;
            tier = (tier + u8::from(next_tier)).min(2);
            let named = step(&format!("s{index}"));
            let mut step = Step {
                argv: named.argv.filter(|_| made.unsupported.is_none()),
                command: named.command,
                id: named.id,
                needs: earlier(needs),
                tier,
                ..made
            };
            step.after = [earlier(after), step.needs.clone()].concat();
            step.after.sort();
            step.after.dedup();
            let prepares = |id: &&String| next_tier && !step.needs.contains(id);
            step.prepared_by = step.after.iter().filter(prepares).cloned().collect();
            steps.push(step);
            script.push(tries);
        }
        let mut plan = plan(steps);
        plan.policy.budget_ms = budget_ms;
        plan.policy.fail_fast = fail_fast;
        plan.policy.jobs = jobs.into();
        Case { plan, script }
    })
}

/// Which steps before it one waits for and needs, as bits, and whether its tier is the next one; the
/// rest of the step.
fn settings() -> impl Strategy<Value = ((u8, u8, bool), Step)> {
    let seldom = || proptest::bool::weighted(0.15);
    let mask = || prop_oneof![3 => Just(0), 2 => any::<u8>().prop_map(|m| m & m.rotate_left(3))];
    let exclusive =
        prop_oneof![3 => Just(None), 1 => Just(Some("port")), 1 => Just(Some("database"))];
    let kind = prop_oneof![
        6 => Just(Kind::Run), 1 => Just(Kind::Compile), 1 => Just(Kind::Test), 1 => Just(Kind::Lint),
        1 => Just(Kind::File), 1 => Just(Kind::Judge)
    ];
    let (next_tier, rest) = (seldom(), [seldom(), seldom(), seldom(), seldom()]);
    let flags = (next_tier, rest, proptest::bool::weighted(0.05));
    let numbers = (0..3_u32, 1..40_u64);
    let all = (mask(), mask(), flags, exclusive, numbers, kind);
    all.prop_map(|(after, needs, flags, exclusive, numbers, kind)| {
        let (next_tier, [always, setup, warning, beside], unsupported) = flags;
        let (retries, timeout_ms) = numbers;
        // It takes no time to become ready.
        let service = Service {
            name: "db".to_owned(),
            ..Service::default()
        };
        let beside = beside && !matches!(kind, Kind::File | Kind::Judge);
        let mut made = Step {
            always,
            setup,
            exclusive: exclusive.map(str::to_owned),
            with: beside.then_some(service).into_iter().collect(),
            retries,
            timeout_ms,
            skip_exit: vec![77],
            kind,
            unsupported: unsupported.then(|| Unsupported {
                chain: Vec::new(),
                changes_shell: false,
                offset: 0,
                reason: UnsupportedReason::Operator,
                text: "|".to_owned(),
            }),
            ..step("")
        };
        if warning {
            made.severity = Severity::Warning;
        }
        ((after, needs, next_tier), made)
    })
}

fn behaviours() -> impl Strategy<Value = Behaviour> {
    let finish = prop_oneof![
        12 => Just(Finish::Exit(0)), 3 => Just(Finish::Exit(1)), 1 => Just(Finish::Exit(77)),
        1 => Just(Finish::Crash), 1 => Just(Finish::NoProgram), 1 => Just(Finish::Lost)
    ];
    let stop_ms = prop_oneof![4 => (0..4_u64).prop_map(Some), 1 => Just(None)];
    (0..12_u64, finish, stop_ms).prop_map(|(n, finish, stop_ms)| Behaviour {
        // A try that cannot be started takes no time.
        duration_ms: 3 * (n / 2) * u64::from(finish != Finish::NoProgram),
        finish,
        stop_ms,
    })
}

/// Signals and record failures, often at moments at which something else happens.
pub fn incidents() -> impl Strategy<Value = Incidents> {
    let signal = prop_oneof![Just(Interrupt::Int), Just(Interrupt::Term)];
    let interrupts = vec((0..40_u64, signal), 0..3);
    let record_fails = prop_oneof![3 => Just(None), 1 => (0..40_u64).prop_map(Some)];
    (interrupts, record_fails).prop_map(|(interrupts, record_fails)| Incidents {
        interrupts,
        record_fails,
    })
}

/// Returns the steps that run in parallel in a trace: after each start, all running ones.
pub fn side_by_side(trace: &[(u64, Happening)]) -> Vec<BTreeSet<usize>> {
    let mut running = BTreeSet::new();
    let mut sets = Vec::new();
    for (_, happening) in trace {
        if let Happening::Ended(step) = happening {
            running.remove(step);
        }
        if let Happening::Started(step, ..) = happening {
            running.insert(*step);
            sets.push(running.clone());
        }
    }
    sets
}
