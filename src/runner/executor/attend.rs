//! Manages the services of steps: begins the steps whose services are ready, and stops services
//! that are no longer needed.

use super::{Drive, DriveError, Driver, ExecutorEvent, SUSPEND_TIMEOUT, execution};
use crate::services::{Readiness, refused};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use vplan_os::process::attempt::AttemptResult;
use vplan_plan::StepIndex;
use vplan_run::event::Event;

/// Grace period after a step's end: a service that dies within it may have died because of the
/// step.
const LAST_WORDS: Duration = Duration::from_millis(200);

impl Drive<'_, '_, '_> {
    /// Whether an event of the services is to be handled: starts steps whose services are ready,
    /// ends steps whose services are dead, and stops services that are no longer needed.
    pub(super) fn attend_services(&mut self) -> Result<bool, DriveError> {
        if self.services.is_unused() {
            return Ok(false);
        }
        let Driver { pool, doorbell, .. } = &mut *self.driver;
        self.services.advance(self.context, (pool, doorbell));
        let mut is_news = false;
        for step in self.waiting.clone() {
            match self.services.readiness(self.plan.step(step)) {
                Readiness::Waiting => {}
                Readiness::Ready => {
                    self.waiting.remove(&step);
                    let filled = self.services.fill(self.plan.step(step));
                    execution(&mut self.busy, step).fill(filled);
                    self.begin(step, false)?;
                    // Its time begins now, not when its services were started.
                    let attempt = execution(&mut self.busy, step).attempt;
                    let at = self.now();
                    self.event(Event::Began { step, attempt, at }, None);
                    is_news = true;
                }
                Readiness::Dead(why) => {
                    self.waiting.remove(&step);
                    self.end_at_once(step, refused(why));
                    is_news = true;
                }
            }
        }
        // A step that is tried again runs by now.
        let plan = self.plan;
        let busy = self.busy.keys().flat_map(|step| &plan.step(*step).with);
        let busy: BTreeSet<&str> = busy.map(|service| service.name.as_str()).collect();
        self.services.stop_unwanted(&busy);
        Ok(is_news)
    }

    pub(super) fn end_at_once(&mut self, step: StepIndex, tried: AttemptResult) {
        let at = self.now();
        self.news.push_back(ExecutorEvent::ended(step, at, tried));
    }

    /// If a step did not pass, waits until it is known whether one of its services has died.
    pub(super) async fn settle_services(
        &mut self,
        step: StepIndex,
        tried: &AttemptResult,
    ) -> Option<String> {
        let planned = self.plan.step(step);
        if planned.with.is_empty() {
            return None;
        }
        let accepted = |exit| planned.exit.contains(&exit);
        let until = match tried.evidence.exit {
            Some(exit) if accepted(exit) => Instant::now(),
            _ => Instant::now() + LAST_WORDS,
        };
        loop {
            self.listen();
            match self.services.readiness(planned) {
                Readiness::Dead(why) => return Some(why),
                _ if Instant::now() >= until => return None,
                _ => self.turn(Some(Duration::from_millis(10))).await,
            }
        }
    }

    /// Ends all services, those that do not obey by force.
    pub(super) async fn stop_services(&mut self) {
        self.services.stop();
        while self.services.is_running() {
            let Driver { pool, doorbell, .. } = &mut *self.driver;
            self.services.advance(self.context, (pool, doorbell));
            let is_stop = |news: &ExecutorEvent| {
                matches!(news, ExecutorEvent::Signal(Signal::INT | Signal::TERM))
            };
            if self.news.iter().any(is_stop) {
                self.news.retain(|news| !is_stop(news));
                self.services.kill();
            }
            self.turn(Some(SUSPEND_TIMEOUT.min(self.services_due())))
                .await;
        }
    }

    fn services_due(&self) -> Duration {
        let due = self.services.due();
        due.map_or(SUSPEND_TIMEOUT, |at| {
            at.saturating_duration_since(Instant::now())
        })
    }
}
