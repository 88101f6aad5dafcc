//! Plan of a frame: the bytes to load for the selected atoms and quantities, and the steps to decode them.

use super::header::{MAX_HEADER_LEN, Shape};
use super::number::{DoubleTimes, SingleTimes};
use crate::frame::{FrameBatch, Quantities, Quantity};
use crate::simd::Level;
use crate::source::interleaved::{Target, copy_run, copy_scattered};
use crate::source::pieces::{Piece, Pieces, Place, Section};
use crate::source::rows::NextRows;
use crate::unit_cell::UnitCell;
use crate::units::ANGSTROM_PER_NANOMETRE;

/// Factor of forces, which are energies divided by lengths: from kJ/(mol nm) to kJ/(mol Å).
const PER_ANGSTROM_OF_PER_NANOMETRE: f32 = 0.1;

/// Parts of the frames of a shape to load, and their destination.
#[derive(Debug)]
pub(super) struct FramePlan {
    /// Shape of the frames.
    pub shape: Shape,
    /// Selected quantities that the frames have, in the order of the sections.
    pub present: Quantities,
    level: Level,
    quantities: Vec<Quantity>,
    pieces: Pieces,
}

impl FramePlan {
    /// Plans the reading of the `wanted` quantities of the atoms in `places`.
    pub(crate) fn new(shape: Shape, wanted: Quantities, places: &[Place]) -> Self {
        let present = wanted.both(shape.present());
        let found = |quantity: Quantity| Some((quantity, shape.section(quantity)?));
        let (quantities, sections): (Vec<_>, Vec<Section>) = present.iter().filter_map(found).unzip();
        let box_len = shape.box_at().map_or(0, |_| 9 * shape.real);
        // The first piece covers the longest possible header, because a frame may turn out to have a different shape.
        let head = 0..(shape.header_len() + box_len).max(MAX_HEADER_LEN as u64);
        let pieces = Pieces::new(&[head], &sections, &[], shape.frame_len(), places);
        FramePlan { shape, present, level: Level::detect(), quantities, pieces }
    }

    /// Returns the pieces to load. The first piece begins with the header.
    pub(crate) fn pieces(&self) -> &Pieces {
        &self.pieces
    }

    /// Returns the unit cell in the bytes of the first piece. Nine zeros mean that there is no unit cell.
    pub(crate) fn unit_cell(&self, bytes: &[u8]) -> Option<UnitCell> {
        let numbers = &bytes[self.shape.box_at()? as usize..];
        let mut vectors = [[0.0; 3]; 3];
        let mut all = Target::Row(&mut vectors);
        match self.shape.real {
            4 => copy_run(self.level, &numbers[..36], SingleTimes(1.0), &mut all),
            _ => copy_run(self.level, &numbers[..72], DoubleTimes(1.0), &mut all),
        }
        vectors.iter().flatten().any(|&v| v != 0.0).then_some(UnitCell::Nanometres(vectors))
    }

    /// Copies the atoms in `bytes` of `piece` to their places in the `i`-th frame of `batch`, or in its row.
    pub(crate) fn gather(
        &self,
        piece: &Piece,
        bytes: &[u8],
        batch: &mut FrameBatch,
        i: usize,
        mut rows: Option<&mut NextRows<'_>>,
    ) {
        for part in &piece.moves {
            let quantity = self.quantities[part.section];
            let atoms = part.target..part.target + part.places.len();
            let Some(mut target) = Target::of(batch, rows.as_deref_mut(), i, quantity, atoms) else { continue };
            let factor = match quantity {
                Quantity::Positions | Quantity::Velocities => ANGSTROM_PER_NANOMETRE,
                Quantity::Forces => PER_ANGSTROM_OF_PER_NANOMETRE,
            };
            let (bytes, slots) = (&bytes[part.bytes.clone()], self.pieces.slots(part));
            // In most cases, the next frame has the same shape.
            let frame_bytes = self.shape.frame_len() as usize;
            match (self.shape.real, part.is_run) {
                (4, true) => copy_run(self.level, bytes, SingleTimes(factor), &mut target),
                (4, false) => copy_scattered(bytes, SingleTimes(factor), slots, frame_bytes, &mut target),
                (_, true) => copy_run(self.level, bytes, DoubleTimes(factor), &mut target),
                (_, false) => copy_scattered(bytes, DoubleTimes(factor), slots, frame_bytes, &mut target),
            }
        }
    }
}
