//! Compares a contract with the recorded effects of its checks, from this run or earlier ones. Can
//! fix the contract.

use super::amend::amend;
use super::failure::valid;
use super::verify::{Caller, Verified, verify};
use crate::{
    ChangeSet, ChangeSource, Contract, ContractRequest, Engine, Facts, Failure, Git, History,
    Loaded, Plan, RepoPath, Root, Session, Site, VerifyRequest, visible,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use vplan_base::source::Source;
use vplan_base::word::Word;
use vplan_check::confine::SandboxLevel;
use vplan_check::observed::Observed;
use vplan_contract::condition::holds;
use vplan_contract::{Check, Condition, Sought};
use vplan_git::environment;
use vplan_os::environment::{Environment, Grants};
use vplan_os::files::rewrite::Editable;
use vplan_os::outside::Outside;
use vplan_plan::MAY_CHANGE;
use vplan_plan::audit::findings::ObservedFindings;
use vplan_plan::audit::matrix::{Matrix, matrix};
use vplan_plan::audit::{AuditSubject, Audited, ObservedRun, audit};
use vplan_plan::diff::contracts::{Side, compare};
use vplan_plan::diff::{Class, Difference};
use vplan_plan::facts::{Certainty, FactAnswer, Question};
use vplan_plan::request::Selector;
use vplan_repo::facts::{self, FactSources};
use vplan_reuse::decide::Use;

/// Search limit: the number of newest runs that are examined.
const LOOKED_AT: usize = 200;
/// The tier at which every check has its turn.
const EVERY_TIER: u8 = 2;

/// The request to audit a contract.
#[derive(Clone, Debug, Default)]
pub struct AuditRequest {
    /// The checks to run; all commands of the contract if empty.
    pub names: Vec<Selector>,
    /// Use the effects that earlier runs recorded, and run nothing.
    pub from_records: bool,
    /// How the checks are run.
    pub verify: VerifyRequest,
}

/// A contract that was audited.
#[derive(Debug)]
pub struct AuditedContract {
    /// The findings of the audit.
    pub audited: Audited,
    /// The contract, with its sources.
    pub loaded: Loaded,
    /// Examined runs, newest first.
    pub runs: Vec<String>,
    /// The run that was made for it.
    pub verified: Option<Verified>,
    contract: Contract,
    site: Site,
}

/// A run with observed steps.
struct Recorded {
    id: String,
    tree: String,
    plan: Plan,
    steps: BTreeMap<String, Observed>,
    /// The ids of the steps that did not pass, as far as the run has a report.
    failed: BTreeSet<String>,
}

impl Engine<'_> {
    /// Audits the contract of the work tree.
    ///
    /// # Errors
    /// A contract that is invalid, a run that cannot be made, no run that was observed.
    pub fn audit(
        &self,
        asked: &AuditRequest,
        caller: Caller<'_>,
    ) -> Result<AuditedContract, Failure> {
        let site = self.locate()?;
        usable_git(&site)?;
        let (contract, loaded) = self.valid_contract(&site)?;
        let verified = match asked.from_records {
            true => None,
            false => Some(verify(self, &observing(asked, &contract, &site), caller)?),
        };
        let history = History::open(&site.home, asked.verify.records.as_deref())?;
        let recorded = match &verified {
            Some(verified) => vec![recorded(&history, &verified.report.run_id)?],
            None => all_recorded(&history, &loaded.path.to_string())?,
        };
        let audited = self.hold(&site, &contract, &recorded, audit)?;
        let runs = recorded.into_iter().map(|run| run.id).collect();
        Ok(AuditedContract {
            audited,
            contract,
            loaded,
            runs,
            verified,
            site,
        })
    }

    /// Returns the findings of an audit of an observed run, which may still be running.
    pub(super) fn observed_findings(
        &self,
        session: &Session,
        asked: &VerifyRequest,
        run: &str,
    ) -> ObservedFindings {
        let denied = &asked.deny_findings;
        let Some(contract) = session.contract() else {
            let why = "there is no contract to hold against what steps did".to_owned();
            return ObservedFindings::unknown(why, denied);
        };
        let audited = || {
            let history = History::open(&session.site.home, asked.records.as_deref())?;
            let run = recorded(&history, run)?;
            let hidden = session.hidden_reads(&run.plan, &run.steps);
            let audited = self.hold(&session.site, contract, &[run], audit)?;
            Ok::<_, Failure>((audited, hidden))
        };
        match audited() {
            Ok((audited, hidden)) => {
                let mut found = ObservedFindings::new(&audited, denied);
                found.caveats.extend(hidden);
                found
            }
            Err(failure) => ObservedFindings::unknown(failure.message, denied),
        }
    }

    /// Lists the files that each step of a recorded run read. Empty if no step was observed, or the
    /// contract has changed since.
    pub fn matrix(&self, site: &Site, history: &History, id: &str) -> Matrix {
        let found = || {
            let run = recorded(history, id)
                .ok()
                .filter(|run| !run.steps.is_empty())?;
            let contract = self.load_contract(site).ok()?.contract?;
            let ran = run.plan.contract.as_ref()?;
            if ran.digest != contract.digest {
                return None;
            }
            self.hold(site, &contract, &[run], |subject| {
                matrix(subject, &audit(subject))
            })
            .ok()
        };
        found().unwrap_or_default()
    }

    /// Holds a contract against runs.
    fn hold<T>(
        &self,
        site: &Site,
        contract: &Contract,
        recorded: &[Recorded],
        look: impl FnOnce(&AuditSubject<'_>) -> T,
    ) -> Result<T, Failure> {
        let git = usable_git(site)?;
        let (tracked, ignored) = (git.tracked()?, git.ignored()?);
        let rules = git.ignore_rules()?;
        let is_hidden = |path: &RepoPath| {
            let mut around = path.ancestors().into_iter().chain([path.clone()]);
            around.any(|path| ignored.binary_search(&path).is_ok())
        };
        let is_absent = |path: &RepoPath| {
            let there = site.root.join(path.to_os()).symlink_metadata();
            there.is_err()
        };
        let home = environment("HOME").map(|home| word(Path::new(&home)));
        let toolchain = toolchain(site, home.as_ref())?;
        let runs: Vec<ObservedRun<'_>> = recorded
            .iter()
            .map(|run| ObservedRun {
                tree: &run.tree,
                plan: &run.plan,
                steps: &run.steps,
                failed: &run.failed,
            })
            .collect();
        Ok(look(&AuditSubject {
            contract,
            facts: &Facts::default(),
            tracked: &tracked,
            is_ignored: &is_hidden,
            would_ignore: &|path, is_folder| rules.hide(path, is_folder),
            is_absent: &is_absent,
            home: home.as_ref(),
            toolchain: &toolchain,
            runs: &runs,
        }))
    }

    /// Applies the proposed changes to an audited contract.
    ///
    /// # Errors
    /// A contract that cannot be changed, or written.
    pub fn mend(&self, found: &AuditedContract) -> Result<Option<FixedContract>, Failure> {
        let findings = found.audited.findings.iter();
        let amendments: Vec<_> = findings.filter_map(|f| f.amendment.as_ref()).collect();
        if amendments.is_empty() {
            return Ok(None);
        }
        let cannot = |why: String| {
            let message = format!("`{}` cannot be mended: {why}", found.loaded.path);
            Failure::contract("vplan::audit::write", message)
        };
        let path = found.site.root.join(found.loaded.path.to_os());
        let file = Editable::read(&path, Some(&found.site.root), self.max_file)
            .map_err(|e| cannot(e.to_string()))?;
        let text = std::str::from_utf8(file.bytes()).map_err(|e| cannot(e.to_string()))?;
        let name = found.loaded.path.to_string();
        let source = Source::new(&name, text);
        let new = amend(&source, &found.contract, &amendments).map_err(cannot)?;
        if new.as_bytes() == file.bytes() {
            return Ok(None);
        }
        self.is_as_strong(found, &new)
            .map_err(|failure| cannot(failure.message))?;
        Ok(Some(FixedContract {
            old: text.to_owned(),
            name,
            new,
            file,
        }))
    }
}

impl Engine<'_> {
    /// Checks that a fixed contract is valid, and not weaker than before.
    fn is_as_strong(&self, found: &AuditedContract, text: &str) -> Result<(), Failure> {
        let wanted = ContractRequest {
            text: Some(text),
            ..self.contract_request(None, None)
        };
        let (contract, loaded) = valid(self.load(&found.site, &wanted)??)?;
        let older = Side::new(&found.contract, &found.loaded.sources);
        let newer = Side::new(&contract, &loaded.sources);
        let mut differences = compare(&older, &newer, &[]).differences.into_iter();
        // A confined check may get files that it needs and could not read, or could not write where
        // git ignores everything.
        let is_needed = |one: &Difference| {
            let is_of = |settings: &[&str]| {
                let mut settings = settings.iter();
                settings.any(|word| one.what.split(' ').next() == Some(word))
            };
            let least = if is_of(&["inputs", "reads"]) {
                SandboxLevel::Files
            } else if is_of(&[MAY_CHANGE.setting().word]) {
                SandboxLevel::Guard
            } else {
                return false;
            };
            let mut checks = contract
                .checks
                .iter()
                .filter(|check| check.level() >= least);
            checks.any(|check| one.subject == format!("check `{}`", check.id))
        };
        let is_less = |one: &Difference| matches!(one.class, Class::Weakens | Class::Undecided);
        let less = differences.find(|one| is_less(one) && !is_needed(one));
        match less {
            Some(less) => {
                let message = format!("`{}`: {}", less.subject, less.what);
                Err(Failure::contract("vplan::audit::write", message))
            }
            None => Ok(()),
        }
    }
}

