//! Any bytes as a contract: parsing is total, places lie inside, what is right round-trips.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| vplan::lang::oracle::contract(bytes).unwrap());
