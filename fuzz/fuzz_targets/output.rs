//! Any output of a step by every format: reading is total and bounded, and does not depend on pieces, colours or ends of lines.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| vplan::check::format::oracle::bytes(input).unwrap());
