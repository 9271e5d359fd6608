//! `vplan gate begin`: records where the work of a subject begins.

use crate::command::answer::*;
use vplan_engine::continuation::site_identity;
use vplan_engine::failure::invalid;
use vplan_engine::subject::{SubjectBase, check_name};
use vplan_git::environment;
use vplan_git::error::GitError;
use vplan_ledger::Terms;
use vplan_ledger::began::Began;
use vplan_ledger::contract_mark::ContractMark;
use vplan_repo::changes::{BaseRevision, base};
use vplan_repo::ledger_file::{LedgerFile, PATIENCE};
use vplan_repo::load::Loaded;
use vplan_store::records::wall_clock;

/// `vplan gate begin`
#[derive(Debug, Args)]
pub struct BeginArgs {
    /// The subject: a task, a milestone.
    #[arg(long, value_name = "NAME")]
    pub subject: String,
    /// Begin at the merge base of this revision and HEAD; without it where a change begins by
    /// default.
    #[arg(long, value_name = "REV")]
    pub base: Option<String>,
}

/// The beginning of a subject.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::command) struct Begun<'a> {
    /// The commit that its rounds compare with.
    base: &'a str,
    /// Its name.
    subject: &'a str,
}

/// Writes down where a subject begins.
///
/// # Errors
/// No such revision, or a subject that has begun elsewhere (exit 2), a contract that is missing or
/// invalid (exit 3), a ledger that cannot be used (exit 5).
pub fn begin(global: &Global, args: &BeginArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    check_name(&args.subject)?;
    let site = global.engine().locate()?;
    let loaded = global.engine().load_contract(&site)?;
    let Some(contract) = &loaded.contract else {
        return Err(invalid(loaded));
    };
    let mark = ContractMark {
        path: Some(loaded.path.clone()),
        ..ContractMark::new(contract)
    };
    let gate = Terms::from_gate(Some(&contract.gate));
    let contract = contract.digest.clone();
    let SubjectBase { commit, assumed } = place(global, &site, &loaded, args.base.as_deref())?;
    let base = commit.to_string();
    let file = LedgerFile::new(global.engine().state(&site)?);
    file.change(PATIENCE, |ledger| {
        let entry = ledger.entry(&args.subject);
        match entry.and_then(|e| e.began.as_ref()?.base.as_ref()) {
            Some(known) if *known == base => Ok((ledger.clone(), ())),
            Some(known) => Err(elsewhere(&args.subject, known)),
            None => {
                let gate = entry.map_or(gate, |entry| gate.applicable(entry));
                let began = Began {
                    assumed,
                    base: Some(base.clone()),
                    contract: Some(contract),
                    gate,
                };
                let mut next = ledger.clone();
                next.begin(&args.subject, &wall_clock(), began);
                next.bind(&args.subject, Some(mark.clone()), site_identity(&site));
                Ok((next, ()))
            }
        }
    })?;
    let (base, subject) = (base.as_str(), args.subject.as_str());
    let begun = versioned(Begun { base, subject });
    answer(terminal, format, &begun, || {
        let guessed = assumed.then_some(", which is HEAD: no default branch is known");
        let guessed = guessed.unwrap_or_default();
        let short: String = base.chars().take(12).collect();
        format!("{} begins at {short}{guessed}\n", visible(subject))
    });
    Ok(Exit::Success.code())
}

fn place(
    global: &Global,
    site: &Site,
    loaded: &Loaded,
    revision: Option<&str>,
) -> Result<SubjectBase, Failure> {
    let found = match revision {
        None => global.engine().by_default(site, Some(loaded))?,
        Some(revision) => {
            let git = site.git.as_ref().map_err(GitError::clone)?;
            let named = BaseRevision::Revision(revision.to_owned());
            let commit = base(git, &named, &environment)?.commit;
            let assumed = false;
            Some(SubjectBase { commit, assumed })
        }
    };
    found.ok_or_else(|| {
        let message = "there is no commit yet at which a subject could begin";
        Failure::usage("vplan::usage::subject_base", message)
            .help("commit something first; a round needs no `gate begin`")
    })
}

fn elsewhere(subject: &str, base: &str) -> Failure {
    let short: String = base.chars().take(12).collect();
    let name = visible(subject);
    let message = format!("the subject `{name}` has begun at {short}");
    let help = format!("`vplan gate reset --subject '{name}'` forgets it, with all of its rounds");
    Failure::usage("vplan::usage::subject_base", message).help(help)
}
