//! Arbitrary bytes as an AMBER NetCDF file: all atoms from a memory map have the same values as a few atoms from read
//! calls.

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
    // Every atom of a frame takes at least 12 bytes in the file, in single precision.
    let n_frames = netcdf.n_frames().expect("counted when opened");
    assert!(n_frames * netcdf.n_atoms() as u64 <= bytes.len() as u64 / 12);
    let _ = netcdf.check_end();
    assert!(check_parts(&netcdf, &open(Access::Read).expect("opened before")), "all numbers are numbers");
}
