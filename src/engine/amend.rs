//! Writes the changes that an audit proposes into a contract.

use crate::Contract;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::diagnostic::Diagnostics;
use vplan_base::setting::Row;
use vplan_base::source::Source;
use vplan_base::span::{SourceId, Span};
use vplan_base::word::quote_literal;
use vplan_contract::CheckIndex;
use vplan_lang::ast::{Body, Node, Value};
use vplan_lang::layout::{Formatted, reformat};
use vplan_lang::parse::{ParserCaps, parse};
use vplan_lang::statement::Keyword;
use vplan_plan::MAY_CHANGE;
use vplan_plan::audit::amendment::{Amendment, head};
use vplan_plan::audit::covering::fewest;

/// Returns the text of a contract with these changes, in the layout of `vplan fmt`. `source`: the
/// text that the contract was read from. A `writes` that would let a check change files that git
/// does not ignore is omitted.
///
/// # Errors
/// A text that cannot be changed, for people: one with errors of syntax, or one that would be too
/// large.
pub fn amend(
    source: &Source,
    contract: &Contract,
    amendments: &[&Amendment],
) -> Result<String, String> {
    let caps = ParserCaps::default();
    let (ast, diagnostics) = parse(source, SourceId::default(), &caps);
    if diagnostics.has_errors() {
        return Err(first_of(&diagnostics));
    }
    let mut edits = Edits::default();
    let changes = Changes::new(contract, amendments);
    for (place, globs) in &changes.conditions {
        // One check may have read a file, and another one the whole folder around it.
        let globs = fewest(globs.iter().map(|glob| (*glob).clone()).collect());
        edits.insert(place.end, words(&globs.iter().collect()));
    }
    for (index, change) in &changes.checks {
        let place = contract.checks[*index].place.span;
        if let Some(node) = find(&ast.nodes, place) {
            change.write(source, node, &mut edits);
        }
    }
    let end = source.text().len();
    for used in &changes.uses {
        edits.insert(end, format!("\n{used}\n"));
    }
    let text = edits.apply(source.text());
    let changed = Source::new(source.name(), &text);
    match reformat(&changed, SourceId::default(), &caps).map_err(|e| e.to_string())? {
        Formatted::Text(text) => Ok(text),
        Formatted::Invalid(diagnostics) | Formatted::TooLarge(diagnostics) => {
            Err(first_of(&diagnostics))
        }
    }
}

fn first_of(diagnostics: &Diagnostics) -> String {
    let first = diagnostics.iter().next();
    first.map(|found| found.message.clone()).unwrap_or_default()
}

/// Returns quoted words, each after a blank.
fn words(globs: &BTreeSet<&String>) -> String {
    let quoted = globs.iter().map(|glob| quote_literal(glob));
    quoted.map(|glob| format!(" {glob}")).collect()
}

/// The requested changes, by place.
#[derive(Default)]
struct Changes<'w> {
    /// More globs for heads of conditions.
    conditions: BTreeMap<Span, BTreeSet<&'w String>>,
    checks: BTreeMap<CheckIndex, CheckChange<'w>>,
    /// Further blocks.
    uses: Vec<String>,
}

/// The requested changes to one check.
#[derive(Default)]
struct CheckChange<'w> {
    /// More words of its settings.
    rows: BTreeMap<Row, BTreeSet<&'w String>>,
    /// The whole line of `inputs`, for a check that has it from `defaults`.
    whole_inputs: String,
}

