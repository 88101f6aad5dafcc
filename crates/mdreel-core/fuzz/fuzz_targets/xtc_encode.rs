//! Fuzzing of the XTC encoder with arbitrary bytes as coordinates.
#![no_main]

include!("../../tests/corpus/checks.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| xtc_encode::check(bytes));
