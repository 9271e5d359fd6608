//! Collects a JSON document that spans several lines, or is on one.

/// A JSON document that is the whole of standard output, but for lines before it that do not look
/// like one.
#[derive(Default)]
pub struct JsonDocument {
    text: String,
    over: bool,
}

/// How long a document may be, in bytes. What is longer is torn.
pub const DOCUMENT_MOST: usize = 16 << 20;

impl JsonDocument {
    /// Takes the next line, if the document has begun or begins with it.
    pub fn take(&mut self, line: &str) -> bool {
        if self.text.is_empty()
            && !matches!(
                line.as_bytes(),
                [b'[' | b'{'] | [b'[', b'{' | b']', ..] | [b'{', b'"', ..]
            )
        {
            return false;
        }
        if self.text.len().saturating_add(line.len()) > DOCUMENT_MOST {
            self.over = true;
        } else if !self.over {
            self.text.push_str(line);
            self.text.push('\n');
        }
        true
    }

    /// The collected text, unless it was too long.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        (!self.text.is_empty() && !self.over).then_some(&self.text)
    }
}
