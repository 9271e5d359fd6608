//! Compiles a plan: collect, select, close, merge, cut, order (src/engine.md section 3).

use super::changed::Existing;
use super::definition::Definitions;
use super::error::{self, PlanError};
use super::facts::{Fact, Facts, Question};
use super::frame::{note, without_contract};
use super::merge::Listed;
use super::order::{Constraints, Effects, Preparing, artifact_bundles, order};
use super::request::{Mode, Request};
use super::select::{Choice, ConditionResults, Judged, judge};
use super::{Omitted, Origin, Plan, Reason, Step, digest, nothing, step, tier};
use crate::base::carried::Carried;
use crate::base::command::Command;
use crate::base::matching::{Matcher, SHOWN};
use crate::base::setting::Row;
use crate::base::word::{Word, visible};
use crate::contract::{Body, Check, Contract, Role};
use std::collections::{BTreeMap, BTreeSet};

/// The reason of a check that the request names, and of one that it does not name.
pub(super) const NAMED: &str = "named";

/// The result of compiling.
#[derive(Clone, Debug, PartialEq)]
pub enum Compiled {
    /// The plan, sealed with its digest.
    Plan(Box<Plan>),
    /// Facts that are still missing. Gather them, add them, compile again; at most
    /// [`MAX_FACT_ROUNDS`](super::facts::MAX_FACT_ROUNDS) times.
    Needs(BTreeSet<Question>),
}

/// Compiles a plan. Pure: the same arguments give the same bytes.
///
/// # Errors
/// Requests that do not fit the contract (an unknown role, an unknown name in `--only`, a skip of a
/// needed check): exit 2.
pub fn compile(
    contract: Option<&Contract>,
    request: &Request,
    facts: &Facts,
) -> Result<Compiled, PlanError> {
    Ok(match assemble(contract, request, facts, None)? {
        Assembled::Plan(mut plan, _) => {
            plan.caveats = nothing::caveats(&plan, contract);
            Compiled::Plan(Box::new(digest::seal(*plan)))
        }
        Assembled::Needs(questions) => Compiled::Needs(questions),
    })
}

/// The result of compiling, before the plan is sealed.
pub(super) enum Assembled {
    /// The plan without its digest, and the results of the contract's conditions and triggers.
    Plan(Box<Plan>, ConditionResults),
    /// Facts that are still missing.
    Needs(BTreeSet<Question>),
}

