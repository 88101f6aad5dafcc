//! Any bytes as an AMBER NetCDF file: all atoms through a map are the same as a few atoms at a time, read.

use mdreel_core::source::{Source, SourceExt};
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::netcdf3::NetCdf3;

use crate::parts::check_parts;
use crate::scratch_file::ScratchFile;

/// Checks one input.
pub(crate) fn check(bytes: &[u8]) {
    let file = ScratchFile::new(bytes);
    let open = |access| FileBytes::open(file.path(), access).and_then(NetCdf3::open);
    let Ok(netcdf) = open(Access::Map) else {
        assert!(open(Access::Read).is_err());
        return;
    };
    // What is there takes room: single precision at least.
    let n_frames = netcdf.n_frames().expect("counted when opened");
    assert!(n_frames * netcdf.n_atoms() as u64 <= bytes.len() as u64 / 12);
    let _ = netcdf.check_end();
    assert!(check_parts(&netcdf, &open(Access::Read).expect("opened before")), "all numbers are numbers");
}
