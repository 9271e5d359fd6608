//! Merges checks that are the same work, and decides which of the request's commands run.

use super::changed::Existing;
use super::inclusion::{
    Fates, Inclusion, Input, PlanNode, RequestedCommand, included, is_in, no_file_left, omitted,
    unnamed,
};
use super::step::{self, Identity, env_of_command, identity_of_check, identity_of_command};
use super::{Omitted, Origin, Reason};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::command::Env;
use vplan_base::setting::Row;
use vplan_base::word::Word;
use vplan_check::confine::SandboxLevel;
use vplan_contract::CheckIndex;

/// The result for a command of the request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Listed {
    /// The next step of its own.
    Alone,
    /// Another name for this check.
    Check(CheckIndex),
}

impl<'a> Input<'a> {
    /// Merges equal anonymous checks into the first of them; the result names which became which.
    pub(crate) fn merge_anonymous(&self, fates: &mut Fates<'_>) -> Vec<(CheckIndex, CheckIndex)> {
        let mut first = BTreeMap::new();
        let mut merged = Vec::new();
        for index in included(fates) {
            let check = &self.contract.checks[index];
            let anonymous = Some(check).filter(|c| !c.named);
            let Some(identity) = anonymous.and_then(identity_of_check) else {
                continue;
            };
            // None of them may run with less than it asks for.
            let mut confined = vec![Row::Sandbox, Row::Network];
            if check.level() >= SandboxLevel::Files {
                confined.extend([Row::Inputs, Row::Reads]);
            }
            let confined: Vec<_> = confined.iter().map(|row| check.settings.get(row)).collect();
            let confined = format!("{confined:?}");
            let target = *first.entry((identity, confined)).or_insert(index);
            if target == index {
                continue;
            }
            let old = fates.insert(index, Inclusion::Duplicate);
            if let (Some(Inclusion::Included(from)), Some(Inclusion::Included(into))) =
                (old, fates.get_mut(&target))
            {
                into.tier = into.tier.min(from.tier);
                add_reasons(&mut into.reasons, from.reasons);
                into.files.extend(from.files);
                // Sorted by the names, without the prefix of some of them.
                let name = |word: &Word| {
                    let name = word.as_bytes();
                    name.strip_prefix(b"./").unwrap_or(name).to_vec()
                };
                into.files.sort_by_cached_key(name);
                into.files.dedup();
            }
            merged.push((index, target));
        }
        merged
    }

    /// Merges each command into the check that it equals, or decides about it alone. The results of
    /// the explicit ones are added to `list`, in their order.
    pub(crate) fn choose_commands(
        &self,
        commands: &[RequestedCommand<'a>],
        fates: &mut Fates<'_>,
        existing: &Existing,
        list: &mut Vec<Listed>,
    ) -> Vec<(Origin, Result<PlanNode<'a>, Omitted>)> {
        let mut in_plan: BTreeMap<Identity, CheckIndex> = BTreeMap::new();
        let mut allowed: BTreeSet<Identity> = BTreeSet::new();
        if !commands.is_empty() {
            for (index, check) in self.contract.checks.numbered() {
                let Some(identity) = identity_of_check(check).and_then(Identity::into_requested)
                else {
                    continue;
                };
                if (self.restriction).is_some_and(|r| r.lets_through(&check.tags)) {
                    allowed.insert(identity.clone());
                }
                if is_in(fates, index) {
                    in_plan.entry(identity).or_insert(index);
                }
            }
        }
        let names = &self.request.names;
        let limit = self.contract.roles.get(self.role);
        let limit = limit.and_then(|r| r.max_checks).into_iter();
        let limit = limit.chain(self.contract.limits.max_checks).min();
        let mut taken = 0;
        let mut seen = BTreeSet::new();
        let mut chosen = Vec::new();
        let all_env: Vec<Env> = commands.iter().map(env_of_command).collect();
        for (asked, env) in commands.iter().zip(&all_env) {
            let RequestedCommand {
                command,
                verb,
                id,
                origin,
                describe,
                carried,
            } = asked;
            let identity = identity_of_command(asked, env);
            let condition = match origin {
                Origin::Explicit => "explicit",
                Origin::Proposed => "proposed",
                Origin::Inferred | Origin::Contract => "inferred",
            };
            let reason = Reason {
                names: verb.iter().map(|verb| verb.verb().to_owned()).collect(),
                ..Reason::from_condition(condition)
            };
            if let Some(index) = in_plan.get(&identity)
                && let Some(Inclusion::Included(check)) = fates.get_mut(index)
            {
                if *origin == Origin::Explicit {
                    list.push(Listed::Check(*index));
                }
                add_reasons(&mut check.reasons, vec![reason]);
                continue;
            }
            if !seen.insert((identity.clone(), asked.demand())) {
                continue;
            }
            let files = match command.has_changed() {
                true => existing.all(&carried.dir),
                false => Vec::new(),
            };
            let outside_role = self.outside_role(id, |_| allowed.contains(&identity));
            let outcome = if let Some(omitted) = outside_role {
                Err(omitted)
            } else if !names.is_empty() && *origin != Origin::Explicit && !self.is_named(id, &[]) {
                Err(unnamed(id))
            } else if let Some(omitted) = self.outside_selection(id, &[]) {
                Err(omitted)
            } else if command.has_changed() && files.is_empty() {
                Err(no_file_left(id))
            } else if let Some(limit) = limit.filter(|l| taken >= *l) {
                Err(Omitted {
                    narrows: true,
                    ..omitted(id, format!("cut by max-checks {limit}"), "max-checks")
                })
            } else {
                taken += 1;
                let mut steps = step::of_command(asked, &files);
                for step in &mut steps {
                    step.reasons.push(reason.clone());
                    step.describe = describe.map(str::to_owned);
                }
                if *origin == Origin::Explicit {
                    list.push(Listed::Alone);
                }
                Ok(PlanNode { check: None, steps })
            };
            chosen.push((*origin, outcome));
        }
        chosen
    }
}

/// Adds the reasons that are missing. Files and lines do not count: a place must not affect the
/// digest.
fn add_reasons(to: &mut Vec<Reason>, more: Vec<Reason>) {
    for reason in more {
        let same = |known: &Reason| {
            Reason {
                file: reason.file.clone(),
                line: reason.line,
                ..known.clone()
            } == reason
        };
        if !to.iter().any(same) {
            to.push(reason);
        }
    }
}
