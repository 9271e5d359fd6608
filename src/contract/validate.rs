//! Validates a draft into a contract, and reports all errors at once.
//!
//! This file walks the draft; other modules interpret its parts: `resolve` (names),
//! `selection` (globs), `settings` and `body` (checks), `order` (`needs`, `sequence`, tiers),
//! `machine` (`on`), `policy` (everything about the whole contract).

use super::caps::Caps;
use super::checker::{Checker, Resolved, Services};
use super::draft::{self, At, CheckEntry, Draft};
use super::error::{
    ADD_INPUTS, CHANGED_IN_NONE, IMPORT, NO_CHECKS, READS_WITHOUT_SANDBOX, SANDBOX_WITHOUT_INPUTS,
    SHARED_WITHOUT_INPUTS, SHARED_WITHOUT_SANDBOX, SHARED_WITHOUT_TOOLCHAIN, TIER_AROUND_USE,
    TOO_MANY_CHECKS, UNKNOWN_ROLE,
};
use super::import;
use super::order::Edges;
use super::resolve::{Names, derive_ids, line};
use super::settings::{Defaults, Values, quoted_list};
use super::{
    AllowedImport, ChangedPart, Check, CheckIndex, Condition, ConditionIndex, Contract,
    InclusionIndex, Placement, Sought, TakenOut, Test,
};
use std::collections::BTreeMap;
use vplan_base::canon::Digest;
use vplan_base::diagnostic::{Diagnostic, Diagnostics};
use vplan_base::index::Dense;
use vplan_base::path::RepoPath;
use vplan_base::setting::{LEAVING, Row};
use vplan_base::source::Sources;
use vplan_base::span::Place;
use vplan_base::word::visible;
use vplan_check::confine::SandboxLevel;

/// Checks a draft. The sink receives errors and warnings; `None` means that it holds an error now,
/// be it from here or from the front end.
pub fn validate(draft: &Draft, sources: &Sources, sink: &mut Diagnostics) -> Option<Contract> {
    validate_within(draft, sources, &Caps::default(), sink)
}

/// The same under other limits.
pub(crate) fn validate_within(
    draft: &Draft,
    sources: &Sources,
    caps: &Caps,
    sink: &mut Diagnostics,
) -> Option<Contract> {
    let (count, most) = (draft.checks().count(), caps.checks);
    if let Some(first) = draft.checks().nth(most) {
        let message = format!("the contract has {count} checks, {most} are the most");
        let error = Diagnostic::error(TOO_MANY_CHECKS, message);
        sink.push(error.label(first.place, "the first one too many"));
        return None;
    }
    // Where the text itself had faults, a missing part is most likely one of them and has been
    // reported.
    let incomplete = sink.has_errors();
    let mut own = Diagnostics::default();
    let names = Names::collect(draft, caps, incomplete, &mut own);
    let mut checker = Checker {
        draft,
        sources,
        caps: *caps,
        incomplete,
        ids: derive_ids(&names),
        names,
        paths: Resolved::default(),
        services: Services::default(),
        formats: BTreeMap::new(),
        machines: BTreeMap::new(),
        sink: &mut own,
    };
    let contract = checker.contract();
    if !draft.inclusions.is_empty() {
        import::each_once(&mut own, draft);
    }
    draft.rows.name_in(&mut own);
    sink.append(own);
    if sink.has_errors() { None } else { contract }
}

