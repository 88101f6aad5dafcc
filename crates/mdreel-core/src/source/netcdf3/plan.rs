//! Plan of a part of a frame: the bytes to load for the selected atoms, and the steps to decode them. The plans of all
//! frames are equal except for an offset.

use std::ops::Range;

use super::amber::{Content, Field};
use super::layout::Part;
use super::number::{Chosen, Numbers};
use crate::frame::{FrameBatch, Quantities, Quantity};
use crate::simd::Level;
use crate::source::interleaved::Target;
use crate::source::pieces::{Move, Pieces, Place, Section};
use crate::source::rows::NextRows;
use crate::unit_cell::UnitCell;
use crate::units::KILOJOULE_PER_KILOCALORIE;

/// Parts of a frame to load, and their destination.
#[derive(Debug)]
pub(super) struct PartPlan {
    level: Level,
    start: u64,
    stride: u64,
    /// Variables that do not contain atoms.
    small: Vec<Field>,
    /// Selected variables of atoms, in the order of the sections.
    sections: Vec<(Quantity, Numbers)>,
    pieces: Pieces,
}

impl PartPlan {
    /// Plans the reading of the `wanted` quantities of the atoms at `places`, which are in ascending order of their
    /// slots.
    pub(crate) fn new(part: &Part, places: &[Place], wanted: Quantities) -> Self {
        let (mut small, mut needed) = (Vec::new(), Vec::new());
        let (mut quantities, mut sections) = (Vec::new(), Vec::new());
        for field in &part.fields {
            let start = field.begin - part.start;
            match field.content {
                Content::Atoms(quantity) if wanted.contains(quantity) => {
                    quantities.push((quantity, field.numbers));
                    sections.push(Section { start, stride: 3 * field.numbers.n_bytes() });
                }
                Content::Atoms(_) => {}
                Content::Time | Content::Lengths | Content::Angles => {
                    small.push(*field);
                    needed.push(start..start + field.n_bytes);
                }
            }
        }
        PartPlan {
            level: Level::detect(),
            start: part.start,
            stride: part.stride,
            small,
            sections: quantities,
            pieces: Pieces::new(&needed, &sections, &[], part.stride, places),
        }
    }

    /// Returns the pieces to load.
    pub(crate) fn pieces(&self) -> &Pieces {
        &self.pieces
    }

    /// Returns the positions of the pieces of a load for a frame.
    pub(crate) fn ranges(&self, load: Range<usize>, frame: u64) -> impl Iterator<Item = Range<u64>> {
        let start = self.start + frame * self.stride;
        self.pieces.all()[load].iter().map(move |piece| start + piece.bytes.start..start + piece.bytes.end)
    }

    /// Copies the contents of the `bytes` of a piece to the `i`-th frame of `batch`, or to its row.
    pub(crate) fn take(
        &self,
        piece: usize,
        bytes: &[u8],
        batch: &mut FrameBatch,
        i: usize,
        mut rows: Option<&mut NextRows<'_>>,
    ) {
        let piece = &self.pieces.all()[piece];
        for field in piece.needed.iter().map(|&number| &self.small[number]) {
            let bytes = &bytes[(field.begin - self.start - piece.bytes.start) as usize..];
            match field.content {
                Content::Time => batch.header_mut(i).time = field.numbers.value(bytes, 0),
                Content::Lengths => set_cell(field.numbers, bytes, 0, batch, i),
                Content::Angles => set_cell(field.numbers, bytes, 3, batch, i),
                Content::Atoms(_) => {}
            }
        }
        for part in &piece.moves {
            let (quantity, numbers) = self.sections[part.section];
            let atoms = part.target..part.target + part.places.len();
            if let Some(mut target) = Target::of(batch, rows.as_deref_mut(), i, quantity, atoms) {
                self.gather(part, numbers, quantity, &bytes[part.bytes.clone()], &mut target);
            }
        }
    }

    fn gather(&self, part: &Move, numbers: Numbers, quantity: Quantity, bytes: &[u8], target: &mut Target<'_>) {
        let chosen =
            if part.is_run { Chosen::Run } else { Chosen::Slots(self.pieces.slots(part), self.stride as usize) };
        numbers.copy(self.level, bytes, chosen, target);
        if quantity == Quantity::Forces {
            target.scale(KILOJOULE_PER_KILOCALORIE);
        }
    }
}

/// Sets the lengths (`first` is 0) or the angles (`first` is 3) of the cell.
fn set_cell(numbers: Numbers, bytes: &[u8], first: usize, batch: &mut FrameBatch, i: usize) {
    let header = batch.header_mut(i);
    let mut dimensions = header.unit_cell.map_or([0.0; 6], |cell| cell.dimensions());
    for k in 0..3 {
        dimensions[first + k] = numbers.value(bytes, k) as f32;
    }
    header.unit_cell = Some(UnitCell::Dimensions(dimensions));
}
