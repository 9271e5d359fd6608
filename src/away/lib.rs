//! Steps that are executed elsewhere: which ones may be, what is sent, and which answer counts.
//!
//! What executes a step elsewhere is vplan itself (`vplan step`), so that what it has seen means there what
//! it means here. Who carries an order there and an answer back moves files and bytes, and nothing else.

#![forbid(unsafe_code)]

pub mod answer;
pub mod blame;
pub mod order;
pub mod seat;
