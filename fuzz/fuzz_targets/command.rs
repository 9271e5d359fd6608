//! Any text as a command: reading is total, what is read round-trips.
#![no_main]
libfuzzer_sys::fuzz_target!(|text: &str| vplan::lang::oracle::command(text).unwrap());
