//! The laws of src/engine.md section 6, which hold of every repair and every classification, as
//! functions that property tests and fuzz targets call.
//!
//! They look at results only and share no code with the rules.

use std::collections::{BTreeMap, BTreeSet};
use vplan::base::carried::Carried;
use vplan::base::command::{Env, Link, Unsupported};
use vplan::base::index::Index as _;
use vplan::base::path::RepoPath;
use vplan::base::vocabulary::FailureCode;
use vplan::base::vocabulary::RewriteRule;
use vplan::base::word::Word;
use vplan::check::evidence::Evidence;
use vplan::plan::facts::Facts;
use vplan::plan::{Coverage, Origin, Plan, Rewrite, Step, StepIndex};
use vplan::recover::rewrite::{measure, well_formed};
use vplan::recover::{Failure, Recovery, classify, recover};

/// Repairs a plan until nothing applies, and checks every law on the way. Gives the number of
/// rewrites.
///
/// # Errors
/// The first law that does not hold.
pub fn check_recovery(plan: &Plan, failures: &[Failure], facts: &Facts) -> Result<usize, String> {
    let mut plan = plan.clone();
    let mut count = 0;
    loop {
        let outcome = recover(&plan, failures, facts);
        let mut shuffled: Vec<Failure> = failures.iter().rev().cloned().collect();
        shuffled.extend(failures.first().cloned());
        ensure(recover(&plan, &shuffled, facts) == outcome, || {
            "the order of failures matters".to_owned()
        })?;
        let Recovery::Rewritten {
            plan: next,
            rewrite,
        } = outcome
        else {
            return Ok(count);
        };
        check_rewrite(&plan, &next, &rewrite)?;
        for failure in failures {
            let alone = std::slice::from_ref(failure);
            if let Recovery::Rewritten { plan: once, .. } = recover(&plan, alone, facts) {
                let again = recover(&once, alone, facts);
                ensure(!matches!(again, Recovery::Rewritten { .. }), || {
                    format!("{failure:?} is repaired twice")
                })?;
            }
        }
        plan = *next;
        count += 1;
    }
}

/// Checks one rewrite.
///
/// # Errors
/// The first law that does not hold.
pub fn check_rewrite(before: &Plan, after: &Plan, rewrite: &Rewrite) -> Result<(), String> {
    let name = &rewrite.recovery_rule;
    ensure(measure(after) < measure(before), || {
        format!("{name}: the measure does not decrease")
    })?;
    well_formed(after).map_err(|e| e.to_string())?;
    ensure(
        after.steps.iter().any(Step::is_effective) || !before.steps.iter().any(Step::is_effective),
        || format!("{name}: nothing effective remains"),
    )?;
    ensure(!after.steps.is_empty(), || {
        format!("{name}: the plan is empty")
    })?;
    ensure(before.policy.recover.contains(name), || {
        format!("{name} is not allowed")
    })?;
    trace(before, after, rewrite)?;
    constraints(before, after, rewrite)?;
    words(before, after)?;
    if rewrite.coverage == Coverage::Narrowed {
        dropped(before, after, rewrite)?;
    }
    let rest = verified_but(before, &rewrite.dropped);
    ensure(rest == verified(after), || {
        format!(
            "{name}: what stays is another thing than it was: {rest:?} and {:?}",
            verified(after)
        )
    })?;
    untouched(before, after, rewrite)
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Only the steps and the trace have changed; the trace records what was done.
fn trace(before: &Plan, after: &Plan, rewrite: &Rewrite) -> Result<(), String> {
    let mut expected = before.clone();
    expected.digest.clone_from(&after.digest);
    expected.steps.clone_from(&after.steps);
    expected.rewrites.push(Rewrite {
        next_digest: None,
        ..rewrite.clone()
    });
    ensure(expected == *after, || {
        "more than the steps has changed".to_owned()
    })?;
    let commands = |plan: &Plan| {
        plan.steps
            .iter()
            .map(|s| s.command.clone())
            .collect::<Vec<_>>()
    };
    ensure(
        rewrite.previous_commands == commands(before)
            && rewrite.next_commands == commands(after)
            && rewrite.previous_digest == before.digest
            && rewrite.next_digest == after.digest,
        || "the trace tells another story".to_owned(),
    )
}

fn by_id(plan: &Plan) -> BTreeMap<&str, (usize, &Step)> {
    plan.steps
        .iter()
        .enumerate()
        .map(|(i, s)| (s.id.as_str(), (i, s)))
        .collect()
}

/// Returns for each step the ids of all steps that must come before it; `bound` leaves out what
/// only prepares.
fn ancestors(plan: &Plan, bound: bool) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for step in &plan.steps {
        let mut own = BTreeSet::new();
        for id in step
            .after
            .iter()
            .chain(&step.needs)
            .filter(|id| !bound || !step.prepared_by.contains(id))
        {
            own.insert(id.as_str());
            own.extend(all.get(id.as_str()).into_iter().flatten().copied());
        }
        all.insert(&step.id, own);
    }
    all
}

