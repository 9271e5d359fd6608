//! Explains why nothing is verified, or less than a reader would expect, from the request and its
//! contract alone.

use super::caveat::{Caveat, Code, Effect};
use super::inclusion::NAMED;
use super::request::{ChangedFrom, Mode};
use super::{Omitted, Plan};
use vplan_base::word::visible;
use vplan_contract::Contract;

/// The sentence about a contract that requires nothing, whatever changes.
pub const EMPTY: &str = "the contract has no checks";

/// The conditions that never hold where nothing changed.
const ABOUT_CHANGES: &[&str] = &[
    "whenChangedAny",
    "whenChangedAll",
    "whenChangedOnly",
    "changed",
];

/// Returns the caveats that follow from the request and its contract.
pub fn caveats(plan: &Plan, contract: Option<&Contract>) -> Vec<Caveat> {
    let request = &plan.request;
    if request.mode == Mode::Off {
        return Vec::new();
    }
    if contract.is_some_and(|c| c.checks.is_empty()) && plan.steps.is_empty() {
        let way_out = "write a check into it; `--mode off` asks for none";
        return vec![Caveat::new(Code::EmptyContract, Effect::Incomplete, EMPTY).way_out(way_out)];
    }
    if !request.names.is_empty() {
        let names = ticks(&request.names);
        let message = format!("only {names} was asked for: no other check was looked at");
        let caveat = Caveat::new(Code::Named, Effect::Narrows, message);
        return vec![caveat.of_checks(request.names.clone())];
    }
    if !request.only.is_empty() && plan.steps.is_empty() {
        let caveat = Caveat::new(Code::OnlyNothing, Effect::Narrows, only_nothing(plan));
        return vec![caveat.of_checks(request.only.clone())];
    }
    Vec::new()
}

/// Whether a plan verifies less than its contract requires, although each omission has a reason:
/// named checks only, or none.
pub fn narrows(plan: &Plan) -> bool {
    let request = &plan.request;
    request.mode == Mode::Off
        || !request.names.is_empty()
        || (plan.steps.is_empty() && !request.only.is_empty())
}

/// Whether a plan without steps left something out: then its contract has checks, or the request
/// brought some.
pub fn left_something_out(plan: &Plan) -> bool {
    !plan.omitted.is_empty() || !plan.rewrites.is_empty()
}

/// Returns why a plan has no step, on one line for people.
pub fn why(plan: &Plan) -> String {
    let request = &plan.request;
    if request.mode == Mode::Off {
        return "mode is off: nothing was verified".to_owned();
    }
    let about = |o: &Omitted, wanted: &[&str]| {
        let mut reasons = o.reasons.iter();
        reasons.any(|r| wanted.contains(&r.condition.as_str()))
    };
    if request.changed.is_empty() && plan.omitted.iter().any(|o| about(o, ABOUT_CHANGES)) {
        return nothing_changed(plan);
    }
    let mut omitted = plan.omitted.iter().filter(|_| !request.names.is_empty());
    if let Some(named) = omitted.find(|o| !about(o, &[NAMED])) {
        return format!("`{}` was left out: {}", visible(&named.id), named.reason);
    }
    if !request.only.is_empty() {
        return only_nothing(plan);
    }
    "each check of the contract was left out".to_owned()
}

/// Explains that nothing changed: against which base, and what else could be requested.
fn nothing_changed(plan: &Plan) -> String {
    let branch = plan.compared.as_ref().and_then(|c| c.branch.as_ref());
    let against = |base: &str| format!("no file changed against `{}`", visible(base));
    let (what, ways) = match (&plan.request.changed_from, branch) {
        (Some(ChangedFrom::All), _) => return "git tracks no file".to_owned(),
        (Some(ChangedFrom::WorkTree), Some(branch)) => (against(branch), "`--base REV`"),
        (Some(ChangedFrom::WorkTree), None) => (against("HEAD"), "`--base BRANCH`"),
        (Some(ChangedFrom::Staged), _) => {
            let staged = "nothing is staged".to_owned();
            (staged, "the work tree without `--staged`")
        }
        (Some(ChangedFrom::Base(base)), _) => (against(base), "another `--base REV`"),
        (None, _) => ("no changed file was named".to_owned(), "`--base BRANCH`"),
    };
    format!("{what}; try `--all`, {ways}, or `vplan run NAME` for one check")
}

fn only_nothing(plan: &Plan) -> String {
    let only = ticks(&plan.request.only);
    format!("of `--only` {only} nothing applies to this change")
}

fn ticks(names: &[String]) -> String {
    let ticked: Vec<String> = names.iter().map(|n| format!("`{}`", visible(n))).collect();
    ticked.join(", ")
}
