//! Any bytes as the steps of a writer of XTC.
#![no_main]

include!("../../tests/corpus/checks.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| xtc_valid::check(bytes));
