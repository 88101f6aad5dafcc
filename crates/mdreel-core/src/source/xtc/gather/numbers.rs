//! Packed numbers and their conversion to coordinates.

use crate::units::ANGSTROM_PER_NANOMETRE;

/// The widest number that vectors are used for.
#[cfg(target_arch = "x86_64")]
pub(super) const MAX_BITS: u32 = 48;

/// An integer coordinate in Å. The two multiplications in float32 are those of the reference reader and of
/// MDAnalysis, so the bits agree.
#[inline(always)]
pub(crate) fn angstrom(value: i32, inverse_precision: f32) -> f32 {
    value as f32 * inverse_precision * ANGSTROM_PER_NANOMETRE
}