/// Compiles without the digest, for callers that only read the plan. With a matcher of the
/// contract, made once for many requests, without reasons too: the plan has the same steps in the
/// same order, but no reasons and no omitted checks.
///
/// # Errors
/// As [`compile`].
pub(super) fn assemble(
    contract: Option<&Contract>,
    request: &Request,
    facts: &Facts,
    prepared: Option<&Matcher<'_>>,
) -> Result<Assembled, PlanError> {
    let nothing = without_contract();
    let input = Input {
        declared: contract,
        contract: contract.unwrap_or(&nothing),
        request,
    };
    let role = input.role()?;
    let commands = input.commands();
    input.check_names(&commands)?;
    let mut plan = input.frame(role);
    if request.mode == Mode::Off {
        plan.notes.push(note(
            "mode-off",
            "mode is off: nothing is verified".to_owned(),
        ));
        let off = |check: &Check| {
            input.defined(check, omitted(&check.id, "mode is off".to_owned(), "mode"))
        };
        plan.omitted = input.contract.checks.iter().map(off).collect();
        return Ok(Assembled::Plan(Box::new(plan), ConditionResults::default()));
    }

    let judged = judge(input.contract, role, &request.changed, facts, prepared);
    let (mut tiers, notes) = tier::reach(&input.contract.risks, &judged.pulled, request);
    tier::named(
        &mut tiers,
        input
            .contract
            .checks
            .iter()
            .filter(|c| input.is_named(&c.id, &c.tags))
            .map(|c| c.tier),
    );
    tiers
        .iter_mut()
        .filter(|t| t.tier == 1)
        .for_each(|t| t.triggers = judged.triggers(&request.changed));
    plan.notes.extend(notes);
    let mut asked = BTreeSet::new();
    let restriction = input
        .contract
        .roles
        .get(role)
        .filter(|r| !r.only.is_empty());
    let mut fates: Vec<Inclusion> = Vec::with_capacity(input.contract.checks.len());
    for check in &input.contract.checks {
        let reached = tiers.iter().any(|t| t.tier == check.tier);
        fates.push(input.fate(check, &judged, reached, role, restriction, &mut asked));
    }
    if asked.iter().any(|q| facts.get(q).is_none()) {
        return Ok(Assembled::Needs(
            asked
                .into_iter()
                .filter(|q| facts.get(q).is_none())
                .collect(),
        ));
    }
    let existing = Existing::new(&request.changed, facts);
    if existing.is_open() && input.wants_changed(&fates, &commands) {
        asked.insert(Question::MissingChanged);
        if facts.get(&Question::MissingChanged).is_none() {
            return Ok(Assembled::Needs(BTreeSet::from([Question::MissingChanged])));
        }
    }
    plan.facts = asked
        .into_iter()
        .filter_map(|question| {
            Some(Fact {
                answer: facts.get(&question)?.clone(),
                question,
            })
        })
        .collect();

    for (check, fate) in input.contract.checks.iter().zip(&mut fates) {
        input.leave_out_unchanged(check, fate, &judged, &existing);
    }
    input.close(&mut fates, &judged, &existing)?;
    let represented = input.merge_anonymous(&mut fates);
    let mut list = Vec::new();
    let chosen = input.choose_commands(
        &commands,
        &mut fates,
        role,
        restriction,
        &existing,
        &mut list,
    );

    let seen = judged.seen();
    // Thousands of reasons have been copied to where they belong.
    drop(judged);

    let mut members: Vec<PlanNode> = Vec::new();
    let mut omitted = Vec::new();
    let mut node_of_check: Vec<Option<usize>> = vec![None; input.contract.checks.len()];
    let (explicit, inferred): (Vec<_>, Vec<_>) = chosen
        .into_iter()
        .partition(|(o, _)| *o == Origin::Explicit);
    for (_, outcome) in explicit {
        outcome.map_or_else(|out| omitted.push(out), |member| members.push(member));
    }
    let alone = members.len();
    for (index, (check, fate)) in input.contract.checks.iter().zip(fates).enumerate() {
        match fate {
            Inclusion::Included(chosen) => {
                if let Some(slot) = node_of_check.get_mut(index) {
                    *slot = Some(members.len());
                }
                members.push(input.member(check, chosen)?);
            }
            Inclusion::Omitted(out) => omitted.push(*out),
            Inclusion::Duplicate | Inclusion::Unreported => {}
        }
    }
    for (_, outcome) in inferred {
        outcome.map_or_else(|out| omitted.push(out), |member| members.push(member));
    }
    for (index, target) in represented {
        let node = node_of_check.get(target).copied().flatten();
        if let Some(slot) = node_of_check.get_mut(index) {
            *slot = node;
        }
    }
    plan.omitted = omitted;
    plan.tiers = tiers;
    let mut own = 0..alone;
    let place = |listed: &Listed| match listed {
        Listed::Alone => own.next(),
        Listed::Check(index) => node_of_check.get(*index).copied().flatten(),
    };
    let mut listed = BTreeSet::new();
    let list: Vec<usize> = list
        .iter()
        .filter_map(place)
        .filter(|node| listed.insert(*node))
        .collect();
    input.arrange(&mut plan, members, &node_of_check, (list, alone));
    Ok(Assembled::Plan(Box::new(plan), seen))
}

/// The arguments that do not change while compiling.
pub(super) struct Input<'a> {
    pub declared: Option<&'a Contract>,
    pub contract: &'a Contract,
    pub request: &'a Request,
}

/// The decision on a contract's check.
pub(super) enum Inclusion {
    Included(Chosen),
    Omitted(Box<Omitted>),
    /// It is the same work as an earlier check.
    Duplicate,
    /// It is left out, and no reason is requested.
    Unreported,
}

