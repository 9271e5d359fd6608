//! Records what the changed files were found by comparing. Printed first wherever a plan or its
//! report is shown; no digest covers it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vplan_base::word::{count, visible};

/// The comparison that found the changed files.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Compared {
    /// The commit that was compared with; absent where there is none yet, and where nothing was
    /// compared.
    pub base: Option<String>,
    /// The full name of the branch whose merge base with HEAD that is; absent where it was found
    /// in another way.
    pub branch: Option<String>,
    /// The number of changed files.
    pub changed: usize,
    /// The number of checks of the plan that are due to commits since the base: without the files
    /// that only those changed they would not be there. Absent where that is not known.
    pub earlier_checks: Option<usize>,
    /// One line for people, such as ``the work tree against `HEAD` (0123456789ab)``.
    pub what: String,
}

impl Compared {
    /// Returns all of it on one line, for people.
    pub fn for_people(&self) -> String {
        let what = visible(&self.what);
        match (&self.base, self.changed, self.earlier_checks) {
            (Some(_), 0, _) => format!("{what}: nothing changed since"),
            (_, changed, Some(checks)) if checks > 0 => {
                let are = if checks == 1 { "is" } else { "are" };
                let (files, checks) = (count(changed, "changed file"), count(checks, "check"));
                format!("{what}: {files}, {checks} {are} here because of earlier commits")
            }
            (_, changed, _) => format!("{what}: {}", count(changed, "changed file")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_for_people() {
        let of = |base: Option<&str>, changed, earlier_checks| {
            Compared {
                base: base.map(str::to_owned),
                branch: None,
                changed,
                earlier_checks,
                what: "it".to_owned(),
            }
            .for_people()
        };
        assert_eq!(of(Some("a"), 0, Some(0)), "it: nothing changed since");
        assert_eq!(of(Some("a"), 1, Some(0)), "it: 1 changed file");
        assert_eq!(
            of(Some("a"), 2, Some(1)),
            "it: 2 changed files, 1 check is here because of earlier commits"
        );
        assert_eq!(
            of(Some("a"), 2, Some(3)),
            "it: 2 changed files, 3 checks are here because of earlier commits"
        );
        assert_eq!(of(None, 0, None), "it: 0 changed files");
    }
}
