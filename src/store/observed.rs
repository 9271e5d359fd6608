//! Reads the recorded effects of the steps of earlier runs.

use super::history::{History, MAX_FILE, enter};
use super::records::{is_reads_name, observed_tries};
use rustix::fd::AsFd as _;
use std::collections::BTreeMap;
use vplan_check::observed::{Gap, Observed};
use vplan_os::files::read_bounded;
use vplan_os::retry_eintr::read_dir;

impl History {
    /// Returns the recorded effects of these steps of a run, in all their tries, by step id. Empty
    /// for a run that was not observed.
    pub fn observed<'s>(
        &self,
        id: &str,
        steps: impl Iterator<Item = &'s str>,
    ) -> BTreeMap<String, Observed> {
        let mut found: BTreeMap<String, Observed> = BTreeMap::new();
        for (step, name) in observed_tries(self.logs(id), steps) {
            let read = self.log(id, &format!("logs/{name}")).ok();
            let read = read.and_then(|file| read_bounded(&file, MAX_FILE).ok());
            let read = read.and_then(|text| Observed::read(&text));
            let read = read.unwrap_or_else(|| Observed::nothing(Gap::Lost));
            found.entry(step.to_owned()).or_default().add(read);
        }
        found
    }

    /// Whether steps of a run were observed.
    pub fn is_observed(&self, id: &str) -> bool {
        self.logs(id).iter().any(|name| is_reads_name(name))
    }

    /// Returns the names of the files in the log folder of a run, none if they cannot be listed.
    fn logs(&self, id: &str) -> Vec<String> {
        let folder = self.folder(id).ok();
        let folder = folder.and_then(|folder| enter(folder.as_fd(), "logs").ok().flatten());
        let entries = folder.and_then(|folder| read_dir(&folder).ok());
        let names = entries.into_iter().flatten().filter_map(Result::ok);
        let names = names.filter_map(|entry| Some(entry.file_name().to_str().ok()?.to_owned()));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}
