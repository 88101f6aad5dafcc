//! The plan of a part of a frame: which bytes to load for the wanted atoms, and what to do with them. It is the same for
//! all frames, only shifted.

use std::ops::Range;

use super::amber::Content;
use super::layout::Part;
use super::number::{Chosen, Numbers};
use crate::frame::{ColumnsMut, FrameBatch, Quantities, Quantity};
use crate::simd::Level;
use crate::source::pieces::{Place, add_piece, cut_places, cut_stretch, group_pieces};
use crate::unit_cell::UnitCell;
use crate::units::KILOJOULE_PER_KILOCALORIE;

/// What to load of a part of a frame, and where it goes.
#[derive(Debug)]
pub(super) struct PartPlan {
    level: Level,
    start: u64,
    stride: u64,
    slots: Vec<u32>,
    /// Ranges of bytes, from the beginning of the part.
    pieces: Vec<Range<u64>>,
    /// What each piece holds.
    moves: Vec<Vec<Move>>,
    /// Pieces to be loaded together.
    loads: Vec<Range<usize>>,
    n_bytes: u64,
}

/// What is to be done with some bytes of a piece.
#[derive(Debug)]
struct Move {
    content: Content,
    numbers: Numbers,
    bytes: Range<usize>,
    /// Which of the wanted atoms, from the first to the last.
    atoms: Range<usize>,
    is_run: bool,
}

impl PartPlan {
    /// Plans the reading of `wanted` quantities of the atoms at `places`, ascending by slot.
    pub fn new(part: &Part, places: &[Place], wanted: Quantities) -> Self {
        let (mut pieces, mut found) = (Vec::new(), Vec::new());
        for field in &part.fields {
            let (content, numbers, start) = (field.content, field.numbers, field.begin - part.start);
            let Content::Atoms(quantity) = content else {
                let bytes = start..start + field.n_bytes;
                let piece = add_piece(&mut pieces, bytes.clone());
                found.push((piece, bytes, Move { content, numbers, bytes: 0..0, atoms: 0..0, is_run: false }));
                continue;
            };
            if !wanted.contains(quantity) {
                continue;
            }
            let atom_bytes = 3 * numbers.n_bytes();
            let bytes = |atoms: &Range<usize>| {
                let byte = |i: usize| start + atom_bytes * u64::from(places[i].slot);
                byte(atoms.start)..byte(atoms.end - 1) + atom_bytes
            };
            for stretch in cut_places(places, atom_bytes) {
                let piece = add_piece(&mut pieces, bytes(&stretch));
                found.extend(cut_stretch(places, stretch).map(|(atoms, _, is_run)| {
                    (piece, bytes(&atoms), Move { content, numbers, bytes: 0..0, atoms, is_run })
                }));
            }
        }
        let mut moves: Vec<Vec<Move>> = pieces.iter().map(|_| Vec::new()).collect();
        for (piece, bytes, found) in found {
            let first = pieces[piece].start;
            let bytes = (bytes.start - first) as usize..(bytes.end - first) as usize;
            moves[piece].push(Move { bytes, ..found });
        }
        let (loads, n_bytes) = group_pieces(&pieces, part.stride);
        let slots = places.iter().map(|place| place.slot).collect();
        let level = Level::detect();
        PartPlan { level, start: part.start, stride: part.stride, slots, pieces, moves, loads, n_bytes }
    }

    /// Pieces to be loaded together: one group, unless a frame is larger than a load should be.
    pub fn loads(&self) -> &[Range<usize>] {
        &self.loads
    }

    /// Bytes that a frame adds to a load at most.
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Where the pieces of a load are in a frame.
    pub fn ranges(&self, load: Range<usize>, frame: u64) -> impl Iterator<Item = Range<u64>> {
        let start = self.start + frame * self.stride;
        self.pieces[load].iter().map(move |piece| start + piece.start..start + piece.end)
    }

    /// Takes what is in `bytes` of a piece into the `i`-th frame of `batch`.
    pub fn take(&self, piece: usize, bytes: &[u8], batch: &mut FrameBatch, i: usize) {
        for part in &self.moves[piece] {
            let bytes = &bytes[part.bytes.clone()];
            match part.content {
                Content::Time => batch.header_mut(i).time = part.numbers.value(bytes, 0),
                Content::Lengths => self.set_cell(part, bytes, 0, batch, i),
                Content::Angles => self.set_cell(part, bytes, 3, batch, i),
                Content::Atoms(quantity) => {
                    if let Some(columns) = batch.columns_of_mut(i, quantity) {
                        self.gather(part, quantity, bytes, columns);
                    }
                }
            }
        }
    }

    fn gather(&self, part: &Move, quantity: Quantity, bytes: &[u8], columns: ColumnsMut<'_>) {
        let atoms = part.atoms.clone();
        let ColumnsMut { x, y, z } = columns;
        let mut target = ColumnsMut { x: &mut x[atoms.clone()], y: &mut y[atoms.clone()], z: &mut z[atoms.clone()] };
        let chosen = if part.is_run { Chosen::Run } else { Chosen::Slots(&self.slots[atoms], self.stride as usize) };
        part.numbers.copy(self.level, bytes, chosen, &mut target);
        if quantity == Quantity::Forces {
            for column in [target.x, target.y, target.z] {
                column.iter_mut().for_each(|force| *force *= KILOJOULE_PER_KILOCALORIE);
            }
        }
    }

    /// Sets the lengths (`first` = 0) or the angles (3) of the cell.
    fn set_cell(&self, part: &Move, bytes: &[u8], first: usize, batch: &mut FrameBatch, i: usize) {
        let header = batch.header_mut(i);
        let mut dimensions = header.unit_cell.map_or([0.0; 6], |cell| cell.dimensions());
        for k in 0..3 {
            dimensions[first + k] = part.numbers.value(bytes, k) as f32;
        }
        header.unit_cell = Some(UnitCell::Dimensions(dimensions));
    }
}
