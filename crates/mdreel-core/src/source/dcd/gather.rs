//! Gathering of selected numbers from a column of numbers in the byte order of the file.

/// Copies the `target.len()` consecutive numbers at the beginning of `bytes`.
pub(super) fn copy_run(bytes: &[u8], is_foreign: bool, target: &mut [f32]) {
    let words = bytes.as_chunks::<4>().0;
    if is_foreign {
        target.iter_mut().zip(words).for_each(|(out, &word)| *out = foreign(word));
    } else {
        target.iter_mut().zip(words).for_each(|(out, &word)| *out = f32::from_ne_bytes(word));
    }
}

/// Copies the numbers in `slots` (ascending) of `N` columns to `targets`. Each of `columns` begins with the number in
/// the first slot and ends with the number in the last.
///
/// The function reads all columns of an atom before the next atom, so `N` ranges of memory are fetched at a time.
pub(super) fn copy_scattered<const N: usize>(
    columns: [&[u8]; N],
    is_foreign: bool,
    slots: &[u32],
    targets: [&mut [f32]; N],
) {
    if is_foreign {
        copy_slots(columns, slots, targets, foreign);
    } else {
        copy_slots(columns, slots, targets, f32::from_ne_bytes);
    }
}

fn copy_slots<const N: usize>(
    columns: [&[u8]; N],
    slots: &[u32],
    targets: [&mut [f32]; N],
    number: impl Fn([u8; 4]) -> f32,
) {
    let (Some(&first), Some(&last)) = (slots.first(), slots.last()) else { return };
    // The slices have the same length, so an index within one of them is valid for all.
    let n_words = (last - first) as usize + 1;
    let columns = columns.map(|bytes| &bytes.as_chunks::<4>().0[..n_words]);
    let mut targets = targets.map(|target| &mut target[..slots.len()]);
    for (i, &slot) in slots.iter().enumerate() {
        let place = (slot - first) as usize;
        for (target, words) in targets.iter_mut().zip(&columns) {
            target[i] = number(words[place]);
        }
    }
}

fn foreign(word: [u8; 4]) -> f32 {
    f32::from_bits(u32::from_ne_bytes(word).swap_bytes())
}
