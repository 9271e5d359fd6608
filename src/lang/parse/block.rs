//! Keeps the stack of open blocks, and restores it after any fault, such as a block that nothing
//! opened or whose head is unknown.

use super::line::Line;
use super::parser::{Frame, Head, Parser};
use super::token;
use crate::ast::{Body, Node};
use crate::error;
use crate::statement::{self, Keyword, STATEMENTS, Statement, StatementContext};
use vplan_base::span::Span;

impl<'a> Parser<'a> {
    pub(super) fn push(
        &mut self,
        node: Node<'a>,
        context: StatementContext,
        open: Span,
        indent: usize,
        doubtful: bool,
    ) {
        if self.frames.len() >= self.caps.depth {
            let message = format!("blocks are nested deeper than {}", self.caps.depth);
            self.report(self.error(
                error::NESTED_TOO_DEEP,
                message,
                open,
                "this one was not read",
            ));
            self.buried = 1;
            return;
        }
        self.frames.push(Frame {
            node,
            context,
            open,
            indent,
            nodes: Vec::new(),
            doubtful,
            presumed: false,
            broken: false,
        });
    }

    /// Opens a block with an unknown head, so that its `}` is found.
    pub(super) fn push_unknown(&mut self, line: &Line) {
        if self.frames.len() >= self.caps.depth {
            self.buried = 1;
            return;
        }
        let trimmed = self.slice(line.content).trim_end().len();
        let end = line.content.start + trimmed;
        let open = Span::new(end.saturating_sub(1), end);
        if let Some(node) = self.unknown(line) {
            self.push(node, StatementContext::Unknown, open, line.indent, true);
        }
    }

    /// Makes the node of an unknown line.
    pub(super) fn unknown(&mut self, line: &Line) -> Option<Node<'a>> {
        let head = Head {
            statement: STATEMENTS.iter().find(|s| s.keyword == Keyword::Expect)?,
            keyword: line.content,
        };
        Some(self.broken(head, line))
    }

    /// Reads the following lines as the block that a head without a `{` should have opened: the
    /// error is not in them.
    pub(super) fn presume(&mut self, node: Node<'a>, context: StatementContext, indent: usize) {
        if self.frames.len() >= self.caps.depth {
            return self.add(node);
        }
        let open = node.keyword;
        self.push(node, context, open, indent, true);
        if let Some(frame) = self.frames.last_mut() {
            frame.presumed = true;
        }
    }

    /// Reads the following lines as if their head were missing: where the first line of a block
    /// does not belong, the others do not either.
    pub(super) fn presume_head(&mut self, statement: &'static Statement, line: &Line) {
        let is_outer =
            |c: &StatementContext| matches!(c, StatementContext::Top | StatementContext::Group);
        if is_outer(&self.context())
            && !statement.contexts.iter().any(is_outer)
            && let Some(context) = statement.contexts.first()
            && let Some(node) = self.unknown(line)
        {
            // It ends at the first line that does not belong into it, at any depth.
            self.presume(node, *context, usize::MAX);
        }
    }

    /// Whether the following lines are indented as the lines of a block are, and may be in this
    /// one.
    pub(super) fn goes_deeper(&self, line: &Line, context: StatementContext) -> bool {
        let below = self.first_below(line);
        below.is_some_and(|(next, word)| {
            next.indent > line.indent && statement::find(word, context).is_some()
        })
    }

    /// Reads `}`.
    pub(super) fn close(&mut self, text: &str, line: &Line) {
        let start = line.content.start;
        let brace = Span::new(start, start + 1);
        let rest = text.get(1..).unwrap_or_default();
        let behind = rest.trim_start();
        let word = token::word(behind).map_or("", |(_, word)| word);
        let otherwise = matches!(word, "else" | "elif" | "elseif" | "otherwise");
        if !otherwise && !behind.is_empty() && self.context() != StatementContext::Unknown {
            let span = Span::new(start + 1, start + text.trim_end().len());
            let message = "a `}` stands on a line of its own";
            let label = "this belongs to the next line";
            let error = self.error(error::BLOCK_ON_ONE_LINE, message, span, label);
            self.report(error.help("write `}` alone"));
        }
        // A `}` indented no deeper than the enclosing block closes that block.
        while let [.., around, last] = self.frames.as_slice()
            && last.presumed
            && line.indent <= around.indent
        {
            self.pop(Span::new(start, start), None);
        }
        if self.frames.is_empty() {
            let (message, label) = ("a `}` without a block", "no block is open here");
            let error = self.error(error::UNEXPECTED_CLOSE, message, brace, label);
            self.report(error.help("leave it out, or look for the `{` that is missing above"));
        } else {
            self.pop(brace, line.comment);
        }
        if otherwise && self.context() != StatementContext::Unknown {
            let from = start + text.len() - behind.len();
            self.otherwise(Span::new(from, from + word.len()), line);
        } else if line.opens {
            self.push_unknown(line);
        }
    }

    pub(super) fn pop(&mut self, close: Span, comment: Option<Span>) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        let body = Body {
            context: frame.context,
            open: frame.open,
            nodes: frame.nodes,
            end: std::mem::take(&mut self.trivia),
            close,
            comment,
            broken: frame.broken,
        };
        self.add(Node {
            body: Some(Box::new(body)),
            ..frame.node
        });
    }

    pub(super) fn unclosed(&mut self, open: Span) {
        let message = "a block is not closed";
        let error = self.error(error::UNCLOSED_BLOCK, message, open, "opened here");
        self.report(error.help("close it with `}` on a line of its own"));
    }
}
