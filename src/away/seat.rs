//! Decides which steps may run remotely. This depends only on the plan and the operator's grants,
//! not on events, so that two runs of a plan send the same steps.

use vplan_base::machine::On;
use vplan_base::word::visible;
use vplan_plan::{Plan, Step, StepIndex};
use vplan_reuse::decide::{self, eligible, makes_only_inputs};
use vplan_reuse::key::KeyOrder;

/// The reason why a step is executed here. For people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeatReason {
    /// The contract requires it.
    #[error("it says `on here`")]
    Here,
    /// The contract does not declare all its inputs, or it runs for its effect here.
    #[error("{0}")]
    Tied(decide::NoReuseReason),
    /// A step before it may have made files that are not among its inputs.
    #[error("not all that `{0}` before it makes is among its inputs")]
    Before(String),
    /// It is granted a secret, or all variables.
    #[error("{0}")]
    Granted(&'static str),
}

/// Returns for each step of a plan, in plan order, why it is executed here; `None` if it may run
/// remotely. `granted`: why the operator's grants to a step keep it here.
pub fn seats(
    plan: &Plan,
    granted: &dyn Fn(&Step) -> Option<&'static str>,
) -> Vec<Option<SeatReason>> {
    let order = KeyOrder::new(plan);
    let of = |index| seat(plan, &order, index, granted).err();
    plan.numbered_steps().map(|(index, _)| of(index)).collect()
}

fn seat(
    plan: &Plan,
    order: &KeyOrder,
    index: StepIndex,
    granted: &dyn Fn(&Step) -> Option<&'static str>,
) -> Result<(), SeatReason> {
    let step = plan.step(index);
    if step.on == Some(On::Here) {
        return Err(SeatReason::Here);
    }
    eligible(step).map_err(SeatReason::Tied)?;
    if let Some(why) = granted(step) {
        return Err(SeatReason::Granted(why));
    }
    let before = order.bound_before(index);
    // A step without a command makes nothing.
    let mut before = before.iter().map(|index| plan.step(*index));
    let other = before.find(|other| other.argv.is_some() && !makes_only_inputs(other, step));
    other.map_or(Ok(()), |other| {
        Err(SeatReason::Before(visible(other.id.as_bytes())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_arbitrary::made::{plan, step};
    use vplan_base::glob::Glob;
    use vplan_base::machine::Machine;
    use vplan_reuse::key::all_of;

    fn globs(list: &[&str]) -> Vec<Glob> {
        list.iter().map(|glob| Glob::parse(glob).unwrap()).collect()
    }

    fn with_inputs(id: &str, inputs: &[&str]) -> Step {
        let mut step = step(id);
        step.inputs = Some(all_of(&globs(inputs)));
        step
    }

    #[test]
    fn a_step_goes_where_all_that_it_needs_can_go() {
        let mut made = with_inputs("made", &["src/**"]);
        made.produces = globs(&["out/**"]);
        let mut uses = with_inputs("uses", &["src/**", "out/**"]);
        uses.after = vec!["made".to_owned()];
        let mut blind = with_inputs("blind", &["src/**"]);
        blind.after = vec!["made".to_owned()];
        let mut granted = with_inputs("granted", &["src/**"]);
        granted.pass_env = vec!["TOKEN".to_owned()];
        let mut always = with_inputs("always", &["src/**"]);
        always.always = true;
        let mut here = with_inputs("here", &["src/**"]);
        here.on = Some(On::Here);
        let mut there = with_inputs("there", &["src/**"]);
        there.on = Some(On::Machine(Machine::default()));
        let steps = vec![
            made,
            uses,
            blind,
            step("plain"),
            granted,
            always,
            here,
            there,
        ];
        let plan = plan(steps);
        let secret = |step: &Step| (!step.pass_env.is_empty()).then_some("it is granted a secret");
        let seats = seats(&plan, &secret);
        let said: Vec<String> = seats
            .iter()
            .map(|why| why.as_ref().map_or_else(String::new, ToString::to_string))
            .collect();
        assert_eq!(
            said,
            [
                "",
                "",
                "not all that `made` before it makes is among its inputs",
                "it has no `inputs`",
                "it is granted a secret",
                "an `always` step is there to run",
                "it says `on here`",
                "",
            ]
        );
    }
}
