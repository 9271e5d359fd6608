//! Lists the commands of a request that recovery dropped.

use super::{Coverage, Plan};
use std::collections::BTreeSet;
use vplan_check::verb::split;

/// Returns the commands of the request that are neither in the plan nor replaced by others.
pub fn lost_commands(plan: &Plan) -> Vec<&str> {
    let explicit = plan.request.explicit.iter();
    let mut requested: BTreeSet<&str> = explicit.map(|text| split(text).1).collect();
    let mut lost = BTreeSet::new();
    for rewrite in &plan.rewrites {
        let (before, after) = (&rewrite.previous_commands, &rewrite.next_commands);
        let is_gone = |c: &&String| requested.contains(c.as_str()) && !after.contains(c);
        let gone: Vec<&str> = before.iter().filter(is_gone).map(String::as_str).collect();
        if rewrite.coverage == Coverage::Narrowed {
            lost.extend(gone);
        } else if !gone.is_empty() {
            // What takes the place of a command is part of the request, too.
            let new = after.iter().filter(|c| !before.contains(c));
            requested.extend(new.map(String::as_str));
        }
    }
    lost.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::plan_of_words;

    #[test]
    fn a_dropped_command_is_lost_and_a_replaced_one_is_not() {
        use Coverage::{Full, Narrowed};
        let lost = |requested: &[&str], rewrites: &[(Coverage, &[&str], &[&str])]| {
            let texts = |list: &[&str]| list.iter().map(|c| (*c).to_owned()).collect();
            let mut plan = plan_of_words(requested);
            let rewrites = rewrites
                .iter()
                .map(|(coverage, before, after)| crate::Rewrite {
                    coverage: *coverage,
                    dropped: Vec::new(),
                    evidence: None,
                    next_commands: texts(after),
                    next_digest: None,
                    previous_commands: texts(before),
                    previous_digest: None,
                    reason: String::new(),
                    recovery_rule: vplan_base::vocabulary::RewriteRule::ALL[0].into(),
                });
            plan.rewrites = rewrites.collect();
            plan.request.explicit = texts(requested);
            let lost = lost_commands(&plan);
            lost.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(lost(&["a"], &[]), [""; 0]);
        assert_eq!(lost(&["a"], &[(Narrowed, &["a", "own"], &["own"])]), ["a"]);
        assert_eq!(
            lost(&["a"], &[(Narrowed, &["a", "own"], &["a"])]),
            [""; 0],
            "a check of the contract"
        );
        let split: (Coverage, &[&str], &[&str]) = (Full, &["a && b"], &["a", "b"]);
        assert_eq!(lost(&["a && b"], &[split]), [""; 0]);
        assert_eq!(
            lost(&["a && b"], &[split, (Narrowed, &["a", "b"], &["a"])]),
            ["b"]
        );
    }
}
