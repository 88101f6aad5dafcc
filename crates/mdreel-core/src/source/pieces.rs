//! Pieces of frames: which bytes to load for the wanted atoms, in formats whose frames have a fixed size.

use std::ops::Range;

/// Ranges closer than a page are loaded as one: storage gives no less than pages.
const MERGE: u64 = 4 << 10;

/// Bytes to load at a time.
pub(super) const LOAD_BYTES: u64 = 1 << 20;

/// Bytes between two ranges up to which a load may bring them along.
const NEAR: u64 = 16 << 10;

/// Atoms that follow one another from which on they are copied as a run.
const RUN: usize = 16;

/// Where a wanted atom stands among the atoms of the file, and where it belongs in a column of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// In the file.
    pub slot: u32,
    /// In the batch.
    pub target: u32,
}

/// Adds `bytes` of a frame, which begin behind all that were added before, to the last piece if they are near, else as a
/// piece of their own; returns which.
pub(super) fn add_piece(pieces: &mut Vec<Range<u64>>, bytes: Range<u64>) -> usize {
    match pieces.last_mut() {
        Some(last) if bytes.start <= last.end + MERGE && bytes.end - last.start <= LOAD_BYTES => last.end = bytes.end,
        _ => pieces.push(bytes),
    }
    pieces.len() - 1
}

/// Cuts places, of `atom_bytes` each, where the next is far away, or where a load would grow too large.
pub(super) fn cut_places(places: &[Place], atom_bytes: u64) -> Vec<Range<usize>> {
    let mut stretches = Vec::new();
    let mut start = 0;
    for i in 1..=places.len() {
        let is_cut = i == places.len() || {
            let (first, last, next) = (places[start].slot, places[i - 1].slot, places[i].slot);
            atom_bytes * u64::from(next - last) > MERGE || atom_bytes * (u64::from(next - first) + 1) > LOAD_BYTES
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
pub(super) fn cut_stretch(
    places: &[Place],
    stretch: Range<usize>,
) -> impl Iterator<Item = (Range<usize>, usize, bool)> {
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
pub(super) fn group_pieces(pieces: &[Range<u64>], frame_len: u64) -> (Vec<Range<usize>>, u64) {
    let Some(first) = pieces.first() else {
        // Without wanted bytes, a single empty load adds the frames.
        return (std::iter::once(0..0).collect(), 0);
    };
    let next_starts = pieces[1..].iter().map(|piece| piece.start).chain([frame_len + first.start]);
    let mut groups: Vec<Range<usize>> = Vec::new();
    let (mut group_bytes, mut n_bytes) = (0, 0);
    for (i, (piece, next_start)) in pieces.iter().zip(next_starts).enumerate() {
        let added = piece.end - piece.start + NEAR.min(next_start.saturating_sub(piece.end));
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
