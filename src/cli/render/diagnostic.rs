//! How does a message about a text look? The graphical form is miette's.

use crate::base::diagnostic::{Diagnostic, Severity};
use crate::base::source::{Source, Sources};
use crate::base::word::{is_unsafe_to_show, visible};
use crate::cli::error::Failure;
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};

/// At most so many messages are shown; the rest are counted.
const SHOWN: usize = 100;

/// A message with the file it is about, as miette wants it.
#[derive(Debug)]
struct Report<'a> {
    diagnostic: &'a Diagnostic,
    source: Option<NamedSource<String>>,
}

impl std::fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&visible(self.diagnostic.message.as_bytes()))
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
        self.diagnostic.help.as_ref().map(|h| Box::new(inert(h)) as Box<dyn std::fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|s| s as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let first = self.diagnostic.labels.first()?.place.source;
        Some(Box::new(self.diagnostic.labels.iter().enumerate().filter(move |(_, l)| l.place.source == first).map(
            |(i, l)| {
                let span = (l.place.span.start, l.place.span.len());
                let text = Some(visible(l.text.as_bytes()));
                if i == 0 {
                    LabeledSpan::new_primary_with_span(text, span)
                } else {
                    LabeledSpan::new_with_span(text, span)
                }
            },
        )))
    }
}

/// Replaces what may not reach a terminal by a character of the same length in bytes, so that spans stay right.
fn inert_source(source: &Source) -> String {
    let text = source.text();
    let harmful = |c: char| is_unsafe_to_show(c) && c != '\n' && c != '\t';
    if !text.contains(harmful) {
        return text.to_owned();
    }
    text.chars()
        .flat_map(|c| {
            let (fill, times) = if harmful(c) { ('?', c.len_utf8()) } else { (c, 1) };
            std::iter::repeat_n(fill, times)
        })
        .collect()
}

/// Keeps line ends and escapes everything else that may not reach a terminal.
fn inert(text: &str) -> String {
    text.split('\n').map(|line| visible(line.as_bytes())).collect::<Vec<_>>().join("\n")
}

fn handler(color: bool, width: usize) -> GraphicalReportHandler {
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    GraphicalReportHandler::new_themed(theme).with_width(width).with_links(false).with_context_lines(1)
}

/// Messages about texts, in the order given.
#[must_use]
pub fn diagnostics(sources: &Sources, list: &[Diagnostic], color: bool, width: usize) -> String {
    let handler = handler(color, width);
    let mut out = String::new();
    // Rendering a source costs its length: once a file, not once a message.
    let texts: Vec<(String, String)> =
        sources.iter().map(|(_, s)| (visible(s.name().as_bytes()), inert_source(s))).collect();
    for diagnostic in list.iter().take(SHOWN) {
        let id = diagnostic.labels.first().map(|l| usize::from(l.place.source.0));
        let source = id.and_then(|i| texts.get(i)).map(|(name, text)| NamedSource::new(name, text.clone()));
        // The handler fails only when the writer does, and a string does not.
        let _ = handler.render_report(&mut out, &Report { diagnostic, source });
        out.push('\n');
    }
    if list.len() > SHOWN {
        out.push_str(&format!("… and {} more\n", list.len() - SHOWN));
    }
    out
}

/// Why vplan stopped.
#[must_use]
pub fn failure(failure: &Failure, color: bool, width: usize) -> String {
    let mut out = String::new();
    if let Some((sources, list)) = failure.diagnostics.as_deref() {
        out.push_str(&diagnostics(sources, list, color, width));
    }
    let (bold, red, cyan, plain) =
        if color { ("\x1b[1m", "\x1b[31m", "\x1b[36m", "\x1b[0m") } else { ("", "", "", "") };
    out.push_str(&format!("{bold}{red}error[{}]{plain}: {}\n", failure.code, inert(&failure.message)));
    if let Some(help) = &failure.help {
        out.push_str(&format!("  {cyan}help{plain}: {}\n", inert(help).replace('\n', "\n        ")));
    }
    out
}

/// The same messages for machines: `{version, diagnostics: [{code, severity, message, help, file, line, column, …}]}`.
#[must_use]
pub fn json(sources: &Sources, list: &[Diagnostic]) -> serde_json::Value {
    let place = |label: &crate::base::diagnostic::Label| {
        let position = sources.position(label.place);
        serde_json::json!({
            "column": position.column,
            "end": label.place.span.end,
            "file": sources.get(label.place.source).map_or("", Source::name),
            "line": position.line,
            "start": label.place.span.start,
            "text": label.text,
        })
    };
    let one = |d: &Diagnostic| {
        serde_json::json!({
            "code": d.code.0,
            "help": d.help,
            "labels": d.labels.iter().map(place).collect::<Vec<_>>(),
            "message": d.message,
            "severity": match d.severity { Severity::Error => "error", Severity::Warning => "warning" },
        })
    };
    serde_json::json!({ "version": 1, "diagnostics": list.iter().map(one).collect::<Vec<_>>() })
}
