//! Reading of complete NetCDF files, for tests.

// Each test program uses a part of this module.
#![allow(dead_code, reason = "each test crate uses a part of it")]

use std::io::Write;
use std::path::Path;

use mdreel_core::Result;
use mdreel_core::block::FrameSet;
use mdreel_core::frame::Quantities;
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::netcdf3::NetCdf3;
use mdreel_core::source::read::{FrameArray, read_frames};
use mdreel_core::source::{AtomSelection, Source, SourceExt};
use tempfile::NamedTempFile;

/// Creates a file that contains `bytes`.
pub(crate) fn file_of(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room on the disk");
    file
}

/// Opens a file.
pub(crate) fn open_path(path: &Path, access: Access) -> Result<NetCdf3> {
    FileBytes::open(path, access).and_then(NetCdf3::open)
}

/// Opens a file that contains `bytes`. The file is deleted at once, but its content stays readable.
pub(crate) fn open(bytes: &[u8]) -> Result<NetCdf3> {
    open_path(file_of(bytes).path(), Access::Auto)
}

/// Reads all quantities of all frames.
pub(crate) fn read_all(netcdf: &NetCdf3) -> Result<FrameArray> {
    let frames = FrameSet::all(netcdf.n_frames()?);
    read_frames(netcdf, &AtomSelection::all(netcdf.n_atoms()), &frames, netcdf.quantities())
}

/// Opens a file, checks its end and reads all its frames.
pub(crate) fn read_bytes(bytes: &[u8]) -> Result<FrameArray> {
    let netcdf = open(bytes)?;
    netcdf.check_end()?;
    read_all(&netcdf)
}

/// All quantities.
pub(crate) const ALL: Quantities = Quantities::ALL;
