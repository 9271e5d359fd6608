//! Reads GitLab's CI configuration.

use super::candidate::Found;
use super::tree::Tree;

/// Reads what is declared there.
pub fn read(tree: &Tree, found: &mut Found) {
    let _ = (tree, found);
}
