//! Remote steps: which ones are allowed, what is sent, and which answers count.
//!
//! A remote step is executed by vplan itself (`vplan step`), so that its evidence means the same as
//! here. The transport only moves files and bytes.

#![forbid(unsafe_code)]

pub mod answer;
pub mod blame;
pub mod order;
pub mod seat;
