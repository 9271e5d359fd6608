//! Laws of rewriting a plan, one by one, each seen from outside: what went in, what came out.

use super::recover::situation;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use vplan::arbitrary::config;
use vplan::base::vocabulary::RewriteRule;
use vplan::base::word::Word;
use vplan::check::verb::of_words;
use vplan::plan::canonical::without_annotations;
use vplan::plan::digest::digest;
use vplan::plan::facts::Facts;
use vplan::plan::{Coverage, Origin, Plan, Rewrite, Step};
use vplan::recover::rewrite::measure;
use vplan::recover::{Failure, Recovery, preflight, recover};

/// One use of a rule.
struct Use {
    before: Plan,
    after: Plan,
    rewrite: Rewrite,
}

/// Repairs until nothing is repaired any more.
fn repaired(plan: &Plan, failures: &[Failure], facts: &Facts) -> Vec<Use> {
    let mut all: Vec<Use> = Vec::new();
    loop {
        let before = all.last().map_or(plan, |u| &u.after).clone();
        let Recovery::Rewritten { plan, rewrite } = recover(&before, failures, facts) else {
            return all;
        };
        all.push(Use {
            before,
            after: *plan,
            rewrite,
        });
        assert!(all.len() < 1_000, "without end");
    }
}

fn end<'a>(plan: &'a Plan, uses: &'a [Use]) -> &'a Plan {
    uses.last().map_or(plan, |u| &u.after)
}

/// Whether a step is nothing but `cd` and `export`, which the commands behind it get.
fn is_carried(step: &Step) -> bool {
    step.unsupported
        .as_ref()
        .is_some_and(|u| !u.chain.is_empty() && u.chain.iter().all(|link| link.is_carried()))
}

/// A step without what says where it stands among others.
fn alone(step: &Step) -> Step {
    Step {
        after: Vec::new(),
        needs: Vec::new(),
        prepared_by: Vec::new(),
        ..step.clone()
    }
}

fn by_id(plan: &Plan) -> BTreeMap<&str, &Step> {
    plan.steps.iter().map(|s| (s.id.as_str(), s)).collect()
}

/// What is asked of a step, whatever its command.
fn terms(step: &Step) -> String {
    // Parts of what a request brings are read by the table of tools, each by itself.
    let own = step.origin == Origin::Contract;
    let read = own.then_some((step.kind, step.min_tests, step.timeout_ms));
    format!(
        "{:?}",
        (
            (
                &step.exit,
                &step.skip_exit,
                step.retries,
                read,
                step.tier,
                step.severity,
                step.setup
            ),
            (
                step.always,
                step.optional,
                (&step.exclusive, &step.with),
                &step.format,
                step.max_errors,
                step.max_warnings
            ),
            (
                &step.report,
                &step.unchanged,
                &step.inputs,
                &step.pass_env,
                &step.tool_path,
                step.origin
            ),
        )
    )
}

