//! Reading whole NetCDF files, for tests.

use std::path::Path;

use mdreel_core::Result;
use mdreel_core::block::FrameSet;
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::netcdf3::NetCdf3;
use mdreel_core::source::read::{FrameArray, read_frames};
use mdreel_core::source::{AtomSelection, Source, SourceExt};

use crate::file_of;

/// Opens a file.
pub(crate) fn open_path(path: &Path, access: Access) -> Result<NetCdf3> {
    FileBytes::open(path, access).and_then(NetCdf3::open)
}

/// Opens a file that holds `bytes`. The file is gone at once, its content stays readable.
pub(crate) fn open(bytes: &[u8]) -> Result<NetCdf3> {
    open_path(file_of(bytes).path(), Access::Auto)
}

/// Reads all that all frames have.
pub(crate) fn read_all(netcdf: &NetCdf3) -> Result<FrameArray> {
    let frames = FrameSet::all(netcdf.n_frames()?);
    read_frames(netcdf, &AtomSelection::all(netcdf.n_atoms()), &frames, netcdf.quantities())
}

/// Opens, checks and reads everything.
pub(crate) fn read_bytes(bytes: &[u8]) -> Result<FrameArray> {
    let netcdf = open(bytes)?;
    netcdf.check_end()?;
    read_all(&netcdf)
}
