//! Numbers of a variable: big-endian, in single or double precision, with a scale. Products are rounded as in NumPy and
//! therefore as in MDAnalysis. If an array and its scale have the same precision, so do their products. Otherwise,
//! products have double precision.

use crate::simd::Level;
use crate::source::interleaved::{Number, Target, copy_run, copy_scattered};

/// Precision of the numbers of a variable, and their scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Numbers {
    Single,
    SingleTimesSingle(f32),
    SingleTimesDouble(f64),
    Double,
    DoubleTimes(f64),
}

/// Selected atoms in a range of bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Chosen<'a> {
    /// All atoms.
    Run,
    /// The atoms in these slots, whose origin is arbitrary, and the number of bytes from one frame to the next.
    Slots(&'a [u32], usize),
}

impl Numbers {
    /// Returns the number of bytes of a number.
    pub(crate) fn n_bytes(self) -> u64 {
        match self {
            Numbers::Single | Numbers::SingleTimesSingle(_) | Numbers::SingleTimesDouble(_) => 4,
            Numbers::Double | Numbers::DoubleTimes(_) => 8,
        }
    }

    /// Returns the same numbers multiplied by a factor.
    pub(crate) fn times(self, factor: f64) -> Self {
        match self {
            _ if factor == 1.0 => self,
            Numbers::Single => Numbers::SingleTimesDouble(factor),
            Numbers::SingleTimesSingle(scale) => Numbers::SingleTimesDouble(f64::from(scale) * factor),
            Numbers::SingleTimesDouble(scale) => Numbers::SingleTimesDouble(scale * factor),
            Numbers::Double => Numbers::DoubleTimes(factor),
            Numbers::DoubleTimes(scale) => Numbers::DoubleTimes(scale * factor),
        }
    }

    /// Returns the `i`-th number in `bytes`.
    pub(crate) fn value(self, bytes: &[u8], i: usize) -> f64 {
        let single = || f32::from_be_bytes(bytes.as_chunks::<4>().0[i]);
        let double = || f64::from_be_bytes(bytes.as_chunks::<8>().0[i]);
        match self {
            Numbers::Single => f64::from(single()),
            Numbers::SingleTimesSingle(scale) => f64::from(single() * scale),
            Numbers::SingleTimesDouble(scale) => f64::from(single()) * scale,
            Numbers::Double => double(),
            Numbers::DoubleTimes(scale) => double() * scale,
        }
    }

    /// Copies the chosen atoms in `bytes` to the target.
    pub(crate) fn copy(self, level: Level, bytes: &[u8], chosen: Chosen<'_>, target: &mut Target<'_>) {
        match self {
            Numbers::Single => copy(level, bytes, chosen, Single, target),
            Numbers::SingleTimesSingle(scale) => copy(level, bytes, chosen, SingleTimesSingle(scale), target),
            Numbers::SingleTimesDouble(scale) => copy(level, bytes, chosen, SingleTimesDouble(scale), target),
            Numbers::Double => copy(level, bytes, chosen, Double, target),
            Numbers::DoubleTimes(scale) => copy(level, bytes, chosen, DoubleTimes(scale), target),
        }
    }
}

fn copy<const BYTES: usize>(
    level: Level,
    bytes: &[u8],
    chosen: Chosen<'_>,
    number: impl Number<BYTES>,
    target: &mut Target<'_>,
) {
    match chosen {
        Chosen::Run => copy_run(level, bytes, number, target),
        Chosen::Slots(slots, frame_bytes) => copy_scattered(bytes, number, slots, frame_bytes, target),
    }
}

#[derive(Clone, Copy)]
struct Single;

#[derive(Clone, Copy)]
struct SingleTimesSingle(f32);

#[derive(Clone, Copy)]
struct SingleTimesDouble(f64);

#[derive(Clone, Copy)]
struct Double;

#[derive(Clone, Copy)]
struct DoubleTimes(f64);

impl Number<4> for Single {
    #[inline(always)]
    fn of(self, bytes: [u8; 4]) -> f32 {
        f32::from_be_bytes(bytes)
    }
}

impl Number<4> for SingleTimesSingle {
    #[inline(always)]
    fn of(self, bytes: [u8; 4]) -> f32 {
        f32::from_be_bytes(bytes) * self.0
    }
}

impl Number<4> for SingleTimesDouble {
    #[inline(always)]
    fn of(self, bytes: [u8; 4]) -> f32 {
        (f64::from(f32::from_be_bytes(bytes)) * self.0) as f32
    }
}

impl Number<8> for Double {
    #[inline(always)]
    fn of(self, bytes: [u8; 8]) -> f32 {
        f64::from_be_bytes(bytes) as f32
    }
}

impl Number<8> for DoubleTimes {
    #[inline(always)]
    fn of(self, bytes: [u8; 8]) -> f32 {
        (f64::from_be_bytes(bytes) * self.0) as f32
    }
}
