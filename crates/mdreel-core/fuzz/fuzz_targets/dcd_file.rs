//! Fuzzing of the DCD reader with arbitrary bytes.
#![no_main]

include!("../../tests/corpus/checks.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dcd_file::check(bytes));
