//! Cross-correlation: exact sums of the inner products of the displacements of all pairs of atoms.
//!
//! Each sum is the trace of a 3 x 3 block of the covariance, so there are a ninth as many sums. The module `panels` contains
//! the arithmetic.

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

/// Number of axes. Each axis is a row of a matrix with one column for each atom.
const AXES: usize = 3;

/// Two kinds of sums over frames: the displacement of each atom from a structure (x, y, z, in Å), and the inner product of the
/// displacement of each atom with itself and with those of all atoms that follow (Å²).
///
/// The inner products are in the order of the rows of the upper triangle.
#[derive(Debug, Clone)]
pub struct CrossCorrelation {
    moved: Moved,
    reference: Arc<[Vec<f64>; 3]>,
    panels: Panels,
    level: Level,
}

impl CrossCorrelation {
    /// Creates the computation for frames with the same number of atoms as `reference` (Å), moved by `fit` (`None`: not moved).
    pub fn new(fit: Option<Fit>, reference: &[[f64; 3]]) -> Result<Self> {
        CrossCorrelation::at_level(fit, reference, Level::detect())
    }

    /// Creates the computation with the vector instructions of `level`. The level does not affect the bits of the result.
    pub(crate) fn at_level(fit: Option<Fit>, reference: &[[f64; 3]], level: Level) -> Result<Self> {
        if reference.is_empty() {
            return Err(Error::mismatch("there are no atoms"));
        }
        let chosen = Chosen::new(reference.len(), None, reference.len(), Quantities::POSITIONS)?;
        let moved = Moved::new(fit, chosen, level);
        Ok(CrossCorrelation { moved, reference: Arc::new(columns_of(reference)?), panels: Panels::default(), level })
    }
}

impl Computation for CrossCorrelation {
    fn n_atoms(&self) -> usize {
        self.reference[0].len()
    }

    fn layout(&self) -> Layout {
        let n = self.reference[0].len();
        Layout { n_sums: AXES * n + n * (n + 1) / 2, ..Layout::default() }
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        let n = self.reference[0].len();
        self.panels.reserve(n);
        let mut frames = self.moved.frames(batch)?;
        for i in 0..batch.len() {
            if !self.panels.has_room(AXES) {
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
    for axis in 0..AXES {
        panels.add_rows(axis, AXES, |atom| AXES * atom + axis, sums);
    }
    panels.multiply(level, &mut sums[AXES * panels.n_columns()..]);
}

/// Operation that adds a frame to the panels, as one row for each axis, if all atoms are near. It returns whether it did.
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
        let mut largest = [0; AXES];
        for (axis, (of, from)) in columns.into_iter().zip(reference).enumerate() {
            largest[axis] = panels.write(axis, of, from);
        }
        panels.keep(largest);
        true
    }
}

/// Adds a frame in which an atom is far away to the sums, product by product.
#[cold]
fn add_far(columns: [&[f64]; 3], reference: &[Vec<f64>; 3], frame: u64, sums: &mut [Sum]) -> Result<()> {
    let steps = far_steps(columns, reference, frame)?;
    let (sums, products) = sums.split_at_mut(AXES * steps.len());
    for (i, of) in steps.iter().enumerate() {
        for (sum, &steps) in sums[AXES * i..].iter_mut().zip(of) {
            *sum += Sum::of_steps(steps, FRACTION);
        }
        let begin = row_begin(i, steps.len());
        for (sum, with) in products[begin..].iter_mut().zip(&steps[i..]) {
            let product: i128 = of.iter().zip(with).map(|(of, with)| i128::from(*of) * i128::from(*with)).sum();
            *sum += Sum::of_wide_steps(product, 2 * FRACTION);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::Kernel;
    use crate::kernel::covariance::Covariance;
    use crate::kernel::fixture::{batch, mapped, mapped_together};
    use crate::kernel::pass::Pass;

    const N_ATOMS: usize = 71;
    type Frame = Vec<[f32; 3]>;

    fn sums(computation: impl Computation + 'static, parts: &[&[Frame]]) -> Result<Vec<Sum>> {
        let batches = parts.iter().filter(|frames| !frames.is_empty()).map(|frames| batch(0, frames, None));
        Ok(mapped(computation, &batches.collect::<Vec<_>>())?.sums)
    }

    fn frame(most: f32) -> impl Strategy<Value = Frame> {
        prop::collection::vec(prop::array::uniform3(-most..most), N_ATOMS)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn sums_are_the_traces_of_the_covariance_to_the_bit_however_frames_are_cut(
            frames in prop::collection::vec(prop_oneof![9 => frame(50.0), 1 => frame(1e4)], 1..150),
            reference in frame(50.0),
            cut in 0usize..150,
        ) {
            let reference: Vec<[f64; 3]> = reference.iter().map(|point| point.map(f64::from)).collect();
            let n = 3 * N_ATOMS;
            let full = sums(Covariance::new(N_ATOMS, None, None, &reference).unwrap(), &[&frames]).unwrap();
            let mut expected = full[..n].to_vec();
            for i in 0..N_ATOMS {
                for j in i..N_ATOMS {
                    let mut trace = Sum::default();
                    (0..3).for_each(|k| trace += full[n + row_begin(3 * i + k, n) + 3 * (j - i)]);
                    expected.push(trace);
                }
            }
            let (left, right) = frames.split_at(cut % frames.len());
            for level in Level::available() {
                let made = CrossCorrelation::at_level(None, &reference, level).unwrap();
                prop_assert_eq!(&sums(made, &[right, left]).unwrap(), &expected);
            }
            let batches: Vec<FrameBatch> = frames.chunks(1 + cut % 20).map(|frames| batch(0, frames, None)).collect();
            let made = CrossCorrelation::new(None, &reference).unwrap();
            prop_assert_eq!(&mapped_together(made, &batches).unwrap().sums, &expected);
        }

        #[test]
        fn largest_displacements_of_panels_do_not_overflow(n_frames in 20usize..90) {
            let most = 127.999_99f32;
            let frames = vec![vec![[most, -most, most]; N_ATOMS]; n_frames];
            let made = CrossCorrelation::new(None, &[[0.0; 3]; N_ATOMS]).unwrap();
            let found = sums(made, &[&frames]).unwrap();
            let expected = 3.0 * n_frames as f64 * f64::from(most) * f64::from(most);
            for sum in &found[3 * N_ATOMS..] {
                prop_assert!((sum.value() - expected).abs() < 1e-6 * expected);
            }
        }
    }

    #[test]
    fn frames_before_an_error_are_not_kept_for_the_next_block() {
        let mut pass = Pass::of(CrossCorrelation::new(None, &[[0.0; 3]; N_ATOMS]).unwrap());
        let mut frames = vec![vec![[1.0; 3]; N_ATOMS]; 3];
        let alone =
            mapped(CrossCorrelation::new(None, &[[0.0; 3]; N_ATOMS]).unwrap(), &[batch(0, &frames, None)]).unwrap();
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
            let made = CrossCorrelation::new(None, &[[0.0; 3]; N_ATOMS]).unwrap();
            let message = sums(made, &[&frames]).unwrap_err().to_string();
            assert!(message.contains("frame 1: atom 5 of those selected"), "{message}");
        }
        assert!(CrossCorrelation::new(None, &[]).unwrap_err().to_string().contains("no atoms"));
    }
}
