//! Invariants for every input: the oracles that property tests and fuzz targets share.

use vplan::base::command::{Command, Link, Piece, is_env_name, to_text};
use vplan::base::source::Source;
use vplan::base::span::{SourceId, Span};
use vplan::base::word::Word;
use vplan::lang::ast::{Ast, Node, Trivia, same};
use vplan::lang::command::parse_command;
use vplan::lang::format::{format, is_sorted_block, sort};
use vplan::lang::layout::{Formatted, reformat};
use vplan::lang::parse::{ParserCaps, parse};

/// Caps for canonical forms, which may be longer than what was written.
const WIDE: ParserCaps = ParserCaps {
    file_bytes: usize::MAX,
    line_bytes: usize::MAX,
    name_bytes: 128,
    depth: 64,
};

/// Reading any bytes ends, without a panic; all spans lie inside the text and on the boundaries of
/// characters; what was read without errors is written in a form that is read as the same tree and
/// written as the same text.
///
/// # Errors
/// What does not hold.
pub fn contract(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let source = Source::new("fuzz.vplan", &text);
    let (mut ast, diagnostics) = parse(&source, SourceId(0), &ParserCaps::default());
    for diagnostic in diagnostics.iter() {
        if diagnostic.message.is_empty() || diagnostic.message.contains('\n') {
            return Err(format!(
                "{}: a message is one line: {:?}",
                diagnostic.code, diagnostic.message
            ));
        }
        if diagnostic.labels.is_empty() {
            return Err(format!("{}: no label", diagnostic.code));
        }
        diagnostic
            .labels
            .iter()
            .try_for_each(|l| inside(source.text(), l.place.span, diagnostic.code.0))?;
    }
    spans(source.text(), &ast)?;
    if diagnostics.has_errors() {
        return Ok(());
    }
    let formatted = format(&ast);
    let again = Source::new("again.vplan", &formatted);
    let (read, diagnostics) = parse(&again, SourceId(0), &WIDE);
    if let Some(first) = diagnostics
        .iter()
        .find(|d| d.severity == vplan::base::diagnostic::Severity::Error)
    {
        return Err(format!(
            "the formatted form has errors: {}\n{formatted}",
            first.message
        ));
    }
    sort(&mut ast);
    if !same(&ast, &read) {
        return Err(format!("the formatted form is another tree\n{formatted}"));
    }
    if format(&read) != formatted {
        return Err(format!(
            "formatting twice is not formatting once\n{formatted}"
        ));
    }
    Ok(())
}

/// Laying out any bytes ends; what comes out says the same, has every comment where it was, no line
/// with blanks at its end, no two blank lines, none at the edge of a block, and is laid out
/// already. A text with errors is not touched.
///
/// # Errors
/// What does not hold.
pub fn fmt(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    let source = Source::new("fuzz.vplan", &text);
    let (ast, diagnostics) = parse(&source, SourceId(0), &ParserCaps::default());
    let written =
        match reformat(&source, SourceId(0), &ParserCaps::default()).map_err(|e| e.to_string())? {
            Formatted::Invalid(_) if diagnostics.has_errors() => return Ok(()),
            // The layout is longer than what was written by indentation and escapes only.
            Formatted::TooLarge(_) if text.len() > 2_000 => return Ok(()),
            Formatted::Text(written) if !diagnostics.has_errors() => written,
            other => return Err(format!("{other:?}")),
        };
    let fail = |why: &str| Err(format!("{why}\n{written}"));
    let again = Source::new("again.vplan", &written);
    let (read, diagnostics) = parse(&again, SourceId(0), &ParserCaps::default());
    if diagnostics.has_errors() {
        return fail("what was written has errors");
    }
    if format(&read) != format(&ast) {
        return fail("what was written says something else");
    }
    if reformat(&again, SourceId(0), &ParserCaps::default()).map_err(|e| e.to_string())?
        != Formatted::Text(written.clone())
    {
        return fail("twice is not once");
    }
    if written
        .lines()
        .any(|line| line.ends_with([' ', '\t', '\r']))
    {
        return fail("blanks at the end of a line");
    }
    if written.starts_with('\n')
        || written.contains("\n\n\n")
        || !written.ends_with('\n')
        || written.ends_with("\n\n")
    {
        return fail("blank lines");
    }
    let edges = |ast: &Ast<'_>| blank_edges(&ast.nodes);
    if edges(&read) {
        return fail("a blank line at the edge of a block");
    }
    if comments(&source, &ast) != comments(&again, &read) {
        return fail("a comment is lost, or stands elsewhere");
    }
    Ok(())
}

