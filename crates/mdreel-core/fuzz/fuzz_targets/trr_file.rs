//! Fuzzing of the TRR reader with arbitrary bytes.
#![no_main]

include!("../../tests/corpus/checks.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| trr_file::check(bytes));
