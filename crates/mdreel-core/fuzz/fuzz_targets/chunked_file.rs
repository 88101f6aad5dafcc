//! Fuzzing of the reader of chunked files with arbitrary bytes.
#![no_main]

include!("../../tests/corpus/checks.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| chunked_file::check(bytes));
