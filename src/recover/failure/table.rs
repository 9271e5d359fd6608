//! The table of causes, `causes.table`: how each is recognised.

use super::invocation::ToolLayer;
use std::sync::LazyLock;
use vplan_base::vocabulary::FailureCode;

/// One rule that recognises why a step failed.
pub(super) struct Row {
    /// Its stable name.
    pub(super) name: &'static str,
    /// The code that it gives.
    pub(super) code: FailureCode,
    /// The test for it.
    pub(super) test: Test,
    /// The tools that it is about.
    pub(super) tools: Vec<ToolLayer>,
    /// Templates of whole lines (see [`reads_as`](super::text::reads_as)).
    pub(super) lines: Vec<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EvidenceStream {
    Stderr,
    Either,
}

pub(super) enum Test {
    /// Exit codes, errors of the system, facts: the function of the row's name.
    Structure,
    /// An exit code of one of the tools.
    Exit(i32),
    /// A line that one of the tools prints here, unless the named function recognises another
    /// meaning.
    Text(EvidenceStream, Option<&'static str>),
    /// None: the lines are for [`Test::Structure`].
    Lines,
}

pub(super) static TABLE: LazyLock<Vec<Row>> =
    LazyLock::new(|| parse(include_str!("causes.table")).unwrap_or_default());

/// The row with this name.
pub(super) fn row(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

/// The lines of the row with this name.
pub(super) fn lines(name: &str) -> &'static [&'static str] {
    row(name).map_or(&[], |row| &row.lines)
}

/// Whether a word is one of those of the row with this name.
pub(super) fn row_has(name: &str, word: &str) -> bool {
    lines(name)
        .iter()
        .any(|line| vplan_base::word::has_word(line, word))
}

fn parse(text: &'static str) -> Option<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut code = FailureCode::Failed;
    let is_said = |line: &&str| !line.is_empty() && !line.starts_with('#');
    for line in text.lines().filter(is_said) {
        if let Some(template) = line.strip_prefix("  ") {
            rows.last_mut()?.lines.push(template);
        } else if let Some(name) = line.strip_prefix("code ") {
            code = FailureCode::parse(name)?;
        } else {
            let mut columns = line.split(" | ");
            let name = columns.next()?;
            let tools = columns.next().unwrap_or("-").split(' ');
            let tools = tools.filter(|word| *word != "-");
            let test = match (columns.next(), columns.next()) {
                (None, _) => Test::Structure,
                (Some("lines" | "words" | "exec"), _) => Test::Lines,
                (Some("stderr"), unless) => Test::Text(EvidenceStream::Stderr, unless),
                (Some("either"), unless) => Test::Text(EvidenceStream::Either, unless),
                (Some(place), _) => Test::Exit(place.strip_prefix("exit ")?.parse().ok()?),
            };
            rows.push(Row {
                name,
                code,
                test,
                tools: tools.map(tool).collect::<Option<_>>()?,
                lines: Vec::new(),
            });
        }
    }
    Some(rows)
}

fn tool(word: &str) -> Option<ToolLayer> {
    Some(match word {
        "ava" => ToolLayer::Ava,
        "bun" => ToolLayer::Bun,
        "bun-test" => ToolLayer::BunTest,
        "cargo" => ToolLayer::Cargo,
        "ctest" => ToolLayer::Ctest,
        "cypress" => ToolLayer::Cypress,
        "deno-test" => ToolLayer::DenoTest,
        "go" => ToolLayer::Go,
        "jest" => ToolLayer::Jest,
        "just" => ToolLayer::Just,
        "make" => ToolLayer::Make,
        "mocha" => ToolLayer::Mocha,
        "nextest" => ToolLayer::Nextest,
        "ninja" => ToolLayer::Ninja,
        "node" => ToolLayer::Node,
        "node-test" => ToolLayer::NodeTest,
        "npm" => ToolLayer::Npm,
        "playwright" => ToolLayer::Playwright,
        "pnpm" => ToolLayer::Pnpm,
        "pytest" => ToolLayer::Pytest,
        "python" => ToolLayer::Python,
        "python-runner" => ToolLayer::PythonRunner,
        "silent-script" => ToolLayer::SilentScript,
        "unittest" => ToolLayer::Unittest,
        "vitest" => ToolLayer::Vitest,
        "wrapper" => ToolLayer::Wrapper,
        "yarn" => ToolLayer::Yarn,
        _ => return None,
    })
}
