//! One test per diagnostic code, and a table of malformed contracts.
