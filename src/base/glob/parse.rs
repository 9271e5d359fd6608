//! Parses the text of a glob, in the dialect of src/lang/grammar.md, "When does a check
//! apply?".

use super::pattern::{Class, Part, Pattern, Segment};
use crate::span::Span;
use crate::word::visible;
use std::sync::Arc;

/// The longest glob, in bytes.
pub(super) const MAX_BYTES: usize = 512;

/// Maximum number of alternatives that the braces of one glob may expand to, counted as a product.
pub(super) const MAX_ALTERNATIVES: usize = 64;

/// Reads a glob into its alternatives. Empty ones select nothing and are omitted.
pub(super) fn parse(text: &str) -> Result<Vec<Pattern>, GlobError> {
    read(text).map_err(|fault| {
        let mended = fault.mended(text);
        let help = mended.map(|glob| format!("write `{}`", visible(glob)));
        let help = help.or(fault.help);
        GlobError {
            message: fault.message,
            span: fault.span,
            help,
        }
    })
}

/// A fault, and a text without it.
struct SyntaxError {
    message: String,
    span: Span,
    /// The text with this error fixed; it may have other errors.
    mended: Option<String>,
    /// The help if no fix gives a valid glob.
    help: Option<String>,
}

impl SyntaxError {
    fn new(start: usize, end: usize, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            span: Span::new(start, end),
            mended: None,
            help: None,
        }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn mend(mut self, text: Option<String>) -> Self {
        self.mended = text;
        self
    }

    /// Fixes error after error, until none is left. A few rounds are enough for texts that people
    /// write.
    fn mended(&self, text: &str) -> Option<String> {
        let mut mended = self.mended.clone()?;
        for _ in 0..8 {
            if mended.is_empty() {
                "**".clone_into(&mut mended);
            }
            match read(&mended) {
                Ok(_) => return (mended != text).then_some(mended),
                Err(fault) => mended = fault.mended?,
            }
        }
        None
    }
}

/// The smallest elements of a glob.
#[derive(Clone)]
enum Leaf {
    Char(char),
    Star,
    One,
    Class(Arc<Class>),
    Slash,
}

/// A leaf and its place.
#[derive(Clone)]
struct Piece {
    leaf: Leaf,
    start: usize,
    end: usize,
}

/// The alternatives of the text between two borders.
type Alternatives = Vec<Vec<Piece>>;

/// An open brace: its position, the text before it, and its alternatives so far.
struct Open {
    at: usize,
    before: Alternatives,
    done: Alternatives,
}

fn read(text: &str) -> Result<Vec<Pattern>, SyntaxError> {
    if text.len() > MAX_BYTES {
        let count = text.len();
        let message = format!("a glob has at most {MAX_BYTES} bytes, this one has {count}");
        return Err(SyntaxError::new(0, text.len(), message).help("split it into several globs"));
    }
    if text.is_empty() {
        let fault = SyntaxError::new(0, 0, "an empty glob selects nothing");
        return Err(fault.mend(Some("**".to_owned())));
    }
    if text.starts_with('!') {
        let fault = SyntaxError::new(0, 1, "a glob cannot begin with `!`");
        return Err(fault.mend(Some(format!("\\{text}"))));
    }
    let alternatives = expand(text)?;
    let mut patterns = Vec::with_capacity(alternatives.len());
    for pieces in alternatives.iter().filter(|pieces| !pieces.is_empty()) {
        patterns.push(pattern(text, pieces)?);
    }
    if patterns.is_empty() {
        let message = "every alternative of this glob is empty";
        let fault = SyntaxError::new(0, text.len(), message);
        return Err(fault.mend(Some("**".to_owned())));
    }
    Ok(patterns)
}

