//! Writes out `each` blocks: their content once for each row, with the holes filled.

use super::vplan::Lowering;
use crate::base::diagnostic::Diagnostic;
use crate::base::hole::{has_hole, holes};
use crate::base::span::Span;
use crate::contract::ConditionIndex;
use crate::contract::caps;
use crate::contract::draft::At;
use crate::contract::error::{EACH_TOO_MANY, EACH_TWICE, EACH_UNUSED};
use crate::lang::ast::{Arg, Body, Node, Value};
use crate::lang::error::shown;
use crate::lang::statement::Keyword;
use std::collections::BTreeMap;

/// The most rows of an `each`.
const ROWS: usize = 1_000;

/// The most statements for each check that a contract may have, rows counted.
const STATEMENTS: usize = 10;

/// A row of an `each`: its values, and where it is written.
struct Row<'n> {
    values: Vec<&'n str>,
    span: Span,
}

impl Lowering<'_> {
    /// Lowers the block of an `each` once for each row. Recursion is bounded by the cap on nesting.
    pub(super) fn each(
        &mut self,
        node: &Node<'_>,
        around: &mut Vec<ConditionIndex>,
        tier: Option<At<u8>>,
    ) {
        let Some(body) = node.body.as_ref().filter(|_| !node.broken) else {
            // What it would have made is not reported as unknown.
            self.draft.absent.push(String::new());
            return;
        };
        let names = names(node);
        // What cannot be read may have the hole.
        let checked = if is_broken(node) { &[][..] } else { &names };
        for (name, span) in checked {
            if !body.nodes.iter().any(|node| uses(node, name)) {
                let error = format!("`{{{name}}}` is used nowhere in the block");
                let error = Diagnostic::error(EACH_UNUSED, error)
                    .label(self.place(*span), "a name without a use")
                    .help(format!(
                        "write `{{{name}}}` where the value stands, or leave it out"
                    ));
                self.values.sink.push(error);
            }
        }
        let rows = rows(node, names.len());
        let mut seen: BTreeMap<&[&str], Span> = BTreeMap::new();
        for row in &rows {
            if let Some(first) = seen.insert(&row.values, row.span) {
                let error = format!("the row {} is there twice", shown(&row.values.join(" ")));
                let error = Diagnostic::error(EACH_TWICE, error)
                    .label(self.place(row.span), "again here")
                    .label(self.place(first), "first here")
                    .help("keep one of them");
                self.values.sink.push(error);
                return;
            }
        }
        let outer = self.values.row;
        let left = self.values.holes.count();
        for row in &rows {
            let named = names.iter().zip(&row.values);
            let named = named.map(|((name, _), value)| ((*name).to_owned(), (*value).to_owned()));
            self.values.holes.enter(named);
            let holes = self.values.holes.clone();
            self.values.row = self.draft.rows.add(self.values.id, holes);
            self.entries(&body.nodes, around, tier.clone());
            self.values.holes.leave(left);
        }
        self.values.row = outer;
    }

    /// Whether the rows make more than a contract may have, which is reported. They are counted
    /// before anything is made.
    pub(super) fn is_too_much(&mut self, nodes: &[Node<'_>]) -> bool {
        let caps = caps::Caps::default();
        let mut most_rows = None;
        let Made { checks, statements } = Made::of(nodes, &mut most_rows);
        let first = nodes
            .iter()
            .find(|node| node.statement.keyword == Keyword::Each);
        let place = first.map_or(Span::default(), |node| node.keyword);
        let (message, place) = match most_rows {
            Some((rows, span)) => (
                format!("an `each` of {rows} rows, {ROWS} are the most"),
                span,
            ),
            None if checks > caps.checks && first.is_some() => (
                format!(
                    "{checks} checks with all rows, {} are the most",
                    caps.checks
                ),
                place,
            ),
            None if statements > caps.checks * STATEMENTS && first.is_some() => (
                format!(
                    "{statements} statements with all rows, {} are the most",
                    caps.checks * STATEMENTS
                ),
                place,
            ),
            None => return false,
        };
        let error = Diagnostic::error(EACH_TOO_MANY, message)
            .label(self.place(place), "nothing was written out")
            .help("an `each` inside another multiplies the rows");
        self.values.sink.push(error);
        true
    }
}

