//! Any bytes as the file of any other tool: reading ends, and what is accepted converts to a text that reads as the same.
#![no_main]
use vplan::front::convert::{Format, oracle};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| for format in Format::ALL {
    oracle(format, bytes).unwrap();
});
