//! The common parts of the templates.

/// A placeholder of a template, `<<NAME>>`, and its value. No option can contain that mark.
pub(crate) type Value = (&'static str, String);

/// Returns a text if it is wanted, and nothing otherwise.
pub(crate) fn block(is_wanted: bool, text: &str) -> String {
    if is_wanted {
        text.to_owned()
    } else {
        String::new()
    }
}
