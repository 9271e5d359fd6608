//! One check for the same work: folding by key.

use crate::check::{CheckKey, Folded, ProposedCheck};
use crate::found::CommandOrigin;
use crate::manifests::USUAL;
use std::collections::{BTreeMap, BTreeSet};
use vplan_check::Kind;

/// The most feature sets of one work.
const MAX_FEATURES: usize = 3;

/// Folds checks of the same work; of several the most ordinary cell of a matrix stays, at the place of
/// the first. Returns those that stay, those folded, and for each check the place of the one that
/// stands for it.
pub fn fold(all: Vec<ProposedCheck>) -> (Vec<ProposedCheck>, Vec<Folded>, Vec<usize>) {
    let mut kept: Vec<ProposedCheck> = Vec::new();
    let mut folded = Vec::new();
    let mut stands = Vec::with_capacity(all.len());
    let mut by_key: BTreeMap<CheckKey, usize> = BTreeMap::new();
    // How many sets of features a work has, and the first of them.
    let mut features: BTreeMap<CheckKey, (usize, usize)> = BTreeMap::new();
    let mut tools: BTreeMap<String, usize> = BTreeMap::new();
    // Commands of recipes (`true`), and commands of their own.
    let mut commands: BTreeMap<(String, bool), usize> = BTreeMap::new();
    // A test needs the build of a job that tests, not the one of an analysis.
    let tests = all.iter().filter(|check| check.verb == Kind::Test);
    let jobs = tests.map(|check| check.found.job.clone());
    let tested: BTreeSet<Option<String>> = jobs.filter(Option::is_some).collect();
    let is_tested = |check: &ProposedCheck| tested.contains(&check.found.job);
    for check in all {
        let same = by_key.get(&check.key).copied();
        let is_hook = check.found.origin == CommandOrigin::Hook;
        let of_hook = check.tools.iter().filter(|_| is_hook);
        let hook = of_hook.filter_map(|tool| tools.get(tool).copied()).next();
        let plain = CheckKey {
            features: BTreeSet::new(),
            ..check.key.clone()
        };
        // What others add features to is a part of them, but not of what takes the usual ones away.
        let adds = !check.key.features.contains("--no-default-features");
        let is_plain = check.key == plain;
        let full = features.get(&plain).filter(|_| !is_plain);
        let full = full.and_then(|(count, at)| (*count >= MAX_FEATURES).then_some(*at));
        // A task and the very commands of its recipe.
        let own = [check.found.identities()];
        let is_single = check.parts.is_empty();
        let parts = if is_single { &own[..] } else { &check.parts };
        let place = |texts: &[String; 2]| {
            let mut texts = texts.iter();
            texts.find_map(|text| commands.get(&(text.clone(), is_single)).copied())
        };
        let places: Option<Vec<usize>> = parts.iter().map(place).collect();
        let recipe = places.and_then(|places| places.first().copied());
        let into = same.or(hook).or(full).or(recipe);
        let Some((at, first)) = into.and_then(|at| Some((at, kept.get_mut(at)?))) else {
            let at = kept.len();
            stands.push(at);
            by_key.insert(check.key.clone(), at);
            if adds {
                by_key.entry(plain.clone()).or_insert(at);
            }
            features.entry(plain).or_insert((0, at)).0 += usize::from(!is_plain);
            for tool in &check.tools {
                tools.entry(tool.clone()).or_insert(at);
            }
            let own = own.iter().map(|texts| (texts, false));
            for ([text, _], is_part) in check.parts.iter().map(|texts| (texts, true)).chain(own) {
                commands.entry((text.clone(), is_part)).or_insert(at);
            }
            kept.push(check);
            continue;
        };
        stands.push(at);
        let is_usual = check.found.job.as_deref() == Some(USUAL);
        let builds_tests = check.is_build && is_tested(&check) && !is_tested(first);
        let is_better = same.is_some()
            && (check.found.oddness < first.found.oddness || is_usual || builds_tests);
        let (place, text) = (check.found.place.clone(), check.found.words.join(" "));
        if is_better {
            *first = check;
        }
        folded.push((at, text, place));
    }
    let name = |at: usize| kept.get(at).map(|check: &ProposedCheck| check.name.clone());
    let folded = folded.into_iter().map(|(at, text, place)| {
        let name = name(at).unwrap_or_default();
        Folded { name, text, place }
    });
    let folded = folded.collect();
    (kept, folded, stands)
}

