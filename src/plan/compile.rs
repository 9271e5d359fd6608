//! How does a plan come about? Collect, select, merge, close, order, cut (engine.md section 3).

use super::changed::Existing;
use super::error::{self, PlanError};
use super::facts::{Fact, Facts, Question};
use super::order::{Constraints, Effects, artifact_bundles, order};
use super::request::{Mode, Request, RequestRecord, Selector};
use super::select::{Choice, Judged, judge};
use super::step::{self, Identity, identity_of_check, identity_of_command};
use super::{ContractRef, Note, Omitted, Origin, Plan, Policy, Reason, Step, definition, digest, tier};
use crate::base::canon::Digest;
use crate::base::command::{Command, Env};
use crate::base::matching::SHOWN;
use crate::base::path::RepoPath;
use crate::base::word::{Word, visible};
use crate::contract::{BUILT_IN_ROLES, Body, Check, Contract, Gate, Limits, RecoverPolicy, Role, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// What compiling gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Compiled {
    /// The plan, sealed with its digest.
    Plan(Box<Plan>),
    /// Facts that are still missing. Gather them, add them, compile again; at most four rounds.
    Needs(BTreeSet<Question>),
}

/// Compiles. Pure: the same arguments give the same bytes.
///
/// # Errors
/// Requests that do not fit the contract (an unknown role, an unknown name in `--only`, a skip of a needed check): exit 2.
pub fn compile(contract: Option<&Contract>, request: &Request, facts: &Facts) -> Result<Compiled, PlanError> {
    let nothing = without_contract();
    let input = Input { declared: contract, contract: contract.unwrap_or(&nothing), request };
    let role = input.role()?;
    let commands = input.commands();
    input.check_names(&commands)?;
    let mut plan = input.frame(role);
    if request.mode == Mode::Off {
        plan.notes.push(note("mode-off", "mode is off: nothing is verified".to_owned()));
        let off =
            |check: &Check| Omitted { line: Some(check.line), ..omitted(&check.id, "mode is off".to_owned(), "mode") };
        plan.omitted = input.contract.checks.iter().map(off).collect();
        return Ok(Compiled::Plan(Box::new(digest::seal(plan))));
    }

    let judged = judge(input.contract, role, &request.changed, facts);
    let (tiers, notes) = tier::reach(&input.contract.risks, &judged.pulled, request);
    plan.notes.extend(notes);
    let mut asked = BTreeSet::new();
    let restriction = input.contract.roles.get(role).filter(|r| !r.only.is_empty());
    let mut fates: Vec<Fate> = Vec::with_capacity(input.contract.checks.len());
    for check in &input.contract.checks {
        let reached = tiers.iter().any(|t| t.tier == check.tier);
        fates.push(input.fate(check, &judged, reached, role, restriction, &mut asked));
    }
    if asked.iter().any(|q| facts.get(q).is_none()) {
        return Ok(Compiled::Needs(asked.into_iter().filter(|q| facts.get(q).is_none()).collect()));
    }
    let existing = Existing::new(&request.changed, facts);
    if existing.is_open() && input.wants_changed(&fates, &commands) {
        asked.insert(Question::MissingChanged);
        if facts.get(&Question::MissingChanged).is_none() {
            return Ok(Compiled::Needs(BTreeSet::from([Question::MissingChanged])));
        }
    }
    plan.facts = asked
        .into_iter()
        .filter_map(|question| Some(Fact { answer: facts.get(&question)?.clone(), question }))
        .collect();

    for (check, fate) in input.contract.checks.iter().zip(&mut fates) {
        input.leave_out_unchanged(check, fate, &judged, &existing);
    }
    input.close(&mut fates, &judged, &existing)?;
    let represented = input.merge_anonymous(&mut fates);
    let chosen = input.choose_commands(&commands, &mut fates, role, restriction, &existing);

    let mut members: Vec<Member> = Vec::new();
    let mut omitted = Vec::new();
    let mut node_of_check: Vec<Option<usize>> = vec![None; input.contract.checks.len()];
    let (explicit, inferred): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|(o, _)| *o == Origin::Explicit);
    for (_, outcome) in explicit {
        outcome.map_or_else(|out| omitted.push(out), |member| members.push(member));
    }
    for (index, (check, fate)) in input.contract.checks.iter().zip(fates).enumerate() {
        match fate {
            Fate::In(chosen) => {
                if let Some(slot) = node_of_check.get_mut(index) {
                    *slot = Some(members.len());
                }
                members.push(input.member(check, chosen)?);
            }
            Fate::Out(out) => omitted.push(*out),
            Fate::Merged => {}
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
    input.arrange(&mut plan, members, &node_of_check);
    Ok(Compiled::Plan(Box::new(digest::seal(plan))))
}

/// The arguments that do not change while compiling.
struct Input<'a> {
    declared: Option<&'a Contract>,
    contract: &'a Contract,
    request: &'a Request,
}

