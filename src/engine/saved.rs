//! Checks that a plan from a file is still the plan for this repository: reads it, makes it again,
//! and compares field by field. Divides plans into shares.

use super::failure::invalid;
use super::open;
use super::part::{does_not_fit, part_of_present};
use super::propose::ProposerUse;
use super::request::{PlanFile, deny, selector};
use crate::{
    Caveat, ChangeSource, ContractRequest, Engine, Exit, Failure, History, LoadError, Loaded, Plan,
    PlanRequest, Session, Site, Step, VerifyRequest, visible, visible_path,
};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use vplan_base::command::Command;
use vplan_base::diagnostic::{Code, Diagnostic};
use vplan_base::source::{Source, Sources};
use vplan_base::span::Place;
use vplan_base::word::count;
use vplan_check::confine::Confinement;
use vplan_check::verb::CommandRequest;
use vplan_git::environment;
use vplan_lang::command::parse_command;
use vplan_os::{files, view};
use vplan_plan::canonical::FIRST;
use vplan_plan::caveat;
use vplan_plan::digest::seal;
use vplan_plan::document::DocumentForm;
use vplan_plan::drift::{Difference, drift};
use vplan_plan::error::TAMPERED;
use vplan_plan::request::{ChangedFrom, ChangedIn, GoneFolders, Request};
use vplan_plan::shard::division::{Division, DivisionError};
use vplan_repo::changes::base::default_base;
use vplan_repo::changes::error::ChangeError;
use vplan_repo::changes::gathered::Gathered;
use vplan_repo::changes::{self, BaseRevision, base_caveats, given};
use vplan_run::journal::replay;
use vplan_run::report::SavedPlan;
use vplan_run::run_summary::Tally;
use vplan_store::history::MAX_FILE;
use vplan_store::records::EVENTS;
use vplan_store::report_files::find;

/// Size limit of a plan file, in bytes.
const MAX_PLAN: u64 = 64 << 20;
/// Size limit of a division, in bytes.
const MAX_DIVISION: u64 = 64 << 20;

/// Reads a plan file, in the format of its extension.
///
/// # Errors
/// An unknown extension, a missing file, not a plan (exit 2); a plan that was changed after it was
/// made (exit 4).
pub fn read_plan(path: &Path) -> Result<Plan, Failure> {
    let name = path.as_os_str().as_bytes();
    let form = DocumentForm::of_name(name).ok_or_else(|| {
        let message = format!("`{}` does not end in `.kdl` or `.json`", visible(name));
        Failure::usage("vplan::usage::plan", message).help("`vplan plan -o FILE` writes plan files")
    })?;
    read_plan_as(path, form)
}

/// Reads a plan file in a format.
///
/// # Errors
/// As [`read_plan`].
pub fn read_plan_as(path: &Path, form: DocumentForm) -> Result<Plan, Failure> {
    let shown = visible_path(path);
    let wrong = |why: &str| Failure::usage("vplan::usage::plan", format!("`{shown}` {why}"));
    let bytes = files::read_plain(&view::outside(path), MAX_PLAN).map_err(|e| match e.kind() {
        std::io::ErrorKind::FileTooLarge => wrong("is larger than 64MiB, which no plan is"),
        _ => wrong(&format!("cannot be read: {e}")),
    })?;
    let text = utf8(bytes).map_err(|why| wrong(&why))?;
    let source = Source::new(path.to_string_lossy(), &text);
    let plan = form.read(source.text()).map_err(|e| {
        let exit = match e.error.code {
            TAMPERED => Exit::Drift,
            _ => Exit::Usage,
        };
        let failure = |message| Failure::new(exit, e.error.code, message);
        let message = visible(&e.error.message);
        let Some(span) = e.span else {
            return failure(format!("`{shown}`: {message}")).helped(e.error.help);
        };
        let mut sources = Sources::default();
        let place = Place::new(sources.add(source.clone()), span);
        let mut diagnostic = Diagnostic::error(Code(e.error.code), message).label(place, "here");
        diagnostic.help = e.error.help;
        failure(format!("`{shown}` is no plan that can be used"))
            .diagnosed(sources, vec![diagnostic])
    })?;
    // A text outside the grammar must consist of valid parts, or recovery would run something else.
    for step in &plan.steps {
        if let Some(unsupported) = &step.unsupported
            && !matches!(parse_command(&step.command), Command::Unsupported { unsupported: own, .. } if own == *unsupported)
        {
            let id = visible(&step.id);
            let why = format!("says of the step `{id}` what its command does not say");
            return Err(wrong(&why));
        }
    }
    Ok(plan)
}

