//! Test of whether a frame is packed in the same way as by the reference library of the format.
//!
//! The format leaves some choices to the writer: which coordinates it stores as differences, how many in a row, and
//! with how many bits. All known writers make the choices of that library, and so does mdreel. Packing a decoded frame
//! again therefore gives the same bytes. If damage changes coordinates, the stored choices are rarely right for the
//! changed coordinates. Another writer may choose differently, so the test applies to a file only if frames at its
//! beginning pass it.

use super::alone;
use super::header::{Compression, Header, Storage};
use crate::error::{Error, Result};
use crate::frame::Columns;
use crate::source::fault::Fault;
use crate::source::located::LocatedFile;
use crate::units::ANGSTROM_PER_NANOMETRE;
use crate::writer::xtc::repack::Repacker;

/// Number of frames at the beginning of a file that [`is_kept`] examines.
const LOOKED_AT: u64 = 4;
/// Number of these frames that must be canonical. One of the frames may be damaged, and a single frame of few atoms may
/// be canonical by chance.
const ENOUGH: usize = 2;
/// Limit of the integers that can be recovered from coordinates in single precision. The conversion to a coordinate and
/// back rounds four times. This changes an integer below the limit by less than a quarter.
const MOST: u32 = 1 << 20;

/// Determines from the first frames of `file` whether its writer packs frames as mdreel does.
pub(super) fn is_kept(file: &LocatedFile<Header>) -> Result<bool> {
    let mut canonical = Canonical::default();
    let mut n_kept = 0;
    for frame in 0..file.n_frames()?.min(LOOKED_AT) {
        let range = match file.range(frame) {
            Err(Error::Format { .. }) => continue,
            range => range?,
        };
        let bytes = file.file.read_vec(range)?;
        let Ok((header, batch)) = alone::decode(&bytes, file.n_atoms()) else { continue };
        let Storage::Compressed(compression) = &header.storage else { continue };
        let coded = &bytes[header.header_len..][..compression.n_bytes as usize];
        n_kept += usize::from(canonical.check(compression, header.header_len, coded, batch.columns(0)).is_ok());
    }
    Ok(n_kept >= ENOUGH)
}

/// Checker that packs decoded frames again and compares the bytes.
#[derive(Debug, Default)]
pub(super) struct Canonical {
    repacker: Repacker,
}

impl Canonical {
    /// Checks a frame. All of its coordinates, in Å, have been decoded and agree with the extremes in the header.
    /// Frames with integers too large to be recovered pass. The byte of a fault is counted from the start of the frame.
    pub(crate) fn check(
        &mut self,
        compression: &Compression,
        header_len: usize,
        coded: &[u8],
        positions: Columns<'_>,
    ) -> std::result::Result<(), Fault> {
        let reaches = |axis: usize| {
            let min = compression.min[axis];
            min.unsigned_abs().max(min.wrapping_add_unsigned(compression.sizes[axis] - 1).unsigned_abs())
        };
        if (0..3).any(|axis| reaches(axis) >= MOST) {
            return Ok(());
        }
        let nanometres = f64::from(compression.inverse_precision()) * f64::from(ANGSTROM_PER_NANOMETRE);
        let (small_index, packed) = self.repacker.pack(positions, (1.0 / nanometres) as f32);
        if small_index == compression.small_index && packed == coded {
            return Ok(());
        }
        let differs = packed.iter().zip(coded).position(|(a, b)| a != b);
        let at =
            if small_index == compression.small_index { differs.unwrap_or(packed.len().min(coded.len())) } else { 0 };
        let message =
            "the coordinates are not packed as in other frames of the file: other coordinates were stored here";
        Err(Fault::new((header_len + at) as u64, message))
    }
}
