//! Comparisons for readers that look for damage and decode all atoms of each frame.
//!
//! Other readers decode only the selected atoms, as fast as possible, and compare only the values that this gives
//! ([`super::decode`]).

use super::canonical::Canonical;
use super::extremes;
use super::header::Compression;
use crate::frame::Columns;
use crate::source::fault::Fault;

/// The checks of one reader.
#[derive(Debug, Default)]
pub(super) struct FullChecks {
    /// Whether frames are packed as that writer packs them, for files that keep to it.
    canonical: Option<Canonical>,
}

impl FullChecks {
    /// For a file whose writer packs frames as we do, or not.
    pub(crate) fn new(is_canonical: bool) -> Self {
        FullChecks { canonical: is_canonical.then(Canonical::default) }
    }

    /// Checks a frame whose `coded` bytes were decoded to these positions, Å, of all atoms. The byte of a fault is
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
