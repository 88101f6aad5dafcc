//! Checks for readers that look for damage and decode all atoms of each frame.
//!
//! Other readers decode only the selected atoms, as fast as possible. They compare only the values that this decoding
//! yields ([`super::decode`]).

use super::canonical::Canonical;
use super::extremes;
use super::header::Compression;
use crate::frame::Columns;
use crate::source::fault::Fault;

/// The checks of one reader.
#[derive(Debug, Default)]
pub(super) struct FullChecks {
    /// Test of the packing, for files whose writer packs frames as mdreel does.
    canonical: Option<Canonical>,
}

impl FullChecks {
    /// Creates the checks. `is_canonical` specifies whether the writer of the file packs frames as mdreel does.
    pub(crate) fn new(is_canonical: bool) -> Self {
        FullChecks { canonical: is_canonical.then(Canonical::default) }
    }

    /// Checks a frame whose `coded` bytes were decoded to these positions, in Å, of all atoms. The byte of a fault is
    /// counted from the start of the frame.
    pub(crate) fn check(
        &mut self,
        compression: &Compression,
        header_len: usize,
        coded: &[u8],
        positions: Columns<'_>,
    ) -> Result<(), Fault> {
        extremes::check(compression, &positions)?;
        match &mut self.canonical {
            Some(canonical) => canonical.check(compression, header_len, coded, positions),
            None => Ok(()),
        }
    }
}
