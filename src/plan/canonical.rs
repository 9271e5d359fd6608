//! The canonical form of a plan, from which its digest is computed: what is verified, for which
//! change, and why; not where it was written or how it is run.
//!
//! | key | version 1 | version 2 |
//! |---|---|---|
//! | `request.base`, `request.changedIn` | there are none | in |
//! | `request.changedFrom` | in | annotation |
//! | `policy.jobs`, `policy.failFast` | in | annotations |
//! | `caveats`, `compared`, `digest`, places (`source`, `file`, `line`, also of services), `describe`, `fix`, `each` | annotations | annotations |
//!
//! Version 1 is only read: what is planned has version 2. A field of a plan is in its canonical
//! form exactly when a struct below has it.

use super::facts::Fact;
use super::request::RequestRecord;
use super::{ContractRef, Note, Omitted, Plan, Policy, Reason, Rewrite, Step, Tier};
pub use super::{FIRST, VERSION};

use serde::{Serialize, Serializer};
use serde_json::Value;

use vplan_base::vocabulary::{Open, RewriteRule};

/// The canonical form of a plan, borrowed: sealing does not double a plan of 100,000 files. The
/// fields are those of [`Plan`], in their order.
#[derive(Serialize)]
pub(super) struct Form<'a> {
    /// The fields before the rewrites.
    #[serde(flatten)]
    pub head: Head<'a>,
    pub rewrites: &'a [Rewrite],
    /// The fields after them.
    #[serde(flatten)]
    pub tail: Tail<'a>,
}

/// The fields before the rewrites.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Head<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    contract: &'a Option<ContractRef>,
    facts: &'a [Fact],
    #[serde(skip_serializing_if = "<[Note]>::is_empty")]
    notes: &'a [Note],
    omitted: StrippedList<'a, Omitted>,
    policy: By<'a, Policy, PolicyForm<'a>>,
    request: Stripped<'a, RequestRecord>,
}

/// The fields after them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tail<'a> {
    steps: StrippedList<'a, Step>,
    tiers: StrippedList<'a, Tier>,
    version: u32,
}

/// Fields by version: all, or those that version 2 keeps.
#[derive(Serialize)]
#[serde(untagged)]
enum By<'a, First, Second> {
    First(&'a First),
    Second(Second),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PolicyForm<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_ms: Option<u64>,
    recover: &'a [Open<RewriteRule>],
    recover_contract: bool,
}

impl<'a> Form<'a> {
    /// Returns the canonical form of a plan.
    pub fn new(plan: &'a Plan) -> Self {
        // Without `..`, so that a new field of a plan cannot be forgotten here.
        let Plan {
            caveats: _,
            compared: _,
            contract,
            digest: _,
            facts,
            notes,
            omitted,
            policy,
            request,
            rewrites,
            steps,
            tiers,
            version,
        } = plan;
        let omitted = StrippedList(omitted, strip_omitted);
        let (policy, strip_request): (_, fn(&mut _)) = match *version {
            FIRST => (By::First(policy), |_| {}),
            _ => (By::Second(PolicyForm::new(policy)), strip_request),
        };
        Form {
            head: Head {
                contract,
                facts,
                notes,
                omitted,
                policy,
                request: Stripped(request, strip_request),
            },
            rewrites,
            tail: Tail {
                steps: StrippedList(steps, strip_step),
                tiers: StrippedList(tiers, strip_tier),
                version: *version,
            },
        }
    }
}

impl<'a> PolicyForm<'a> {
    fn new(policy: &'a Policy) -> Self {
        let Policy {
            budget_ms,
            fail_fast: _,
            jobs: _,
            recover,
            recover_contract,
        } = policy;
        Self {
            budget_ms: *budget_ms,
            recover,
            recover_contract: *recover_contract,
        }
    }
}

/// Returns the canonical form as a value, for comparing plans field by field.
pub fn value(plan: &Plan) -> Value {
    serde_json::to_value(Form::new(plan)).unwrap_or_default()
}

/// Returns the plan without annotations: one with the same digest and nothing else.
pub fn without_annotations(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.digest = None;
    plan.caveats = Vec::new();
    plan.compared = None;
    plan.steps.iter_mut().for_each(strip_step);
    plan.omitted.iter_mut().for_each(strip_omitted);
    plan.tiers.iter_mut().for_each(strip_tier);
    if plan.version != FIRST {
        strip_request(&mut plan.request);
        (plan.policy.jobs, plan.policy.fail_fast) = (Policy::JOBS, Policy::FAIL_FAST);
    }
    plan
}

impl Step {
    /// Returns the step as executed without its plan: once, within this limit in milliseconds. The
    /// plan decides when it may start, why, and what follows from its end.
    pub fn alone(&self, limit_ms: u64) -> Self {
        Self {
            after: Vec::new(),
            exclusive: None,
            needs: Vec::new(),
            prepared_by: Vec::new(),
            reasons: Vec::new(),
            retries: 0,
            timeout_ms: limit_ms.max(1),
            ..without_annotations_of(self)
        }
    }
}

/// Returns a step without annotations.
pub(crate) fn without_annotations_of(step: &Step) -> Step {
    let mut step = step.clone();
    strip_step(&mut step);
    step
}

fn strip_request(request: &mut RequestRecord) {
    request.changed_from = None;
}

fn strip_step(step: &mut Step) {
    step.forget(|setting| setting.annotation);
    step.source = None;
    step.each.clear();
    for service in &mut step.with {
        (service.file, service.line) = (None, None);
    }
    step.reasons.iter_mut().for_each(strip_reason);
}

fn strip_omitted(omitted: &mut Omitted) {
    omitted.each.clear();
    omitted.file = None;
    omitted.line = None;
    omitted.reasons.iter_mut().for_each(strip_reason);
}

fn strip_tier(tier: &mut Tier) {
    tier.triggers.iter_mut().for_each(strip_reason);
}

fn strip_reason(reason: &mut Reason) {
    reason.file = None;
    reason.line = None;
}

/// A list whose items are stripped one at a time.
struct StrippedList<'a, T>(&'a [T], fn(&mut T));

impl<T: Serialize + Clone> Serialize for StrippedList<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|item| Stripped(item, self.1)))
    }
}

/// A value without some of its fields.
struct Stripped<'a, T>(&'a T, fn(&mut T));

impl<T: Serialize + Clone> Serialize for Stripped<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = self.0.clone();
        (self.1)(&mut value);
        value.serialize(serializer)
    }
}
