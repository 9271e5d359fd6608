//! Finds and repairs steps that are certain to fail, before anything runs.

use super::failure::{
    self, AskedKind, Failure, RequestedNames, requested_names, unsupported_words,
};
use super::repair::{Recovery, recover};
use super::rewrite;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::index::Index as _;
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::FailureCode;
use vplan_plan::digest::{self, Growing};
use vplan_plan::facts::{Certainty, Fact, FactAnswer, Facts, Question};
use vplan_plan::{Plan, Step, StepIndex};

/// The extensions from which make's built-in rules build a program, including chains (`make -p -f
/// /dev/null`): a goal without a rule is made if such a file exists.
const IMPLICIT: &[&str] = &[
    "", ".o", ".c", ".cc", ".C", ".cpp", ".p", ".f", ".F", ".m", ".r", ".s", ".S", ".mod", ".sh",
    ".y", ".l", ".w", ",v",
];

/// Repairs steps that are certain to fail, before anything runs: classifies from facts alone and
/// applies rules until none applies. The answers to [`preflight_questions`] must be among `facts`;
/// those that the repair depended on are recorded in the plan. A step whose repair is refused stays
/// unchanged.
pub fn preflight(plan: Plan, facts: &Facts) -> Plan {
    let mut consulted = BTreeSet::new();
    let repaired = apply(plan, facts, &mut consulted);
    recorded(repaired, facts, &consulted)
}

/// Applies the rules, and adds the questions whose answers they depended on, whether known or not.
fn apply(mut plan: Plan, facts: &Facts, consulted: &mut BTreeSet<Question>) -> Plan {
    // Each rewrite is recorded separately, with the digests before and after it. But a plan with a
    // thousand of them is neither copied nor hashed a thousand times.
    let is_sealed = plan.digest.is_some();
    let mut growing = None;
    let mut digest = plan.digest.take();
    let mut rewrites = std::mem::take(&mut plan.rewrites);
    loop {
        let failures = failures(&plan, facts, consulted);
        let failed: BTreeSet<&str> = failures.iter().map(|f| f.step.as_str()).collect();
        // Whether it may be dropped depends on the base revision.
        let steps = plan.steps.iter();
        let failed = steps.filter(|s| failed.contains(s.id.as_str()));
        consulted.extend(failed.flat_map(failure::questions));
        if !rewrite::has_room(&plan, &rewrites) {
            break;
        }
        let Recovery::Rewritten {
            plan: next,
            mut rewrite,
        } = recover(&plan, &failures, facts)
        else {
            break;
        };
        plan = *next;
        plan.rewrites.clear();
        rewrite.previous_digest = digest.take();
        if is_sealed {
            // Most plans need no rewrite.
            let growing = growing.get_or_insert_with(|| Growing::new(&plan, &rewrites));
            growing.push(&rewrite);
            digest = Some(growing.digest(&plan));
        }
        rewrites.push(rewrite);
    }
    Plan {
        digest,
        rewrites,
        ..plan
    }
}

/// Returns the failures that [`preflight()`] foresees, in plan order, before any repair.
pub fn foreseen(plan: &Plan, facts: &Facts) -> Vec<Failure> {
    failures(plan, facts, &mut BTreeSet::new())
}

fn failures(plan: &Plan, facts: &Facts, consulted: &mut BTreeSet<Question>) -> Vec<Failure> {
    let steps = plan.numbered_steps();
    let certain = steps.filter_map(|(i, step)| certain(plan, i, step, facts, consulted));
    certain.collect()
}

/// Records in the plan the facts that its repair depended on.
fn recorded(mut plan: Plan, facts: &Facts, consulted: &BTreeSet<Question>) -> Plan {
    let known = plan.facts.iter().map(|f| (&f.question, &f.answer));
    let known: BTreeMap<&Question, &FactAnswer> = known.collect();
    let answered = consulted.iter();
    let answered = answered.filter_map(|question| Some((question, facts.get(question)?)));
    let new = answered.filter(|(question, answer)| known.get(question) != Some(answer));
    let new = new.map(|(question, answer)| (question.clone(), answer.clone()));
    let new: Vec<(Question, FactAnswer)> = new.collect();
    if new.is_empty() {
        // Nothing that its digest covers has changed.
        return plan;
    }
    let all = plan.facts.into_iter().map(|f| (f.question, f.answer));
    let all: BTreeMap<Question, FactAnswer> = all.chain(new).collect();
    let facts = all.into_iter();
    plan.facts = facts
        .map(|(question, answer)| Fact { answer, question })
        .collect();
    match plan.digest {
        Some(_) => digest::seal(plan),
        None => plan,
    }
}

