//! How do the steps of a run end that go one after another? A loop over them that adds up times.

use vplan::arbitrary::run::{Case, Finish};
use vplan::check::outcome::{Cause, Status};
use vplan::check::{Kind, Severity};
use vplan::run::state::CLEAN_UP_MS;

/// What one-after-another means, written as a loop: the reference for `jobs 1`.
pub fn sequentially(case: &Case) -> Vec<(Status, Option<Cause>)> {
    let mut now = 0;
    let mut stopped = false;
    let mut ends: Vec<(Status, Option<Cause>)> = Vec::new();
    let index = |id: &String| id.trim_start_matches('s').parse::<usize>().unwrap();
    for (step, tries) in case.plan.steps.iter().zip(&case.script) {
        let budget = case
            .plan
            .policy
            .budget_ms
            .map(|b| if step.always { b + CLEAN_UP_MS } else { b });
        let unmet = step
            .needs
            .iter()
            .map(|id| ends[index(id)])
            .find(|(status, _)| !status.is_pass());
        let over = budget.is_some_and(|b| now >= b);
        let end = match unmet {
            _ if stopped && !step.always => (Status::NotRun, Some(Cause::FailFast)),
            Some(unmet) if !step.always && unmet != (Status::NotRun, Some(Cause::Budget)) => {
                (Status::NotRun, Some(Cause::Needs))
            }
            Some(_) if !step.always => (Status::NotRun, Some(Cause::Budget)),
            _ if step.unsupported.is_some() => (Status::Errored, Some(Cause::Unsupported)),
            _ if step.kind == Kind::Judge => (Status::Skipped, Some(Cause::NoJudge)),
            _ if over => (Status::NotRun, Some(Cause::Budget)),
            _ => {
                let mut end = (Status::NotRun, None);
                for attempt in 0..=step.retries {
                    let behaviour = tries[attempt as usize];
                    let left = budget.map_or(u64::MAX, |b| b.saturating_sub(now));
                    if left == 0 {
                        break;
                    }
                    let limit = step.timeout_ms.min(left);
                    if behaviour.duration_ms > limit {
                        // It is noticed one millisecond later, and then it takes its time to end,
                        // or is killed.
                        let noticed = now + limit + 1;
                        let left = case
                            .plan
                            .policy
                            .budget_ms
                            .map_or(u64::MAX, |b| b.saturating_sub(noticed));
                        let killed = left.clamp(1000, 10_000) + 1;
                        let dies = behaviour.stop_ms.map_or(killed, |s| s.min(killed));
                        now = (now + behaviour.duration_ms).min(noticed + dies);
                        let by_budget =
                            left_before(case, step, noticed - limit - 1) < step.timeout_ms;
                        end = (
                            Status::TimedOut,
                            Some(if by_budget {
                                Cause::Budget
                            } else {
                                Cause::TimeLimit
                            }),
                        );
                        if by_budget {
                            break;
                        }
                        continue;
                    }
                    now += behaviour.duration_ms;
                    end = match behaviour.finish {
                        Finish::NoProgram => (Status::Errored, Some(Cause::Missing)),
                        Finish::Crash => (Status::Failed, Some(Cause::Signal)),
                        Finish::Exit(77) => (Status::Skipped, Some(Cause::SkipExit)),
                        Finish::Lost if step.kind != Kind::File => {
                            (Status::Errored, Some(Cause::Lost))
                        }
                        Finish::Exit(1) if step.kind != Kind::File => {
                            (Status::Failed, Some(Cause::ExitCode))
                        }
                        _ if attempt > 0 => (Status::Flaky, Some(Cause::Retried)),
                        _ => (Status::Passed, None),
                    };
                    if end.0 != Status::Failed {
                        break;
                    }
                }
                end
            }
        };
        let failed = end.0.is_failure()
            && end.1 != Some(Cause::Budget)
            && step.severity == Severity::Blocking;
        stopped |= failed && case.plan.policy.fail_fast;
        ends.push(end);
    }
    ends
}

fn left_before(case: &Case, step: &vplan::plan::Step, now: u64) -> u64 {
    let clean_up = if step.always { CLEAN_UP_MS } else { 0 };
    case.plan
        .policy
        .budget_ms
        .map_or(u64::MAX, |b| (b + clean_up).saturating_sub(now))
}
