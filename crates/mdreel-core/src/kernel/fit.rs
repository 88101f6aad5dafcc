//! Superposition of selected atoms of each frame on a reference.

use std::sync::Arc;

use super::chosen::Chosen;
use super::not_finite;
use crate::error::Result;
use crate::frame::{FrameBatch, Quantities};
use crate::simd::{Lanes, Level, Operation};
use crate::superpose::{Reference, Superposition};

/// Superposition of selected atoms on a reference.
#[derive(Debug, Clone)]
pub struct Fit {
    reference: Arc<Reference>,
    chosen: Chosen,
    level: Level,
}

impl Fit {
    /// Creates the superposition of `atoms` (`None`: all) of frames with `n_atoms` atoms on `reference` (Å), weighted by
    /// `weights` (`None`: equal weights).
    pub fn new(
        n_atoms: usize,
        atoms: Option<Vec<u32>>,
        reference: &[[f64; 3]],
        weights: Option<&[f64]>,
        level: Level,
    ) -> Result<Self> {
        let reference = Arc::new(Reference::new(reference, weights, level)?);
        let chosen = Chosen::new(n_atoms, atoms, reference.n_atoms(), Quantities::POSITIONS)?;
        Ok(Fit { reference, chosen, level })
    }

    /// Returns the weighted centre of the reference, in Å.
    pub(crate) fn centre(&self) -> [f64; 3] {
        self.reference.centre()
    }

    /// Returns the vector instructions that the superposition uses.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// Returns the superposition of each frame of `batch`. Returns an error if one is not finite.
    pub(crate) fn motions(&mut self, batch: &FrameBatch) -> Result<Vec<Superposition>> {
        self.level.run(FitBatch { reference: &self.reference, batch: self.chosen.of(batch) })
    }
}

struct FitBatch<'a> {
    reference: &'a Reference,
    batch: &'a FrameBatch,
}

impl Operation for FitBatch<'_> {
    type Output = Result<Vec<Superposition>>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Result<Vec<Superposition>> {
        let mut motions = Vec::with_capacity(self.batch.len());
        for i in 0..self.batch.len() {
            match self.reference.fit::<L>(self.batch.octets(i)) {
                Some(motion) => motions.push(motion),
                None => return Err(not_finite(self.batch, i, "superposition")),
            }
        }
        Ok(motions)
    }
}
