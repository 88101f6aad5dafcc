//! AMBER NetCDF in the 64-bit offset format (CDF-2), which AMBER's convention requires.
//!
//! Times, coordinates, velocities and forces are float32, and cells are float64. Velocities are stored in Å/ps without
//! a scale, so reading returns the same bits (AMBER uses other units, with a scale of 20.455). Forces are stored in
//! kcal/(mol Å). Division by the encoder and multiplication by a reader change at most the last place by one unit. If
//! some frames have a cell, the encoder rejects a frame without a cell: zeros would represent it, but MDAnalysis 2.11
//! fails on them.
//!
//! Sources: the NetCDF Classic Format Specification (Unidata), and the AMBER NetCDF Trajectory Convention 1.0.

mod header;

use super::{Encoder, Outline};
use crate::error::{Error, Result};
use crate::frame::{Columns, FrameBatch, Quantities, Quantity};
use crate::units::KILOJOULE_PER_KILOCALORIE;
use header::Header;

/// Name of the format in error messages.
const NAME: &str = "AMBER NetCDF";

/// Maximum number of bytes of a variable in a record. The header cannot store a larger size.
const MOST_RECORD_BYTES: u64 = u32::MAX as u64 - 3;

/// Position of the number of records in the header.
const N_RECORDS_AT: u64 = 4;

/// An encoder of AMBER NetCDF.
#[derive(Debug, Clone)]
pub struct NetCdf3Encoder {
    n_atoms: usize,
    quantities: Quantities,
    has_unit_cell: bool,
    program_version: &'static str,
}

impl NetCdf3Encoder {
    /// Creates an encoder of trajectories as described by `outline`, which must have positions.
    pub fn new(outline: &Outline) -> Result<Self> {
        let Outline { n_atoms, quantities, has_unit_cell, .. } = *outline;
        if !quantities.contains(Quantity::Positions) {
            return Err(Error::unsupported("AMBER NetCDF trajectories have positions: write these, too"));
        }
        if n_atoms == 0 {
            return Err(Error::unsupported("AMBER NetCDF trajectories have at least one atom"));
        }
        if 12 * n_atoms as u64 > MOST_RECORD_BYTES {
            return Err(Error::unsupported(format!(
                "{n_atoms} atoms are too many for AMBER NetCDF: at most {} fit into a record",
                MOST_RECORD_BYTES / 12
            )));
        }
        Ok(NetCdf3Encoder { n_atoms, quantities, has_unit_cell, program_version: env!("CARGO_PKG_VERSION") })
    }

    fn encode_frame(&self, batch: &FrameBatch, i: usize, out: &mut Vec<u8>) -> Result<()> {
        let header = batch.header(i);
        out.extend((header.time as f32).to_be_bytes());
        self.encode_atoms(batch, i, Quantity::Positions, out)?;
        if self.has_unit_cell {
            let cell = header.unit_cell.ok_or_else(|| {
                let message = format!("no unit cell: in {NAME} all frames have one, or none");
                Error::mismatch(message).at_frame(header.index)
            })?;
            out.extend(cell.dimensions().iter().flat_map(|&value| f64::from(value).to_be_bytes()));
        }
        for quantity in [Quantity::Velocities, Quantity::Forces] {
            if self.quantities.contains(quantity) {
                self.encode_atoms(batch, i, quantity, out)?;
            }
        }
        Ok(())
    }

    fn encode_atoms(&self, batch: &FrameBatch, i: usize, quantity: Quantity, out: &mut Vec<u8>) -> Result<()> {
        let columns = super::demanded(batch, i, quantity, NAME)?;
        if quantity == Quantity::Forces {
            append(columns, |force| force / KILOJOULE_PER_KILOCALORIE, out);
        } else {
            append(columns, |value| value, out);
        }
        Ok(())
    }
}

impl Encoder for NetCdf3Encoder {
    fn begin(&self, out: &mut Vec<u8>) -> Result<()> {
        Header::new(self.n_atoms, self.quantities, self.has_unit_cell, self.program_version).write(out);
        Ok(())
    }

    fn encode(&self, batch: &FrameBatch, out: &mut Vec<u8>) -> Result<()> {
        super::check_atoms(batch, self.n_atoms)?;
        (0..batch.len()).try_for_each(|i| self.encode_frame(batch, i, out))
    }

    fn end(&self, n_frames: u64) -> Result<Vec<(u64, Vec<u8>)>> {
        let n_records = i32::try_from(n_frames).map_err(|_| {
            Error::unsupported(format!(
                "{n_frames} frames are too many for AMBER NetCDF: at most {} are counted",
                i32::MAX
            ))
        })?;
        Ok(vec![(N_RECORDS_AT, n_records.to_be_bytes().to_vec())])
    }
}

/// Appends x, y and z of one atom after the other.
fn append(columns: Columns<'_>, stored: impl Fn(f32) -> f32, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + 12 * columns.x.len(), 0);
    let atoms = out[start..].as_chunks_mut::<4>().0.as_chunks_mut::<3>().0;
    for (((atom, &x), &y), &z) in atoms.iter_mut().zip(columns.x).zip(columns.y).zip(columns.z) {
        *atom = [x, y, z].map(|value| stored(value).to_be_bytes());
    }
}

#[cfg(test)]
mod tests;
