//! Any bytes as a journal: reading is total, a prefix is never better than the whole, and never a pass without its end.
#![no_main]
use vplan::run::journal::replay;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let whole = replay(bytes);
    assert!(whole.bytes <= bytes.len());
    let prefix = replay(&bytes[..whole.bytes]);
    assert_eq!(prefix.is_pass(), whole.is_pass());
    if whole.bytes > 0 {
        assert!(!replay(&bytes[..whole.bytes - 1]).is_pass());
    }
});
