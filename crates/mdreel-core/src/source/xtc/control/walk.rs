//! Control pass over several frames at a time, with the instructions that the processor supports.

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::skip;
use super::{CHUNK, End, Group, Groups, LANES, Lane, NOWHERE, STRIDE, Walks, Wanted};
use crate::simd::Level;
use crate::source::xtc::radix::load_bits;

/// Meaning of the six bits after a big coordinate. The highest of them is the flag.
#[derive(Clone, Copy)]
struct Control {
    /// Number of bits used: 1 or 6.
    bits: u8,
    /// New run length; 0 if the run length does not change.
    run: u8,
    /// Mask that keeps the previous run length (all ones) or clears it (zero).
    keep: u8,
    /// Change of the small index, plus 1.
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

/// Continues the walk over each frame by up to [`CHUNK`] groups, or until all walks are over. `ALL` selects all atoms
/// and keeps every group.
pub(crate) fn walk<const ALL: bool>(level: Level, walks: &mut Walks<'_>, wanted: &Wanted, groups: &mut Groups) {
    #[cfg(target_arch = "x86_64")]
    if level.is_avx512() {
        // SAFETY: the level guarantees that the processor has these instructions.
        return unsafe { avx512::walk::<ALL>(walks, wanted, groups) };
    }
    #[cfg(target_arch = "x86_64")]
    if level.is_avx2() {
        // SAFETY: the level guarantees that the processor has these instructions.
        return unsafe { walk_avx2::<ALL>(walks, wanted, groups) };
    }
    let _ = level;
    walk_portable::<ALL>(walks, wanted, groups);
}

/// Runs the portable code, compiled with the shifts of BMI2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn walk_avx2<const ALL: bool>(walks: &mut Walks<'_>, wanted: &Wanted, groups: &mut Groups) {
    walk_portable::<ALL>(walks, wanted, groups);
}

#[inline(always)]
fn walk_portable<const ALL: bool>(walks: &mut Walks<'_>, wanted: &Wanted, groups: &mut Groups) {
    if !ALL {
        skip::skip(walks, wanted);
    }
    // The loop handles four lanes at a time, because the state of more does not fit the registers of most processors.
    for first in (0..LANES).step_by(4) {
        walk_four::<ALL>(walks, first, wanted, groups);
    }
}

#[inline(always)]
fn walk_four<const ALL: bool>(walks: &mut Walks<'_>, first: usize, wanted: &Wanted, groups: &mut Groups) {
    let mut lanes: [Lane; 4] = std::array::from_fn(|k| walks.lane(first + k));
    for _ in 0..CHUNK / STRIDE {
        if lanes.iter().all(|lane| lane.atom >= wanted.limit) {
            break;
        }
        for _ in 0..STRIDE {
            for (k, lane) in lanes.iter_mut().enumerate() {
                let flag = lane.bit + lane.big_bits;
                // SAFETY: `bit` lies within the frame's bytes, because it moves only if `next` does not exceed
                // `end_bit`. A big coordinate has at most 96 bits, so the load ends at most 12 + 8 bytes after the
                // frame, within the margin.
                let code = unsafe { load_bits(lane.data, flag) } >> 58;
                let control = CONTROL[code as usize];
                let run = (lane.run & u64::from(control.keep)) | u64::from(control.run);
                let index = lane.small_index;
                let next = flag + u64::from(control.bits) + run * index;
                let live = lane.atom < wanted.limit;
                let fits = next <= lane.end_bit;
                let atom = if live { lane.atom } else { 0 };
                let mask = if ALL { (2 << run) - 1 } else { wanted.of_group(atom, run) };
                let group = lane.bit
                    | (index << Group::INDEX)
                    | (run << Group::RUN)
                    | ((code >> 5) << Group::FLAG)
                    | (mask << Group::WANTED);
                // SAFETY: `count` grows by at most 1 per step, and there are `CHUNK` steps and `CHUNK + 1` places.
                unsafe { *groups.lanes[first + k].get_unchecked_mut(lane.count) = Group(group) };
                lane.count += usize::from(live & fits & (ALL | (mask != 0)));
                if live {
                    if !fits {
                        walks.end[first + k] = End::Overrun;
                        lane.atom = NOWHERE;
                        continue;
                    }
                    lane.bit = next;
                    lane.atom += run + 1;
                    lane.run = run;
                    lane.small_index = index + u64::from(control.change) - 1;
                    if !(9..=72).contains(&lane.small_index) {
                        walks.end[first + k] = End::SmallIndex;
                        lane.atom = NOWHERE;
                    }
                }
            }
        }
    }
    for (k, lane) in lanes.iter().enumerate() {
        walks.bit[first + k] = lane.bit;
        walks.atom[first + k] = lane.atom;
        walks.run[first + k] = lane.run;
        walks.small_index[first + k] = lane.small_index;
        groups.counts[first + k] = lane.count as u64;
    }
}