/// A contract with the fixes of an audit, not yet written.
#[derive(Debug)]
pub struct FixedContract {
    /// The name of the contract file, for messages.
    pub name: String,
    /// The text before the fix.
    pub old: String,
    /// Its text as it would be.
    pub new: String,
    file: Editable,
}

impl FixedContract {
    /// Writes it.
    ///
    /// # Errors
    /// It cannot be written, or has changed meanwhile.
    pub fn write(&self) -> Result<(), Failure> {
        self.file.rewrite(self.new.as_bytes()).map_err(|e| {
            let message = format!("`{}` cannot be written: {e}", self.name);
            Failure::contract("vplan::audit::write", message)
        })
    }
}

/// Returns git, which is needed to list tracked and ignored files.
fn usable_git(site: &Site) -> Result<&Git, Failure> {
    let message = "an audit asks git which files it tracks, and this is no repository of git";
    let missing = || Failure::setup("vplan::audit::no_git", message);
    site.usable_git().ok_or_else(missing)
}

/// Returns the verification that observes the requested checks.
fn observing(asked: &AuditRequest, contract: &Contract, site: &Site) -> VerifyRequest {
    let mut request = asked.verify.clone();
    request.observe = true;
    request.reuse = Use::Keep;
    request.plan.changes = Some(ChangeSource::All);
    request.plan.request.keep_going = true;
    request.plan.request.no_recover = true;
    request.plan.request.min_tier = EVERY_TIER;
    request.plan.request.names.clone_from(&asked.names);
    if request.plan.request.names.is_empty() {
        let facts = sought(contract, site);
        let commands = contract.checks.iter().filter(|check| check.named);
        let commands = commands.filter(|check| has_its_files(contract, check, &facts));
        let names = commands.map(|check| Selector::Name(check.id.clone()));
        request.plan.request.names = names.collect();
    }
    request
}

