//! Checks whether a recorded report is the one that vplan wrote, and is about this tree.

use crate::{Digest, Engine, Failure, Plan, Report, Site, visible, visible_path};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use vplan_base::canon::to_canonical;
use vplan_base::word::count;
use vplan_check::confine::InputsBasis;
use vplan_os::files;
use vplan_plan::document;
use vplan_run::authenticity::{Aspect, AspectState, examine, own_plan};
use vplan_run::journal::{ReplayedRun, replay};
use vplan_run::merge;
use vplan_run::recorded_answer::{EndedRun, RecordedEvidence, believed};
use vplan_runner::tree::Present;
use vplan_store::history::MAX_FILE;
use vplan_store::records::reads_name;

/// The aspect about the origin of the record.
const ORIGIN: &str = "origin";

/// A report, and the findings about it.
#[derive(Debug)]
pub struct ExaminedReport {
    /// The report, as read from its file.
    pub report: Report,
    /// The aspects that were examined.
    pub aspects: Vec<Aspect>,
}

impl Engine<'_> {
    /// Examines a report, the other files in the folder of its run, and the work tree.
    ///
    /// # Errors
    /// A report that cannot be read.
    pub fn examine(
        &self,
        site: &Site,
        folder: &Path,
        file: &Path,
    ) -> Result<ExaminedReport, Failure> {
        let (report, bytes) = read_report(file)?;
        // A report of merged shards belongs to no run, so the files next to it are unrelated.
        let folder = Some(folder).filter(|_| report.merged.is_none());
        let mut found = look_at(&report, folder);
        let vault = self.kept_vault(site).ok().flatten();
        let ended = vault.and_then(|vault| vault.get(&report.run_id));
        let plan = found.plan.as_ref();
        let aspects = &mut found.aspects;
        aspects.push(origin(&report, &bytes, plan, ended.as_ref()));
        aspects.push(tree(site, &report, plan, ended.as_ref()));
        let aspects = found.aspects;
        Ok(ExaminedReport { report, aspects })
    }

    /// Returns the evidence against the report of a shard, wherever it ran. Examines the same as
    /// [`Self::examine`], without the work tree. `folder`: that of its run, if there is one.
    pub(super) fn refuses(&self, report: &Report, folder: Option<&Path>) -> Option<Aspect> {
        let mut found = look_at(report, folder);
        let vault = (self.locate().ok()).and_then(|site| self.kept_vault(&site).ok().flatten());
        let ended = vault.and_then(|vault| vault.get(&report.run_id));
        let bytes = Digest::hash(to_canonical(report).as_bytes());
        let origin = origin(report, &bytes, found.plan.as_ref(), ended.as_ref());
        found.aspects.push(origin);
        found
            .aspects
            .into_iter()
            .find(|a| a.holds == AspectState::No)
    }
}

/// The findings about a report by itself, with the plan that was executed last.
struct Examined {
    aspects: Vec<Aspect>,
    plan: Option<Plan>,
}

/// Examines a report and the files next to it.
fn look_at(report: &Report, folder: Option<&Path>) -> Examined {
    let mut aspects = Vec::new();
    let own = own_plan(report).unwrap_or_else(|why| {
        aspects.push(Aspect::no("plan", why));
        None
    });
    let beside = folder
        .and_then(|folder| read_sibling(folder, "plan.json", &mut aspects, "plan"))
        .and_then(|bytes| read_plan(&bytes, &mut aspects));
    let plan = beside.or(own);
    let journal: Option<ReplayedRun> = folder
        .and_then(|folder| read_sibling(folder, "events.jsonl", &mut aspects, "journal"))
        .map(|bytes| replay(&bytes));
    let known: BTreeSet<&str> = aspects.iter().map(|a| a.aspect).collect();
    let found = examine(report, plan.as_ref(), journal.as_ref());
    let found = found.into_iter().filter(|a| !known.contains(a.aspect));
    let found: Vec<Aspect> = found.collect();
    aspects.extend(found);
    aspects.extend(folder.map(|folder| logs(report, folder)));
    Examined { aspects, plan }
}

fn read_report(file: &Path) -> Result<(Report, Digest), Failure> {
    let name = visible_path(file);
    let wrong =
        |why: String| Failure::usage("vplan::records::unreadable", format!("`{name}` {why}"));
    let bytes = files::read_plain(file, MAX_FILE).map_err(|e| wrong(cannot(&e)))?;
    let part = merge::read(&name, &bytes).map_err(|e| {
        let help =
            "give the `report.json` of a run, the run's directory, or the name of a recorded run";
        Failure::usage("vplan::records::unreadable", e.message).help(help)
    })?;
    Ok((part.report, Digest::hash(&bytes)))
}

