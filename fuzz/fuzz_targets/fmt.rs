//! Any bytes as a contract: what is laid out says the same, keeps its comments, and is laid out once and for all.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| vplan::lang::oracle::fmt(bytes).unwrap());
