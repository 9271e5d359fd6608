//! Recognises a cleanup between the producer of a file and the check that the file exists.
//!
//! The statements of a contract (`produces`, `cleans`) decide if there are any; otherwise the
//! command itself.

use super::invocation::{Layer, LayerRole, ToolLayer, layers_of, lossy};
use super::scene::{Scene, quote};
use super::table::row_has;
use vplan_base::glob::Glob;
use vplan_base::index::Index as _;
use vplan_base::path::RepoPath;
use vplan_check::Kind;
use vplan_plan::{Origin, Plan, Step, StepIndex};

/// Folders that usually contain generated files.
const GENERATED: [&str; 8] = [
    "artifact",
    "artifacts",
    "build",
    "debug",
    "dist",
    "out",
    "release",
    "target",
];

/// The role of a step for a generated file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// It only removes the file.
    Cleanup,
    /// It may make the file. The default.
    Producer,
    /// It neither makes nor removes it.
    Bystander,
}

/// A check after a cleanup, as `reorder-after-cleanup` needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// The producer, unless it ran before the plan's first step.
    pub producer: Option<StepIndex>,
    /// The cleanups between it and its last check, ascending, at least one of them before the
    /// failed check.
    pub cleanups: Vec<StepIndex>,
    /// All presence checks from the first of these cleanups up to the next producer, ascending;
    /// the failed one is among them.
    pub checks: Vec<StepIndex>,
}

/// Returns the evidence of the row of the table, if it applies.
pub(super) fn decides(scene: &Scene<'_>) -> Option<String> {
    let silent = scene.evidence.stdout.is_blank() && scene.evidence.stderr.is_blank();
    if !silent || !scene.exited(1) {
        return None;
    }
    let found = misplaced(scene.plan, scene.index)?;
    let before = found.cleanups.iter().rev().find(|c| **c < scene.index)?;
    let before = &scene.plan.step(*before).command;
    Some(format!("`{}` stands before it", quote(before)))
}

/// Returns the steps involved, if the step at `index` is a presence check of a likely generated
/// path after a cleanup.
pub fn misplaced(plan: &Plan, index: StepIndex) -> Option<Misplaced> {
    let path = checked_path(plan.step(index))?;
    let steps = || plan.numbered_steps();
    let is = |step: &Step, wanted| part(step, &path) == wanted;
    let producer = steps().rfind(|(i, s)| *i < index && is(s, Part::Producer));
    let producer = producer.map(|(i, _)| i);
    let made_here = || plan.steps.iter().any(|s| is(s, Part::Producer));
    if producer.is_none() && (!is_bare(plan) || made_here()) {
        return None;
    }
    let between = |i: StepIndex| producer.is_none_or(|producer| producer <= i) && i < index;
    let (first, _) = steps().find(|(i, s)| between(*i) && is(s, Part::Cleanup))?;
    let end = steps().find(|(i, s)| index <= *i && is(s, Part::Producer));
    let end = end.map_or(plan.steps.len(), |(i, _)| i.position());
    let since_first = |end| steps().take(end).skip(first.position());
    let checks = since_first(end);
    let checks = checks.filter_map(|(i, step)| Some((i, checked_path(step)?)));
    let checks: Vec<(StepIndex, RepoPath)> = checks.collect();
    let (last, _) = checks.last()?;
    let removes_for_a_check = |i: StepIndex, step: &Step| {
        let mut later = checks.iter().filter(|(check, _)| *check > i);
        later.any(|(_, path)| part(step, path) == Part::Cleanup)
    };
    let cleanups = since_first(last.position()).filter(|(i, s)| removes_for_a_check(*i, s));
    Some(Misplaced {
        producer,
        cleanups: cleanups.map(|(i, _)| i).collect(),
        checks: checks.iter().map(|(i, _)| *i).collect(),
    })
}

/// Counts the pairs of a cleanup and a later check for a file that it removes.
pub fn pairs(plan: &Plan) -> usize {
    let steps = plan.steps.iter().enumerate();
    let checks = steps.filter_map(|(i, step)| Some((i, checked_path(step)?)));
    let cleanups = |(i, path): (usize, RepoPath)| {
        let before = plan.steps.iter().take(i);
        before.filter(|s| part(s, &path) == Part::Cleanup).count()
    };
    checks.map(cleanups).sum()
}

