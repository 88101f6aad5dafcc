//! Tests of complete files, in one program. Linking one program per format would take longer than most of its tests.

include!("../corpus/checks.rs");

mod bytes;
mod chunked;
mod cutting;
mod dcd;
mod dcd_bad_input;
#[path = "../support/dcd_reading.rs"]
mod dcd_reading;
#[path = "../support/dcd_writer.rs"]
mod dcd_writer;
mod follow;
mod frame_index;
mod frame_index_of_changed_files;
#[path = "../support/indexed_file.rs"]
mod indexed_file;
mod kept_inputs;
mod netcdf3;
mod netcdf3_bad_input;
#[path = "../support/netcdf3_reading.rs"]
mod netcdf3_reading;
#[path = "../support/netcdf3_writer.rs"]
mod netcdf3_writer;
mod one_scan;
#[path = "../support/rows_reading.rs"]
mod rows_reading;
mod trr;
mod xtc;

use std::io::Write;
use std::process::Command;

use tempfile::NamedTempFile;

/// Creates a file that contains `bytes`.
fn file_of(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for a small file");
    file
}

/// Returns a command that runs one test of this program, given by its module (`module_path!()`) and its name.
fn alone(module: &str, test: &str) -> Command {
    let (_, module) = module.split_once("::").expect("a module of this program");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", &format!("{module}::{test}")]);
    command
}