/// A step that had to come before another still has to, if both exist; what a step needed is still
/// needed. Only what prepares may come after, and only when a cleanup moves: then the two have
/// changed places.
fn constraints(before: &Plan, after: &Plan, rewrite: &Rewrite) -> Result<(), String> {
    let (now, bound_now) = (ancestors(after, false), ancestors(after, true));
    let bound = ancestors(before, true);
    let place = by_id(after);
    let moves = rewrite.recovery_rule.to_known() == Some(RewriteRule::ReorderAfterCleanup);
    for (id, earlier) in ancestors(before, false) {
        let (Some(have), Some(bound), Some(bound_now)) =
            (now.get(id), bound.get(id), bound_now.get(id))
        else {
            continue;
        };
        let turned =
            |e: &str| moves && place.get(e).map(|(i, _)| i) > place.get(id).map(|(i, _)| i);
        let keeps = |e: &&str| {
            if bound.contains(e) {
                bound_now.contains(e)
            } else {
                have.contains(e) || turned(e)
            }
        };
        let lost = earlier.iter().find(|e| now.contains_key(*e) && !keeps(e));
        ensure(lost.is_none(), || {
            format!(
                "`{id}` no longer stands behind `{}`",
                lost.copied().unwrap_or_default()
            )
        })?;
    }
    Ok(())
}

/// Every word of a new step occurs in the step that it replaces; a `cd` or an `export` alone also
/// gives its own to the steps after it.
fn words(before: &Plan, after: &Plan) -> Result<(), String> {
    let (was, is) = (by_id(before), by_id(after));
    let gone: Vec<&Step> = before
        .steps
        .iter()
        .filter(|s| !is.contains_key(s.id.as_str()))
        .collect();
    for step in &after.steps {
        let source = match was.get(step.id.as_str()) {
            Some((_, same)) => same,
            None => match gone.as_slice() {
                [one] => one,
                _ => return Err(format!("`{}` comes from nowhere", step.id)),
            },
        };
        let mut known = words_of(source);
        gone.iter()
            .filter(|s| is_carried(s))
            .for_each(|s| known.extend(words_of(s)));
        // A conjunction is printed with what was exported before it.
        known.extend(
            step.command
                .ends_with(&source.command)
                .then(|| Word::from(step.command.clone())),
        );
        let unknown = words_of(step).into_iter().find(|w| !known.contains(w));
        ensure(unknown.is_none(), || {
            format!("`{}` has a word of its own: {unknown:?}", step.id)
        })?;
    }
    Ok(())
}

fn words_of(step: &Step) -> BTreeSet<Word> {
    let mut all: BTreeSet<Word> = step.argv.iter().flatten().cloned().collect();
    all.extend(words_of_env(&step.env));
    all.extend(step.dir.segments().filter(|s| *s != b".").map(Word::new));
    if let Some(unsupported) = &step.unsupported {
        all.insert(Word::from(step.command.clone()));
        words_of_chain(unsupported, &mut all);
    }
    all
}

