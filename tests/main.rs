//! The one integration binary.
mod changes;
mod diagnostics;
mod faults;
mod props;
mod runner;
mod support;
