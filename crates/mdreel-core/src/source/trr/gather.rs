//! Gathering: wanted atoms out of a section of big-endian numbers, x, y and z side by side, into columns.

use crate::frame::ColumnsMut;
use crate::source::bytes::prefetch::prefetch;

/// How far ahead atoms are asked for, in bytes.
const AHEAD: usize = 2048;

/// A real number of the file: double precision is rounded to single before units are converted, as in MDAnalysis.
pub(super) trait Real<const N: usize> {
    fn single(bytes: [u8; N]) -> f32;
}

/// Single precision.
pub(super) struct Single;
/// Double precision.
pub(super) struct Double;

impl Real<4> for Single {
    #[inline(always)]
    fn single(bytes: [u8; 4]) -> f32 {
        f32::from_be_bytes(bytes)
    }
}

impl Real<8> for Double {
    #[inline(always)]
    fn single(bytes: [u8; 8]) -> f32 {
        f64::from_be_bytes(bytes) as f32
    }
}

/// Copies the atoms that follow one another at the beginning of `bytes`, times `factor`, to the columns.
pub(super) fn copy_run<R: Real<N>, const N: usize>(bytes: &[u8], factor: f32, columns: ColumnsMut<'_>) {
    let atoms = bytes.as_chunks::<N>().0.as_chunks::<3>().0;
    let columns = columns.x.iter_mut().zip(columns.y).zip(columns.z);
    for (((x, y), z), atom) in columns.zip(atoms) {
        let [a, b, c] = atom.map(|number| R::single(number) * factor);
        (*x, *y, *z) = (a, b, c);
    }
}

/// Copies the atoms in `slots` (ascending), times `factor`, where `bytes` begins with the atom in the first slot and
/// ends with the one in the last.
pub(super) fn copy_scattered<R: Real<N>, const N: usize>(
    bytes: &[u8],
    factor: f32,
    slots: &[u32],
    columns: ColumnsMut<'_>,
) {
    let atoms = bytes.as_chunks::<N>().0.as_chunks::<3>().0;
    let Some(&first) = slots.first() else { return };
    let columns = columns.x.iter_mut().zip(columns.y).zip(columns.z);
    for (((x, y), z), &slot) in columns.zip(slots) {
        let place = (slot - first) as usize;
        prefetch(atoms.as_ptr().wrapping_add(place + AHEAD / (3 * N)).cast());
        let [a, b, c] = atoms[place].map(|number| R::single(number) * factor);
        (*x, *y, *z) = (a, b, c);
    }
}
