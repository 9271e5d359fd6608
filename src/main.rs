//! Collects the arguments and hands them to `cli::main`.
fn main() {}