/// Returns the facts that [`preflight()`] depends on and that are not among `facts` yet. Call it
/// until it returns none: questions depend on the answers so far, and those of the parts that
/// conjunctions will be split into are among them. The declarations of a makefile or package.json
/// come first; only if a name is missing, the facts that decide about its step are added, because
/// they need git. So a plan without errors only costs reading a makefile or a package.json.
pub fn preflight_questions(plan: &Plan, facts: &Facts) -> BTreeSet<Question> {
    let of = |step: &Step| needed_of(step, facts);
    let mut needed: BTreeSet<Question> = plan.steps.iter().flat_map(of).collect();
    // Most plans have no conjunction, so nothing must be tried on a copy.
    if plan.steps.iter().any(|step| step.unsupported.is_some()) {
        // The copy is not returned, so it needs no digest.
        let copy = || Plan {
            digest: None,
            ..plan.clone()
        };
        let unknown = preflight(copy(), &Facts::default());
        needed.extend(unknown.steps.iter().flat_map(of));
        // A rewrite may also ask about a step that only exists until the next rewrite.
        apply(copy(), facts, &mut needed);
    }
    needed.retain(|question| facts.get(question).is_none());
    needed
}

fn needed_of(step: &Step, facts: &Facts) -> BTreeSet<Question> {
    let Some(asked) = requested_names(step).filter(is_certain) else {
        return BTreeSet::new();
    };
    let Some(now) = asked.now() else {
        return BTreeSet::new();
    };
    if facts.get(&now).is_none() {
        return BTreeSet::from([now]);
    }
    if asked.undeclared(facts).is_empty() {
        return BTreeSet::new();
    }
    let mut all = failure::questions(step);
    all.extend(asked.paths().into_iter().map(Question::Tracked));
    if asked.kind == AskedKind::MakeGoal {
        all.extend(asked.names.iter().flat_map(|goal| sources(&asked, goal)));
    }
    all
}

/// Whether a missing name must make the command fail.
fn is_certain(asked: &RequestedNames) -> bool {
    let plain = |goal: &String| !goal.is_empty() && !goal.contains(['.', '/', '%', '(', '$']);
    match asked.kind {
        AskedKind::Script => !asked.lenient,
        AskedKind::MakeGoal => asked.names.iter().all(plain),
        AskedKind::OtherGoal => false,
    }
}

fn sources(asked: &RequestedNames, goal: &str) -> Vec<Question> {
    let Some(dir) = &asked.dir else {
        return Vec::new();
    };
    let files = IMPLICIT.iter().map(|suffix| format!("{goal}{suffix}"));
    let paths = files.filter_map(|file| dir.join(file.as_bytes()).ok());
    paths.map(Question::Exists).collect()
}

/// Returns the failure that this step will have, if that is certain. Records which facts were read.
fn certain(
    plan: &Plan,
    index: StepIndex,
    step: &Step,
    facts: &Facts,
    consulted: &mut BTreeSet<Question>,
) -> Option<Failure> {
    let failure = |code, rule: &str, evidence: String| Failure {
        step: step.id.clone(),
        code,
        rule: rule.to_owned(),
        evidence,
    };
    if let Some(evidence) = unsupported_words(step) {
        let code = FailureCode::UnsupportedFormat;
        return Some(failure(code, "unsupported-command", evidence));
    }
    let asked = requested_names(step).filter(is_certain)?;
    consulted.insert(asked.now()?);
    let missing = asked.undeclared(facts);
    let name = missing.iter().find(|name| {
        asked.kind == AskedKind::Script || cannot_be_made(&asked, name, facts, consulted)
    })?;
    if index.position() > 0 && !stays_as_it_is(plan, &asked, facts, consulted) {
        return None;
    }
    let name = vplan_base::word::visible(name.as_bytes());
    Some(match asked.kind {
        AskedKind::Script => failure(
            FailureCode::MissingScript,
            "script-not-declared",
            format!("package.json declares no script `{name}`"),
        ),
        _ => failure(
            FailureCode::MissingMakeTarget,
            "goal-not-declared",
            format!("the makefile has no goal `{name}`"),
        ),
    })
}

