//! RMSD of each frame from the nearest of several references, one for each order of equivalent atoms.

use super::each_frame::{EachFrame, Measure};
use super::rmsd::Distance;
use crate::error::{Error, Result};
use crate::frame::Octets;
use crate::simd::{Lanes, Level};

/// Root mean square distance of every frame from the nearest reference, in Å and in float64.
pub type SymmetricRmsd = EachFrame<Nearest, 1>;

/// Distance of a frame from the nearest reference.
#[derive(Debug)]
pub struct Nearest(Vec<Distance>);

impl SymmetricRmsd {
    /// Creates the computation of the RMSD from the nearest of `references` (Å), with equal weights.
    ///
    /// With `superposition`, each frame is superposed on each reference; otherwise, the coordinates are used as stored. Returns
    /// an error if there are no references, if their numbers of atoms differ, or if the RMSD from one of them is not defined.
    pub fn new(references: &[Vec<[f64; 3]>], superposition: bool) -> Result<Self> {
        let level = Level::detect();
        let distances = references.iter().map(|one| Distance::new(one, None, superposition, level));
        let distances = distances.collect::<Result<Vec<_>>>()?;
        let Some(first) = distances.first() else {
            return Err(Error::mismatch("there are no references"));
        };
        if distances.iter().any(|one| one.n_atoms() != first.n_atoms()) {
            return Err(Error::mismatch("the references have different numbers of atoms"));
        }
        Ok(EachFrame::with(Nearest(distances), level))
    }
}

impl Measure<1> for Nearest {
    const NAME: &'static str = "RMSD";

    fn n_atoms(&self) -> usize {
        self.0[0].n_atoms()
    }

    #[inline(always)]
    fn of<L: Lanes>(&self, frame: Octets<'_>) -> [f64; 1] {
        let mut nearest = f64::INFINITY;
        for distance in &self.0 {
            nearest = nearest.min(distance.of::<L>(frame)[0]);
        }
        [nearest]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fixture::{batch, mapped};
    use crate::kernel::rmsd::Rmsd;

    #[test]
    fn distance_is_the_smallest_of_all_references() {
        let frames: Vec<Vec<[f32; 3]>> =
            (0..5u8).map(|i| (0..4u8).map(|k| [k * i, k + i, k * k].map(f32::from)).collect()).collect();
        let references: Vec<Vec<[f64; 3]>> =
            frames[1..4].iter().map(|frame| frame.iter().map(|point| point.map(f64::from)).collect()).collect();
        for superposition in [true, false] {
            let each: Vec<Vec<f64>> = references
                .iter()
                .map(|one| {
                    let rmsd = Rmsd::new(one, None, superposition).unwrap();
                    mapped(rmsd, &[batch(0, &frames, None)]).unwrap().rows.column(0).collect()
                })
                .collect();
            let expected: Vec<f64> =
                (0..5).map(|i| each.iter().map(|one| one[i]).fold(f64::INFINITY, f64::min)).collect();
            let nearest = SymmetricRmsd::new(&references, superposition).unwrap();
            let found: Vec<f64> = mapped(nearest, &[batch(0, &frames, None)]).unwrap().rows.column(0).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn references_of_nothing_are_refused() {
        assert!(SymmetricRmsd::new(&[], true).unwrap_err().to_string().contains("no references"));
        let two = [vec![[0.0; 3]; 2], vec![[0.0; 3]; 3]];
        assert!(SymmetricRmsd::new(&two, true).unwrap_err().to_string().contains("different numbers of atoms"));
        let nearest = SymmetricRmsd::new(&two[..1], false).unwrap();
        let message = mapped(nearest, &[batch(7, &[vec![[f32::NAN; 3]; 2]], None)]).unwrap_err().to_string();
        assert!(message.contains("frame 7: atom 0 of the 2 selected"), "{message}");
    }
}
