//! What must hold for every input whatsoever? The oracles that property tests and fuzz targets share.

use super::ast::{Ast, Node, Trivia, same};
use super::command::parse_command;
use super::format::{format, sort};
use super::parse::{Caps, parse};
use crate::base::command::{Command, Link, Piece, to_text};
use crate::base::source::Source;
use crate::base::span::{SourceId, Span};
use crate::base::word::Word;

/// Caps for canonical forms, which may be longer than what was written.
const WIDE: Caps = Caps { file_bytes: usize::MAX, line_bytes: usize::MAX, name_bytes: 128, depth: 64 };

/// Reading any bytes ends, without a panic; all spans lie inside the text and on the boundaries of characters; what was
/// read without errors is written in a form that is read as the same tree and written as the same text.
///
/// # Errors
/// What does not hold.
pub fn contract(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let source = Source::new("fuzz.vplan", &text);
    let (mut ast, diagnostics) = parse(&source, SourceId(0), &Caps::default());
    for diagnostic in diagnostics.iter() {
        if diagnostic.message.is_empty() || diagnostic.message.contains('\n') {
            return Err(format!("{}: a message is one line: {:?}", diagnostic.code, diagnostic.message));
        }
        if diagnostic.labels.is_empty() {
            return Err(format!("{}: no label", diagnostic.code));
        }
        diagnostic.labels.iter().try_for_each(|l| inside(source.text(), l.place.span, diagnostic.code.0))?;
    }
    spans(source.text(), &ast)?;
    if diagnostics.has_errors() {
        return Ok(());
    }
    let formatted = format(&ast);
    let again = Source::new("again.vplan", &formatted);
    let (read, diagnostics) = parse(&again, SourceId(0), &WIDE);
    if let Some(first) = diagnostics.iter().find(|d| d.severity == crate::base::diagnostic::Severity::Error) {
        return Err(format!("the formatted form has errors: {}\n{formatted}", first.message));
    }
    sort(&mut ast);
    if !same(&ast, &read) {
        return Err(format!("the formatted form is another tree\n{formatted}"));
    }
    if format(&read) != formatted {
        return Err(format!("formatting twice is not formatting once\n{formatted}"));
    }
    Ok(())
}

/// Reading any command ends; a fault lies inside the text; what was accepted is written in a form that is read as the same
/// environment and words; the parts of a conjunction are parts of the text.
///
/// # Errors
/// What does not hold.
pub fn command(text: &str) -> Result<(), String> {
    let read = parse_command(text);
    match &read {
        Command::Argv { pieces, .. } => {
            if pieces.is_empty() {
                return Err("a command without words".to_owned());
            }
            let written = read.to_text();
            if parse_command(&written) != read {
                return Err(format!("{written:?} is read as another command than {text:?}"));
            }
            if text.contains('\0') {
                return Err("a NUL in an argument".to_owned());
            }
        }
        Command::Unsupported { text: kept, unsupported } => {
            let span = Span::new(unsupported.offset, unsupported.offset + unsupported.text.len());
            if kept != text || text.get(span.start..span.end) != Some(&unsupported.text) {
                return Err(format!("the fault {unsupported:?} is not in {text:?}"));
            }
            if unsupported.chain.len() == 1 {
                return Err("a conjunction of one part".to_owned());
            }
            for link in &unsupported.chain {
                match link {
                    Link::Run { argv, env } => {
                        let pieces = argv.iter().cloned().map(Piece::Word).collect();
                        let want = Command::Argv { env: env.clone(), pieces };
                        if parse_command(&to_text(env, argv)) != want {
                            return Err(format!("the part {argv:?} of {text:?} cannot be written"));
                        }
                    }
                    Link::ChangeDirectory { cd } => {
                        if *cd == Word::default() {
                            return Err("an empty directory".to_owned());
                        }
                    }
                    Link::Other { text: part, .. } => {
                        if !text.contains(part.as_str()) {
                            return Err(format!("the part {part:?} is not in {text:?}"));
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

fn inside(text: &str, span: Span, what: &str) -> Result<(), String> {
    match text.get(span.start..span.end) {
        Some(_) => Ok(()),
        None => Err(format!("{what}: {span:?} is outside a text of {} bytes or inside a character", text.len())),
    }
}

fn spans(text: &str, ast: &Ast<'_>) -> Result<(), String> {
    nodes(text, &ast.nodes)?;
    trivia(text, &ast.end)
}

fn nodes(text: &str, all: &[Node<'_>]) -> Result<(), String> {
    for node in all {
        trivia(text, &node.before)?;
        inside(text, node.keyword, "keyword")?;
        inside(text, node.span, "statement")?;
        node.args.iter().try_for_each(|a| inside(text, a.span, "argument"))?;
        node.comment.map_or(Ok(()), |c| inside(text, c, "comment"))?;
        if let Some(body) = &node.body {
            inside(text, body.open, "open")?;
            inside(text, body.close, "close")?;
            nodes(text, &body.nodes)?;
            trivia(text, &body.end)?;
        }
    }
    Ok(())
}

fn trivia(text: &str, all: &[Trivia]) -> Result<(), String> {
    all.iter().try_for_each(|t| match t {
        Trivia::Blank => Ok(()),
        Trivia::Comment(span) => inside(text, *span, "comment"),
    })
}