impl Checker<'_> {
    fn contract(&mut self) -> Option<Contract> {
        self.report_imports();
        self.report_tier_blocks();
        if self.names.defined.is_empty() && !self.incomplete {
            self.report(Diagnostic::warning(
                NO_CHECKS,
                "the contract has no checks, so it verifies nothing",
            ));
        }
        self.resolve_paths();
        self.read_services();
        self.read_formats();
        self.read_machines();
        let conditions = self.conditions();
        let draft = self.draft;
        let all = std::iter::once((&draft.defaults, &draft.verb_defaults))
            .chain((draft.inclusions.iter()).map(|used| (&used.defaults, &used.verb_defaults)));
        let defaults: Dense<InclusionIndex, Defaults> = all
            .map(|(settings, of_verbs)| self.read_defaults(settings, of_verbs))
            .collect();
        let placements = self.placements();
        let defined = self.names.defined.clone();
        let values: Dense<CheckIndex, Values> =
            defined.iter().map(|check| self.read_check(check)).collect();
        let tiers: Dense<CheckIndex, u8> = defined
            .iter()
            .zip(&values)
            .map(|(check, own)| own.tier_in(check.tier_block.as_ref()))
            .collect();
        let sequences = self.order(&Edges {
            tiers: &tiers,
            needs: values.iter().map(|v| v.needs.as_slice()).collect(),
        });
        let checks = self.checks(values, placements, &tiers, &defaults);
        let risks = self.risks();
        let roles = self.roles(&checks);
        let (limits, scope, recover, gate) = self.policy();
        let contract = Contract {
            name: self.contract_name(),
            base: self.base(),
            linked: self.linked(),
            formats: self.definitions(),
            path: self.draft.path.clone(),
            digest: self
                .draft
                .digest
                .clone()
                .unwrap_or_else(|| Digest::hash(b"")),
            imports: self.draft.imported.clone(),
            importers: importers(&self.draft.inclusions),
            limits,
            scope,
            recover,
            gate,
            toolchains: self.toolchains(),
            judge_with: self.judge_with(),
            expects: self.expects(),
            rows: self.draft.rows.clone(),
            taken_out: self.taken_out(),
            folders: self.draft.folders.clone(),
            allowed: self.allowed(),
            services: self.service_places(),
            checks: checks
                .into_iter()
                .collect::<Option<_>>()
                .unwrap_or_default(),
            conditions: conditions.unwrap_or_default(),
            risks,
            sequences,
            roles,
        };
        self.report_unused_paths();
        self.report_unused_services();
        self.report_unused_formats();
        self.report_unused_machines();
        self.report_shared_without_toolchain(&contract);
        // Whatever is missing above was reported, and then this value is not used.
        (!self.sink.has_errors()).then_some(contract)
    }

    /// Reports `tier` blocks of a tier that does not exist, each once.
    fn report_tier_blocks(&mut self) {
        let blocks: BTreeMap<Place, u8> = self
            .names
            .defined
            .iter()
            .filter_map(|c| c.tier_block.as_ref())
            .map(|b| (b.place, b.value))
            .collect();
        for (place, tier) in blocks {
            self.tier(tier, place);
        }
    }

    fn report_imports(&mut self) {
        for import in self.draft.imports.iter().filter(|_| !self.incomplete) {
            let message = format!("`{}` was not imported", visible(&import.source.value));
            let label = "this text was read on its own, without other files";
            let error = Diagnostic::at(IMPORT, message, import.place, label);
            self.sink.push(error);
        }
    }

    fn conditions(&mut self) -> Option<Dense<ConditionIndex, Condition>> {
        let heads = self.draft.conditions.iter();
        let all: Vec<_> = heads.map(|head| self.condition(head)).collect();
        all.into_iter().collect()
    }

    fn condition(&mut self, head: &draft::At<draft::Condition>) -> Option<Condition> {
        let test = match &head.value {
            draft::Condition::Role(roles) => {
                let mut known = Vec::with_capacity(roles.len());
                for role in roles {
                    if !self.names.roles.contains(role.value.as_str()) {
                        let roles = self.names.roles.iter().copied();
                        let mut error =
                            self.names
                                .unknown(UNKNOWN_ROLE, "role", role.as_ref(), roles);
                        if let Some(block) = self.left_behind(role) {
                            error = error.label(block, "this block stays with its file");
                            let role = &role.value;
                            let help = format!("write a block `role {role}` into the contract too");
                            error.help = Some(help);
                        }
                        self.report(error.or_help(|| {
                            let list = quoted_list(&self.names.roles);
                            format!("known are {list}; a `role` block makes another one known")
                        }));
                    }
                    if !known.contains(&role.value) {
                        known.push(role.value.clone());
                    }
                }
                Test::Role(known)
            }
            draft::Condition::ChangedAny(items) => Test::ChangedAny(self.selection(items)?),
            draft::Condition::ChangedAll(items) => Test::ChangedAll(self.selection(items)?),
            draft::Condition::ChangedOnly(items) => Test::ChangedOnly(self.selection(items)?),
            draft::Condition::ChangedNone(items) => Test::ChangedNone(self.selection(items)?),
            draft::Condition::Exists(all) => Test::Exists(self.sought(all)?),
            draft::Condition::ExistsAny(all) => Test::ExistsAny(self.sought(all)?),
            draft::Condition::Absent(all) => Test::Absent(self.sought(all)?),
        };
        Some(Condition {
            line: line(self.sources, head.place),
            place: head.place,
            test,
        })
    }

    /// The block that makes a role known in the imported file that names it, but not here.
    fn left_behind(&self, role: &draft::At<String>) -> Option<Place> {
        let all = self.draft.inclusions.iter();
        let mut same = all.filter(|i| i.source == role.place.source);
        same.find_map(|i| i.roles.iter().find(|r| r.value == role.value))
            .map(|r| r.place)
    }

    /// What a condition asks the existence of, all looked at before one is refused.
    fn sought(&mut self, all: &[draft::Sought]) -> Option<Vec<Sought>> {
        let mut known = Vec::with_capacity(all.len());
        for sought in all {
            let At { value, place } = &sought.text;
            known.push(if sought.is_glob {
                self.glob(value, *place, sought.inner).map(Sought::Glob)
            } else {
                self.path("the path", value, *place).map(Sought::Path)
            });
        }
        known.into_iter().collect()
    }

    /// The paths of `linked`, all looked at before one is refused.
    pub(super) fn checked_paths(
        &mut self,
        keyword: &str,
        paths: &[At<String>],
    ) -> Option<Vec<RepoPath>> {
        let mut known = Vec::with_capacity(paths.len());
        for path in paths {
            let At { value, place } = path;
            self.warn_of_path(&format!("what `{keyword}` asks for"), value, *place);
            known.push(self.path("the path", value, *place));
        }
        known.into_iter().collect()
    }

    /// Returns the places where each check applies: its definition, then each `use` of it in file
    /// order.
    fn placements(&mut self) -> Dense<CheckIndex, Vec<Placement>> {
        let mut all = Dense::default();
        for check in &self.names.defined.clone() {
            self.report_changed_in_none(check, &check.conditions, None);
            let conditions = check.conditions.clone();
            let (line, source) = (line(self.sources, check.place), check.place.source);
            all.push(vec![Placement {
                conditions,
                line,
                source,
                is_use: false,
            }]);
        }
        for entry in &self.draft.entries {
            let CheckEntry::Use {
                names,
                conditions,
                tier_block,
                place,
            } = entry
            else {
                continue;
            };
            if let Some(tier) = tier_block {
                self.report(
                    Diagnostic::error(TIER_AROUND_USE, "`use` does not change a check's tier")
                        .label(*place, format!("inside `tier {}`", tier.value))
                        .label(tier.place, "this block")
                        .help("move the `use` out of the block, or give the check its `tier`"),
                );
            }
            let named = names.iter().flat_map(|name| {
                let found = self.names.checks(name, None, self.sink);
                found.into_iter().map(move |index| (name, index))
            });
            for (name, index) in named.collect::<Vec<_>>() {
                let check = self.names.defined[index];
                self.report_changed_in_none(check, conditions, Some(name.place));
                all[index].push(Placement {
                    conditions: conditions.clone(),
                    line: line(self.sources, *place),
                    source: place.source,
                    is_use: true,
                });
            }
        }
        all
    }

    /// `{changed}` needs files that are selected; where none is, it could only ever be empty.
    fn report_changed_in_none(
        &mut self,
        check: &draft::Check,
        conditions: &[ConditionIndex],
        used: Option<Place>,
    ) {
        let verbs = check.verbs.iter().map(|verb| match &verb.value {
            draft::Verb::Command(_, command) => Some((command, verb.place)),
            _ => None,
        });
        let fixes = check
            .settings
            .iter()
            .map(|setting| match &setting.value.value {
                draft::Written::Command(command) => Some((command, setting.place)),
                _ => None,
            });
        let mut commands = verbs.chain(fixes).flatten();
        let changed = commands.find(|(command, _)| command.has_changed());
        let none = conditions
            .iter()
            .map(|c| &self.draft.conditions[*c])
            .find(|c| matches!(c.value, draft::Condition::ChangedNone(_)));
        let (Some((_, command)), Some(none)) = (changed, none) else {
            return;
        };
        let message = "`{changed}` stands for no file inside `whenChangedNone`";
        let mut error = Diagnostic::error(CHANGED_IN_NONE, message);
        if let Some(place) = used {
            error = error.label(place, "used here");
        }
        let why = "this block applies when no selected file changed";
        self.report(
            error
                .label(command, "`{changed}` is in this command")
                .label(none.place, why)
                .help("move the check out of the block, or let its command find the files itself"),
        );
    }

    /// What imports from other repositories are allowed.
    fn allowed(&self) -> Vec<AllowedImport> {
        let allowed = self.draft.allowed.iter().map(|allowed| AllowedImport {
            import: allowed.import.value.clone(),
            namespace: allowed.namespace.clone(),
            words: allowed.words.clone(),
            line: self.sources.position(allowed.import.place).line,
        });
        allowed.collect()
    }

    /// The checks that the blocks of imports take out.
    fn taken_out(&self) -> Vec<TakenOut> {
        let taken = |name: &At<String>| TakenOut {
            name: name.value.clone(),
            line: line(self.sources, name.place),
            source: name.place.source,
        };
        self.draft.taken_out.iter().map(taken).collect()
    }

    /// What the blocks of imports change of a check, each part once, in the order of the text.
    fn changed_parts(&self, changed: &[At<draft::Changed>]) -> Vec<ChangedPart> {
        let part = |part: &At<draft::Changed>| ChangedPart {
            part: match &part.value {
                draft::Changed::Verb => "command".to_owned(),
                draft::Changed::Setting(name) => name.to_string(),
            },
            line: line(self.sources, part.place),
            source: part.place.source,
        };
        changed.iter().map(part).collect()
    }

    /// A check that is confined to what it declares, and declares nothing; one that declares what nothing
    /// keeps it from.
    fn report_reads(&mut self, made: &Check, check: &draft::Check) {
        // Of a line with an error nothing is known.
        if self.incomplete {
            return;
        }
        let is_confined = made.level() >= SandboxLevel::Files;
        if is_confined && !made.has(Row::Inputs) {
            let level = made.level().name();
            let message = format!("under `sandbox {level}` a check reads only what it declares");
            let label = "has no `inputs`";
            let error = Diagnostic::at(SANDBOX_WITHOUT_INPUTS, message, check.place, label);
            self.report(error.help(ADD_INPUTS));
        }
        let mut own = check.settings.iter();
        let own = own.find(|one| one.value.row == Row::Reads);
        if let Some(own) = own.filter(|_| !is_confined) {
            let message = "without `sandbox files` it may read everything";
            let error = Diagnostic::at(READS_WITHOUT_SANDBOX, message, own.place, "allows nothing");
            self.report(error.help("add `sandbox files`, or leave `reads` out"));
        }
    }

    /// A check whose pass is shared although it may rest on more than it declares.
    fn report_shared(&mut self, made: &Check, check: &draft::Check) {
        let mut own = check.settings.iter();
        let Some(own) = own.rfind(|one| one.value.row == Row::Shared) else {
            return;
        };
        if self.incomplete || !made.has(Row::Shared) {
            return;
        }
        if !made.has(Row::Inputs) {
            let message = "what a shared pass rests on is not said";
            let label = "the check has no `inputs`";
            let error = Diagnostic::at(SHARED_WITHOUT_INPUTS, message, own.place, label);
            self.report(error.help(ADD_INPUTS));
            return;
        }
        let leaves = made.report.is_some() || LEAVING.into_iter().any(|row| made.has(row));
        let (level, why) = match (made.level(), leaves) {
            (SandboxLevel::Sealed, _) | (SandboxLevel::Files, false) => return,
            (SandboxLevel::Files, true) => {
                let why = "the check finds what an earlier run of it has written";
                (SandboxLevel::Sealed.name(), why)
            }
            _ => (
                SandboxLevel::Files.name(),
                "the check may read what it does not declare",
            ),
        };
        let message = "a pass that may rest on more than the check declares cannot be shared";
        let error = Diagnostic::at(SHARED_WITHOUT_SANDBOX, message, own.place, why);
        self.report(error.help(format!("add `sandbox {level}`, or leave `shared` out")));
    }

    /// Warns of shared passes without a declared toolchain.
    fn report_shared_without_toolchain(&mut self, contract: &Contract) {
        let shared = contract.checks.iter().find(|check| check.has(Row::Shared));
        if let Some(check) = shared.filter(|_| contract.toolchains.is_empty()) {
            let message = "passes are shared, and no `toolchain` says which programs gave them";
            self.report(
                Diagnostic::warning(SHARED_WITHOUT_TOOLCHAIN, message)
                    .label(check.place, "shares its pass")
                    .help("add for example `toolchain node: node --version`"),
            );
        }
    }

    /// Puts the checks together. `None` for those with an error.
    fn checks(
        &mut self,
        values: Dense<CheckIndex, Values>,
        placements: Dense<CheckIndex, Vec<Placement>>,
        tiers: &Dense<CheckIndex, u8>,
        defaults: &Dense<InclusionIndex, Defaults>,
    ) -> Vec<Option<Check>> {
        let ids = std::mem::take(&mut self.ids);
        let defined = self.names.defined.clone();
        let parts = defined
            .iter()
            .zip(ids)
            .zip(values.into_iter().zip(placements))
            .zip(tiers);
        parts
            .map(|(((check, id), (own, placements)), tier)| {
                let (kind, body, assignments) = self.body(check)?;
                let position = self.sources.position(check.place);
                let named = check.name.is_some();
                let defaults = &defaults[check.inclusion];
                let mut made = own.into_check(id, kind, body, defaults, &check.changed);
                made.env.extend(assignments);
                self.fill_in_services(&mut made, check);
                made.format_definition = self.definition_for(&made, check);
                self.report_reads(&made, check);
                self.report_shared(&made, check);
                self.report_on(&made, check);
                Some(Check {
                    named,
                    inclusion: check.inclusion,
                    place: check.place,
                    line: position.line,
                    column: position.column,
                    placements,
                    tier: *tier,
                    changed: self.changed_parts(&check.changed),
                    ..made
                })
            })
            .collect()
    }
}

