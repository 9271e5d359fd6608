//! Finds the files that a check is about: those that a condition around it, its `inputs` or its
//! `requires` select; without any of these, all.

use super::{Origin, Step};
use crate::base::glob::Selection;
use crate::base::path::RepoPath;
use crate::contract::{Check, Condition, Contract, Test};

/// Whether a step is about a file. A step that the contract does not know is about every file.
#[must_use]
pub fn is_about(contract: Option<&Contract>, step: &Step, path: &RepoPath) -> bool {
    if step.inputs.as_ref().is_some_and(|s| s.selects(path))
        || step.requires.iter().any(|g| g.matches(path))
    {
        return true;
    }
    let known = contract.filter(|_| step.origin == Origin::Contract);
    let found =
        known.and_then(|c| Some((c, c.checks.iter().find(|check| check.id == step.check())?)));
    let own = step.inputs.is_some() || !step.requires.is_empty();
    let Some((contract, check)) = found else {
        return !own;
    };
    let placements = around(contract, check);
    let everywhere = placements.is_empty() || placements.iter().any(Vec::is_empty);
    (everywhere && !own) || placements.iter().flatten().any(|s| s.selects(path))
}

/// Returns for each placement of a check the selections of the conditions around it.
fn around<'a>(contract: &'a Contract, check: &Check) -> Vec<Vec<&'a Selection>> {
    let selection = |condition: &'a Condition| match &condition.test {
        Test::ChangedAny(s) | Test::ChangedAll(s) | Test::ChangedOnly(s) | Test::ChangedNone(s) => {
            Some(s)
        }
        Test::Role(_) | Test::Exists(_) | Test::ExistsAny(_) | Test::Absent(_) => None,
    };
    check
        .placements
        .iter()
        .map(|p| contract.around(p).filter_map(selection).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::plan::{plain_check, plain_contract};
    use crate::plan::step::empty;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_check_without_conditions_and_one_that_nobody_knows_are_about_every_file() {
        let contract = plain_contract(vec![plain_check("a")]);
        let step = |id: &str, origin| Step {
            id: id.to_owned(),
            ..empty(crate::check::Kind::Run, origin)
        };
        for (contract, step) in [
            (Some(&contract), step("a", Origin::Contract)),
            (Some(&contract), step("a", Origin::Explicit)),
            (Some(&contract), step("b", Origin::Contract)),
            (None, step("a", Origin::Contract)),
        ] {
            assert!(is_about(contract, &step, &path("x")), "{}", step.id);
            let requires = vec![crate::base::glob::Glob::parse("dist/**").unwrap()];
            let step = Step { requires, ..step };
            assert!(
                is_about(contract, &step, &path("dist/a"))
                    && !is_about(contract, &step, &path("x"))
            );
        }
    }
}
