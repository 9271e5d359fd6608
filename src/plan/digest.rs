//! Computes the digest that identifies a plan.

use super::canonical::{Form, value};
use super::{Plan, Rewrite};
use std::io::{BufWriter, Write};
use vplan_base::canon::{Digest, Hasher, to_canonical, write_canonical};

/// Computes the digest of a plan's canonical form.
pub fn digest(plan: &Plan) -> Digest {
    // Writing into a hasher cannot fail, and plans have string keys only.
    let mut writer = BufWriter::with_capacity(1 << 16, Hasher::default());
    let _ = write_to(plan, &mut writer);
    writer
        .into_inner()
        .map(Hasher::finish)
        .unwrap_or_else(|_| Digest::of_value(&value(plan)))
}

/// Sets the plan's digest.
pub fn seal(mut plan: Plan) -> Plan {
    plan.digest = Some(digest(&plan));
    plan
}

/// Writes the canonical form: RFC 8785, without annotations, without a final newline.
///
/// # Errors
/// Errors of the writer.
pub(crate) fn write_to(plan: &Plan, writer: impl Write) -> std::io::Result<()> {
    write_canonical(&Form::new(plan), writer)
}

/// Computes digests of a plan that is rewritten repeatedly: only its steps change, and its rewrites
/// grow. Everything before the steps is hashed once, so that a thousand rewrites cost as much as
/// the lists of commands that they hold.
#[derive(Clone, Debug)]
pub struct Growing {
    /// The state after everything up to the last rewrite.
    seen: Hasher,
    empty: bool,
}

impl Growing {
    /// Starts with a plan and these rewrites; its own list of them is not read.
    pub fn new(plan: &Plan, rewrites: &[Rewrite]) -> Self {
        let head = to_canonical(&Form::new(plan).head);
        let mut growing = Self {
            seen: Hasher::default(),
            empty: true,
        };
        growing.see(head.strip_suffix('}').unwrap_or_default());
        growing.see(",\"rewrites\":[");
        rewrites.iter().for_each(|rewrite| growing.push(rewrite));
        growing
    }

    /// Adds a rewrite.
    pub fn push(&mut self, rewrite: &Rewrite) {
        if !std::mem::replace(&mut self.empty, false) {
            self.see(",");
        }
        self.see(&to_canonical(rewrite));
    }

    /// Returns the digest of the plan with all these rewrites and its present steps; its own list
    /// of rewrites is not read.
    pub fn digest(&self, plan: &Plan) -> Digest {
        let tail = to_canonical(&Form::new(plan).tail);
        let mut all = self.clone();
        all.see("],");
        all.see(tail.strip_prefix('{').unwrap_or_default());
        all.seen.finish()
    }

