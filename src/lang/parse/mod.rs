//! Which tree does a text describe?
//!
//! Line by line, with an explicit stack of open blocks: no input can overflow the stack, and an error costs its line. The
//! statement table says what may stand where; behind an error reading goes on at the next line, or behind the matching `}`.

mod argument;
mod command;
mod line;
mod token;

use super::ast::{Ast, Body, Node, Trivia};
use super::error::{self, shown};
use super::statement::{self, Context, Keyword, STATEMENTS, Statement};
use super::suggest::nearest;
use crate::base::diagnostic::{Diagnostic, Diagnostics};
use crate::base::source::Source;
use crate::base::span::{Place, SourceId, Span};
use crate::base::word::is_bidi_control;
use line::Line;

/// How much a file may hold (language.md section 2). A contract cannot raise its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Bytes of the file.
    pub file_bytes: usize,
    /// Bytes of a line.
    pub line_bytes: usize,
    /// Bytes of a name.
    pub name_bytes: usize,
    /// Blocks inside blocks.
    pub depth: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { file_bytes: 1 << 20, line_bytes: 64 << 10, name_bytes: 128, depth: 64 }
    }
}

/// The versions of the language that are known.
pub const VERSIONS: [&str; 1] = ["1"];

/// Reads a file. The tree is as complete as the text allows; it is the whole of the text when there are no errors.
#[must_use]
pub fn parse<'a>(source: &'a Source, id: SourceId, caps: &Caps) -> (Ast<'a>, Diagnostics) {
    let text = source.text();
    let mut parser = Parser {
        text,
        id,
        caps: *caps,
        out: Vec::new(),
        frames: Vec::new(),
        nodes: Vec::new(),
        trivia: Vec::new(),
        comments: Vec::new(),
        buried: 0,
        guesses: 0,
        stopped: false,
    };
    if text.len() > caps.file_bytes {
        let message = format!("the file has {} bytes, more than the {} allowed", text.len(), caps.file_bytes);
        let place = parser.place(Span::new(0, 0));
        parser.report(
            Diagnostic::error(error::FILE_TOO_LARGE, message)
                .label(place, "it was not read")
                .help("an operator can raise the limit with `--max-file`"),
        );
    } else {
        parser.file();
    }
    let mut diagnostics = Diagnostics::default();
    parser.out.into_iter().for_each(|d| diagnostics.push(d));
    (Ast { source: id, nodes: parser.nodes, end: parser.trivia }, diagnostics)
}

struct Parser<'a> {
    text: &'a str,
    id: SourceId,
    caps: Caps,
    out: Vec<Diagnostic>,
    /// The open blocks, outermost first.
    frames: Vec<Frame<'a>>,
    /// The statements of the top level.
    nodes: Vec<Node<'a>>,
    /// What has been met since the last statement.
    trivia: Vec<Trivia>,
    comments: Vec<Span>,
    /// Open blocks beyond the cap on nesting; they are only counted.
    buried: usize,
    /// How many suggestions have been looked for.
    guesses: u32,
    stopped: bool,
}

/// A block that is open.
struct Frame<'a> {
    node: Node<'a>,
    context: Context,
    open: Span,
    indent: usize,
    nodes: Vec<Node<'a>>,
    /// Whether it may have been opened by mistake, so that its `}` need not be there.
    doubtful: bool,
    broken: bool,
}

/// Suggestions are costly, and nobody reads more of them.
const GUESSES: u32 = 200;

