//! Comparison of the extreme coordinates of a frame with its header.
//!
//! A header contains the smallest and the largest integer of each axis. Writers take them from the coordinates of the
//! same frame, so some atom has each of these values. The comparison needs a frame with all atoms decoded.

use super::gather::angstrom;
use super::header::{Compression, MIN_AT};
use crate::frame::Columns;
use crate::source::fault::Fault;

/// Checks the coordinates, in Å, of all atoms of a frame. The byte of a fault is counted from the start of the frame.
///
/// Integers and coordinates have the same order, so the smallest integer has the smallest coordinate. Integers above
/// 2^24 may have the same coordinate as their neighbours. The check does not need to distinguish these.
pub(super) fn check(compression: &Compression, columns: &Columns<'_>) -> Result<(), Fault> {
    let inverse_precision = compression.inverse_precision();
    for (axis, column) in [columns.x, columns.y, columns.z].into_iter().enumerate() {
        let (least, largest) = extremes(column);
        let min = compression.min[axis];
        // Each size is at least 1. The sum is the largest integer of the header, so it fits 32 bits.
        let max = min.wrapping_add_unsigned(compression.sizes[axis] - 1);
        let expected = [min, max].map(|value| angstrom(value, inverse_precision));
        if [least, largest] != expected {
            let (name, [from, to]) = (['x', 'y', 'z'][axis], expected);
            let message = format!(
                "{name} runs from {least} to {largest} Å, but the header says that it runs from {from} to {to} Å"
            );
            return Err(Fault::new(MIN_AT + 4 * axis as u64, message));
        }
    }
    Ok(())
}

/// Returns the smallest and the largest number of a column.
fn extremes(column: &[f32]) -> (f32, f32) {
    const LANES: usize = 16;
    let (mut least, mut largest) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES]);
    let (vectors, rest) = column.as_chunks::<LANES>();
    // Each of these comparisons compiles to one vector instruction, unlike `min` and `max`. The column contains no NaN.
    for vector in vectors {
        for lane in 0..LANES {
            least[lane] = if vector[lane] < least[lane] { vector[lane] } else { least[lane] };
            largest[lane] = if vector[lane] > largest[lane] { vector[lane] } else { largest[lane] };
        }
    }
    let (least, largest) = (least.iter().chain(rest), largest.iter().chain(rest));
    (least.copied().fold(f32::INFINITY, f32::min), largest.copied().fold(f32::NEG_INFINITY, f32::max))
}