proptest! {
    #![proptest_config(config(384))]

    #[test]
    fn rewrite_terminates((plan, failures, facts) in situation()) {
        for Use { before, after, .. } in repaired(&plan, &failures, &facts) {
            prop_assert!(measure(&after) < measure(&before));
        }
    }

    #[test]
    fn rewrite_idempotent((plan, failures, facts) in situation()) {
        let uses = repaired(&plan, &failures, &facts);
        prop_assert!(repaired(end(&plan, &uses), &failures, &facts).is_empty());
        let once = preflight(plan.clone(), &facts);
        prop_assert_eq!(preflight(once.clone(), &facts), once);
    }

    /// The set of failures decides: neither their order nor how often each is told.
    #[test]
    fn rewrite_confluent((plan, failures, facts) in situation(), by in any::<usize>()) {
        let mut other = failures.clone();
        if !other.is_empty() {
            let middle = by % other.len();
            other.rotate_left(middle);
            other.push(other[by % other.len()].clone());
        }
        let (one, two) = (repaired(&plan, &failures, &facts), repaired(&plan, &other, &facts));
        prop_assert_eq!(end(&plan, &one), end(&plan, &two));
        let rules = |uses: &[Use]| uses.iter().map(|u| u.rewrite.clone()).collect::<Vec<_>>();
        prop_assert_eq!(rules(&one), rules(&two));
    }

    #[test]
    fn rewrite_pure((plan, failures, facts) in situation()) {
        let here = recover(&plan, &failures, &facts);
        prop_assert_eq!(&recover(&plan, &failures, &facts), &here);
        let there = std::thread::spawn(move || recover(&plan, &failures, &facts)).join().unwrap();
        prop_assert_eq!(there, here);
    }

    /// Every word and every variable of a new step stands in a command that was there before.
    #[test]
    fn rewrite_only_listed_commands((plan, failures, facts) in situation()) {
        let plain = |text: &str| text.replace(['\'', '"', '\\'], "");
        for Use { before, after, .. } in repaired(&plan, &failures, &facts) {
            // What the grammar read of a chain counts as written.
            let chain = |s: &Step| serde_json::to_string(&s.unsupported).unwrap();
            let text = before.steps.iter().map(|s| plain(&(s.command.clone() + &chain(s)))).collect::<Vec<_>>().join("\n");
            let old = by_id(&before);
            for step in after.steps.iter().filter(|s| old.get(s.id.as_str()).is_none_or(|o| alone(o) != alone(s))) {
                for word in step.argv.iter().flatten() {
                    prop_assert!(text.contains(&plain(word.as_str().unwrap_or(""))), "{:?} of {}", word, step.command);
                }
                for name in step.env.keys() {
                    let known = before.steps.iter().any(|s| s.env.contains_key(name));
                    prop_assert!(known || text.contains(name.as_str()), "{}", name);
                }
            }
        }
    }

    /// Steps that did not fail are what they were, and keep their order; only cleanups move, which are not changed by it.
    #[test]
    fn rewrite_touches_only_failed_step((plan, failures, facts) in situation()) {
        let failed: BTreeSet<&str> = failures.iter().map(|f| f.step.as_str()).collect();
        for Use { before, after, rewrite } in repaired(&plan, &failures, &facts) {
            let (old, new) = (by_id(&before), by_id(&after));
            // What a `cd` or an `export` alone gives to the commands behind it is the business of other laws.
            let carried = before.steps.iter().position(|s| is_carried(s) && !new.contains_key(s.id.as_str()));
            let behind: BTreeSet<&str> = carried.map_or(&[][..], |at| &before.steps[at + 1..]).iter().map(|s| s.id.as_str()).collect();
            let plain = |s: &Step| Step { command: String::new(), dir: vplan::base::path::RepoPath::root(), env: Default::default(), ..alone(s) };
            for (id, step) in old.iter().filter(|(id, _)| !failed.contains(*id)) {
                let same = |n: &&Step| if behind.contains(id) { plain(n) == plain(step) } else { alone(n) == alone(step) };
                prop_assert!(new.get(id).is_some_and(same), "{} by {}", id, rewrite.recovery_rule);
            }
            if rewrite.recovery_rule.to_known() != Some(RewriteRule::ReorderAfterCleanup) {
                let others = |p: &Plan| p.steps.iter().filter(|s| !failed.contains(s.id.as_str()) && old.contains_key(s.id.as_str())).map(|s| s.id.clone()).collect::<Vec<_>>();
                prop_assert_eq!(others(&before), others(&after));
            }
        }
    }

    /// A step that was replaced is replaced by steps of which the same is asked, and the policy is the same.
    #[test]
    fn rewrite_preserves_constraints((plan, failures, facts) in situation()) {
        for Use { before, after, .. } in repaired(&plan, &failures, &facts) {
            prop_assert_eq!(&before.policy, &after.policy);
            prop_assert_eq!(&before.request, &after.request);
            let known: BTreeSet<String> = before.steps.iter().map(terms).collect();
            prop_assert!(after.steps.iter().all(|s| known.contains(&terms(s))));
            let old = by_id(&before);
            let made = after.steps.iter().filter(|s| s.origin != Origin::Contract && !old.contains_key(s.id.as_str()));
            for step in made {
                let words = step.argv.iter().flatten().map(Word::as_bytes);
                prop_assert_eq!(of_words(Some(step.kind), words).0, step.kind, "{}", step.id);
            }
            // Who waited for somebody still does, if both are there.
            for step in after.steps.iter().filter_map(|s| Some((s, old.get(s.id.as_str())?))) {
                let (now, then) = step;
                let there = |id: &&String| after.steps.iter().any(|s| s.id == **id);
                prop_assert!(then.needs.iter().filter(there).all(|n| now.needs.contains(n)), "{}", now.id);
            }
        }
    }

    #[test]
    fn rewrite_never_turns_blocking_into_optional((plan, failures, facts) in situation()) {
        for Use { before, after, rewrite } in repaired(&plan, &failures, &facts) {
            let gone = before.steps.iter().filter(|s| rewrite.dropped.contains(&s.id));
            for step in gone.clone() {
                let may = step.origin != Origin::Contract || step.optional || before.policy.recover_contract;
                prop_assert!(may, "{} was dropped", step.id);
            }
            prop_assert_eq!(rewrite.coverage == Coverage::Narrowed, gone.count() > 0, "{}", rewrite.recovery_rule);
            let count = |p: &Plan, of: fn(&Step) -> bool| p.steps.iter().filter(|s| of(s)).count();
            let works: fn(&Step) -> bool = |s| s.is_effective() && !is_carried(s);
            prop_assert!(count(&after, works) + rewrite.dropped.len() >= count(&before, works));
            // Nothing that may be dropped, or skips itself, came out of what may not and does not.
            let weak: BTreeSet<String> = before.steps.iter().filter(|s| s.optional || !s.skip_exit.is_empty()).map(terms).collect();
            prop_assert!(after.steps.iter().filter(|s| s.optional || !s.skip_exit.is_empty()).all(|s| weak.contains(&terms(s))));
        }
    }

    /// Each difference is told with its rule, its reason and the plan it was made from; doing it again gives the same.
    #[test]
    fn rewrite_provenance((plan, failures, facts) in situation()) {
        let uses = repaired(&plan, &failures, &facts);
        for Use { before, after, rewrite } in &uses {
            prop_assert_eq!(after.rewrites.len(), before.rewrites.len() + 1);
            prop_assert_eq!(&after.rewrites[..before.rewrites.len()], &before.rewrites[..]);
            let told = after.rewrites.last().unwrap();
            prop_assert_eq!(&told.recovery_rule, &rewrite.recovery_rule);
            prop_assert!(before.policy.recover.contains(&told.recovery_rule));
            prop_assert!(!told.reason.is_empty() && told.evidence.as_ref().is_some_and(|e| !e.is_empty()));
            // A bare list of commands has none.
            prop_assert_eq!(&told.previous_digest, &before.digest);
            let commands = |p: &Plan| p.steps.iter().map(|s| s.command.clone()).collect::<Vec<_>>();
            prop_assert_eq!((&told.previous_commands, &told.next_commands), (&commands(before), &commands(after)));
        }
        let again = repaired(&plan, &failures, &facts);
        prop_assert_eq!(end(&plan, &uses), end(&plan, &again));
    }

    #[test]
    fn rewrite_not_applicable_is_identity((plan, failures, facts) in situation()) {
        prop_assert_eq!(recover(&plan, &[], &facts), Recovery::NotApplicable);
        // Failures of steps that are not there are nobody's.
        let strangers: Vec<Failure> = failures.iter().map(|f| Failure { step: format!("no-{}", f.step), ..f.clone() }).collect();
        let rewritten = matches!(recover(&plan, &strangers, &facts), Recovery::Rewritten { .. });
        prop_assert!(!rewritten);
        let looked_at = preflight(plan.clone(), &Facts::default());
        prop_assert!(looked_at.rewrites.len() > plan.rewrites.len() || without_annotations(&looked_at) == without_annotations(&plan));
    }

    #[test]
    fn rewrite_hash_changes((plan, failures, facts) in situation()) {
        for Use { before, after, rewrite } in repaired(&plan, &failures, &facts) {
            prop_assert_ne!(digest(&before), digest(&after));
            prop_assert!(after.digest.as_ref().is_none_or(|d| *d == digest(&after)));
            prop_assert!(rewrite.next_digest.is_none() || rewrite.next_digest == after.digest);
            prop_assert_eq!(rewrite.previous_digest, before.digest);
        }
    }
}
