//! Decoding: from a frame's compressed bytes to the coordinates of the wanted atoms.

use super::coded::Coded;
use super::control::{End, Groups, LANES, Walks, Wanted, walk};
use super::gather::Gather;
use crate::frame::ColumnsMut;
use crate::simd::Level;
use crate::source::fault::Fault;

/// How the decoding of one frame went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded {
    /// All wanted atoms are there; so many compressed bytes were needed.
    Whole(u64),
    /// The bytes given were only the first of the frame, and not enough.
    NeedsMore,
    /// The frame is corrupt; the byte is counted from the start of the compressed bytes.
    Corrupt(Fault),
}

/// Decodes frames; keeps its memory.
#[derive(Debug)]
pub struct Decoder {
    level: Level,
    groups: Box<Groups>,
    gather: Gather,
}

impl Decoder {
    /// With the vector instructions of `level`.
    pub fn new(level: Level) -> Self {
        Decoder { level, groups: Box::default(), gather: Gather::new(level) }
    }

    /// Decodes the wanted atoms of up to [`LANES`] frames into their columns, in Å.
    pub fn decode(
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

/// How the walk over `frame` went.
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
        End::Reached => Decoded::Whole(bit.div_ceil(8)),
    }
}
