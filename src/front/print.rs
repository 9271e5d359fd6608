//! Prints a draft as text of the language, in canonical layout, with its comments.
//!
//! Imports are not written: no front end but the language's own makes any.

use std::collections::BTreeMap;
use vplan_base::command::{Command, Env, to_text};
use vplan_base::setting::{Row, Takes};
use vplan_base::unit::show_duration;
use vplan_base::word::quote_literal as quote;
use vplan_base::word::{Word, quote_pattern, quote_with_holes, visible};
use vplan_check::file::show;
use vplan_contract::ConditionIndex;
use vplan_contract::draft::{
    At, Check, CheckEntry, Condition, Draft, FormatLine, Group, Policy, Ready, Sel, SelKind,
    Service, Setting, Sought, Verb, Written,
};
use vplan_lang::ast::Holed;
use vplan_lang::statement::{Keyword, StatementContext, find};

/// Comments for a text, each one line without its `#`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comments {
    /// Below the header.
    pub head: Vec<String>,
    /// In front of an entry of [`Draft::entries`].
    pub entries: BTreeMap<usize, Vec<String>>,
    /// In front of a trigger of [`Draft::risks`].
    pub risks: BTreeMap<usize, Vec<String>>,
    /// At the end of the file.
    pub end: Vec<String>,
}

/// Writes a draft. Reading the text gives an equivalent draft, if this one was without errors.
pub fn print(draft: &Draft, comments: &Comments) -> String {
    let mut out = Printer::default();
    out.line("vplan 1");
    if let Some(name) = draft.names.first() {
        out.line(&format!("contract {}", quote(&name.value)));
    }
    if let Some(base) = draft.bases.first() {
        out.line(&format!("base {}", quote(&base.value)));
    }
    if !draft.linked.is_empty() {
        out.line(&format!("linked {}", strings(&draft.linked)));
    }
    if !comments.head.is_empty() {
        out.gap();
        out.comments(&comments.head);
    }
    let paths = draft.paths.iter();
    out.section(paths.map(|p| format!("paths {} = {}", p.name.value, sels(&p.items))));
    out.block("defaults", &settings(&draft.defaults, false));
    for block in &draft.verb_defaults {
        let head = format!("defaults {}", block.verb.verb());
        out.block(&head, &settings(&block.settings, false));
    }
    for service in &draft.services {
        let head = format!("service {}", service.name.value);
        out.block(&head, &service_lines(service));
    }
    out.entries(draft, comments);
    out.risks(draft, comments);
    let group = |group: &At<Group>| match &group.value {
        Group::Rest => "*".to_owned(),
        Group::Names(names) => joined(names, ", ", |name| name.value.clone()),
    };
    let sequences = draft.sequences.iter();
    out.section(sequences.map(|s| format!("sequence {}", joined(&s.groups, " -> ", group))));
    for role in &draft.roles {
        let only = role.only.iter();
        let only = only.map(|o| format!("only {}", words(&o.value)));
        let most = role.max_checks.iter();
        let lines = only.chain(most.map(|m| format!("max-checks {}", m.value)));
        let head = format!("role {}", role.name.value);
        out.always_block(&head, &lines.collect::<Vec<_>>());
    }
    for block in ["limits", "scope", "recover", "gate"] {
        let lines = draft.policy.iter().map(|line| &line.value);
        let lines = lines.filter(|line| line.words().0 == block).map(policy);
        let lines = match block {
            "limits" => sorted(lines, StatementContext::Limits),
            "gate" => sorted(lines, StatementContext::Gate),
            _ => lines.collect(),
        };
        out.block(block, &lines);
    }
    for format in &draft.formats {
        let lines: Vec<String> = format.lines.iter().map(format_line).collect();
        out.always_block(&format!("format {}", format.name.value), &lines);
    }
    out.section(draft.toolchains.iter().map(|(name, command)| {
        let command = command.value.to_text();
        format!("toolchain {}: {command}", name.value)
    }));
    for machine in &draft.machines {
        let property = |line: &At<(String, String)>| {
            let (name, value) = &line.value;
            format!("property {} {}", quote(name), quote(value))
        };
        let lines = sorted(
            machine.properties.iter().map(property),
            StatementContext::Machine,
        );
        out.always_block(&format!("machine {}", machine.name.value), &lines);
    }
    let judges = draft.judge_with.iter();
    out.section(judges.map(|c| format!("judge-with {}", c.value.to_text())));
    if !comments.end.is_empty() {
        out.gap();
        out.comments(&comments.end);
    }
    out.text
}

