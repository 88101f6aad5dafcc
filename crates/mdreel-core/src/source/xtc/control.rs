//! The control pass: where each group of atoms starts, without decoding any coordinate.
//!
//! A group is a big coordinate, a flag bit, with the flag set five more bits (run length and change of the small
//! index), and a run of small coordinates. Where the next group starts depends on these few bits only. Each step
//! depends on the one before through memory, so that one walk leaves the processor idle most of the time: several
//! frames are walked side by side.

use super::radix::{SMALL_INDICES, load_bits};

/// Frames walked side by side.
pub const LANES: usize = 4;
/// Groups that a call of [`walk`] finds at most in each frame: few enough to stay in the first-level cache.
pub const CHUNK: usize = 256;
/// Steps between two looks whether all frames are done.
const STRIDE: usize = 16;
/// Small coordinates that five bits can announce at most (a valid encoder writes 8).
pub const MAX_RUN: usize = 10;

/// A group that holds wanted atoms.
#[derive(Debug, Clone, Copy, Default)]
pub struct Group {
    /// Bit at which the big coordinate starts.
    pub bit: u64,
    /// Bit `k` is set when the `k`-th atom of the group is wanted.
    pub wanted: u32,
    /// Bits between the big coordinate and the small ones: 1 or 6.
    pub control_bits: u8,
    /// Number of small coordinates.
    pub run: u8,
    /// Their small index.
    pub small_index: u8,
}

/// The wanted atoms as a bit map, for the control pass to see at once which atoms of a group are wanted.
#[derive(Debug)]
pub struct Wanted {
    bits: Vec<u8>,
    /// The last wanted atom, plus 1: nothing behind it is looked at.
    pub limit: u64,
    /// Whether every atom before `limit` is wanted.
    pub all: bool,
}

impl Wanted {
    /// The map of ascending `indices`.
    pub fn new(indices: &[u32]) -> Self {
        let limit = indices.last().map_or(0, |&last| u64::from(last) + 1);
        let mut bits = vec![0; limit as usize / 8 + 8];
        for &index in indices {
            bits[index as usize / 8] |= 1 << (index % 8);
        }
        Wanted { bits, limit, all: limit == indices.len() as u64 }
    }

    /// The wanted ones of the `run + 1` atoms from `atom` on, `atom <= limit`, `run <= MAX_RUN`.
    #[inline(always)]
    fn of_group(&self, atom: u64, run: u64) -> u32 {
        // SAFETY: `bits` holds `limit / 8 + 8` bytes, and `atom` does not exceed `limit`.
        let word = unsafe { self.bits.as_ptr().add((atom >> 3) as usize).cast::<u32>().read_unaligned() };
        (u32::from_le(word) >> (atom & 7)) & ((2 << run) - 1)
    }
}

/// Why a walk came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The last wanted atom was reached.
    Reached,
    /// The bits ran out; the group that starts at this bit does not fit.
    Overrun(u64),
    /// The small index left its range in or before the group at this bit.
    SmallIndex(u64),
}

/// One frame's walk.
#[derive(Debug, Clone, Copy)]
pub struct Walk {
    data: *const u8,
    end_bit: u64,
    big_bits: u64,
    bit: u64,
    atom: u64,
    run: u64,
    small_index: u64,
    end: End,
}

impl Walk {
    /// A walk over the compressed bytes of a frame whose big coordinates take `big_bits` bits.
    ///
    /// # Safety
    /// `data` must stay readable for [`crate::source::bytes::MARGIN`] bytes more than it has, as long as the walk is used.
    pub unsafe fn new(data: &[u8], big_bits: u32, small_index: u32) -> Self {
        Walk {
            data: data.as_ptr(),
            end_bit: 8 * data.len() as u64,
            big_bits: u64::from(big_bits),
            bit: 0,
            atom: 0,
            run: 0,
            small_index: u64::from(small_index),
            end: End::Reached,
        }
    }

    /// A walk that is over before it begins, to fill a lane that has no frame.
    pub fn nothing() -> Self {
        static ZEROS: [u8; 16] = [0; 16];
        Walk {
            data: ZEROS.as_ptr(),
            end_bit: 0,
            big_bits: 0,
            bit: 0,
            atom: u64::MAX,
            run: 0,
            small_index: u64::from(*SMALL_INDICES.start()),
            end: End::Reached,
        }
    }

