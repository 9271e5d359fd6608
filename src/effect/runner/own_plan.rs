//! Makes plans of commands that are not a contract's: those of a fixer, those of the tour. They run
//! as steps do, one after the other, up to the first that fails.

use crate::base::change::ChangeSet;
use crate::plan::request::{Mode, RequestRecord, Risk};
use crate::plan::{Plan, Policy, Step};

/// Makes a plan of these steps.
#[must_use]
pub fn of(steps: Vec<Step>) -> Plan {
    Plan {
        caveats: Vec::new(),
        compared: None,
        contract: None,
        digest: None,
        facts: Vec::new(),
        notes: Vec::new(),
        omitted: Vec::new(),
        policy: Policy {
            budget_ms: None,
            fail_fast: true,
            jobs: 1,
            recover: Vec::new(),
            recover_contract: false,
        },
        request: RequestRecord {
            base: None,
            boundaries: Vec::new(),
            changed: ChangeSet::default(),
            changed_from: None,
            changed_in: None,
            explicit: Vec::new(),
            min_tier: 0,
            mode: Mode::Off,
            names: Vec::new(),
            only: Vec::new(),
            proposal: None,
            risk: Risk::Medium,
            role: String::new(),
            skip: Vec::new(),
        },
        rewrites: Vec::new(),
        steps,
        tiers: Vec::new(),
        version: crate::plan::canonical::VERSION,
    }
}