/// A contract's check that is part of the plan.
#[derive(Default)]
pub(super) struct Chosen {
    pub placements: Vec<usize>,
    pub reasons: Vec<Reason>,
    pub tier: u8,
    /// The files for `{changed}`.
    pub files: Vec<Word>,
}

/// A command of the request, proposed, or inferred.
pub(super) struct RequestedCommand<'a> {
    pub command: &'a Command,
    /// The directory and the variables, besides its own, that the `cd` and `export` before it in
    /// its list set.
    pub carried: Carried,
    pub id: String,
    pub origin: Origin,
    /// Why it was proposed.
    pub describe: Option<&'a str>,
}

/// A node of the plan: the steps of one check.
pub(super) struct PlanNode<'a> {
    pub check: Option<&'a Check>,
    pub steps: Vec<Step>,
}

impl<'a> Input<'a> {
    /// Decides about a check: by names, conditions, tier, role, `--only`, `--skip`, in this order.
    fn fate(
        &self,
        check: &Check,
        judged: &Judged,
        reached: bool,
        role: &str,
        restriction: Option<&Role>,
        asked: &mut BTreeSet<Question>,
    ) -> Inclusion {
        let out = |omitted: Omitted| Inclusion::Omitted(Box::new(self.defined(check, omitted)));
        if !self.request.names.is_empty() {
            let named = self.is_named(&check.id, &check.tags);
            let restriction =
                restriction.filter(|r| !check.tags.iter().any(|t| r.only.contains(t)));
            let left = if named {
                restriction.map(|r| outside_role(&check.id, role, r))
            } else {
                Some(unnamed(&check.id))
            };
            return match left.or_else(|| self.outside_selection(&check.id, &check.tags)) {
                Some(omitted) => out(omitted),
                None => Inclusion::Included(Chosen {
                    placements: (0..check.placements.len()).collect(),
                    reasons: vec![Reason {
                        condition: NAMED.to_owned(),
                        ..Reason::default()
                    }],
                    tier: check.tier,
                    files: Vec::new(),
                }),
            };
        }
        // A tier that is not reached decides without asking the repository.
        let mut nobody = BTreeSet::new();
        let choice = judged.choose(check, if reached { asked } else { &mut nobody });
        let unreached = || Reason {
            condition: "tier".to_owned(),
            names: vec![check.tier.to_string()],
            ..Reason::default()
        };
        let (placements, reasons) = match choice {
            Choice::No(..) if !judged.tells => return Inclusion::Unreported,
            Choice::No(mut text, mut reasons) => {
                if !reached {
                    text = format!("tier {} was not reached; {text}", check.tier);
                    reasons.insert(0, unreached());
                }
                return out(Omitted {
                    reasons,
                    ..omitted(&check.id, text, "")
                });
            }
            Choice::Yes(..) if !reached => {
                let text = format!("tier {} was not reached", check.tier);
                return out(Omitted {
                    reasons: vec![unreached()],
                    ..omitted(&check.id, text, "")
                });
            }
            Choice::Yes(placements, reasons) => (placements, reasons),
        };
        if let Some(restriction) = restriction
            && !check.tags.iter().any(|t| restriction.only.contains(t))
        {
            return out(outside_role(&check.id, role, restriction));
        }
        match self.outside_selection(&check.id, &check.tags) {
            Some(omitted) => out(omitted),
            None => Inclusion::Included(Chosen {
                placements,
                reasons,
                tier: check.tier,
                files: Vec::new(),
            }),
        }
    }

    /// Whether the request names a check, to run whatever its conditions are.
    pub fn is_named(&self, id: &str, tags: &[String]) -> bool {
        self.request.names.iter().any(|s| s.selects(id, tags))
    }

    /// Adds the place of the definition to a check that was left out.
    fn defined(&self, check: &Check, omitted: Omitted) -> Omitted {
        let file = self
            .contract
            .imported(check.place.source)
            .map(str::to_owned);
        Omitted {
            file,
            line: Some(check.line),
            ..omitted
        }
    }