/// Answers the conditions of a contract on existing files, for the present tree.
fn sought(contract: &Contract, site: &Site) -> Facts {
    let questions = contract.sought().into_iter().map(Question::exists);
    let ground = FactSources {
        root: &site.root,
        git: site.usable_git(),
        base: None,
        changes: &ChangeSet::default(),
    };
    facts::answer(&questions.collect(), &ground).unwrap_or_default()
}

/// Whether the conditions on existing files around a check hold in one of its places. Unknown
/// answers count as met.
fn has_its_files(contract: &Contract, check: &Check, facts: &Facts) -> bool {
    let answer = |sought: &Sought| match facts.get(&Question::exists(sought)) {
        Some(FactAnswer::Word(word)) => *word,
        _ => Certainty::Unknown,
    };
    let is_met = |condition: &Condition| {
        let Some(all) = condition.test.sought() else {
            return true;
        };
        let is_there = |sought: &Sought| answer(sought) == Certainty::Yes;
        all.iter().any(|one| answer(one) == Certainty::Unknown)
            || holds(&condition.test, "", &ChangeSet::default(), is_there)
    };
    let mut places = check.placements.iter();
    places.any(|place| contract.around(place).all(is_met))
}

fn recorded(history: &History, id: &str) -> Result<Recorded, Failure> {
    let unreadable = |why: io::Error| {
        let message = format!("the run `{}` {why}", visible(id));
        Failure::setup("vplan::audit::records", message)
    };
    let report = history.report(id).map_err(unreadable)?;
    let plan = history.plan(id).map_err(unreadable)?;
    let plan = plan.ok_or_else(|| unreadable(io::Error::other("has no plan")))?;
    let ended = report.iter().flat_map(|report| &report.steps);
    let failed = ended.filter(|step| !step.status.is_pass());
    Ok(Recorded {
        id: id.to_owned(),
        failed: failed.map(|step| step.id.clone()).collect(),
        tree: report.and_then(|report| report.tree).unwrap_or_default(),
        steps: observed(history, id, &plan),
        plan,
    })
}