    fn see(&mut self, text: &str) {
        // Writing into a hasher cannot fail.
        let _ = self.seen.write_all(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bare::plan_of_words;
    use crate::canonical::without_annotations;
    use crate::request::{ChangedFrom, ChangedIn};
    use crate::{Omitted, Reason, Tier};
    use vplan_base::jobs::Jobs;

    fn reason(line: usize) -> Reason {
        Reason {
            condition: "always".into(),
            file: Some(format!("f{line}")),
            line: Some(line),
            ..Reason::default()
        }
    }

    /// Returns a plan with every possible annotation.
    fn annotated(line: usize) -> Plan {
        let mut plan = plan_of_words(&["a", "b"]);
        for step in &mut plan.steps {
            step.describe = Some(format!("d{line}"));
            step.each = std::collections::BTreeMap::from([("row".to_owned(), format!("e{line}"))]);
            step.fix = Some(format!("x{line}"));
            step.source = Some(crate::StepSource {
                column: line,
                file: format!("f{line}"),
                line,
            });
            step.reasons = vec![reason(line)];
        }
        plan.omitted = vec![Omitted {
            each: std::collections::BTreeMap::from([("row".to_owned(), format!("e{line}"))]),
            file: Some(format!("f{line}")),
            id: "o".into(),
            line: Some(line),
            narrows: false,
            reason: "r".into(),
            reasons: vec![reason(line)],
        }];
        plan.tiers = vec![Tier {
            reasons: vec!["trigger t".into()],
            tier: 1,
            triggers: vec![reason(line)],
        }];
        plan.request.changed_from = Some(ChangedFrom::Base(format!("b{line}")));
        plan.policy.jobs = Jobs::Number(u32::try_from(line).unwrap() + 1);
        plan.policy.fail_fast = line == 1;
        plan
    }

    #[test]
    fn where_something_stands_is_no_part_of_what_it_is() {
        let (one, other) = (annotated(1), annotated(2));
        assert_ne!(one, other);
        assert_eq!(digest(&one), digest(&other));
        assert_eq!(without_annotations(&one), without_annotations(&other));
        assert_eq!(digest(&one), digest(&without_annotations(&one)));
        assert_eq!(digest(&one), Digest::of_value(&value(&one)));
        let places = serde_json::to_string(&value(&one)).unwrap();
        for word in [
            "file",
            "line",
            "describe",
            "each",
            "fix",
            "source",
            "digest",
            "changedFrom",
            "jobs",
            "failFast",
        ] {
            assert!(!places.contains(&format!("\"{word}\"")), "{word}");
        }
        let mut written = Vec::new();
        write_to(&one, &mut written).unwrap();
        assert_eq!(Digest::hash(&written), digest(&one));
        assert_eq!(seal(one.clone()).digest, Some(digest(&one)));
    }

    #[test]
    fn a_growing_plan_has_the_digest_of_one_that_has_grown() {
        let mut plan = annotated(1);
        let mut growing = Growing::new(&plan, &plan.rewrites);
        for number in 0..4 {
            assert_eq!(growing.digest(&plan), digest(&plan), "{number}");
            assert_eq!(
                Growing::new(&plan, &plan.rewrites).digest(&plan),
                digest(&plan),
                "{number}"
            );
            let rewrite = Rewrite {
                coverage: crate::Coverage::Full,
                dropped: vec![number.to_string()],
                evidence: None,
                next_commands: Vec::new(),
                next_digest: None,
                previous_commands: vec!["\"".into()],
                previous_digest: Some(digest(&plan)),
                reason: "r".into(),
                recovery_rule: "x".into(),
            };
            growing.push(&rewrite);
            plan.rewrites.push(rewrite);
            plan.steps[0].command.push('x');
        }
    }

    #[test]
    fn what_is_no_annotation_changes_it() {
        let plan = annotated(1);
        type Change = (&'static str, fn(&mut Plan));
        let changes: [Change; 9] = [
            ("a step", |p| p.steps[0].command.push('x')),
            ("the order of steps", |p| p.steps.reverse()),
            ("a step's reason", |p| {
                p.steps[0].reasons[0].condition.push('x')
            }),
            ("what is left out", |p| p.omitted[0].id.push('x')),
            ("whether that narrows", |p| p.omitted[0].narrows = true),
            ("a trigger", |p| p.tiers[0].triggers[0].condition.push('x')),
            ("the role", |p| p.request.role.push('x')),
            ("the base", |p| p.request.base = Some("0".repeat(40))),
            ("where git looked", |p| {
                p.request.changed_in = Some(ChangedIn::Index)
            }),
        ];
        for (name, change) in changes {
            let mut other = plan.clone();
            change(&mut other);
            assert_ne!(digest(&other), digest(&plan), "{name}");
        }
    }

    /// Fields that version 1 covers are still covered in its plans.
    #[test]
    fn version_1_has_the_names_and_the_schedule() {
        let mut plan = annotated(1);
        plan.version = 1;
        type Change = (&'static str, fn(&mut Plan));
        let changes: [Change; 4] = [
            ("how the base was found", |p| {
                p.request.changed_from = Some(ChangedFrom::WorkTree)
            }),
            ("jobs", |p| p.policy.jobs = Jobs::Auto),
            ("fail-fast", |p| p.policy.fail_fast = false),
            ("the version", |p| p.version = 2),
        ];
        for (name, change) in changes {
            let mut other = plan.clone();
            change(&mut other);
            assert_ne!(digest(&other), digest(&plan), "{name}");
        }
        assert_eq!(digest(&plan), Digest::of_value(&value(&plan)));
    }
}
