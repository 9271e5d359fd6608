//! Reads GitHub workflows (also Forgejo's and Gitea's): which of them judge a change, and the commands of their jobs.

use super::candidate::Found;
use super::tree::Tree;

/// Reads what is declared there.
pub fn read(tree: &Tree, found: &mut Found) {
    let _ = (tree, found);
}
