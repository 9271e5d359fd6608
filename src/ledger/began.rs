//! Records the change and the gate at the start of a subject, and finds what was lost since.

pub use super::entry::Began;
use super::entry::{Exhausted, Propagate, SubjectEntry, Terms};

impl Terms {
    /// Returns the terms that apply to a subject: these, or those at its start if these are weaker.
    #[must_use]
    pub fn applicable(&self, entry: &SubjectEntry) -> Terms {
        let began = entry.began.as_ref().map(|b| b.gate);
        began
            .filter(|gate| !self.weaker_than(gate).is_empty())
            .unwrap_or(*self)
    }

    /// Lists the terms that are weaker than in `before`, a line each: `confirmations 3 -> 1`.
    #[must_use]
    pub fn weaker_than(&self, before: &Terms) -> Vec<String> {
        let number = |name: &str, old: u32, new: u32, weaker: bool| {
            weaker.then(|| format!("{name} {old} -> {new}"))
        };
        let exhausted = |e: Exhausted| match e {
            Exhausted::Fail => (0, "fail"),
            Exhausted::Escalate => (1, "escalate"),
            Exhausted::Allow => (2, "allow"),
        };
        let propagate = |p: Propagate| match p {
            Propagate::Reset => (0, "reset"),
            Propagate::Downgrade => (1, "downgrade"),
            Propagate::Off => (2, "off"),
        };
        let word = |name: &str, (old, was): (u8, &str), (new, is): (u8, &str)| {
            (new > old).then(|| format!("{name} {was} -> {is}"))
        };
        let (a, b) = (before, self);
        [
            number(
                "confirmations",
                a.confirmations,
                b.confirmations,
                b.confirmations < a.confirmations,
            ),
            number("retries", a.retries, b.retries, b.retries > a.retries),
            number(
                "same-failure",
                a.same_failure,
                b.same_failure,
                b.same_failure > a.same_failure,
            ),
            word(
                "on-exhausted",
                exhausted(a.exhausted),
                exhausted(b.exhausted),
            ),
            word("propagate", propagate(a.propagate), propagate(b.propagate)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_contract::Gate;

    #[test]
    fn weaker_is_less_in_any_line() {
        let plain = Terms::of(None);
        let of = |gate: Gate| Terms::of(Some(&gate));
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