/// Returns the text of a file, or the place of the first byte that is none.
fn utf8(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes)
        .map_err(|e| format!("is not UTF-8 at byte {}", e.utf8_error().valid_up_to()))
}

/// Reads a division from its file.
///
/// # Errors
/// The file cannot be read, or is not a division (exit 2); it was changed after it was made (exit
/// 4).
pub fn read_division(path: &Path) -> Result<Division, Failure> {
    let name = visible_path(path);
    let wrong = |why: String| {
        Failure::usage("vplan::usage::division", format!("`{name}` {why}"))
            .help("`vplan plan --divide N -o FILE` writes divisions")
    };
    let bytes = files::read_plain(&view::outside(path), MAX_DIVISION);
    let bytes = bytes.map_err(|e| match e.kind() {
        std::io::ErrorKind::FileTooLarge => {
            wrong("is larger than 64MiB, which no division is".to_owned())
        }
        _ => wrong(format!("cannot be read: {e}")),
    })?;
    let text = utf8(bytes).map_err(wrong)?;
    Division::decode(&text).map_err(|error| of_division(&format!("`{name}`"), error))
}

/// The failure of a division that does not fit a plan.
pub(crate) fn misfit(error: DivisionError) -> Failure {
    of_division("the division", error)
}

fn of_division(name: &str, error: DivisionError) -> Failure {
    Failure::new(error.exit, error.code, format!("{name} {error}")).help(error.help)
}

/// Reads the plan of `--plan`, makes it again, and compares.
///
/// # Errors
/// A file that is not a plan, a contract that is missing or invalid, a plan that would be different
/// today (exit 4).
pub fn open(
    engine: &Engine<'_>,
    requested: &VerifyRequest,
    file: &PlanFile,
) -> Result<(Session, Plan, SavedPlan), Failure> {
    let mut plan = read_plan(&file.path)?;
    let mut site = engine.locate()?;
    if plan.request.changed_in == Some(ChangedIn::Index) {
        site = site.at_index();
    }
    let mut session = gather(engine, requested, file, site, &plan)?;
    session.leave_out(&file.path);
    let as_is = session.loaded.is_none() && plan.contract.is_some();
    let differences = if as_is {
        let caveats = session.gathered.caveats.iter();
        plan.caveats.extend(caveats.cloned());
        Vec::new()
    } else {
        compare(&mut session, &requested.plan, &mut plan)
    };
    deny(&plan, &requested.plan.deny)?;
    if !differences.is_empty() && !file.allow_drift {
        engine.observer.drift(&differences);
        let what = match differences.len() {
            1 => "1 field differs".to_owned(),
            fields => format!("{fields} fields differ"),
        };
        let message = format!("the saved plan is not the one that is planned here now: {what}");
        let help = "make the plan again, or run the saved one all the same with `--allow-drift`";
        return Err(Failure::drift("vplan::plan::drift", message).help(help));
    }
    schedule(&mut plan, &requested.plan)?;
    let plan = confine(&mut session, plan, requested.plan.request.confinement);
    let drift = differences;
    Ok((session, plan, SavedPlan { as_is, drift }))
}

/// Takes the schedule from the command line, if it sets one. In version 1 the schedule is part of
/// the plan, and fixed.
fn schedule(plan: &mut Plan, requested: &PlanRequest) -> Result<(), Failure> {
    let policy = &plan.policy;
    let (jobs, fail_fast) = (
        requested.request.jobs.unwrap_or(policy.jobs),
        policy.fail_fast && !requested.request.keep_going,
    );
    if plan.version == FIRST && (jobs, fail_fast) != (policy.jobs, policy.fail_fast) {
        let message = "in a plan of version 1, `--jobs` and `--keep-going` are part of the plan";
        return Err(Failure::usage("vplan::usage::plan", message)
            .help("make the plan again: then it is of version 2"));
    }
    (plan.policy.jobs, plan.policy.fail_fast) = (jobs, fail_fast);
    Ok(())
}

