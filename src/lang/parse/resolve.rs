//! Resolves the first word of a line to a statement of its context, and checks its requirements on
//! the whole file.

use super::argument::hole_place;
use super::each::each_help;
use super::foreign::noun;
use super::line::Line;
use super::parser::{Frame, Parser, VERSIONS};
use crate::ast::Node;
use crate::error::{self, quote};
use crate::foreign::{self, Advice};
use crate::statement::{self, Keyword, STATEMENTS, Statement, StatementContext};
use vplan_base::hole::holes;
use vplan_base::nearest::nearest;
use vplan_base::span::Span;

/// Limit of costly guesses: suggestions, and searches for the end of a foreign list.
const GUESSES: u32 = 200;

/// The certainty that a line is the statement it is read as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    Certain,
    /// A word that begins no statement is read as the nearest one.
    Guessed,
    /// The statement is not allowed here.
    Misplaced,
    /// A word of another tool is read as the statement that has its meaning.
    Foreign,
}

/// The meaning of the first word of a line.
pub(super) enum Resolved {
    Statement(&'static Statement, Reading),
    /// None; skips a block after it.
    Nothing,
    /// None, and all that belongs to the line was dealt with.
    Answered,
}

impl<'a> Parser<'a> {
    /// Finds the statement that a word begins here. Reports errors in it.
    pub(super) fn resolve(&mut self, word: &str, rest: &str, span: Span, line: &Line) -> Resolved {
        // `tier` sets the tier of a check, and opens a block around checks.
        if let Some(frame) = self.frames.last()
            && frame.presumed
            && line.indent <= frame.indent
            && line.opens
            && statement::find(word, self.context_in(self.frames.len() - 1)).is_some()
        {
            self.pop(Span::new(line.content.start, line.content.start), None);
        }
        let context = self.context();
        if let Some(found) = statement::find(word, context) {
            return Resolved::Statement(found, Reading::Certain);
        }
        if let Some((keep, found)) = self.dedented(word, line.indent) {
            while self.frames.len() > keep {
                if let Some(frame) = self.frames.last().filter(|f| !f.doubtful) {
                    self.unclosed(frame.open);
                }
                self.pop(Span::new(line.content.start, line.content.start), None);
            }
            return Resolved::Statement(found, Reading::Certain);
        }
        if context == StatementContext::Unknown {
            return Resolved::Nothing;
        }
        let outer = statement::find("check", context).is_some();
        // `lint: npm run lint`, whose name may be a word of anything.
        let unheaded = outer && rest.starts_with(": ") && rest.trim().len() > 1;
        if self.check_without_head(word, rest, span, line) {
            return Resolved::Answered;
        }
        if let "for" | "foreach" | "matrix" = word
            && let Some(each) = statement::find("each", context)
        {
            let message = format!("an `each` is written `{}`", each.usage);
            let error = self.error(
                error::EACH_HEAD,
                message,
                span,
                "a word of another language",
            );
            self.report(error.help(each_help(rest)));
            return Resolved::Statement(each, Reading::Foreign);
        }
        let misplaced = outer && statement::find(word, StatementContext::Top).is_some();
        if let Some(row) = foreign::find(word, context).filter(|_| !misplaced)
            && !matches!(row.advice, Advice::Word(known) if known == word)
            && !(unheaded && STATEMENTS.iter().any(|s| s.word == word))
        {
            return match self.answer(row, word, rest, span, line) {
                Some(statement) => Resolved::Statement(statement, Reading::Foreign),
                None => Resolved::Answered,
            };
        }
        if let Some((_, name)) = holes(word).next() {
            self.report(hole_place(name, self.place(span)));
            self.break_frame();
            return Resolved::Nothing;
        }
        if !unheaded && let Some(other) = STATEMENTS.iter().find(|s| s.word == word) {
            let contexts: Vec<&str> = STATEMENTS
                .iter()
                .filter(|s| s.word == word)
                .flat_map(|s| s.contexts.iter().map(move |context| (s, context)))
                // What a check holds may be changed where it is imported, too.
                .filter(|(s, c)| {
                    **c != StatementContext::Override
                        || !s.contexts.contains(&StatementContext::Check)
                })
                .map(|(_, c)| c.name())
                .collect();
            let mut help = format!("it stands {}", contexts.join(", or "));
            if other.keyword == Keyword::Use {
                // Not around a `tier` block either: a check brings its tier along.
                help = "it stands in a conditional block; at the top level a check applies anyway"
                    .to_owned();
            } else if context == StatementContext::Override
                && other.body == Some(StatementContext::Group)
            {
                help = "when a check applies is not changed: `use` it in such a block, or take it out with \
                        `without` and write another"
                    .to_owned();
            } else if context != StatementContext::Check
                && contexts == [StatementContext::Check.name()]
            {
                help.push_str(": `check NAME {` … `}`");
            }
            // The block around it may be a condition's inside of the `each`.
            let is_each = |frame: &Frame<'_>| frame.node.statement.keyword == Keyword::Each;
            let in_each =
                context == StatementContext::Each || self.frames.last().is_some_and(is_each);
            let (code, message) = match in_each {
                true => (
                    error::EACH_HOLDS,
                    format!("`{word}` cannot stand in an `each`"),
                ),
                false => (
                    error::MISPLACED_STATEMENT,
                    format!("`{word}` does not stand {}", context.name()),
                ),
            };
            self.report(self.error(code, message, span, "not here").help(help));
            return Resolved::Statement(other, Reading::Misplaced);
        }
        let (noun, remark) = noun(context);
        let message = format!("unknown {noun} {}", quote(word));
        let mut diagnostic = self.error(error::UNKNOWN_STATEMENT, message, span, remark);
        let mut guess = None;
        let may_guess = self.may_guess();
        if may_guess {
            guess = nearest(word, statement::allowed(context).map(|s| s.word))
                .and_then(|w| statement::find(w, context))
                .map(|s| (s, Reading::Guessed));
            guess = guess.or_else(|| {
                let near = nearest(word, STATEMENTS.iter().map(|s| s.word))?;
                let other = STATEMENTS.iter().find(|s| s.word == near);
                other.map(|s| (s, Reading::Misplaced))
            });
        }
        if rest.starts_with(':') && outer {
            guess = None;
            let rest = rest.trim_start_matches(':');
            diagnostic = diagnostic.help(format!("a check is written `check {word}:{rest}`"));
        } else if let Some((found, reading)) = guess {
            let stands = found.contexts.first().map_or("", |c| c.name());
            let hint = if reading == Reading::Misplaced {
                format!(", which stands {stands}")
            } else {
                String::new()
            };
            diagnostic = diagnostic.help(format!("did you mean `{}`{hint}?", found.word));
        } else if may_guess {
            // `tests` occurs in files of tests only.
            let unsupported = |s: &&Statement| s.keyword == Keyword::Tests;
            let words: Vec<&str> = statement::allowed(context)
                .filter(|s| !unsupported(s))
                .map(|s| s.word)
                .collect();
            diagnostic = diagnostic.help(format!("{} stand: {}", context.name(), words.join(" ")));
        }
        self.report(diagnostic);
        match guess {
            Some((found, reading)) => Resolved::Statement(found, reading),
            None => {
                self.break_frame();
                Resolved::Nothing
            }
        }
    }