    /// Whether nothing is left to walk for the wanted atoms.
    pub fn is_over(&self, wanted: &Wanted) -> bool {
        self.atom >= wanted.limit
    }

    /// Why the walk is over.
    pub fn end(&self) -> End {
        self.end
    }

    /// The bit behind the last group.
    pub fn bit(&self) -> u64 {
        self.bit
    }

    /// The atom behind the last group.
    pub fn atom(&self) -> u64 {
        self.atom
    }
}

/// What six bits, the flag on top, say: bits taken, run length set, mask that keeps the previous run length, and
/// change of the small index plus 1.
#[derive(Clone, Copy)]
struct Control {
    bits: u8,
    run: u8,
    keep: u8,
    change: u8,
}

static CONTROL: [Control; 64] = {
    let mut table = [Control { bits: 1, run: 0, keep: 0xff, change: 1 }; 64];
    let mut code = 0;
    while code < 32 {
        table[32 + code] = Control { bits: 6, run: code as u8 / 3, keep: 0, change: code as u8 % 3 };
        code += 1;
    }
    table
};

/// The groups with wanted atoms that a call of [`walk`] found, for each lane.
#[derive(Debug)]
pub struct Groups {
    lanes: [[Group; CHUNK + 1]; LANES],
    counts: [usize; LANES],
}

impl Default for Groups {
    fn default() -> Self {
        Groups { lanes: [[Group::default(); CHUNK + 1]; LANES], counts: [0; LANES] }
    }
}

impl Groups {
    /// Those of one lane.
    pub fn lane(&self, lane: usize) -> &[Group] {
        &self.lanes[lane][..self.counts[lane]]
    }
}

/// Walks on by up to [`CHUNK`] groups in each frame, or until every frame is over. `ALL` keeps every group.
pub fn walk<const ALL: bool>(walks: &mut [Walk; LANES], wanted: &Wanted, groups: &mut Groups) {
    let mut counts = [0; LANES];
    let mut lanes = *walks;
    for _ in 0..CHUNK / STRIDE {
        if lanes.iter().all(|lane| lane.is_over(wanted)) {
            break;
        }
        for _ in 0..STRIDE {
            for k in 0..LANES {
                let lane = &mut lanes[k];
                let flag = lane.bit + lane.big_bits;
                // SAFETY: `bit` lies within the frame's bytes (it only moves when the next one does) and a big
                // coordinate has at most 96 bits: 12 + 8 bytes are within the margin. A lane that holds nothing
                // stays at bit 0 of 16 bytes.
                let code = unsafe { load_bits(lane.data, flag) } >> 58;
                let control = CONTROL[code as usize];
                let run = lane.run & u64::from(control.keep) | u64::from(control.run);
                let next = flag + u64::from(control.bits) + run * lane.small_index;
                let live = lane.atom < wanted.limit;
                let fits = next <= lane.end_bit;
                let atom = if live { lane.atom } else { 0 };
                let mask = if ALL { (2 << run) - 1 } else { wanted.of_group(atom, run) };
                // SAFETY: a lane's count grows by at most 1 a step, and there are CHUNK steps and CHUNK + 1 places.
                let place = unsafe { groups.lanes[k].get_unchecked_mut(counts[k]) };
                *place = Group {
                    bit: lane.bit,
                    wanted: mask,
                    control_bits: control.bits,
                    run: run as u8,
                    small_index: lane.small_index as u8,
                };
                counts[k] += usize::from(live && fits && (ALL || mask != 0));
                if live {
                    if !fits {
                        lane.end = End::Overrun(lane.bit);
                        lane.atom = u64::MAX;
                        continue;
                    }
                    lane.bit = next;
                    lane.atom += run + 1;
                    lane.run = run;
                    lane.small_index = lane.small_index + u64::from(control.change) - 1;
                    if !(9..=72).contains(&lane.small_index) {
                        lane.end = End::SmallIndex(lane.bit);
                        lane.atom = u64::MAX;
                    }
                }
            }
        }
    }
    *walks = lanes;
    groups.counts = counts;
}
