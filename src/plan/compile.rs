//! Compiles a plan: collect, select, close, merge, cut, order (src/engine.md section 3).

use super::changed::Existing;
use super::definition::name_definitions;
use super::error::{self, PlanError};
use super::facts::{Fact, FactAnswer, Facts, MAX_FACT_ROUNDS, Question};

use super::inclusion::{
    Chosen, Fates, Inclusion, Input, NAMED, PlanNode, RequestedCommand, included, is_in,
    no_file_left, omitted, unnamed,
};
use super::merge::Listed;
use super::order::{
    Constraints, Effects, NodeIndex, Ordered, Preparing, artifact_bundles, order, positions,
};
use super::prepared::Prepared;
use super::request::{Mode, Request};
use super::select::{Choice, ConditionResults, Judged, judge};
use super::skeleton::{known_role, without_contract};
use super::{Note, Omitted, Origin, Plan, Reason, Step, digest, step, tier, vacuity};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::index::Dense;
use vplan_base::matching::SHOWN;
use vplan_base::setting::Row;
use vplan_base::word::visible;
use vplan_check::Kind;
use vplan_contract::{Check, CheckIndex, Contract};

/// The result of compiling.
#[derive(Clone, Debug, PartialEq)]
pub enum Compiled {
    /// The plan, sealed with its digest.
    Plan(Box<Plan>),
    /// Facts that are still missing. Gather them, add them, compile again; at most
    /// [`MAX_FACT_ROUNDS`] times.
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
    compile_with(contract, request, &mut facts.clone(), |_| Facts::default())
}

