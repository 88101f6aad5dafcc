//! Conversion of packed numbers to coordinates.

use crate::units::ANGSTROM_PER_NANOMETRE;

/// Maximum width of the numbers that vector code unpacks.
#[cfg(target_arch = "x86_64")]
pub(super) const MAX_BITS: u32 = 48;

/// Converts an integer coordinate to Å. The two multiplications in float32 are the same as in the reference reader and
/// in MDAnalysis, so the results agree bit for bit.
#[inline(always)]
pub(crate) fn angstrom(value: i32, inverse_precision: f32) -> f32 {
    value as f32 * inverse_precision * ANGSTROM_PER_NANOMETRE
}
