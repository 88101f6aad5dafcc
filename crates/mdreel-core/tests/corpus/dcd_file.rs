//! Arbitrary bytes as a DCD file: all atoms from a memory map have the same values as a few atoms from read calls.

use mdreel_core::source::{Source, SourceExt};
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::dcd::Dcd;

use crate::parts::check_parts;
use crate::scratch_file::ScratchFile;

/// Maximum number of values for which a check allocates memory.
const MOST_NUMBERS: u64 = 1 << 22;

/// Checks one input.
pub(crate) fn check(bytes: &[u8]) {
    let file = ScratchFile::new(bytes);
    let open = |access| FileBytes::open(file.path(), access).and_then(Dcd::open);
    let Ok(dcd) = open(Access::Map) else {
        assert!(open(Access::Read).is_err());
        return;
    };
    let (n_atoms, n_frames) = (dcd.n_atoms() as u64, dcd.n_frames().expect("counted when opened"));
    // The first frame contains all atoms, and each frame contains its record markers.
    assert!(n_frames == 0 || 12 * n_atoms + 24 * n_frames <= bytes.len() as u64);
    let _ = dcd.check_end();
    // If all atoms are fixed, frames take no space in the file, but they take memory when they are read.
    if n_atoms * n_frames <= MOST_NUMBERS {
        check_parts(&dcd, &open(Access::Read).expect("opened before"));
    }
}