/// What becomes of a contract's check.
enum Fate {
    In(Chosen),
    Out(Box<Omitted>),
    /// It is the same work as an earlier check.
    Merged,
}

/// A contract's check that is part of the plan.
#[derive(Default)]
struct Chosen {
    placements: Vec<usize>,
    reasons: Vec<Reason>,
    tier: u8,
    /// What `{changed}` stands for.
    files: Vec<Word>,
}

/// A command of the request, or inferred.
struct Asked<'a> {
    command: &'a Command,
    id: String,
    origin: Origin,
}

/// A node of the plan: the steps of one check.
struct Member<'a> {
    check: Option<&'a Check>,
    steps: Vec<Step>,
}

impl<'a> Input<'a> {
    fn role(&self) -> Result<&'a str, PlanError> {
        let role = self.request.role.as_deref().unwrap_or("worker");
        if self.contract.roles.contains_key(role) {
            return Ok(role);
        }
        Err(PlanError::unknown(error::UNKNOWN_ROLE, "role", role, self.contract.roles.keys().map(String::as_str)))
    }

    /// Explicit commands, then inferred ones, with their ids.
    fn commands(&self) -> Vec<Asked<'a>> {
        let mut taken: BTreeSet<String> = self.contract.checks.iter().map(|c| c.id.clone()).collect();
        if self.request.mode == Mode::Off {
            return Vec::new();
        }
        let mut commands = Vec::new();
        let mut seen: Vec<&Command> = Vec::new();
        for command in &self.request.explicit {
            // A repetition is merged later; it must not use up an id.
            let id = match seen.iter().position(|c| *c == command) {
                Some(at) => commands.get(at).map(|a: &Asked| a.id.clone()).unwrap_or_default(),
                None => step::id_of_command(command, &mut taken),
            };
            seen.push(command);
            commands.push(Asked { command, id, origin: Origin::Explicit });
        }
        if self.declared.is_none() && self.request.mode == Mode::Fallback {
            for (id, command) in &self.request.inferred {
                commands.push(Asked { command, id: step::unique(id.clone(), &mut taken), origin: Origin::Inferred });
            }
        }
        commands
    }

    fn check_names(&self, commands: &[Asked]) -> Result<(), PlanError> {
        if let Some(skip) = self.request.skip.iter().find(|s| s.reason.trim().is_empty()) {
            let message = format!("skipping `{}` needs a reason", visible(skip.name.as_bytes()));
            let help = Some("say why with `--reason`; it is recorded in the plan".to_owned());
            return Err(PlanError::new(error::BLANK_REASON, message, help));
        }
        let ids = || self.contract.checks.iter().map(|c| c.id.as_str()).chain(commands.iter().map(|c| c.id.as_str()));
        let tags = || self.contract.checks.iter().flat_map(|c| c.tags.iter().map(String::as_str));
        if self.request.mode == Mode::Off || (self.request.only.is_empty() && self.request.skip.is_empty()) {
            return Ok(());
        }
        let known: BTreeSet<&str> = ids().collect();
        let known_tags: BTreeSet<&str> = tags().collect();
        for selector in &self.request.only {
            match selector {
                Selector::Name(name) if !known.contains(name.as_str()) => {
                    return Err(PlanError::unknown(error::UNKNOWN_CHECK, "check", name, ids()));
                }
                Selector::Tag(tag) if !known_tags.contains(tag.as_str()) => {
                    return Err(PlanError::unknown(error::UNKNOWN_TAG, "tag", tag, known_tags.iter().copied()));
                }
                Selector::Name(_) | Selector::Tag(_) => {}
            }
        }
        match self.request.skip.iter().find(|s| !known.contains(s.name.as_str())) {
            Some(skip) => Err(PlanError::unknown(error::UNKNOWN_CHECK, "check", &skip.name, ids())),
            None => Ok(()),
        }
    }

    /// Everything but steps, omitted checks, tiers and facts.
    fn frame(&self, role: &str) -> Plan {
        let request = self.request;
        let lesser = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        let mut only: Vec<String> = request.only.iter().map(selector_text).collect();
        only.sort();
        only.dedup();
        let mut skip = request.skip.clone();
        skip.sort();
        skip.dedup_by(|b, a| a.name == b.name);
        let mut boundaries = request.boundaries.clone();
        boundaries.sort();
        boundaries.dedup();
        let recover = &self.contract.recover;
        let reference =
            |c: &Contract| ContractRef { digest: c.digest.clone(), imports: Vec::new(), path: c.path.clone() };
        Plan {
            contract: self.declared.map(reference),
            digest: None,
            facts: Vec::new(),
            notes: self.notes(),
            omitted: Vec::new(),
            policy: Policy {
                budget_ms: lesser(request.budget_ms, self.contract.limits.budget_ms),
                fail_fast: !request.keep_going,
                jobs: request.jobs.or(self.contract.limits.jobs).unwrap_or(1).max(1),
                recover: if request.no_recover { Vec::new() } else { recover.rules.clone() },
                recover_contract: recover.contract,
            },
            request: RequestRecord {
                boundaries,
                changed: request.changed.clone(),
                explicit: request.explicit.iter().map(Command::to_text).collect(),
                min_tier: request.min_tier,
                mode: request.mode,
                only,
                risk: request.risk,
                role: role.to_owned(),
                skip,
            },
            rewrites: Vec::new(),
            steps: Vec::new(),
            tiers: Vec::new(),
            version: 1,
        }
    }

    fn notes(&self) -> Vec<Note> {
        let Some(contract) = self.declared else {
            let off = self.request.mode == Mode::Off;
            return if off { Vec::new() } else { vec![note("no-contract", "there is no contract".to_owned())] };
        };
        let lock = contract.path.strip_suffix(".vplan").map(|stem| format!("{stem}.lock.kdl"));
        let files = [(Some(contract.path.as_str()), "the contract"), (lock.as_deref(), "the contract's lock")];
        let changed = files.into_iter().filter_map(|(path, what)| {
            let path = RepoPath::parse(path?.as_bytes()).ok().filter(|p| self.request.changed.contains(p))?;
            let message = format!("{what} `{path}` is itself among the changed files");
            Some(Note { path: Some(path), ..note("contract-changed", message) })
        });
        let outside = super::scope::outside(&contract.scope, &self.request.changed);
        changed.chain(outside).collect()
    }

    /// Conditions, tier, role, `--only`, `--skip`, in this order.
    fn fate(
        &self,
        check: &Check,
        judged: &Judged,
        reached: bool,
        role: &str,
        restriction: Option<&Role>,
        asked: &mut BTreeSet<Question>,
    ) -> Fate {
        let out = |omitted: Omitted| Fate::Out(Box::new(Omitted { line: Some(check.line), ..omitted }));
        // A tier that is not reached decides without asking the repository.
        let mut nobody = BTreeSet::new();
        let choice = judged.choose(check, if reached { asked } else { &mut nobody });
        let unreached =
            || Reason { condition: "tier".to_owned(), names: vec![check.tier.to_string()], ..Reason::default() };
        let (placements, reasons) = match choice {
            Choice::No(mut text, mut reasons) => {
                if !reached {
                    text = format!("tier {} was not reached; {text}", check.tier);
                    reasons.insert(0, unreached());
                }
                return out(Omitted { reasons, ..omitted(&check.id, text, "") });
            }
            Choice::Yes(..) if !reached => {
                let text = format!("tier {} was not reached", check.tier);
                return out(Omitted { reasons: vec![unreached()], ..omitted(&check.id, text, "") });
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
            None => Fate::In(Chosen { placements, reasons, tier: check.tier, files: Vec::new() }),
        }
    }

    /// `--only` and `--skip`.
    fn outside_selection(&self, id: &str, tags: &[String]) -> Option<Omitted> {
        let named = |s: &Selector| match s {
            Selector::Name(name) => name == id,
            Selector::Tag(tag) => tags.contains(tag),
        };
        if !self.request.only.is_empty() && !self.request.only.iter().any(named) {
            return Some(omitted(id, "not among --only".to_owned(), "only"));
        }
        let skip = self.request.skip.iter().filter(|s| s.name == id).min()?;
        let text = format!("waived: {}", visible(skip.reason.as_bytes()));
        Some(Omitted { narrows: true, ..omitted(id, text, "skip") })
    }

    /// Whether anything that may come into the plan has `{changed}`.
    fn wants_changed(&self, fates: &[Fate], commands: &[Asked]) -> bool {
        let mut seen = vec![false; fates.len()];
        let mut stack: Vec<usize> =
            fates.iter().enumerate().filter(|(_, f)| matches!(f, Fate::In(_))).map(|(i, _)| i).collect();
        while let Some(index) = stack.pop() {
            let (Some(flag), Some(check)) = (seen.get_mut(index), self.contract.checks.get(index)) else { continue };
            if !std::mem::replace(flag, true) {
                if has_changed(check) {
                    return true;
                }
                stack.extend(&check.needs);
            }
        }
        commands.iter().any(|c| c.command.has_changed())
    }

    fn leave_out_unchanged(&self, check: &Check, fate: &mut Fate, judged: &Judged, existing: &Existing) {
        let Fate::In(chosen) = fate else { return };
        if has_changed(check) {
            let files = judged.changed(check, &chosen.placements, &self.request.changed);
            chosen.files = existing.arguments(files.into_iter(), &check.dir);
            if chosen.files.is_empty() {
                *fate = Fate::Out(Box::new(Omitted { line: Some(check.line), ..no_file_left(&check.id) }));
            }
        }
    }

    /// Brings in what is needed, and lowers tiers to those of the needers.
    fn close(&self, fates: &mut [Fate], judged: &Judged, existing: &Existing) -> Result<(), PlanError> {
        let checks = &self.contract.checks;
        let waived: BTreeSet<&str> = self.request.skip.iter().map(|s| s.name.as_str()).collect();
        let is_in = |fates: &[Fate], i: usize| matches!(fates.get(i), Some(Fate::In(_)));
        let mut needers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut queue: Vec<usize> = (0..fates.len()).filter(|i| is_in(fates, *i)).collect();
        let mut brought = BTreeSet::new();
        while let Some(index) = queue.pop() {
            let Some(check) = checks.get(index) else { continue };
            for need in &check.needs {
                let Some(needed) = checks.get(*need) else { continue };
                if waived.contains(needed.id.as_str()) {
                    let message = format!("`{}` cannot be skipped: `{}` needs it", needed.id, check.id);
                    let help = format!("skip `{}` too", check.id);
                    return Err(PlanError::new(error::SKIPPED_NEED, message, Some(help)));
                }
                needers.entry(*need).or_default().push(index);
                if is_in(fates, *need) || brought.contains(need) {
                    continue;
                }
                let mut fate = Fate::In(Chosen { placements: vec![0], tier: needed.tier, ..Chosen::default() });
                self.leave_out_unchanged(needed, &mut fate, judged, existing);
                let left = matches!(fate, Fate::In(_));
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
            let Some(Fate::In(chosen)) = fates.get_mut(need) else { continue };
            let mut by = needers.get(&need).cloned().unwrap_or_default();
            by.sort_unstable();
            let names = by.iter().take(SHOWN).filter_map(|i| checks.get(*i)).map(|c| c.id.clone()).collect();
            let count = (by.len() > SHOWN).then_some(by.len() as u64);
            let reason = Reason { condition: "needed-by".to_owned(), matched_count: count, names, ..Reason::default() };
            chosen.reasons.push(reason);
        }
        // From the lowest tier up, so that each check is lowered once.
        for low in 0..=2_u8 {
            let at = |f: &Fate| matches!(f, Fate::In(chosen) if chosen.tier == low);
            let mut stack: Vec<usize> = fates.iter().enumerate().filter(|(_, f)| at(f)).map(|(i, _)| i).collect();
            while let Some(index) = stack.pop() {
                for need in checks.get(index).map(|c| c.needs.as_slice()).unwrap_or_default() {
                    if let Some(Fate::In(chosen)) = fates.get_mut(*need)
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

    /// Equal anonymous checks become the first of them; the result says which became which.
    fn merge_anonymous(&self, fates: &mut [Fate]) -> Vec<(usize, usize)> {
        let mut first: BTreeMap<Identity, usize> = BTreeMap::new();
        let mut merged = Vec::new();
        for (index, check) in self.contract.checks.iter().enumerate().filter(|(_, c)| !c.named) {
            let (Some(Fate::In(_)), Some(identity)) = (fates.get(index), identity_of_check(check)) else { continue };
            let target = *first.entry(identity).or_insert(index);
            if target == index {
                continue;
            }
            let old = fates.get_mut(index).map(|fate| std::mem::replace(fate, Fate::Merged));
            if let (Some(Fate::In(from)), Some(Fate::In(into))) = (old, fates.get_mut(target)) {
                into.tier = into.tier.min(from.tier);
                add_reasons(&mut into.reasons, from.reasons);
                // The files of both, in byte order as before.
                let files: BTreeSet<Word> = into.files.drain(..).chain(from.files).collect();
                into.files = files.into_iter().collect();
            }
            merged.push((index, target));
        }
        merged
    }

    /// Merges each command into the check that it equals, or decides about it alone.
    fn choose_commands(
        &self,
        commands: &[Asked<'a>],
        fates: &mut [Fate],
        role: &str,
        restriction: Option<&Role>,
        existing: &Existing,
    ) -> Vec<(Origin, Result<Member<'a>, Omitted>)> {
        let (root, no_env) = (RepoPath::root(), Env::new());
        let mut in_plan: BTreeMap<Identity, usize> = BTreeMap::new();
        let mut allowed: BTreeSet<Identity> = BTreeSet::new();
        if !commands.is_empty() {
            for (index, check) in self.contract.checks.iter().enumerate() {
                let Some(identity) = identity_of_check(check) else { continue };
                if restriction.is_some_and(|r| check.tags.iter().any(|t| r.only.contains(t))) {
                    allowed.insert(identity.clone());
                }
                if matches!(fates.get(index), Some(Fate::In(_))) {
                    in_plan.entry(identity).or_insert(index);
                }
            }
        }
        let limit = self.contract.roles.get(role).and_then(|r| r.max_checks);
        let limit = limit.into_iter().chain(self.contract.limits.max_checks).min();
        let mut taken = 0;
        let mut seen: BTreeSet<Identity> = BTreeSet::new();
        let mut chosen = Vec::new();
        for Asked { command, id, origin } in commands {
            let identity = identity_of_command(command, &root, &no_env);
            let condition = if *origin == Origin::Explicit { "explicit" } else { "inferred" };
            let reason = Reason { condition: condition.to_owned(), ..Reason::default() };
            if let Some(Fate::In(check)) = in_plan.get(&identity).and_then(|i| fates.get_mut(*i)) {
                add_reasons(&mut check.reasons, vec![reason]);
                continue;
            }
            if !seen.insert(identity.clone()) {
                continue;
            }
            let files = if command.has_changed() { existing.all(&root) } else { Vec::new() };
            let outcome = if let Some(restriction) = restriction.filter(|_| !allowed.contains(&identity)) {
                Err(outside_role(id, role, restriction))
            } else if let Some(omitted) = self.outside_selection(id, &[]) {
                Err(omitted)
            } else if command.has_changed() && files.is_empty() {
                Err(no_file_left(id))
            } else if let Some(limit) = limit.filter(|l| taken >= *l) {
                Err(Omitted { narrows: true, ..omitted(id, format!("cut by max-checks {limit}"), "max-checks") })
            } else {
                taken += 1;
                let mut steps = step::of_command(command, id, *origin, &files);
                steps.iter_mut().for_each(|s| s.reasons.push(reason.clone()));
                Ok(Member { check: None, steps })
            };
            chosen.push((*origin, outcome));
        }
        chosen
    }

    /// The steps of a check in the plan.
    fn member(&self, check: &'a Check, chosen: Chosen) -> Result<Member<'a>, PlanError> {
        let mut steps = step::of_check(check, &self.contract.path, &chosen.files);
        if steps.len() > 1 && (check.report.is_some() || check.min_tests.is_some()) {
            let message = format!("`{}` has {} changed files, too many for one run", check.id, chosen.files.len());
            let help = "a check with `report` or `min-tests` cannot be run in batches; give it a directory instead of {changed}";
            return Err(PlanError::new(error::BATCHED_REPORT, message, Some(help.to_owned())));
        }
        if let Some((last, others)) = steps.split_last_mut() {
            others.iter_mut().for_each(|s| s.reasons.clone_from(&chosen.reasons));
            last.reasons = chosen.reasons;
        }
        steps.iter_mut().for_each(|s| s.tier = chosen.tier);
        Ok(Member { check: Some(check), steps })
    }

    /// Orders the members and writes down what waits for what.
    fn arrange(&self, plan: &mut Plan, mut members: Vec<Member>, node_of_check: &[Option<usize>]) {
        let node = |check: &usize| node_of_check.get(*check).copied().flatten();
        let needs = |m: &Member| m.check.map(|c| c.needs.iter().filter_map(node).collect()).unwrap_or_default();
        let needs: Vec<Vec<usize>> = members.iter().map(needs).collect();
        let group = |group: &Vec<usize>| group.iter().filter_map(node).collect::<BTreeSet<_>>().into_iter().collect();
        let effects: Vec<Effects> = members
            .iter()
            .map(|m| {
                m.check.map_or(Effects::default(), |c| Effects {
                    cleans: &c.cleans,
                    produces: &c.produces,
                    requires: &c.requires,
                })
            })
            .collect();
        let constraints = Constraints {
            tiers: members.iter().map(|m| m.steps.first().map_or(0, |s| s.tier)).collect(),
            needs: needs.iter().enumerate().flat_map(|(later, all)| all.iter().map(move |n| (*n, later))).collect(),
            sequences: self.contract.sequences.iter().map(|s| s.groups.iter().map(group).collect()).collect(),
            artifacts: artifact_bundles(&effects),
        };
        let ordered = order(&constraints);
        let ids: Vec<Vec<String>> = members.iter().map(|m| m.steps.iter().map(|s| s.id.clone()).collect()).collect();
        let names = |nodes: &[usize]| nodes.iter().filter_map(|n| ids.get(*n)).flatten().cloned().collect::<Vec<_>>();
        for (a, b) in &ordered.against_tiers {
            let name = |n: &usize| members.get(*n).and_then(|m| m.check).map_or("", |c| c.id.as_str());
            let message = format!(
                "a sequence puts `{}` before `{}`, but an earlier tier needs the latter",
                visible(name(a).as_bytes()),
                visible(name(b).as_bytes())
            );
            plan.notes.push(note("sequence-gives-way", message));
        }
        for at in &ordered.order {
            let after = ordered.after.get(*at).map(Vec::as_slice).unwrap_or_default();
            let wanted = needs.get(*at).map(Vec::as_slice).unwrap_or_default();
            let needed: Vec<usize> = after.iter().filter(|n| wanted.contains(n)).copied().collect();
            let Some(member) = members.get_mut(*at) else { continue };
            for mut step in member.steps.drain(..) {
                step.after = names(after);
                step.needs = names(&needed);
                step.reasons.extend(definition::reason(&step, &self.request.changed));
                plan.steps.push(step);
            }
        }
    }
}

fn has_changed(check: &Check) -> bool {
    matches!(&check.body, Body::Command(command) if command.has_changed())
}

fn add_reasons(to: &mut Vec<Reason>, more: Vec<Reason>) {
    for reason in more {
        if !to.contains(&reason) {
            to.push(reason);
        }
    }
}

fn selector_text(selector: &Selector) -> String {
    match selector {
        Selector::Name(name) => name.clone(),
        Selector::Tag(tag) => format!("tag:{tag}"),
    }
}

fn note(kind: &str, message: String) -> Note {
    Note { kind: kind.to_owned(), message, path: None }
}

fn omitted(id: &str, reason: String, condition: &str) -> Omitted {
    let structured = Reason { condition: condition.to_owned(), ..Reason::default() };
    Omitted { id: id.to_owned(), line: None, narrows: false, reason, reasons: vec![structured] }
}

fn outside_role(id: &str, role: &str, restriction: &Role) -> Omitted {
    let tags: Vec<String> = restriction.only.iter().map(|t| visible(t.as_bytes())).collect();
    let text = format!("role {} runs only checks tagged {}", visible(role.as_bytes()), tags.join(" or "));
    let reason = Reason {
        condition: "role".to_owned(),
        line: restriction.line,
        names: restriction.only.clone(),
        ..Reason::default()
    };
    Omitted { reasons: vec![reason], ..omitted(id, text, "") }
}

fn no_file_left(id: &str) -> Omitted {
    omitted(id, "no changed file is left for {changed}".to_owned(), "changed")
}

/// What stands in for a contract where there is none: the built-in roles, and nothing else.
fn without_contract() -> Contract {
    Contract {
        name: None,
        path: String::new(),
        digest: Digest::of(b""),
        checks: Vec::new(),
        conditions: Vec::new(),
        risks: Vec::new(),
        sequences: Vec::new(),
        roles: BUILT_IN_ROLES.iter().map(|r| ((*r).to_owned(), Role::default())).collect(),
        limits: Limits::default(),
        scope: Scope::default(),
        recover: RecoverPolicy::default(),
        gate: Gate::default(),
        judge_with: None,
    }
}
