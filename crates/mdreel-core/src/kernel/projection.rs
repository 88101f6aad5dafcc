//! Projections of frames onto directions in the space of all coordinates.

use std::sync::Arc;

use super::chosen::Chosen;
use super::fit::Fit;
use super::fluctuation::columns_of;
use super::moved::Moved;
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, LANES, Quantities};
use crate::reduce::{Layout, Slots};
use crate::simd::{Lanes, Level, Octet, Operation};

/// The inner product of the displacement of each frame from a structure with each of several directions, in Å.
#[derive(Debug, Clone)]
pub struct Projection {
    n_atoms: usize,
    moved: Moved,
    /// x, y and z of the structure, in octets.
    origin: Arc<[Vec<Octet>; 3]>,
    /// x, y and z of each direction, in octets.
    directions: Arc<Vec<[Vec<Octet>; 3]>>,
    level: Level,
}

/// Divides a column into octets. The last octet is padded with zeros.
fn octets(column: &[f64]) -> Vec<Octet> {
    let octet = |part: &[f64]| Octet(std::array::from_fn(|i| part.get(i).copied().unwrap_or(0.0)));
    column.chunks(LANES).map(octet).collect()
}

fn octets_of(points: &[[f64; 3]]) -> Result<[Vec<Octet>; 3]> {
    Ok(columns_of(points)?.map(|column| octets(&column)))
}

impl Projection {
    /// Creates the computation of projections of the displacements from `origin` (Å) onto `directions`.
    ///
    /// The computation uses `atoms` (`None`: all) of frames with `n_atoms` atoms, moved by `fit` (`None`: not moved). Returns
    /// an error if lengths differ or numbers are not finite.
    pub fn new(
        n_atoms: usize,
        fit: Option<Fit>,
        atoms: Option<Vec<u32>>,
        origin: &[[f64; 3]],
        directions: &[Vec<[f64; 3]>],
    ) -> Result<Self> {
        Projection::at_level(n_atoms, fit, atoms, origin, directions, Level::detect())
    }

    /// Creates the computation with the vector instructions of `level`. The level does not affect the bits of the result.
    pub(crate) fn at_level(
        n_atoms: usize,
        fit: Option<Fit>,
        atoms: Option<Vec<u32>>,
        origin: &[[f64; 3]],
        directions: &[Vec<[f64; 3]>],
        level: Level,
    ) -> Result<Self> {
        if origin.is_empty() {
            return Err(Error::mismatch("there are no atoms"));
        }
        if let Some(wrong) = directions.iter().find(|direction| direction.len() != origin.len()) {
            let (expected, got) = (origin.len(), wrong.len());
            return Err(Error::mismatch(format!("a direction has {got} atoms, expected {expected}")));
        }
        let chosen = Chosen::new(n_atoms, atoms, origin.len(), Quantities::POSITIONS)?;
        let directions = directions.iter().map(|direction| octets_of(direction)).collect::<Result<Vec<_>>>()?;
        Ok(Projection {
            n_atoms,
            moved: Moved::new(fit, chosen, level),
            origin: Arc::new(octets_of(origin)?),
            directions: Arc::new(directions),
            level,
        })
    }
}

impl Computation for Projection {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout::columns(self.directions.len())
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        let mut frames = self.moved.frames(batch)?;
        for i in 0..batch.len() {
            let (columns, values) = (frames.columns(i), slots.row(i));
            self.level.run(Project { columns, origin: &self.origin, directions: &self.directions, values });
            if !values.iter().all(|value| value.is_finite()) {
                return Err(not_finite(batch, i, "projection"));
            }
        }
        Ok(())
    }
}

struct Project<'a> {
    columns: [&'a [f64]; 3],
    origin: &'a [Vec<Octet>; 3],
    directions: &'a [[Vec<Octet>; 3]],
    values: &'a mut [f64],
}

impl Operation for Project<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        for (value, direction) in self.values.iter_mut().zip(self.directions) {
            let mut total = [L::splat(0.0); 3];
            for k in 0..3 {
                let (column, origin) = (self.columns[k].as_chunks::<LANES>().0, &self.origin[k]);
                for ((of, from), along) in column.iter().zip(origin).zip(&direction[k]) {
                    let distance = L::load(&Octet(*of)).sub(L::load(from));
                    total[k] = distance.mul_add(L::load(along), total[k]);
                }
            }
            *value = total[0].add(total[1]).add(total[2]).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::fixture::{batch, mapped};

    const N_ATOMS: usize = 11;

    fn points(most: f64) -> impl Strategy<Value = Vec<[f64; 3]>> {
        prop::collection::vec(prop::array::uniform3(-most..most), N_ATOMS)
    }

    proptest! {
        #[test]
        fn projections_are_inner_products(frame in points(50.0), origin in points(50.0), along in points(1.0)) {
            let frame: Vec<[f32; 3]> = frame.iter().map(|point| point.map(|x| x as f32)).collect();
            let negative = along.iter().map(|point| point.map(|x| -x)).collect();
            let directions = [along.clone(), negative];
            let found = |level| {
                let projection = Projection::at_level(N_ATOMS, None, None, &origin, &directions, level).unwrap();
                mapped(projection, &[batch(0, std::slice::from_ref(&frame), None)]).unwrap().rows.into_values()
            };
            let values = found(Level::detect());
            for level in Level::available() {
                prop_assert_eq!(&found(level), &values);
            }
            let expected: f64 = (0..N_ATOMS)
                .flat_map(|i| (0..3).map(move |k| (i, k)))
                .map(|(i, k)| (f64::from(frame[i][k]) - origin[i][k]) * along[i][k])
                .sum();
            prop_assert!((values[2] - expected).abs() < 1e-9 && (values[3] + expected).abs() < 1e-9);
        }
    }

    #[test]
    fn what_has_no_projection_is_named() {
        let origin = [[0.0; 3]; 2];
        let refused = |directions: &[Vec<[f64; 3]>]| Projection::new(2, None, None, &origin, directions).unwrap_err();
        assert!(refused(&[vec![[0.0; 3]]]).to_string().contains("a direction has 1 atoms, expected 2"));
        assert!(refused(&[vec![[f64::NAN; 3]; 2]]).to_string().contains("atom 0 of 2 is at [NaN"));
        let projection = Projection::new(2, None, None, &origin, &[vec![[1.0; 3]; 2]]).unwrap();
        let message = mapped(projection, &[batch(8, &[vec![[0.0; 3], [f32::NAN; 3]]], None)]).unwrap_err();
        assert!(message.to_string().contains("frame 8: atom 1 of the 2 selected"), "{message}");
    }
}