fn cannot_be_made(
    asked: &RequestedNames,
    goal: &str,
    facts: &Facts,
    consulted: &mut BTreeSet<Question>,
) -> bool {
    // A rule for `lint.o` is also one for `lint`.
    let Some(now) = asked.now() else {
        return false;
    };
    let may_be = |name: String| facts.holds(&now, name.as_bytes()) != Certainty::No;
    let mut names = IMPLICIT.iter().map(|suffix| format!("{goal}{suffix}"));
    if names.any(may_be) {
        return false;
    }
    sources(asked, goal).into_iter().all(|question| {
        let absent = facts.get(&question) == Some(&FactAnswer::Word(Certainty::No));
        consulted.insert(question);
        absent
    })
}

/// Whether no earlier step may make the declaring file: git tracks it, and no step produces it.
fn stays_as_it_is(
    plan: &Plan,
    asked: &RequestedNames,
    facts: &Facts,
    consulted: &mut BTreeSet<Question>,
) -> bool {
    let produced = |path: &RepoPath| {
        let mut products = plan.steps.iter().flat_map(|s| &s.produces);
        products.any(|glob| glob.matches(path))
    };
    let paths = asked.paths();
    let tracked = paths.iter().any(|path| {
        let question = Question::Tracked(path.clone());
        let yes = facts.get(&question) == Some(&FactAnswer::Word(Certainty::Yes));
        consulted.insert(question);
        yes
    });
    tracked && !paths.iter().any(produced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::plan_of_lines;
    use vplan_base::word::Word;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text.as_bytes()).unwrap()
    }

    fn list(names: &[&str]) -> FactAnswer {
        FactAnswer::List(names.iter().map(|n| Word::from(*n)).collect())
    }

    #[test]
    fn what_is_certain_to_fail() {
        let mut facts = Facts::default();
        facts.add(Question::Scripts(RepoPath::root()), list(&["lint"]));
        facts.add(Question::MakeTargets(RepoPath::root()), list(&["all"]));
        for file in ["package.json", "Makefile"] {
            facts.add(
                Question::Tracked(path(file)),
                FactAnswer::Word(Certainty::Yes),
            );
        }
        for goal in ["y", "a.o"] {
            for suffix in IMPLICIT {
                facts.add(
                    Question::Exists(path(&format!("{goal}{suffix}"))),
                    FactAnswer::Word(Certainty::No),
                );
            }
        }
        let plan = plan_of_lines(&[
            "npm run x",
            "make y",
            "make | tee log",
            "npm run lint",
            "make all",
            // It may be a program.
            "pnpm x",
            // A rule for all objects may make it.
            "make a.o",
            // There may be a z.c.
            "make z",
        ]);
        let failure = |n: usize, code, rule: &str, evidence: &str| Failure {
            step: format!("command-{n}"),
            code,
            rule: rule.to_owned(),
            evidence: evidence.to_owned(),
        };
        let want = [
            failure(
                1,
                FailureCode::MissingScript,
                "script-not-declared",
                "package.json declares no script `x`",
            ),
            failure(
                2,
                FailureCode::MissingMakeTarget,
                "goal-not-declared",
                "the makefile has no goal `y`",
            ),
            failure(
                3,
                FailureCode::UnsupportedFormat,
                "unsupported-command",
                "`|` needs a shell",
            ),
        ];
        assert_eq!(crate::foreseen(&plan, &facts), want);
    }

    #[test]
    fn no_more_is_asked_than_decides() {
        let word = |question: &Question| {
            String::from_utf8(question.to_word().as_bytes().to_vec()).unwrap()
        };
        let none = Facts::default();
        let mut declared = Facts::default();
        declared.add(Question::Scripts(RepoPath::root()), list(&["x"]));
        let mut missing = Facts::default();
        missing.add(Question::Scripts(RepoPath::root()), list(&[]));
        for (line, facts, want) in [
            ("cargo test", &none, &[][..]),
            ("npm run x", &none, &["scripts:."]),
            ("npm run x", &declared, &[]),
            (
                "npm run x",
                &missing,
                &["base-scripts:.", "tracked:package.json"],
            ),
            ("cd web && npm run x", &none, &["scripts:web"]),
            (
                "make && cd a && make",
                &none,
                &["make-targets:.", "make-targets:a"],
            ),
        ] {
            let asked = crate::preflight_questions(&plan_of_lines(&[line]), facts);
            assert_eq!(asked.iter().map(word).collect::<Vec<_>>(), want, "{line}");
        }
    }

    /// Checks that an earlier step may write the declaring file, unless git tracks it and no step
    /// declares that it makes it.
    #[test]
    fn what_an_earlier_step_may_make() {
        for (lines, tracked, produces, want) in [
            (
                &["npm run x"][..],
                Certainty::Unknown,
                None,
                &["command-1"][..],
            ),
            (
                &["npm run lint", "npm run x"],
                Certainty::Unknown,
                None,
                &[],
            ),
            (&["npm run lint", "npm run x"], Certainty::No, None, &[]),
            (
                &["npm run lint", "npm run x"],
                Certainty::Yes,
                None,
                &["command-2"],
            ),
            (
                &["npm run lint", "npm run x"],
                Certainty::Yes,
                Some("dist/**"),
                &["command-2"],
            ),
            (
                &["npm run lint", "npm run x"],
                Certainty::Yes,
                Some("*.json"),
                &[],
            ),
        ] {
            let mut facts = Facts::default();
            facts.add(Question::Scripts(RepoPath::root()), list(&["lint"]));
            facts.add(
                Question::Tracked(path("package.json")),
                FactAnswer::Word(tracked),
            );
            let mut plan = plan_of_lines(lines);
            plan.steps[0].produces = produces
                .map(|glob| vplan_base::glob::Glob::parse(glob).unwrap())
                .into_iter()
                .collect();
            let failed: Vec<String> = foreseen(&plan, &facts)
                .into_iter()
                .map(|f| f.step)
                .collect();
            assert_eq!(failed, want, "{lines:?} {tracked:?} {produces:?}");
        }
    }

    /// Checks that a plan records the facts that its repair depended on, and that known facts are
    /// not requested twice.
    #[test]
    fn what_it_depended_on_is_recorded() {
        let mut facts = Facts::default();
        facts.add(Question::Scripts(RepoPath::root()), list(&["lint"]));
        facts.add(Question::BaseScripts(RepoPath::root()), list(&["lint"]));
        facts.add(Question::MakeTargets(RepoPath::root()), list(&["all"]));
        let known = |plan: &Plan| {
            plan.facts
                .iter()
                .map(|f| (f.question.clone(), f.answer.clone()))
                .collect::<Vec<_>>()
        };
        let scripts = (Question::Scripts(RepoPath::root()), list(&["lint"]));
        let base = (Question::BaseScripts(RepoPath::root()), list(&["lint"]));
        let sealed = digest::seal(plan_of_lines(&["npm run lint"]));
        let looked = preflight(sealed.clone(), &facts);
        assert_eq!(known(&looked), std::slice::from_ref(&scripts));
        assert_eq!(looked.digest, Some(digest::digest(&looked)));
        assert_ne!(looked.digest, sealed.digest);
        assert_eq!(preflight(looked.clone(), &facts), looked);
        let repaired = preflight(plan_of_lines(&["npm run x", "npm run lint"]), &facts);
        assert_eq!(
            (known(&repaired), repaired.digest),
            (vec![scripts.clone(), base], None)
        );
        // Facts that became known later count.
        let mut old = sealed;
        old.facts = vec![Fact {
            answer: FactAnswer::Word(Certainty::Unknown),
            question: scripts.0.clone(),
        }];
        assert_eq!(known(&preflight(old, &facts)), [scripts]);
    }
}