/// A block around entries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Condition(ConditionIndex),
    Tier(u8),
}

#[derive(Default)]
struct Printer {
    text: String,
    depth: usize,
    /// Whether the last line ended a block, or a gap is due for another reason.
    after_block: bool,
}

impl Printer {
    fn line(&mut self, line: &str) {
        (0..self.depth).for_each(|_| self.text.push_str("  "));
        self.text.push_str(line);
        self.text.push('\n');
        self.after_block = false;
    }

    /// Writes a blank line, but never two, and none at the beginning of a block.
    fn gap(&mut self) {
        let begins =
            self.text.is_empty() || self.text.ends_with("\n\n") || self.text.ends_with(" {\n");
        if !begins {
            self.text.push('\n');
        }
        self.after_block = false;
    }

    fn comments(&mut self, lines: &[String]) {
        for line in lines {
            match visible(line).as_str() {
                "" => self.line("#"),
                line => self.line(&format!("# {line}")),
            }
        }
    }

    fn section(&mut self, lines: impl Iterator<Item = String>) {
        for (i, line) in lines.enumerate() {
            if i == 0 {
                self.gap();
            }
            self.line(&line);
        }
    }

    fn open(&mut self, head: &str) {
        self.line(&format!("{head} {{"));
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.line("}");
        self.after_block = true;
    }

    fn block(&mut self, head: &str, lines: &[String]) {
        if !lines.is_empty() {
            self.always_block(head, lines);
        }
    }

    fn always_block(&mut self, head: &str, lines: &[String]) {
        self.gap();
        self.open(head);
        lines.iter().for_each(|line| self.line(line));
        self.close();
    }

    fn entries(&mut self, draft: &Draft, comments: &Comments) {
        let mut around: Vec<Around> = Vec::new();
        for (index, entry) in draft.entries.iter().enumerate() {
            let (conditions, tier) = match entry {
                CheckEntry::Check(check) => (&check.conditions, &check.tier_block),
                CheckEntry::Use {
                    conditions,
                    tier_block,
                    ..
                } => (conditions, tier_block),
            };
            let tier = tier.iter().map(|t| Around::Tier(t.value));
            let conditions = conditions.iter().map(|c| Around::Condition(*c));
            let wanted: Vec<Around> = conditions.chain(tier).collect();
            let pairs = around.iter().zip(&wanted);
            let shared = pairs.take_while(|(a, b)| a == b).count();
            while around.len() > shared {
                around.pop();
                self.close();
            }
            let remarks = comments.entries.get(&index).map_or(&[][..], Vec::as_slice);
            let lines = match entry {
                CheckEntry::Check(check) => check_lines(check),
                CheckEntry::Use { names, .. } => vec![format!("use {}", words(names))],
            };
            let opens = wanted.len() > shared;
            if index == 0 || opens || self.after_block || !remarks.is_empty() || lines.len() > 1 {
                self.gap();
            }
            for around_it in wanted.iter().skip(shared) {
                let head = match around_it {
                    Around::Tier(n) => format!("tier {n}"),
                    Around::Condition(i) => head(&draft.conditions[*i].value),
                };
                self.open(&head);
            }
            around = wanted;
            self.comments(remarks);
            lines.iter().for_each(|line| self.line(line));
            self.after_block = lines.len() > 1;
        }
        while around.pop().is_some() {
            self.close();
        }
    }

