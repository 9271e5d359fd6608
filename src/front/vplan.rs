//! Lowers the language's tree to a draft. Reads values, and resolves no names.

use super::vplan_test::expect;
use super::vplan_value::Values;
use vplan_base::command::Command;
use vplan_base::diagnostic::{Diagnostic, Diagnostics};
use vplan_base::folders::FolderAnswers;
use vplan_base::hole::{Escape, has_hole};
use vplan_base::path::RepoPath;
use vplan_base::setting::Row;
use vplan_base::source::Sources;
use vplan_base::span::{Place, SourceId, Span};
use vplan_check::Kind;
use vplan_contract::draft::{
    At, Check, CheckEntry, Condition, Draft, Extent, Group, Import, Paths, Policy, Risk, Role,
    Rows, Sel, Sequence, Setting, Verb, VerbDefaults,
};
use vplan_contract::import::source::IMPORT_SOURCE;
use vplan_contract::{ConditionIndex, InclusionIndex};
use vplan_lang::ast::{Arg, Body, Node, Value};
use vplan_lang::format::digest;
use vplan_lang::parse::{ParserCaps, parse};
use vplan_lang::statement::Keyword;

/// Lowers a file of the language, with caps that an operator may have raised. The draft is as
/// complete as the text allows.
pub fn lower(sources: &Sources, id: SourceId, caps: &ParserCaps, sink: &mut Diagnostics) -> Draft {
    lower_where(sources, id, caps, &Whereabouts::default(), sink)
}

/// Where a file is lowered for, and what is known there.
#[derive(Debug)]
pub(crate) struct Whereabouts<'w> {
    /// The directory that all its paths are below.
    pub dir: RepoPath,
    /// What is known of folders. An `each` that asks for others makes nothing.
    pub folders: &'w FolderAnswers,
    /// The rows that the file has made for other directories.
    pub rows: Rows,
}

impl Default for Whereabouts<'_> {
    fn default() -> Self {
        static NONE: FolderAnswers = FolderAnswers::new();
        Self {
            dir: RepoPath::root(),
            folders: &NONE,
            rows: Rows::default(),
        }
    }
}

/// Lowers a file as [`lower`] does, for a directory and with what is known of its folders.
pub(crate) fn lower_where(
    sources: &Sources,
    id: SourceId,
    caps: &ParserCaps,
    whereabouts: &Whereabouts<'_>,
    sink: &mut Diagnostics,
) -> Draft {
    let source = &sources[id];
    let (ast, diagnostics) = parse(source, id, caps);
    let sound = !diagnostics.has_errors();
    sink.append(diagnostics);
    let draft = Draft {
        path: source.name().to_owned(),
        digest: sound.then(|| digest(&ast)),
        rows: whereabouts.rows.clone(),
        ..Draft::default()
    };
    let mut found = Diagnostics::default();
    let mut lowering = Lowering {
        draft,
        values: Values::new(id, &mut found),
        whereabouts,
    };
    if !lowering.is_too_much(&ast.nodes) {
        lowering.entries(&ast.nodes, &mut Vec::new(), None);
    }
    let draft = lowering.draft;
    draft.rows.name_in(&mut found);
    sink.append(found);
    draft
}

/// The lines of a check.
#[derive(Default)]
pub(super) struct Content<'n, 'a> {
    pub(super) verbs: Vec<At<Verb>>,
    pub(super) settings: Vec<At<Setting>>,
    /// Definitions that may not occur there, which was reported; but their names are known.
    pub(super) inner: Vec<&'n Node<'a>>,
    /// Whether a line could not be read.
    pub(super) broken: bool,
}

pub(super) struct Lowering<'s> {
    pub(super) draft: Draft,
    pub(super) values: Values<'s>,
    pub(super) whereabouts: &'s Whereabouts<'s>,
}

