//! Any text as a plan: total, and what is read is written again to the same bytes and the same digest.
#![no_main]
use vplan::plan::document::{from_json, to_json};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(plan) = from_json(text) {
        assert_eq!(from_json(&to_json(&plan)).as_ref(), Ok(&plan));
    }
});
