//! Frames of few atoms, whose coordinates are plain floats.

use crate::frame::ColumnsMut;
use crate::source::AtomSelection;
use crate::units::ANGSTROM_PER_NANOMETRE;

/// Reads the positions of the selected atoms, which are stored as plain floats in nm, and converts them to Å.
pub(super) fn decode_plain(data: &[u8], atoms: &AtomSelection, columns: &mut ColumnsMut<'_>) {
    for (i, &atom) in atoms.indices().iter().enumerate() {
        let value = |axis: usize| {
            let at = 12 * atom as usize + 4 * axis;
            let word = [data[at], data[at + 1], data[at + 2], data[at + 3]];
            f32::from_be_bytes(word) * ANGSTROM_PER_NANOMETRE
        };
        (columns.x[i], columns.y[i], columns.z[i]) = (value(0), value(1), value(2));
    }
}