/// Whether a plan is only a list of explicit commands: a producer may have run before it.
pub(crate) fn is_bare(plan: &Plan) -> bool {
    plan.contract.is_none() && plan.steps.iter().all(|s| s.origin == Origin::Explicit)
}

/// Returns the path of `test -f PATH`, `test -s PATH`, `[ -f PATH ]`, if it is likely generated.
pub(crate) fn checked_path(step: &Step) -> Option<RepoPath> {
    let words: Vec<&[u8]> = step.argv.iter().flatten().map(|w| w.as_bytes()).collect();
    let [program, operands @ ..] = words.as_slice() else {
        return None;
    };
    let operands = match program.rsplit(|b| *b == b'/').next()? {
        b"test" => operands,
        b"[" => operands.strip_suffix(&[b"]".as_slice()])?,
        _ => return None,
    };
    let [b"-f" | b"-s", path] = operands else {
        return None;
    };
    let path = step.dir.join(path).ok()?;
    likely_generated(&path).then_some(path)
}

fn likely_generated(path: &RepoPath) -> bool {
    path.segments().any(|segment| {
        let mut names = GENERATED.iter();
        names.any(|name| segment.eq_ignore_ascii_case(name.as_bytes()))
    })
}

fn matches(globs: &[Glob], path: &RepoPath) -> bool {
    globs.iter().any(|glob| glob.matches(path))
}

fn part(step: &Step, path: &RepoPath) -> Part {
    if checked_path(step).is_some() {
        // It only checks, even if the contract declares otherwise.
        return Part::Bystander;
    }
    match (step.produces.as_slice(), step.cleans.as_slice()) {
        ([], []) => by_command(step, path),
        (made, _) if matches(made, path) => Part::Producer,
        (_, gone) if matches(gone, path) => Part::Cleanup,
        _ => Part::Bystander,
    }
}

fn by_command(step: &Step, path: &RepoPath) -> Part {
    match step.kind {
        Kind::Compile => return Part::Producer,
        Kind::Lint | Kind::Test | Kind::File | Kind::Judge => return Part::Bystander,
        Kind::Run | Kind::Shell => {}
    }
    let words: Vec<String> = step.argv.iter().flatten().map(lossy).collect();
    let layers = layers_of(step);
    // The innermost tool does the work.
    let mut asking = layers.iter();
    let asking = asking.find(|l| matches!(l.role, LayerRole::Script | LayerRole::Goals));
    let Some(layer) = asking.or(layers.last()) else {
        return Part::Producer;
    };
    match (layer.role, layer.tool) {
        (LayerRole::Goals, _) => goals(layer),
        (LayerRole::Script, _) => {
            let name = layer.asked.first();
            name.map_or(Part::Producer, |name| by_name(name, "script-bystanders"))
        }
        (LayerRole::Subcommand, ToolLayer::Cargo) => {
            match layer.asked.first().map(String::as_str) {
                Some("clean") => Part::Cleanup,
                Some("fmt" | "deny" | "audit") => Part::Bystander,
                _ => Part::Producer,
            }
        }
        (LayerRole::Subcommand, ToolLayer::Go) => match layer.asked.first().map(String::as_str) {
            Some("vet" | "test" | "fmt") => Part::Bystander,
            _ => Part::Producer,
        },
        (
            _,
            ToolLayer::Vitest
            | ToolLayer::Jest
            | ToolLayer::Mocha
            | ToolLayer::Ava
            | ToolLayer::Pytest
            | ToolLayer::Unittest
            | ToolLayer::Playwright
            | ToolLayer::Cypress
            | ToolLayer::NodeTest
            | ToolLayer::BunTest
            | ToolLayer::DenoTest
            | ToolLayer::Ctest,
        ) => Part::Bystander,
        _ => by_program(step, layer, &words, path),
    }
}

fn is_clean_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("clean") || name.contains("clobber")
}

fn goals(layer: &Layer) -> Part {
    match layer.asked.as_slice() {
        [] => Part::Producer,
        // `make clean all` makes the removed files again.
        goals if goals.iter().all(|g| is_clean_name(g)) => Part::Cleanup,
        goals
            if goals
                .iter()
                .all(|g| by_name(g, "goal-bystanders") == Part::Bystander) =>
        {
            Part::Bystander
        }
        _ => Part::Producer,
    }
}

