//! Fuzzing of the AMBER NetCDF reader with arbitrary bytes.
#![no_main]

include!("../../tests/corpus/checks.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netcdf3_file::check(bytes));
