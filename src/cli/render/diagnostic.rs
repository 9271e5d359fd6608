//! Renders diagnostics about a text. The graphical form is miette's.

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents,
    SourceCode, SourceSpan, SpanContents,
};
use schemars::JsonSchema;
use serde::Serialize;
use vplan_base::diagnostic::{Diagnostic, Label, Severity};
use vplan_base::index::Index as _;
use vplan_base::source::{Source, Sources};
use vplan_base::word::{is_unsafe_to_show, visible};
use vplan_engine::Failure;

/// At most so many messages are shown; the rest are counted.
const SHOWN: usize = 100;

/// A file as it is shown: whole lines, or what surrounds the place in a line that is too long.
#[derive(Debug)]
struct SourceExcerpt {
    name: String,
    text: String,
    /// Offset of the first byte of each line.
    lines: Vec<usize>,
    /// Approximate limit of a shown line, in bytes.
    room: usize,
}

/// A message with the file it is about, as miette wants it.
#[derive(Debug)]
struct Report<'a> {
    diagnostic: &'a Diagnostic,
    source: Option<&'a SourceExcerpt>,
    /// The places in other files, which no frame around this one can show.
    elsewhere: Vec<String>,
}

impl SourceExcerpt {
    fn new(source: &Source, width: usize) -> Self {
        // With a line feed at the end, even an empty file has a line.
        let text = inert_source(source) + "\n";
        let mut lines = vec![0];
        lines.extend(text.match_indices('\n').map(|(i, _)| i + 1));
        // Line number, frame and borders take some columns.
        Self {
            name: visible(source.name()),
            text,
            lines,
            room: width.saturating_sub(12).max(40),
        }
    }

    /// The line that an offset lies in, from 0.
    fn line(&self, offset: usize) -> usize {
        self.lines
            .partition_point(|start| *start <= offset)
            .saturating_sub(1)
    }

    /// A span that is no longer than a line has room for: a frame around it is read, not scrolled.
    fn clamp(&self, start: usize, length: usize) -> (usize, usize) {
        let start = self.text.floor_char_boundary(start);
        let end = start.saturating_add(length.min(self.room));
        let end = self.text.floor_char_boundary(end);
        (start, end.saturating_sub(start))
    }
}

impl SourceCode for SourceExcerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        _before: usize,
        _after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (start, end) = (span.offset(), span.offset() + span.len());
        let first = self.line(start);
        let last = self.line(end.saturating_sub(1).max(start));
        let line_start = self.lines.get(first).copied().unwrap_or(0);
        let next = self.lines.get(last + 1);
        let line_end = next.map_or(self.text.len(), |next| next - 1);
        let (mut from, mut to) = (line_start, line_end);
        if first == last && line_end - line_start > self.room {
            let spare = self.room.saturating_sub(span.len()) / 2;
            let floor = |offset| self.text.floor_char_boundary(offset);
            from = floor(start.saturating_sub(spare)).max(line_start);
            to = floor(end.saturating_add(spare).max(from + self.room)).min(line_end);
        }
        if to == line_end {
            // With its end, for what points at that, and for a line of nothing.
            to = (to + 1).min(self.text.len());
        }
        let data = self.text.get(from..to).ok_or(MietteError::OutOfBounds)?;
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            data.as_bytes(),
            (from, data.len()).into(),
            first,
            start - line_start,
            last - first + 1,
        )))
    }
}

impl std::fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&visible(&self.diagnostic.message))
    }
}

impl std::error::Error for Report<'_> {}

