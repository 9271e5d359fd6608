//! What the templates of all targets share.

/// A placeholder of a template, `<<NAME>>`, and its value. No option can contain that mark.
pub(crate) type Value = (&'static str, String);

/// A text, where it is wanted.
pub(crate) fn block(is_wanted: bool, text: &str) -> String {
    if is_wanted {
        text.to_owned()
    } else {
        String::new()
    }
}
