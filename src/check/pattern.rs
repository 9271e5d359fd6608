//! Line patterns of a contract's `format`: the production PATTERN of src/lang/grammar.md,
//! "Grammar".

use nom::branch::alt;
use nom::bytes::complete::{take_while, take_while1};
use nom::character::complete::{anychar, char};
use nom::combinator::{all_consuming, map, map_res, recognize, value};
use nom::multi::many0;
use nom::sequence::delimited;
use nom::{IResult, Parser};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

vplan_base::words! {
    /// A place in a line for what a tool says there.
    LineHole {
        /// `{file}`
        File = "file",
        /// `{line}`: a number.
        Line = "line",
        /// `{column}`: a number.
        Column = "column",
        /// `{severity}`: a word.
        Severity = "severity",
        /// `{code}`
        Code = "code",
        /// `{message}`
        Message = "message",
        /// `{count}`: a number.
        Count = "count",
        /// `{name}`
        Name = "name",
        /// `{}`: anything, even nothing.
        Skipped = "",
    }
}

impl LineHole {
    /// Whether it matches this text.
    fn fits(self, text: &str) -> bool {
        match self {
            Self::Skipped => true,
            Self::Line | Self::Column | Self::Count => {
                !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
            }
            Self::Severity => !text.is_empty() && !text.contains(' '),
            Self::File | Self::Code | Self::Message | Self::Name => {
                !text.is_empty() && !text.starts_with(' ') && !text.ends_with(' ')
            }
        }
    }
}

impl fmt::Display for LineHole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}", self.name())
    }
}

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// Text, in which each blank matches any number of them.
    Text(String),
    Hole(LineHole),
}

/// A pattern of a whole line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    text: String,
    parts: Vec<Part>,
}

impl JsonSchema for Pattern {
    fn schema_name() -> Cow<'static, str> {
        "LinePatternText".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

/// Why a text is not a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternFault {
    /// An unknown placeholder name in braces.
    #[error("no hole of a format is called `{{{0}}}`")]
    Unknown(String),
    /// A repeated placeholder.
    #[error("`{0}` stands in the pattern twice")]
    Twice(LineHole),
    /// Two placeholders without anything between them.
    #[error("`{0}` and `{1}` touch")]
    Touch(LineHole, LineHole),
    /// Nothing but blanks.
    #[error("the pattern is empty")]
    Empty,
}

type Parsed<'a, T> = IResult<&'a str, T, ()>;

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

/// `'{' { letter } '}'`
fn braced(input: &str) -> Parsed<'_, &str> {
    let word = take_while(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    delimited(char('{'), word, char('}')).parse(input)
}

fn hole(input: &str) -> Parsed<'_, LineHole> {
    let known = |word| LineHole::parse(word).ok_or(());
    map_res(braced, known).parse(input)
}

/// `BLANKS | characters | '{'`, the last where no placeholder begins.
fn text(input: &str) -> Parsed<'_, &str> {
    let blanks = value(" ", take_while1(is_blank));
    let characters = take_while1(|c| !is_blank(c) && c != '{');
    alt((blanks, characters, recognize(anychar))).parse(input)
}

/// `{ hole | text }`
fn parts(input: &str) -> Parsed<'_, Vec<Part>> {
    let part = alt((
        map(hole, Part::Hole),
        map(text, |t| Part::Text(t.to_owned())),
    ));
    all_consuming(many0(part)).parse(input)
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// The first of its faults.
    pub fn parse(text: &str) -> Result<Self, PatternFault> {
        // Any text has parts.
        let found = parts(text.trim_end_matches(is_blank)).map_or(Vec::new(), |(_, found)| found);
        let unknown = text.match_indices('{').find_map(|(at, _)| {
            let rest = text.get(at..)?;
            let (_, word) = braced(rest).ok()?;
            hole(rest).is_err().then(|| word.to_owned())
        });
        if let Some(word) = unknown {
            return Err(PatternFault::Unknown(word));
        }
        let mut parts: Vec<Part> = Vec::new();
        let mut seen = Vec::new();
        for part in found {
            match (parts.last_mut(), part) {
                (Some(Part::Text(before)), Part::Text(more)) => before.push_str(&more),
                (Some(Part::Hole(before)), Part::Hole(hole)) => {
                    return Err(PatternFault::Touch(*before, hole));
                }
                (_, part) => {
                    if let Part::Hole(hole) = part
                        && hole != LineHole::Skipped
                    {
                        if seen.contains(&hole) {
                            return Err(PatternFault::Twice(hole));
                        }
                        seen.push(hole);
                    }
                    parts.push(part);
                }
            }
        }
        if parts.is_empty() {
            return Err(PatternFault::Empty);
        }
        let text = text.to_owned();
        Ok(Self { text, parts })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it has a placeholder.
    pub fn has(&self, hole: LineHole) -> bool {
        self.parts.contains(&Part::Hole(hole))
    }

    /// Whether it has text other than blanks.
    pub fn has_text(&self) -> bool {
        let is_text = |part: &Part| matches!(part, Part::Text(text) if !text.trim().is_empty());
        self.parts.iter().any(is_text)
    }

    /// Its placeholders, in their order.
    pub fn holes(&self) -> impl Iterator<Item = LineHole> {
        self.parts.iter().filter_map(|part| match part {
            Part::Hole(hole) => Some(*hole),
            Part::Text(_) => None,
        })
    }

    /// The values of its placeholders in a line, if the line matches. A placeholder ends where the
    /// text after it first occurs, and the last text ends the line: each byte is examined once. The
    /// line is as [`single_blanks`] has it.
    pub fn read<'l>(&self, line: &'l str) -> Option<LineParts<'l>> {
        let mut found = LineParts::default();
        let mut rest = line;
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Part::Hole(hole) => {
                    let (content, behind) = match parts.next() {
                        Some(Part::Text(text)) if parts.peek().is_none() => {
                            (rest.strip_suffix(text.as_str())?, "")
                        }
                        Some(Part::Text(text)) => rest.split_once(text.as_str())?,
                        _ => (rest, ""),
                    };
                    if !hole.fits(content) {
                        return None;
                    }
                    found.0.push((*hole, content));
                    rest = behind;
                }
            }
        }
        rest.is_empty().then_some(found)
    }
}

