//! Divides a plan into shares that take equally long, by how long its steps took before.
//!
//! A division is a value: it names its plan, says how many shares there are and what each step
//! weighs, and has a digest. Plan and division together determine all shares.

use super::dealing::{Dealing, MOST};
use crate::validity::Once;
use crate::{Plan, Step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use vplan_base::canon::Digest;
use vplan_base::vocabulary::Exit;
use vplan_base::word::{count, visible};

/// The version of divisions that this program writes and reads.
const VERSION: u32 = 1;
/// Maximum weight of a step, in milliseconds: 31 years.
pub(crate) const HEAVIEST: u64 = 1_000_000_000_000;
/// What every step weighs where none of them ran before.
pub const UNKNOWN: u64 = 1_000;

/// A file that is not a division.
pub(crate) const NOT_ONE: &str = "vplan::division::document";
/// A division of another version.
pub const OTHER_VERSION: &str = "vplan::division::version";
/// A division that was changed after it was made.
pub const TAMPERED: &str = "vplan::division::tampered";
/// A division of another plan, or into another number of shares.
pub const OTHER: &str = "vplan::division::other";

/// A division of a plan into shares that take equally long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Division {
    /// The number of shares.
    pub count: u32,
    /// The digest of the division: of its canonical form without this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The digest of the plan.
    pub plan_digest: Digest,
    /// Always 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
    /// How long each step of the plan is taken to last, in milliseconds, by id.
    pub weights: BTreeMap<String, u64>,
}

/// The reason why a division cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DivisionError {
    /// A stable code.
    pub code: &'static str,
    /// The exit code of the error.
    pub exit: Exit,
    /// The next step, for people.
    pub help: &'static str,
    /// One line for people, which goes on after the file's name.
    pub message: String,
}

impl DivisionError {
    fn new(code: &'static str, message: String) -> Self {
        let (exit, help) = match code {
            TAMPERED => (Exit::Drift, "make it again with `vplan plan --divide N`"),
            OTHER => (
                Exit::Drift,
                "a division belongs to one plan and one number of shards: make it again with \
                 `vplan plan --plan PLAN --divide N`",
            ),
            OTHER_VERSION => (
                Exit::Usage,
                "it was written by another vplan: use one vplan for all shards",
            ),
            _ => (
                Exit::Usage,
                "`vplan plan --divide N -o FILE` writes divisions",
            ),
        };
        Self {
            code,
            exit,
            help,
            message,
        }
    }
}

impl Division {
    /// Divides a plan into so many shares. `known`: how long steps took, by id, in milliseconds; all
    /// others are taken to last as long as half of the known ones do not exceed.
    pub fn new(plan: &Plan, shares: u32, known: &BTreeMap<String, u64>) -> Self {
        let of = |step: &Step| known.get(&step.id).map(|ms| (*ms).clamp(1, HEAVIEST));
        let mut all: Vec<u64> = plan.steps.iter().filter_map(of).collect();
        all.sort_unstable();
        let middle = all.len().div_ceil(2).saturating_sub(1);
        let median = all.get(middle).copied().unwrap_or(UNKNOWN);
        let weights = plan.steps.iter().map(|step| {
            let weight = of(step).unwrap_or(median);
            (step.id.clone(), weight)
        });
        let division = Self {
            count: shares.clamp(1, MOST),
            digest: None,
            plan_digest: digest_of(plan),
            version: VERSION,
            weights: weights.collect(),
        };
        division.sealed()
    }

    /// Returns the division into the fewest shares that are not expected to take longer than so
    /// long. Where there is none, more shares than steps are of no use: it has as many as asked for,
    /// or as there is something to deal.
    pub fn within(self, plan: &Plan, target_ms: u64) -> Self {
        let most = usize::try_from(self.count).unwrap_or(usize::MAX);
        let useful = Dealing::new(plan).dealt.len().clamp(1, most);
        let with = |shares: usize| {
            let count = u32::try_from(shares).unwrap_or(MOST);
            let other = Self {
                count,
                ..self.clone()
            };
            other.sealed()
        };
        let total = self.weights.values().copied();
        let total = total.fold(0, u64::saturating_add);
        // A step that is too long alone is too long in every division.
        let heaviest = self.weights.values().max().copied().unwrap_or(0);
        if heaviest > target_ms {
            return with(useful);
        }
        let least = total.div_ceil(target_ms.max(1));
        let least = usize::try_from(least)
            .unwrap_or(usize::MAX)
            .clamp(1, useful);
        let fits = |division: &Self| division.expected(plan).iter().all(|ms| *ms <= target_ms);
        let found = (least..useful).map(with).find(fits);
        found.unwrap_or_else(|| with(useful))
    }

