//! What is the one canonical layout of a contract?
