//! Any globs and paths: the matcher, the index and a naive reference agree.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: (&[u8], &[u8])| vplan::arbitrary::glob::oracle(input.0, input.1).unwrap());