fn words_of_env(env: &Env) -> impl Iterator<Item = Word> {
    env.iter()
        .flat_map(|(name, value)| [Word::from(name.clone()), value.clone()])
}

fn words_of_chain(unsupported: &Unsupported, all: &mut BTreeSet<Word>) {
    for link in &unsupported.chain {
        match link {
            Link::ChangeDirectory { cd } => {
                all.extend(cd.as_bytes().split(|b| *b == b'/').map(Word::new))
            }
            Link::Export { export } => all.extend(words_of_env(export)),
            Link::Run { argv, env } => {
                all.extend(argv.iter().cloned());
                all.extend(words_of_env(env));
            }
            Link::Other { text, unsupported } => {
                all.insert(Word::from(text.clone()));
                words_of_chain(unsupported, all);
            }
        }
    }
}

/// Directory, environment, words, and earlier commands that changed the shell in a way that only a
/// shell can evaluate.
type Verified = (RepoPath, Env, Vec<Word>, Vec<String>);

/// Returns what a plan runs, in which directory and environment, with conjunctions, `cd` and
/// `export` expanded; sorted.
#[must_use]
pub fn verified(plan: &Plan) -> Vec<Verified> {
    verified_but(plan, &[])
}

/// Like [`verified`] without what these steps run. Their changes to the shell, which continues,
/// still count.
fn verified_but(plan: &Plan, without: &[String]) -> Vec<Verified> {
    let mut all = Vec::new();
    let mut shell = Shell::default();
    // Commands of a request are a list, read as by one shell.
    let listed = |step: &Step| plan.contract.is_none() && step.origin == Origin::Explicit;
    for step in &plan.steps {
        let before = if listed(step) {
            shell.clone()
        } else {
            Shell::default()
        };
        let counts = !without.contains(&step.id);
        if listed(step) && shell.read(step) {
            continue;
        }
        let mut found = Vec::new();
        let (dir, env) = before.around(step);
        match (&step.argv, &step.unsupported) {
            (None, Some(unsupported)) => expand(unsupported, &step.command, dir, &env, &mut found),
            (Some(argv), _) => found.push((dir, env, argv.clone())),
            (None, None) => found.push((dir, env, vec![Word::from(step.command.clone())])),
        }
        if counts {
            all.extend(
                found
                    .into_iter()
                    .map(|(dir, env, words)| (dir, env, words, before.unknown.clone())),
            );
        }
    }
    all.sort();
    all
}

/// The state of the shell that reads a list, after some of its commands.
#[derive(Clone, Default)]
struct Shell {
    followed: Vec<Link>,
    unknown: Vec<String>,
}

impl Shell {
    /// Reads a step that may change the shell. Returns true when that is all it does, and its
    /// effect is known.
    fn read(&mut self, step: &Step) -> bool {
        let Some(unsupported) = step.unsupported.as_ref().filter(|u| u.changes_shell) else {
            return false;
        };
        let (dir, env) = self.around(step);
        let mut there = Carried { dir, env };
        if is_carried(step)
            && unsupported
                .chain
                .iter()
                .all(|link| there.follow(link).is_some())
        {
            self.followed.extend(unsupported.chain.iter().cloned());
            return true;
        }
        // A command with its own `cd` is a command: only what cannot be expressed is recorded.
        if unsupported.chain.is_empty() || is_carried(step) {
            let chain = format!("{:?}", unsupported.chain);
            self.unknown.push(if unsupported.chain.is_empty() {
                step.command.clone()
            } else {
                chain
            });
        }
        false
    }

    /// Returns the directory and the variables with which a step runs after all this.
    fn around(&self, step: &Step) -> (RepoPath, Env) {
        let mut carried = Carried {
            dir: step.dir.clone(),
            env: Env::new(),
        };
        for link in &self.followed {
            // A path that leads outside was recorded as unknown.
            let _ = carried.follow(link);
        }
        (carried.dir.clone(), carried.env_of(&step.env))
    }
}

