//! Any bytes as a journal: reading is total, a prefix is never better than the whole, and never a pass without its end.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| vplan::run::journal::oracle(bytes).unwrap());
