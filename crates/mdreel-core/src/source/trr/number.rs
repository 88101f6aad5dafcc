//! Numbers of a section: big-endian, in single or double precision, multiplied by the factor of their unit.

use crate::source::interleaved::Number;

/// A number in single precision, multiplied by this factor.
#[derive(Clone, Copy)]
pub(super) struct SingleTimes(pub f32);

/// A number in double precision, multiplied by this factor. It is rounded to single precision before the
/// multiplication, as in MDAnalysis.
#[derive(Clone, Copy)]
pub(super) struct DoubleTimes(pub f32);

impl Number<4> for SingleTimes {
    #[inline(always)]
    fn of(self, bytes: [u8; 4]) -> f32 {
        f32::from_be_bytes(bytes) * self.0
    }
}

impl Number<8> for DoubleTimes {
    #[inline(always)]
    fn of(self, bytes: [u8; 8]) -> f32 {
        f64::from_be_bytes(bytes) as f32 * self.0
    }
}
