//! Converts the arguments of a command line to a request to the engine.

use super::args::{ChangesArgs, DenyArgs, RequestArgs, RunArgs, Saved};
use super::reports::Reports;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;
use vplan_base::command::is_env_name;
use vplan_base::word::{visible, visible_path};
use vplan_check::confine::Confinement;
use vplan_check::verb::CommandRequest;
use vplan_engine::propose::command_text;
use vplan_engine::request::{PlanFile, command_request, selector};
use vplan_engine::saved::read_division;
use vplan_engine::{self as engine, Failure, PlanRequest, VerifyRequest};
use vplan_os::environment::Grants;
use vplan_os::{files, input, view};
use vplan_plan::audit::FindingKind;
use vplan_plan::request::{self as plan, Boundary, Skip};
use vplan_repo::changes::{BaseRevision, ChangeSource};
use vplan_store::history::Keep;

/// Limit of a list of changed files or commands, in bytes.
const MAX_LIST: u64 = 256 << 20;

impl RequestArgs {
    /// Reads what is to be planned and not run, with the files and the standard input that the flags
    /// name.
    ///
    /// # Errors
    /// Flags that do not fit together, files that cannot be read (exit 2).
    pub fn planned(&self) -> Result<PlanRequest, Failure> {
        self.denied_findings(false)?;
        self.plan_request()
    }

    /// Returns the kinds of findings that `--deny` refuses; only a run that observes has any.
    fn denied_findings(&self, observes: bool) -> Result<Vec<FindingKind>, Failure> {
        let kind = |deny: &DenyArgs| match deny {
            DenyArgs::Finding(kind) => Some(*kind),
            DenyArgs::Step(_) => None,
        };
        let kinds: Vec<_> = self.deny.iter().filter_map(kind).collect();
        match kinds.first() {
            Some(kind) if !observes => {
                let message = format!("`--deny {kind}` is about what steps are seen to do");
                Err(Failure::usage("vplan::usage::deny", message)
                    .help("`vplan run --observe` sees it"))
            }
            _ => Ok(kinds),
        }
    }

    fn plan_request(&self) -> Result<PlanRequest, Failure> {
        let level = self.sandbox.unwrap_or_default();
        let changes = self.changes.source()?;
        Ok(PlanRequest {
            request: plan::Request {
                role: self.role.clone(),
                risk: self.risk,
                boundaries: boundaries(self.milestone_end, self.run_end, self.last),
                min_tier: self.min_tier,
                explicit: self.explicit()?,
                mode: self.mode,
                only: self.only.iter().map(|o| selector(o)).collect(),
                skip: self.skips()?,
                jobs: self.jobs,
                budget_ms: self.budget,
                keep_going: self.keep_going,
                no_recover: self.no_recover,
                confinement: Confinement {
                    level,
                    network: self.network.unwrap_or(level.usual_network()),
                },
                ..plan::Request::default()
            },
            changes,
            proposer: self.proposer.clone(),
            proposer_timeout: Some(Duration::from_millis(self.proposer_timeout)),
            no_preflight: self.no_preflight,
            deny: self.denied_steps().collect(),
            contract_from: self.contract_from.clone(),
        })
    }

    fn denied_steps(&self) -> impl Iterator<Item = engine::request::Deny> {
        self.deny.iter().filter_map(|deny| match deny {
            DenyArgs::Step(step) => Some(*step),
            DenyArgs::Finding(_) => None,
        })
    }

    fn explicit(&self) -> Result<Vec<CommandRequest>, Failure> {
        let mut commands = commands(&self.command)?;
        if let Some(path) = &self.commands_from {
            let of = visible_path(path);
            for text in listed(path)? {
                commands.push(command_request(&of, &text)?);
            }
        }
        Ok(commands)
    }

    fn skips(&self) -> Result<Vec<Skip>, Failure> {
        let reasons = match (self.reason.as_slice(), self.skip.len()) {
            ([one], count) => vec![one.clone(); count],
            (many, count) if many.len() == count => many.to_vec(),
            (many, count) => {
                let message = format!("{count} `--skip` and {} `--reason`", many.len());
                return Err(Failure::usage("vplan::usage::skip_reason", message)
                    .help("one reason for each, or one for all"));
            }
        };
        let skips = self.skip.iter().cloned().zip(reasons);
        Ok(skips.map(|(name, reason)| Skip { name, reason }).collect())
    }
}

impl ChangesArgs {
    fn source(&self) -> Result<Option<ChangeSource>, Failure> {
        Ok(if !self.changed.is_empty() {
            let paths = self.changed.iter().map(|p| p.as_bytes().to_vec());
            Some(ChangeSource::Named(paths.collect()))
        } else if let Some(path) = &self.changed_from {
            Some(ChangeSource::From {
                bytes: read(path)?,
                format: self.changed_format,
                nul: self.null,
            })
        } else if let Some(name) = &self.base {
            Some(ChangeSource::Base(base(name)))
        } else if self.staged {
            Some(ChangeSource::Staged)
        } else if self.all {
            Some(ChangeSource::All)
        } else if self.changed_none {
            Some(ChangeSource::None)
        } else {
            None
        })
    }
}

