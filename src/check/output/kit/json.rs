//! Collects a JSON document that spans several lines, or is on one.

use crate::results::Reading;
use serde::de::DeserializeOwned;

/// A JSON document that is the whole of standard output, but for lines before it that do not look
/// like one.
#[derive(Default)]
pub(crate) struct JsonDocument {
    text: String,
    over: bool,
}

/// Size limit of a document, in bytes. A longer one is torn.
pub(crate) const DOCUMENT_MOST: usize = 16 << 20;

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

    /// The document that the text is, or the text. Notes in the reading what is wrong with a text
    /// that begins as the tool's documents do.
    pub fn finish<T: DeserializeOwned>(
        self,
        reading: &mut Reading,
        begins: &[&str],
    ) -> JsonContent<T> {
        if self.text.is_empty() {
            return JsonContent::Nothing;
        }
        if !self.over
            && let Ok(document) = serde_json::from_str(&self.text)
        {
            return JsonContent::Document(document);
        }
        let is_torn = begins.iter().any(|begin| self.text.starts_with(begin));
        if is_torn {
            reading.object(if self.over {
                "the list of findings is larger than 16 MiB"
            } else {
                "the list of findings is torn"
            });
        }
        JsonContent::Other(if self.over { String::new() } else { self.text }, is_torn)
    }
}

/// The collected text.
pub(crate) enum JsonContent<T> {
    /// No text.
    Nothing,
    Document(T),
    /// Another text, empty if it was too long, and whether it is a torn document of the tool's.
    Other(String, bool),
}
