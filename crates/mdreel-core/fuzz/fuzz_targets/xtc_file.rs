//! Any bytes as an XTC file.
#![no_main]

include!("../../tests/corpus/checks.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| xtc_file::check(bytes));
