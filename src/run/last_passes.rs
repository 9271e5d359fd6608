//! Compares a step with the last pass of the same command: how many tests ran, and which program.

use super::record::StepRecord;
use serde::{Deserialize, Serialize};
use vplan_base::canon::Digest;
use vplan_base::word::visible;
use vplan_plan::Step;
use vplan_plan::caveat::{Caveat, Code, Effect};

/// Maximum number of stored passes.
pub const KEPT: usize = 2_000;

/// Maximum number of stored commits of the same command.
const COMMITS: usize = 8;

/// A stored pass.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// The commit that HEAD named.
    pub commit: String,
    /// The digest of the program that was started, if it was below the repository.
    pub program: Option<Digest>,
    /// The number of tests that ran, if its output reports that.
    pub tests: Option<u64>,
    /// The digest of command, directory and environment.
    pub words: Digest,
}

/// The stored passes, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passes(pub Vec<Pass>);

impl Pass {
    /// Creates the entry of a step that passed. `below` returns whether a program is below the
    /// repository.
    pub fn from_record(
        step: &Step,
        record: &StepRecord,
        commit: &str,
        below: impl Fn(&[u8]) -> bool,
    ) -> Self {
        let program = record
            .program
            .as_ref()
            .filter(|p| below(p.path.as_bytes()))
            .and_then(|p| p.digest.clone());
        let tests = record.tests.map(|t| t.passed.saturating_add(t.failed));
        let words = Digest::hash(format!("{}\0{}", step.dir, step.command).as_bytes());
        Self {
            commit: commit.to_owned(),
            program,
            tests,
            words,
        }
    }

    fn worse(&self, before: &Pass, check: &str) -> Vec<Caveat> {
        let name = visible(check.as_bytes());
        let note = |code, message| {
            Caveat::new(code, Effect::Note, message).of_checks(vec![check.to_owned()])
        };
        let fewer = before
            .tests
            .zip(self.tests.or(Some(0)))
            .filter(|(then, now)| now < then);
        let fewer = fewer.map(|(then, now)| {
            note(
                Code::TestsDropped,
                format!("`{name}` ran fewer tests than in its last pass: {then} -> {now}"),
            )
        });
        let other =
            self.program.is_some() && before.program != self.program && before.program.is_some();
        let other = other.then(|| {
            note(
                Code::ProgramChanged,
                format!("the program of `{name}` is another than in its last pass"),
            )
        });
        fewer.into_iter().chain(other).collect()
    }
}

impl Passes {
    /// Returns the caveats on a pass. It is compared with the newest pass of the same command on
    /// the base or later, and with the one at the base; programs, where there is none, with the
    /// newest of all. `is_later` is called only where a caveat depends on it.
    pub fn compare(
        &self,
        pass: &Pass,
        check: &str,
        base: &str,
        is_later: &dyn Fn(&str) -> bool,
    ) -> Vec<Caveat> {
        let same = || self.0.iter().rev().filter(|p| p.words == pass.words);
        if same().all(|before| pass.worse(before, check).is_empty()) {
            return Vec::new();
        }
        let mut newest = None;
        let mut known: Vec<(&str, bool)> = Vec::new();
        for before in same() {
            let said = pass.worse(before, check);
            let later = match known.iter().find(|(commit, _)| *commit == before.commit) {
                Some((_, later)) => *later,
                None => {
                    let later = is_later(&before.commit);
                    known.push((&before.commit, later));
                    later
                }
            };
            if later {
                // A pass with a later base in between does not show what the base itself has.
                let at_base = same()
                    .find(|p| p.commit == base)
                    .map(|p| pass.worse(p, check))
                    .unwrap_or_default();
                let more = at_base
                    .into_iter()
                    .filter(|c| said.iter().all(|s| s.code != c.code));
                return said.iter().cloned().chain(more).collect();
            }
            newest.get_or_insert(said);
        }
        let mut said = newest.unwrap_or_default();
        said.retain(|c| c.code == Code::ProgramChanged);
        said
    }

    /// Keeps a pass, in place of an earlier one at the same commit.
    pub fn keep(&mut self, pass: Pass) {
        self.0
            .retain(|p| p.words != pass.words || p.commit != pass.commit);
        let same = self.0.iter().filter(|p| p.words == pass.words).count();
        if same >= COMMITS
            && let Some(at) = self.0.iter().position(|p| p.words == pass.words)
        {
            self.0.remove(at);
        }
        self.0.push(pass);
        let more = self.0.len().saturating_sub(KEPT);
        self.0.drain(..more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(commit: &str, tests: Option<u64>, program: Option<&str>) -> Pass {
        let program = program.map(|p| Digest::hash(p.as_bytes()));
        Pass {
            commit: commit.to_owned(),
            program,
            tests,
            words: Digest::hash(b"w"),
        }
    }

    #[test]
    fn the_newest_pass_on_the_base_or_later_counts() {
        let mut passes = Passes::default();
        let later = |commit: &str| commit != "old";
        let codes = |passes: &Passes, pass: &Pass| -> Vec<Code> {
            passes
                .compare(pass, "unit", "base", &later)
                .iter()
                .map(|c| c.code)
                .collect()
        };
        assert_eq!(codes(&passes, &pass("now", Some(1), Some("p"))), []);
        passes.keep(pass("old", Some(300), Some("p")));
        assert_eq!(
            codes(&passes, &pass("now", Some(1), Some("p"))),
            [],
            "the base may have fewer"
        );
        assert_eq!(
            codes(&passes, &pass("now", Some(1), Some("q"))),
            [Code::ProgramChanged]
        );
        passes.keep(pass("base", Some(214), Some("q")));
        assert_eq!(codes(&passes, &pass("now", Some(214), Some("q"))), []);
        assert_eq!(
            codes(&passes, &pass("now", Some(12), Some("q"))),
            [Code::TestsDropped]
        );
        assert_eq!(
            codes(&passes, &pass("now", None, Some("q"))),
            [Code::TestsDropped],
            "nothing is counted any more"
        );
        assert_eq!(
            codes(
                &passes,
                &Pass {
                    words: Digest::hash(b"x"),
                    ..pass("now", Some(1), None)
                }
            ),
            []
        );
        passes.keep(pass("now", Some(12), Some("q")));
        assert_eq!(
            codes(&passes, &pass("now", Some(12), Some("q"))),
            [Code::TestsDropped],
            "the base has more"
        );
        let said = passes.compare(&pass("now", Some(12), None), "unit", "base", &later);
        assert!(said[0].message.contains("214 -> 12"), "{said:?}");
    }

    #[test]
    fn no_more_is_kept_than_allowed() {
        let mut passes = Passes::default();
        (0..20).for_each(|i| passes.keep(pass(&i.to_string(), Some(i), None)));
        assert_eq!(passes.0.len(), COMMITS);
        assert_eq!(passes.0.last().unwrap().commit, "19");
        for i in 0..KEPT + 5 {
            passes.keep(Pass {
                words: Digest::hash(i.to_string().as_bytes()),
                ..pass("c", None, None)
            });
        }
        assert_eq!(passes.0.len(), KEPT);
    }
}