fn blank_edges(nodes: &[Node<'_>]) -> bool {
    nodes.iter().filter_map(|n| n.body.as_ref()).any(|body| {
        let first = body.nodes.first().map_or(&body.end, |n| &n.before);
        first.first() == Some(&Trivia::Blank)
            || body.end.last() == Some(&Trivia::Blank)
            || blank_edges(&body.nodes)
    })
}

/// Every comment with what it belongs to, sorted by that; those of one thing in the order of the
/// text.
fn comments(source: &Source, ast: &Ast<'_>) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let text = |span: Span| source.slice(span).trim_end_matches([' ', '\t']).to_owned();
    owned(&ast.nodes, &ast.end, "", false, &text, &mut all);
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

fn owned(
    nodes: &[Node<'_>],
    end: &[Trivia],
    inside: &str,
    sorted: bool,
    text: &dyn Fn(Span) -> String,
    all: &mut Vec<(String, String)>,
) {
    let add = |trivia: &[Trivia], owner: &str, all: &mut Vec<(String, String)>| {
        let comments = trivia.iter().filter_map(|t| match t {
            Trivia::Comment(span) => Some((owner.to_owned(), text(*span))),
            Trivia::Blank => None,
        });
        all.extend(comments);
    };
    for (i, node) in nodes.iter().enumerate() {
        // Statements that are written alike are told apart by their place, which only settings
        // lose.
        let number = if sorted { String::new() } else { i.to_string() };
        let head = Node {
            body: None,
            ..node.clone()
        };
        let alone = Ast {
            source: SourceId(0),
            nodes: vec![head],
            end: Vec::new(),
        };
        let this = format!("{inside}/{number} {}", format(&alone));
        let own = if sorted {
            node.before
                .iter()
                .rposition(|t| *t == Trivia::Blank)
                .map_or(0, |i| i + 1)
        } else {
            0
        };
        let (detached, own) = node.before.split_at_checked(own).unwrap_or_default();
        if !detached.iter().all(|t| *t == Trivia::Blank) {
            // It is unknown to which setting these belong; they must only not leave the block.
            let mut apart = Vec::new();
            add(detached, &format!("{inside}/detached"), &mut apart);
            all.extend(
                apart
                    .into_iter()
                    .map(|(owner, comment)| (format!("{owner} {comment}"), comment)),
            );
        }
        add(own, &format!("{this} before"), all);
        all.extend(node.comment.map(|c| (format!("{this} line"), text(c))));
        if let Some(body) = &node.body {
            all.extend(body.comment.map(|c| (format!("{this} close"), text(c))));
            owned(
                &body.nodes,
                &body.end,
                &this,
                is_sorted_block(body.context),
                text,
                all,
            );
        }
    }
    add(end, &format!("{inside} end"), all);
}

/// Reading any command ends; a fault lies inside the text; what was accepted is written in a form
/// that is read as the same environment and words; the parts of a conjunction are parts of the
/// text.
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
                return Err(format!(
                    "{written:?} is read as another command than {text:?}"
                ));
            }
            if text.contains('\0') {
                return Err("a NUL in an argument".to_owned());
            }
        }
        Command::Unsupported {
            text: kept,
            unsupported,
        } => {
            let span = Span::new(
                unsupported.offset,
                unsupported.offset + unsupported.text.len(),
            );
            if kept != text || text.get(span.start..span.end) != Some(&unsupported.text) {
                return Err(format!("the fault {unsupported:?} is not in {text:?}"));
            }
            if matches!(unsupported.chain.as_slice(), [link] if !link.is_carried()) {
                return Err("a conjunction of one part".to_owned());
            }
            for link in &unsupported.chain {
                match link {
                    Link::Run { argv, env } => {
                        let pieces = argv.iter().cloned().map(Piece::Word).collect();
                        let want = Command::Argv {
                            env: env.clone(),
                            pieces,
                        };
                        if parse_command(&to_text(env, argv)) != want {
                            return Err(format!("the part {argv:?} of {text:?} cannot be written"));
                        }
                    }
                    Link::ChangeDirectory { cd } => {
                        if *cd == Word::default() {
                            return Err("an empty directory".to_owned());
                        }
                    }
                    Link::Export { export } => {
                        if export.is_empty() || !export.keys().all(|name| is_env_name(name)) {
                            return Err(format!("{export:?} is not in {text:?}"));
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
        None => Err(format!(
            "{what}: {span:?} is outside a text of {} bytes or inside a character",
            text.len()
        )),
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
        node.args
            .iter()
            .try_for_each(|a| inside(text, a.span, "argument"))?;
        node.comment
            .map_or(Ok(()), |c| inside(text, c, "comment"))?;
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
