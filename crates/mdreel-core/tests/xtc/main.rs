//! XTC, proven against an oracle that decodes bit by bit.

mod blocks;
mod corrupt;
mod decoding;
mod full_checks;
mod misled;
#[path = "../support/reading.rs"]
mod reading;
mod skipping;
#[path = "../support/xtc_oracle.rs"]
mod xtc_oracle;
#[path = "../support/xtc_reading.rs"]
mod xtc_reading;
#[path = "../support/xtc_stream.rs"]
mod xtc_stream;

use std::io::Write;

use tempfile::NamedTempFile;

/// A file on disk with these bytes.
fn file_of(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for a small file");
    file
}
