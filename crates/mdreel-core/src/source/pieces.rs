//! Pieces of a frame: the bytes to load for the selected atoms, and the atoms that they contain. The pieces of all
//! frames of a layout are equal except for an offset.

use std::ops::Range;

/// Ranges closer than a page are loaded as one, because storage reads whole pages.
const MERGE: u64 = 4 << 10;

/// Bytes within this distance of a range lie in a cache line that is loaded anyway.
const ADJACENT: u64 = 64;

/// Number of bytes to load at a time.
pub(crate) const LOAD_BYTES: u64 = 1 << 20;

/// Largest gap in bytes between two ranges that a load may include.
const NEAR: u64 = 16 << 10;

/// Minimum number of consecutive atoms that are copied as a run.
const RUN: usize = 16;

/// The position of a selected atom in a section of the file, and in a column of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Position in the section.
    pub slot: u32,
    /// Position in the column.
    pub target: u32,
}

impl Place {
    /// Returns the places of atoms in these slots. The atoms are consecutive in the batch.
    pub(crate) fn of_slots(slots: &[u32]) -> Vec<Self> {
        slots.iter().zip(0..).map(|(&slot, target)| Place { slot, target }).collect()
    }
}

/// A part of a frame that contains an entry for each atom, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Section {
    /// Offset of the section from the beginning of the frame in bytes.
    pub start: u64,
    /// Number of bytes per atom.
    pub stride: u64,
}

/// A range of bytes of a frame, with its contents.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The bytes, counted from the beginning of the frame.
    pub bytes: Range<u64>,
    /// Indices of the required ranges in this piece.
    pub needed: Vec<usize>,
    /// Indices of the optional ranges that are loaded with this piece.
    pub riders: Vec<usize>,
    /// Parts to copy from the piece.
    pub moves: Vec<Move>,
}

/// Atoms to copy from a piece to the batch, where they are consecutive.
#[derive(Debug)]
pub(crate) struct Move {
    /// Index of the section that contains the atoms.
    pub section: usize,
    /// Bytes of the piece from the first atom to the last.
    pub bytes: Range<usize>,
    /// Indices of the places of the atoms.
    pub places: Range<usize>,
    /// Position of the first atom in the column.
    pub target: usize,
    /// Whether the atoms are copied as a run, because enough of them are consecutive in the file as well.
    pub is_run: bool,
}

/// Parts of a frame to load, and their destinations.
#[derive(Debug)]
pub(crate) struct Pieces {
    pieces: Vec<Piece>,
    /// Ranges of pieces that are loaded together.
    loads: Vec<Range<usize>>,
    n_bytes: u64,
    slots: Vec<u32>,
}

impl Pieces {
    /// Plans to read `places` (ascending by slot) in all `sections` (ascending) of a frame of `frame_len` bytes.
    /// `needed` (ascending, outside of the sections) is always loaded, but `riders` only where they cost nothing.
    pub(crate) fn new(
        needed: &[Range<u64>],
        sections: &[Section],
        riders: &[Range<u64>],
        frame_len: u64,
        places: &[Place],
    ) -> Self {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut moves = Vec::new();
        let mut needed = needed.iter().enumerate().peekable();
        for (number, section) in sections.iter().enumerate() {
            while let Some((number, bytes)) = needed.next_if(|(_, bytes)| bytes.start <= section.start) {
                let piece = add_bytes(&mut pieces, bytes.clone());
                pieces[piece].needed.push(number);
            }
            for stretch in cut_places(places, section.stride) {
                let bytes = |range: Range<usize>| {
                    let byte = |i: usize| section.start + section.stride * u64::from(places[i].slot);
                    byte(range.start)..byte(range.end - 1) + section.stride
                };
                let piece = add_bytes(&mut pieces, bytes(stretch.clone()));
                moves.extend(cut_stretch(places, stretch).map(|(places, target, is_run)| {
                    (piece, bytes(places.clone()), Move { section: number, bytes: 0..0, places, target, is_run })
                }));
            }
        }
        for (number, bytes) in needed {
            let piece = add_bytes(&mut pieces, bytes.clone());
            pieces[piece].needed.push(number);
        }
        for (number, rider) in riders.iter().enumerate() {
            let distance = |piece: &Piece| {
                let before = piece.bytes.start.saturating_sub(rider.start);
                before.max(rider.end.saturating_sub(piece.bytes.end))
            };
            let nearest = pieces.iter_mut().min_by_key(|piece| distance(piece));
            if let Some(piece) = nearest.filter(|piece| distance(piece) <= ADJACENT) {
                piece.bytes = piece.bytes.start.min(rider.start)..piece.bytes.end.max(rider.end);
                piece.riders.push(number);
            }
        }
        for (piece, bytes, part) in moves {
            let piece = &mut pieces[piece];
            let bytes = (bytes.start - piece.bytes.start) as usize..(bytes.end - piece.bytes.start) as usize;
            piece.moves.push(Move { bytes, ..part });
        }
        let (loads, n_bytes) = group_pieces(&pieces, frame_len);
        Pieces { pieces, loads, n_bytes, slots: places.iter().map(|place| place.slot).collect() }
    }

