//! Gathering from formats that hold x, y and z of one atom after the other.

use crate::frame::ColumnsMut;
use crate::simd::Level;
use crate::source::bytes::prefetch::prefetch;

/// Atoms ahead of which a scattered one is asked for: as many as fit into the time that memory takes.
const AHEAD: usize = 24;

/// How the bytes of a number in a file become a float32.
pub(super) trait Number<const BYTES: usize>: Copy {
    /// The number. Mark it `#[inline(always)]`: it is compiled for several instruction sets.
    fn of(self, bytes: [u8; BYTES]) -> f32;
}

/// Copies the atoms that follow one another in `bytes` to the columns, which have room for just as many.
pub(super) fn copy_run<const BYTES: usize>(
    level: Level,
    bytes: &[u8],
    number: impl Number<BYTES>,
    target: &mut ColumnsMut<'_>,
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
fn copy_run_avx2<const BYTES: usize>(bytes: &[u8], number: impl Number<BYTES>, target: &mut ColumnsMut<'_>) {
    copy_each(bytes, number, target);
}

#[inline(always)]
fn copy_each<const BYTES: usize>(bytes: &[u8], number: impl Number<BYTES>, target: &mut ColumnsMut<'_>) {
    let atoms = bytes.as_chunks::<BYTES>().0.as_chunks::<3>().0;
    let columns = target.x.iter_mut().zip(target.y.iter_mut()).zip(target.z.iter_mut());
    for (((x, y), z), &[of_x, of_y, of_z]) in columns.zip(atoms) {
        (*x, *y, *z) = (number.of(of_x), number.of(of_y), number.of(of_z));
    }
}

/// Copies the atoms in `slots` (ascending) to the columns, where `bytes` begins with the atom in the first slot and
/// ends with the atom in the last. Meanwhile, asks for the same atoms of the next frame, `frame_bytes` further on.
pub(super) fn copy_scattered<const BYTES: usize>(
    bytes: &[u8],
    number: impl Number<BYTES>,
    slots: &[u32],
    frame_bytes: usize,
    target: &mut ColumnsMut<'_>,
) {
    let atoms = bytes.as_chunks::<BYTES>().0.as_chunks::<3>().0;
    let Some(&first) = slots.first() else { return };
    let place = |i: usize| (slots[i] - first) as usize;
    let address = |i: usize| match i.checked_sub(slots.len()) {
        None => bytes.as_ptr().wrapping_add(3 * BYTES * place(i)),
        Some(i) => bytes.as_ptr().wrapping_add(3 * BYTES * place(i.min(slots.len() - 1))).wrapping_add(frame_bytes),
    };
    let columns = target.x.iter_mut().zip(target.y.iter_mut()).zip(target.z.iter_mut());
    for (i, ((x, y), z)) in columns.enumerate().take(slots.len()) {
        prefetch(address(i + AHEAD));
        let [of_x, of_y, of_z] = atoms[place(i)];
        (*x, *y, *z) = (number.of(of_x), number.of(of_y), number.of(of_z));
    }
}
