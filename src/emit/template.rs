//! What the templates of all targets share.

/// A place of a template, `<<NAME>>`, and what is written there. No option can hold the sign.
pub(crate) type Value = (&'static str, String);

/// A text, where it is wanted.
pub(crate) fn block(is_wanted: bool, text: &str) -> String {
    if is_wanted {
        text.to_owned()
    } else {
        String::new()
    }
}
