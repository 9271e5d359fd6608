//! Locks: the bytes pinned for each git import, and the recorded answers of proposers and judges.
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
//! First come the commits of branches and tags in the order of their names, then the imports by
//! name, then proposals by question. Each is on two lines: a review shows on one what is pinned,
//! and on the other the pinned value. If two branches pin different imports, a merge just keeps
//! both. The `seal` is computed over the rest of the entry. It protects against mistakes: any
//! change by hand or by a merge is detected offline, at its place. It does not protect against
//! attackers, since anyone can compute it.
//!
//! vplan supports a part of KDL: nodes of strings and whole numbers. Blocks, types, `/-`, strings
//! of several lines and keywords are errors in a lock. The reader is that of plan files
//! (`plan::kdl::text`), which has the reasons.

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

/// Size limit of a lock, in bytes.
pub const MAX_BYTES: u64 = 1 << 20;