/// Returns the minimum confinement that the operator set when the plan was made. That is the level
/// of the least confined command, because the operator's level applies to every command.
fn confined_by_operator(plan: &Plan) -> Confinement {
    let commands = plan.steps.iter().filter(|step| step.starts_command());
    let all: Vec<Confinement> = commands.clone().map(Step::confinement).collect();
    let level = all.iter().map(|one| one.level).min();
    let network = all.iter().map(|one| one.network).min();
    let asked = commands.clone().any(|step| step.sandbox_from.is_some());
    (level.zip(network).filter(|_| asked)).map_or_else(Confinement::default, |(level, network)| {
        Confinement { level, network }
    })
}

/// Raises the confinement of a saved plan's commands if the command line requests it. Steps that
/// are planned later in this run get the same.
fn confine(session: &mut Session, mut plan: Plan, least: Confinement) -> Plan {
    session.request.confinement = session.request.confinement.and(least);
    let before: Vec<Confinement> = plan.steps.iter().map(Step::confinement).collect();
    (plan.steps.iter_mut()).for_each(|step| step.confine(least));
    if plan.steps.iter().map(Step::confinement).eq(before) {
        plan
    } else {
        seal(plan)
    }
}

/// Returns how the plan would differ today. The caveats of today's plan are added to it, because a
/// file can leave them out.
fn compare(session: &mut Session, requested: &PlanRequest, plan: &mut Plan) -> Vec<Difference> {
    // The plan cannot be made again: the failure, after its likely reason.
    let misfit = |session: &Session, plan: &Plan, failure: Failure| {
        let difference = |path: &str, present, saved| Difference {
            path: path.to_owned(),
            present,
            saved,
        };
        let saved = plan.contract.as_ref().map(|c| c.digest.to_string());
        let present = session.contract().map(|c| c.digest.to_string());
        let contract = (present != saved).then(|| difference("contract.digest", present, saved));
        let fits = match plan.request.proposal {
            Some(_) => "has a recorded answer",
            None => "fits the contract",
        };
        let request = difference("request", Some(failure.message), Some(fits.to_owned()));
        contract.into_iter().chain([request]).collect()
    };
    // A plan does not record whether it was requested without preflight: either way of making it is
    // accepted.
    let preflight = !plan.policy.recover.is_empty();
    let present = match session.make(requested, ProposerUse::Recorded, preflight) {
        Ok((present, _)) => present,
        Err(failure) => {
            plan.caveats.push(does_not_fit());
            return misfit(session, plan, failure);
        }
    };
    // Today's caveats about the base and about unknown files replace those of the file.
    let of_base =
        |c: &Caveat| matches!(c.code, caveat::Code::BaseLater | caveat::Code::BaseUnknown);
    plan.caveats.retain(|own| {
        let is_replaced = of_base(own) && present.caveats.iter().any(|c| c.code == own.code);
        !is_replaced && own.code != caveat::Code::UnknownFiles
    });
    let more = present.caveats.iter();
    let more = more.filter(|c| !plan.caveats.contains(c)).cloned();
    let more: Vec<Caveat> = more.collect();
    plan.caveats.extend(more);
    if present.digest == plan.digest {
        return Vec::new();
    }
    match session.make(requested, ProposerUse::Recorded, false) {
        Ok((plain, _)) if plain.digest == plan.digest => Vec::new(),
        _ => {
            let differences = drift(plan, &present);
            plan.caveats.extend(part_of_present(&present, plan));
            differences
        }
    }
}

/// Returns the source of the changes: for version 2, the one that the plan records, compared with
/// its commit. Version 1 recorded names only.
fn source(plan: &Plan) -> ChangeSource {
    let record = &plan.request;
    if plan.version != FIRST {
        let recorded = |place| ChangeSource::Recorded {
            place,
            base: record.base.clone(),
        };
        return record.changed_in.map_or(ChangeSource::None, recorded);
    }
    match &record.changed_from {
        None => ChangeSource::None,
        // Against HEAD, as version 1 did.
        Some(ChangedFrom::WorkTree) => ChangeSource::WorkTree,
        Some(ChangedFrom::Staged) => ChangeSource::Staged,
        Some(ChangedFrom::All) => ChangeSource::All,
        Some(ChangedFrom::Base(base)) if base == "auto" => ChangeSource::Base(BaseRevision::Auto),
        Some(ChangedFrom::Base(base)) => ChangeSource::Base(BaseRevision::Revision(base.clone())),
    }
}