/// A task's name without versions: `py310-test`, `py3.14t-test` and `pypy-test` are `test`, `node-20` is `node`.
pub fn without_versions(name: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    for part in name.split(['-', '_', ' ']) {
        // Builds of Python without its lock end in `t`.
        let digits = part.strip_suffix('t').unwrap_or(part);
        let stem = digits.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let is_version = stem.len() < digits.len() && !stem.contains(['/', ':', '=', ',']);
        match (is_version, stem) {
            (_, "py" | "pypy") | (true, "" | "v") => {}
            (true, stem) => out.push(stem),
            (false, _) => out.push(part),
        }
    }
    out.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::check;
    use vplan_base::path::RepoPath;

    fn kept(all: Vec<ProposedCheck>) -> Vec<String> {
        let (kept, _, _) = fold(all);
        kept.iter()
            .map(|check| check.found.words.join(" "))
            .collect()
    }

    #[test]
    fn the_build_of_a_job_that_tests_stays() {
        let of = |text: &str, verb: Kind, job: &str| {
            let mut one = check(text);
            one.is_build = verb == Kind::Compile;
            one.found.job = Some(job.to_owned());
            (one.verb, one.key.verb) = (verb, verb);
            one.key.tool = text.split(' ').next().unwrap_or_default().to_owned();
            one
        };
        let all = vec![
            of("cmake -D TESTS=OFF", Kind::Compile, "analysis"),
            of("cmake -D TESTS=ON", Kind::Compile, "tests"),
            of("ctest", Kind::Test, "tests"),
        ];
        assert_eq!(kept(all), ["cmake -D TESTS=ON", "ctest"]);
    }

    #[test]
    fn versions_of_task_names() {
        for (name, want) in [
            ("py310", ""),
            ("test-3.14t", "test"),
            ("test-pypy3.11", "test"),
            ("py", ""),
            ("py312-django42", "django"),
            ("unit", "unit"),
            ("node-20", "node"),
            ("e2e", "e2e"),
            ("test", "test"),
            ("v2", ""),
        ] {
            assert_eq!(without_versions(name), want, "{name}");
        }
    }

    #[test]
    fn same_work_is_one_check() {
        let mut odd = check("cargo test --target x");
        odd.found.oddness = 3;
        odd.key.tool = "cargo test".to_owned();
        let mut plain = check("cargo test");
        plain.key = odd.key.clone();
        assert_eq!(kept(vec![odd, plain]), ["cargo test"]);
        let mut other = check("cargo test");
        other.key.dir = RepoPath::parse(b"web").unwrap();
        assert_eq!(kept(vec![check("cargo test"), other]).len(), 2);
    }

    #[test]
    fn a_hook_folds_into_what_ci_runs() {
        let ci = check("make lint");
        let mut hook = check("ruff check {changed}");
        hook.found.origin = CommandOrigin::Hook;
        let mut ci = ci;
        ci.tools = ["ruff check".to_owned()].into();
        hook.tools = ci.tools.clone();
        assert_eq!(kept(vec![ci, hook]), ["make lint"]);
    }

    #[test]
    fn a_task_and_the_commands_of_its_recipe_are_one() {
        let task = |name: &str, parts: &[&str]| {
            let mut one = check(name);
            let own = |part: &&str| check(part).found.identities();
            one.parts = parts.iter().map(own).collect();
            one
        };
        let typing = || task("tox -e typing", &["mypy", "pyright"]);
        let [mypy, pyright] = ["mypy", "pyright"].map(check);
        let mut strict = mypy.clone();
        strict.found.env.insert("STRICT".to_owned(), "1".to_owned());
        let others = vec![strict, pyright.clone(), typing()];
        assert_eq!(kept(others).len(), 3);
        let all = vec![mypy.clone(), pyright.clone(), typing()];
        assert_eq!(kept(all), ["mypy", "pyright"]);
        assert_eq!(
            kept(vec![typing(), mypy.clone(), pyright]),
            ["tox -e typing"]
        );
        assert_eq!(kept(vec![mypy, typing()]), ["mypy", "tox -e typing"]);
    }

    #[test]
    fn three_feature_sets_stay() {
        let all = ["a", "b", "c", "d", "e"].map(|feature| {
            let mut one = check(&format!("cargo test --features {feature}"));
            one.key.tool = "cargo test".to_owned();
            one.key.features = [feature.to_owned()].into();
            one
        });
        assert_eq!(kept(all.clone().into()).len(), 3);
        let mut plain = check("cargo test");
        plain.key.tool = "cargo test".to_owned();
        assert_eq!(kept([&all[..], &[plain.clone()]].concat()).len(), 3);
        let without = all.map(|mut one| {
            one.key.features.insert("--no-default-features".to_owned());
            one
        });
        let kept = kept([&without[..], &[plain]].concat());
        assert_eq!((kept.len(), &*kept[3]), (4, "cargo test"));
    }
}
