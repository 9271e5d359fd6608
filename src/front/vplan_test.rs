//! Lowers test files, and the `expect` blocks of a contract, to drafts.

use super::vplan_value::Values;
use vplan_base::diagnostic::{Diagnostic, Diagnostics};
use vplan_base::hole::Escape;
use vplan_base::source::Sources;
use vplan_base::span::{Place, SourceId, Span};
use vplan_base::vocabulary::{Boundary, RiskLevel};
use vplan_check::verb::{self, CommandRequest};
use vplan_contract::draft::{AssertionKind, At, Expect, ExpectLine};
use vplan_contract::error::{DUPLICATE_LINE, NOT_A_TEST, TESTS_MISSING, command_verb};
use vplan_lang::ast::{Node, Value};
use vplan_lang::command::parse_command;
use vplan_lang::parse::{ParserCaps, parse};
use vplan_lang::statement::{Keyword, StatementContext};

/// The ending of the name of a file of tests.
pub const SUFFIX: &str = ".test.vplan";

/// A file of tests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tests {
    /// The contract that it tests: a path relative to the file's own directory.
    pub contract: Option<At<String>>,
    /// The tests, in order.
    pub expects: Vec<Expect>,
}

/// Lowers a file of tests, with the size in bytes that an operator allows. It begins with `vplan 1`
/// and `tests "PATH"`, and holds nothing else but `expect`.
pub fn lower_tests(
    sources: &Sources,
    id: SourceId,
    file_bytes: usize,
    sink: &mut Diagnostics,
) -> Tests {
    let source = &sources[id];
    let (ast, diagnostics) = parse(source, id, &ParserCaps::of_bytes(file_bytes));
    let sound = !diagnostics.has_errors();
    sink.append(diagnostics);
    let mut values = Values::new(id, sink);
    let mut tests = Tests::default();
    let mut named = false;
    for node in &ast.nodes {
        match node.statement.keyword {
            Keyword::Vplan => {}
            Keyword::Tests => {
                named = true;
                let Some(contract) = values.strings(node).into_iter().next() else {
                    continue;
                };
                if let Some(first) = &tests.contract {
                    let message = "`tests` stands twice";
                    let help = "a file tests one contract; write another file for the other";
                    let error =
                        Diagnostic::twice(DUPLICATE_LINE, message, contract.place, first.place);
                    values.sink.push(error.help(help));
                } else {
                    tests.contract = Some(contract);
                }
            }
            Keyword::Expect => tests.expects.extend(expect(&mut values, node)),
            _ => {
                let word = node.statement.word;
                let error = Diagnostic::error(
                    NOT_A_TEST,
                    format!("`{word}` does not stand in a file of tests"),
                );
                let place = values.place(node.keyword);
                values.sink.push(error.label(place, "not here").help(
                    "beside `vplan 1` and `tests`, only `expect` does; the rest is the contract's",
                ));
            }
        }
    }
    if !named && sound {
        let second = ast.nodes.get(1).map_or(Span::new(0, 0), |n| n.keyword);
        let message = "the file does not say which contract it tests";
        let label = "`tests \"PATH\"` is expected before anything else";
        let help = "write `tests \"verify.vplan\"` behind `vplan 1`: a path relative to this file";
        let error = Diagnostic::at(TESTS_MISSING, message, Place::new(id, second), label);
        sink.push(error.help(help));
    }
    tests
}

/// Lowers an `expect`. `None` for one without a title, which has been reported.
pub(super) fn expect(values: &mut Values<'_>, node: &Node<'_>) -> Option<Expect> {
    let body = node
        .body
        .as_ref()
        .filter(|b| b.context == StatementContext::Expect);
    let title = values.strings(node).into_iter().next()?;
    let mut broken = node.broken || body.is_none_or(|b| b.broken);
    let mut lines = Vec::new();
    for node in body.iter().flat_map(|b| &b.nodes) {
        let place = values.place(node.span);
        match (!node.broken).then(|| line(values, node)).flatten() {
            Some(line) => lines.push(At::new(line, place)),
            None => broken = true,
        }
    }
    Some(Expect {
        title,
        lines,
        broken,
    })
}

fn line(values: &mut Values<'_>, node: &Node<'_>) -> Option<ExpectLine> {
    let first = node.values().next();
    Some(match node.statement.keyword {
        Keyword::ExpectRole => ExpectLine::Role(values.word(node)?),
        Keyword::Changed => ExpectLine::Changed(values.strings(node)),
        Keyword::ExpectTier => ExpectLine::Tier(values.tier(first?)?.value),
        Keyword::RiskLevel => {
            let level = values.one_of(first?, RiskLevel::NAMES)?;
            ExpectLine::RiskLevel(RiskLevel::parse(level)?)
        }
        Keyword::At => {
            let end = |arg| Boundary::parse(values.one_of(arg, Boundary::NAMES)?);
            ExpectLine::At(node.values().map(end).collect::<Option<_>>()?)
        }
        Keyword::ExpectCommand => match &first?.value {
            Value::Str(_) => {
                let text = values.text(first?, Escape::Nothing)?;
                if let Some(found) = verb::wrong(&text) {
                    let place = values.place(first?.span);
                    values.sink.push(command_verb(&found, place));
                    return None;
                }
                ExpectLine::Command(CommandRequest::read(&text, parse_command))
            }
            _ => return None,
        },
        Keyword::ExpectExists => ExpectLine::Exists(values.strings(node)),
        Keyword::ExpectPlan => ExpectLine::Assertion(AssertionKind::Plan, values.words(node)),
        Keyword::Runs => ExpectLine::Assertion(AssertionKind::Runs, values.words(node)),
        Keyword::Skips => ExpectLine::Assertion(AssertionKind::Skips, values.words(node)),
        _ => return None,
    })
}
