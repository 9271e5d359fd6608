//! Steps and plans as simple as they get, for tests.

use vplan_base::canon::Digest;
use vplan_base::word::Word;
use vplan_check::Kind;
use vplan_plan::request::RequestRecord;
use vplan_plan::{ContractRef, Origin, Plan, Step};

/// A step that runs a program with its own name.
pub fn step(id: &str) -> Step {
    Step {
        argv: Some(vec![Word::from(id)]),
        command: id.to_owned(),
        exit: vec![0],
        id: id.to_owned(),
        timeout_ms: 60_000,
        ..vplan_plan::step::empty(Kind::Run, Origin::Contract)
    }
}

/// A plan of a contract with these steps: one after another, fail-fast, no budget.
pub fn plan(steps: Vec<Step>) -> Plan {
    let contract = ContractRef {
        digest: Digest::hash(b""),
        imports: Vec::new(),
        path: "contracts/verify.vplan".to_owned(),
    };
    vplan_plan::digest::seal(Plan {
        contract: Some(contract),
        request: RequestRecord {
            role: "worker".to_owned(),
            ..RequestRecord::default()
        },
        ..Plan::of_steps(steps)
    })
}
