//! Fuzzing of the XTC reader with arbitrary bytes.
#![no_main]

include!("../../tests/corpus/checks.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| xtc_file::check(bytes));
