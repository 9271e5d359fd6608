//! Baselines: the earlier findings and failing tests of a contract, in a file next to it.
//!
//! A baseline is KDL 2, written by `vplan baseline record` and read by people in reviews; one line
//! an entry, sorted, so that a merge of two branches is just both:
//!
//! ```text
//! // Written by `vplan baseline record`: known findings, which fail nothing once they are at the base.
//! version 1
//! finding "lint" format="eslint" file="src/a.js" rule="semi" message="Missing semicolon." fingerprint="sha256:…"
//! test "unit" format="pytest" name="t.py::test_a" fingerprint="sha256:…"
//! ```
//!
//! Only the check and the fingerprint (`check::baseline`) decide; the rest is for people. An
//! invented entry excuses only a finding with exactly its content, and nothing at all before it is
//! at the base of a change.

#![forbid(unsafe_code)]

mod compare;
mod decode;
mod encode;
pub mod error;
mod known;
mod record;

pub use compare::differences;
pub use decode::decode;
pub use encode::{encode, quoted};
pub use known::{Baseline, EntryKind, KnownEntry, MAX_BYTES, MAX_ENTRIES, TEXT_SHOWN};
pub use record::{LeftOut, Recording, partial_checks, record, tighten};
