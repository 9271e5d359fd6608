//! Rejects characters and lines that may not be in a file at all, before anything is built.

use super::parser::Parser;
use crate::error;
use vplan_base::diagnostic::Diagnostic;
use vplan_base::span::Span;
use vplan_base::word::is_bidi_control;

impl Parser<'_> {
    /// Returns lines over the cap, lines with a CR that no LF follows, and lines with a NUL.
    pub(super) fn bad_lines(&mut self) -> Vec<Span> {
        let mut bad = Vec::new();
        let mut start = 0;
        let any_cr = self.text.contains('\r');
        let any_nul = self.text.contains('\0');
        for text in self.text.split('\n') {
            let span = Span::new(start, start + text.len());
            start = span.end + 1;
            if span.len() > self.caps.line_bytes {
                let message = format!(
                    "a line has {} bytes, more than the {} allowed",
                    span.len(),
                    self.caps.line_bytes
                );
                let place = self.place(Span::new(span.start, span.start));
                self.report(
                    Diagnostic::error(error::LINE_TOO_LONG, message)
                        .label(place, "it was not read"),
                );
                bad.push(span);
            } else if let Some(cr) = any_cr.then(|| text.find('\r')).flatten() {
                let place = self.place(Span::new(span.start + cr, span.start + cr + 1));
                self.report(
                    Diagnostic::error(
                        error::LONE_CARRIAGE_RETURN,
                        "a carriage return without a line feed",
                    )
                    .label(place, "a line ends with LF or CR LF")
                    .help(r#"save the file with one kind of line ends; in a string, write `\r`"#),
                );
                bad.push(span);
            } else if let Some(nul) = any_nul.then(|| text.find('\0')).flatten() {
                let place = self.place(Span::new(span.start + nul, span.start + nul + 1));
                self.report(
                    Diagnostic::error(error::NUL, "a character NUL")
                        .label(place, "no argument and no path can hold it")
                        .help("save the file as UTF-8; in UTF-16 every other byte is NUL"),
                );
                bad.push(span);
            }
        }
        bad
    }

    pub(super) fn bidi_controls(&mut self) {
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
            let Some((start, c)) = text.char_indices().find(|(_, c)| is_bidi_control(*c)) else {
                continue;
            };
            let start = from + start;
            while comments.next_if(|s| s.end <= start).is_some() {}
            let commented = comments.peek().is_some_and(|s| s.start <= start);
            let escape = c.escape_unicode();
            let message =
                format!("an invisible character, {escape}, changes the direction of the text");
            let place = self.place(Span::new(start, start + c.len_utf8()));
            self.report(if commented {
                Diagnostic::warning(error::BIDI_CONTROL_IN_COMMENT, message)
                    .label(place, "in a comment")
            } else {
                Diagnostic::error(error::BIDI_CONTROL, message)
                    .label(place, "what is shown is not what is read")
                    .help(format!(
                        "leave it out; in a string in `\"`, write `{escape}`"
                    ))
            });
        }
    }
}
