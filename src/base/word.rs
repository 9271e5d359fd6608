//! Byte strings: how they are stored, written as JSON, and shown to people.

use super::hole::has_hole;
use data_encoding::BASE64;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::ffi::OsStr;

/// An argument, a value or a piece of output: bytes, most of the time UTF-8.
///
/// As JSON it is a string, or `{"b64": "…"}` when it is not UTF-8.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Word(Vec<u8>);

impl Word {
    /// Takes the bytes unchanged.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// Returns the bytes by value.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl AsRef<[u8]> for Word {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for Word {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl std::fmt::Debug for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_bytes(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_bytes(deserializer).map(Self)
    }
}

impl JsonSchema for Word {
    fn schema_name() -> Cow<'static, str> {
        "Word".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        bytes_schema(
            "A word of a command: a string, or its bytes in base64 when they are not UTF-8.",
        )
    }
}

/// Returns the schema of the output of [`serialize_bytes`].
pub(super) fn bytes_schema(description: &str) -> Schema {
    json_schema!({
        "anyOf": [
            {"type": "string"},
            {
                "properties": {"b64": {"contentEncoding": "base64", "pattern": "^[A-Za-z0-9+/]+={0,2}$", "type": "string"}},
                "required": ["b64"],
                "type": "object",
            },
        ],
        "description": description,
    })
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct B64 {
    b64: String,
}

/// Writes bytes as a string or as `{"b64": …}`.
pub(super) fn serialize_bytes<S: Serializer>(
    bytes: &[u8],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => serializer.serialize_str(text),
        Err(_) => B64 {
            b64: encode_base64(bytes),
        }
        .serialize(serializer),
    }
}

/// Reads the output of [`serialize_bytes`].
pub(super) fn deserialize_bytes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<u8>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Bytes(B64),
    }
    match Form::deserialize(deserializer)? {
        Form::Text(text) => Ok(text.into_bytes()),
        Form::Bytes(b64) => {
            let bytes =
                decode_base64(&b64.b64).ok_or_else(|| de::Error::custom("`b64` is not base64"))?;
            if std::str::from_utf8(&bytes).is_ok() {
                return Err(de::Error::custom(
                    "`b64` is for bytes that are not UTF-8 only",
                ));
            }
            Ok(bytes)
        }
    }
}

/// Encodes bytes in Base64 with padding (RFC 4648 section 4).
pub fn encode_base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Decodes one Base64 text; the library would take several, one after another.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let bytes = BASE64.decode(text.as_bytes()).ok()?;
    (encode_base64(&bytes) == text).then_some(bytes)
}

/// Whether a character is unsafe in a terminal or a log: controls, bidirectional and other
/// invisible format characters, line and paragraph separators, private use.
pub fn is_unsafe_to_show(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || is_bidi_control(c)
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2064}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..='\u{10ffff}')
}

/// Whether a character changes the direction of the text around it (Unicode Standard Annex 9,
/// section 2).
pub fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Makes foreign bytes safe to show on one line: characters of [`is_unsafe_to_show`] become `\n`,
/// `\t`, `\u{…}`, an invalid byte becomes `\xHH`. Everything that vplan prints and did not write
/// itself goes through here.
pub fn visible(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                c if is_unsafe_to_show(c) => out.extend(c.escape_unicode()),
                c => out.push(c),
            }
        }
        for b in chunk.invalid() {
            out.push_str(&format!("\\x{b:02x}"));
        }
    }
    out
}

/// Makes the path of a file safe to show, as [`visible`].
pub fn visible_path(path: impl AsRef<OsStr>) -> String {
    visible(path.as_ref().as_encoded_bytes())
}

/// Whether a list of words, with blanks between them, has a word.
pub fn has_word(words: &str, word: impl AsRef<[u8]>) -> bool {
    let mut words = words.split_whitespace();
    words.any(|known| known.as_bytes() == word.as_ref())
}

/// Formats the first items of a list, and how many more there are: `a, b and 3 more`.
pub fn first_of<T: std::fmt::Display>(items: impl IntoIterator<Item = T>, most: usize) -> String {
    let mut items = items.into_iter();
    let shown: Vec<String> = items.by_ref().take(most).map(|i| i.to_string()).collect();
    shown.join(", ") + &and_more(items.count())
}