/// Reads the leaves and expands the braces. Bounded throughout: no list of alternatives ever
/// exceeds its cap.
fn expand(text: &str) -> Result<Alternatives, SyntaxError> {
    let mut open: Vec<Open> = Vec::new();
    let mut current: Alternatives = vec![Vec::with_capacity(text.len())];
    let mut chars = text.char_indices();
    while let Some((start, c)) = chars.next() {
        let leaf = match c {
            '{' => {
                let before = std::mem::replace(&mut current, vec![Vec::new()]);
                open.push(Open {
                    at: start,
                    before,
                    done: Vec::new(),
                });
                continue;
            }
            ',' if let Some(brace) = open.last_mut() => {
                brace.done.append(&mut current);
                cap(brace.done.len() + 1, text)?;
                current.push(Vec::new());
                continue;
            }
            '}' => {
                let Some(mut brace) = open.pop() else {
                    let fault = SyntaxError::new(start, start + 1, "`}` without `{`");
                    return Err(fault.mend(replaced(text, start, start + 1, "\\}")));
                };
                brace.done.append(&mut current);
                cap(brace.before.len() * brace.done.len(), text)?;
                current = product(&brace.before, &brace.done);
                continue;
            }
            '/' => Leaf::Slash,
            '*' => Leaf::Star,
            '?' => Leaf::One,
            '[' => {
                let (class, length) = class(text, start)?;
                // The class is ASCII at both ends, so this stops right after its `]`.
                while chars.offset() < start + length && chars.next().is_some() {}
                Leaf::Class(Arc::new(class))
            }
            '\\' => Leaf::Char(escaped(text, start, chars.next().map(|(_, c)| c))?),
            c => Leaf::Char(c),
        };
        let end = chars.offset();
        for alternative in &mut current {
            alternative.push(Piece {
                leaf: leaf.clone(),
                start,
                end,
            });
        }
    }
    match open.last() {
        None => Ok(current),
        Some(Open { at, .. }) => {
            let help = "close it with `}`, or write `\\{` for the character";
            Err(SyntaxError::new(*at, *at + 1, "`{` is not closed").help(help))
        }
    }
}

/// Refuses too many alternatives.
fn cap(count: usize, text: &str) -> Result<(), SyntaxError> {
    if count <= MAX_ALTERNATIVES {
        return Ok(());
    }
    let message = format!(
        "the braces of a glob come to at most {MAX_ALTERNATIVES} alternatives, these come to more"
    );
    Err(SyntaxError::new(0, text.len(), message).help("split it into several globs"))
}

fn product(before: &Alternatives, behind: &Alternatives) -> Alternatives {
    let mut all = Vec::with_capacity(before.len() * behind.len());
    for head in before {
        for tail in behind {
            all.push(head.iter().chain(tail).cloned().collect());
        }
    }
    all
}

/// Returns the character that a backslash at `start` makes literal.
fn escaped(text: &str, start: usize, next: Option<char>) -> Result<char, SyntaxError> {
    match next {
        Some(c @ ('*' | '?' | '[' | ']' | '{' | '}' | '!' | '\\')) => Ok(c),
        Some(c) => {
            let shown = visible(c.encode_utf8(&mut [0; 4]).as_bytes());
            let message = format!("`\\{shown}` is no escape of a glob");
            let fault = SyntaxError::new(start, start + 1 + c.len_utf8(), message);
            let help = "`\\` makes one of `* ? [ ] { } ! \\` literal";
            Err(match c {
                ',' => fault.mend(replaced(text, start, start + 2, "[,]")),
                '-' => fault.help("put `-` first or last in its class"),
                // `src\a.ts` was meant as a path of another system, unless there are escapes next
                // to it.
                _ if text.contains("\\[") || text.contains("\\{") => {
                    fault.mend(replaced(text, start, start + 1, ""))
                }
                _ => fault.mend(Some(text.replace('\\', "/"))),
            }
            .help(help))
        }
        None => {
            let message = "a `\\` at the end of a glob escapes nothing";
            let fault = SyntaxError::new(start, start + 1, message);
            Err(fault.mend(replaced(text, start, start + 1, "/")))
        }
    }
}

