//! Checks that a request fits a contract, and builds the parts of a plan that depend on no check.

use super::error::{self, PlanError};
use super::inclusion::{Input, RequestedCommand};
use super::proposal::Proposal;
use super::request::{Mode, Request, RequestRecord, Selector};
use super::{ContractRef, Note, Origin, Plan, Policy, canonical, step};
use std::collections::BTreeSet;
use vplan_base::canon::Digest;
use vplan_base::carried::{Carried, listed};
use vplan_base::folders::FolderAnswers;
use vplan_base::index::Dense;
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::Open;
use vplan_base::word::visible;

use vplan_contract::draft::{Imported, Rows};
use vplan_contract::{BUILT_IN_ROLES, Contract, Gate, Limits, RecoverPolicy, Role, Scope};

/// Returns the request's role, if it is one of the contract's: the check of a request that needs no
/// facts or proposer.
///
/// # Errors
/// The contract has no such role.
pub fn known_role<'a>(contract: &Contract, request: &'a Request) -> Result<&'a str, PlanError> {
    let role = request.role.as_deref().unwrap_or("worker");
    if contract.roles.contains_key(role) {
        return Ok(role);
    }
    let known = contract.roles.keys().map(String::as_str);
    Err(PlanError::unknown(error::UNKNOWN_ROLE, "role", role, known))
}

