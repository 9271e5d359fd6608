//! Lists of names, written as one text.

/// Whether a name is in a list of words, in which `*` at an end matches any text.
pub(crate) fn listed(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|pattern| {
        let bare = pattern.trim_matches('*');
        match (pattern.starts_with('*'), pattern.ends_with('*')) {
            (true, true) => name.contains(bare),
            (true, false) => name.ends_with(bare),
            (false, true) => name.starts_with(bare),
            (false, false) => name == bare,
        }
    })
}