/// Compiles, and adds the answers to questions about the files that define the plan's steps.
///
/// # Errors
/// As [`compile`].
pub fn compile_with(
    contract: Option<&Contract>,
    request: &Request,
    facts: &mut Facts,
    answer: impl Fn(&BTreeSet<Question>) -> Facts,
) -> Result<Compiled, PlanError> {
    Ok(match assemble(contract, request, facts, None)? {
        Assembled::Plan(mut plan, _) => {
            name_definitions(&mut plan, &request.changed, facts, answer);
            plan.caveats = vacuity::caveats(&plan, contract);
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

/// Compiles without definitions and digest, for callers that only read the plan. With a prepared contract, for
/// many requests that name no checks, without reasons too: the plan has the same steps in the same
/// order, but no reasons, and few omitted checks.
///
/// # Errors
/// As [`compile`].
pub(super) fn assemble(
    contract: Option<&Contract>,
    request: &Request,
    facts: &Facts,
    prepared: Option<&Prepared<'_>>,
) -> Result<Assembled, PlanError> {
    let nothing = without_contract();
    let declared = contract;
    let contract = contract.unwrap_or(&nothing);
    let role = known_role(contract, request)?;
    let restriction = contract.roles.get(role);
    let input = Input {
        declared,
        contract,
        request,
        role,
        restriction: restriction.filter(|role| !role.only.is_empty()),
    };
    let commands = input.commands();
    input.check_names(&commands)?;
    let mut plan = input.frame();
    if request.mode == Mode::Off {
        let message = "mode is off: nothing is verified".to_owned();
        plan.notes.push(Note::new("mode-off", message));
        let off = |check: &Check| {
            input.defined(check, omitted(&check.id, "mode is off".to_owned(), "mode"))
        };
        plan.omitted = input.contract.checks.iter().map(off).collect();
        return Ok(Assembled::Plan(Box::new(plan), ConditionResults::default()));
    }

    let judged = match prepared.filter(|_| request.names.is_empty()) {
        Some(prepared) => prepared.judge(role, &request.changed, facts),
        None => judge(input.contract, role, &request.changed, facts),
    };
    let (mut tiers, notes) = tier::reach(&input.contract.risks, &judged.results.pulled, request);
    if !request.names.is_empty() {
        let checks = input.contract.checks.iter();
        let named = checks.filter(|c| input.is_named(&c.id, &c.tags));
        tier::add_named(&mut tiers, named.map(|c| c.tier));
    }
    for tier in tiers.iter_mut().filter(|t| t.tier == 1) {
        tier.triggers = judged.triggers(&request.changed);
    }
    plan.notes.extend(notes);
    let mut asked = BTreeSet::new();
    let mut fates = Fates::new();
    let checks = &input.contract.checks;
    let mut decide = |index: CheckIndex| {
        let check = &checks[index];
        let reached = tiers.iter().any(|t| t.tier == check.tier);
        let fate = input.fate(check, &judged, reached, &mut asked);
        fates.extend(fate.map(|fate| (index, fate)));
    };
    match judged.candidates() {
        Some(some) => some.iter().copied().for_each(&mut decide),
        None => checks.indices().for_each(&mut decide),
    }
    let mut open = asked.clone();
    open.retain(|question| facts.get(question).is_none());
    if !open.is_empty() {
        return Ok(Assembled::Needs(open));
    }
    let existing = Existing::new(&request.changed, facts);
    if existing.is_open() && input.wants_changed(&fates, &commands) {
        asked.insert(Question::MissingChanged);
        if facts.get(&Question::MissingChanged).is_none() {
            return Ok(Assembled::Needs(BTreeSet::from([Question::MissingChanged])));
        }
    }
    let folders = input.contract.folders.iter();
    let folders = folders.map(|(asked, found)| (Question::Folders(asked.clone()), found));
    let at_base = request.gone.base.iter();
    let at_base = at_base.map(|(asked, found)| (Question::BaseFolders(asked.clone()), found));
    plan.facts = asked.into_iter().filter_map(|q| facts.fact(q)).collect();
    let known = folders.chain(at_base).map(|(question, found)| Fact {
        answer: FactAnswer::List(found.to_words()),
        question,
    });
    plan.facts.extend(known);
    plan.facts.sort_by(|a, b| a.question.cmp(&b.question));

    for (index, fate) in &mut fates {
        input.leave_out_unchanged(&checks[*index], fate, &judged, &existing);
    }
    input.close(&mut fates, &judged, &existing)?;
    let represented = input.merge_anonymous(&mut fates);
    let mut list = Vec::new();
    let chosen = input.choose_commands(&commands, &mut fates, &existing, &mut list);

    // Thousands of reasons have been copied to where they belong.
    let results = judged.into_results();

    let mut members: Dense<NodeIndex, PlanNode> = Dense::default();
    let mut omitted = Vec::new();
    let mut node_of_check = NodeOfCheck::new();
    let chosen = chosen.into_iter();
    let (explicit, inferred): (Vec<_>, Vec<_>) =
        chosen.partition(|(origin, _)| *origin == Origin::Explicit);
    for (_, outcome) in explicit {
        match outcome {
            Ok(member) => _ = members.push(member),
            Err(out) => omitted.push(out),
        }
    }
    let alone = members.len();
    for (index, fate) in fates {
        match fate {
            Inclusion::Included(chosen) => {
                let member = input.member(&checks[index], chosen)?;
                node_of_check.insert(index, members.push(member));
            }
            Inclusion::Omitted(out) => omitted.push(*out),
            Inclusion::Duplicate => {}
        }
    }
    for (_, outcome) in inferred {
        match outcome {
            Ok(member) => _ = members.push(member),
            Err(out) => omitted.push(out),
        }
    }
    for (index, target) in represented {
        let node = node_of_check.get(&target).copied();
        node_of_check.extend(node.map(|node| (index, node)));
    }
    plan.omitted = omitted;
    input.leave_out_gone(&mut plan);
    plan.tiers = tiers;
    let mut own = members.indices().take(alone);
    let place = |listed: &Listed| match listed {
        Listed::Alone => own.next(),
        Listed::Check(index) => node_of_check.get(index).copied(),
    };
    let mut listed = BTreeSet::new();
    let list = list.iter().filter_map(place);
    let list: Vec<NodeIndex> = list.filter(|node| listed.insert(*node)).collect();
    input.arrange(&mut plan, members, &node_of_check, (list, alone));
    (plan.steps.iter_mut()).for_each(|step| step.confine(request.confinement));
    Ok(Assembled::Plan(Box::new(plan), results))
}

/// Assembles a plan, answering each question on the way; `None` if the request is refused or
/// questions remain after [`MAX_FACT_ROUNDS`].
pub(super) fn assemble_with(
    contract: &Contract,
    request: &Request,
    facts: &mut Facts,
    prepared: Option<&Prepared<'_>>,
    answer: impl Fn(&Question) -> FactAnswer,
) -> Option<Plan> {
    for _ in 0..MAX_FACT_ROUNDS {
        match assemble(Some(contract), request, facts, prepared).ok()? {
            Assembled::Plan(plan, _) => return Some(*plan),
            Assembled::Needs(questions) => {
                let answered = questions.into_iter().map(|q| (q.clone(), answer(&q)));
                facts.0.extend(answered);
            }
        }
    }
    None
}

/// The node of each check that is in the plan.
type NodeOfCheck = BTreeMap<CheckIndex, NodeIndex>;

impl<'a> Input<'a> {
    /// Decides about a check: by names, conditions, tier, role, `--only`, `--skip`, in this order.
    /// `None` when it is omitted and no reason is requested.
    fn fate(
        &self,
        check: &'a Check,
        judged: &Judged,
        reached: bool,
        asked: &mut BTreeSet<Question>,
    ) -> Option<Inclusion<'a>> {
        let out =
            |omitted: Omitted| Some(Inclusion::Omitted(Box::new(self.defined(check, omitted))));
        let chosen = |placements, reasons| {
            let left = self.outside_role(&check.id, |role| role.lets_through(&check.tags));
            match left.or_else(|| self.outside_selection(&check.id, &check.tags)) {
                Some(omitted) => out(omitted),
                None => Some(Inclusion::Included(Chosen {
                    placements,
                    reasons,
                    tier: check.tier,
                    files: Vec::new(),
                })),
            }
        };
        if !self.request.names.is_empty() {
            return match self.is_named(&check.id, &check.tags) {
                true => chosen(
                    check.placements.iter().collect(),
                    vec![Reason::from_condition(NAMED)],
                ),
                false => out(unnamed(&check.id)),
            };
        }
        // A tier that is not reached decides without asking the repository.
        let mut nobody = BTreeSet::new();
        let choice = judged.choose(check, if reached { asked } else { &mut nobody });
        let text = format!("tier {} was not reached", check.tier);
        let unreached = || Reason {
            names: vec![check.tier.to_string()],
            ..Reason::from_condition("tier")
        };
        let (text, reasons) = match choice {
            Choice::No(..) if judged.candidates().is_some() => return None,
            Choice::No(denial, reasons) if reached => (denial, reasons),
            Choice::No(denial, mut reasons) => {
                reasons.insert(0, unreached());
                (format!("{text}; {denial}"), reasons)
            }
            Choice::Yes(..) if !reached => (text, vec![unreached()]),
            Choice::Yes(placements, reasons) => return chosen(placements, reasons),
        };
        out(Omitted {
            reasons,
            ..omitted(&check.id, text, "")
        })
    }

    /// Whether the request names a check, to run whatever its conditions are.
    pub fn is_named(&self, id: &str, tags: &[String]) -> bool {
        self.request.names.iter().any(|s| s.selects(id, tags))
    }

    /// Adds the place of the definition to an omitted check.
    fn defined(&self, check: &Check, omitted: Omitted) -> Omitted {
        let file = self.contract.imported(check.place.source);
        Omitted {
            each: self.contract.row_of(check.place),
            file: file.map(str::to_owned),
            line: Some(check.line),
            ..omitted
        }
    }

    /// Applies `--only` and `--skip`.
    pub(crate) fn outside_selection(&self, id: &str, tags: &[String]) -> Option<Omitted> {
        if !self.request.only.is_empty() && !self.request.only.iter().any(|s| s.selects(id, tags)) {
            return Some(omitted(id, "not among --only".to_owned(), "only"));
        }
        let skip = self.request.skip.iter().filter(|s| s.name == id).min()?;
        let text = format!("waived: {}", visible(&skip.reason));
        Some(Omitted {
            narrows: true,
            ..omitted(id, text, "skip")
        })
    }

    /// Whether anything that may be in the plan has `{changed}`.
    fn wants_changed(&self, fates: &Fates<'_>, commands: &[RequestedCommand]) -> bool {
        let mut seen = BTreeSet::new();
        let mut stack = included(fates);
        while let Some(index) = stack.pop() {
            let check = &self.contract.checks[index];
            if seen.insert(index) {
                if check.has_changed() {
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
        fate: &mut Inclusion<'_>,
        judged: &Judged,
        existing: &Existing,
    ) {
        let Inclusion::Included(chosen) = fate else {
            return;
        };
        if check.has_changed() {
            let files = judged.changed(&chosen.placements, &self.request.changed);
            chosen.files = existing.arguments(&files, &check.dir);
            if chosen.files.is_empty() {
                *fate = Inclusion::Omitted(Box::new(self.defined(check, no_file_left(&check.id))));
            }
        }
    }

    /// Adds needed checks, and lowers their tiers to those of the checks that need them.
    fn close(
        &self,
        fates: &mut Fates<'a>,
        judged: &Judged,
        existing: &Existing,
    ) -> Result<(), PlanError> {
        let checks = &self.contract.checks;
        let waived: BTreeSet<&str> = self.request.skip.iter().map(|s| s.name.as_str()).collect();
        let mut needers: BTreeMap<CheckIndex, Vec<CheckIndex>> = BTreeMap::new();
        let mut queue = included(fates);
        let mut brought = BTreeSet::new();
        while let Some(index) = queue.pop() {
            let check = &checks[index];
            for need in &check.needs {
                let needed = &checks[*need];
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
                // Its role or its tier may have left it out where it applies.
                let placements = match judged.choose(needed, &mut BTreeSet::new()) {
                    Choice::Yes(placements, _) => placements,
                    Choice::No(..) => needed.placements.iter().take(1).collect(),
                };
                let mut fate = Inclusion::Included(Chosen {
                    placements,
                    tier: needed.tier,
                    ..Chosen::default()
                });
                self.leave_out_unchanged(needed, &mut fate, judged, existing);
                if matches!(fate, Inclusion::Included(_)) {
                    brought.insert(*need);
                    queue.push(*need);
                }
                fates.insert(*need, fate);
            }
        }
        for (need, mut by) in needers.into_iter().filter(|(n, _)| brought.contains(n)) {
            by.sort_unstable();
            let names = by.iter().take(SHOWN).map(|i| checks[*i].id.clone());
            let reason = Reason {
                matched_count: (by.len() > SHOWN).then_some(by.len() as u64),
                names: names.collect(),
                ..Reason::from_condition("needed-by")
            };
            if let Some(Inclusion::Included(chosen)) = fates.get_mut(&need) {
                chosen.reasons.push(reason);
            }
        }
        // From the lowest tier up, so that each check is lowered once.
        for low in 0..=2_u8 {
            let at = |f: &Inclusion| matches!(f, Inclusion::Included(chosen) if chosen.tier == low);
            let lowest = fates.iter().filter(|(_, fate)| at(fate));
            let mut stack: Vec<CheckIndex> = lowest.map(|(i, _)| *i).collect();
            while let Some(index) = stack.pop() {
                for need in &checks[index].needs {
                    if let Some(Inclusion::Included(chosen)) = fates.get_mut(need)
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
    fn member(&self, check: &'a Check, chosen: Chosen<'_>) -> Result<PlanNode<'a>, PlanError> {
        let file = self.contract.file(check.place.source);
        let mut steps = step::of_check(check, file, &chosen.files);
        for step in &mut steps {
            step.each = self.contract.row_of(check.place);
            if step.shared {
                step.toolchains = self.contract.toolchains.clone();
            }
            for service in &mut step.with {
                let place = self.contract.services.get(&service.name);
                service.line = place.map(|place| place.line);
                let file = place.and_then(|place| self.contract.imported(place.source));
                service.file = file.map(str::to_owned);
            }
        }
        if steps.len() > 1 && (check.report.is_some() || check.has(Row::MinTests)) {
            let (id, count) = (&check.id, chosen.files.len());
            let message = format!("`{id}` has {count} changed files, too many for one run");
            let help = "a check with `report` or `min-tests` cannot be run in batches; give it a directory instead of {changed}".to_owned();
            return Err(PlanError::new(error::BATCHED_REPORT, message, Some(help)));
        }
        if let Some((last, others)) = steps.split_last_mut() {
            let others = others.iter_mut();
            others.for_each(|s| s.reasons.clone_from(&chosen.reasons));
            last.reasons = chosen.reasons;
        }
        steps.iter_mut().for_each(|s| s.tier = chosen.tier);
        Ok(PlanNode {
            check: Some(check),
            steps,
        })
    }

    /// Returns which nodes prepare which others. Plans of version 1 have no such order.
    fn preparing(
        &self,
        members: &Dense<NodeIndex, PlanNode>,
        (list, alone): (Vec<NodeIndex>, usize),
    ) -> Preparing {
        if self.request.in_version_1 {
            return Preparing::default();
        }
        let files = members.iter().map(|m| m.check.map(|c| c.inclusion));
        Preparing {
            files: files.collect(),
            importers: self.contract.importers.clone(),
            list,
            alone,
        }
    }

    /// Orders the members and records their predecessors.
    fn arrange(
        &self,
        plan: &mut Plan,
        mut members: Dense<NodeIndex, PlanNode<'a>>,
        node_of_check: &NodeOfCheck,
        list: (Vec<NodeIndex>, usize),
    ) {
        let nodes = |checks: &[CheckIndex]| -> Vec<NodeIndex> {
            let nodes = checks.iter().filter_map(|c| node_of_check.get(c));
            nodes.copied().collect()
        };
        let of_check = |m: &PlanNode| m.check.map_or(Vec::new(), |c| nodes(&c.needs));
        let needs: Dense<NodeIndex, Vec<NodeIndex>> = members.iter().map(of_check).collect();
        let group = |group: &Vec<CheckIndex>| {
            let each_once: BTreeSet<NodeIndex> = nodes(group).into_iter().collect();
            each_once.into_iter().collect()
        };
        let effects_of = |check: &'a Check| Effects {
            cleans: check.globs(Row::Cleans),
            produces: check.globs(Row::Produces),
            requires: check.globs(Row::Requires),
        };
        let effects_of = |m: &PlanNode<'a>| m.check.map(effects_of).unwrap_or_default();
        let effects: Dense<NodeIndex, Effects> = members.iter().map(effects_of).collect();
        let with = |of: &dyn Fn(&Step) -> bool| {
            let holds = |m: &PlanNode| m.steps.first().is_some_and(of);
            let nodes = members.numbered().filter(|(_, m)| holds(m));
            nodes.map(|(n, _)| n).collect::<Vec<_>>()
        };
        let tier = |m: &PlanNode<'_>| m.steps.first().map_or(0, |s| s.tier);
        let pairs = needs.numbered();
        let pairs = pairs.flat_map(|(later, all)| all.iter().map(move |n| (*n, later)));
        let sequences = self.contract.sequences.iter();
        let sequences = sequences.map(|s| s.groups.iter().map(group).collect());
        let judges = with(&|s| s.kind == Kind::Judge && !self.request.in_version_1);
        let constraints = Constraints {
            tiers: members.iter().map(tier).collect(),
            needs: pairs.collect(),
            sequences: sequences.collect(),
            writers: with(&|s| s.is_writer()),
            setup: with(&|s| s.setup).into_iter().collect(),
            judges: judges.into_iter().collect(),
            artifacts: artifact_bundles(&effects),
            preparing: self.preparing(&members, list),
            full: self.request.in_version_1,
        };
        let ordered = order(&constraints);
        for (a, b) in &ordered.against_tiers {
            let name = |n: &NodeIndex| members[*n].check.map_or("", |c| c.id.as_str());
            let [a, b] = [a, b].map(|node| visible(name(node).as_bytes()));
            let message =
                format!("a sequence puts `{a}` before `{b}`, but an earlier tier needs the latter");
            plan.notes.push(Note::new("sequence-gives-way", message));
        }
        self.put_in_order(plan, &mut members, &needs, &ordered);
    }

    /// Leaves out the checks that went with their folders, and says so: their conditions are not
    /// looked at any more, and it is not decided that they are not needed.
    fn leave_out_gone(&self, plan: &mut Plan) {
        for gone in &self.request.gone.folders {
            let (folder, others) = (&gone.folder, gone.others);
            let or_others = match others {
                0 => String::new(),
                1 => ", or with another folder".to_owned(),
                _ => format!(", or with one of {others} other folders"),
            };
            let reason = format!("gone with `{folder}`{or_others}");
            plan.omitted.extend(gone.checks.iter().map(|id| Omitted {
                narrows: true,
                ..omitted(id, reason.clone(), "folder-gone")
            }));
            let names = gone.checks.join(" ");
            let message = format!("gone with {folder}{or_others}: {names}");
            plan.notes.push(Note::new("folder-gone", message));
        }
    }

    /// Moves the steps into the plan, each with its predecessors.
    fn put_in_order(
        &self,
        plan: &mut Plan,
        members: &mut Dense<NodeIndex, PlanNode>,
        needs: &Dense<NodeIndex, Vec<NodeIndex>>,
        ordered: &Ordered,
    ) {
        let ids = |m: &PlanNode| m.steps.iter().map(|s| s.id.clone()).collect();
        let ids: Dense<NodeIndex, Vec<String>> = members.iter().map(ids).collect();
        let names = |nodes: &[NodeIndex]| {
            let ids = nodes.iter().flat_map(|n| &ids[*n]);
            ids.cloned().collect::<Vec<String>>()
        };
        plan.steps.reserve_exact(ids.iter().map(Vec::len).sum());
        let places = positions(&ordered.order);
        for node in &ordered.order {
            let place = |node: &NodeIndex| places[*node];
            let (strong, weak) = (&ordered.after[*node], &ordered.prepared_by[*node]);
            let mut after = [strong.as_slice(), weak].concat();
            after.sort_by_key(place);
            let mut needed = needs[*node].clone();
            needed.retain(|n| place(n) < place(node));
            needed.sort_by_key(place);
            needed.dedup();
            for mut step in std::mem::take(&mut members[*node].steps) {
                step.after = names(&after);
                step.needs = names(&needed);
                step.prepared_by = names(weak);
                plan.steps.push(step);
            }
        }
    }
}

#[cfg(test)]
mod tests;