impl<'a> Input<'a> {
    /// Returns the explicit commands, then the proposed and inferred ones, with their ids.
    pub fn commands(&self) -> Vec<RequestedCommand<'a>> {
        let request = self.request;
        // Skips collecting the ids of many thousand checks where no command needs one.
        let none = request.explicit.is_empty()
            && request.inferred.is_empty()
            && request.proposal.is_none();
        if request.mode == Mode::Off || none {
            return Vec::new();
        }
        let ids = self.contract.checks.iter().map(|c| c.id.clone());
        let mut taken: BTreeSet<String> = ids.collect();
        let mut commands: Vec<RequestedCommand> = Vec::new();
        for (asked, carried) in listed(request.explicit.iter().map(|c| (c, &c.command))).commands {
            let (command, verb) = (&asked.command, asked.verb);
            // A repetition is merged later; it must not use up an id.
            let same = |a: &&RequestedCommand| {
                a.command == command && a.verb == verb && a.carried == carried
            };
            let id = match commands.iter().find(same) {
                Some(before) => before.id.clone(),
                None => step::id_of_command(command, &mut taken),
            };
            commands.push(RequestedCommand {
                command,
                verb,
                carried,
                id,
                origin: Origin::Explicit,
                describe: None,
            });
        }
        let mode = self.request.mode;
        if matches!(mode, Mode::Llm | Mode::Hybrid) {
            for (asked, why) in self.request.proposal.iter().flat_map(|p| &p.commands) {
                commands.push(RequestedCommand {
                    command: &asked.command,
                    verb: asked.verb,
                    carried: Carried::default(),
                    id: step::id_of_command(&asked.command, &mut taken),
                    origin: Origin::Proposed,
                    describe: why.as_deref(),
                });
            }
        }
        if mode == Mode::Hybrid || (self.declared.is_none() && mode == Mode::Fallback) {
            for (id, command) in &self.request.inferred {
                commands.push(RequestedCommand {
                    command,
                    verb: None,
                    carried: Carried::default(),
                    id: step::unique(id.clone(), &mut taken),
                    origin: Origin::Inferred,
                    describe: None,
                });
            }
        }
        commands
    }

    pub(crate) fn check_names(&self, commands: &[RequestedCommand]) -> Result<(), PlanError> {
        let mut skipped = self.request.skip.iter();
        if let Some(skip) = skipped.find(|s| s.reason.trim().is_empty()) {
            let message = format!("skipping `{}` needs a reason", visible(&skip.name));
            let help = Some("say why with `--reason`; it is recorded in the plan".to_owned());
            return Err(PlanError::new(error::BLANK_REASON, message, help));
        }
        let ids = || {
            let checks = self.contract.checks.iter().map(|c| c.id.as_str());
            checks.chain(commands.iter().map(|c| c.id.as_str()))
        };
        let unknown_check = |name: &str| {
            let code = error::UNKNOWN_CHECK;
            Err(PlanError::unknown(code, "check", name, ids()))
        };
        let Request {
            names, only, skip, ..
        } = self.request;
        if self.request.mode == Mode::Off
            || (names.is_empty() && only.is_empty() && skip.is_empty())
        {
            return Ok(());
        }
        let known: BTreeSet<&str> = ids().collect();
        let tags = self.contract.checks.iter().flat_map(|c| &c.tags);
        let known_tags: BTreeSet<&str> = tags.map(String::as_str).collect();
        for selector in names.iter().chain(only) {
            match selector {
                Selector::Name(_) if !known.iter().any(|id| selector.selects(id, &[])) => {
                    return unknown_check(&selector_text(selector));
                }
                Selector::Tag(tag) if !known_tags.contains(tag.as_str()) => {
                    let known = known_tags.iter().copied();
                    return Err(PlanError::unknown(error::UNKNOWN_TAG, "tag", tag, known));
                }
                Selector::Name(_) | Selector::Tag(_) => {}
            }
        }
        match skip.iter().find(|s| !known.contains(s.name.as_str())) {
            Some(skip) => unknown_check(&skip.name),
            None => Ok(()),
        }
    }

    /// Returns the plan without steps, omitted checks, tiers and facts.
    pub fn frame(&self) -> Plan {
        let request = self.request;
        let lesser = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        let sorted = |list: &[Selector]| {
            let each_once: BTreeSet<String> = list.iter().map(selector_text).collect();
            each_once.into_iter().collect()
        };
        let mut skip = request.skip.clone();
        skip.sort();
        skip.dedup_by(|b, a| a.name == b.name);

        let recover = &self.contract.recover;
        let import = |i: &Imported| ContractRef {
            digest: i.digest.clone(),
            imports: Vec::new(),
            path: i.name.clone(),
        };
        let reference = |c: &Contract| {
            let mut imports: Vec<ContractRef> = c.imports.iter().map(import).collect();
            imports.sort_by(|a, b| a.path.cmp(&b.path));
            ContractRef {
                digest: c.digest.clone(),
                imports,
                path: c.path.clone(),
            }
        };
        let jobs = request.jobs.or(self.contract.limits.jobs);
        let rules = recover.rules.iter().filter(|_| !request.no_recover);
        Plan {
            contract: self.declared.map(reference),
            notes: self.notes(),
            policy: Policy {
                budget_ms: lesser(request.budget_ms, self.contract.limits.budget_ms),
                fail_fast: !request.keep_going,
                jobs: jobs.unwrap_or(Policy::JOBS).at_least_one(),
                recover: rules.copied().map(Open::Known).collect(),
                recover_contract: recover.contract,
            },
            request: RequestRecord {
                base: request.base.clone().filter(|_| !request.in_version_1),
                boundaries: request.sorted_boundaries(),
                changed: request.changed.clone(),
                changed_from: request.changed_from.clone(),
                changed_in: request.changed_in.filter(|_| !request.in_version_1),
                explicit: request.explicit_texts(),
                min_tier: request.min_tier,
                mode: request.mode,
                names: sorted(&request.names),
                only: sorted(&request.only),
                proposal: request.proposal.as_ref().map(Proposal::reference),
                risk: request.risk,
                role: self.role.to_owned(),
                skip,
            },
            version: match request.in_version_1 {
                true => canonical::FIRST,
                false => canonical::VERSION,
            },
            ..Plan::of_steps(Vec::new())
        }
    }

    pub fn notes(&self) -> Vec<Note> {
        let off = self.request.mode == Mode::Off;
        let gone = if off {
            Vec::new()
        } else {
            listed(self.request.explicit.iter().map(|c| (c, &c.command))).gone
        };
        let carried = gone.into_iter().map(|command| {
            let text = visible(command.to_text());
            let message = format!("`{text}` is carried into the commands after it");
            Note::new("carried", message)
        });
        let Some(contract) = self.declared else {
            let without =
                (!off).then(|| Note::new("no-contract", "there is no contract".to_owned()));
            return without.into_iter().chain(carried).collect();
        };
        let path = RepoPath::parse(contract.path.as_bytes()).ok();
        let lock = path.as_ref().map(|p| p.with_ending(b".lock.kdl"));
        let files = [(path, "the contract"), (lock, "the contract's lock")].into_iter();
        let imports = contract.imports.iter();
        let files = files.chain(imports.map(|i| (i.path.clone(), "the imported contract")));
        let changed = files.filter_map(|(path, what)| {
            let path = path.filter(|p| self.request.changed.contains(p))?;
            let message = format!("{what} `{path}` is itself among the changed files");
            Some(Note {
                path: Some(path),
                ..Note::new("contract-changed", message)
            })
        });
        let outside = super::scope::outside(&contract.scope, &self.request.changed);
        changed.chain(outside).chain(carried).collect()
    }
}

fn selector_text(selector: &Selector) -> String {
    match selector {
        Selector::Name(name) => name.clone(),
        Selector::Tag(tag) => format!("tag:{tag}"),
    }
}

/// Returns the substitute for a contract where there is none: the built-in roles, and nothing else.
pub fn without_contract() -> Contract {
    let role = |role: &&str| ((*role).to_owned(), Role::default());
    Contract {
        name: None,
        path: String::new(),
        digest: Digest::hash(b""),
        base: None,
        linked: Vec::new(),
        formats: Default::default(),
        imports: Vec::new(),
        importers: [None].into_iter().collect(),
        checks: Dense::default(),
        conditions: Dense::default(),
        risks: Vec::new(),
        sequences: Vec::new(),
        roles: BUILT_IN_ROLES.iter().map(role).collect(),
        limits: Limits::default(),
        scope: Scope::default(),
        recover: RecoverPolicy::default(),
        gate: Gate::default(),
        toolchains: Default::default(),
        judge_with: None,
        expects: Vec::new(),
        rows: Rows::default(),
        taken_out: Vec::new(),
        folders: FolderAnswers::new(),
        services: Default::default(),
        allowed: Vec::new(),
    }
}
