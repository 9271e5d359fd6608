//! Variables of CI jobs: which of them a check needs.

use crate::shell::{ShellValue, names};
use crate::words::is_listed;
use std::collections::{BTreeMap, BTreeSet};

/// The variables of a job, from the outermost to the innermost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    pub(crate) all: BTreeMap<String, ShellValue>,
    /// Those of one step.
    of_step: BTreeSet<String>,
}

impl Variables {
    pub(crate) fn set(&mut self, name: &str, value: ShellValue, of_step: bool) {
        self.all.insert(name.to_owned(), value);
        self.of_step.remove(name);
        self.of_step.extend(of_step.then(|| name.to_owned()));
    }

    /// Adds to the environment of a command what it needs of them. A variable that its script names
    /// is put in already.
    pub(crate) fn needed(
        &self,
        script: &str,
        words: &[String],
        env: &mut BTreeMap<String, String>,
    ) {
        for (name, value) in &self.all {
            let ShellValue::Known(value) = value else {
                continue;
            };
            let is_plain =
                vplan_base::command::is_env_name(name) && !value.contains(['\n', '\r', '\0']);
            let wanted = is_listed("kept-variables", name)
                || self.of_step.contains(name) && !names(script, name)
                || words.iter().any(|word| names(word, name));
            if is_plain && wanted {
                env.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        env.retain(|name, value| !is_listed("dropped-variables", name) && !value.trim().is_empty());
    }
}