/// Returns ` and 3 more`, to be written after a list that was cut short; nothing for 0.
pub fn and_more<N: std::fmt::Display + PartialEq + From<u8>>(number: N) -> String {
    if number == N::from(0) {
        String::new()
    } else {
        format!(" and {number} more")
    }
}

/// Formats a count with its noun: `1 step`, `2 steps`, `2 tries`, `2 processes`.
pub fn count<N: std::fmt::Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if number == N::from(1) => format!("{number} {noun}"),
        Some(stem) => format!("{number} {stem}ies"),
        None if noun.ends_with(['s', 'x']) => format!("{number} {noun}es"),
        None => format!("{number} {noun}s"),
    }
}

/// Formats what may be absent between two texts: ` (E0308)`; nothing where it is absent.
pub fn framed<T: std::fmt::Display>(before: &str, what: Option<T>, after: &str) -> String {
    what.map_or_else(String::new, |what| format!("{before}{what}{after}"))
}

/// Returns a part of a sentence if it applies, and nothing otherwise.
pub fn text_if(applies: bool, text: impl FnOnce() -> String) -> String {
    if applies { text() } else { String::new() }
}

/// Writes a string of the contract language in the shorter of the two quotings. Uses `"` if both
/// are equally long or only that works.
pub fn quote_string(text: &str) -> Cow<'_, str> {
    let hidden = text.chars().any(is_unsafe_to_show);
    if !hidden && text.contains(['"', '\\']) && !text.contains('\'') {
        return Cow::Owned(format!("'{text}'"));
    }
    Cow::Owned(quote_with_holes(text))
}

/// Quotes a string so that its placeholders, if any, are not filled: in `'…'`, if possible.
pub fn quote_literal(text: &str) -> Cow<'_, str> {
    if has_hole(text) && !text.contains('\'') && !text.chars().any(is_unsafe_to_show) {
        return Cow::Owned(format!("'{text}'"));
    }
    quote_string(text)
}

/// Quotes the pattern of a line, which is full of braces: in `'…'`, if it can be.
pub fn quote_pattern(text: &str) -> Cow<'_, str> {
    if text.contains('\'') || text.chars().any(is_unsafe_to_show) {
        return quote_with_holes(text).into();
    }
    Cow::Owned(format!("'{text}'"))
}

/// Writes a string of the language whose placeholders are to be filled.
pub fn quote_with_holes(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_unsafe_to_show(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_in_the_standard() {
        // RFC 4648 section 10.
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode_base64(plain.as_bytes()), coded);
            assert_eq!(decode_base64(coded).as_deref(), Some(plain.as_bytes()));
        }
        assert_eq!(encode_base64(b"\xff\xfe"), "//4=");
        for bad in ["Z", "Zg=", "Zh==", "====", "Zg==Zg=="] {
            assert_eq!(decode_base64(bad), None, "{bad}");
        }
    }

    #[test]
    fn nouns_have_their_plural() {
        let nouns = ["step", "try", "process", "fix"];
        let counted = |number: u64| nouns.map(|noun| count(number, noun)).join(", ");
        assert_eq!(counted(1), "1 step, 1 try, 1 process, 1 fix");
        assert_eq!(counted(2), "2 steps, 2 tries, 2 processes, 2 fixes");
    }

    #[test]
    fn words_as_json() {
        let json =
            serde_json::to_string(&[Word::from("a\n"), Word::new(b"\xff\xfe".to_vec())]).unwrap();
        assert_eq!(json, r#"["a\n",{"b64":"//4="}]"#);
        let back: Vec<Word> = serde_json::from_str(&json).unwrap();
        assert_eq!(back, [Word::from("a\n"), Word::new(b"\xff\xfe".to_vec())]);
        assert!(
            serde_json::from_str::<Word>(r#"{"b64":"Zg=="}"#).is_err(),
            "one value has one form"
        );
    }

    #[test]
    fn nothing_unsafe_is_shown() {
        let nasty = b"a\x1b[2J\xffb\n\xe2\x80\xae\xc2\x9b";
        assert_eq!(visible(nasty), "a\\u{1b}[2J\\xffb\\n\\u{202e}\\u{9b}");
    }
}
