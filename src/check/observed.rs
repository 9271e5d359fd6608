//! What a try of a step was seen to do: the files that it read, looked for, listed and wrote, and
//! what it connected to, with the programs that did it.

use crate::base::path::RepoPath;
use crate::base::word::Word;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that a try was seen to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The files and folders, by place.
    pub files: BTreeMap<Place, Uses>,
    /// Why not everything was seen; empty when everything was.
    pub gaps: BTreeSet<Gap>,
    /// The sockets to which it connected, or tried to, with the programs that did.
    pub peers: BTreeMap<Peer, BTreeSet<Word>>,
}

/// Where a file is. Links are resolved: a link that was followed is a place of its own, that was
/// read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// In the repository.
    Repository(RepoPath),
    /// Elsewhere: an absolute path.
    Elsewhere(Word),
}

/// What was done with a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Uses {
    /// Its content was read, or it was executed, and the step had not written it before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read: bool,
    /// It was made, changed, renamed or removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub written: bool,
    /// It is a folder whose entries were listed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub listed: bool,
    /// It was looked for, and was there; its content was not asked for by that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub found: bool,
    /// It was looked for, and was not there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// The programs that did it, by the names of their files; at most [`PROGRAMS`].
    pub programs: BTreeSet<Word>,
}

/// The most programs that are kept of one file.
pub const PROGRAMS: usize = 8;

/// What a program connected to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Peer {
    /// A socket with a path.
    Socket(Word),
    /// An abstract socket.
    Abstract(Word),
    /// An address of the network, `127.0.0.1:5432` or `[::1]:80`.
    Address(String),
}

/// Why something may not have been seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Gap {
    /// The system does not let vplan observe; why.
    Unavailable(String),
    /// A program wanted io_uring, which was refused.
    IoUring(Word),
    /// A program made calls of another architecture, such as 32-bit ones.
    OtherCalls(Word),
    /// A program connected to a process outside the step, which may have read or written for it.
    Daemon(Word),
    /// The memory of a program could not be read.
    Unreadable(Word),
    /// A program changed its root or its mounts.
    OtherRoot(Word),
    /// More was done than is kept.
    TooMuch,
    /// What was seen was lost: the supervisor ended, or the record of it is damaged.
    Lost,
}
