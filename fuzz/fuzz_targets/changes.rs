//! Any bytes as a list of changed files: total, and what is read can be written and read again.
#![no_main]
use vplan::effect::changes::list::{ListFormat, encode, parse};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for format in [ListFormat::Names, ListFormat::NameStatus, ListFormat::Raw] {
        for nul in [false, true] {
            if let Ok(files) = parse(bytes, format, nul) {
                assert_eq!(parse(&encode(&files, format, nul), format, nul).as_ref(), Ok(&files));
            }
        }
    }
});
