//! Computation of values of single frames, which do not depend on other frames.

use std::sync::Arc;

use super::{Computation, not_finite};
use crate::error::Result;
use crate::frame::{FrameBatch, Octets};
use crate::reduce::{Layout, Slots};
use crate::simd::{Lanes, Level, Operation};

/// A function that computes `N` values of a frame.
pub trait Measure<const N: usize>: Send + Sync + 'static {
    /// The name of the quantity, for error messages.
    const NAME: &'static str;

    /// Returns the number of atoms in a frame.
    fn n_atoms(&self) -> usize;

    /// Returns the values of a frame. The first value must not be finite if any coordinate is not finite.
    ///
    /// Mark implementations `#[inline(always)]`, as for [`Operation`].
    fn of<L: Lanes>(&self, frame: Octets<'_>) -> [f64; N];
}

/// Computation that applies a measure to each frame.
#[derive(Debug)]
pub struct EachFrame<M, const N: usize> {
    measure: Arc<M>,
    level: Level,
}

impl<M: Measure<N>, const N: usize> EachFrame<M, N> {
    /// Creates the computation with the vector instructions of `level`. The level does not affect the bits of the result.
    pub(super) fn with(measure: M, level: Level) -> Self {
        EachFrame { measure: Arc::new(measure), level }
    }
}

impl<M: Measure<N>, const N: usize> Computation for EachFrame<M, N> {
    fn n_atoms(&self) -> usize {
        self.measure.n_atoms()
    }

    fn layout(&self) -> Layout {
        Layout::columns(N)
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(EachFrame { measure: Arc::clone(&self.measure), level: self.level })
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        self.level.run(MapBatch { measure: &*self.measure, batch, slots })
    }
}

struct MapBatch<'a, 'b, M, const N: usize> {
    measure: &'a M,
    batch: &'a FrameBatch,
    slots: &'a mut Slots<'b>,
}

impl<M: Measure<N>, const N: usize> Operation for MapBatch<'_, '_, M, N> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Result<()> {
        for i in 0..self.batch.len() {
            let values = self.measure.of::<L>(self.batch.octets(i));
            if !values[0].is_finite() {
                return Err(not_finite(self.batch, i, M::NAME));
            }
            self.slots.row(i).copy_from_slice(&values);
        }
        Ok(())
    }
}