    fn risks(&mut self, draft: &Draft, comments: &Comments) {
        for (index, risk) in draft.risks.iter().enumerate() {
            let remarks = comments.risks.get(&index).map_or(&[][..], Vec::as_slice);
            if index == 0 || !remarks.is_empty() {
                self.gap();
            }
            self.comments(remarks);
            let (name, tier, items) = (&risk.name.value, risk.tier.value, sels(&risk.items));
            self.line(&format!("risk {name} tier {tier} {items}"));
        }
    }
}

fn head(condition: &Condition) -> String {
    match condition {
        Condition::Role(names) => format!("byRole {}", words(names)),
        Condition::ChangedAny(items) => format!("whenChangedAny {}", sels(items)),
        Condition::ChangedAll(items) => format!("whenChangedAll {}", sels(items)),
        Condition::ChangedOnly(items) => format!("whenChangedOnly {}", sels(items)),
        Condition::ChangedNone(items) => format!("whenChangedNone {}", sels(items)),
        Condition::Exists(all) => format!("whenExists {}", sought(all)),
        Condition::ExistsAny(all) => format!("whenExistsAny {}", sought(all)),
        Condition::Absent(all) => format!("whenAbsent {}", sought(all)),
    }
}

/// Writes a command. If it runs with services, text like `{port}` is a placeholder.
fn command(command: &Command, is_beside: bool) -> String {
    if is_beside {
        Holed::<Command>::beside_services(command.clone()).to_text()
    } else {
        command.to_text()
    }
}

fn service_lines(service: &Service) -> Vec<String> {
    let verbs = service.verbs.iter();
    let verbs = verbs.flat_map(|verb| verb_lines(&verb.value, true));
    let ready = service.ready.iter().map(|ready| match &ready.value {
        Ready::Tcp(port) => format!("ready tcp {port}"),
        Ready::File(path) => format!("ready file {}", quote_with_holes(path)),
        Ready::Line(text) => format!("ready line {}", quote_with_holes(text)),
        Ready::Run(run) => format!("ready run {}", command(run, true)),
    });
    let settings = settings(&service.settings, true);
    verbs.chain(ready).chain(settings).collect()
}

fn check_lines(check: &Check) -> Vec<String> {
    let is_beside = check.settings.iter().any(|s| s.value.row == Row::With);
    let verbs = check.verbs.iter();
    let verbs = verbs.flat_map(|v| verb_lines(&v.value, is_beside));
    let Some(name) = &check.name else {
        return verbs.collect();
    };
    if let [verb] = check.verbs.as_slice()
        && let Verb::Command(vplan_check::Kind::Run, command) = &verb.value
        && check.settings.is_empty()
    {
        return vec![format!("check {}: {}", name.value, command.to_text())];
    }
    let mut lines = vec![format!("check {} {{", name.value)];
    let inner = verbs.chain(settings(&check.settings, is_beside));
    lines.extend(inner.map(|line| format!("  {line}")));
    lines.push("}".to_owned());
    lines
}

fn verb_lines(verb: &Verb, is_beside: bool) -> Vec<String> {
    match verb {
        Verb::Command(kind, words) => {
            vec![format!("{} {}", kind.verb(), command(words, is_beside))]
        }
        Verb::Shell(text) => vec![format!("shell {text}")],
        Verb::Judge(question) => vec![format!("judge {}", quote(question))],
        Verb::File { path, assertions } => {
            let mut lines = vec![format!("file {} {{", quote(&path.value))];
            lines.extend(assertions.iter().map(|a| format!("  {}", show(&a.value))));
            lines.push("}".to_owned());
            lines
        }
    }
}

/// Sorts settings in the order of `lang::statement`.
fn settings(list: &[At<Setting>], is_beside: bool) -> Vec<String> {
    let lines = list.iter().map(|s| setting(&s.value, is_beside));
    sorted(lines, StatementContext::Check)
}