impl<'a> Parser<'a> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.out.push(diagnostic);
    }

    fn place(&self, span: Span) -> Place {
        Place::new(self.id, span)
    }

    fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    fn context(&self) -> Context {
        self.frames.last().map_or(Context::Top, |f| f.context)
    }

    fn file(&mut self) {
        // Lines that must not be read, in order: too long, or with a lone CR.
        let mut bad = self.bad_lines().into_iter().peekable();
        let mut at = 0;
        while at < self.text.len() && !self.stopped {
            let line = line::read(self.text, at);
            at = line.next;
            let mut skip = false;
            while let Some(span) = bad.next_if(|s| s.start < line.next) {
                skip |= span.end > line.content.start;
            }
            if let Some(comment) = line.comment {
                self.comments.push(comment);
            }
            if skip {
                if let Some(frame) = self.frames.last_mut() {
                    frame.broken = true;
                }
                continue;
            }
            if line.content.is_empty() || self.slice(line.content).trim().is_empty() && line.loose_backslash.is_none() {
                match line.comment {
                    Some(comment) => self.trivia.push(Trivia::Comment(comment)),
                    None if self.trivia.last() != Some(&Trivia::Blank) => self.trivia.push(Trivia::Blank),
                    None => {}
                }
                continue;
            }
            self.line(&line);
        }
        while let Some(frame) = self.frames.last() {
            if !frame.doubtful {
                self.unclosed(frame.open);
            }
            self.pop(Span::new(self.text.len(), self.text.len()), None);
        }
        self.header();
        self.bidi_controls();
    }

    /// Lines over the cap, and lines with a CR that no LF follows.
    fn bad_lines(&mut self) -> Vec<Span> {
        let mut bad = Vec::new();
        let mut start = 0;
        let any_cr = self.text.contains('\r');
        for text in self.text.split('\n') {
            let span = Span::new(start, start + text.len());
            start = span.end + 1;
            if span.len() > self.caps.line_bytes {
                let message =
                    format!("a line has {} bytes, more than the {} allowed", span.len(), self.caps.line_bytes);
                let place = self.place(Span::new(span.start, span.start));
                self.report(Diagnostic::error(error::LINE_TOO_LONG, message).label(place, "it was not read"));
                bad.push(span);
            } else if let Some(cr) = any_cr.then(|| text.find('\r')).flatten() {
                let place = self.place(Span::new(span.start + cr, span.start + cr + 1));
                self.report(
                    Diagnostic::error(error::LONE_CARRIAGE_RETURN, "a carriage return without a line feed")
                        .label(place, "a line ends with LF or CR LF")
                        .help(r#"save the file with one kind of line ends; in a string, write `\r`"#),
                );
                bad.push(span);
            }
        }
        bad
    }

    fn bidi_controls(&mut self) {
        if self.text.is_ascii() {
            return;
        }
        let comments = std::mem::take(&mut self.comments);
        let mut comments = comments.into_iter().peekable();
        let mut at = 0;
        for text in self.text.split('\n') {
            let from = at;
            at += text.len() + 1;
            // One message a line is enough.
            let Some((start, c)) = text.char_indices().find(|(_, c)| is_bidi_control(*c)) else { continue };
            let start = from + start;
            while comments.next_if(|s| s.end <= start).is_some() {}
            let commented = comments.peek().is_some_and(|s| s.start <= start);
            let escape = c.escape_unicode();
            let message = format!("an invisible character, {escape}, changes the direction of the text");
            let place = self.place(Span::new(start, start + c.len_utf8()));
            self.report(if commented {
                Diagnostic::warning(error::BIDI_CONTROL_IN_COMMENT, message).label(place, "in a comment")
            } else {
                Diagnostic::error(error::BIDI_CONTROL, message)
                    .label(place, "what is shown is not what is read")
                    .help(format!("leave it out; in a string in `\"`, write `{escape}`"))
            });
        }
    }

    fn header(&mut self) {
        let first = self.nodes.first();
        if first.is_some_and(|n| n.statement.keyword == Keyword::Vplan) {
            return;
        }
        let any = self.nodes.iter().any(|n| n.statement.keyword == Keyword::Vplan);
        let span = first.map_or(Span::new(0, 0), |n| n.keyword);
        if !any {
            let place = self.place(span);
            self.report(
                Diagnostic::error(
                    error::MISSING_HEADER,
                    "the file does not say which version of the language it is in",
                )
                .label(place, "`vplan 1` is expected before anything else")
                .help("begin the file with the line `vplan 1`"),
            );
        }
    }

    fn line(&mut self, line: &Line) {
        if let Some(span) = line.loose_backslash {
            let place = self.place(span);
            self.report(
                Diagnostic::error(error::BAD_CONTINUATION, "a backslash at the end of a line with nothing to join")
                    .label(place, if span.len() > 1 { "blanks behind the backslash" } else { "the file ends here" })
                    .help("a backslash joins the next line only when it is the line's very last character"),
            );
            if let Some(frame) = self.frames.last_mut() {
                frame.broken = true;
            }
            if line.opens {
                self.push_unknown(line);
            }
            return;
        }
        let text = self.slice(line.content);
        if self.buried > 0 {
            if text.starts_with('}') {
                self.buried -= 1;
            } else if line.opens {
                self.buried += 1;
            }
            return;
        }
        if text.starts_with('}') {
            return self.close(text, line);
        }
        let start = line.content.start;
        let Ok((rest, word)) = token::word(text) else {
            if self.context() != Context::Unknown {
                let place = self.place(Span::new(start, start + text.trim_end().len()));
                self.report(
                    Diagnostic::error(error::UNKNOWN_STATEMENT, "a line begins with no statement")
                        .label(place, "a word is expected at its beginning"),
                );
                self.break_frame();
            }
            return if line.opens {
                self.push_unknown(line)
            };
        };
        let keyword = Span::new(start, start + word.len());
        match self.resolve(word, rest, keyword, line) {
            Some((statement, misplaced)) => self.statement(statement, keyword, rest, line, misplaced),
            None if line.opens => self.push_unknown(line),
            None => {}
        }
    }

    fn break_frame(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.broken = true;
        }
    }

    /// Which statement a word begins here; `true` beside it when it must not stand here. Reports what is wrong.
    fn resolve(&mut self, word: &str, rest: &str, span: Span, line: &Line) -> Option<(&'static Statement, bool)> {
        let context = self.context();
        if let Some(found) = statement::find(word, context) {
            return Some((found, false));
        }
        if let Some((keep, found)) = self.dedented(word, line.indent) {
            while self.frames.len() > keep {
                if let Some(frame) = self.frames.last().filter(|f| !f.doubtful) {
                    self.unclosed(frame.open);
                }
                self.pop(Span::new(line.content.start, line.content.start), None);
            }
            return Some((found, false));
        }
        if context == Context::Unknown {
            return None;
        }
        let place = self.place(span);
        if let Some(other) = STATEMENTS.iter().find(|s| s.word == word) {
            let contexts: Vec<&str> =
                STATEMENTS.iter().filter(|s| s.word == word).flat_map(|s| s.contexts).map(|c| c.name()).collect();
            let mut help = format!("it stands {}", contexts.join(", or "));
            if other.keyword == Keyword::Use {
                help.push_str("; at the top level a check applies anyway");
            } else if context != Context::Check && other.contexts == [Context::Check] {
                help.push_str(": `check NAME {` … `}`");
            }
            self.report(
                Diagnostic::error(error::MISPLACED_STATEMENT, format!("`{word}` does not stand {}", context.name()))
                    .label(place, "not here")
                    .help(help),
            );
            return Some((other, true));
        }
        let mut diagnostic = Diagnostic::error(error::UNKNOWN_STATEMENT, format!("unknown statement {}", shown(word)))
            .label(place, "begins no statement");
        self.guesses += 1;
        let mut guess = None;
        if self.guesses <= GUESSES {
            guess = nearest(word, statement::allowed(context).map(|s| s.word))
                .and_then(|w| statement::find(w, context))
                .map(|s| (s, false));
            guess = guess.or_else(|| {
                let near = nearest(word, STATEMENTS.iter().map(|s| s.word))?;
                STATEMENTS.iter().find(|s| s.word == near).map(|s| (s, true))
            });
        }
        if rest.starts_with(':') && statement::find("check", context).is_some() {
            guess = None;
            diagnostic = diagnostic.help(format!("a check is written `check {word}:{}`", rest.trim_start_matches(':')));
        } else if let Some((found, elsewhere)) = guess {
            let stands = found.contexts.first().map_or("", |c| c.name());
            let hint = if elsewhere { format!(", which stands {stands}") } else { String::new() };
            diagnostic = diagnostic.help(format!("did you mean `{}`{hint}?", found.word));
        } else if self.guesses <= GUESSES {
            let words: Vec<&str> = statement::allowed(context).map(|s| s.word).collect();
            diagnostic = diagnostic.help(format!("{} stand: {}", context.name(), words.join(" ")));
        }
        self.report(diagnostic);
        if guess.is_none() {
            self.break_frame();
        }
        guess
    }

    /// Whether the `}` before this line was forgotten: the statement does not belong into the block, stands no deeper than
    /// the line that opened it, and belongs into what surrounds it. How many blocks stay open, and the statement.
    fn dedented(&self, word: &str, indent: usize) -> Option<(usize, &'static Statement)> {
        let mut keep = self.frames.len();
        for frame in self.frames.iter().rev() {
            if indent > frame.indent {
                return None;
            }
            keep -= 1;
            let context = keep.checked_sub(1).and_then(|i| self.frames.get(i)).map_or(Context::Top, |f| f.context);
            if let Some(found) = statement::find(word, context) {
                return Some((keep, found));
            }
        }
        None
    }

    fn statement(&mut self, statement: &'static Statement, keyword: Span, rest: &'a str, line: &Line, misplaced: bool) {
        let reported = self.out.len();
        let parts = self.arguments(statement, keyword, rest, keyword.end);
        if misplaced {
            // That it stands in the wrong place has been said.
            self.out.truncate(reported);
        }
        let last = parts.args.last().map_or(keyword, |a| a.span);
        let node = Node {
            before: std::mem::take(&mut self.trivia),
            statement,
            keyword,
            args: parts.args,
            body: None,
            comment: line.comment,
            span: keyword.to(last),
            broken: parts.broken || misplaced,
        };
        self.remarks(&node);
        match parts.open {
            Some(open) => {
                let context = statement.body.unwrap_or(match statement.keyword {
                    Keyword::RunAnonymous | Keyword::Run => Context::Check,
                    _ => Context::Unknown,
                });
                self.push(node, context, open, line.indent, parts.doubtful || misplaced && statement.body.is_none());
            }
            None => self.add(node),
        }
    }

    /// What a statement says about the file as a whole.
    fn remarks(&mut self, node: &Node<'a>) {
        let place = self.place(node.keyword);
        match node.statement.keyword {
            Keyword::Vplan if node.broken => {}
            Keyword::Vplan => {
                if !self.nodes.is_empty() || !self.frames.is_empty() {
                    let mut diagnostic = Diagnostic::error(
                        error::MISPLACED_HEADER,
                        "the version of the language stands before anything else, and once",
                    )
                    .label(place, "not here");
                    if let Some(first) = self.nodes.first() {
                        diagnostic = diagnostic.label(self.place(first.keyword), "the file begins here");
                    }
                    self.report(diagnostic.help("make `vplan 1` the first line of the file"));
                }
                let Some(arg) = node.args.first() else { return };
                let found = self.slice(arg.span);
                if !VERSIONS.contains(&found) {
                    self.report(
                        Diagnostic::error(error::UNKNOWN_VERSION, format!("unknown version {}", shown(found)))
                            .label(self.place(arg.span), "of the language")
                            .help(format!("this program knows version {}", VERSIONS.join(", "))),
                    );
                    // Another version has other statements: whatever else would be said might be wrong.
                    self.stopped = found.bytes().all(|b| b.is_ascii_digit());
                }
            }
            Keyword::Import => self.report(
                Diagnostic::error(error::IMPORT_UNSUPPORTED, "`import` is not supported yet")
                    .label(place, "this version of vplan resolves no imports")
                    .help("write the imported statements into this file"),
            ),
            Keyword::Expect => self.report(
                Diagnostic::error(error::EXPECT_UNSUPPORTED, "`expect` is not supported yet")
                    .label(place, "this version of vplan knows no tests of contracts")
                    .help("leave the block out"),
            ),
            Keyword::TierBlock => {
                let outer = self.frames.iter().find(|f| f.node.statement.keyword == Keyword::TierBlock);
                if let Some(outer) = outer {
                    let diagnostic = Diagnostic::error(error::NESTED_TIER, "a `tier` block inside another")
                        .label(place, "this one")
                        .label(self.place(outer.node.keyword), "inside this one")
                        .help("a check has one tier: close the outer block first");
                    self.report(diagnostic);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, node: Node<'a>) {
        match self.frames.last_mut() {
            Some(frame) => frame.nodes.push(node),
            None => self.nodes.push(node),
        }
    }

    fn push(&mut self, node: Node<'a>, context: Context, open: Span, indent: usize, doubtful: bool) {
        if self.frames.len() >= self.caps.depth {
            let message = format!("blocks are nested deeper than {}", self.caps.depth);
            let place = self.place(open);
            self.report(Diagnostic::error(error::NESTED_TOO_DEEP, message).label(place, "this one was not read"));
            self.buried = 1;
            return;
        }
        self.frames.push(Frame { node, context, open, indent, nodes: Vec::new(), doubtful, broken: false });
    }

    /// Opens a block of which nothing is known, so that its `}` is found.
    fn push_unknown(&mut self, line: &Line) {
        if self.frames.len() >= self.caps.depth {
            self.buried = 1;
            return;
        }
        let trimmed = self.slice(line.content).trim_end().len();
        let end = line.content.start + trimmed;
        let open = Span::new(end.saturating_sub(1), end);
        let Some(any) = STATEMENTS.iter().find(|s| s.keyword == Keyword::Expect) else { return };
        let node = Node {
            before: std::mem::take(&mut self.trivia),
            statement: any,
            keyword: line.content,
            args: Vec::new(),
            body: None,
            comment: line.comment,
            span: line.content,
            broken: true,
        };
        self.push(node, Context::Unknown, open, line.indent, true);
    }

    /// `}`
    fn close(&mut self, text: &str, line: &Line) {
        let start = line.content.start;
        let brace = Span::new(start, start + 1);
        let rest = text.get(1..).unwrap_or_default();
        if !rest.trim().is_empty() && self.context() != Context::Unknown {
            let place = self.place(Span::new(start + 1, start + text.trim_end().len()));
            self.report(
                Diagnostic::error(error::BLOCK_ON_ONE_LINE, "a `}` stands on a line of its own")
                    .label(place, "this belongs to the next line"),
            );
        }
        if self.frames.is_empty() {
            let place = self.place(brace);
            self.report(
                Diagnostic::error(error::UNEXPECTED_CLOSE, "a `}` without a block")
                    .label(place, "no block is open here")
                    .help("leave it out, or look for the `{` that is missing above"),
            );
        } else {
            self.pop(brace, line.comment);
        }
        if line.opens {
            self.push_unknown(line);
        }
    }

    fn pop(&mut self, close: Span, comment: Option<Span>) {
        let Some(frame) = self.frames.pop() else { return };
        let body = Body {
            context: frame.context,
            open: frame.open,
            nodes: frame.nodes,
            end: std::mem::take(&mut self.trivia),
            close,
            comment,
            broken: frame.broken,
        };
        self.add(Node { body: Some(body), ..frame.node });
    }

    fn unclosed(&mut self, open: Span) {
        let place = self.place(open);
        self.report(
            Diagnostic::error(error::UNCLOSED_BLOCK, "a block is not closed")
                .label(place, "opened here")
                .help("close it with `}` on a line of its own"),
        );
    }
}
