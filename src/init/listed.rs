//! Lists of names, written as one text.

use vplan_check::tool::table::fits;

/// Whether a name is in a list of words, in which `*` matches any text.
pub(crate) fn listed(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|pattern| fits(pattern, name))
}
