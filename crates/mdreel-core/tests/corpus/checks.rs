// The fuzzer's checks of each input, and the modules that they need. The root of each fuzz target includes this file
// and runs one check. The tests include it to replay what the fuzzer has found.

#[path = "../support/chunked_reading.rs"]
mod chunked_reading;
#[allow(dead_code, reason = "shared with the tests, which use the rest")]
#[path = "../support/reading.rs"]
mod reading;
#[allow(dead_code, reason = "shared with the tests, which use the rest")]
#[path = "../support/trr_oracle.rs"]
mod trr_oracle;
#[allow(dead_code, reason = "shared with the tests, which use the rest")]
#[path = "../support/trr_reading.rs"]
mod trr_reading;
#[allow(dead_code, reason = "shared with the tests, which use the rest")]
#[path = "../support/xtc_oracle.rs"]
mod xtc_oracle;
#[allow(dead_code, unused_imports, reason = "shared with the tests, which use the rest")]
#[path = "../support/xtc_reading.rs"]
mod xtc_reading;
#[allow(dead_code, reason = "shared with the tests, which use the rest")]
#[path = "../support/xtc_stream.rs"]
mod xtc_stream;

#[allow(dead_code, reason = "a fuzz target runs one of the checks")]
mod chunked_file;
#[allow(dead_code, reason = "a fuzz target runs one of the checks")]
mod dcd_file;
#[allow(dead_code, reason = "a fuzz target runs one of the checks")]
mod netcdf3_file;
#[allow(dead_code, reason = "a fuzz target runs one of the checks")]
mod trr_file;
#[allow(dead_code, reason = "a fuzz target runs one of the checks")]
mod xtc_encode;
#[allow(dead_code, reason = "a fuzz target runs one of the checks")]
mod xtc_file;
#[allow(dead_code, reason = "a fuzz target runs one of the checks")]
mod xtc_valid;
#[allow(dead_code, reason = "a fuzz target runs one of the checks")]
mod parts;
mod scratch_file;