/// Of the contract and each use of a file, which one imports it: the one that the same `import`
/// statements lead to, but for the last.
fn importers(inclusions: &[draft::Inclusion]) -> Dense<InclusionIndex, Option<InclusionIndex>> {
    let own = std::iter::once([].as_slice());
    let chains: Dense<InclusionIndex, &[Place]> = own
        .chain(inclusions.iter().map(|used| used.chain.as_slice()))
        .collect();
    let by_chain: BTreeMap<&[Place], InclusionIndex> = chains
        .numbered()
        .map(|(index, chain)| (*chain, index))
        .collect();
    let importer = |chain: &&[Place]| {
        let (_, before) = chain.split_last()?;
        by_chain.get(before).copied()
    };
    chains.iter().map(importer).collect()
}

#[cfg(test)]
mod tests {
    //! Faults that a contract in vplan's own language cannot contain, because its parser refuses
    //! them; one of another front end can. The rest is in `tests/diagnostics.rs`, from the text on.

    use super::super::draft::{At, Policy, Sel, SelKind, Setting, Verb, Written};
    use super::*;
    use vplan_base::command::{Command, Env, Piece};
    use vplan_base::jobs::Jobs;
    use vplan_base::setting::Row;
    use vplan_base::word::Word;
    use vplan_check::Kind;