    /// Returns how long each share is expected to take, its steps one after another, in
    /// milliseconds.
    pub fn expected(&self, plan: &Plan) -> Vec<u64> {
        let all = self.shares(plan);
        let time = |ids: &Vec<&str>| {
            let weights = ids.iter().map(|id| self.weight(id));
            weights.fold(0, u64::saturating_add)
        };
        all.iter().map(time).collect()
    }

    /// Returns the ids of the steps of each share, in plan order.
    pub fn shares<'p>(&self, plan: &'p Plan) -> Vec<Vec<&'p str>> {
        let shares = Dealing::new(plan).by_weight(self.count, |id| self.weight(id));
        let ids = |steps: &std::collections::BTreeSet<_>| {
            let ids = steps.iter().map(|i| plan.step(*i).id.as_str());
            ids.collect()
        };
        shares.iter().map(ids).collect()
    }

    /// Returns the words of `--shard` for all shares: `1/3`, `2/3`, `3/3`.
    pub fn words(&self) -> Vec<String> {
        let all = 1..=self.count;
        all.map(|index| format!("{index}/{}", self.count)).collect()
    }

    /// Returns what a step weighs.
    pub(super) fn weight(&self, id: &str) -> u64 {
        self.weights.get(id).copied().unwrap_or(UNKNOWN)
    }

    fn sealed(self) -> Self {
        let digest = Some(self.own_digest());
        Self { digest, ..self }
    }

    fn own_digest(&self) -> Digest {
        let plain = Self {
            digest: None,
            ..self.clone()
        };
        Digest::of_value(&plain)
    }

    /// Returns the text of its file.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Reads a division.
    ///
    /// # Errors
    /// The text is not a division, has another version, or does not have the digest that it says.
    pub fn decode(text: &str) -> Result<Self, DivisionError> {
        #[derive(Deserialize)]
        struct Versioned {
            version: serde_json::Number,
        }
        let fault = |error: &serde_json::Error| {
            let what = match error.is_eof() {
                true => "ends in the middle",
                false => "is no division",
            };
            let why = visible(error.to_string());
            DivisionError::new(NOT_ONE, format!("{what}: {why}"))
        };
        let Versioned { version } = serde_json::from_str(text).map_err(|e| fault(&e))?;
        if version.as_u64() != Some(VERSION.into()) {
            let message = format!("has version {version}, known is {VERSION}");
            return Err(DivisionError::new(OTHER_VERSION, message));
        }
        // A name that occurs twice would show one value to a reader and another one to vplan.
        serde_json::from_str::<Once>(text).map_err(|e| fault(&e))?;
        let division: Self = serde_json::from_str(text).map_err(|e| fault(&e))?;
        division.check_itself()?;
        Ok(division)
    }

    /// Checks that it is a division, whatever it is one of.
    fn check_itself(&self) -> Result<(), DivisionError> {
        let wrong = |message: String| Err(DivisionError::new(NOT_ONE, message));
        if self.count == 0 || self.count > MOST {
            return wrong(format!("has {} shares, not 1 to {MOST}", self.count));
        }
        let is_wrong = |weight: u64| weight == 0 || weight > HEAVIEST;
        if let Some((id, weight)) = self.weights.iter().find(|(_, w)| is_wrong(**w)) {
            let id = visible(id);
            return wrong(format!(
                "says that `{id}` takes {weight} ms, which is not 1 to {HEAVIEST}"
            ));
        }
        let actual = self.own_digest();
        match &self.digest {
            Some(said) if *said == actual => Ok(()),
            Some(said) => {
                let message = format!("says that its digest is {said}, but it is {actual}");
                Err(DivisionError::new(TAMPERED, message))
            }
            None => wrong("has no digest".to_owned()),
        }
    }

    /// Checks that it is a division of this plan, where so many shares are wanted into so many.
    ///
    /// # Errors
    /// It is one of another plan, into another number of shares, or of other steps.
    pub fn check(&self, plan: &Plan, shares: Option<u32>) -> Result<(), DivisionError> {
        self.check_itself()?;
        let other = |message: String| Err(DivisionError::new(OTHER, message));
        let own = digest_of(plan);
        if self.plan_digest != own {
            let said = &self.plan_digest;
            return other(format!("divides the plan {said}, not {own}"));
        }
        if let Some(shares) = shares.filter(|shares| *shares != self.count) {
            let own = count(self.count, "share");
            return other(format!("divides the plan into {own}, not {shares}"));
        }
        let positions = plan.positions();
        if let Some(id) = (self.weights.keys()).find(|id| !positions.contains_key(id.as_str())) {
            let id = visible(id);
            return other(format!("weighs `{id}`, which is no step of the plan"));
        }
        let unweighed = |step: &&Step| !self.weights.contains_key(&step.id);
        match plan.steps.iter().find(unweighed) {
            Some(step) => {
                let id = visible(&step.id);
                other(format!("does not say how long the step `{id}` takes"))
            }
            None => Ok(()),
        }
    }
}

