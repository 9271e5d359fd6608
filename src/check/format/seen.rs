//! Removes repeated findings: builds compile a file for several targets and print everything again.

use crate::check::reading::Finding;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many are remembered; what comes after them counts each time.
const REMEMBERED: usize = 100_000;

/// The findings that were printed, by severity, place and message. The code does not count:
/// compilers write it only with the first of its kind.
#[derive(Default)]
pub struct Seen(BTreeSet<u64>);

impl Seen {
    /// Whether it is new.
    pub fn is_new(&mut self, finding: &Finding) -> bool {
        let Finding {
            code: _,
            column,
            file,
            line,
            message,
            severity,
        } = finding;
        let mut hasher = DefaultHasher::new();
        (column, file, line, message, severity).hash(&mut hasher);
        let hash = hasher.finish();
        if self.0.len() >= REMEMBERED {
            return !self.0.contains(&hash);
        }
        self.0.insert(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_does_not_count() {
        let mut seen = Seen::default();
        let finding = Finding {
            line: Some(1),
            code: Some("dead_code".to_owned()),
            ..Finding::default()
        };
        assert!(seen.is_new(&finding));
        assert!(!seen.is_new(&Finding {
            code: None,
            ..finding.clone()
        }));
        assert!(seen.is_new(&Finding {
            line: Some(2),
            ..finding
        }));
    }
}