fn cannot(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "is not there".to_owned(),
        io::ErrorKind::FileTooLarge => "is larger than any vplan writes".to_owned(),
        io::ErrorKind::InvalidInput => "is no regular file".to_owned(),
        _ => format!("cannot be read: {}", visible(error.to_string())),
    }
}

/// Reads another file of the report's folder. A missing one is not an error.
fn read_sibling(
    folder: &Path,
    name: &str,
    aspects: &mut Vec<Aspect>,
    aspect: &'static str,
) -> Option<Vec<u8>> {
    match files::read_plain(&folder.join(name), MAX_FILE) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            aspects.push(Aspect::no(aspect, format!("`{name}` {}", cannot(&error))));
            None
        }
    }
}

fn read_plan(bytes: &[u8], aspects: &mut Vec<Aspect>) -> Option<Plan> {
    let read = std::str::from_utf8(bytes)
        .map_err(|_| "it is not UTF-8".to_owned())
        .and_then(|text| document::from_json(text).map_err(|e| e.message));
    read.map_err(|why| aspects.push(Aspect::no("plan", format!("`plan.json`: {why}"))))
        .ok()
}

fn logs(report: &Report, folder: &Path) -> Aspect {
    if !folder.join("logs").is_dir() {
        return Aspect::unknown("logs", "there is no folder of logs beside the report");
    }
    let named: Vec<&String> = report.steps.iter().filter_map(|s| s.log.as_ref()).collect();
    // No file is read by a path in a report, which may name any file.
    let is_plain = |name: &str| !name.is_empty() && !name.contains('/') && name != "..";
    let is_there = |log: &&String| {
        let there = folder.join(log).symlink_metadata();
        log.strip_prefix("logs/").is_some_and(is_plain) && there.is_ok_and(|m| m.is_file())
    };
    let observed = (report.steps.iter())
        .filter(|step| step.inputs == Some(InputsBasis::Observed))
        .filter_map(|step| step.log.as_deref().map(reads_name));
    let observed: Vec<String> = observed.collect();
    let mut all = named.iter().copied().chain(&observed);
    match all.find(|log| !is_there(log)) {
        Some(log) => Aspect::no("logs", format!("the log `{}` is not there", visible(log))),
        None => Aspect::yes("logs", format!("{} are there", count(named.len(), "log"))),
    }
}

/// Decides whether vplan wrote this record, here: its memory of the run is outside the repository.
fn origin(
    report: &Report,
    bytes: &Digest,
    plan: Option<&Plan>,
    ended: Option<&EndedRun>,
) -> Aspect {
    let Some(ended) = ended else {
        let why = "vplan has not kept that it ran here: it ran elsewhere, long ago, or never";
        return Aspect::unknown(ORIGIN, why);
    };
    let Some(plan) = plan else {
        return match ended.report.as_ref() == Some(bytes) {
            true => Aspect::yes(ORIGIN, "the report is the one that vplan wrote"),
            false => Aspect::no(ORIGIN, "the report is not the one that vplan wrote"),
        };
    };
    let recorded = RecordedEvidence {
        bytes,
        plan,
        report,
    };
    match believed(&recorded, ended) {
        Ok(()) => Aspect::yes(ORIGIN, "the report and the plan are those that vplan wrote"),
        Err(why) => Aspect::no(ORIGIN, why.message),
    }
}

fn tree(site: &Site, report: &Report, plan: Option<&Plan>, ended: Option<&EndedRun>) -> Aspect {
    let Some(recorded) = &report.tree else {
        return Aspect::unknown("tree", "the report does not say which tree was verified");
    };
    // Only the plan records which files are products, and not part of the tree.
    let Some(plan) = plan else {
        return Aspect::unknown("tree", "without the plan this tree cannot be compared");
    };
    let Some(present) = Present::take(site.git.as_ref().ok()).digest(report, plan) else {
        return Aspect::unknown("tree", "which tree this is cannot be said");
    };
    if present != *recorded {
        let recorded = visible(recorded);
        let message = format!("the work tree is {present}, verified was {recorded}");
        return Aspect::no("tree", message);
    }
    let named = "the work tree is the one that the report names";
    match ended.map(|ended| ended.tree.as_ref() == Some(&present)) {
        Some(true) => Aspect::yes("tree", "the work tree is the one that was verified"),
        Some(false) => Aspect::no(
            "tree",
            format!("{named}, and not the one that was verified"),
        ),
        None => {
            let message = format!("{named}: only the report says that it was verified");
            Aspect::unknown("tree", message)
        }
    }
}