    fn at<T>(value: T) -> At<T> {
        At::new(value, Place::default())
    }

    fn check(name: &str, settings: Vec<Setting>) -> CheckEntry {
        let pieces = vec![Piece::Word(Word::from("true"))];
        CheckEntry::Check(Box::new(draft::Check {
            name: Some(at(name.to_owned())),
            verbs: vec![at(Verb::Command(
                Kind::Run,
                Command::Argv {
                    env: Env::new(),
                    pieces,
                },
            ))],
            settings: settings.into_iter().map(at).collect(),
            conditions: Vec::new(),
            tier_block: None,
            changed: Vec::new(),
            hole: None,
            place: Place::default(),
            inclusion: InclusionIndex::CONTRACT,
        }))
    }

    fn sel(what: SelKind) -> Sel {
        Sel {
            not: false,
            what: at(what),
            inner: None,
        }
    }

    fn sequence(groups: Vec<At<draft::Group>>) -> draft::Sequence {
        draft::Sequence {
            groups,
            place: Place::default(),
            inclusion: InclusionIndex::CONTRACT,
        }
    }

    fn draft(row: Row, value: impl Into<Written>) -> Draft {
        with(vec![Setting::new(row, value)])
    }

    fn codes(draft: &Draft, caps: &Caps) -> Vec<&'static str> {
        let mut sink = Diagnostics::default();
        let contract = validate_within(draft, &Sources::default(), caps, &mut sink);
        assert_eq!(contract.is_none(), sink.has_errors());
        sink.iter()
            .map(|d| d.code.0.trim_start_matches("vplan::contract::"))
            .collect()
    }

    fn with(settings: Vec<Setting>) -> Draft {
        Draft {
            entries: vec![check("a", settings)],
            ..Draft::default()
        }
    }

    #[test]
    fn beyond_the_language() {
        let glob = || sel(SelKind::Glob("a".to_owned()));
        let not = Sel {
            not: true,
            ..glob()
        };
        let name = sel(SelKind::Name("p".to_owned()));
        let globs = Written::Sels(vec![name, not, glob()]);
        let names = |name: &str| vec![at(name.to_owned())];
        let exits = Written::Codes(vec![at(256), at(-1), at(0)]);
        let variable = Written::Variable("1x".to_owned(), Word::default());
        let policy = |lines: Vec<Policy>| Draft {
            policy: lines.into_iter().map(at).collect(),
            ..with(vec![])
        };
        let jobs = Policy::Jobs(Jobs::Number(0));
        let block = |entry: CheckEntry| match entry {
            CheckEntry::Check(mut check) => {
                check.tier_block = Some(at(3));
                CheckEntry::Check(check)
            }
            other => other,
        };
        for (draft, want) in [
            (
                Draft {
                    defaults: vec![at(Setting::new(Row::Setup, Written::Flag))],
                    ..with(vec![])
                },
                vec!["defaults_setting"],
            ),
            (
                policy(vec![jobs, Policy::MaxChecks(u64::MAX)]),
                vec!["number", "number"],
            ),
            (policy(vec![Policy::Confirmations(0)]), vec!["number"]),
            (
                policy(vec![Policy::OnExhausted("alow".to_owned())]),
                vec!["unknown_word"],
            ),
            (
                Draft {
                    entries: vec![block(check("a", vec![])), block(check("b", vec![]))],
                    ..Draft::default()
                },
                vec!["number"],
            ),
            (draft(Row::Tier, 3), vec!["number"]),
            (draft(Row::Exit, exits), vec!["number", "number"]),
            (draft(Row::Env, variable), vec!["env_name"]),
            (draft(Row::PassEnv, names("1x")), vec!["env_name"]),
            (draft(Row::PassEnv, names("*")), vec!["env_name"]),
            (draft(Row::PassEnv, names("CARGO_*")), vec![]),
            (
                draft(Row::Produces, globs),
                vec!["not_a_glob", "not_a_glob"],
            ),
        ] {
            assert_eq!(codes(&draft, &Caps::default()), want, "{draft:?}");
        }
    }

    #[test]
    fn caps() {
        let caps = Caps {
            checks: 2,
            name_bytes: 3,
            paths_depth: 2,
            paths_globs: 3,
            sequence_members: 4,
        };
        let checks = |names: &[&str]| names.iter().map(|n| check(n, vec![])).collect::<Vec<_>>();
        let paths = |name: &str, items: &[&str]| draft::Paths {
            inclusion: InclusionIndex::CONTRACT,
            name: at(name.to_owned()),
            items: items
                .iter()
                .map(|i| {
                    let what = match i.contains('.') {
                        true => SelKind::Glob,
                        false => SelKind::Name,
                    };
                    sel(what((*i).to_owned()))
                })
                .collect(),
        };
        let first = || at(draft::Group::Names(vec![at("a".to_owned())]));
        let sequence = || sequence(vec![first(), at(draft::Group::Rest)]);
        let errors = |draft: Draft| {
            let unused = |code: &&str| *code != "unused_paths";
            codes(&draft, &caps)
                .into_iter()
                .filter(unused)
                .collect::<Vec<_>>()
        };
        let of = |names: &[&str]| Draft {
            entries: checks(names),
            ..Draft::default()
        };
        let two = || of(&["a", "b"]);
        assert_eq!(errors(two()), Vec::<&str>::new());
        assert_eq!(errors(of(&["a", "b", "c"])), ["too_many_checks"]);
        assert_eq!(errors(of(&["abcd"])), ["name_length"]);
        let nested = vec![
            paths("a", &["b"]),
            paths("b", &["c"]),
            paths("c", &["x.rs"]),
        ];
        let doubled = vec![paths("a", &["b", "b"]), paths("b", &["x.rs", "y.rs"])];
        for paths in [nested, doubled] {
            assert_eq!(errors(Draft { paths, ..two() }), ["paths_size"]);
        }
        let sequences = vec![sequence(), sequence()];
        assert_eq!(errors(Draft { sequences, ..two() }), Vec::<&str>::new());
        let sequences = vec![sequence(), sequence(), sequence()];
        assert_eq!(errors(Draft { sequences, ..two() }), ["sequence_size"]);
    }

    /// A chain of needs through all checks, a sequence through all of them, and the same with the
    /// ends joined.
    #[test]
    fn as_many_checks_as_there_may_be() {
        let count = Caps::default().checks;
        let name = |i: usize| at(format!("check-{i}"));
        let entries = (0..count)
            .map(|i| {
                let glob = sel(SelKind::Glob(format!("out/{i}/**")));
                let mut settings = vec![
                    Setting::new(Row::Produces, Written::Sels(vec![glob.clone()])),
                    Setting::new(Row::Requires, Written::Sels(vec![glob])),
                ];
                if i > 0 {
                    settings.push(Setting::new(Row::Needs, vec![name(i - 1)]));
                }
                check(&format!("check-{i}"), settings)
            })
            .collect();
        let group = |i| at(draft::Group::Names(vec![name(i)]));
        let mut draft = Draft {
            entries,
            sequences: vec![sequence((0..count).map(group).collect())],
            ..Draft::default()
        };
        assert_eq!(codes(&draft, &Caps::default()), Vec::<&str>::new());
        draft.sequences = vec![sequence(vec![group(count - 1), group(0)])];
        assert_eq!(codes(&draft, &Caps::default()), ["cycle"]);
    }
}
