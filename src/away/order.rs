//! One try of one step, in the form that is sent to another machine.

use serde::{Deserialize, Serialize};
use vplan_base::canon::{Digest, to_canonical};
use vplan_base::path::RepoPath;
use vplan_base::word::Word;
use vplan_plan::Step;
use vplan_reuse::key::{JUDGING, KeyPrints, Print};

/// The version of the shapes of an order and of its answer.
pub const VERSION: u32 = 1;
/// Size limit of an order, and of an answer, in bytes.
pub const MOST: u64 = 256 << 20;
/// Maximum number of files that are sent for a step, and limit of their total size, in bytes.
pub const MOST_FILES: usize = 100_000;
pub const MOST_BYTES: u64 = 2 << 30;
/// With more files, each try costs the executing machine seconds.
pub const MANY_FILES: usize = 5_000;

/// An order. Its digest is its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkOrder {
    /// The present files, with their state: all declared inputs of the step.
    pub files: Vec<(RepoPath, Print)>,
    /// The version of the rules that evaluate the evidence.
    pub judging: u32,
    /// The time limit of the try, in milliseconds, at least 1.
    pub limit_ms: u64,
    /// Limit of the output in the log, in bytes.
    pub max_output: u64,
    /// 128 random bits, as hexadecimal digits. They are different for every try, so no answer to
    /// another one counts.
    pub nonce: String,
    /// The digest of the plan.
    pub plan: Digest,
    /// The step, without annotations, and without fields that only the plan needs.
    pub step: Step,
    /// The variables that the step requests and that go with it, ascending. Never secrets, which
    /// stay here.
    pub variables: Vec<(Word, Word)>,
    /// The version of this shape: 1.
    pub version: u32,
    /// The version of vplan.
    pub vplan: String,
}

/// An encoded order, its digest, and its file sizes.
#[derive(Clone, Copy, Debug)]
pub struct SentOrder<'o> {
    pub order: &'o WorkOrder,
    pub text: &'o str,
    pub digest: &'o Digest,
    /// The sizes of its files, in its order.
    pub sizes: &'o [u64],
}

/// The parameters of a try, in addition to its step.
#[derive(Clone, Debug)]
pub struct OrderTerms {
    pub files: KeyPrints,
    pub limit_ms: u64,
    pub max_output: u64,
    /// Random bits.
    pub nonce: [u8; 16],
    pub plan: Digest,
    pub variables: Vec<(Word, Word)>,
}

/// The reason why bytes are not an order. For people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoOrder {
    /// They do not have the shape of an order.
    #[error("it is no order: {0}")]
    Damaged(String),
    /// It is one of another vplan.
    #[error("it is an order of vplan {0}")]
    Version(String),
}

/// What an order and an answer say of themselves in every version.
#[derive(Deserialize)]
pub(crate) struct Head {
    pub version: u32,
    pub vplan: String,
}

