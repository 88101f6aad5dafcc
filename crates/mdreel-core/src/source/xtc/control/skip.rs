//! Control pass far from selected atoms, which skips groups without recording them.
//!
//! This pass creates neither a mask of selected atoms nor a record of the group, and checks nothing within a stretch.
//! Before each stretch, it checks that even the longest possible groups neither reach a selected atom nor leave the
//! bytes of the frame. One lookup gives the effect of six bits on the run length and the small index, so a step waits
//! for only two loads.

use super::super::radix::{SMALL_INDICES, load_bits};
use super::{LANES, MAX_RUN, STRIDE, Walks, Wanted};

/// Maximum number of strides of a stretch. If a small index leaves its range, the recording pass repeats the stretch.
const MAX_STRIDES: u64 = 64;
/// Number of bits of the longest group: a big coordinate, control bits and small coordinates.
const MAX_BITS: u64 = 96 + 6 + MAX_RUN as u64 * *SMALL_INDICES.end() as u64;
/// Number of atoms of the longest group.
const MAX_ATOMS: u64 = MAX_RUN as u64 + 1;

/// Number of values of the six bits after a big coordinate.
const CODES: usize = 64;
const FIRST_INDEX: usize = *SMALL_INDICES.start() as usize;
const N_INDICES: usize = *SMALL_INDICES.end() as usize - FIRST_INDEX + 1;
const N_STATES: usize = N_INDICES * (MAX_RUN + 1);
/// State of a walk whose small index has left its range. The walk stays in this state.
const MISLED: usize = N_STATES * CODES;

/// Returns the position in [`STEPS`] of the steps for a small index and a run length.
const fn state(small_index: usize, run: usize) -> usize {
    ((small_index - FIRST_INDEX) * (MAX_RUN + 1) + run) * CODES
}

/// Steps for each state and each value of the six bits after a big coordinate. The lowest 10 bits of a step hold the
/// number of bits of the group without the big coordinate. The next 6 bits hold its number of atoms, and the upper half
/// holds the next state.
static STEPS: [u32; MISLED + CODES] = {
    let mut steps = [(MISLED as u32) << 16; MISLED + CODES];
    let mut place = 0;
    while place < MISLED {
        let (state_number, code) = (place / CODES, place % CODES);
        let small_index = FIRST_INDEX + state_number / (MAX_RUN + 1);
        let flagged = code >= 32;
        let run = if flagged { (code - 32) / 3 } else { state_number % (MAX_RUN + 1) };
        // The change of the small index, plus 1.
        let change = if flagged { (code - 32) % 3 } else { 1 };
        let bits = (if flagged { 6 } else { 1 }) + run * small_index;
        let is_valid = small_index + change > FIRST_INDEX && small_index + change <= FIRST_INDEX + N_INDICES;
        let next = if is_valid { state(small_index + change - 1, run) } else { MISLED };
        steps[place] = (bits | ((run + 1) << ATOMS) | (next << 16)) as u32;
        place += 1;
    }
    steps
};
/// Position of the number of atoms in a step.
const ATOMS: usize = 10;

/// Continues each walk to shortly before its next selected atom, unless that atom is already near.
#[inline(always)]
pub(super) fn skip(walks: &mut Walks<'_>, wanted: &Wanted) {
    loop {
        let strides: [u64; LANES] = std::array::from_fn(|lane| strides_ahead(walks, lane, wanted));
        let n_strides = strides.iter().copied().filter(|&n| n > 0).fold(MAX_STRIDES, u64::min);
        let is_done = match strides.iter().filter(|&&n| n > 0).count() {
            0 => true,
            1..=4 => !walk_past::<4>(walks, strides, n_strides * STRIDE as u64),
            _ => !walk_past::<LANES>(walks, strides, n_strides * STRIDE as u64),
        };
        if is_done {
            return;
        }
    }
}

/// Skips `n_groups` groups in each of the frames with `strides`, of which there are at most `N`. Returns `false` and
/// changes nothing if a small index leaves its range in one of these frames.
///
/// The frames are processed side by side: while one frame waits for its loads, the others take their steps. The state
/// of many frames does not fit the registers and is kept in memory.
#[inline(always)]
fn walk_past<const N: usize>(walks: &mut Walks<'_>, strides: [u64; LANES], n_groups: u64) -> bool {
    let mut moving = (0..LANES).filter(|&lane| strides[lane] > 0);
    let leader = moving.next().unwrap_or_default();
    // If fewer than `N` frames move, the first of them is walked more than once.
    let mut lanes = [leader; N];
    lanes[1..].iter_mut().zip(moving).for_each(|(place, lane)| *place = lane);
    let data = lanes.map(|lane| walks.data[lane]);
    let big_bits = lanes.map(|lane| walks.big_bits[lane]);
    let begin: [u64; N] = std::array::from_fn(|k| walks.bit[lanes[k]] + big_bits[k]);
    let mut flag = begin;
    let mut states = lanes.map(|lane| state(walks.small_index[lane] as usize, walks.run[lane] as usize));
    let mut sums = [0u64; N];
    for _ in 0..n_groups {
        for k in 0..N {
            // SAFETY: `strides_ahead` has checked that `n_groups` groups of the maximum length end within the frame.
            let code = unsafe { load_bits(data[k], flag[k]) } >> 58;
            debug_assert!(states[k] + (code as usize) < STEPS.len());
            // SAFETY: a state is one of the table's states, and a code is less than `CODES`.
            let step = unsafe { *STEPS.get_unchecked(states[k] + code as usize) };
            let counts = u64::from(step & 0xffff);
            sums[k] += counts;
            flag[k] += (counts & ((1 << ATOMS) - 1)) + big_bits[k];
            states[k] = (step >> 16) as usize;
        }
    }
    if states.contains(&MISLED) {
        return false;
    }
    let from = lanes.map(|lane| walks.atom[lane]);
    for (k, lane) in lanes.into_iter().enumerate() {
        let number = states[k] / CODES;
        // The sum of the bits carries into the sum of the atoms. The code subtracts the sum of the bits, which it knows
        // from the distance that the walk covered.
        let bits = flag[k] - begin[k] - n_groups * big_bits[k];
        walks.atom[lane] = from[k] + ((sums[k] - bits) >> ATOMS);
        walks.bit[lane] = flag[k] - big_bits[k];
        walks.run[lane] = (number % (MAX_RUN + 1)) as u64;
        walks.small_index[lane] = (FIRST_INDEX + number / (MAX_RUN + 1)) as u64;
    }
    true
}

/// Returns the number of strides that stay before the next selected atom of a lane and within its bytes, even if all
/// groups have the maximum length.
#[inline(always)]
fn strides_ahead(walks: &Walks<'_>, lane: usize, wanted: &Wanted) -> u64 {
    let atom = walks.atom[lane];
    if atom >= wanted.limit {
        return 0;
    }
    let atoms = wanted.distance(atom, MAX_STRIDES * STRIDE as u64 * MAX_ATOMS);
    let bits = walks.end_bit[lane].saturating_sub(walks.bit[lane]);
    (atoms / (STRIDE as u64 * MAX_ATOMS)).min(bits / (STRIDE as u64 * MAX_BITS))
}
