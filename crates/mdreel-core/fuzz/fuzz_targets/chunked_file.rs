//! Any bytes as chunks.
#![no_main]

include!("../../tests/corpus/checks.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| chunked_file::check(bytes));
