//! The plan of a frame: which bytes to load for the wanted atoms, and what to do with them. It is the same for all
//! frames of a layout, only shifted.

use super::cell::CELL_BYTES;
use super::gather::{copy_run, copy_scattered};
use super::layout::FrameLayout;
use super::record::RecordFormat;
use crate::frame::ColumnsMut;
use crate::source::pieces::{Piece, Pieces, Place, Section};

/// What to load of a frame, and where it goes.
#[derive(Debug)]
pub(super) struct FramePlan {
    format: RecordFormat,
    /// Where in the first piece the unit cell is.
    cell: Option<usize>,
    /// Record markers, and the length that each must say.
    markers: Vec<(u64, u64)>,
    pieces: Pieces,
}

impl FramePlan {
    /// Plans the reading of `places`, ascending by slot.
    pub fn new(layout: &FrameLayout, format: RecordFormat, places: &[Place]) -> Self {
        let sections = layout.columns.map(|start| Section { start, stride: 4 });
        let markers: Vec<_> = layout.markers.iter().map(|&(at, _)| at..at + format.marker_bytes as u64).collect();
        let head = layout.cell.map(|cell| 0..cell + CELL_BYTES);
        let pieces = Pieces::new(head.as_slice(), &sections, &markers, layout.len, places);
        let cell = layout.cell.map(|cell| (cell - pieces.all()[0].bytes.start) as usize);
        FramePlan { format, cell, markers: layout.markers.clone(), pieces }
    }

    /// What to load.
    pub fn pieces(&self) -> &Pieces {
        &self.pieces
    }

    /// The six numbers of the unit cell in the bytes of the first piece.
    pub fn cell(&self, bytes: &[u8]) -> Option<[f64; 6]> {
        self.cell.map(|at| std::array::from_fn(|i| self.format.f64(&bytes[at + 8 * i..])))
    }

    /// The first marker in `bytes` of `piece` that does not say what it must: where in the frame, what it says and
    /// what it should.
    pub fn wrong_marker(&self, piece: &Piece, bytes: &[u8]) -> Option<(u64, u64, u64)> {
        piece.riders.iter().find_map(|&marker| {
            let (at, expected) = self.markers[marker];
            let got = self.format.length(&bytes[(at - piece.bytes.start) as usize..]);
            (got != expected).then_some((at, got, expected))
        })
    }

    /// Copies the atoms in `bytes` of `piece` to where they belong.
    pub fn gather(&self, piece: &Piece, bytes: &[u8], columns: &mut ColumnsMut<'_>) {
        let is_foreign = self.format.is_foreign();
        for part in &piece.moves {
            let column = match part.section {
                0 => &mut *columns.x,
                1 => &mut *columns.y,
                _ => &mut *columns.z,
            };
            let target = &mut column[part.target..part.target + part.places.len()];
            let bytes = &bytes[part.bytes.clone()];
            if part.is_run {
                copy_run(bytes, is_foreign, target);
            } else {
                copy_scattered(bytes, is_foreign, self.pieces.slots(part), target);
            }
        }
    }
}