    /// Returns all pieces.
    pub(crate) fn all(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns the ranges of pieces to load together: a single one, unless a frame is larger than [`LOAD_BYTES`].
    pub(crate) fn loads(&self) -> &[Range<usize>] {
        &self.loads
    }

    /// Returns the maximum number of bytes that a frame adds to a load.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Returns the slots of the atoms of a move in their section.
    pub(crate) fn slots(&self, part: &Move) -> &[u32] {
        &self.slots[part.places.clone()]
    }
}

/// Adds bytes, which must not begin before the bytes added earlier. They extend the last piece if they are near it, and
/// otherwise become a new piece. Returns the index of the piece.
fn add_bytes(pieces: &mut Vec<Piece>, bytes: Range<u64>) -> usize {
    match pieces.last_mut() {
        Some(last) if bytes.start <= last.bytes.end + MERGE && bytes.end - last.bytes.start <= LOAD_BYTES => {
            last.bytes.end = last.bytes.end.max(bytes.end);
        }
        _ => pieces.push(Piece { bytes, needed: Vec::new(), riders: Vec::new(), moves: Vec::new() }),
    }
    pieces.len() - 1
}

/// Divides places where the next one is far away, or where a load would grow too large.
fn cut_places(places: &[Place], stride: u64) -> Vec<Range<usize>> {
    let mut stretches = Vec::new();
    let mut start = 0;
    for i in 1..=places.len() {
        let is_cut = i == places.len() || {
            let (first, last, next) = (places[start].slot, places[i - 1].slot, places[i].slot);
            stride * u64::from(next - last) > MERGE || stride * (u64::from(next - first) + 1) > LOAD_BYTES
        };
        if is_cut {
            stretches.push(start..i);
            start = i;
        }
    }
    stretches
}

/// Divides a stretch into moves. Each item contains the places, the position of the first one in the column, and
/// whether it is a run. The places of a move are consecutive in the batch.
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

/// Groups pieces that are loaded together, and returns the number of bytes that a frame adds to a load. This includes
/// the gap before the next piece, up to the size that a load may include.
fn group_pieces(pieces: &[Piece], frame_len: u64) -> (Vec<Range<usize>>, u64) {
    let Some(first) = pieces.first() else {
        // Without selected bytes, a single empty load yields the frames.
        return (std::iter::once(0..0).collect(), 0);
    };
    let next_starts = pieces[1..].iter().map(|piece| piece.bytes.start).chain([frame_len + first.bytes.start]);
    let mut groups: Vec<Range<usize>> = Vec::new();
    let (mut group_bytes, mut n_bytes) = (0, 0);
    for (i, (piece, next_start)) in pieces.iter().zip(next_starts).enumerate() {
        let added = piece.bytes.end - piece.bytes.start + NEAR.min(next_start.saturating_sub(piece.bytes.end));
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
