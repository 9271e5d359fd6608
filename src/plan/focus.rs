//! Finds the files that a check is about: those that a condition around it, its `inputs`, its
//! `requires`, its `context` or its `unchanged` select; without any condition, all.

use super::{Origin, Step};
use vplan_base::glob::{ItemContent, Selection};
use vplan_base::path::RepoPath;
use vplan_contract::{Check, Contract};

/// The ways to select every file.
const EVERYTHING: [&str; 2] = ["**", "**/*"];

/// How a step is about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interest {
    /// It is about every file: it has no condition, or one that selects everything.
    Everything,
    /// A condition around it or a setting of its own selects the file.
    Selected,
}

/// The files that one step is about, for many questions.
#[derive(Debug)]
pub struct Focus<'a> {
    step: &'a Step,
    /// Selections of the conditions around it and of its settings.
    selections: Vec<&'a Selection>,
    is_unconditional: bool,
}

impl<'a> Focus<'a> {
    /// Collects what selects files for a step. A step that the contract does not know is about every
    /// file.
    pub fn new(contract: Option<&'a Contract>, step: &'a Step) -> Self {
        let known = contract.filter(|_| step.origin == Origin::Contract);
        let found = known.and_then(|c| Some((c, c.check(step.check())?)));
        let placements = found.map_or_else(Vec::new, |(contract, check)| around(contract, check));
        let has_own = step.inputs.is_some() || !step.requires.is_empty();
        let is_everywhere = placements.is_empty() || placements.iter().any(Vec::is_empty);
        let settings = [&step.inputs, &step.context, &step.unchanged];
        let settings = settings.into_iter().flatten();
        Self {
            step,
            selections: placements.into_iter().flatten().chain(settings).collect(),
            is_unconditional: is_everywhere && !has_own,
        }
    }

    /// Returns how the step is about a file, if it is.
    pub fn interest(&self, path: &RepoPath) -> Option<Interest> {
        if self.step.requires.iter().any(|g| g.matches(path)) {
            return Some(Interest::Selected);
        }
        let selecting = self.selections.iter().filter(|s| s.selects(path));
        let conditioned = selecting.map(|selection| {
            if selects_everything(selection) {
                Interest::Everything
            } else {
                Interest::Selected
            }
        });
        let unconditional = self.is_unconditional.then_some(Interest::Everything);
        conditioned.chain(unconditional).max()
    }
}

fn selects_everything(selection: &Selection) -> bool {
    selection.positive().any(|item| match &item.what {
        ItemContent::Glob(glob) => EVERYTHING.contains(&glob.text()),
        ItemContent::Paths { items, .. } => selects_everything(items),
    })
}

/// Whether a step is about a file. A step that the contract does not know is about every file.
pub fn is_about(contract: Option<&Contract>, step: &Step, path: &RepoPath) -> bool {
    Focus::new(contract, step).interest(path).is_some()
}

/// Whether a condition around any check of a contract selects a file, and not every file.
pub fn is_selected(contract: &Contract, path: &RepoPath) -> bool {
    let placements = contract.checks.iter().flat_map(|c| around(contract, c));
    placements
        .flatten()
        .any(|selection| selection.selects(path) && !selects_everything(selection))
}

/// Returns for each placement of a check the selections of the conditions around it.
fn around<'a>(contract: &'a Contract, check: &Check) -> Vec<Vec<&'a Selection>> {
    let selections = check.placements.iter().map(|placement| {
        let conditions = contract.around(placement);
        conditions.filter_map(|c| c.test.selection()).collect()
    });
    selections.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::{plain_check, plain_contract};
    use crate::step::empty;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn selecting_all_files_selects_none_of_them_in_particular() {
        let selection = |text: &str| Selection {
            items: vec![vplan_base::glob::Item {
                not: false,
                what: ItemContent::Glob(vplan_base::glob::Glob::parse(text).unwrap()),
            }],
        };
        for (text, want) in [
            ("**", Some(Interest::Everything)),
            ("**/*", Some(Interest::Everything)),
            ("src/**", Some(Interest::Selected)),
            ("docs/**", None),
        ] {
            let inputs = Some(selection(text));
            let step = Step {
                inputs,
                ..empty(vplan_check::Kind::Run, Origin::Explicit)
            };
            assert_eq!(
                Focus::new(None, &step).interest(&path("src/a")),
                want,
                "{text}"
            );
        }
        let step = Step {
            unchanged: Some(selection("src/**")),
            ..empty(vplan_check::Kind::Run, Origin::Explicit)
        };
        let focus = Focus::new(None, &step);
        assert_eq!(focus.interest(&path("src/a")), Some(Interest::Selected));
        assert_eq!(focus.interest(&path("b")), Some(Interest::Everything));
    }

    #[test]
    fn a_check_without_conditions_and_one_that_nobody_knows_are_about_every_file() {
        let contract = plain_contract(vec![plain_check("a")]);
        let step = |id: &str, origin| Step {
            id: id.to_owned(),
            ..empty(vplan_check::Kind::Run, origin)
        };
        for (contract, step) in [
            (Some(&contract), step("a", Origin::Contract)),
            (Some(&contract), step("a", Origin::Explicit)),
            (Some(&contract), step("b", Origin::Contract)),
            (None, step("a", Origin::Contract)),
        ] {
            assert!(is_about(contract, &step, &path("x")), "{}", step.id);
            let requires = vec![vplan_base::glob::Glob::parse("dist/**").unwrap()];
            let step = Step { requires, ..step };
            assert!(
                is_about(contract, &step, &path("dist/a"))
                    && !is_about(contract, &step, &path("x"))
            );
        }
    }
}
