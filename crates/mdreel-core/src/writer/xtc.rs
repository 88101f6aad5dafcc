//! XTC: GROMACS's compressed trajectories.
//!
//! A frame consists of a header of big-endian words and the coordinates: plain floats for few atoms, otherwise integers
//! that `groups` packs. The format leaves some choices open: which numbers are stored as differences, how many in a
//! row, and with how many bits. The encoder makes the choices of the reference library, so the bytes are the same.
//!
//! # Source
//!
//! The XTC pages of the GROMACS manual, and the behaviour of the xdrfile library (BSD).

mod bits;
mod groups;
mod integers;
pub(crate) mod repack;

use super::{Encoder, Outline};
use crate::error::{Error, Result};
use crate::frame::{Columns, FrameBatch, FrameHeader, Quantity};
use crate::unit_cell::UnitCell;
use bits::BitWriter;
use integers::Integers;

/// The magic number of 1995.
const MAGIC_1995: u32 = 1995;
/// The magic number of 2023, with which the size of a frame has 64 bits.
const MAGIC_2023: u32 = 2023;
/// Number of atoms above which the size of a frame may exceed 32 bits.
const MAX_ATOMS_OF_1995: usize = 298_261_617;
/// Maximum number of atoms that are stored as plain floats.
const MAX_PLAIN_ATOMS: usize = 9;
/// Maximum number of bytes before the coordinates.
const MOST_HEADER_BYTES: usize = 96;
/// Factor from Å to nm in the precision of coordinates. Multiplying by it gives the same bits as in MDAnalysis;
/// dividing by 10 does not.
const NANOMETRE_PER_ANGSTROM: f32 = 0.1;
/// Default number of integers per nm.
pub(crate) const DEFAULT_PRECISION: f32 = 1000.0;

/// Returns a number of bytes that is enough for any frame of `n_atoms` atoms.
pub fn most_frame_bytes(n_atoms: usize) -> usize {
    MOST_HEADER_BYTES + groups::most_bytes(n_atoms).max(12 * n_atoms).next_multiple_of(4)
}

/// An encoder of XTC.
#[derive(Debug, Clone)]
pub struct XtcEncoder {
    n_atoms: usize,
    precision: f32,
    magic: u32,
}

impl XtcEncoder {
    /// Creates an encoder for frames of the atoms of `outline`, rounded to `precision` integers per nm.
    pub fn new(outline: &Outline, precision: f32) -> Result<Self> {
        if !(precision.is_finite() && precision > 0.0) {
            return Err(Error::mismatch(format!("the precision must be a positive number, got {precision}")));
        }
        let n_atoms = outline.n_atoms;
        if n_atoms == 0 || n_atoms > i32::MAX as usize {
            return Err(Error::mismatch(format!("an XTC frame holds 1 to {} atoms, got {n_atoms}", i32::MAX)));
        }
        let magic = if n_atoms > MAX_ATOMS_OF_1995 { MAGIC_2023 } else { MAGIC_1995 };
        Ok(XtcEncoder { n_atoms, precision, magic })
    }

    /// Appends one frame. `integers` is a buffer that is reused.
    fn encode_frame(
        &self,
        header: &FrameHeader,
        positions: Columns<'_>,
        integers: &mut Integers,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        // The file stores 32 bits of a step. For longer runs, the lower bits are kept, as in GROMACS.
        push_words(out, &[self.magic, self.n_atoms as u32, header.step as u32, (header.time as f32).to_bits()]);
        push_floats(out, box_vectors(header.unit_cell).as_flattened());
        push_words(out, &[self.n_atoms as u32]);
        let refuse =
            |(atom, fault): (usize, String)| Error::mismatch(format!("atom {atom}: {fault}")).at_frame(header.index);
        if self.n_atoms <= MAX_PLAIN_ATOMS {
            integers::check_numbers(positions).map_err(refuse)?;
            let rows = positions.x.iter().zip(positions.y).zip(positions.z);
            rows.for_each(|((&x, &y), &z)| push_floats(out, &[x, y, z].map(|v| v * NANOMETRE_PER_ANGSTROM)));
            return Ok(());
        }
        integers.round(positions, NANOMETRE_PER_ANGSTROM, self.precision).map_err(refuse)?;
        let small_index = integers.first_small_index();
        push_floats(out, &[self.precision]);
        push_words(out, &integers.min().map(|v| v as u32));
        push_words(out, &integers.max().map(|v| v as u32));
        push_words(out, &[small_index]);
        let size_at = out.len();
        let n_size_bytes = if self.magic == MAGIC_2023 { 8 } else { 4 };
        let start = size_at + n_size_bytes;
        out.resize(start + groups::most_bytes(self.n_atoms) + bits::MARGIN, 0);
        let mut bits = BitWriter::new(&mut out[start..]);
        groups::pack(integers, small_index, &mut bits);
        let n_bytes = bits.finish();
        out[size_at..start].copy_from_slice(&(n_bytes as u64).to_be_bytes()[8 - n_size_bytes..]);
        // Stores of whole words may have left bits after the end, and the padding must be zero.
        out.truncate(start + n_bytes);
        out.resize(start + n_bytes.next_multiple_of(4), 0);
        Ok(())
    }
}

impl Encoder for XtcEncoder {
    fn begin(&self, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn encode(&self, batch: &FrameBatch, out: &mut Vec<u8>) -> Result<()> {
        super::check_atoms(batch, self.n_atoms)?;
        let mut integers = Integers::default();
        for (i, header) in batch.headers().iter().enumerate() {
            let positions = super::demanded(batch, i, Quantity::Positions, "XTC")?;
            self.encode_frame(header, positions, &mut integers, out)?;
        }
        Ok(())
    }

    fn end(&self, _n_frames: u64) -> Result<Vec<(u64, Vec<u8>)>> {
        Ok(Vec::new())
    }
}

/// Returns the box vectors in nm; zeros if there is no cell.
///
/// Lengths are scaled before they become vectors, as in MDAnalysis. Vectors are divided by 10. For most numbers, this
/// restores the value from which multiplication by 10 produced them.
fn box_vectors(cell: Option<UnitCell>) -> [[f32; 3]; 3] {
    match cell {
        None => [[0.0; 3]; 3],
        Some(UnitCell::Nanometres(vectors)) => vectors,
        Some(UnitCell::Vectors(vectors)) => vectors.map(|row| row.map(|v| v / 10.0)),
        Some(UnitCell::Dimensions([a, b, c, alpha, beta, gamma])) => {
            let [a, b, c] = [a, b, c].map(|length| length * NANOMETRE_PER_ANGSTROM);
            UnitCell::Dimensions([a, b, c, alpha, beta, gamma]).vectors()
        }
    }
}

fn push_words(out: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| out.extend(word.to_be_bytes()));
}

fn push_floats(out: &mut Vec<u8>, floats: &[f32]) {
    floats.iter().for_each(|float| out.extend(float.to_be_bytes()));
}

#[cfg(test)]
mod tests;