impl WorkOrder {
    /// Makes the order of a try.
    pub fn new(step: &Step, terms: OrderTerms) -> Self {
        Self {
            files: terms.files.into_iter().collect(),
            judging: JUDGING,
            limit_ms: terms.limit_ms.max(1),
            max_output: terms.max_output,
            nonce: data_encoding::HEXLOWER.encode(&terms.nonce),
            plan: terms.plan,
            step: step.alone(terms.limit_ms),
            variables: terms.variables,
            version: VERSION,
            vplan: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Returns its bytes: the canonical form.
    pub fn encode(&self) -> String {
        to_canonical(self)
    }

    /// Reads one. Never panics.
    ///
    /// # Errors
    /// Why it is not an order, or not one for this vplan.
    pub fn decode(bytes: &[u8]) -> Result<Self, NoOrder> {
        let damaged = |error: serde_json::Error| NoOrder::Damaged(error.to_string());
        let head: Head = serde_json::from_slice(bytes).map_err(damaged)?;
        if head.version != VERSION || head.vplan != env!("CARGO_PKG_VERSION") {
            return Err(NoOrder::Version(head.vplan));
        }
        let order: Self = serde_json::from_slice(bytes).map_err(damaged)?;
        if order.judging != JUDGING {
            return Err(NoOrder::Version(order.vplan));
        }
        let argv = order.step.argv.as_ref();
        let is_command = argv.is_some_and(|argv| !argv.is_empty());
        if !is_command || order.nonce.len() != 32 || order.limit_ms == 0 {
            let message = "its step is no command, or its nonce or its limit is none".to_owned();
            return Err(NoOrder::Damaged(message));
        }
        Ok(order)
    }

    /// Returns its name.
    pub fn digest(&self) -> Digest {
        Digest::of_value(self)
    }

    /// Whether the step may leave a file at this path: its `produces`, if it ended well, and its
    /// reports.
    pub fn may_leave(&self, path: &RepoPath, ended_well: bool) -> bool {
        may_leave(&self.step, path, ended_well)
    }
}

/// Whether a step may leave a file on another machine: its `produces`, if it ended well, and its
/// reports.
pub fn may_leave(step: &Step, path: &RepoPath, ended_well: bool) -> bool {
    let is_report = step.report.as_ref().is_some_and(|r| r.glob.matches(path));
    let hidden = [&b".git"[..], b".vplan"];
    (is_report || (ended_well && step.produces.iter().any(|glob| glob.matches(path))))
        && !path.segments().any(|part| hidden.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_arbitrary::made::step;
    use vplan_base::glob::Glob;
    use vplan_base::machine::{Machine, On};

    fn order() -> WorkOrder {
        let mut step = step("a");
        step.needs = vec!["b".to_owned()];
        step.retries = 3;
        step.describe = Some("words".to_owned());
        step.on = Some(On::Machine(Machine {
            name: "linux".to_owned(),
            properties: [("OSFamily".to_owned(), "linux".to_owned())].into(),
        }));
        let terms = OrderTerms {
            files: KeyPrints::new(),
            limit_ms: 0,
            max_output: 10,
            nonce: [7; 16],
            plan: Digest::hash(b"plan"),
            variables: Vec::new(),
        };
        WorkOrder::new(&step, terms)
    }

    #[test]
    fn an_order_reads_back_and_says_nothing_of_the_plan_around_its_step() {
        let order = order();
        assert_eq!(
            WorkOrder::decode(order.encode().as_bytes()),
            Ok(order.clone())
        );
        assert_eq!((order.step.retries, order.limit_ms), (0, 1));
        assert!(order.step.needs.is_empty() && order.step.describe.is_none());
        assert_eq!(order.step.machine().unwrap().name, "linux");
        assert_eq!(order.digest(), Digest::hash(order.encode().as_bytes()));
    }

    #[test]
    fn what_is_no_order_is_none() {
        let text = order().encode();
        for end in 0..text.len() {
            assert!(WorkOrder::decode(&text.as_bytes()[..end]).is_err(), "{end}");
        }
        let with = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
            change(&mut value);
            WorkOrder::decode(value.to_string().as_bytes()).unwrap_err()
        };
        let other = with(&|value| value["vplan"] = "0.0.9".into());
        assert_eq!(other, NoOrder::Version("0.0.9".to_owned()));
        assert!(matches!(
            with(&|value| value["judging"] = 99.into()),
            NoOrder::Version(_)
        ));
        for (key, wrong) in [
            ("nonce", "".into()),
            ("limitMs", 0.into()),
            ("more", 1.into()),
        ] {
            let wrong: serde_json::Value = wrong;
            let error = with(&|value| value[key] = wrong.clone());
            assert!(matches!(error, NoOrder::Damaged(_)), "{key}");
        }
        let error = with(&|value| {
            value["step"].as_object_mut().unwrap().remove("argv");
        });
        assert!(matches!(error, NoOrder::Damaged(_)));
    }

    #[test]
    fn a_step_leaves_what_it_declares() {
        let mut step = step("a");
        step.produces = vec![Glob::parse("out/**").unwrap()];
        let path = |text: &str| RepoPath::parse(text.as_bytes()).unwrap();
        assert!(may_leave(&step, &path("out/a"), true));
        assert!(!may_leave(&step, &path("out/a"), false));
        for other in ["src/a", "out/.git/config", "out/.vplan/x"] {
            assert!(!may_leave(&step, &path(other), true), "{other}");
        }
    }
}