/// Sorts lines in the canonical order of their block; repeated ones by their text.
fn policy(line: &Policy) -> String {
    let rest = match line {
        Policy::RecoverOff | Policy::RecoverContract => return line.words().1.to_owned(),
        Policy::Budget(ms) => show_duration(*ms),
        Policy::MaxChecks(n) => n.to_string(),
        Policy::Jobs(n) => n.to_string(),
        Policy::Allow(items) | Policy::Deny(items) => sels(items),
        Policy::RecoverOnly(rules) => words(rules),
        Policy::Confirmations(n) | Policy::Retries(n) | Policy::SameFailure(n) => n.to_string(),
        Policy::OnExhausted(word) | Policy::Propagate(word) => word.clone(),
    };
    format!("{} {rest}", line.words().1)
}

fn sorted(lines: impl Iterator<Item = String>, context: StatementContext) -> Vec<String> {
    let rank = |line: &str| -> Option<Keyword> {
        find(line.split(' ').next().unwrap_or_default(), context).map(|s| s.keyword)
    };
    let mut lines: Vec<String> = lines.collect();
    lines.sort_by_cached_key(|line| (rank(line), line.clone()));
    lines
}

fn setting(setting: &Setting, is_beside: bool) -> String {
    let takes = setting.row.setting().takes;
    let rest = match &setting.value {
        Written::Flag => return setting.keyword().to_owned(),
        Written::Number(ms) if takes == Takes::Duration => show_duration(*ms),
        Written::Number(n) => n.to_string(),
        Written::Text(text) if matches!(takes, Takes::Text | Takes::Path) => {
            quote(text).into_owned()
        }
        Written::Text(word) => word.clone(),
        Written::Texts(paths) if matches!(takes, Takes::Paths | Takes::Outside) => strings(paths),
        Written::Texts(names) => words(names),
        Written::Variable(name, value) if is_beside => {
            Holed::<(String, Word)>::beside_services((name.clone(), value.clone())).to_text()
        }
        Written::Variable(name, value) => to_text(&Env::from([(name.clone(), value.clone())]), &[]),
        Written::Codes(codes) => joined(codes, " ", |code| code.value.to_string()),
        Written::Sels(items) => sels(items),
        Written::Report(format, glob) => format!("{format} {}", sel(glob)),
        Written::Command(words) => command(words, is_beside),
    };
    format!("{} {rest}", setting.keyword())
}

fn sels(items: &[Sel]) -> String {
    joined(items, " ", sel)
}

fn sel(item: &Sel) -> String {
    let not = if item.not { "!" } else { "" };
    match &item.what.value {
        SelKind::Glob(glob) => quote(&format!("{not}{glob}")).into_owned(),
        SelKind::Name(name) => format!("{not}{name}"),
        SelKind::Dependents(package) => format!("{not}dependents {}", package.folder),
    }
}

fn words(list: &[At<String>]) -> String {
    joined(list, " ", |word| word.value.clone())
}

fn sought(all: &[Sought]) -> String {
    joined(all, " ", |one| quote(&one.text.value).into_owned())
}

fn format_line(line: &At<FormatLine>) -> String {
    match &line.value {
        FormatLine::Words(level, list) => format!("{}s {}", level.name(), words(list)),
        FormatLine::Pattern(says, level, pattern) => {
            let level = level.map_or(String::new(), |level| format!("{} ", level.name()));
            format!("{} {level}{}", says.name(), quote_pattern(&pattern.value))
        }
    }
}

fn strings(list: &[At<String>]) -> String {
    joined(list, " ", |text| quote(&text.value).into_owned())
}

fn joined<T>(list: &[T], by: &str, text: impl Fn(&T) -> String) -> String {
    list.iter().map(text).collect::<Vec<_>>().join(by)
}
