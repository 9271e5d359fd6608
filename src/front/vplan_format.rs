//! Lowers `format` blocks.

use super::vplan::Lowering;
use vplan_base::hole::Escape;
use vplan_check::definition::{LineLevel, LineMeaning};
use vplan_contract::draft::{At, Format, FormatLine};
use vplan_lang::ast::{Arg, Node, Value};
use vplan_lang::statement::Keyword;

impl Lowering<'_> {
    /// Lowers a `format` block.
    pub(super) fn format(&mut self, node: &Node<'_>) {
        let Some(name) = self.values.word(node) else {
            // What it would have defined is not reported as unknown.
            return self.draft.absent.push(String::new());
        };
        let body = node.body.as_ref();
        let lines = node.lines();
        let is_broken = node.broken
            || body.is_none_or(|body| body.broken)
            || lines.iter().any(|line| line.broken);
        let mut format = Format {
            name,
            lines: Vec::new(),
            is_broken,
        };
        for line in lines.iter().filter(|line| !line.broken) {
            match self.format_line(line) {
                Some(read) => format.lines.push(At::new(read, self.place(line.span))),
                None => format.is_broken = true,
            }
        }
        self.draft.formats.push(format);
    }

    fn format_line(&mut self, line: &Node<'_>) -> Option<FormatLine> {
        let says = match line.statement.keyword {
            Keyword::Finding => LineMeaning::Finding,
            Keyword::Heading => LineMeaning::Heading,
            Keyword::Clean => LineMeaning::Clean,
            Keyword::Passed => LineMeaning::Passed,
            Keyword::Failed => LineMeaning::Failed,
            Keyword::SkippedTests => LineMeaning::Skipped,
            Keyword::Errors => return Some(self.severities(LineLevel::Error, line)),
            Keyword::Warnings => return Some(self.severities(LineLevel::Warning, line)),
            Keyword::Notes => return Some(self.severities(LineLevel::Note, line)),
            _ => return None,
        };
        let level = match line.values().next() {
            Some(arg) if matches!(arg.value, Value::Word(_)) => {
                LineLevel::parse(self.values.one_of(arg, LineLevel::NAMES)?)
            }
            _ => None,
        };
        let pattern = line.values().last()?;
        let text = self.values.text(pattern, Escape::Nothing)?;
        let pattern = At::new(text, self.place(pattern.span));
        Some(FormatLine::Pattern(says, level, pattern))
    }

    fn severities(&self, level: LineLevel, line: &Node<'_>) -> FormatLine {
        let word = |arg: &Arg<'_>| {
            let word = arg.word()?.to_owned();
            Some(At::new(word, self.place(arg.span)))
        };
        FormatLine::Words(level, line.values().filter_map(word).collect())
    }
}
