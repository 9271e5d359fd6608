//! To be written.

use super::super::tree::Tree;
use super::Body;
use crate::base::path::RepoPath;

pub fn body(tree: &Tree, dir: &RepoPath, words: &[String]) -> Option<Body> {
    let _ = (tree, dir, words);
    None
}
