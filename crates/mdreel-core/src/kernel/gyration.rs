//! Radii of gyration: root mean square distances of atoms from their centre.

use std::sync::Arc;

use super::each_frame::{EachFrame, Measure};
use super::group::Group;
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Octets};
use crate::reduce::{Layout, Slots};
use crate::simd::{Lanes, Level};
use crate::superpose::WeightedPoints;

/// The radius of gyration of each frame, and the radii about the x, y and z axes through the centre, in Å.
pub type Gyration = EachFrame<Radii, 4>;

/// Measure of the radii of gyration of a frame.
#[derive(Debug)]
pub struct Radii(WeightedPoints);

impl Gyration {
    /// Creates the computation for `n_atoms` atoms, weighted by `weights` (`None`: equal weights). Returns an error if
    /// there are no atoms, or weights are negative, not finite or all zero.
    pub fn new(n_atoms: usize, weights: Option<&[f64]>) -> Result<Self> {
        Gyration::at_level(n_atoms, weights, Level::detect())
    }

    /// Creates the computation with the vector instructions of `level`. The level does not affect the bits of the result.
    pub(crate) fn at_level(n_atoms: usize, weights: Option<&[f64]>, level: Level) -> Result<Self> {
        Ok(EachFrame::with(Radii(WeightedPoints::new(&vec![[0.0; 3]; n_atoms], weights)?), level))
    }
}

impl Measure<4> for Radii {
    const NAME: &'static str = "radius of gyration";

    fn n_atoms(&self) -> usize {
        self.0.n_points()
    }

    #[inline(always)]
    fn of<L: Lanes>(&self, frame: Octets<'_>) -> [f64; 4] {
        let [x, y, z] = self.0.spread::<L>(frame);
        [(x + y + z).sqrt(), (y + z).sqrt(), (x + z).sqrt(), (x + y).sqrt()]
    }
}

/// The radii of gyration of a group that is selected again in each frame. They are NaN where no atom is selected.
#[derive(Debug, Clone)]
pub struct ChangingGyration {
    n_atoms: usize,
    group: Group,
    weights: Arc<Vec<f64>>,
}

impl ChangingGyration {
    /// Creates the computation for a group among `n_atoms` atoms, with a weight for each atom of the group. Returns an error if
    /// an atom does not exist, or if weights are negative or not finite.
    pub fn new(n_atoms: usize, group: Group, weights: Vec<f64>) -> Result<Self> {
        if let Some(atom) = group.places().iter().find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a radius of gyration needs atom {atom} of {n_atoms}")));
        }
        if weights.len() != group.len() || !weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0) {
            let message =
                format!("{} atoms have {} weights: expected one of 0 or more for each", group.len(), weights.len());
            return Err(Error::mismatch(message));
        }
        Ok(ChangingGyration { n_atoms, group, weights: Arc::new(weights) })
    }
}

impl Computation for ChangingGyration {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout::columns(4)
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        let (places, weights) = (Arc::clone(self.group.places()), Arc::clone(&self.weights));
        for i in 0..batch.len() {
            let columns = batch.columns(i);
            let columns = [columns.x, columns.y, columns.z];
            let numbers = self.group.numbers(batch, i)?;
            let total: f64 = numbers.iter().map(|&number| weights[number as usize]).sum();
            let mean = |of: &dyn Fn(f64) -> f64, column: &[f32]| {
                let value =
                    |&number: &u32| weights[number as usize] * of(f64::from(column[places[number as usize] as usize]));
                numbers.iter().map(value).sum::<f64>() / total
            };
            let [x, y, z] = columns.map(|column| {
                let centre = mean(&|at| at, column);
                mean(&|at| (at - centre) * (at - centre), column)
            });
            if total > 0.0 && !(x + y + z).is_finite() {
                return Err(not_finite(batch, i, "radius of gyration"));
            }
            slots.row(i).copy_from_slice(&[(x + y + z).sqrt(), (y + z).sqrt(), (x + z).sqrt(), (x + y).sqrt()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::fixture::{batch, mapped};

    fn radii(points: &[[f32; 3]], weights: Option<&[f64]>, level: Level) -> Result<Vec<f64>> {
        let gyration = Gyration::at_level(points.len(), weights, level)?;
        Ok(mapped(gyration, &[batch(3, &[points.to_vec()], None)])?.rows.into_values().split_off(2))
    }

    proptest! {
        #[test]
        fn radii_are_those_of_the_formula(
            points in prop::collection::vec((prop::array::uniform3(-50f32..50.0), 0.5f64..20.0), 1..40),
            shift in -500f32..500.0,
        ) {
            let (points, weights): (Vec<[f32; 3]>, Vec<f64>) =
                points.into_iter().map(|(point, weight)| (point.map(|x| x + shift), weight)).unzip();
            let found = radii(&points, Some(&weights), Level::detect()).unwrap();
            for level in Level::available() {
                prop_assert_eq!(&radii(&points, Some(&weights), level).unwrap(), &found);
            }
            let total: f64 = weights.iter().sum();
            let mean = |of: &dyn Fn(&[f32; 3]) -> f64| points.iter().zip(&weights).map(|(p, w)| w * of(p)).sum::<f64>() / total;
            let centre: [f64; 3] = std::array::from_fn(|k| mean(&|point| f64::from(point[k])));
            let about = |axes: &[usize]| {
                mean(&|point| axes.iter().map(|&k| (f64::from(point[k]) - centre[k]).powi(2)).sum()).sqrt()
            };
            for (found, axes) in found.iter().zip([&[0, 1, 2][..], &[1, 2], &[0, 2], &[0, 1]]) {
                prop_assert!((found - about(axes)).abs() < 1e-9, "{} and {}", found, about(axes));
            }
        }
    }

    #[test]
    fn frame_without_finite_coordinates_is_named() {
        let message = radii(&[[0.0; 3], [0.0, f32::NAN, 0.0]], None, Level::detect()).unwrap_err().to_string();
        assert!(message.contains("frame 3: atom 1 of the 2 selected"), "{message}");
    }

    #[test]
    fn new_refuses_what_has_no_centre() {
        for (n_atoms, weights, expected) in [(0, None, "no atoms"), (2, Some(&[0.0, 0.0][..]), "weights are 0")] {
            let message = Gyration::new(n_atoms, weights).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
