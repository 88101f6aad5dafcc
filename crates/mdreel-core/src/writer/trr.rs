//! TRR encoder that writes the same bytes as GROMACS.

use super::{Encoder, Outline};
use crate::error::{Error, Result};
use crate::frame::{Columns, FrameBatch, FrameHeader, Quantities, Quantity};

/// Start of every frame: the magic number, and the name with its length, once with and once without a final 0.
pub(crate) const BEGINNING: [u8; 24] = *b"\x00\x00\x07\xc9\x00\x00\x00\x0d\x00\x00\x00\x0cGMX_trn_file";

/// Factors from Å to nm, and from kJ/(mol Å) to kJ/(mol nm).
const TO_NANOMETRE: f64 = 0.1;
const TO_PER_NANOMETRE: f64 = 10.0;

/// The representation of real numbers in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// 4 bytes, the default of GROMACS. mdreel's frames have this precision.
    #[default]
    Single,
    /// 8 bytes, for programs that expect them.
    Double,
}

/// An encoder of TRR. Each frame has a box (nine zeros if it has no cell), and those quantities of the outline that the
/// frame contains.
#[derive(Debug, Clone, Copy)]
pub struct TrrEncoder {
    n_atoms: usize,
    quantities: Quantities,
    precision: Precision,
}

impl TrrEncoder {
    /// Creates an encoder of frames as described by `outline`.
    ///
    /// # Errors
    /// Returns an error if the format cannot store this number of atoms: it must be positive, and sections have at most
    /// 2 GiB.
    pub fn new(outline: &Outline, precision: Precision) -> Result<Self> {
        let encoder = TrrEncoder { n_atoms: outline.n_atoms, quantities: outline.quantities, precision };
        let most = i32::MAX as usize / (3 * encoder.real() as usize);
        if !(1..=most).contains(&outline.n_atoms) {
            let message = format!("a TRR file of this precision holds 1 to {most} atoms, not {}", outline.n_atoms);
            return Err(Error::unsupported(message));
        }
        Ok(encoder)
    }

    /// Returns the number of bytes per real number.
    fn real(&self) -> u64 {
        match self.precision {
            Precision::Single => 4,
            Precision::Double => 8,
        }
    }

    /// Appends numbers times `factor`. In single precision, they are multiplied in the same way as in MDAnalysis.
    fn put(&self, numbers: impl Iterator<Item = f32>, factor: f64, out: &mut Vec<u8>) {
        match self.precision {
            Precision::Single => numbers.for_each(|number| out.extend((number * factor as f32).to_be_bytes())),
            Precision::Double => numbers.for_each(|number| out.extend((f64::from(number) * factor).to_be_bytes())),
        }
    }

    fn encode_frame(&self, header: &FrameHeader, columns: &[(Quantity, Columns<'_>)], out: &mut Vec<u8>) {
        let section = 3 * self.real() * self.n_atoms as u64;
        let size = |quantity| match columns.iter().any(|&(held, _)| held == quantity) {
            true => section as u32,
            false => 0,
        };
        out.reserve(200 + columns.len() * section as usize);
        out.extend(BEGINNING);
        let [x, v, f] = [Quantity::Positions, Quantity::Velocities, Quantity::Forces].map(size);
        let sizes = [0, 0, 9 * self.real() as u32, 0, 0, 0, 0, x, v, f];
        // The file stores 32 bits of a step. For longer runs, the lower bits are kept, as in GROMACS. The word after
        // the step is the number of energies in the frame. It is 0 because energies have their own files.
        let words = sizes.into_iter().chain([self.n_atoms as u32, header.step as u32, 0]);
        words.for_each(|word| out.extend(word.to_be_bytes()));
        match self.precision {
            Precision::Single => out.extend((header.time as f32).to_be_bytes()),
            Precision::Double => out.extend(header.time.to_be_bytes()),
        }
        self.put(std::iter::once(header.lambda.unwrap_or(0.0)), 1.0, out);
        let vectors = header.unit_cell.map_or([[0.0; 3]; 3], |cell| cell.vectors());
        self.put(vectors.into_iter().flatten(), TO_NANOMETRE, out);
        for (quantity, columns) in columns {
            let factor = match quantity {
                Quantity::Positions | Quantity::Velocities => TO_NANOMETRE,
                Quantity::Forces => TO_PER_NANOMETRE,
            };
            let atoms = columns.x.iter().zip(columns.y).zip(columns.z);
            self.put(atoms.flat_map(|((&x, &y), &z)| [x, y, z]), factor, out);
        }
    }
}

impl Encoder for TrrEncoder {
    fn begin(&self, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn encode(&self, batch: &FrameBatch, out: &mut Vec<u8>) -> Result<()> {
        super::check_atoms(batch, self.n_atoms)?;
        for (i, header) in batch.headers().iter().enumerate() {
            let held = |quantity| Some((quantity, batch.columns_of(i, quantity)?));
            let columns: Vec<_> = self.quantities.iter().filter_map(held).collect();
            self.encode_frame(header, &columns, out);
        }
        Ok(())
    }

    fn end(&self, _n_frames: u64) -> Result<Vec<(u64, Vec<u8>)>> {
        Ok(Vec::new())
    }
}
