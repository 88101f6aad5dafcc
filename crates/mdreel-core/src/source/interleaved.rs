//! Gathering of atoms from formats that store x, y and z of one atom after the other.

use std::ops::Range;

use crate::frame::{ColumnsMut, FrameBatch, Quantity};
use crate::simd::Level;
use crate::source::bytes::prefetch::prefetch;
use crate::source::rows::NextRows;

/// Number of atoms by which prefetching is ahead of scattered atoms. Copying this many atoms takes about as long as a
/// memory access.
const AHEAD: usize = 24;

/// Conversion of the bytes of a number in a file to a float32.
pub(super) trait Number<const BYTES: usize>: Copy {
    /// Converts the bytes. Mark implementations `#[inline(always)]`, because they are compiled for several instruction
    /// sets.
    fn of(self, bytes: [u8; BYTES]) -> f32;
}

/// The destination of some atoms.
pub(super) enum Target<'a> {
    /// Columns of a batch.
    Columns(ColumnsMut<'a>),
    /// x, y and z of one atom after the other, in a row of the caller.
    Row(&'a mut [[f32; 3]]),
}

impl<'a> Target<'a> {
    /// Returns the destination of these `atoms` of the `i`-th frame of a batch. It is the row of the frame if the row
    /// takes values directly, otherwise the columns.
    pub(super) fn of(
        batch: &'a mut FrameBatch,
        rows: Option<&'a mut NextRows<'_>>,
        i: usize,
        quantity: Quantity,
        atoms: Range<usize>,
    ) -> Option<Self> {
        if let Some(values) = rows.and_then(|rows| rows.values(i, quantity)) {
            return Some(Target::Row(&mut values[atoms]));
        }
        let ColumnsMut { x, y, z } = batch.columns_of_mut(i, quantity)?;
        let [x, y, z] = [x, y, z].map(|column| &mut column[atoms.clone()]);
        Some(Target::Columns(ColumnsMut { x, y, z }))
    }

    /// Multiplies all values by a factor.
    pub(super) fn scale(&mut self, factor: f32) {
        match self {
            Target::Columns(ColumnsMut { x, y, z }) => {
                [x, y, z].into_iter().flat_map(|column| column.iter_mut()).for_each(|value| *value *= factor);
            }
            Target::Row(values) => values.as_flattened_mut().iter_mut().for_each(|value| *value *= factor),
        }
    }
}

/// Copies consecutive atoms from `bytes` to the target, which has room for exactly these atoms.
pub(super) fn copy_run<const BYTES: usize>(
    level: Level,
    bytes: &[u8],
    number: impl Number<BYTES>,
    target: &mut Target<'_>,
) {
    #[cfg(target_arch = "x86_64")]
    if level.is_avx2() {
        // SAFETY: the level guarantees that the processor has these instructions.
        return unsafe { copy_run_avx2(bytes, number, target) };
    }
    let _ = level;
    copy_each(bytes, number, target);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn copy_run_avx2<const BYTES: usize>(bytes: &[u8], number: impl Number<BYTES>, target: &mut Target<'_>) {
    copy_each(bytes, number, target);
}

#[inline(always)]
fn copy_each<const BYTES: usize>(bytes: &[u8], number: impl Number<BYTES>, target: &mut Target<'_>) {
    let numbers = bytes.as_chunks::<BYTES>().0;
    match target {
        Target::Columns(ColumnsMut { x, y, z }) => {
            let columns = x.iter_mut().zip(y.iter_mut()).zip(z.iter_mut());
            for (((x, y), z), &[of_x, of_y, of_z]) in columns.zip(numbers.as_chunks::<3>().0) {
                (*x, *y, *z) = (number.of(of_x), number.of(of_y), number.of(of_z));
            }
        }
        Target::Row(values) => {
            for (value, &bytes) in values.as_flattened_mut().iter_mut().zip(numbers) {
                *value = number.of(bytes);
            }
        }
    }
}

/// Copies the atoms in `slots` (ascending) to the target. `bytes` begins with the atom in the first slot and ends with
/// the atom in the last slot. Meanwhile, it prefetches the same atoms of the next frame, which lies `frame_bytes`
/// further on.
pub(super) fn copy_scattered<const BYTES: usize>(
    bytes: &[u8],
    number: impl Number<BYTES>,
    slots: &[u32],
    frame_bytes: usize,
    target: &mut Target<'_>,
) {
    let atoms = bytes.as_chunks::<BYTES>().0.as_chunks::<3>().0;
    let Some(&first) = slots.first() else { return };
    let place = |i: usize| (slots[i] - first) as usize;
    let address = |i: usize| match i.checked_sub(slots.len()) {
        None => bytes.as_ptr().wrapping_add(3 * BYTES * place(i)),
        Some(i) => bytes.as_ptr().wrapping_add(3 * BYTES * place(i.min(slots.len() - 1))).wrapping_add(frame_bytes),
    };
    let atom = |i: usize| {
        prefetch(address(i + AHEAD));
        atoms[place(i)].map(|bytes| number.of(bytes))
    };
    match target {
        Target::Columns(ColumnsMut { x, y, z }) => {
            let columns = x.iter_mut().zip(y.iter_mut()).zip(z.iter_mut());
            for (i, ((x, y), z)) in columns.enumerate().take(slots.len()) {
                [*x, *y, *z] = atom(i);
            }
        }
        Target::Row(values) => values.iter_mut().enumerate().take(slots.len()).for_each(|(i, value)| *value = atom(i)),
    }
}
