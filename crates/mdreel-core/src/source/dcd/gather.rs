//! Gathering: wanted numbers out of a column of numbers, in the byte order of the file.

use crate::source::bytes::prefetch::prefetch;

/// How far ahead numbers are asked for, in bytes. The columns of a frame, and the frames, follow one another in the file.
const AHEAD: usize = 2048;

/// Copies the `target.len()` numbers that follow one another at the beginning of `bytes`.
pub(super) fn copy_run(bytes: &[u8], is_foreign: bool, target: &mut [f32]) {
    let words = bytes.as_chunks::<4>().0;
    if is_foreign {
        target.iter_mut().zip(words).for_each(|(out, &word)| *out = foreign(word));
    } else {
        target.iter_mut().zip(words).for_each(|(out, &word)| *out = f32::from_ne_bytes(word));
    }
}

/// Copies the numbers in `slots` (ascending) to `target`, where `bytes` begins with the number in the first slot and
/// ends with the number in the last.
pub(super) fn copy_scattered(bytes: &[u8], is_foreign: bool, slots: &[u32], target: &mut [f32]) {
    if is_foreign {
        copy_slots(bytes, slots, target, foreign);
    } else {
        copy_slots(bytes, slots, target, f32::from_ne_bytes);
    }
}

fn copy_slots(bytes: &[u8], slots: &[u32], target: &mut [f32], number: impl Fn([u8; 4]) -> f32) {
    let words = bytes.as_chunks::<4>().0;
    let Some(&first) = slots.first() else { return };
    for (out, &slot) in target.iter_mut().zip(slots) {
        let place = (slot - first) as usize;
        prefetch(words.as_ptr().wrapping_add(place + AHEAD / 4).cast());
        *out = number(words[place]);
    }
}

fn foreign(word: [u8; 4]) -> f32 {
    f32::from_bits(u32::from_ne_bytes(word).swap_bytes())
}
