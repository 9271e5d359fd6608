//! Writes a text so that a glob matches exactly it.

/// Escapes a text so that it matches itself as part of a glob.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '!' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
