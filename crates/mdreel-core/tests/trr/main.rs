//! TRR, proven against an oracle that reads number by number.

mod blocks;
mod corrupt;
#[path = "../support/reading.rs"]
mod reading;
mod reading_frames;
#[path = "../support/rows_reading.rs"]
mod rows_reading;
#[path = "../support/trr_oracle.rs"]
mod trr_oracle;
#[path = "../support/trr_reading.rs"]
mod trr_reading;
mod writing;

use std::io::Write;

use tempfile::NamedTempFile;

/// A file on disk with these bytes.
fn file_of(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for a small file");
    file
}