fn digest_of(plan: &Plan) -> Digest {
    let made = || crate::digest::digest(plan);
    plan.digest.clone().unwrap_or_else(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::made::{plan, step};
    use crate::shard::{Shard, share};
    use std::collections::BTreeSet;

    fn known_times(times: &[(&str, u64)]) -> BTreeMap<String, u64> {
        let own = times.iter().map(|(id, ms)| ((*id).to_owned(), *ms));
        own.collect()
    }

    fn shares(plan: &Plan, count: u32, times: &[(&str, u64)]) -> Vec<String> {
        let division = Division::new(plan, count, &known_times(times));
        let shares = division.shares(plan);
        for (index, ids) in (1..).zip(&shares) {
            let made = share(plan, Shard { count, index }, Some(&division));
            let made: Vec<&str> = made.plan.steps.iter().map(|s| s.id.as_str()).collect();
            assert_eq!(&made, ids, "the share that runs");
        }
        shares.iter().map(|ids| ids.join(" ")).collect()
    }

    #[test]
    fn the_longest_goes_first_to_who_has_least() {
        let needing = |id: &str, needs: &[&str]| Step {
            after: needs.iter().map(|n| (*n).to_owned()).collect(),
            needs: needs.iter().map(|n| (*n).to_owned()).collect(),
            ..step(id)
        };
        let setup = Step {
            setup: true,
            ..step("setup")
        };
        let clean = Step {
            always: true,
            after: vec!["b".to_owned()],
            ..step("clean")
        };
        for (name, steps, times, count, want) in [
            (
                "by weight",
                vec![step("a"), step("b"), step("c"), step("d")],
                vec![("a", 1), ("b", 6), ("c", 3), ("d", 2)],
                2,
                vec!["b", "a c d"],
            ),
            (
                "ties by plan order",
                vec![step("a"), step("b"), step("c")],
                vec![("a", 5), ("b", 5), ("c", 5)],
                2,
                vec!["a c", "b"],
            ),
            (
                "nothing known",
                vec![step("a"), step("b"), step("c")],
                vec![],
                4,
                vec!["a", "b", "c", ""],
            ),
            (
                "what takes no time is spread too",
                vec![step("a"), step("b"), step("c")],
                vec![("a", 0), ("b", 0), ("c", 0)],
                3,
                vec!["a", "b", "c"],
            ),
            (
                "unknown ones are the median",
                vec![step("a"), step("b"), step("c"), step("new")],
                vec![("a", 10), ("b", 4), ("c", 3)],
                2,
                // a 10; b 4 and new 4, which is the median; c 3
                vec!["a", "b c new"],
            ),
            (
                "a chain weighs what it brings",
                vec![step("a"), needing("b", &["a"]), step("c"), step("d")],
                vec![("a", 5), ("b", 1), ("c", 4), ("d", 3)],
                2,
                vec!["a b", "c d"],
            ),
            (
                "a need that is there already weighs nothing",
                vec![
                    step("a"),
                    needing("b", &["a"]),
                    needing("c", &["a"]),
                    step("d"),
                ],
                vec![("a", 5), ("b", 1), ("c", 1), ("d", 7)],
                2,
                vec!["d", "a b c"],
            ),
            (
                "setup and cleanups go along",
                vec![setup.clone(), step("a"), step("b"), clean],
                vec![("setup", 9), ("a", 1), ("b", 1), ("clean", 4)],
                3,
                vec!["setup b clean", "setup a", ""],
            ),
            ("setup alone", vec![setup], vec![], 2, vec!["setup", ""]),
        ] {
            assert_eq!(shares(&plan(steps), count, &times), want, "{name}");
        }
    }

    #[test]
    fn fewer_shares_where_that_is_fast_enough() {
        let plan = plan(["a", "b", "c", "d"].map(step).into());
        let known = known_times(&[("a", 40), ("b", 30), ("c", 20), ("d", 10)]);
        for (most, target, want) in [
            (4, 100, 1),
            (4, 50, 2),
            (4, 49, 3),
            (4, 40, 3),
            (2, 40, 2),
            (4, 39, 4),
            (9, 1, 4),
            (1, 1, 1),
        ] {
            let division = Division::new(&plan, most, &known).within(&plan, target);
            assert_eq!(division.count, want, "{most} {target}");
            assert_eq!(division.check(&plan, Some(want)), Ok(()));
            let text = division.to_json();
            assert_eq!(Division::decode(&text), Ok(division));
        }
    }

    #[test]
    fn what_is_no_division_of_a_plan() {
        let plan = plan(vec![step("a"), step("b")]);
        let division = Division::new(&plan, 2, &BTreeMap::new());
        let text = division.to_json();
        for end in 0..text.trim_end().len() {
            let torn = Division::decode(&text[..end]).unwrap_err();
            assert_eq!((torn.code, torn.exit), (NOT_ONE, Exit::Usage), "{end}");
            assert!(torn.message.starts_with("ends in the middle"), "{end}");
        }
        for (old, new, code, says) in [
            ("\"b\": 1000", "\"b\": 1001", TAMPERED, "its digest is"),
            ("\"count\": 2", "\"count\": 3", TAMPERED, "its digest is"),
            ("\"count\": 2", "\"count\": 0", NOT_ONE, "0 shares"),
            ("\"count\": 2", "\"count\": 10001", NOT_ONE, "10001 shares"),
            ("\"b\": 1000", "\"b\": 0", NOT_ONE, "takes 0 ms"),
            ("\"b\": 1000", "\"b\": 1e3", NOT_ONE, "is no division"),
            ("\"b\": 1000", "\"b\": -1", NOT_ONE, "is no division"),
            ("\"b\": 1000", "\"a\": 1000", NOT_ONE, "`a` is here twice"),
            (
                "\"version\": 1",
                "\"version\": 2",
                OTHER_VERSION,
                "version 2",
            ),
            ("\"count\"", "\"counts\"", NOT_ONE, "unknown field"),
        ] {
            assert!(text.contains(old), "{old}");
            let error = Division::decode(&text.replacen(old, new, 1)).unwrap_err();
            assert_eq!(error.code, code, "{new}: {error}");
            assert!(error.message.contains(says), "{new}: {error}");
        }
        let sealed = |weights: &[(&str, u64)]| {
            let weights = known_times(weights);
            let other = Division {
                weights,
                ..division.clone()
            };
            other.sealed()
        };
        for (division, shares, says) in [
            (sealed(&[("a", 1), ("b", 1), ("c", 1)]), 2, "weighs `c`"),
            (sealed(&[("a", 1)]), 2, "the step `b`"),
            (division.clone(), 3, "into 2 shares, not 3"),
        ] {
            let error = division.check(&plan, Some(shares)).unwrap_err();
            assert_eq!((error.code, error.exit), (OTHER, Exit::Drift));
            assert!(error.message.contains(says), "{error}");
        }
        let other = crate::arbitrary::made::plan(vec![step("a"), step("c")]);
        let error = division.check(&other, None).unwrap_err();
        assert!(
            error.message.contains("divides the plan sha256:"),
            "{error}"
        );
        assert_eq!(sealed(&[("a", 7), ("b", 1)]).check(&plan, Some(2)), Ok(()));
        let all: BTreeSet<String> = division.words().into_iter().collect();
        assert_eq!(all, BTreeSet::from(["1/2".to_owned(), "2/2".to_owned()]));
    }
}
