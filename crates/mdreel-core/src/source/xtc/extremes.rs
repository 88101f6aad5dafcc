//! Comparison of the extreme coordinates of a frame with its header.
//!
//! A header contains the smallest and the largest integer of each axis. Writers take them from the coordinates of the
//! same frame, so some atom has each of these values. The comparison needs a frame with all atoms decoded.

use super::gather::angstrom;
use super::header::{Compression, MIN_AT};
use crate::frame::Columns;
use crate::source::fault::Fault;

/// Checks the coordinates, Å, of all atoms of a frame. The byte of a fault is counted from the start of the frame.
///
/// Integers and coordinates are in the same order, so the least coordinate is that of the least integer. Integers
/// above 2^24 may share a coordinate with their neighbours: these cannot be distinguished, and this is not necessary.
pub(super) fn check(compression: &Compression, columns: &Columns<'_>) -> Result<(), Fault> {
    let inverse_precision = compression.inverse_precision();
    for (axis, column) in [columns.x, columns.y, columns.z].into_iter().enumerate() {
        let (least, largest) = extremes(column);
        let min = compression.min[axis];
        // Sizes are at least 1, and the sum is the largest integer of the header, which has 32 bits.
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

/// The least and the largest of some numbers.
fn extremes(column: &[f32]) -> (f32, f32) {
    const LANES: usize = 16;
    let (mut least, mut largest) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES]);
    let (vectors, rest) = column.as_chunks::<LANES>();
    // Comparisons, not `min` and `max`: these make one vector instruction each. There is no NaN among the numbers.
    for vector in vectors {
        for lane in 0..LANES {
            least[lane] = if vector[lane] < least[lane] { vector[lane] } else { least[lane] };
            largest[lane] = if vector[lane] > largest[lane] { vector[lane] } else { largest[lane] };
        }
    }
    let (least, largest) = (least.iter().chain(rest), largest.iter().chain(rest));
    (least.copied().fold(f32::INFINITY, f32::min), largest.copied().fold(f32::NEG_INFINITY, f32::max))
}
