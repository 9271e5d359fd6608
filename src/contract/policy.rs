//! Validates settings of the whole run: name, roles, triggers, limits, scope, and what recovery may
//! do.

use super::checker::Checker;
use super::draft::{At, Policy};
use super::error::{
    BASE_BRANCH, CHANGED_MISPLACED, DUPLICATE_LINE, DUPLICATE_NAME, NUMBER, PATH, RECOVER_CONFLICT,
    RISK_TIER, UNKNOWN_RULE, UNUSED_TAG,
};
use super::resolve::line;
use super::service::words_of;
use super::settings::quoted_list;
use super::{BUILT_IN_ROLES, Check, Gate, Limits, RecoverPolicy, Risk, Role, Scope};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::command::{Command, ToolchainCommand};
use vplan_base::diagnostic::Diagnostic;
use vplan_base::jobs::Jobs;
use vplan_base::path::RepoPath;
use vplan_base::span::Place;
use vplan_base::vocabulary::RewriteRule;

const ON_EXHAUSTED: &[&str] = &["fail", "escalate", "allow"];
const PROPAGATE: &[&str] = &["downgrade", "reset", "off"];

/// Whether a text can be the name of a branch, or of its reference: what git allows, without what a
/// shell or a revision takes for something else.
fn is_branch(text: &str) -> bool {
    let part = |p: &str| {
        !p.is_empty() && !p.starts_with('.') && !p.ends_with('.') && !p.ends_with(".lock")
    };
    let odd =
        |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\\"'$`|&;<>(){}!#".contains(c);
    !text.starts_with('-')
        && !matches!(text, "@" | "HEAD")
        && !text.contains("..")
        && text.split('/').all(part)
        && !text.contains(odd)
}

