#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| vplan_fuzz::run("away", bytes));