fn is_carried(step: &Step) -> bool {
    step.unsupported
        .as_ref()
        .is_some_and(Unsupported::is_carried)
}

type Run = (RepoPath, Env, Vec<Word>);

fn expand(unsupported: &Unsupported, text: &str, dir: RepoPath, env: &Env, all: &mut Vec<Run>) {
    if unsupported.chain.is_empty() {
        all.push((dir, env.clone(), vec![Word::from(text)]));
        return;
    }
    let mut here = Carried {
        dir,
        env: env.clone(),
    };
    for link in &unsupported.chain {
        match link {
            Link::ChangeDirectory { cd } => {
                if here.follow(link).is_none() {
                    // It stays unchanged, and so does everything after it.
                    all.push((
                        here.dir.clone(),
                        here.env.clone(),
                        vec![Word::from("cd"), cd.clone()],
                    ));
                }
            }
            Link::Export { export } => here.env.extend(export.clone()),
            Link::Run { argv, env: own } => {
                all.push((here.dir.clone(), here.env_of(own), argv.clone()))
            }
            Link::Other { text, unsupported } => {
                expand(unsupported, text, here.dir.clone(), &here.env, all)
            }
        }
    }
}

/// A narrowing rewrite takes exactly one step away, one that may be dropped and that none needs.
fn dropped(before: &Plan, after: &Plan, rewrite: &Rewrite) -> Result<(), String> {
    let [id] = rewrite.dropped.as_slice() else {
        return Err("not exactly one step is dropped".to_owned());
    };
    let was = by_id(before);
    let Some((_, step)) = was.get(id.as_str()) else {
        return Err(format!("`{id}` was not there"));
    };
    let allowed =
        step.origin != Origin::Contract || step.optional || before.policy.recover_contract;
    ensure(allowed, || format!("`{id}` belongs to the contract"))?;
    let changes = step.unsupported.as_ref().is_some_and(|u| u.changes_shell);
    ensure(!changes, || {
        format!("`{id}` changes what the commands behind it mean")
    })?;
    ensure(!before.steps.iter().any(|s| s.needs.contains(id)), || {
        format!("`{id}` was needed")
    })?;
    let ids = |plan: &Plan| plan.steps.iter().map(|s| s.id.clone()).collect::<Vec<_>>();
    let rest: Vec<String> = ids(before)
        .into_iter()
        .filter(|other| other != id)
        .collect();
    ensure(ids(after) == rest, || {
        "the others are not where they were".to_owned()
    })
}

/// Checks that no other step is changed than the rule allows.
fn untouched(before: &Plan, after: &Plan, rewrite: &Rewrite) -> Result<(), String> {
    let (was, is) = (by_id(before), by_id(after));
    let gone: BTreeSet<&str> = was
        .keys()
        .copied()
        .filter(|id| !is.contains_key(id))
        .collect();
    let hoisted = |step: &Step| step.unsupported.is_some();
    let reorders = rewrite.recovery_rule.to_known() == Some(RewriteRule::ReorderAfterCleanup);
    let mut moved = BTreeSet::new();
    for (id, (_, old)) in &was {
        let Some((_, new)) = is.get(id) else { continue };
        if old == new {
            continue;
        }
        let bare = |s: &Step| Step {
            after: Vec::new(),
            needs: Vec::new(),
            prepared_by: Vec::new(),
            ..s.clone()
        };
        let same = bare(old) == bare(new);
        let same = same
            || was
                .iter()
                .any(|(id, (_, s))| gone.contains(id) && is_carried(s) && beside(s, old, new));
        let bound = |s: &Step| s.bound_to().cloned().collect::<BTreeSet<String>>();
        let lists_gone = old
            .after
            .iter()
            .chain(&old.needs)
            .any(|p| gone.contains(p.as_str()));
        let fine = if reorders {
            // Only the cleanups get something that they are bound to come after.
            if bound(new) != bound(old) {
                moved.insert(*id);
            }
            same && old.needs == new.needs && bound(new).is_superset(&bound(old))
        } else if gone.is_empty() {
            hoisted(old)
                && new.after == old.after
                && new.needs == old.needs
                && new.prepared_by == old.prepared_by
        } else {
            same && (lists_gone || bare(old) != bare(new))
        };
        ensure(fine, || {
            format!("{}: `{id}` is touched", rewrite.recovery_rule)
        })?;
    }
    let order = |plan: &Plan| {
        let shared = |s: &&Step| {
            was.contains_key(s.id.as_str())
                && is.contains_key(s.id.as_str())
                && !moved.contains(s.id.as_str())
        };
        plan.steps
            .iter()
            .filter(shared)
            .map(|s| s.id.clone())
            .collect::<Vec<_>>()
    };
    ensure(order(before) == order(after), || {
        format!("{}: others have moved", rewrite.recovery_rule)
    })
}

