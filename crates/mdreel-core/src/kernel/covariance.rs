//! Covariance: exact sums of the products of all pairs of displacements.
//!
//! The module `panels` contains the arithmetic, and `docs/design/009-covariance.md` describes it.

use std::sync::Arc;

use super::Computation;
use super::chosen::Chosen;
use super::fit::Fit;
use super::fluctuation::columns_of;
use super::moved::Moved;
use super::panels::{FRACTION, Panels, are_near, far_steps, row_begin};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities};
use crate::reduce::{Layout, Slots, Sum};
use crate::simd::{Lanes, Level, Operation};

/// Two kinds of sums over frames: the displacement of each coordinate from a structure (Å), and the product of the displacement
/// of each coordinate with itself and with those of all coordinates that follow (Å²).
///
/// The products are in the order of the rows of the upper triangle. The coordinates are x, y and z of the first atom, then of
/// the second atom, and so on.
#[derive(Debug, Clone)]
pub struct Covariance {
    n_atoms: usize,
    moved: Moved,
    reference: Arc<[Vec<f64>; 3]>,
    panels: Panels,
    level: Level,
}

/// Returns the number of coordinates of `n_atoms` atoms.
fn n_coordinates(n_atoms: usize) -> usize {
    3 * n_atoms
}

impl Covariance {
    /// Creates the computation of displacements from `reference` (Å).
    ///
    /// The computation uses `atoms` (`None`: all) of frames with `n_atoms` atoms, moved by `fit` (`None`: not moved).
    pub fn new(n_atoms: usize, fit: Option<Fit>, atoms: Option<Vec<u32>>, reference: &[[f64; 3]]) -> Result<Self> {
        Covariance::at_level(n_atoms, fit, atoms, reference, Level::detect())
    }

    /// Creates the computation with the vector instructions of `level`. The level does not affect the bits of the result.
    pub(crate) fn at_level(
        n_atoms: usize,
        fit: Option<Fit>,
        atoms: Option<Vec<u32>>,
        reference: &[[f64; 3]],
        level: Level,
    ) -> Result<Self> {
        if reference.is_empty() {
            return Err(Error::mismatch("there are no atoms"));
        }
        let chosen = Chosen::new(n_atoms, atoms, reference.len(), Quantities::POSITIONS)?;
        let moved = Moved::new(fit, chosen, level);
        Ok(Covariance { n_atoms, moved, reference: Arc::new(columns_of(reference)?), panels: Panels::default(), level })
    }
}

impl Computation for Covariance {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        let n = n_coordinates(self.reference[0].len());
        Layout { n_sums: n + n * (n + 1) / 2, ..Layout::default() }
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        let n = n_coordinates(self.reference[0].len());
        self.panels.reserve(n);
        let mut frames = self.moved.frames(batch)?;
        for i in 0..batch.len() {
            if !self.panels.has_room(1) {
                add_panels(&mut self.panels, self.level, slots.sums);
            }
            let columns = frames.columns(i);
            let add = AddFrame { columns, reference: &self.reference, panels: &mut self.panels };
            if !self.level.run(add) {
                add_far(columns, &self.reference, batch.header(i).index, slots.sums)?;
            }
        }
        Ok(())
    }

    fn complete(&mut self, slots: &mut Slots<'_>) -> bool {
        let is_empty = self.panels.is_empty();
        if !is_empty {
            add_panels(&mut self.panels, self.level, slots.sums);
        }
        !is_empty
    }
}

/// Adds the frames in the panels to the sums, and removes them from the panels.
fn add_panels(panels: &mut Panels, level: Level, sums: &mut [Sum]) {
    panels.add_rows(0, 1, |coordinate| coordinate, sums);
    panels.multiply(level, &mut sums[panels.n_columns()..]);
}

/// Operation that adds a frame to the panels if all atoms are near, and returns whether it did.
struct AddFrame<'a> {
    columns: [&'a [f64]; 3],
    reference: &'a [Vec<f64>; 3],
    panels: &'a mut Panels,
}

impl Operation for AddFrame<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self) -> bool {
        let AddFrame { columns, reference, panels } = self;
        if !are_near(columns, reference) {
            return false;
        }
        let mut largest = 0;
        for (k, (of, from)) in columns.into_iter().zip(reference).enumerate() {
            for (atom, (of, from)) in of.iter().zip(from).enumerate() {
                let step = Sum::steps(of - from, FRACTION) as i32;
                *panels.step(0, 3 * atom + k) = step;
                largest = step.unsigned_abs().max(largest);
            }
        }
        panels.keep([largest]);
        true
    }
}