fn observed(history: &History, id: &str, plan: &Plan) -> BTreeMap<String, Observed> {
    history.observed(id, plan.steps.iter().map(|step| step.id.as_str()))
}

/// Returns the observed runs of a contract, newest first.
fn all_recorded(history: &History, contract: &str) -> Result<Vec<Recorded>, Failure> {
    let ids = history.ids()?;
    let runs = ids
        .iter()
        .take(LOOKED_AT)
        .filter_map(|id| recorded(history, id).ok());
    let is_of_this = |run: &Recorded| {
        let own = run.plan.contract.as_ref();
        own.is_some_and(|own| own.path == contract) && !run.steps.is_empty()
    };
    let runs: Vec<Recorded> = runs.filter(is_of_this).collect();
    if runs.is_empty() {
        let message = format!("no observed run of `{contract}` is recorded");
        return Err(Failure::usage("vplan::audit::records", message)
            .help("`vplan audit` makes one, and so does `vplan run --observe`"));
    }
    Ok(runs)
}

/// Returns the folders of the programs that steps start, with the files around them that a fully
/// confined step may read.
fn toolchain(site: &Site, home: Option<&Word>) -> Result<Vec<Word>, Failure> {
    let root = Root::open(&site.root).map_err(|e| {
        let message = format!("the repository cannot be opened: {e}");
        Failure::setup("vplan::audit::root", message)
    })?;
    let environment = Environment::of_this_process(&root, Grants::default());
    let home = home.map(|home| Path::new(OsStr::from_bytes(home.as_bytes())));
    let folders = Outside::new(root.path(), home).of_programs(environment.search());
    Ok(folders.iter().map(|path| word(path)).collect())
}

fn word(path: &Path) -> Word {
    Word::new(path.as_os_str().as_bytes())
}
