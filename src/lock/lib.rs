//! Locks: the bytes pinned for each git import, and the recorded answer to each question that a
//! proposer or a judge was asked.
//!
//! A lock is KDL 2, written by `vplan lock` and read by people in reviews:
//!
//! ```text
//! // Written by `vplan lock`. Comments stay where they are; everything else is checked.
//! version 1
//! ref "git+https://example.org/x.git?ref=main" \\
//!   commit="0123456789abcdef0123456789abcdef01234567" seal="0123456789abcdef"
//! import "git+https://example.org/x.git?rev=0123456789abcdef0123456789abcdef01234567#verify.vplan" \
//!   digest="sha256:…" bytes=1234 seal="89abcdef01234567"
//! proposal question="sha256:…" proposer="ask --json" \
//!   answer=#"{"checks":["pnpm test"]}"# seal="76543210fedcba98"
//! ```
//!
//! The commits of branches and tags are in the order of their names, then the imports in that of
//! theirs, then proposals in that of their questions; each on two
//! lines, so that a review shows on one what is pinned and on the other to what, and so that a
//! merge of two branches that pin different imports is just both. The `seal` is taken over the rest
//! of the entry. It is no protection from an attacker, who can compute one, but from slips:
//! whatever is changed by hand or by a merge is noticed here, offline, at its place.
//!
//! vplan reads a part of KDL: nodes of strings and whole numbers. Blocks, types, `/-`, strings of
//! several lines and keywords have nothing to do in a lock and are errors. The reader is that of
//! plan files (`plan::kdl::text`), which says why.

#![forbid(unsafe_code)]

mod decode;
mod encode;
pub mod error;
mod pins;
mod update;

pub use decode::decode;
pub use encode::encode;
pub use pins::{Lock, PinnedImport, PinnedRef, RecordedAnswer};
pub use update::update;

/// The largest lock that is read, in bytes.
pub const MAX_BYTES: u64 = 1 << 20;