/// Gathers the present changes. Changes that the caller named, or that cannot be compared in
/// another repository, come from the plan.
fn gathered(site: &Site, file: &PlanFile, plan: &Plan) -> Result<Gathered, Failure> {
    let git = site.git.as_ref();
    let named = || {
        let none = open::gather_from(site, Some(&ChangeSource::None))?;
        let changes = plan.request.changed.clone();
        // A plan that no contract here confirms need not be about these files.
        let caveat = match file.as_is {
            true => None,
            false => given::caveat(given::unknown(&site.root, site.usable_git(), &changes)?),
        };
        Ok(Gathered {
            changes,
            caveats: caveat.into_iter().collect(),
            ..none
        })
    };
    match source(plan) {
        ChangeSource::None => named(),
        source => match changes::gather(Some(&source), git, &environment) {
            Err(ChangeError::NotFetched { .. }) if file.as_is => named(),
            answer => Ok(answer?),
        },
    }
}

/// Restores the recorded request, with the present contract and changes.
fn gather(
    engine: &Engine<'_>,
    requested: &VerifyRequest,
    file: &PlanFile,
    site: Site,
    plan: &Plan,
) -> Result<Session, Failure> {
    let record = &plan.request;
    let mut gathered = gathered(&site, file, plan)?;
    let revision = requested.plan.contract_from.as_deref();
    let wanted = engine.contract_request(revision, gathered.base.as_ref());
    let loaded = contract(&site, engine, &wanted, file, plan)?;
    let of_base = of_base(engine, &site, &gathered, loaded.as_ref())?;
    gathered.caveats.extend(of_base);
    let explicit = record.explicit.iter();
    let explicit = explicit.map(|text| CommandRequest::read(text, parse_command));
    let request = Request {
        role: Some(record.role.clone()),
        changed: gathered.changes.clone(),
        changed_from: record.changed_from.clone(),
        changed_in: gathered.place,
        base: gathered.compared_with().map(ToString::to_string),
        in_version_1: plan.version == FIRST,
        risk: record.risk,
        boundaries: record.boundaries.clone(),
        min_tier: record.min_tier,
        explicit: explicit.collect(),
        inferred: Vec::new(),
        proposal: None,
        mode: record.mode,
        names: record.names.iter().map(|o| selector(o)).collect(),
        only: record.only.iter().map(|o| selector(o)).collect(),
        skip: record.skip.clone(),
        // The contract is the same, or that is drift; so these have the values of when the plan was
        // made.
        jobs: Some(plan.policy.jobs),
        budget_ms: plan.policy.budget_ms,
        keep_going: !plan.policy.fail_fast,
        no_recover: plan.policy.recover.is_empty(),
        confinement: confined_by_operator(plan),
        gone: GoneFolders::default(),
    };
    engine.session(site, gathered, loaded, request)
}

/// Returns the caveats about the commit that the plan compares with, because a file can leave them
/// out.
fn of_base(
    engine: &Engine<'_>,
    site: &Site,
    gathered: &Gathered,
    loaded: Option<&Loaded>,
) -> Result<Vec<Caveat>, Failure> {
    let is_tree = gathered.place == Some(ChangedIn::WorkTree);
    let (Ok(git), Some(base)) = (&site.git, gathered.base.filter(|_| is_tree)) else {
        return Ok(Vec::new());
    };
    let kept = engine.commit_cache(site);
    let default = default_base(git, loaded.and_then(open::statement), &kept)?;
    Ok(if default.is_before(&base, git, &kept)? {
        vec![base_caveats::later(&default, "the base of the plan")]
    } else if default.unknown().is_some() && default.commit == Some(base) {
        base_caveats::of_default(&default)
    } else {
        Vec::new()
    })
}