/// Parses the class whose `[` is at `start`; its length includes its `]`.
fn class(text: &str, start: usize) -> Result<(Class, usize), SyntaxError> {
    let unclosed = || {
        let fault = SyntaxError::new(start, start + 1, "`[` is not closed");
        let fault = fault.mend(replaced(text, start, start + 1, "\\["));
        fault.help("close it with `]`")
    };
    let body = text.get(start + 1..).unwrap_or_default();
    let mut chars = body.char_indices().peekable();
    let negated = chars.next_if(|(_, c)| matches!(c, '!' | '^')).is_some();
    let mut ranges: Vec<(char, char)> = Vec::new();
    loop {
        let (at, c) = chars.next().ok_or_else(unclosed)?;
        let at = start + 1 + at;
        let first = match c {
            // The first character is a member even when it is `]`, as in every other dialect.
            ']' if !ranges.is_empty() => {
                return Ok((Class { negated, ranges }, at + 1 - start));
            }
            '[' if text.get(at..).is_some_and(is_named_class) => {
                let message = "named classes such as `[:alpha:]` are not known";
                let fault = SyntaxError::new(at, at + 2, message);
                return Err(fault.help("write the characters, such as `[A-Za-z]`"));
            }
            '\\' => escaped(text, at, chars.next().map(|(_, c)| c))?,
            c => c,
        };
        // A `-` before `]` is a member; any other one after a member makes a range.
        let mut ahead = chars.clone();
        let last = match (ahead.next(), ahead.next()) {
            (Some((_, '-')), Some((_, c))) if c != ']' => {
                chars.next();
                match chars.next() {
                    Some((at, '\\')) => {
                        escaped(text, start + 1 + at, chars.next().map(|(_, c)| c))?
                    }
                    Some((_, c)) => c,
                    None => return Err(unclosed()),
                }
            }
            _ => first,
        };
        if first > last {
            let end = chars.peek().map_or(text.len(), |(at, _)| start + 1 + at);
            let range = text.get(at..end).unwrap_or_default();
            let shown = visible(range.as_bytes());
            let ends = range.split_once('-').filter(|(first, _)| !first.is_empty());
            let turned = ends.map(|(first, last)| format!("{last}-{first}"));
            let mended = turned.and_then(|turned| replaced(text, at, end, &turned));
            let fault = SyntaxError::new(at, end, format!("the range `{shown}` is empty"));
            return Err(fault.mend(mended));
        }
        ranges.push((first, last));
    }
}

/// Whether a text begins with something like `[:alpha:]`.
fn is_named_class(text: &str) -> bool {
    let behind = text.strip_prefix("[:");
    let name = behind.and_then(|text| text.split_once(":]"));
    name.is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphabetic()))
}

/// Makes a pattern of the leaves of one alternative.
fn pattern(text: &str, pieces: &[Piece]) -> Result<Pattern, SyntaxError> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut all = pieces.split(|p| matches!(p.leaf, Leaf::Slash)).peekable();
    let mut prefix: Vec<u8> = Vec::new();
    let mut offset = 0;
    while let Some(leaves) = all.next() {
        let segment = match leaves {
            // `dir/` means `dir/**`.
            [] if all.peek().is_none() && offset > 0 => Segment::Any,
            [] => return Err(empty_segment(text, pieces, offset)),
            leaves => segment(text, pieces, offset, leaves)?,
        };
        offset += leaves.len() + 1;
        match segment {
            Segment::Any if segments.last() == Some(&Segment::Any) => {}
            Segment::Literal(name) if segments.is_empty() => {
                if !prefix.is_empty() {
                    prefix.push(b'/');
                }
                prefix.extend(name);
            }
            segment => segments.push(segment),
        }
    }
    Ok(Pattern {
        prefix: prefix.into(),
        rest: segments.into(),
    })
}

/// Makes the fault of a segment without leaves; `offset` is that of the slash after it in `pieces`.
fn empty_segment(text: &str, pieces: &[Piece], offset: usize) -> SyntaxError {
    let (start, end) = pieces.get(offset).map_or((0, 0), |p| (p.start, p.end));
    let message = match offset {
        0 => "a glob begins at the repository's root, without `/`",
        _ => "a segment of this glob is empty",
    };
    let fault = SyntaxError::new(start, end, message);
    // `src/{api,}/x` was hardly meant to select nothing in `src`, and removing the slash would
    // select `src/apix`.
    let before = text.get(..start);
    if before.is_some_and(|before| before.ends_with('}')) {
        return fault.help("an alternative may be empty when its slash stands inside the braces, as in `{api/,}src`");
    }
    let fault = fault.mend(replaced(text, start, end, ""));
    fault.help("write it relative to the repository's root")
}