impl TryFrom<String> for Pattern {
    type Error = PatternFault;

    fn try_from(text: String) -> Result<Self, PatternFault> {
        Self::parse(&text)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.text
    }
}

/// The values of the placeholders of a pattern in a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineParts<'l>(Vec<(LineHole, &'l str)>);

impl<'l> LineParts<'l> {
    /// The text of a placeholder.
    pub fn text(&self, hole: LineHole) -> Option<&'l str> {
        self.0
            .iter()
            .find(|(of, _)| *of == hole)
            .map(|(_, text)| *text)
    }

    /// The number in a placeholder.
    pub fn number(&self, hole: LineHole) -> Option<u64> {
        let digits = self.text(hole)?;
        Some(digits.parse().unwrap_or(u64::MAX))
    }
}

/// A line with one blank in place of several or of tabs, and none at its end.
pub fn single_blanks(line: &str) -> Cow<'_, str> {
    let line = line.trim_end_matches(is_blank);
    if !line.contains('\t') && !line.contains("  ") {
        return Cow::Borrowed(line);
    }
    let mut single = String::with_capacity(line.len());
    for c in line.chars() {
        if !is_blank(c) {
            single.push(c);
        } else if !single.ends_with(' ') {
            single.push(' ');
        }
    }
    Cow::Owned(single)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let rubocop = "{file}:{line}:{column}: {severity}: {code}: {message}";
        for (pattern, line, want) in [
            (
                rubocop,
                "a.rb:3:1: C: Style/X: Do this: now.",
                Some(vec!["a.rb", "3", "1", "C", "Style/X", "Do this: now."]),
            ),
            (
                rubocop,
                "a.rb:3:1:\t C:  Style/X:   Do.  ",
                Some(vec!["a.rb", "3", "1", "C", "Style/X", "Do."]),
            ),
            (rubocop, "a.rb:x:1: C: Style/X: Do.", None),
            (rubocop, "a.rb:3:1:C: Style/X: Do.", None),
            (rubocop, " a.rb:3:1: C: Style/X: Do.", None),
            (rubocop, "a.rb:3:1: big C: Style/X: Do.", None),
            (
                "{} no offenses detected",
                "3 files inspected, no offenses detected",
                Some(vec!["3 files inspected,"]),
            ),
            (
                "{} no offenses detected",
                "1 no offenses detected, no offenses detected",
                Some(vec!["1 no offenses detected,"]),
            ),
            ("{}{", "a{", Some(vec!["a"])),
            ("# PASS:  {count}", "# PASS:  12", Some(vec!["12"])),
            ("# PASS: {count}", "# PASS: 1 2", None),
            ("clean", "clean", Some(vec![])),
            ("clean", "clean!", None),
            (
                "\t{line}:{column} {message}",
                "   1:5  x  y",
                Some(vec!["1", "5", "x y"]),
            ),
            ("a{}b", "ab", Some(vec![""])),
            ("{file}: x", ": x", None),
        ] {
            let parsed = Pattern::parse(pattern).unwrap();
            let line = single_blanks(line);
            let read = parsed.read(&line);
            let read = read.map(|parts| parts.0.iter().map(|(_, text)| *text).collect());
            assert_eq!(read, want, "{pattern} {line}");
            assert_eq!(parsed.text(), pattern);
        }
    }

    #[test]
    fn faults() {
        use LineHole::{Column, Count, Line, Skipped};
        for (text, want) in [
            ("{sev}: x", PatternFault::Unknown("sev".to_owned())),
            ("{line}{column}", PatternFault::Touch(Line, Column)),
            ("{}{line}", PatternFault::Touch(Skipped, Line)),
            ("{count} passed, {count} more", PatternFault::Twice(Count)),
            ("", PatternFault::Empty),
            ("  ", PatternFault::Empty),
        ] {
            assert_eq!(Pattern::parse(text), Err(want), "{text}");
        }
        for sound in ["{", "{ a }", "}{", "{{}}", "é{file}ü", "{} {}"] {
            assert!(Pattern::parse(sound).is_ok(), "{sound}");
        }
    }
}