    /// Counts a costly guess. Returns whether it is within the limit.
    pub(super) fn may_guess(&mut self) -> bool {
        self.guesses += 1;
        self.guesses <= GUESSES
    }

    /// Detects a forgotten `}` before this line: the statement fits an outer block, and is indented
    /// no deeper than the lines that opened the inner ones. Returns how many blocks stay open, and
    /// the statement.
    fn dedented(&self, word: &str, indent: usize) -> Option<(usize, &'static Statement)> {
        let mut keep = self.frames.len();
        for frame in self.frames.iter().rev() {
            if indent > frame.indent {
                return None;
            }
            keep -= 1;
            let context = self.context_in(keep);
            if let Some(found) = statement::find(word, context) {
                return Some((keep, found));
            }
        }
        None
    }

    /// Reads a statement's effect on the file as a whole.
    pub(super) fn remarks(&mut self, node: &Node<'a>) {
        match node.statement.keyword {
            Keyword::Vplan if node.broken => {}
            Keyword::Vplan => {
                if !self.nodes.is_empty() || !self.frames.is_empty() {
                    let message =
                        "the version of the language stands before anything else, and once";
                    let code = error::MISPLACED_HEADER;
                    let mut error = self.error(code, message, node.keyword, "not here");
                    if let Some(first) = self.nodes.first() {
                        error = error.label(self.place(first.keyword), "the file begins here");
                    }
                    self.report(error.help("make `vplan 1` the first line of the file"));
                }
                let Some(arg) = node.args.first() else { return };
                let found = self.slice(arg.span);
                if !VERSIONS.contains(&found) {
                    let message = format!("unknown version {}", quote(found));
                    let code = error::UNKNOWN_VERSION;
                    let error = self.error(code, message, arg.span, "of the language");
                    let known = VERSIONS.join(", ");
                    self.report(error.help(format!("this program knows version {known}")));
                    // Another version has other statements: any further message might be wrong.
                    self.stopped = found.bytes().all(|b| b.is_ascii_digit());
                }
            }
            Keyword::TierBlock => {
                let is_tier = |f: &&Frame<'_>| f.node.statement.keyword == Keyword::TierBlock;
                if let Some(outer) = self.frames.iter().find(is_tier) {
                    let message = "a `tier` block inside another";
                    let error = self.error(error::NESTED_TIER, message, node.keyword, "this one");
                    let outer = self.place(outer.node.keyword);
                    let error = error.label(outer, "inside this one");
                    self.report(error.help("a check has one tier: close the outer block first"));
                }
            }
            _ => {}
        }
    }

    pub(super) fn header(&mut self) {
        let first = self.nodes.first();
        if first.is_some_and(|n| n.statement.keyword == Keyword::Vplan) {
            return;
        }
        let mut nodes = self.nodes.iter();
        if !nodes.any(|n| n.statement.keyword == Keyword::Vplan) {
            let span = first.map_or(Span::new(0, 0), |n| n.keyword);
            let message = "the file does not say which version of the language it is in";
            let label = "`vplan 1` is expected before anything else";
            let error = self.error(error::MISSING_HEADER, message, span, label);
            self.report(error.help("begin the file with the line `vplan 1`"));
        }
    }
}
