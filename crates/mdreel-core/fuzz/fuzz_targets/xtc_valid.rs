//! Fuzzing of the XTC reader with valid streams. Arbitrary bytes determine the choices of their writer.
#![no_main]

include!("../../tests/corpus/checks.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| xtc_valid::check(bytes));
