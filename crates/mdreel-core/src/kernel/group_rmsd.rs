//! RMSD of several groups of atoms after one superposition.

use std::sync::Arc;

use super::chosen::Chosen;
use super::fit::Fit;
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities};
use crate::reduce::{Layout, Slots};
use crate::simd::{Lanes, Level, Operation};
use crate::superpose::{Superposition, WeightedPoints};

/// A group of atoms with its reference positions and weights.
#[derive(Debug, Clone)]
pub struct Group {
    /// Indices of the atoms in a frame.
    pub atoms: Vec<u32>,
    /// Positions in the reference, Å.
    pub reference: Vec<[f64; 3]>,
    /// Weights of the atoms; `None` for equal weights.
    pub weights: Option<Vec<f64>>,
}

/// RMSD of several groups of atoms in each frame, in Å.
///
/// With superposition, the first value is the RMSD of the superposed atoms, and each group is moved with them. Without
/// superposition, the groups are compared with the coordinates as stored.
#[derive(Debug, Clone)]
pub struct GroupRmsd {
    n_atoms: usize,
    fit: Option<Fit>,
    groups: Vec<(Arc<WeightedPoints>, Chosen)>,
    level: Level,
}

impl GroupRmsd {
    /// Creates the computation for frames of `n_atoms` atoms. Returns an error if the atoms of a group do not exist, or if no
    /// RMSD is defined for a group.
    pub fn new(n_atoms: usize, fitted: Option<&Group>, groups: &[Group]) -> Result<Self> {
        GroupRmsd::at_level(n_atoms, fitted, groups, Level::detect())
    }

    /// Creates the computation with the vector instructions of `level`. The level does not affect the bits of the result.
    pub(crate) fn at_level(n_atoms: usize, fitted: Option<&Group>, groups: &[Group], level: Level) -> Result<Self> {
        let fit = match fitted {
            None => None,
            Some(Group { atoms, reference, weights }) => {
                Some(Fit::new(n_atoms, Some(atoms.clone()), reference, weights.as_deref(), level)?)
            }
        };
        // Groups rotate about the centre of the reference.
        let origin = fit.as_ref().map_or([0.0; 3], Fit::centre);
        let relative = |point: &[f64; 3]| std::array::from_fn(|k| point[k] - origin[k]);
        let prepared = groups.iter().enumerate().map(|(i, group)| {
            let points = group.reference.iter().map(relative).collect::<Vec<_>>();
            let named = |error| Error::mismatch(format!("group {i}: {error}"));
            let points = WeightedPoints::new(&points, group.weights.as_deref()).map_err(named)?;
            let atoms = Some(group.atoms.clone());
            let chosen = Chosen::new(n_atoms, atoms, points.n_points(), Quantities::POSITIONS).map_err(named)?;
            Ok((Arc::new(points), chosen))
        });
        let groups = prepared.collect::<Result<_>>()?;
        Ok(GroupRmsd { n_atoms, fit, groups, level })
    }
}

impl Computation for GroupRmsd {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout::columns(usize::from(self.fit.is_some()) + self.groups.len())
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        let motions = self.fit.as_mut().map(|fit| fit.motions(batch)).transpose()?;
        let first = usize::from(motions.is_some());
        for (i, motion) in motions.iter().flatten().enumerate() {
            slots.row(i)[0] = motion.rmsd;
        }
        for (column, (points, chosen)) in (first..).zip(&mut self.groups) {
            let (batch, motions) = (chosen.of(batch), motions.as_deref());
            self.level.run(MapGroup { points, batch, motions, column, slots })?;
        }
        Ok(())
    }
}

struct MapGroup<'a, 'b> {
    points: &'a WeightedPoints,
    batch: &'a FrameBatch,
    motions: Option<&'a [Superposition]>,
    column: usize,
    slots: &'a mut Slots<'b>,
}