impl Lowering<'_> {
    fn at<T>(&self, value: T, span: Span) -> At<T> {
        At::new(value, self.values.place(span))
    }

    /// Reads the commands among the arguments: one at most.
    pub(super) fn commands(&self, node: &Node<'_>) -> Vec<At<Command>> {
        let command = |arg: &Arg<'_>| match &arg.value {
            Value::Command(command) => Some(self.at(command.fill(&self.values.holes), arg.span)),
            _ => None,
        };
        node.args.iter().filter_map(command).collect()
    }

    pub(super) fn place(&self, span: Span) -> Place {
        self.values.place(span)
    }

    /// Lowers the statements of the top level or of a group. Recursion is bounded by the cap on
    /// nesting.
    pub(super) fn entries(
        &mut self,
        nodes: &[Node<'_>],
        around: &mut Vec<ConditionIndex>,
        tier: Option<At<u8>>,
    ) {
        for node in nodes {
            self.entry(node, around, tier.clone());
        }
    }

    fn entry(&mut self, node: &Node<'_>, around: &mut Vec<ConditionIndex>, tier: Option<At<u8>>) {
        match node.statement.keyword {
            Keyword::Check | Keyword::RunAnonymous => return self.check(node, around, tier),
            Keyword::Each => return self.each(node, around, tier),
            Keyword::Use => {
                let names = self.values.words(node);
                if !names.is_empty() {
                    let place = self.place(node.span);
                    let conditions = around.clone();
                    self.draft.entries.push(CheckEntry::Use {
                        names,
                        conditions,
                        tier_block: tier,
                        place,
                    });
                }
                return;
            }
            Keyword::TierBlock => {
                let own = node.values().next();
                let own = own.and_then(|arg| self.values.tier(arg));
                return self.entries(node.lines(), around, own.or(tier));
            }
            _ => {}
        }
        if let Some(condition) = self.condition(node) {
            // The head of a broken condition may be empty; its block is read all the same.
            let empty = node.broken && node.values().next().is_none();
            if !empty {
                let condition = self.at(condition, node.span);
                around.push(self.draft.conditions.push(condition));
            }
            self.entries(node.lines(), around, tier);
            if !empty {
                around.pop();
            }
            return;
        }
        self.top(node);
    }

    fn condition(&mut self, node: &Node<'_>) -> Option<Condition> {
        Some(match node.statement.keyword {
            Keyword::ByRole => Condition::Role(self.values.words(node)),
            Keyword::WhenChangedAny => Condition::ChangedAny(self.values.sels(node)),
            Keyword::WhenChangedAll => Condition::ChangedAll(self.values.sels(node)),
            Keyword::WhenChangedOnly => Condition::ChangedOnly(self.values.sels(node)),
            Keyword::WhenChangedNone => Condition::ChangedNone(self.values.sels(node)),
            Keyword::WhenExists => Condition::Exists(self.values.sought(node)),
            Keyword::WhenExistsAny => Condition::ExistsAny(self.values.sought(node)),
            Keyword::WhenAbsent => Condition::Absent(self.values.sought(node)),
            _ => return None,
        })
    }

    /// Lowers statements that occur at the top level only.
    fn top(&mut self, node: &Node<'_>) {
        match node.statement.keyword {
            Keyword::Contract => self.draft.names.extend(self.values.strings(node)),
            Keyword::Base => self.draft.bases.extend(self.values.strings(node)),
            Keyword::Linked => self.draft.linked.extend(self.values.strings(node)),
            Keyword::Import if !node.broken => self.import(node),
            Keyword::Import => {
                // What it would have brought is not reported as unknown.
                let alias = node.values().find_map(|a| self.values.as_word(a));
                let namespace = alias.map(|alias| format!("{}/", alias.value));
                self.draft.absent.push(namespace.unwrap_or_default());
            }
            Keyword::Paths => {
                if let Some(name) = self.values.word(node) {
                    let items = self.values.sels_of(node.values().skip(1));
                    self.draft.paths.push(Paths {
                        name,
                        items,
                        inclusion: InclusionIndex::CONTRACT,
                    });
                }
            }
            Keyword::Service => self.service(node),
            Keyword::Risk => self.risk(node),
            Keyword::Sequence if !node.broken => {
                let groups = self.groups(node);
                let place = self.place(node.span);
                self.draft.sequences.push(Sequence {
                    groups,
                    place,
                    inclusion: InclusionIndex::CONTRACT,
                });
            }
            Keyword::Role => self.role(node),
            // It may not be there, which was reported, and is there for each row.
            Keyword::Expect if node.broken && self.values.row > 0 => {}
            Keyword::Expect => self.draft.expects.extend(expect(&mut self.values, node)),
            Keyword::Tests => self.draft.tests.extend(self.values.strings(node)),
            Keyword::Toolchain if !node.broken => {
                let commands = self.commands(node);
                let named = self.values.word(node).zip(commands.into_iter().next());
                self.draft.toolchains.extend(named);
            }
            Keyword::JudgeWith => {
                let commands = self.commands(node);
                self.draft.judge_with.extend(commands);
            }
            Keyword::Defaults => self.defaults(node),
            Keyword::FormatBlock => self.format(node),
            Keyword::Machine => self.machine(node),
            Keyword::Limits | Keyword::Scope | Keyword::Recover | Keyword::Gate => {
                for line in node.lines() {
                    self.policy(line);
                }
            }
            _ => {}
        }
    }

    /// Lowers a `defaults` block. One of an unknown verb sets nothing.
    fn defaults(&mut self, node: &Node<'_>) {
        let values = &mut self.values;
        let settings: Vec<At<Setting>> = (node.lines().iter())
            .filter(|line| !line.broken)
            .filter_map(|line| Some(At::new(values.setting(line)?, values.place(line.span))))
            .collect();
        match node.values().next() {
            None => self.draft.defaults.extend(settings),
            Some(verb) => {
                let verb = values.one_of(verb, &Kind::ALL.map(Kind::verb));
                let verb = verb.and_then(|verb| Kind::ALL.into_iter().find(|k| k.verb() == verb));
                let block = verb.map(|verb| VerbDefaults { verb, settings });
                self.draft.verb_defaults.extend(block);
            }
        }
    }

    /// Lowers a line of `limits`, `scope`, `recover` or `gate`.
    fn policy(&mut self, node: &Node<'_>) {
        if node.broken {
            return;
        }
        let values = &mut self.values;
        let place = values.place(node.span);
        let first = node.values().next();
        let number = |values: &mut Values<'_>, least, most| {
            first.and_then(|a| values.number(a, least, most))
        };
        let small = |values: &mut Values<'_>, least| {
            let most = u64::from(u32::MAX);
            number(values, least, most).and_then(|n| u32::try_from(n).ok())
        };
        let one_of = |values: &mut Values<'_>, words: &[&'static str]| {
            let word = first.and_then(|a| values.one_of(a, words));
            word.map(|word| word.to_owned())
        };
        let line = match node.statement.keyword {
            Keyword::Budget => first.and_then(|a| values.duration(a)).map(Policy::Budget),
            Keyword::MaxChecks => number(values, 0, u64::MAX).map(Policy::MaxChecks),
            Keyword::Jobs => first.and_then(|a| values.jobs(a)).map(Policy::Jobs),
            Keyword::Allow => Some(Policy::Allow(values.sels(node))),
            Keyword::Deny => Some(Policy::Deny(values.sels(node))),
            Keyword::RecoverOff => Some(Policy::RecoverOff),
            Keyword::RecoverOnly => Some(Policy::RecoverOnly(values.words(node))),
            Keyword::RecoverContract => Some(Policy::RecoverContract),
            Keyword::Confirmations => small(values, 1).map(Policy::Confirmations),
            Keyword::GateRetries => small(values, 0).map(Policy::Retries),
            Keyword::SameFailure => small(values, 2).map(Policy::SameFailure),
            Keyword::OnExhausted => {
                one_of(values, &["fail", "escalate", "allow"]).map(Policy::OnExhausted)
            }
            Keyword::Propagate => {
                one_of(values, &["downgrade", "reset", "off"]).map(Policy::Propagate)
            }
            _ => None,
        };
        self.draft.policy.extend(line.map(|l| At::new(l, place)));
    }

    fn check(&mut self, node: &Node<'_>, around: &mut Vec<ConditionIndex>, tier: Option<At<u8>>) {
        let named = node.statement.keyword == Keyword::Check;
        let name = if named { self.values.word(node) } else { None };
        if named && name.is_none() {
            // With a placeholder it could be any name, so no name is reported as unknown.
            if node.values().any(|arg| arg.word().is_some_and(has_hole)) {
                self.draft.absent.push(String::new());
            }
            return;
        }
        let own = name.as_ref().map(|name| name.place);
        let place = own.unwrap_or_else(|| self.place(node.keyword));
        let mut verbs = Vec::new();
        for command in self.commands(node) {
            let place = if named {
                command.place
            } else {
                self.place(node.span)
            };
            verbs.push(At::new(Verb::Command(Kind::Run, command.value), place));
        }
        let Content {
            verbs: own,
            settings,
            inner,
            broken,
        } = self.content(node);
        verbs.extend(own);
        if verbs.is_empty() && broken {
            // The line with the verb could not be read, so that a missing verb is not reported as
            // well.
            let command = vplan_lang::command::parse_command("");
            verbs.push(self.at(Verb::Command(Kind::Run, command), node.span));
        }
        let hole = self.hole_of_service(node);
        if settings.iter().any(|s| s.value.row == Row::With) {
            self.report_literal_holes(node);
        }
        let check = Check {
            name,
            verbs,
            settings,
            conditions: around.clone(),
            tier_block: tier.clone(),
            hole,
            place,
            ..Check::default()
        };
        self.draft.entries.push(CheckEntry::Check(Box::new(check)));
        for line in inner {
            self.entry(line, around, tier.clone());
        }
    }

    /// Reads the lines of a check, or of an `override`.
    pub(super) fn content<'n, 'a>(&mut self, node: &'n Node<'a>) -> Content<'n, 'a> {
        let mut content = Content {
            broken: node.broken || node.body.as_ref().is_some_and(|body| body.broken),
            ..Content::default()
        };
        for line in node.lines() {
            if let Some(verb) = self.verb(line) {
                if line.broken {
                    content.broken = true;
                } else {
                    content.verbs.push(self.at(verb, line.span));
                }
            } else if let Some(setting) =
                (!line.broken).then(|| self.values.setting(line)).flatten()
            {
                content.settings.push(self.at(setting, line.span));
            } else if matches!(line.statement.keyword, Keyword::Check | Keyword::Paths) {
                content.inner.push(line);
            }
        }
        content
    }

    fn verb(&mut self, node: &Node<'_>) -> Option<Verb> {
        let kind = match node.statement.keyword {
            Keyword::Run => Kind::Run,
            Keyword::Compile => Kind::Compile,
            Keyword::Test => Kind::Test,
            Keyword::Lint => Kind::Lint,
            Keyword::Shell => Kind::Shell,
            Keyword::File => Kind::File,
            Keyword::Judge => Kind::Judge,
            _ => return None,
        };
        let first = node.values().next();
        Some(match (kind, first.map(|a| &a.value)) {
            (Kind::Shell, Some(Value::Shell(text))) => Verb::Shell(text.clone()),
            (Kind::Judge, Some(Value::Str(_))) => {
                Verb::Judge(self.values.text(first?, Escape::Nothing)?)
            }
            (Kind::File, Some(Value::Str(_))) => {
                let path = self.values.strings(node).into_iter().next()?;
                let mut assertions = Vec::new();
                for line in node.lines().iter().filter(|n| !n.broken) {
                    if let Some(assertion) = self.values.assertion(line) {
                        assertions.push(self.at(assertion, line.span));
                    }
                }
                let is_lacking =
                    |body: &Body<'_>| body.broken || body.nodes.len() > assertions.len();
                let broken = node.broken || node.body.as_deref().is_some_and(is_lacking);
                if assertions.is_empty() && broken {
                    // As with verbs: an assertion was meant, and its error has been reported.
                    assertions.push(self.at(vplan_check::request::Assertion::Exists, node.span));
                }
                Verb::File { path, assertions }
            }
            (kind, Some(Value::Command(command))) => {
                Verb::Command(kind, command.fill(&self.values.holes))
            }
            (kind, _) => Verb::Command(kind, vplan_lang::command::parse_command("")),
        })
    }

    fn import(&mut self, node: &Node<'_>) {
        let mut strings = self.values.strings(node).into_iter();
        let Some(source) = strings.next() else { return };
        if let Some(Value::Str(name)) = node.values().next().map(|arg| &arg.value)
            && name.holes
            && self.values.row > 0
        {
            let message = "the file that an import names has no holes";
            let error = Diagnostic::at(IMPORT_SOURCE, message, source.place, "a hole is in it");
            let error = error.help(
                "write one `import` for each file: which files a contract is made of is said in it",
            );
            self.values.sink.push(error);
            self.draft.absent.push(String::new());
            return;
        }
        let alias = node.values().find_map(|a| self.values.as_word(a));
        let below = strings.next();
        let extent = Extent {
            entries: self.draft.entries.len(),
            paths: self.draft.paths.len(),
            risks: self.draft.risks.len(),
            sequences: self.draft.sequences.len(),
        };
        let place = self.place(node.span);
        let changes = self.changes(node);
        self.draft.imports.push(Import {
            source,
            alias,
            below,
            changes,
            place,
            extent,
        });
    }

    fn risk(&mut self, node: &Node<'_>) {
        let mut values = node.values();
        let (Some(name), Some(tier)) = (self.values.word(node), values.nth(1)) else {
            return;
        };
        let items: Vec<Sel> = self.values.sels_of(values);
        if let Some(tier) = self.values.tier(tier)
            && !(node.broken && items.is_empty())
        {
            self.draft.risks.push(Risk {
                name,
                tier,
                items,
                inclusion: InclusionIndex::CONTRACT,
            });
        }
    }

    /// Splits a `sequence` into groups, at its arrows.
    fn groups(&mut self, node: &Node<'_>) -> Vec<At<Group>> {
        let names = |args: &[Arg<'_>]| -> Option<At<Group>> {
            let span = args.first()?.span.to(args.last()?.span);
            let words = args.iter().filter_map(|a| self.values.as_word(a));
            let words: Vec<At<String>> = words.collect();
            let rest = matches!(words.as_slice(), [one] if one.value == "*");
            let group = match rest {
                true => Group::Rest,
                false => Group::Names(words),
            };
            Some(self.at(group, span))
        };
        let groups = node.args.split(|a| a.value == Value::Mark("->"));
        groups.filter_map(names).collect()
    }

    fn role(&mut self, node: &Node<'_>) {
        let Some(name) = self.values.word(node) else {
            return;
        };
        let mut role = Role {
            name,
            only: Vec::new(),
            max_checks: Vec::new(),
        };
        for line in node.lines().iter().filter(|n| !n.broken) {
            match line.statement.keyword {
                Keyword::RoleOnly => {
                    let tags = self.values.words(line);
                    role.only.push(self.at(tags, line.span));
                }
                Keyword::RoleMaxChecks => {
                    let most = line.values().next();
                    let most = most.and_then(|a| self.values.number(a, 0, u64::MAX));
                    role.max_checks.extend(most.map(|n| self.at(n, line.span)));
                }
                _ => {}
            }
        }
        self.draft.roles.push(role);
    }
}

#[cfg(test)]
mod tests;