impl Saved {
    /// Checks that what is about a plan file names one.
    fn fits(&self) -> Result<(), Failure> {
        // Combined with a flag of the request, clap does not enforce `requires = "plan"`.
        let flag = match (&self.plan, self.allow_drift, self.plan_as_is) {
            (None, true, _) => "--allow-drift",
            (None, _, true) => "--plan-as-is",
            _ => return Ok(()),
        };
        let message = format!("`{flag}` is about a plan file");
        let failure = Failure::usage("vplan::usage::plan", message);
        Err(failure.help("name it with `--plan FILE`"))
    }
}

impl RunArgs {
    /// Reads what is to be verified.
    ///
    /// # Errors
    /// Flags that do not fit together, files that cannot be read (exit 2).
    pub fn verified(&self) -> Result<VerifyRequest, Failure> {
        let grants = self.grants()?;
        self.saved.fits()?;
        let Reports { junit, sarif, .. } = &self.reports;
        let own = [&self.events, &self.records, junit, sarif];
        let deny_findings = self.request.denied_findings(self.observe)?;
        let mut plan = self.request.plan_request()?;
        plan.request.names = self.names.iter().map(|name| selector(name)).collect();
        let division = self.saved.division.as_deref().map(read_division);
        let division = division.transpose()?;
        Ok(VerifyRequest {
            observe: self.observe,
            deny_findings,
            plan,
            file: self.saved.plan.clone().map(|path| PlanFile {
                path,
                allow_drift: self.saved.allow_drift,
                as_is: self.saved.plan_as_is,
            }),
            expect_digest: self.saved.expect_digest.clone(),
            shard: self.saved.shard,
            division,
            allow_contract_change: self.allow_contract_change.clone(),
            subject: self.round.subject.clone(),
            status: self.round.status,
            attempt: Some(self.attempt),
            require: self.require.unwrap_or_default(),
            require_subtree: self.require_containment.unwrap_or_default(),
            sandbox_missing: self.sandbox_missing,
            sandbox_stores: self.sandbox_store.clone(),
            judge: self.judge.clone(),
            grants,
            max_output: Some(self.max_output),
            records: self.records.clone(),
            keep: Keep {
                runs: self.keep_runs.try_into().unwrap_or(usize::MAX),
                bytes: self.keep_bytes,
            },
            reuse: self.reuse.reuse(),
            cache: self.reuse.cache(self.tls.files()),
            remote: self.remote.asked(self.tls.files()),
            own_files: own.into_iter().flatten().cloned().collect(),
        })
    }

    fn grants(&self) -> Result<Grants, Failure> {
        if let Some(name) = self.grant_env.iter().find(|n| !is_env_name(n)) {
            let message = format!("`{}` is no name of a variable", visible(name));
            return Err(Failure::usage("vplan::usage::grant_env", message)
                .help("`--grant-env NAME`, without a value"));
        }
        Ok(Grants {
            names: self.grant_env.iter().cloned().collect(),
            inherit: self.inherit_env,
            capabilities: self.keep_capabilities,
        })
    }
}

/// Reads the commands of `--command`.
pub(crate) fn commands(texts: &[OsString]) -> Result<Vec<CommandRequest>, Failure> {
    let read = |text: &OsString| command_request("--command", command_text(text)?);
    texts.iter().map(read).collect()
}

/// The revision that `--base` names.
pub fn base(name: &str) -> BaseRevision {
    match name {
        "auto" => BaseRevision::Auto,
        name => BaseRevision::Revision(name.to_owned()),
    }
}

/// The boundaries that the change completes: `--milestone-end`, `--run-end`, `--last`.
pub fn boundaries(milestone_end: bool, run_end: bool, last: bool) -> Vec<Boundary> {
    let mut list = Vec::new();
    list.extend((milestone_end || last).then_some(Boundary::MilestoneEnd));
    list.extend((run_end || last).then_some(Boundary::RunEnd));
    list
}

/// Reads a file that the command line names, or standard input for `-`.
///
/// # Errors
/// A file that cannot be read is a usage error.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = if path == Path::new("-") {
        input::standard(MAX_LIST)
    } else {
        files::read_plain(&view::outside(path), MAX_LIST)
    };
    read.map_err(|e| Failure::unreadable(&visible_path(path), e))
}

/// Reads a list of commands: one a line, or a JSON array.
fn listed(path: &Path) -> Result<Vec<String>, Failure> {
    let wrong = |why: &str| {
        let shown = visible_path(path);
        Failure::usage("vplan::usage::commands", format!("`{shown}` {why}"))
            .help("one command a line, or a JSON array of strings")
    };
    let text = String::from_utf8(read(path)?).map_err(|_| wrong("is not UTF-8"))?;
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(&text)
            .map_err(|e| wrong(&format!("is no JSON array of strings: {e}")));
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    Ok(lines.map(str::to_owned).collect())
}
