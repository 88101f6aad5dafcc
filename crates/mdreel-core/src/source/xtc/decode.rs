//! Decoding of frames from compressed bytes to the coordinates of the selected atoms.

use super::coded::Coded;
use super::control::{End, Groups, LANES, Walks, Wanted, walk};
use super::gather::Gather;
use super::radix::SMALL_INDICES;
use crate::frame::ColumnsMut;
use crate::simd::Level;
use crate::source::fault::Fault;

/// Result of decoding one frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// All selected atoms are decoded. This number of compressed bytes was needed.
    Whole(u64),
    /// The frame was given only in part, and its bytes do not contain all selected atoms.
    NeedsMore,
    /// The frame is corrupt. The byte of the fault is counted from the start of the compressed bytes.
    Corrupt(Fault),
}

/// Decoder of frames, which reuses its memory.
#[derive(Debug)]
pub(crate) struct Decoder {
    level: Level,
    groups: Box<Groups>,
    gather: Gather,
}

impl Decoder {
    /// Creates a decoder that uses the vector instructions of `level`.
    pub(crate) fn new(level: Level) -> Self {
        Decoder { level, groups: Box::default(), gather: Gather::new(level) }
    }

    /// Decodes the selected atoms of up to [`LANES`] frames into their columns, in Å.
    pub(crate) fn decode(
        &mut self,
        wanted: &Wanted,
        frames: &[Coded<'_>],
        columns: &mut [ColumnsMut<'_>],
        ends: &mut Vec<Decoded>,
    ) {
        assert!(
            frames.len() <= LANES && frames.len() == columns.len(),
            "expected columns for each of {LANES} frames at most"
        );
        let mut walks = Walks::none();
        for (lane, frame) in frames.iter().enumerate() {
            frame.begin(&mut walks, lane);
        }
        let mut filled = [0; LANES];
        while !walks.are_over(wanted) {
            if wanted.all {
                walk::<true>(self.level, &mut walks, wanted, &mut self.groups);
            } else {
                walk::<false>(self.level, &mut walks, wanted, &mut self.groups);
            }
            for (lane, (frame, columns)) in frames.iter().zip(columns.iter_mut()).enumerate() {
                let groups = self.groups.lane(lane);
                // SAFETY: the walk of this lane began with this frame and has found these groups.
                filled[lane] += unsafe {
                    if wanted.all {
                        self.gather.gather::<true>(frame, groups, columns, filled[lane])
                    } else {
                        self.gather.gather::<false>(frame, groups, columns, filled[lane])
                    }
                };
            }
        }
        ends.clear();
        ends.extend(frames.iter().enumerate().map(|(lane, frame)| judge(frame, walks.end(lane))));
    }
}

/// Converts the end of the walk over `frame` to the result of decoding it.
fn judge(frame: &Coded<'_>, (end, bit, atom): (End, u64, u64)) -> Decoded {
    let (n_bytes, is_whole) = frame.extent();
    let corrupt = |message: String| Decoded::Corrupt(Fault::new(bit / 8, message));
    match end {
        End::Overrun if !is_whole => Decoded::NeedsMore,
        End::Overrun => corrupt(format!("the {n_bytes} compressed bytes end in the middle of a group of atoms")),
        End::SmallIndex => corrupt("the small index leaves its range, 9 to 72".into()),
        End::Reached if atom > frame.n_atoms() => {
            corrupt(format!("a run of atoms ends at atom {atom}, but the frame has {} atoms", frame.n_atoms()))
        }
        End::Reached => match wrong_rest(frame, bit, atom) {
            Some(message) => corrupt(message),
            None => Decoded::Whole(bit.div_ceil(8)),
        },
    }
}

/// Checks the bits from `bit` on, where the groups of the first `atom` atoms end, and returns a description of a
/// defect. This check detects damage that changes the length of any group. It costs one comparison per frame.
fn wrong_rest(frame: &Coded<'_>, bit: u64, atom: u64) -> Option<String> {
    let (n_claimed, n_used) = (frame.n_claimed(), bit.div_ceil(8));
    if atom < frame.n_atoms() {
        let (n_atoms, n_bits) = (frame.n_atoms() - atom, 8 * n_claimed - bit);
        let big_bits = u64::from(frame.big.bits());
        // Each remaining atom has a big coordinate with 1 to 6 control bits, or a small coordinate. Up to 7 bits fill
        // the last byte.
        let least = n_atoms * (big_bits + 1).min(u64::from(*SMALL_INDICES.start()));
        let most = n_atoms * (big_bits + 6).max(u64::from(*SMALL_INDICES.end())) + 7;
        return (n_bits < least || n_bits > most).then(|| {
            format!("{n_bits} bits are left for the last {n_atoms} atoms, which take {least} to {most} bits")
        });
    }
    if n_used != n_claimed {
        return Some(format!(
            "the compressed coordinates end after {n_used} bytes, but the header says {n_claimed} bytes"
        ));
    }
    let (n_bits, end) = ((bit % 8) as u32, n_used as usize);
    let is_filled = n_bits == 0 || frame.unused_bits(end, n_bits) == 0;
    (!is_filled).then(|| "the bits behind the last compressed coordinate are not zero".into())
}