/// Makes a segment of its leaves, which begin at `offset` in `pieces`.
fn segment(
    text: &str,
    pieces: &[Piece],
    offset: usize,
    leaves: &[Piece],
) -> Result<Segment, SyntaxError> {
    let start = leaves.first().map_or(0, |p| p.start);
    let end = leaves.last().map_or(start, |p| p.end);
    let slash_behind = pieces.get(offset + leaves.len()).map(|p| p.end);
    let few: Vec<&Leaf> = leaves.iter().take(3).map(|p| &p.leaf).collect();
    match few.as_slice() {
        [Leaf::Char('.')] => {
            let fault = SyntaxError::new(start, end, "a segment `.` names no file");
            return Err(fault.mend(replaced(text, start, slash_behind.unwrap_or(end), "")));
        }
        [Leaf::Char('.'), Leaf::Char('.')] => {
            // Together with the segment before it, which it removes.
            let before = pieces.get(..offset.saturating_sub(1)).unwrap_or_default();
            let mut before = before.rsplit(|p| matches!(p.leaf, Leaf::Slash));
            let before = before.next().and_then(|s| s.first());
            let mended =
                before.and_then(|p| replaced(text, p.start, slash_behind.unwrap_or(end), ""));
            let message = "a glob stays in the repository, without `..`";
            let fault = SyntaxError::new(start, end, message).mend(mended);
            return Err(fault.help("name the file by its path from the repository's root"));
        }
        [Leaf::Star, Leaf::Star] => return Ok(Segment::Any),
        _ => {}
    }
    let mut parts: Vec<Part> = Vec::new();
    let mut literal: Vec<u8> = Vec::new();
    for (i, piece) in leaves.iter().enumerate() {
        let part = match &piece.leaf {
            Leaf::Char(c) => {
                literal.extend(c.encode_utf8(&mut [0; 4]).bytes());
                continue;
            }
            Leaf::Star if matches!(leaves.get(i + 1).map(|p| &p.leaf), Some(Leaf::Star)) => {
                return Err(stars_inside(text, leaves, i));
            }
            Leaf::Star => Part::Star,
            Leaf::One => Part::One,
            Leaf::Class(class) => Part::Class(class.clone()),
            // Slashes separate segments.
            Leaf::Slash => continue,
        };
        if !literal.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut literal).into()));
        }
        parts.push(part);
    }
    if parts.is_empty() {
        return Ok(Segment::Literal(literal.into()));
    }
    if !literal.is_empty() {
        parts.push(Part::Text(literal.into()));
    }
    Ok(Segment::Wild(parts.into()))
}

/// Makes the error of a segment with `**` and other characters; the stars begin at `first`.
fn stars_inside(text: &str, leaves: &[Piece], first: usize) -> SyntaxError {
    let stars = leaves.iter().skip(first);
    let stars = stars.take_while(|p| matches!(p.leaf, Leaf::Star));
    let count = stars.count();
    let start = leaves.get(first).map_or(0, |p| p.start);
    let end = leaves.get(first + count - 1).map_or(start, |p| p.end);
    let front = if first > 0 { "*/" } else { "" };
    let is_last = first + count >= leaves.len();
    let back = if is_last { "" } else { "/*" };
    let mended = replaced(text, start, end, &format!("{front}**{back}"));
    let fault = SyntaxError::new(
        start,
        end,
        "`**` stands for whole segments, it cannot be a part of one",
    );
    // Stars that meet through braces cannot be fixed in one place.
    fault
        .mend(mended.filter(|_| end - start == count))
        .help("give it a segment of its own, as in `src/**/*.rs`")
}

/// Returns the text with one range replaced.
fn replaced(text: &str, start: usize, end: usize, by: &str) -> Option<String> {
    Some([text.get(..start)?, by, text.get(end..)?].concat())
}

/// An error in a glob, and its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobError {
    /// One line, lower case, no full stop.
    pub message: String,
    /// Byte offsets in the glob's text.
    pub span: Span,
    /// A glob that would be right, or another remedy.
    pub help: Option<String>,
}
