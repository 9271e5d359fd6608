//! Reads a file beside a contract, of the work tree or of a commit: its lock, its
//! baseline.

use crate::base::path::RepoPath;
use crate::base::unit::show_size;
use crate::effect::git::error::GitError;
use crate::effect::git::object::Oid;
use crate::effect::os::files::beneath::{Beneath, ReadError};
use crate::effect::repo::load::Site;

/// The reason why such a file is not read.
#[derive(Debug)]
pub(super) enum UnreadBeside {
    /// It exists and cannot be read; why.
    File(String),
    /// Git cannot read the revision.
    Git(GitError),
}

/// Reads the text of a file; `None` where there is none.
///
/// # Errors
/// It exists and is no regular UTF-8 file of at most so many bytes.
pub(super) fn read(
    site: &Site,
    path: &RepoPath,
    revision: Option<&Oid>,
    max_bytes: u64,
) -> Result<Option<String>, UnreadBeside> {
    let unreadable = |message: String| UnreadBeside::File(message);
    let large = || unreadable(format!("it is larger than {}", show_size(max_bytes)));
    let bytes = match revision {
        Some(commit) => {
            let git = site
                .git
                .as_ref()
                .map_err(|e| UnreadBeside::Git(e.clone()))?;
            match git.file_at(commit, path, max_bytes) {
                Err(GitError::TooLarge { .. }) => return Err(large()),
                found => found.map_err(UnreadBeside::Git)?,
            }
        }
        None => {
            let beneath = Beneath::open(&site.root).map_err(|e| unreadable(e.to_string()))?;
            // It is replaced by a rename, which would put a file where the symlink was.
            if beneath.link(path).is_some() {
                return Err(unreadable("it is a symlink".to_owned()));
            }
            match beneath.read(path, max_bytes) {
                Ok(bytes) => Some(bytes),
                Err(ReadError::Missing) => None,
                Err(ReadError::TooLarge(_)) => return Err(large()),
                Err(e) => return Err(unreadable(e.to_string())),
            }
        }
    };
    let text = |bytes| {
        String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            unreadable(format!("it is not UTF-8 (at offset {at})"))
        })
    };
    bytes.map(text).transpose()
}
