//! Any bytes as a TRR file.
#![no_main]

include!("../../tests/corpus/checks.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| trr_file::check(bytes));