impl Operation for MapGroup<'_, '_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Result<()> {
        for i in 0..self.batch.len() {
            let frame = self.batch.octets(i);
            let value = match self.motions {
                Some(motions) => self.points.rmsd_after::<L>(frame, &motions[i]),
                None => self.points.rmsd::<L>(frame),
            };
            if !value.is_finite() {
                return Err(not_finite(self.batch, i, "RMSD"));
            }
            self.slots.row(i)[self.column] = value;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::Columns;
    use crate::kernel::fixture::{batch, mapped};
    use crate::kernel::rmsd::Rmsd;
    use crate::superpose::Reference;

    const N_ATOMS: usize = 19;
    type Frame = Vec<[f32; 3]>;

    fn group(atoms: &[u32], reference: &[[f32; 3]], weights: Option<Vec<f64>>) -> Group {
        let reference = atoms.iter().map(|&atom| reference[atom as usize].map(f64::from)).collect();
        Group { atoms: atoms.to_vec(), reference, weights }
    }

    fn values(computation: impl Computation + 'static, frames: &[Frame]) -> Vec<f64> {
        let rows = mapped(computation, &[batch(0, frames, None)]).unwrap().rows;
        rows.into_values().chunks_exact(2 + 3).flat_map(|row| row[2..].to_vec()).collect()
    }

    fn moved_by_hand(fitted: &Group, frame: &Frame) -> Vec<[f64; 3]> {
        let column = |k: usize| fitted.atoms.iter().map(|&atom| frame[atom as usize][k]).collect::<Vec<f32>>();
        let (x, y, z) = (column(0), column(1), column(2));
        let reference = Reference::new(&fitted.reference, fitted.weights.as_deref(), Level::detect()).unwrap();
        let motion = reference.superpose(Columns { x: &x, y: &y, z: &z }).unwrap();
        frame.iter().map(|point| motion.apply(point.map(f64::from))).collect()
    }

    fn frames() -> impl Strategy<Value = Vec<Frame>> {
        prop::collection::vec(prop::collection::vec(prop::array::uniform3(-30f32..30.0), N_ATOMS), 2..6)
    }

    proptest! {
        #[test]
        fn groups_are_moved_with_the_atoms_that_are_superposed(frames in frames()) {
            let reference = &frames[0];
            let fitted = group(&[0, 2, 3, 5, 8, 13, 14, 15, 16, 18], reference, None);
            let weights: Vec<f64> = (1..=4).map(f64::from).collect();
            let groups = [group(&[1, 4, 6, 7], reference, Some(weights)), group(&[17], reference, None)];
            let made = |level| GroupRmsd::at_level(N_ATOMS, Some(&fitted), &groups, level).unwrap();
            let found = values(made(Level::detect()), &frames);
            for level in Level::available() {
                prop_assert_eq!(&values(made(level), &frames), &found);
            }
            for (frame, found) in frames.iter().zip(found.as_chunks::<3>().0) {
                let moved = moved_by_hand(&fitted, frame);
                for (group, found) in groups.iter().zip(&found[1..]) {
                    let weight = |i: usize| group.weights.as_ref().map_or(1.0, |weights| weights[i]);
                    let square = group.atoms.iter().zip(&group.reference).enumerate().map(|(i, (&atom, at))| {
                        weight(i) * (0..3).map(|k| (moved[atom as usize][k] - at[k]).powi(2)).sum::<f64>()
                    });
                    let expected = (square.sum::<f64>() / (0..group.atoms.len()).map(weight).sum::<f64>()).sqrt();
                    prop_assert!((found - expected).abs() < 1e-9, "{found} and {expected}");
                }
            }
        }

        #[test]
        fn first_column_has_the_bits_of_the_rmsd_without_groups(frames in frames()) {
            let all: Vec<u32> = (0..N_ATOMS as u32).collect();
            let fitted = group(&all, &frames[0], None);
            let two = [group(&all, &frames[0], None), group(&all[..3], &frames[0], None)];
            let found = values(GroupRmsd::new(N_ATOMS, Some(&fitted), &two).unwrap(), &frames);
            let alone = mapped(Rmsd::new(&fitted.reference, None, true).unwrap(), &[batch(0, &frames, None)]).unwrap();
            for (row, alone) in found.as_chunks::<3>().0.iter().zip(alone.rows.column(0)) {
                prop_assert_eq!(row[0], alone);
                // The first group consists of the superposed atoms, so its RMSD is the minimum.
                prop_assert!((row[1] - alone).abs() < 1e-7, "{} and {}", row[1], alone);
            }
        }
    }

    #[test]
    fn groups_without_superposition_are_compared_as_they_are() {
        let frames: Vec<Frame> = vec![vec![[0.0; 3]; N_ATOMS], vec![[3.0, 0.0, 4.0]; N_ATOMS]];
        let three = [&[0u32, 1][..], &[5], &[7, 8, 9]].map(|atoms| group(atoms, &frames[0], None));
        assert_eq!(values(GroupRmsd::new(N_ATOMS, None, &three).unwrap(), &frames), [0.0, 0.0, 0.0, 5.0, 5.0, 5.0]);
    }

    #[test]
    fn bad_groups_and_coordinates_are_named() {
        let good = vec![[0.0, 1.0, 2.0]; N_ATOMS];
        let fitted = group(&[0, 1, 2], &good, None);
        let refused = |groups: &[Group]| GroupRmsd::new(N_ATOMS, Some(&fitted), groups).unwrap_err().to_string();
        let far = Group { atoms: vec![99], reference: vec![[0.0; 3]], weights: None };
        assert!(refused(&[fitted.clone(), far]).contains("group 1: a computation wants atom 99 of 19"));
        assert!(refused(&[group(&[], &good, None)]).contains("group 0: the reference has no atoms"));
        let mut bad = good.clone();
        bad[7][1] = f32::NAN;
        let groups = [group(&[6, 7], &good, None)];
        let computation = GroupRmsd::new(N_ATOMS, Some(&fitted), &groups).unwrap();
        let message = mapped(computation, &[batch(4, &[good, bad], None)]).unwrap_err().to_string();
        assert!(message.contains("frame 5: atom 1 of the 2 selected"), "{message}");
    }
}