impl Checker<'_> {
    pub(super) fn contract_name(&mut self) -> Option<String> {
        let mut seen = BTreeMap::new();
        for name in &self.draft.names {
            self.once(&mut seen, "contract", name.place);
        }
        self.draft.names.first().map(|n| n.value.clone())
    }

    pub(super) fn base(&mut self) -> Option<String> {
        let mut seen = BTreeMap::new();
        for branch in &self.draft.bases {
            self.once(&mut seen, "base", branch.place);
            if !is_branch(&branch.value) {
                self.report(
                    Diagnostic::error(BASE_BRANCH, "this is not the name of a branch")
                        .label(branch.place, "it names none that git allows")
                        .help("write the branch that changes are made for, for example `base \"main\"`"),
                );
            }
        }
        self.draft.bases.first().map(|b| b.value.clone())
    }

    /// The folders of `linked`, ascending, without those inside another one.
    pub(super) fn linked(&mut self) -> Vec<RepoPath> {
        let draft = self.draft;
        for root in draft.linked.iter().filter(|path| path.value == ".") {
            let message = "`linked` names the repository's root";
            let error = Diagnostic::at(PATH, message, root.place, "all of it cannot be a link");
            self.report(error.help("name the ignored folders that the checks need, for example `linked \"node_modules\"`"));
        }
        let folders = self.checked_paths("linked", &draft.linked);
        let mut folders = folders.unwrap_or_default();
        folders.sort();
        folders.dedup_by(|later, before| later == before || later.below(before).is_some());
        folders
    }

    /// The commands that say which toolchains are there, by name.
    pub(super) fn toolchains(&mut self) -> BTreeMap<String, ToolchainCommand> {
        let mut seen: BTreeMap<&str, Place> = BTreeMap::new();
        let mut all = BTreeMap::new();
        let draft = self.draft;
        for (name, command) in &draft.toolchains {
            if let Some(first) = seen.insert(&name.value, name.place) {
                let message = format!("there are two toolchains `{}`", name.value);
                let error = Diagnostic::twice(DUPLICATE_NAME, message, name.place, first);
                self.report(error.help("give one of them another name"));
            }
            if command.value.has_changed() {
                let message = "a `toolchain` command gets no files as arguments";
                let label = "`{changed}` is in this command";
                let error = Diagnostic::at(CHANGED_MISPLACED, message, command.place, label);
                self.report(error.help("it says which toolchain is there, whatever has changed"));
            }
            if let Command::Argv { env, pieces } = &command.value {
                let (argv, env) = (words_of(pieces.clone()), env.clone());
                all.insert(name.value.clone(), ToolchainCommand { argv, env });
            }
        }
        all
    }

    pub(super) fn judge_with(&mut self) -> Option<Command> {
        let mut seen = BTreeMap::new();
        for command in &self.draft.judge_with {
            self.once(&mut seen, "judge-with", command.place);
            if command.value.has_changed() {
                self.report(
                    Diagnostic::error(CHANGED_MISPLACED, "`judge-with` gets no files as arguments")
                        .label(command.place, "`{changed}` is in this command")
                        .help("the judge receives the changed files with its question, on standard input"),
                );
            }
        }
        self.draft.judge_with.first().map(|c| c.value.clone())
    }

    /// Validates the lines of `limits`, `scope`, `recover` and `gate`.
    pub(super) fn policy(&mut self) -> (Limits, Scope, RecoverPolicy, Gate) {
        let draft = self.draft;
        let mut seen = BTreeMap::new();
        let (mut limits, mut scope) = (Limits::default(), Scope::default());
        let (mut recover, mut gate) = (RecoverPolicy::default(), Gate::default());
        for entry in &draft.policy {
            let (place, (block, word)) = (entry.place, entry.value.words());
            self.once(&mut seen, word, place);
            if block == "scope" {
                scope.line = scope.line.or(Some(line(self.sources, place)));
            }
            match &entry.value {
                Policy::Budget(ms) => limits.budget_ms = Some(*ms),
                Policy::MaxChecks(most) => limits.max_checks = Some(self.limit(*most, place)),
                Policy::Jobs(jobs) => {
                    if let Jobs::Number(number) = jobs {
                        self.at_least_one(word, *number, place);
                    }
                    limits.jobs = Some(*jobs);
                }
                Policy::Allow(items) => scope.allow = self.selection(items),
                Policy::Deny(items) => scope.deny = self.selection(items),
                Policy::RecoverOff => recover.rules.clear(),
                Policy::RecoverContract => recover.contract = true,
                Policy::RecoverOnly(rules) => {
                    let unknown = |rule: &&At<String>| RewriteRule::parse(&rule.value).is_none();
                    for rule in rules.iter().filter(unknown) {
                        let (rule, known) = (rule.as_ref(), RewriteRule::NAMES);
                        let error =
                            (self.names).unknown(UNKNOWN_RULE, "rule", rule, known.iter().copied());
                        let help = || format!("the rules are {}", quoted_list(known));
                        self.report(error.or_help(help));
                    }
                    let is_named = |name: &str| rules.iter().any(|rule| rule.value == name);
                    recover.rules.retain(|known| is_named(known.name()));
                }
                Policy::Confirmations(count) => {
                    self.at_least_one(word, *count, place);
                    gate.confirmations = Some(*count);
                }
                Policy::Retries(count) => gate.retries = Some(*count),
                Policy::SameFailure(count) => {
                    if *count < 2 {
                        let error =
                            Diagnostic::error(NUMBER, "`same-failure` cannot be less than 2");
                        self.report(error.label(place, "one failure is no repetition"));
                    }
                    gate.same_failure = Some(*count);
                }
                Policy::OnExhausted(said) => {
                    self.check_word("word for `on-exhausted`:", said, place, ON_EXHAUSTED);
                    gate.on_exhausted = Some(said.clone());
                }
                Policy::Propagate(said) => {
                    self.check_word("word for `propagate`:", said, place, PROPAGATE);
                    gate.propagate = Some(said.clone());
                }
            }
        }
        let other = |word| Some((word, *seen.get(word)?));
        if let Some(off) = seen.get("off")
            && let Some((word, place)) = other("contract").or_else(|| other("only"))
        {
            let message = "recovery that is off allows nothing else";
            let error = Diagnostic::at(RECOVER_CONFLICT, message, *off, "off here");
            let error = error.label(place, format!("but `{word}` here"));
            self.report(error.help("keep one of them"));
        }
        (limits, scope, recover, gate)
    }

    pub(super) fn risks(&mut self) -> Vec<Risk> {
        let draft = self.draft;
        let mut risks = Vec::with_capacity(draft.risks.len());
        for risk in &draft.risks {
            let tier = self.tier(risk.tier.value, risk.tier.place);
            if tier == 2 {
                self.report(
                    Diagnostic::warning(RISK_TIER, "a trigger for tier 2 counts as one for tier 1")
                        .label(risk.tier.place, "tier 2 is reserved for the run's end")
                        .help("write `tier 1`"),
                );
            }
            if let Some(selection) = self.selection(&risk.items) {
                let line = line(self.sources, risk.name.place);
                risks.push(Risk {
                    name: risk.name.value.clone(),
                    tier,
                    selection,
                    line,
                    place: risk.name.place,
                });
            }
        }
        risks
    }

    /// All roles. Of two blocks for one role, which is an error, the first counts.
    pub(super) fn roles(&mut self, checks: &[Option<Check>]) -> BTreeMap<String, Role> {
        let mut roles: BTreeMap<String, Role> = BUILT_IN_ROLES
            .iter()
            .map(|r| ((*r).to_owned(), Role::default()))
            .collect();
        let tags: BTreeSet<&str> = checks
            .iter()
            .flatten()
            .flat_map(|c| &c.tags)
            .map(String::as_str)
            .collect();
        let all_known = checks.iter().all(Option::is_some);
        for block in &self.draft.roles {
            let mut seen = BTreeMap::new();
            for only in &block.only {
                self.once(&mut seen, "only", only.place);
            }
            for most in &block.max_checks {
                self.once(&mut seen, "max-checks", most.place);
            }
            let only: Vec<&At<String>> = block
                .only
                .first()
                .map(|o| o.value.iter().collect())
                .unwrap_or_default();
            for tag in only
                .iter()
                .filter(|t| all_known && !self.incomplete && !tags.contains(t.value.as_str()))
            {
                let message = format!("no check has the tag `{}`", tag.value);
                let mut warning =
                    Diagnostic::warning(UNUSED_TAG, message).label(tag.place, "selects no check");
                if let Some(near) = self.names.nearest(&tag.value, tags.iter().copied()) {
                    warning = warning.help(format!("did you mean `{near}`?"));
                }
                self.sink.push(warning);
            }
            let role = Role {
                only: only.iter().map(|t| t.value.clone()).collect(),
                max_checks: block
                    .max_checks
                    .first()
                    .map(|m| self.limit(m.value, m.place)),
                line: Some(line(self.sources, block.name.place)),
            };
            let known = roles.entry(block.name.value.clone()).or_default();
            if known.line.is_none() {
                *known = role;
            }
        }
        roles
    }

    /// Reports a statement that may occur once only and occurred already.
    fn once(&mut self, seen: &mut BTreeMap<&'static str, Place>, what: &'static str, place: Place) {
        match seen.get(what) {
            Some(first) => self.report(
                Diagnostic::error(DUPLICATE_LINE, format!("`{what}` stands twice"))
                    .label(place, "again here")
                    .label(*first, "first here")
                    .help("keep one of them"),
            ),
            None => {
                seen.insert(what, place);
            }
        }
    }

    fn at_least_one(&mut self, what: &str, value: u32, place: Place) {
        if value == 0 {
            let error = Diagnostic::error(NUMBER, format!("`{what}` cannot be 0"));
            self.report(error.label(place, "at least 1"));
        }
    }
}