/// Whether a step is unchanged, except for the directory and the variables that it gets from a `cd`
/// or an `export`.
fn beside(carried: &Step, old: &Step, new: &Step) -> bool {
    let plain = |s: &Step| Step {
        after: Vec::new(),
        needs: Vec::new(),
        prepared_by: Vec::new(),
        command: String::new(),
        dir: RepoPath::root(),
        env: Env::new(),
        ..s.clone()
    };
    carried.origin == old.origin
        && plain(old) == plain(new)
        && old.env.iter().all(|(n, v)| new.env.get(n) == Some(v))
}

/// Classifies a failure and checks that only the text of the command can lead to the code: no
/// output can.
///
/// # Errors
/// The first law that does not hold.
pub fn check_classification(
    plan: &Plan,
    index: usize,
    evidence: &Evidence,
    facts: &Facts,
) -> Result<FailureCode, String> {
    let Some(step) = plan.steps.get(index) else {
        return Ok(FailureCode::Failed);
    };
    let failure = classify(plan, StepIndex::new(index), evidence, facts);
    let names = |programs: &[&str]| {
        let name = |word: &Word| {
            String::from_utf8_lossy(word.as_bytes())
                .rsplit('/')
                .next()
                .map(str::to_owned)
        };
        let mut words = step.argv.iter().flatten().filter_map(name);
        words.any(|w| programs.iter().any(|p| w.starts_with(p)))
    };
    let silent = evidence.stdout.is_blank() && evidence.stderr.is_blank();
    let bound = match failure.code {
        FailureCode::MissingScript => names(&["npm", "pnpm", "yarn", "bun", "node"]),
        FailureCode::MissingMakeTarget => names(&["make", "gmake", "ninja", "samu", "just"]),
        FailureCode::NoTestFiles => names(&[
            "npm",
            "npx",
            "pnpm",
            "pnpx",
            "yarn",
            "bun",
            "node",
            "vitest",
            "jest",
            "mocha",
            "_mocha",
            "react-scripts",
            "ava",
            "playwright",
            "cypress",
            "ctest",
            "deno",
            "pytest",
            "py.test",
            "unittest",
            "go",
            "cargo",
        ]),
        FailureCode::UnsupportedFormat => step.unsupported.is_some(),
        FailureCode::SequenceIssue => silent && index > 0 && names(&["test", "["]),
        FailureCode::Timeout => evidence.timed_out || names(&["timeout", "gtimeout"]),
        FailureCode::RemoteUnavailable => evidence.is_unanswered(),
        FailureCode::PolicyViolation => false,
        FailureCode::SetupOrBootstrap | FailureCode::Failed => true,
    };
    ensure(bound, || {
        format!("{} cannot be {:?}", step.command, failure)
    })?;
    ensure(
        failure.step == step.id && !failure.evidence.contains(['\n', '\u{1b}']),
        || format!("{failure:?} is not fit to show"),
    )?;
    ensure(
        classify(plan, StepIndex::new(index), evidence, facts) == failure,
        || "classifying twice gives two answers".to_owned(),
    )?;
    Ok(failure.code)
}
