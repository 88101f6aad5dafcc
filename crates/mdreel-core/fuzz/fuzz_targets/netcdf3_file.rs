//! Any bytes as an AMBER NetCDF file.
#![no_main]

include!("../../tests/corpus/checks.rs");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netcdf3_file::check(bytes));
