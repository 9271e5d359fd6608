//! What does a rewrite leave behind: trace, coverage, order?