impl miette::Diagnostic for Report<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        Some(Box::new(self.diagnostic.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        let help = self.diagnostic.help.as_ref().map(|h| inert(h));
        let lines: Vec<String> = self.elsewhere.iter().cloned().chain(help).collect();
        (!lines.is_empty()).then(|| Box::new(lines.join("\n")) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.map(|s| s as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let first = self.diagnostic.labels.first()?.place.source;
        let source = self.source?;
        let labelled = |(i, l): (usize, &Label)| {
            let span = source.clamp(l.place.span.start, l.place.span.len());
            let text = Some(visible(&l.text));
            if i == 0 {
                LabeledSpan::new_primary_with_span(text, span)
            } else {
                LabeledSpan::new_with_span(text, span)
            }
        };
        let labels = self.diagnostic.labels.iter().enumerate();
        let here = labels.filter(move |(_, l)| l.place.source == first);
        Some(Box::new(here.map(labelled)))
    }
}

/// Replaces what may not reach a terminal by a character of the same length in bytes, so that spans
/// stay right.
fn inert_source(source: &Source) -> String {
    let text = source.text();
    let harmful = |c: char| is_unsafe_to_show(c) && c != '\n' && c != '\t';
    if !text.contains(harmful) {
        return text.to_owned();
    }
    text.chars()
        .flat_map(|c| match c.len_utf8() {
            _ if !harmful(c) => std::iter::repeat_n(c, 1),
            3 => std::iter::repeat_n('\u{fffd}', 1),
            length => std::iter::repeat_n('?', length),
        })
        .collect()
}

/// Keeps line ends and escapes everything else that may not reach a terminal.
fn inert(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

fn handler(color: bool, width: usize) -> GraphicalReportHandler {
    let theme = match color {
        true => GraphicalTheme::unicode(),
        false => GraphicalTheme::unicode_nocolor(),
    };
    GraphicalReportHandler::new_themed(theme)
        .with_width(width)
        .with_links(false)
        .with_context_lines(0)
}

/// Messages about texts, in the order given.
pub fn diagnostics(sources: &Sources, list: &[Diagnostic], color: bool, width: usize) -> String {
    let handler = handler(color, width);
    let mut out = String::new();
    // Rendering a source costs its length: once a file, not once a message.
    let texts = sources.iter().map(|(_, s)| SourceExcerpt::new(s, width));
    let texts: Vec<SourceExcerpt> = texts.collect();
    for diagnostic in list.iter().take(SHOWN) {
        let first = diagnostic.labels.first();
        let source = first.and_then(|l| texts.get(l.place.source.position()));
        // The handler fails only when the writer does, and a string does not.
        let elsewhere = elsewhere(sources, diagnostic);
        let report = Report {
            diagnostic,
            source,
            elsewhere,
        };
        let _ = handler.render_report(&mut out, &report);
        out.push('\n');
    }
    if list.len() > SHOWN {
        out.push_str(&format!("… and {} more\n", list.len() - SHOWN));
    }
    out
}

/// The labels in other files than the first: file, line and remark.
fn elsewhere(sources: &Sources, diagnostic: &Diagnostic) -> Vec<String> {
    let first = diagnostic.labels.first().map(|l| l.place.source);
    let labels = diagnostic.labels.iter();
    let other = labels.filter(|l| Some(l.place.source) != first);
    let line = |label: &Label| {
        let name = visible(sources.get(label.place.source).map_or("", Source::name));
        let line = sources.position(label.place).line;
        format!("{name}:{line}: {}", visible(&label.text))
    };
    other.map(line).collect()
}

/// Returns the reason why vplan stopped.
pub fn failure(failure: &Failure, color: bool, width: usize) -> String {
    let mut out = String::new();
    if let Some((sources, list)) = failure.diagnostics.as_deref() {
        out.push_str(&diagnostics(sources, list, color, width));
    }
    let (bold, red, cyan, plain) = match color {
        true => ("\x1b[1m", "\x1b[31m", "\x1b[36m", "\x1b[0m"),
        false => ("", "", "", ""),
    };
    let (code, message) = (&failure.code, inert(&failure.message));
    out.push_str(&format!("{bold}{red}error[{code}]{plain}: {message}\n"));
    if let Some(help) = &failure.help {
        let help = inert(help).replace('\n', "\n        ");
        out.push_str(&format!("  {cyan}help{plain}: {help}\n"));
    }
    out
}

/// A message for machines.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Message<'a> {
    /// Its stable name, such as `vplan::contract::cycle`.
    code: &'static str,
    /// The repair, where it is known.
    help: Option<&'a str>,
    /// The places that it is about, the main one first.
    labels: Vec<Spot<'a>>,
    /// One line.
    message: &'a str,
    /// Whether something cannot be used, or is only doubtful.
    severity: Weight,
}

/// A place in a file.
#[derive(Debug, Serialize, JsonSchema)]
struct Spot<'a> {
    /// From 1, in bytes.
    column: usize,
    /// The offset of its end in the file, in bytes.
    end: usize,
    /// The file's name.
    file: &'a str,
    /// From 1.
    line: usize,
    /// The offset of its beginning in the file, in bytes.
    start: usize,
    /// The label of this place.
    text: &'a str,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Weight {
    Error,
    Warning,
}

/// The same messages for machines.
pub fn messages<'a>(sources: &'a Sources, list: &'a [Diagnostic]) -> Vec<Message<'a>> {
    let spot = |label: &'a Label| {
        let position = sources.position(label.place);
        Spot {
            column: position.column,
            end: label.place.span.end,
            file: sources.get(label.place.source).map_or("", Source::name),
            line: position.line,
            start: label.place.span.start,
            text: &label.text,
        }
    };
    let one = |d: &'a Diagnostic| Message {
        code: d.code.0,
        help: d.help.as_deref(),
        labels: d.labels.iter().map(spot).collect(),
        message: &d.message,
        severity: match d.severity {
            Severity::Error => Weight::Error,
            Severity::Warning => Weight::Warning,
        },
    };
    list.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::diagnostic::Code;
    use vplan_base::span::{Place, Span};

    fn underline(text: &str, spans: &[(usize, usize)]) -> String {
        let mut sources = Sources::default();
        let id = sources.add(Source::new("f", text));
        let label = |d: Diagnostic, (start, end): &(usize, usize)| {
            d.label(Place::new(id, Span::new(*start, *end)), "here")
        };
        let diagnostic = spans.iter().fold(Diagnostic::error(Code("c"), "m"), label);
        diagnostics(&sources, &[diagnostic], false, 60)
    }

    #[test]
    fn whole_lines_are_shown() {
        let text = "first\n\tcheck a: echo 日本 x\r\nlast";
        let out = underline(text, &[(14, 15)]);
        assert!(
            out.contains("check a: echo 日本 x\n") && out.contains("[f:2:9]"),
            "{out}"
        );
        assert!(!out.contains("first") && !out.contains("last"), "{out}");
        for (text, span) in [
            ("", (0, 0)),
            ("a", (1, 1)),
            ("a\n", (2, 2)),
            ("a\n", (1, 2)),
            ("\n\nb", (1, 1)),
            ("a", (0, 900)),
        ] {
            let out = underline(text, &[span]);
            assert!(
                out.contains("here") && out.contains("[f:"),
                "{text:?}: {out}"
            );
        }
    }

    #[test]
    fn render_never_panics_any_width() {
        let text = "a\tb\u{301}日本\u{200b}\r\n\u{1f468}\u{200d}\u{1f469}\t\t\n\nend";
        let mut sources = Sources::default();
        let id = sources.add(Source::new("f", text));
        let starts: Vec<usize> = text
            .char_indices()
            .map(|(i, _)| i)
            .chain([text.len()])
            .collect();
        for width in 1..=500 {
            let start = starts[width % starts.len()];
            let end = starts[(width * 7 / 3) % starts.len()].max(start);
            let place = Place::new(id, Span::new(start, end));
            let diagnostic = Diagnostic::error(Code("c"), "日本 m".repeat(9))
                .label(place, "here")
                .help("h ".repeat(40));
            let out = diagnostics(&sources, &[diagnostic], width % 2 == 0, width);
            assert!(
                out.contains('日')
                    && out
                        .chars()
                        .all(|c| c == '\n' || c == '\u{1b}' || !c.is_control()),
                "{width}: {out:?}"
            );
        }
    }

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        let text = format!("{}HERE{}\nnext", "é".repeat(5_000), "日".repeat(5_000));
        for spans in [
            &[(10_000, 10_004)][..],
            &[(0, 20_000)],
            &[(25_003, 25_004)],
            &[(0, 2), (25_001, 25_004)],
        ] {
            let out = underline(&text, spans);
            assert!(
                out.contains("here") && out.len() < 80_000,
                "{spans:?}: {out}"
            );
            assert!(
                spans.len() > 1 || out.lines().all(|l| l.chars().count() < 120),
                "{spans:?}: {out}"
            );
        }
    }

    #[test]
    fn render_is_control_free() {
        let out = underline("a\u{202e}b\u{1b}[2J\u{85}c\n", &[(0, 1)]);
        assert!(out.contains("a\u{fffd}b?[2J??c"), "{out:?}");
    }
}
