//! Compares two plans or two contracts, and finds where the newer contract requires less.

pub mod accept;
mod acceptance;
pub mod contracts;
mod difference;
mod existing;
pub mod plans;
pub mod possible;
mod reach;
pub mod request;
mod sampled;
mod settings;
mod shared;
pub mod text;
mod units;
mod witness;

pub use difference::{At, Class, ContractDiff, Difference, DifferingRequest, VERSION};