fn by_name(name: &str, bystanders: &str) -> Part {
    if is_clean_name(name) {
        return Part::Cleanup;
    }
    let lower = name.to_ascii_lowercase();
    let mut parts = lower.split([':', '-', '_', '.', '/']);
    if parts.clone().any(|part| row_has("making", part))
        || !parts.any(|part| row_has(bystanders, part))
    {
        Part::Producer
    } else {
        Part::Bystander
    }
}

fn by_program(step: &Step, layer: &Layer, words: &[String], path: &RepoPath) -> Part {
    // After wrappers: everything from the program on.
    let is_it = |word: &String| word.rsplit('/').next() == Some(layer.program.as_str());
    let at = words.iter().position(is_it).map_or(words.len(), |i| i + 1);
    let rest = words.get(at..).unwrap_or_default();
    match layer.program.as_str() {
        "rm" if removes(step, rest, path) => Part::Cleanup,
        "rm" => Part::Bystander,
        "git" if rest.first().is_some_and(|w| w == "clean") => Part::Cleanup,
        "git" => Part::Bystander,
        "tsc" if rest.iter().any(|w| w == "--noEmit") => Part::Bystander,
        program if row_has("looking", program) => Part::Bystander,
        _ => Part::Producer,
    }
}

/// Whether it is `rm -r` of a likely generated path that contains the checked one.
fn removes(step: &Step, rest: &[String], path: &RepoPath) -> bool {
    let recursive = |w: &String| {
        w == "--recursive" || (w.starts_with('-') && !w.starts_with("--") && w.contains(['r', 'R']))
    };
    let operands = rest
        .iter()
        .filter(|w| !w.starts_with('-'))
        .filter_map(|w| step.dir.join(w.as_bytes()).ok());
    let gone = |removed: RepoPath| {
        likely_generated(&removed) && (removed == *path || path.below(&removed).is_some())
    };
    rest.iter().any(recursive) && operands.into_iter().any(gone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_plan::bare::plan_of_words;

    #[test]
    fn parts() {
        let path = RepoPath::parse(b"build/x").unwrap();
        for (command, want) in [
            ("make", Part::Producer),
            ("make clean", Part::Cleanup),
            ("make -C web distclean", Part::Cleanup),
            ("make clean all", Part::Producer),
            ("make lint", Part::Bystander),
            ("make test", Part::Producer),
            ("npm run clean", Part::Cleanup),
            ("pnpm clobber", Part::Cleanup),
            ("npm run build", Part::Producer),
            ("npm run test:build", Part::Producer),
            ("pnpm lint", Part::Bystander),
            ("npm test", Part::Bystander),
            ("pnpm gen", Part::Producer),
            ("cargo clean", Part::Cleanup),
            ("cargo build", Part::Producer),
            ("cargo fmt --check", Part::Bystander),
            ("rm -rf build", Part::Cleanup),
            ("rm -fr ./build/", Part::Cleanup),
            ("rm -rf dist", Part::Bystander),
            ("rm -rf src", Part::Bystander),
            ("rm build/x", Part::Bystander),
            ("git clean -fdx", Part::Cleanup),
            ("git status", Part::Bystander),
            ("env A=1 rm -r build", Part::Cleanup),
            ("CI=1", Part::Producer),
            ("./generate.sh", Part::Producer),
            ("npx eslint .", Part::Bystander),
            ("npx vitest run", Part::Bystander),
            ("echo hello", Part::Bystander),
            ("ninja clean", Part::Cleanup),
            ("go build ./...", Part::Producer),
            ("go vet ./...", Part::Bystander),
            ("go test ./...", Part::Bystander),
            ("tsc -p .", Part::Producer),
            ("npx tsc --noEmit -p .", Part::Bystander),
            ("rm -f build/x", Part::Bystander),
            ("rm --force build", Part::Bystander),
            ("rm --recursive build", Part::Cleanup),
            ("rm src-r build", Part::Bystander),
        ] {
            assert_eq!(
                part(&plan_of_words(&[command]).steps[0], &path),
                want,
                "{command}"
            );
        }
    }

    #[test]
    fn what_belongs_together() {
        for (commands, index, want) in [
            (
                &["make", "make clean", "test -f build/a"][..],
                2,
                Some((Some(0), vec![1], vec![2])),
            ),
            (&["make clean", "make", "test -f build/a"], 2, None),
            (
                &["make clean", "test -f build/a"],
                1,
                Some((None, vec![0], vec![1])),
            ),
            (&["make clean", "test -f build/a", "make"], 1, None),
            (&["make", "make clean", "make", "test -f build/a"], 3, None),
            (
                &["make", "make clean", "make lint", "[ -s build/a ]"],
                3,
                Some((Some(0), vec![1], vec![3])),
            ),
            (
                &[
                    "make",
                    "make clean",
                    "test -f build/a",
                    "npm run clean",
                    "test -f out/b",
                ],
                2,
                Some((Some(0), vec![1, 3], vec![2, 4])),
            ),
            (
                &[
                    "make",
                    "make clean",
                    "test -f build/a",
                    "make",
                    "test -f build/b",
                ],
                2,
                Some((Some(0), vec![1], vec![2])),
            ),
            (
                &[
                    "make",
                    "rm -r build",
                    "rm -r out",
                    "test -f build/a",
                    "test -f out/b",
                ],
                3,
                Some((Some(0), vec![1, 2], vec![3, 4])),
            ),
            (&["make", "make clean", "test -d build"], 2, None),
            (&["make", "make clean", "test -f src/a"], 2, None),
            (&["make", "make clean", "test -f ../build/a"], 2, None),
            (&["make", "make clean", "test ! -f build/a"], 2, None),
            (&["make", "test -f build/a"], 1, None),
        ] {
            let positions = |list: Vec<StepIndex>| -> Vec<usize> {
                list.into_iter().map(StepIndex::position).collect()
            };
            let got = misplaced(&plan_of_words(commands), StepIndex::new(index)).map(|m| {
                (
                    m.producer.map(StepIndex::position),
                    positions(m.cleanups),
                    positions(m.checks),
                )
            });
            assert_eq!(got, want, "{commands:?}");
        }
    }
    fn globs(texts: &[&str]) -> Vec<Glob> {
        texts.iter().map(|t| Glob::parse(t).unwrap()).collect()
    }

    /// Checks that the contract's declarations about a step count, and its command does not.
    #[test]
    fn declared_parts() {
        let path = RepoPath::parse(b"build/x").unwrap();
        for (command, produces, cleans, want) in [
            ("make clean", &["build/**"][..], &[][..], Part::Producer),
            ("make", &[], &["build/**"], Part::Cleanup),
            ("make", &["dist/**"], &[], Part::Bystander),
            ("make clean", &[], &["dist/**"], Part::Bystander),
            ("make", &["dist/**"], &["build/**"], Part::Cleanup),
            ("make", &["build/**"], &["build/**"], Part::Producer),
            // It only reads, even if the contract declares otherwise.
            ("test -f build/x", &[], &["build/**"], Part::Bystander),
        ] {
            let mut step = plan_of_words(&[command]).steps.remove(0);
            (step.produces, step.cleans) = (globs(produces), globs(cleans));
            assert_eq!(
                part(&step, &path),
                want,
                "{command} {produces:?} {cleans:?}"
            );
        }
    }

    /// Checks that a producer may have run before the first step of a list, but not before that of
    /// a plan with a contract.
    #[test]
    fn without_a_producer_only_in_a_bare_list() {
        let list = || plan_of_words(&["make clean", "test -f build/a"]);
        let second = StepIndex::new(1);
        assert!(misplaced(&list(), second).is_some());
        let mut planned = list();
        planned.steps[0].origin = Origin::Contract;
        assert_eq!(misplaced(&planned, second), None);
        let contract = vplan_plan::ContractRef {
            digest: vplan_base::canon::Digest::hash(b""),
            imports: Vec::new(),
            path: "contracts/verify.vplan".to_owned(),
        };
        assert_eq!(
            misplaced(
                &Plan {
                    contract: Some(contract),
                    ..list()
                },
                second
            ),
            None
        );
    }
}
