//! Plan of a frame: the bytes to load for the selected atoms, and the steps to decode them. The plans of all frames of
//! a layout are equal except for an offset.

use std::collections::BTreeMap;

use super::cell::CELL_BYTES;
use super::gather::{copy_run, copy_scattered};
use super::layout::FrameLayout;
use super::record::RecordFormat;
use crate::frame::ColumnsMut;
use crate::source::pieces::{Move, Piece, Pieces, Place, Section};

/// Parts of a frame to load, and their destination.
#[derive(Debug)]
pub(super) struct FramePlan {
    format: RecordFormat,
    /// Position of the unit cell in the first piece.
    cell: Option<usize>,
    /// Positions of the record markers and the lengths that they must contain.
    markers: Vec<(u64, u64)>,
    pieces: Pieces,
    /// Parts to copy from each load.
    gathered: Vec<Vec<Gathered>>,
}

/// Atoms to copy from all of their columns in one load.
#[derive(Debug)]
struct Gathered {
    /// For each column, the index of the piece in the load and that of the move in the piece.
    moves: Vec<(usize, usize)>,
}

impl FramePlan {
    /// Plans the reading of `places`, which are in ascending order of their slots.
    pub(crate) fn new(layout: &FrameLayout, format: RecordFormat, places: &[Place]) -> Self {
        let sections = layout.columns.map(|start| Section { start, stride: 4 });
        let markers: Vec<_> = layout.markers.iter().map(|&(at, _)| at..at + format.marker_bytes as u64).collect();
        let head = layout.cell.map(|cell| 0..cell + CELL_BYTES);
        let pieces = Pieces::new(head.as_slice(), &sections, &markers, layout.len, places);
        let cell = layout.cell.map(|cell| (cell - pieces.all()[0].bytes.start) as usize);
        let gathered = pieces.loads().iter().map(|load| gathered(&pieces.all()[load.clone()])).collect();
        FramePlan { format, cell, markers: layout.markers.clone(), pieces, gathered }
    }

    /// Returns the pieces to load.
    pub(crate) fn pieces(&self) -> &Pieces {
        &self.pieces
    }

    /// Returns the six numbers of the unit cell in the bytes of the first piece.
    pub(crate) fn cell(&self, bytes: &[u8]) -> Option<[f64; 6]> {
        self.cell.map(|at| std::array::from_fn(|i| self.format.f64(&bytes[at + 8 * i..])))
    }

    /// Finds the first wrong marker in `bytes` of `piece`. Returns its position in the frame, its value and the
    /// required value.
    pub(crate) fn wrong_marker(&self, piece: &Piece, bytes: &[u8]) -> Option<(u64, u64, u64)> {
        piece.riders.iter().find_map(|&marker| {
            let (at, expected) = self.markers[marker];
            let got = self.format.length(&bytes[(at - piece.bytes.start) as usize..]);
            (got != expected).then_some((at, got, expected))
        })
    }

    /// Copies the atoms in load number `load` to their places in `columns`. `bytes` returns the bytes of each piece of
    /// the load.
    pub(crate) fn gather<'b>(&self, load: usize, bytes: impl Fn(usize) -> &'b [u8], columns: &mut ColumnsMut<'_>) {
        let is_foreign = self.format.is_foreign();
        let pieces = &self.pieces.all()[self.pieces.loads()[load].clone()];
        for atoms in &self.gathered[load] {
            let part = |&(piece, number): &(usize, usize)| {
                let part = &pieces[piece].moves[number];
                (part, &bytes(piece)[part.bytes.clone()])
            };
            let target = |part: &Move| part.target..part.target + part.places.len();
            match atoms.moves.as_slice() {
                [x, y, z] if !part(x).0.is_run => {
                    let target = target(part(x).0);
                    let targets = [&mut *columns.x, &mut *columns.y, &mut *columns.z];
                    let targets = targets.map(|column| &mut column[target.clone()]);
                    let slots = self.pieces.slots(part(x).0);
                    copy_scattered([x, y, z].map(|one| part(one).1), is_foreign, slots, targets);
                }
                parts => {
                    for (part, bytes) in parts.iter().map(part) {
                        let column = match part.section {
                            0 => &mut *columns.x,
                            1 => &mut *columns.y,
                            _ => &mut *columns.z,
                        };
                        let target = &mut column[target(part)];
                        if part.is_run {
                            copy_run(bytes, is_foreign, target);
                        } else {
                            copy_scattered([bytes], is_foreign, self.pieces.slots(part), [target]);
                        }
                    }
                }
            }
        }
    }
}

/// Returns the parts to copy from the pieces of a load.
fn gathered(pieces: &[Piece]) -> Vec<Gathered> {
    let moves = pieces.iter().enumerate().flat_map(|(at, piece)| {
        piece.moves.iter().enumerate().map(move |(number, part)| (part.places.start, (at, number)))
    });
    // All columns are divided in the same way, so moves with the same start are those of the same atoms.
    let mut all: BTreeMap<usize, Gathered> = BTreeMap::new();
    for (begin, part) in moves {
        all.entry(begin).or_insert_with(|| Gathered { moves: Vec::new() }).moves.push(part);
    }
    all.into_values().collect()
}