    /// Applies `--only` and `--skip`.
    pub fn outside_selection(&self, id: &str, tags: &[String]) -> Option<Omitted> {
        if !self.request.only.is_empty() && !self.request.only.iter().any(|s| s.selects(id, tags)) {
            return Some(omitted(id, "not among --only".to_owned(), "only"));
        }
        let skip = self.request.skip.iter().filter(|s| s.name == id).min()?;
        let text = format!("waived: {}", visible(skip.reason.as_bytes()));
        Some(Omitted {
            narrows: true,
            ..omitted(id, text, "skip")
        })
    }

    /// Whether anything that may be in the plan has `{changed}`.
    fn wants_changed(&self, fates: &[Inclusion], commands: &[RequestedCommand]) -> bool {
        let mut seen = vec![false; fates.len()];
        let mut stack: Vec<usize> = fates
            .iter()
            .enumerate()
            .filter(|(_, f)| matches!(f, Inclusion::Included(_)))
            .map(|(i, _)| i)
            .collect();
        while let Some(index) = stack.pop() {
            let (Some(flag), Some(check)) = (seen.get_mut(index), self.contract.checks.get(index))
            else {
                continue;
            };
            if !std::mem::replace(flag, true) {
                if has_changed(check) {
                    return true;
                }
                stack.extend(&check.needs);
            }
        }
        commands.iter().any(|c| c.command.has_changed())
    }

    fn leave_out_unchanged(
        &self,
        check: &Check,
        fate: &mut Inclusion,
        judged: &Judged,
        existing: &Existing,
    ) {
        let Inclusion::Included(chosen) = fate else {
            return;
        };
        if has_changed(check) {
            let files = judged.changed(check, &chosen.placements, &self.request.changed);
            chosen.files = existing.arguments(files.into_iter(), &check.dir);
            if chosen.files.is_empty() {
                *fate = Inclusion::Omitted(Box::new(self.defined(check, no_file_left(&check.id))));
            }
        }
    }

    /// Adds needed checks, and lowers their tiers to those of the checks that need them.
    fn close(
        &self,
        fates: &mut [Inclusion],
        judged: &Judged,
        existing: &Existing,
    ) -> Result<(), PlanError> {
        let checks = &self.contract.checks;
        let waived: BTreeSet<&str> = self.request.skip.iter().map(|s| s.name.as_str()).collect();
        let is_in =
            |fates: &[Inclusion], i: usize| matches!(fates.get(i), Some(Inclusion::Included(_)));
        let mut needers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut queue: Vec<usize> = (0..fates.len()).filter(|i| is_in(fates, *i)).collect();
        let mut brought = BTreeSet::new();
        while let Some(index) = queue.pop() {
            let Some(check) = checks.get(index) else {
                continue;
            };
            for need in &check.needs {
                let Some(needed) = checks.get(*need) else {
                    continue;
                };
                if waived.contains(needed.id.as_str()) {
                    let message =
                        format!("`{}` cannot be skipped: `{}` needs it", needed.id, check.id);
                    let help = format!("skip `{}` too", check.id);
                    return Err(PlanError::new(error::SKIPPED_NEED, message, Some(help)));
                }
                needers.entry(*need).or_default().push(index);
                if is_in(fates, *need) || brought.contains(need) {
                    continue;
                }
                let mut fate = Inclusion::Included(Chosen {
                    placements: vec![0],
                    tier: needed.tier,
                    ..Chosen::default()
                });
                self.leave_out_unchanged(needed, &mut fate, judged, existing);
                let left = matches!(fate, Inclusion::Included(_));
                if let Some(slot) = fates.get_mut(*need) {
                    *slot = fate;
                }
                if left {
                    brought.insert(*need);
                    queue.push(*need);
                }
            }
        }
        for need in brought {
            let Some(Inclusion::Included(chosen)) = fates.get_mut(need) else {
                continue;
            };
            let mut by = needers.get(&need).cloned().unwrap_or_default();
            by.sort_unstable();
            let names = by
                .iter()
                .take(SHOWN)
                .filter_map(|i| checks.get(*i))
                .map(|c| c.id.clone())
                .collect();
            let count = (by.len() > SHOWN).then_some(by.len() as u64);
            let reason = Reason {
                condition: "needed-by".to_owned(),
                matched_count: count,
                names,
                ..Reason::default()
            };
            chosen.reasons.push(reason);
        }
        // From the lowest tier up, so that each check is lowered once.
        for low in 0..=2_u8 {
            let at = |f: &Inclusion| matches!(f, Inclusion::Included(chosen) if chosen.tier == low);
            let mut stack: Vec<usize> = fates
                .iter()
                .enumerate()
                .filter(|(_, f)| at(f))
                .map(|(i, _)| i)
                .collect();
            while let Some(index) = stack.pop() {
                for need in checks
                    .get(index)
                    .map(|c| c.needs.as_slice())
                    .unwrap_or_default()
                {
                    if let Some(Inclusion::Included(chosen)) = fates.get_mut(*need)
                        && chosen.tier > low
                    {
                        chosen.tier = low;
                        stack.push(*need);
                    }
                }
            }
        }
        Ok(())
    }

