//! Records the change and the gate at the start of a subject, and finds what was lost since.

pub use super::entry::Began;
use super::entry::{Exhausted, Propagate, SubjectEntry, Terms};

impl Terms {
    /// Returns the terms that apply to a subject: these, or those at its start if these are weaker.
    pub fn applicable(&self, entry: &SubjectEntry) -> Terms {
        let began = entry.began.as_ref().map(|b| b.gate);
        began
            .filter(|gate| !self.weaker_than(gate).is_empty())
            .unwrap_or(*self)
    }

    /// Lists the terms that are weaker than in `before`, a line each: `confirmations 3 -> 1`.
    pub fn weaker_than(&self, before: &Terms) -> Vec<String> {
        let ranks = |terms: &Terms| {
            let exhausted = match terms.exhausted {
                Exhausted::Fail => (0, "fail"),
                Exhausted::Escalate => (1, "escalate"),
                Exhausted::Allow => (2, "allow"),
            };
            let propagate = match terms.propagate {
                Propagate::Reset => (0, "reset"),
                Propagate::Downgrade => (1, "downgrade"),
                Propagate::Off => (2, "off"),
            };
            let (confirmations, retries) = (terms.confirmations, terms.retries);
            let same = terms.same_failure;
            [
                (
                    "confirmations",
                    u32::MAX - confirmations,
                    confirmations.to_string(),
                ),
                ("retries", retries, retries.to_string()),
                ("same-failure", same, same.to_string()),
                ("on-exhausted", exhausted.0, exhausted.1.to_owned()),
                ("propagate", propagate.0, propagate.1.to_owned()),
            ]
        };
        let pairs = ranks(before).into_iter().zip(ranks(self));
        pairs
            .filter(|((_, before, _), (_, now, _))| now > before)
            .map(|((name, _, was), (_, _, is))| format!("{name} {was} -> {is}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_contract::Gate;

    #[test]
    fn weaker_is_less_in_any_line() {
        let plain = Terms::from_gate(None);
        let of = |gate: Gate| Terms::from_gate(Some(&gate));
        let word = |w: &str| Some(w.to_owned());
        assert!(plain.weaker_than(&plain).is_empty());
        for (strong, weak, line) in [
            (
                of(Gate {
                    confirmations: Some(3),
                    ..Gate::default()
                }),
                plain,
                "confirmations 3 -> 1",
            ),
            (
                plain,
                of(Gate {
                    retries: Some(9),
                    ..Gate::default()
                }),
                "retries 3 -> 9",
            ),
            (
                plain,
                of(Gate {
                    same_failure: Some(4),
                    ..Gate::default()
                }),
                "same-failure 3 -> 4",
            ),
            (
                plain,
                of(Gate {
                    on_exhausted: word("allow"),
                    ..Gate::default()
                }),
                "on-exhausted fail -> allow",
            ),
            (
                plain,
                of(Gate {
                    propagate: word("off"),
                    ..Gate::default()
                }),
                "propagate downgrade -> off",
            ),
        ] {
            assert_eq!(weak.weaker_than(&strong), [line]);
            assert!(strong.weaker_than(&weak).is_empty(), "{line}");
        }
        // A stronger line does not compensate for a weaker one.
        let mixed = of(Gate {
            confirmations: Some(5),
            retries: Some(9),
            ..Gate::default()
        });
        assert_eq!(mixed.weaker_than(&plain), ["retries 3 -> 9"]);
    }
}