fn contract(
    site: &Site,
    engine: &Engine<'_>,
    wanted: &ContractRequest<'_>,
    file: &PlanFile,
    plan: &Plan,
) -> Result<Option<Loaded>, Failure> {
    match engine.load(site, wanted)? {
        Ok(loaded) if loaded.contract.is_none() => Err(invalid(loaded)),
        Ok(loaded) if file.as_is => {
            let path = &loaded.path;
            let message =
                format!("there is a contract at `{path}`, so the plan is not run as it is");
            Err(Failure::usage("vplan::usage::plan_as_is", message)
                .help("`--allow-drift` runs a plan that it does not give"))
        }
        Ok(loaded) => Ok(Some(loaded)),
        Err(LoadError::Missing(..)) if file.as_is || plan.contract.is_none() => Ok(None),
        Err(error @ LoadError::Missing(..)) => {
            let help = "`--contract` says where it is; `--plan-as-is` runs the plan without one, and the report says so";
            Err(Failure::from(error).help(help))
        }
        Err(error) => Err(error.into()),
    }
}

/// Limit of all journals that are read, in bytes.
const MAX_JOURNALS: u64 = 1 << 30;

/// The durations of steps, and the number of runs that they come from.
#[derive(Debug, Default)]
pub struct KnownTimes {
    /// The median of each step by id, in milliseconds.
    pub medians: BTreeMap<String, u64>,
    /// The number of runs with journals that were read.
    pub runs: usize,
}

impl Engine<'_> {
    /// Opens a plan file like `vplan run --plan`: it is refused if the plan would be different
    /// today.
    ///
    /// # Errors
    /// A file that is not a plan, a contract that is missing or invalid, a plan that would be
    /// different today (exit 4).
    pub fn saved_plan(&self, path: &Path, requested: PlanRequest) -> Result<Plan, Failure> {
        let file = PlanFile {
            path: path.to_owned(),
            allow_drift: false,
            as_is: false,
        };
        let requested = VerifyRequest {
            plan: requested,
            ..VerifyRequest::default()
        };
        Ok(open(self, &requested, &file)?.1)
    }

    /// Returns the durations of steps in the recorded runs of the repository, or in those below a
    /// folder, up to four folders deep.
    ///
    /// # Errors
    /// Records or a folder that cannot be read.
    pub fn known_times(&self, past: Option<&Path>) -> Result<KnownTimes, Failure> {
        let Some(folder) = past else {
            let site = self.locate()?;
            let history = History::open(&site.root, None)?;
            let ids = history.ids()?;
            let (medians, runs) = (history.tally(&ids).medians(), ids.len());
            return Ok(KnownTimes { medians, runs });
        };
        let found = find(folder).map_err(|e| {
            let name = visible_path(folder);
            let message = format!("`{name}` cannot be read: {e}");
            Failure::usage("vplan::usage::past", message)
                .help("`--past` names a folder of runs, such as `.vplan`")
        })?;
        let of_reports = found.files.iter().filter_map(|file| file.parent());
        let folders = of_reports.map(Path::to_owned).chain(found.unfinished);
        let folders: BTreeSet<PathBuf> = folders.collect();
        let (mut tally, mut runs, mut left) = (Tally::default(), 0, MAX_JOURNALS);
        // Unreadable journals give no times.
        for folder in folders {
            if let Ok(bytes) = files::read_plain(&folder.join(EVENTS), MAX_FILE.min(left)) {
                left = left.saturating_sub(bytes.len() as u64);
                tally.add("", &replay(&bytes));
                runs += 1;
            }
        }
        let medians = tally.medians();
        Ok(KnownTimes { medians, runs })
    }
}

impl KnownTimes {
    /// Describes the source of a division's weights.
    pub fn describe_source(&self, plan: &Plan) -> String {
        let known = |id: &str| self.medians.contains_key(id);
        let all = plan.steps.len();
        let known = plan.steps.iter().filter(|step| known(&step.id)).count();
        let runs = count(self.runs, "run");
        match (known, all - known) {
            (0, _) => format!("none of the steps is in {runs}: each counts alike"),
            (_, 0) => format!("weighed by {runs}"),
            (_, new) => format!(
                "weighed by {runs}; {} of {} in none of them: {} as long as the median",
                new,
                count(all, "step"),
                if new == 1 { "it counts" } else { "they count" }
            ),
        }
    }
}