    /// Creates the node with the steps of a check.
    fn member(&self, check: &'a Check, chosen: Chosen) -> Result<PlanNode<'a>, PlanError> {
        let file = self
            .contract
            .imported(check.place.source)
            .unwrap_or(&self.contract.path);
        let mut steps = step::of_check(check, file, &chosen.files);
        if steps.len() > 1 && (check.report.is_some() || check.has(Row::MinTests)) {
            let message = format!(
                "`{}` has {} changed files, too many for one run",
                check.id,
                chosen.files.len()
            );
            let help = "a check with `report` or `min-tests` cannot be run in batches; give it a directory instead of {changed}";
            return Err(PlanError::new(
                error::BATCHED_REPORT,
                message,
                Some(help.to_owned()),
            ));
        }
        if let Some((last, others)) = steps.split_last_mut() {
            others
                .iter_mut()
                .for_each(|s| s.reasons.clone_from(&chosen.reasons));
            last.reasons = chosen.reasons;
        }
        steps.iter_mut().for_each(|s| s.tier = chosen.tier);
        Ok(PlanNode {
            check: Some(check),
            steps,
        })
    }

    /// Returns which nodes prepare which others. Plans of version 1 have no such order.
    fn preparing(&self, members: &[PlanNode], (list, alone): (Vec<usize>, usize)) -> Preparing {
        if self.request.in_version_1 {
            return Preparing::default();
        }
        Preparing {
            files: members
                .iter()
                .map(|m| m.check.map(|c| c.inclusion))
                .collect(),
            importers: self.contract.importers.clone(),
            list,
            alone,
        }
    }

    /// Orders the members and records their predecessors.
    fn arrange(
        &self,
        plan: &mut Plan,
        mut members: Vec<PlanNode>,
        node_of_check: &[Option<usize>],
        list: (Vec<usize>, usize),
    ) {
        let node = |check: &usize| node_of_check.get(*check).copied().flatten();
        let needs = |m: &PlanNode| {
            m.check
                .map(|c| c.needs.iter().filter_map(node).collect())
                .unwrap_or_default()
        };
        let needs: Vec<Vec<usize>> = members.iter().map(needs).collect();
        let group = |group: &Vec<usize>| {
            group
                .iter()
                .filter_map(node)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect()
        };
        let effects: Vec<Effects> = members
            .iter()
            .map(|m| {
                m.check.map_or(Effects::default(), |c| Effects {
                    cleans: c.globs(Row::Cleans),
                    produces: c.globs(Row::Produces),
                    requires: c.globs(Row::Requires),
                })
            })
            .collect();
        let with = |of: &dyn Fn(&Step) -> bool| {
            let holds = |m: &PlanNode| m.steps.first().is_some_and(of);
            members
                .iter()
                .enumerate()
                .filter(|(_, m)| holds(m))
                .map(|(n, _)| n)
                .collect::<Vec<_>>()
        };
        let constraints = Constraints {
            tiers: members
                .iter()
                .map(|m| m.steps.first().map_or(0, |s| s.tier))
                .collect(),
            needs: needs
                .iter()
                .enumerate()
                .flat_map(|(later, all)| all.iter().map(move |n| (*n, later)))
                .collect(),
            sequences: self
                .contract
                .sequences
                .iter()
                .map(|s| s.groups.iter().map(group).collect())
                .collect(),
            writers: with(&|s| s.is_writer()),
            setup: with(&|s| s.setup).into_iter().collect(),
            artifacts: artifact_bundles(&effects),
            preparing: self.preparing(&members, list),
            full: self.request.in_version_1,
        };
        let ordered = order(&constraints);
        let ids: Vec<Vec<String>> = members
            .iter()
            .map(|m| m.steps.iter().map(|s| s.id.clone()).collect())
            .collect();
        let names = |nodes: &[usize]| {
            nodes
                .iter()
                .filter_map(|n| ids.get(*n))
                .flatten()
                .cloned()
                .collect::<Vec<_>>()
        };
        for (a, b) in &ordered.against_tiers {
            let name = |n: &usize| {
                members
                    .get(*n)
                    .and_then(|m| m.check)
                    .map_or("", |c| c.id.as_str())
            };
            let message = format!(
                "a sequence puts `{}` before `{}`, but an earlier tier needs the latter",
                visible(name(a).as_bytes()),
                visible(name(b).as_bytes())
            );
            plan.notes.push(note("sequence-gives-way", message));
        }
        plan.steps
            .reserve_exact(members.iter().map(|m| m.steps.len()).sum());
        let definitions = Definitions::new(&self.request.changed);
        let mut places = vec![0; members.len()];
        for (place, node) in ordered.order.iter().enumerate() {
            places.get_mut(*node).into_iter().for_each(|p| *p = place);
        }
        for at in &ordered.order {
            let [strong, weak] = [&ordered.after, &ordered.prepared_by]
                .map(|lists| lists.get(*at).map_or(&[][..], Vec::as_slice));
            let place = |node: &usize| places.get(*node).copied().unwrap_or(0);
            let mut after = [strong, weak].concat();
            after.sort_by_key(place);
            let mut needed: Vec<usize> = needs.get(*at).cloned().unwrap_or_default();
            needed.retain(|n| place(n) < place(at));
            needed.sort_by_key(place);
            needed.dedup();
            let Some(member) = members.get_mut(*at) else {
                continue;
            };
            for mut step in std::mem::take(&mut member.steps) {
                step.after = names(&after);
                step.needs = names(&needed);
                step.prepared_by = names(weak);
                step.reasons.extend(definitions.reason(&step));
                plan.steps.push(step);
            }
        }
    }
}

fn has_changed(check: &Check) -> bool {
    matches!(&check.body, Body::Command(command) if command.has_changed())
}

pub(super) fn omitted(id: &str, reason: String, condition: &str) -> Omitted {
    let structured = Reason {
        condition: condition.to_owned(),
        ..Reason::default()
    };
    Omitted {
        file: None,
        id: id.to_owned(),
        line: None,
        narrows: false,
        reason,
        reasons: vec![structured],
    }
}

pub(super) fn outside_role(id: &str, role: &str, restriction: &Role) -> Omitted {
    let tags: Vec<String> = restriction
        .only
        .iter()
        .map(|t| visible(t.as_bytes()))
        .collect();
    let text = format!(
        "role {} runs only checks tagged {}",
        visible(role.as_bytes()),
        tags.join(" or ")
    );
    let reason = Reason {
        condition: "role".to_owned(),
        line: restriction.line,
        names: restriction.only.clone(),
        ..Reason::default()
    };
    Omitted {
        reasons: vec![reason],
        ..omitted(id, text, "")
    }
}

/// Creates the entry of a check that is left out because others were named.
pub(super) fn unnamed(id: &str) -> Omitted {
    omitted(id, "not among the names".to_owned(), NAMED)
}

pub(super) fn no_file_left(id: &str) -> Omitted {
    omitted(
        id,
        "no changed file is left for {changed}".to_owned(),
        "changed",
    )
}

#[cfg(test)]
mod tests;