/// Adds a frame in which an atom is far away to the sums, product by product.
#[cold]
fn add_far(columns: [&[f64]; 3], reference: &[Vec<f64>; 3], frame: u64, sums: &mut [Sum]) -> Result<()> {
    let steps = far_steps(columns, reference, frame)?.concat();
    let (sums, products) = sums.split_at_mut(steps.len());
    for (i, &of) in steps.iter().enumerate() {
        sums[i] += Sum::of_steps(of, FRACTION);
        let begin = row_begin(i, steps.len());
        for (sum, &with) in products[begin..].iter_mut().zip(&steps[i..]) {
            *sum += Sum::of_wide_steps(i128::from(of) * i128::from(with), 2 * FRACTION);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::Kernel;
    use crate::kernel::fixture::{batch, mapped, mapped_together};
    use crate::kernel::pass::Pass;

    const N_ATOMS: usize = 7;
    type Frame = Vec<[f32; 3]>;

    fn sums(computation: Covariance, parts: &[&[Frame]]) -> Result<Vec<Sum>> {
        let batches = parts.iter().filter(|frames| !frames.is_empty()).map(|frames| batch(0, frames, None));
        Ok(mapped(computation, &batches.collect::<Vec<_>>())?.sums)
    }

    fn frame(most: f32) -> impl Strategy<Value = Frame> {
        prop::collection::vec(prop::array::uniform3(-most..most), N_ATOMS)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn sums_are_those_of_all_frames_and_have_the_same_bits_however_frames_are_cut(
            frames in prop::collection::vec(prop_oneof![9 => frame(50.0), 1 => frame(1e4)], 1..80),
            reference in frame(50.0),
            cut in 0usize..80,
        ) {
            let reference: Vec<[f64; 3]> = reference.iter().map(|point| point.map(f64::from)).collect();
            let made = |level| Covariance::at_level(N_ATOMS, None, None, &reference, level).unwrap();
            let whole = sums(made(Level::detect()), &[&frames]).unwrap();
            let (left, right) = frames.split_at(cut % frames.len());
            for level in Level::available() {
                prop_assert_eq!(&sums(made(level), &[right, left]).unwrap(), &whole);
            }
            let batches: Vec<FrameBatch> = frames.chunks(1 + cut % 20).map(|frames| batch(0, frames, None)).collect();
            prop_assert_eq!(&mapped_together(made(Level::detect()), &batches).unwrap().sums, &whole);
            let n = 3 * N_ATOMS;
            let d: Vec<Vec<f64>> = frames.iter().map(|frame| {
                frame.iter().zip(&reference).flat_map(|(x, y)| [0, 1, 2].map(|k| f64::from(x[k]) - y[k])).collect()
            }).collect();
            for i in 0..n {
                let expected: f64 = d.iter().map(|d| d[i]).sum();
                prop_assert!((whole[i].value() - expected).abs() < 1e-6 * frames.len() as f64);
                for j in i..n {
                    let (found, expected): (f64, f64) =
                        (whole[n + row_begin(i, n) + j - i].value(), d.iter().map(|d| d[i] * d[j]).sum());
                    let bound: f64 = d.iter().map(|d| 2.5e-7 * (d[i].abs() + d[j].abs() + 1e-6)).sum();
                    prop_assert!((found - expected).abs() < bound, "{i} {j}: {found} and {expected}");
                }
            }
        }

        #[test]
        fn rigid_motion_does_not_matter_after_superposition(
            frames in prop::collection::vec(frame(20.0), 2..5), angle in -3.0f64..3.0, shift in -100f64..100.0,
        ) {
            let reference: Vec<[f64; 3]> = frames[0].iter().map(|point| point.map(f64::from)).collect();
            let made = || {
                let fit = Fit::new(N_ATOMS, None, &reference, None, Level::detect()).unwrap();
                Covariance::new(N_ATOMS, Some(fit), None, &reference).unwrap()
            };
            let (sin, cos) = angle.sin_cos();
            let moved: Vec<Frame> = frames.iter().map(|frame| frame.iter().map(|point| {
                let [x, y, z] = point.map(f64::from);
                [(x * cos - y * sin + shift) as f32, (x * sin + y * cos) as f32, (z - shift) as f32]
            }).collect()).collect();
            let (found, expected) = (sums(made(), &[&moved]).unwrap(), sums(made(), &[&frames]).unwrap());
            // Two very different frames can have two superpositions with almost the same RMSD. The rounding to float32 then
            // decides between them.
            let near = found.iter().zip(&expected).filter(|(a, b)| (a.value() - b.value()).abs() < 2e-2).count();
            prop_assert!(near as f64 >= 0.9 * found.len() as f64);
        }
    }

    #[test]
    fn frames_before_an_error_are_not_kept_for_the_next_block() {
        let mut pass = Pass::of(Covariance::new(N_ATOMS, None, None, &[[0.0; 3]; N_ATOMS]).unwrap());
        let mut frames = vec![vec![[1.0; 3]; N_ATOMS]; 3];
        let alone =
            mapped(Covariance::new(N_ATOMS, None, None, &[[0.0; 3]; N_ATOMS]).unwrap(), &[batch(0, &frames, None)])
                .unwrap();
        frames[2][5][2] = f32::NAN;
        let mut failed = pass.empty();
        assert!(pass.map(&batch(0, &frames, None), &mut failed).is_err());
        assert!(pass.complete(&mut failed));
        let mut next = pass.empty();
        pass.map(&batch(0, &vec![vec![[1.0; 3]; N_ATOMS]; 3], None), &mut next).unwrap();
        assert!(pass.complete(&mut next));
        assert_eq!(next.sums, alone.sums);
        assert!(!pass.complete(&mut next));
    }

    #[test]
    fn map_names_frame_and_atom_that_cannot_be_added() {
        for wrong in [f32::NAN, f32::INFINITY, 1e9] {
            let mut frames = vec![vec![[0.0; 3]; N_ATOMS]; 3];
            frames[1][5][2] = wrong;
            let covariance = Covariance::new(N_ATOMS, None, None, &[[0.0; 3]; N_ATOMS]).unwrap();
            let message = sums(covariance, &[&frames]).unwrap_err().to_string();
            assert!(message.contains("frame 1: atom 5 of those selected"), "{message}");
        }
        assert!(Covariance::new(0, None, None, &[]).unwrap_err().to_string().contains("no atoms"));
    }
}