impl<'w> Changes<'w> {
    fn new(contract: &Contract, amendments: &[&'w Amendment]) -> Self {
        let mut changes = Self::default();
        for one in amendments {
            match one {
                Amendment::Condition { condition, globs } => {
                    let place = contract.conditions[*condition].place.span;
                    changes.conditions.entry(place).or_default().extend(globs);
                }
                Amendment::Setting {
                    is_shown_only: true,
                    ..
                } => {}
                Amendment::Setting {
                    check, row, words, ..
                } => {
                    let change = changes.of_check(*check);
                    change.rows.entry(*row).or_default().extend(words);
                    if *row == Row::Inputs {
                        change.whole_inputs = one.line(contract);
                    }
                }
                Amendment::Use {
                    around,
                    check,
                    globs,
                } => {
                    let globs = words(&globs.iter().collect());
                    let last = format!("whenChangedAny{globs}");
                    let heads = around.iter().map(head).chain([last]);
                    let heads: String = heads.map(|head| format!("{head} {{\n")).collect();
                    let ends = "\n}".repeat(around.len() + 1);
                    changes.uses.push(format!("{heads}use {check}{ends}"));
                }
            }
        }
        changes
    }

    fn of_check(&mut self, check: CheckIndex) -> &mut CheckChange<'w> {
        self.checks.entry(check).or_default()
    }
}

impl CheckChange<'_> {
    /// Adds it to the text of a check.
    fn write(&self, source: &Source, node: &Node<'_>, edits: &mut Edits) {
        let mut lines = Vec::new();
        for row in [Row::Inputs, Row::Reads, MAY_CHANGE, Row::Needs] {
            let Some(new) = self.rows.get(&row) else {
                continue;
            };
            let new = match row {
                Row::Needs => new.iter().map(|name| format!(" {name}")).collect(),
                _ => words(new),
            };
            match setting(node, Keyword::Row(row)) {
                Some(own) => edits.insert(own.span.end, new),
                None if row == Row::Inputs => lines.push(self.whole_inputs.clone()),
                None => lines.push(format!("{}{new}", row.setting().word)),
            }
        }
        if lines.is_empty() {
            return;
        }
        let lines = lines.join("\n");
        match &node.body {
            Some(body) => edits.insert(body.close.start, format!("{lines}\n")),
            None => as_block(source, node, &lines, edits),
        }
    }
}

/// Makes a block of `check NAME: COMMAND`.
fn as_block(source: &Source, node: &Node<'_>, lines: &str, edits: &mut Edits) {
    let mut args = node.args.iter();
    let command = args.find(|arg| matches!(arg.value, Value::Command(_)));
    let (Some(name), Some(command)) = (node.args.first(), command) else {
        return;
    };
    let text = source.slice(command.span);
    let from = Span::new(name.span.end, command.span.end);
    edits.replace(from, format!(" {{\nrun {text}\n{lines}\n}}"));
}

fn setting<'n, 'a>(node: &'n Node<'a>, keyword: Keyword) -> Option<&'n Node<'a>> {
    let mut nodes = inside(node).iter();
    nodes.find(|node| node.statement.keyword == keyword)
}

fn inside<'n, 'a>(node: &'n Node<'a>) -> &'n [Node<'a>] {
    let body: Option<&Body<'a>> = node.body.as_deref();
    body.map_or(&[], |body| &body.nodes)
}

/// Finds the check whose name is at this place. The limit on nesting bounds the recursion.
fn find<'n, 'a>(nodes: &'n [Node<'a>], place: Span) -> Option<&'n Node<'a>> {
    nodes.iter().find_map(|node| {
        let is_named = node.args.first().is_some_and(|name| name.span == place);
        if is_named && node.statement.keyword == Keyword::Check {
            return Some(node);
        }
        find(inside(node), place)
    })
}

/// Changes of a text.
#[derive(Default)]
struct Edits(Vec<(Span, String)>);

impl Edits {
    fn insert(&mut self, at: usize, text: String) {
        self.replace(Span::new(at, at), text);
    }

    fn replace(&mut self, span: Span, text: String) {
        self.0.push((span, text));
    }

    /// Returns the text with all changes, those of one place in the order in which they were added.
    fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(span, _)| *span);
        let mut out = String::with_capacity(text.len());
        let mut behind = 0;
        for (span, new) in &self.0 {
            out.push_str(text.get(behind..span.start).unwrap_or_default());
            out.push_str(new);
            behind = span.end;
        }
        out.push_str(text.get(behind..).unwrap_or_default());
        out
    }
}
