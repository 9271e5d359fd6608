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
                let (length, most) = (span.len(), self.caps.line_bytes);
                let message = format!("a line has {length} bytes, more than the {most} allowed");
                let start = Span::new(span.start, span.start);
                self.report(self.error(error::LINE_TOO_LONG, message, start, "it was not read"));
                bad.push(span);
            } else if let Some(cr) = any_cr.then(|| text.find('\r')).flatten() {
                let at = Span::new(span.start + cr, span.start + cr + 1);
                let message = "a carriage return without a line feed";
                let label = "a line ends with LF or CR LF";
                let help = r"save the file with one kind of line ends; in a string, write `\r`";
                let error = self.error(error::LONE_CARRIAGE_RETURN, message, at, label);
                self.report(error.help(help));
                bad.push(span);
            } else if let Some(nul) = any_nul.then(|| text.find('\0')).flatten() {
                let at = Span::new(span.start + nul, span.start + nul + 1);
                let label = "no argument and no path can hold it";
                let error = self.error(error::NUL, "a character NUL", at, label);
                self.report(
                    error.help("save the file as UTF-8; in UTF-16 every other byte is NUL"),
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
            let span = Span::new(start, start + c.len_utf8());
            self.report(if commented {
                Diagnostic::warning(error::BIDI_CONTROL_IN_COMMENT, message)
                    .label(self.place(span), "in a comment")
            } else {
                let label = "what is shown is not what is read";
                let help = format!("leave it out; in a string in `\"`, write `{escape}`");
                self.error(error::BIDI_CONTROL, message, span, label)
                    .help(help)
            });
        }
    }
}
