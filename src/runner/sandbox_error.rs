//! The reasons why a step cannot be confined.

use std::io;
use std::path::PathBuf;
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;
use vplan_base::word::{visible, visible_path};
use vplan_os::outside::ReadsError;

/// Maximum number of rules for single files.
pub(crate) const MOST_RULES: usize = 10_000;

/// The reason why a step cannot be confined, or its products not be copied.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("what confines it cannot be made: {0}")]
    Unmade(io::Error),
    #[error("there is no temporary folder for it: {0}")]
    NoTemporary(String),
    #[error("its temporary folder cannot be opened: {0}")]
    TemporaryUnopened(io::Error),
    #[error("its temporary folder would be in what it reads: set TMPDIR to another one")]
    TemporaryRead,
    #[error("`env {0}` names another temporary folder than the one that it gets")]
    TemporaryNamed(&'static str),
    #[error("the files that it may change cannot be listed: {0}")]
    LinksUnlisted(io::Error),
    #[error("`{}` has {names} names, and not all of them lie in what it may change: remove the file, or allow the folder of the others with `--sandbox-store`", visible_path(.path))]
    Linked { path: PathBuf, names: u64 },
    #[error(
        "it may change `{0}`, and a sealed step changes no file in the root of the repository: name a folder"
    )]
    RootFile(RepoPath),
    #[error("`{}` would let it change `{}`, which no confined step may", visible(.0.text()), .1)]
    Reserved(Glob, RepoPath),
    #[error("`{}` leads over the link `{}`", visible(.0.text()), .1)]
    OverLink(Glob, RepoPath),
    #[error("`{}` needs the root of the repository to be writable, and with it all that is in it: name a folder", visible(.0.text()))]
    WholeRoot(Glob),
    #[error("it would read all of `{}`, and a sealed step has one of its own", visible_path(.0))]
    PrivatePlace(PathBuf),
    #[error(
        "{0} single files are selected for it to read, more than {MOST_RULES}: write a glob for whole folders (`src/**`)"
    )]
    ManyRules(usize),
    #[error("`{0}` cannot be listed: {1}")]
    Unlisted(RepoPath, io::Error),
    #[error("`{}` cannot be opened for it: {}", visible_path(.0), .1)]
    Unopened(PathBuf, io::Error),
    #[error("`{0}`, which it made, is in what no confined step may change")]
    ProductReserved(RepoPath),
    #[error(
        "`{0}`, which it made, is a link to `{1}`, which leads elsewhere than to a file that it could have made"
    )]
    ProductElsewhere(RepoPath, String),
    #[error("`{0}`, which it made, cannot be copied: {1}")]
    ProductUncopied(RepoPath, io::Error),
    #[error(transparent)]
    Reads(#[from] ReadsError),
    #[error(transparent)]
    System(#[from] io::Error),
}