/// How much a text makes, rows counted.
struct Made {
    checks: usize,
    statements: usize,
}

impl Made {
    /// Counts, without making anything. `most` becomes the first `each` with more rows than the cap.
    fn of(nodes: &[Node<'_>], most: &mut Option<(usize, Span)>) -> Self {
        let mut all = Self {
            checks: 0,
            statements: 0,
        };
        for node in nodes {
            let is_check = matches!(
                node.statement.keyword,
                Keyword::Check | Keyword::RunAnonymous
            );
            let inner = node.body.as_ref().map(|body| Self::of(&body.nodes, most));
            let rows = if node.statement.keyword == Keyword::Each {
                row_count(node)
            } else {
                1
            };
            if rows > ROWS {
                most.get_or_insert((rows, node.keyword));
            }
            let inner = inner.unwrap_or(Self {
                checks: 0,
                statements: 0,
            });
            let checks = inner.checks.saturating_mul(rows);
            all.checks = all.checks.saturating_add(checks + usize::from(is_check));
            let statements = inner.statements.saturating_mul(rows).saturating_add(1);
            all.statements = all.statements.saturating_add(statements);
        }
        all
    }
}

/// Returns the names of an `each`.
fn names<'n>(node: &'n Node<'_>) -> Vec<(&'n str, Span)> {
    let head = node
        .args
        .iter()
        .take_while(|arg| !matches!(arg.value, Value::Mark(_)));
    let name = |arg: &'n Arg<'_>| match arg.value {
        Value::Word(name) => Some((name, arg.span)),
        _ => None,
    };
    head.filter_map(name).collect()
}

fn row_count(node: &Node<'_>) -> usize {
    let values = node
        .args
        .iter()
        .filter(|arg| matches!(arg.value, Value::Item(_)));
    values.count() / names(node).len().max(1)
}

/// Returns the rows of an `each` with this many names.
fn rows<'n>(node: &'n Node<'_>, names: usize) -> Vec<Row<'n>> {
    let item = |arg: &'n Arg<'_>| match &arg.value {
        Value::Item(value) => Some((value.as_str(), arg.span)),
        _ => None,
    };
    let items: Vec<(&str, Span)> = node.args.iter().filter_map(item).collect();
    let row = |items: &[(&'n str, Span)]| {
        let (first, last) = (items.first()?, items.last()?);
        Some(Row {
            values: items.iter().map(|(value, _)| *value).collect(),
            span: first.1.to(last.1),
        })
    };
    items.chunks(names.max(1)).filter_map(row).collect()
}

/// Whether something in a statement or its block could not be read.
fn is_broken(node: &Node<'_>) -> bool {
    let inside = |body: &Body<'_>| body.broken || body.nodes.iter().any(is_broken);
    node.broken || node.body.as_deref().is_some_and(inside)
}

/// Whether a hole with this name is in a statement or its block.
fn uses(node: &Node<'_>, name: &str) -> bool {
    let has = |text: &str| holes(text).any(|(_, hole)| hole == name);
    let hole = format!("{{{name}}}");
    let in_arg = |arg: &Arg<'_>| match &arg.value {
        Value::Word(text) | Value::Not(text) => has(text),
        Value::Str { text, holes, .. } => *holes && has(text),
        Value::Command(command) => command.names_hole(&hole),
        Value::Assignment(pair) => pair.names_hole(&hole),
        Value::Shell(_) | Value::Mark(_) | Value::Item(_) => false,
    };
    node.args.iter().any(in_arg)
        || node
            .body
            .iter()
            .any(|body| body.nodes.iter().any(|node| uses(node, name)))
}

/// Whether what a value makes of a text can be a name: whatever is put in is a part of one.
pub(super) fn is_part_of_name(value: &str) -> bool {
    value
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':'))
}

/// What could be written for a text of which a name cannot be made.
pub(super) fn better_name(text: &str) -> Option<String> {
    let (first, _) = holes(text).next().filter(|(range, _)| range.start == 0)?;
    let (hole, rest) = text.split_at(first.end);
    let tail = rest.trim_start_matches(['-', '_', '.', ':']);
    let begins = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic());
    Some(if begins(tail) && !has_hole(tail) {
        format!("{tail}-{hole}")
    } else {
        format!("x-{text}")
    })
}
