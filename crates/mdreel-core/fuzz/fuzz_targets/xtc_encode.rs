//! Any bytes as coordinates to encode.
#![no_main]

include!("../../tests/corpus/checks.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| xtc_encode::check(bytes));
