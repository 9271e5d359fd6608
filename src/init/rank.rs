//! Which checks are kept where there are too many, and in which order they run.

use crate::check::{CheckKey, ProposedCheck};
use crate::found::Place;
use crate::words::listed;
use std::collections::{BTreeMap, BTreeSet};
use vplan_check::Kind;

/// The most checks of a proposal.
pub const BUDGET: usize = 14;

/// Gives each check the nearest earlier build of its job. The commands are in the order of their
/// sources, each with its job, its place, and the check into which it was folded.
pub fn order(checks: &mut [ProposedCheck], commands: &[((Option<String>, Place), usize)]) {
    for (at, ((job, place), own)) in commands.iter().enumerate() {
        if job.is_none() || checks.get(*own).is_none_or(builds_itself) {
            continue;
        }
        let earlier = commands.get(..at).unwrap_or_default().iter().rev();
        // The same line, and those below it, were run by another cell of a matrix, unless it has both.
        let mut in_line = true;
        let mut is_before = |other: &Place| {
            in_line &= other == place;
            in_line || other.file != place.file || other.line < place.line
        };
        let build = earlier
            .filter(|((other, line), check)| is_before(line) && other == job && check != own)
            .find(|(_, check)| checks.get(*check).is_some_and(|check| check.is_build));
        if let Some((_, build)) = build
            && !with_needs(checks, [*build]).contains(own)
            && let Some(check) = checks.get_mut(*own)
            && check.needs.is_empty()
        {
            check.needs.push(*build);
        }
    }
}

/// These checks, and those that they need, directly or not.
pub fn with_needs(
    checks: &[ProposedCheck],
    of: impl IntoIterator<Item = usize>,
) -> BTreeSet<usize> {
    let mut open: Vec<usize> = of.into_iter().collect();
    let mut all = BTreeSet::new();
    while let Some(at) = open.pop() {
        if all.insert(at) {
            open.extend(checks.get(at).iter().flat_map(|check| &check.needs));
        }
    }
    all
}

/// Whether a tool builds what it verifies by itself, and linters and type checkers, which read only
/// sources.
fn builds_itself(check: &ProposedCheck) -> bool {
    const SELF: &str = "cargo go gradle gradlew mix mvn mvnw dotnet swift";
    let program = check.key.tool.split(' ').next().unwrap_or_default();
    listed(SELF, program) || program != "cmake" && matches!(check.verb, Kind::Lint | Kind::Run)
}

/// The places of the checks that are kept, in their order: by turns of verbs, documentation and plain
/// runs last. What one needs comes with it.
pub fn choose(checks: &[ProposedCheck], budget: usize) -> BTreeSet<usize> {
    let mut kept = BTreeSet::new();
    for at in ranked(checks) {
        let wanted = with_needs(checks, [at]);
        if kept.union(&wanted).count() <= budget {
            kept.extend(wanted);
        }
    }
    kept
}

fn ranked(checks: &[ProposedCheck]) -> Vec<usize> {
    // How many earlier checks have the same tool and the same first word of a task's name: the first of
    // each comes first.
    let mut families = BTreeMap::new();
    let mut rarity = |key: &CheckKey| {
        let first = key.tool.split(['-', ':', '_']).next().map(str::to_owned);
        let seen = families.entry(first).or_insert(0_usize);
        *seen += 1;
        *seen
    };
    let order = checks.iter().enumerate().map(|(at, check)| {
        let depth = check.found.dir.segments().count();
        ((check.found.origin, rarity(&check.key), depth), at, check)
    });
    let mut order: Vec<_> = order.collect();
    order.sort_by_key(|(rank, ..)| *rank);
    let mut turns: BTreeMap<Kind, usize> = BTreeMap::new();
    let ranked = order.into_iter().map(|(_, at, check)| {
        let is_last = check.is_docs || check.verb == Kind::Run;
        let turn = turns.entry(check.verb).or_default();
        *turn += usize::from(!is_last);
        let lanes = [Kind::Test, Kind::Lint, Kind::Compile];
        let lane = lanes.iter().position(|verb| *verb == check.verb);
        let turn = if is_last { 0 } else { *turn };
        ((is_last, turn, lane.unwrap_or(lanes.len())), at)
    });
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::check;

    fn verb_check(verb: Kind, text: &str) -> ProposedCheck {
        let mut one = check(text);
        one.verb = verb;
        one
    }

    #[test]
    fn verbs_take_turns() {
        let mut checks: Vec<ProposedCheck> = (0..20)
            .map(|n| verb_check(Kind::Lint, &format!("lint{n}")))
            .collect();
        checks.push(verb_check(Kind::Run, "plain"));
        checks.push(verb_check(Kind::Test, "suite"));
        let kept = choose(&checks, 3);
        let kept: Vec<String> = kept
            .iter()
            .map(|at| checks[*at].found.words.join(" "))
            .collect();
        assert_eq!(kept, ["lint0", "lint1", "suite"]);
    }

    #[test]
    fn a_check_needs_the_nearest_build_of_its_job() {
        let build = |text: &str| {
            let mut one = verb_check(Kind::Compile, text);
            one.is_build = true;
            one
        };
        let mut checks = vec![
            build("cmake -B build"),
            build("cmake --build build"),
            verb_check(Kind::Test, "ctest"),
            verb_check(Kind::Lint, "lint"),
        ];
        order(&mut checks, &[0, 1, 2, 3].map(|at| at_line("a", at, at)));
        let needs: Vec<&[usize]> = checks.iter().map(|check| &*check.needs).collect();
        assert_eq!(needs, [&[][..], &[0], &[1], &[]]);
        assert_eq!(
            choose(&checks, 3),
            [0, 1, 2].into(),
            "what it needs comes with it"
        );
    }

    #[test]
    fn builds_of_two_jobs_make_no_circle() {
        let build = |text: &str| {
            let mut one = verb_check(Kind::Compile, text);
            one.is_build = true;
            one
        };
        let mut checks = vec![build("make a"), build("make b")];
        let jobs = [("x", 0, 0), ("x", 1, 1), ("y", 2, 1), ("y", 3, 0)];
        order(
            &mut checks,
            &jobs.map(|(job, line, at)| at_line(job, line, at)),
        );
        assert!(checks[0].needs.is_empty() && checks[1].needs == [0]);
    }

    #[test]
    fn a_check_needs_no_build_of_another_cell() {
        let mut checks = ["make build-a", "make test-a", "make build-b", "make test-b"].map(check);
        for (check, verb) in checks.iter_mut().zip([Kind::Compile, Kind::Test].repeat(2)) {
            (check.verb, check.is_build) = (verb, verb == Kind::Compile);
        }
        let lines = [(3, 0), (4, 1), (3, 2), (4, 3)];
        order(&mut checks, &lines.map(|(line, at)| at_line("x", line, at)));
        let needs: Vec<&[usize]> = checks.iter().map(|check| &*check.needs).collect();
        assert_eq!(needs, [&[][..], &[0], &[], &[2]]);
    }

    fn at_line(job: &str, line: usize, at: usize) -> ((Option<String>, Place), usize) {
        let line = u32::try_from(line).unwrap_or_default();
        let place = Place {
            line,
            ..Place::default()
        };
        ((Some(job.to_owned()), place), at)
    }
}
