//! Positions in float64, as stored or after the superposition of selected atoms of each frame on a reference.

use super::chosen::Chosen;
use super::fit::Fit;
use crate::error::Result;
use crate::frame::{FrameBatch, LANES};
use crate::simd::{Lanes, Level, Operation};
use crate::superpose::Superposition;

/// Selected atoms of frames, and the superposition that moves them.
#[derive(Debug, Clone)]
pub(super) struct Moved {
    fit: Option<Fit>,
    chosen: Chosen,
    /// x, y and z of one frame, padded to full octets.
    columns: [Vec<f64>; 3],
    level: Level,
}

/// Moved frames of a batch.
pub(super) struct MovedFrames<'a> {
    motions: Option<Vec<Superposition>>,
    batch: &'a FrameBatch,
    columns: &'a mut [Vec<f64>; 3],
    level: Level,
}

impl Moved {
    /// Creates the computation for the atoms of `chosen`, moved by the superposition of `fit` (`None`: not moved).
    pub(crate) fn new(fit: Option<Fit>, chosen: Chosen, level: Level) -> Self {
        let padded = vec![0.0; chosen.n_atoms().div_ceil(LANES) * LANES];
        Moved { fit, chosen, columns: [padded.clone(), padded.clone(), padded], level }
    }

    /// Computes the superposition of each frame of `batch` and returns the frames. Returns an error if a superposition is not
    /// finite.
    pub(crate) fn frames<'a>(&'a mut self, batch: &'a FrameBatch) -> Result<MovedFrames<'a>> {
        let motions = self.fit.as_mut().map(|fit| fit.motions(batch)).transpose()?;
        Ok(MovedFrames { motions, batch: self.chosen.of(batch), columns: &mut self.columns, level: self.level })
    }
}

impl MovedFrames<'_> {
    /// Returns the RMSD of the `i`-th frame after superposition, in Å; `None` without superposition.
    pub(crate) fn rmsd(&self, i: usize) -> Option<f64> {
        self.motions.as_ref().map(|motions| motions[i].rmsd)
    }

    /// Returns x, y and z of the `i`-th frame, in Å, padded to full octets.
    pub(crate) fn columns(&mut self, i: usize) -> [&[f64]; 3] {
        let motion = self.motions.as_ref().map(|motions| &motions[i]);
        self.level.run(Move { batch: self.batch, i, motion, columns: self.columns });
        let [x, y, z] = &*self.columns;
        [x, y, z]
    }
}

struct Move<'a> {
    batch: &'a FrameBatch,
    i: usize,
    motion: Option<&'a Superposition>,
    columns: &'a mut [Vec<f64>; 3],
}

impl Operation for Move<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let frame = self.batch.columns(self.i);
        let [to_x, to_y, to_z] = self.columns;
        let Some(motion) = self.motion else {
            for (to, from) in [to_x, to_y, to_z].into_iter().zip([frame.x, frame.y, frame.z]) {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = f64::from(*from));
            }
            return;
        };
        let ([cx, cy, cz], to_centre) = (motion.mobile_centre, motion.reference_centre);
        for ((to, row), centre) in [to_x, to_y, to_z].into_iter().zip(&motion.rotation).zip(to_centre) {
            for (((to, x), y), z) in to.iter_mut().zip(frame.x).zip(frame.y).zip(frame.z) {
                let d = [f64::from(*x) - cx, f64::from(*y) - cy, f64::from(*z) - cz];
                *to = row[0].mul_add(d[0], row[1].mul_add(d[1], row[2] * d[2])) + centre;
            }
        }
    }
}
