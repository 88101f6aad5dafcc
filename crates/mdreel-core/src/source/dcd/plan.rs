//! The plan of a frame: which bytes to load for the wanted atoms, and what to do with them. It is the same for all
//! frames of a layout, only shifted.

use std::ops::Range;

use super::cell::CELL_BYTES;
use super::gather::{copy_run, copy_scattered};
use super::layout::FrameLayout;
use super::record::RecordFormat;
use crate::frame::ColumnsMut;

/// Ranges closer than a page are loaded as one: storage gives no less than pages.
const MERGE: u64 = 4 << 10;

/// Bytes that lie so close to a range are in a cache line that is loaded anyway.
const ADJACENT: u64 = 64;

/// Bytes to load at a time.
pub(super) const LOAD_BYTES: u64 = 1 << 20;

/// Bytes between two ranges up to which a load may bring them along.
const NEAR: u64 = 16 << 10;

/// Atoms that follow one another from which on they are copied as a run.
const RUN: usize = 16;

/// Where a wanted atom stands in a column of the file, and where it belongs in a column of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// In the file.
    pub slot: u32,
    /// In the batch.
    pub target: u32,
}

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
        let stretches = cut_places(places);
        let mut pieces: Vec<Piece> = Vec::new();
        let mut piece_of = |bytes: Range<u64>| {
            match pieces.last_mut() {
                Some(last) if bytes.start <= last.bytes.end + MERGE && bytes.end - last.bytes.start <= LOAD_BYTES => {
                    last.bytes.end = bytes.end;
                }
                _ => pieces.push(Piece { bytes, markers: Vec::new(), moves: Vec::new() }),
            }
            pieces.len() - 1
        };
        if let Some(cell) = layout.cell {
            piece_of(0..cell + CELL_BYTES);
        }
        let mut moves = Vec::new();
        for (column, &start) in layout.columns.iter().enumerate() {
            for stretch in &stretches {
                let byte = |i: usize| start + 4 * u64::from(places[i].slot);
                let piece = piece_of(byte(stretch.start)..byte(stretch.end - 1) + 4);
                moves.extend(cut_stretch(places, stretch.clone()).map(|(places, target, is_run)| {
                    (piece, column, byte(places.start)..byte(places.end - 1) + 4, places, target, is_run)
                }));
            }
        }
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
        let (loads, n_bytes) = group_pieces(&pieces, layout.len);
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

/// Cuts places where the next is far away, or where a load would grow too large.
fn cut_places(places: &[Place]) -> Vec<Range<usize>> {
    let mut stretches = Vec::new();
    let mut start = 0;
    for i in 1..=places.len() {
        let is_cut = i == places.len() || {
            let (first, last, next) = (places[start].slot, places[i - 1].slot, places[i].slot);
            4 * u64::from(next - last) > MERGE || 4 * u64::from(next - first) + 4 > LOAD_BYTES
        };
        if is_cut {
            stretches.push(start..i);
            start = i;
        }
    }
    stretches
}

/// Cuts a stretch into moves: places, where they go, and whether they follow one another in the file. In each move
/// they follow one another in the batch.
fn cut_stretch(places: &[Place], stretch: Range<usize>) -> impl Iterator<Item = (Range<usize>, usize, bool)> {
    let follows = |i: usize, start: usize| places[i].target == places[start].target + (i - start) as u32;
    let run_end = move |start: usize| {
        let is_run = |&i: &usize| follows(i, start) && places[i].slot == places[start].slot + (i - start) as u32;
        (start + 1..stretch.end).take_while(is_run).last().unwrap_or(start) + 1
    };
    let end = stretch.end;
    let mut at = stretch.start;
    std::iter::from_fn(move || {
        if at == end {
            return None;
        }
        let start = at;
        at = run_end(start);
        let is_run = at - start >= RUN;
        while !is_run && at < end && follows(at, start) {
            let next = run_end(at);
            if next - at >= RUN {
                break;
            }
            at = next;
        }
        Some((start..at, places[start].target as usize, is_run))
    })
}

/// Groups pieces that are loaded together, and says what a frame adds to a load. Bytes up to the next piece count,
/// where a load may bring them along.
fn group_pieces(pieces: &[Piece], frame_len: u64) -> (Vec<Range<usize>>, u64) {
    let Some(first) = pieces.first() else {
        // Without wanted bytes, a single empty load adds the frames.
        return (std::iter::once(0..0).collect(), 0);
    };
    let next_starts = pieces[1..].iter().map(|piece| piece.bytes.start).chain([frame_len + first.bytes.start]);
    let mut groups: Vec<Range<usize>> = Vec::new();
    let (mut group_bytes, mut n_bytes) = (0, 0);
    for (i, (piece, next_start)) in pieces.iter().zip(next_starts).enumerate() {
        let added = piece.bytes.end - piece.bytes.start + NEAR.min(next_start - piece.bytes.end);
        n_bytes += added;
        group_bytes += added;
        match groups.last_mut() {
            Some(group) if group_bytes <= LOAD_BYTES => group.end = i + 1,
            _ => {
                groups.push(i..i + 1);
                group_bytes = added;
            }
        }
    }
    (groups, n_bytes)
}
