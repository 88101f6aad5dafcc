//! The plan of a frame: which bytes to load for the wanted atoms, and what to do with them. It is the same for all
//! frames of a layout, only shifted.

use std::ops::Range;

use super::cell::CELL_BYTES;
use super::gather::{copy_run, copy_scattered};
use super::layout::FrameLayout;
use super::record::RecordFormat;
use crate::frame::ColumnsMut;
use crate::source::pieces::{Place, add_piece, cut_places, cut_stretch, group_pieces};

/// Bytes that lie so close to a range are in a cache line that is loaded anyway.
const ADJACENT: u64 = 64;

/// A stretch of bytes of a frame, and what is in it.
#[derive(Debug)]
pub(super) struct Piece {
    /// Bytes, from the beginning of the frame.
    pub bytes: Range<u64>,
    /// Record markers: where in the piece, and the length that they must say.
    pub markers: Vec<(usize, u64)>,
    moves: Vec<Move>,
}

/// Atoms to be copied from a piece to a column.
#[derive(Debug)]
struct Move {
    column: usize,
    /// Bytes of the piece from the first atom to the last.
    bytes: Range<usize>,
    /// Which of the plan's places.
    places: Range<usize>,
    /// Where in the column the first goes; the others follow.
    target: usize,
    is_run: bool,
}

/// What to load of a frame, and where it goes.
#[derive(Debug)]
pub(super) struct FramePlan {
    format: RecordFormat,
    slots: Vec<u32>,
    /// Where in the first piece the unit cell is.
    cell: Option<usize>,
    pieces: Vec<Piece>,
    /// Pieces to be loaded together.
    loads: Vec<Range<usize>>,
    n_bytes: u64,
}

impl FramePlan {
    /// Plans the reading of `places`, ascending by slot.
    pub fn new(layout: &FrameLayout, format: RecordFormat, places: &[Place]) -> Self {
        let stretches = cut_places(places, 4);
        let mut ranges = Vec::new();
        if let Some(cell) = layout.cell {
            add_piece(&mut ranges, 0..cell + CELL_BYTES);
        }
        let mut moves = Vec::new();
        for (column, &start) in layout.columns.iter().enumerate() {
            for stretch in &stretches {
                let byte = |i: usize| start + 4 * u64::from(places[i].slot);
                let piece = add_piece(&mut ranges, byte(stretch.start)..byte(stretch.end - 1) + 4);
                moves.extend(cut_stretch(places, stretch.clone()).map(|(places, target, is_run)| {
                    (piece, column, byte(places.start)..byte(places.end - 1) + 4, places, target, is_run)
                }));
            }
        }
        let piece_of = |bytes| Piece { bytes, markers: Vec::new(), moves: Vec::new() };
        let mut pieces: Vec<Piece> = ranges.into_iter().map(piece_of).collect();
        for &(at, length) in &layout.markers {
            let marker = at..at + format.marker_bytes as u64;
            let distance = |piece: &Piece| {
                let before = piece.bytes.start.saturating_sub(marker.start);
                before.max(marker.end.saturating_sub(piece.bytes.end))
            };
            let nearest = pieces.iter_mut().min_by_key(|piece| distance(piece));
            if let Some(piece) = nearest.filter(|piece| distance(piece) <= ADJACENT) {
                piece.bytes = piece.bytes.start.min(marker.start)..piece.bytes.end.max(marker.end);
                piece.markers.push((at as usize, length));
            }
        }
        for piece in &mut pieces {
            piece.markers.iter_mut().for_each(|(at, _)| *at -= piece.bytes.start as usize);
        }
        for (piece, column, bytes, places, target, is_run) in moves {
            let piece = &mut pieces[piece];
            let bytes = (bytes.start - piece.bytes.start) as usize..(bytes.end - piece.bytes.start) as usize;
            piece.moves.push(Move { column, bytes, places, target, is_run });
        }
        let (loads, n_bytes) = {
            let ranges: Vec<Range<u64>> = pieces.iter().map(|piece| piece.bytes.clone()).collect();
            group_pieces(&ranges, layout.len)
        };
        FramePlan {
            format,
            slots: places.iter().map(|place| place.slot).collect(),
            cell: layout.cell.map(|cell| (cell - pieces[0].bytes.start) as usize),
            pieces,
            loads,
            n_bytes,
        }
    }

    /// All pieces.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Pieces to be loaded together: one group, unless a frame is larger than [`LOAD_BYTES`].
    pub fn loads(&self) -> &[Range<usize>] {
        &self.loads
    }

    /// Bytes that a frame adds to a load at most.
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// The six numbers of the unit cell in the bytes of the first piece.
    pub fn cell(&self, bytes: &[u8]) -> Option<[f64; 6]> {
        self.cell.map(|at| std::array::from_fn(|i| self.format.f64(&bytes[at + 8 * i..])))
    }

    /// The first marker in `bytes` of `piece` that does not say what it must: where in the frame, what it says and
    /// what it should.
    pub fn wrong_marker(&self, piece: &Piece, bytes: &[u8]) -> Option<(u64, u64, u64)> {
        piece.markers.iter().find_map(|&(at, expected)| {
            let got = self.format.length(&bytes[at..]);
            (got != expected).then_some((piece.bytes.start + at as u64, got, expected))
        })
    }

    /// Copies the atoms in `bytes` of `piece` to where they belong.
    pub fn gather(&self, piece: &Piece, bytes: &[u8], columns: &mut ColumnsMut<'_>) {
        let is_foreign = self.format.is_foreign();
        for part in &piece.moves {
            let column = match part.column {
                0 => &mut *columns.x,
                1 => &mut *columns.y,
                _ => &mut *columns.z,
            };
            let target = &mut column[part.target..part.target + part.places.len()];
            let bytes = &bytes[part.bytes.clone()];
            if part.is_run {
                copy_run(bytes, is_foreign, target);
            } else {
                copy_scattered(bytes, is_foreign, &self.slots[part.places.clone()], target);
            }
        }
    }
}
