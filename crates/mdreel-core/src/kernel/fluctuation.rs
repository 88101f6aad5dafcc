//! Fluctuation: mean and root mean square displacement of atoms from a structure.

use std::sync::Arc;

use super::Computation;
use super::chosen::Chosen;
use super::fit::Fit;
use super::moved::Moved;
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities};
use crate::reduce::{Layout, Slots, Sum};
use crate::simd::{Lanes, Level, Operation};

/// Displacement (Å) up to which displacements are added up in integer steps of 64 bits.
const NEAR: f64 = 2048.0;
/// Number of fractional bits of displacements.
const FRACTION: u32 = 36;
/// Number of fractional bits of squares of displacements.
const SQUARE_FRACTION: u32 = 27;
/// Largest number of frames whose steps are guaranteed to add up in 64 bits.
const MOST_FRAMES: usize = 1 << 12;

/// Four sums over frames for each atom: its displacement from a structure (x, y, z, in Å), and the square of the displacement
/// (Å²).
///
/// The coordinates are used as stored or after superposition. With superposition, the RMSD (Å) is also a value of each frame.
#[derive(Debug, Clone)]
pub struct Fluctuation {
    n_atoms: usize,
    moved: Option<Moved>,
    displacements: Displacements,
}

/// Sums of displacements from `reference`.
#[derive(Debug, Clone)]
struct Displacements {
    reference: Arc<[Vec<f64>; 3]>,
    steps: Steps,
    level: Level,
}

/// Sums of a batch, in steps: x, y, z and the square of the displacement of each atom.
#[derive(Debug, Clone, Default)]
struct Steps([Vec<i64>; 4]);

impl Fluctuation {
    /// Number of sums per atom.
    pub(crate) const N_SUMS: usize = 4;

    /// Creates the computation of displacements from `reference` (Å). Returns an error if there are no atoms, or coordinates
    /// are not finite.
    pub fn new(reference: &[[f64; 3]]) -> Result<Self> {
        Fluctuation::at_level(reference, Level::detect())
    }

    /// Creates the computation with the vector instructions of `level`. The level does not affect the bits of the result.
    pub(crate) fn at_level(reference: &[[f64; 3]], level: Level) -> Result<Self> {
        let displacements = Displacements::new(reference, level)?;
        Ok(Fluctuation { n_atoms: reference.len(), moved: None, displacements })
    }

    /// Creates the computation of displacements from `reference` (Å) for `atoms` among the `n_atoms` atoms of a frame, moved by
    /// `fit`.
    pub fn superposed(n_atoms: usize, fit: Fit, atoms: Vec<u32>, reference: &[[f64; 3]]) -> Result<Self> {
        let level = fit.level();
        let displacements = Displacements::new(reference, level)?;
        let chosen = Chosen::new(n_atoms, Some(atoms), reference.len(), Quantities::POSITIONS)?;
        Ok(Fluctuation { n_atoms, moved: Some(Moved::new(Some(fit), chosen, level)), displacements })
    }
}

impl Displacements {
    fn new(reference: &[[f64; 3]], level: Level) -> Result<Self> {
        if reference.is_empty() {
            return Err(Error::mismatch("there are no atoms"));
        }
        Ok(Displacements { reference: Arc::new(columns_of(reference)?), steps: Steps::default(), level })
    }

    /// Sets the sums of the batch to zero.
    fn begin(&mut self) {
        let n_atoms = self.reference[0].len();
        self.steps.0.iter_mut().for_each(|steps| {
            steps.clear();
            steps.resize(n_atoms, 0);
        });
    }

    /// Adds a frame to the sums of the batch, or directly to `sums` if an atom is far away.
    fn add<T: Copy + Into<f64>>(&mut self, columns: [&[T]; 3], frame: u64, sums: &mut [Sum]) -> Result<()> {
        let add = AddFrame { columns, reference: &self.reference, steps: &mut self.steps };
        if self.level.run(add) { Ok(()) } else { self.add_far(columns, frame, sums) }
    }

    /// Adds the sums of the batch to `sums`.
    fn finish(&self, sums: &mut [Sum]) {
        let [x, y, z, square] = &self.steps.0;
        for (atom, sums) in sums.as_chunks_mut::<{ Fluctuation::N_SUMS }>().0.iter_mut().enumerate() {
            for (sum, steps) in sums.iter_mut().zip([x, y, z]) {
                *sum += Sum::of_steps(steps[atom], FRACTION);
            }
            sums[3] += Sum::of_steps(square[atom], SQUARE_FRACTION);
        }
    }

    /// Adds a frame in which an atom is far away to the sums number by number.
    #[cold]
    fn add_far<T: Copy + Into<f64>>(&self, columns: [&[T]; 3], frame: u64, sums: &mut [Sum]) -> Result<()> {
        for (atom, sums) in sums.as_chunks_mut::<{ Fluctuation::N_SUMS }>().0.iter_mut().enumerate() {
            let at: [f64; 3] = columns.map(|column| column[atom].into());
            let d: [f64; 3] = std::array::from_fn(|k| at[k] - self.reference[k][atom]);
            let square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if !square.is_finite() || square > Sum::MOST {
                let expected = "expected finite coordinates within 262 144 Å of the reference";
                return Err(
                    Error::mismatch(format!("atom {atom} of those selected is at {at:?}: {expected}")).at_frame(frame)
                );
            }
            for (sum, value) in sums.iter_mut().zip([d[0], d[1], d[2], square]) {
                *sum += Sum::of(value);
            }
        }
        Ok(())
    }
}

/// Returns x, y and z of points, in Å. Returns an error if they are not finite.
pub(super) fn columns_of(points: &[[f64; 3]]) -> Result<[Vec<f64>; 3]> {
    if let Some(atom) = points.iter().position(|point| point.iter().any(|value| !value.is_finite())) {
        let message = format!("atom {atom} of {} is at {:?}", points.len(), points[atom]);
        return Err(Error::mismatch(format!("{message}: expected finite coordinates")));
    }
    Ok([0, 1, 2].map(|axis: usize| points.iter().map(|point| point[axis]).collect()))
}

impl Computation for Fluctuation {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        let n_sums = Fluctuation::N_SUMS * self.displacements.reference[0].len();
        Layout { n_columns: usize::from(self.moved.is_some()), n_sums, ..Layout::default() }
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        let mut moved = self.moved.as_mut().map(|moved| moved.frames(batch)).transpose()?;
        for first in (0..batch.len()).step_by(MOST_FRAMES) {
            self.displacements.begin();
            for i in first..batch.len().min(first + MOST_FRAMES) {
                let frame = batch.header(i).index;
                match &mut moved {
                    None => {
                        let columns = batch.columns(i);
                        self.displacements.add([columns.x, columns.y, columns.z], frame, slots.sums)?;
                    }
                    Some(moved) => {
                        slots.row(i).iter_mut().zip(moved.rmsd(i)).for_each(|(value, rmsd)| *value = rmsd);
                        self.displacements.add(moved.columns(i), frame, slots.sums)?;
                    }
                }
            }
            self.displacements.finish(slots.sums);
        }
        Ok(())
    }
}

/// Operation that adds a frame if all atoms are near, and returns whether it did.
struct AddFrame<'a, T> {
    columns: [&'a [T]; 3],
    reference: &'a [Vec<f64>; 3],
    steps: &'a mut Steps,
}

impl<T: Copy + Into<f64>> Operation for AddFrame<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self) -> bool {
        let [x, y, z] = self.columns;
        let [from_x, from_y, from_z] = self.reference;
        let is_near = |of: &[T], from: &[f64]| {
            of.iter().zip(from).fold(true, |near, (&of, from)| near & ((of.into() - from).abs() <= NEAR))
        };
        if !(is_near(x, from_x) & is_near(y, from_y) & is_near(z, from_z)) {
            return false;
        }
        let [sum_x, sum_y, sum_z, sum_square] = &mut self.steps.0;
        for ((of, from), sum) in [(x, from_x), (y, from_y), (z, from_z)].into_iter().zip([sum_x, sum_y, sum_z]) {
            for ((&of, from), sum) in of.iter().zip(from).zip(sum) {
                *sum += Sum::steps(of.into() - from, FRACTION);
            }
        }
        let points = x.iter().zip(y).zip(z).zip(from_x.iter().zip(from_y).zip(from_z));
        for ((((&x, &y), &z), ((from_x, from_y), from_z)), sum) in points.zip(sum_square) {
            let d = [x.into() - from_x, y.into() - from_y, z.into() - from_z];
            *sum += Sum::steps(d[0] * d[0] + d[1] * d[1] + d[2] * d[2], SQUARE_FRACTION);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::fixture::{batch, mapped};
    use crate::reduce::Tally;

    const N_ATOMS: usize = 11;

    fn of_parts(level: Level, reference: &[[f64; 3]], parts: &[&[Vec<[f32; 3]>]]) -> Result<Tally> {
        let parts = parts.iter().filter(|frames| !frames.is_empty()).map(|frames| batch(0, frames, None));
        mapped(Fluctuation::at_level(reference, level)?, &parts.collect::<Vec<_>>())
    }

    fn points(most: f32) -> impl Strategy<Value = Vec<[f32; 3]>> {
        prop::collection::vec(prop::array::uniform3(-most..most), N_ATOMS)
    }

    proptest! {
        #[test]
        fn sums_are_those_of_all_frames_and_have_the_same_bits_however_frames_are_cut(
            frames in prop::collection::vec(prop_oneof![9 => points(50.0), 1 => points(1e5)], 1..30),
            reference in points(50.0),
            cut in 0usize..30,
        ) {
            let reference: Vec<[f64; 3]> = reference.iter().map(|point| point.map(f64::from)).collect();
            let whole = of_parts(Level::detect(), &reference, &[&frames]).unwrap();
            let (left, right) = frames.split_at(cut % frames.len());
            for level in Level::available() {
                prop_assert_eq!(&of_parts(level, &reference, &[right, left]).unwrap().sums, &whole.sums);
            }
            let reference = &reference;
            for (atom, sums) in whole.sums.as_chunks::<4>().0.iter().enumerate() {
                let frames = &frames;
                let d = |axis: usize| frames.iter().map(move |frame| f64::from(frame[atom][axis]) - reference[atom][axis]);
                for (axis, sum) in sums[..3].iter().enumerate() {
                    let expected: f64 = d(axis).sum();
                    prop_assert!((sum.value() - expected).abs() <= 1e-9 * frames.len() as f64 * (1.0 + expected.abs()));
                }
                let expected: f64 = (0..3).flat_map(d).map(|d| d * d).sum();
                prop_assert!((sums[3].value() - expected).abs() <= 1e-8 * frames.len() as f64 + 1e-14 * expected);
            }
        }
    }

    proptest! {
        #[test]
        fn superposed_frames_do_not_fluctuate_where_they_are_rigid(
            points in points(30.0), angles in prop::collection::vec(-3.0f64..3.0, 2..9), drift in -50f64..50.0, cut in 1usize..8,
        ) {
            let reference: Vec<[f64; 3]> = points.iter().map(|point| point.map(f64::from)).collect();
            let turned = |angle: f64| reference.iter().map(move |[x, y, z]| {
                let (sin, cos) = angle.sin_cos();
                [(x * cos - y * sin + drift * angle) as f32, (x * sin + y * cos) as f32, (z - drift) as f32]
            });
            let frames: Vec<Vec<[f32; 3]>> = angles.iter().map(|angle| turned(*angle).collect()).collect();
            let fitted: Vec<[f64; 3]> = reference[2..].to_vec();
            let made = |level| {
                let fit = Fit::new(N_ATOMS, Some((2..N_ATOMS as u32).collect()), &fitted, None, level)?;
                Fluctuation::superposed(N_ATOMS, fit, (0..N_ATOMS as u32).collect(), &reference)
            };
            let whole = mapped(made(Level::detect()).unwrap(), &[batch(0, &frames, None)]).unwrap();
            for level in Level::available() {
                let (left, right) = frames.split_at(cut.min(frames.len() - 1));
                let parts = [batch(0, left, None), batch(left.len() as u64, right, None)];
                prop_assert_eq!(&mapped(made(level).unwrap(), &parts).unwrap(), &whole);
            }
            prop_assert!(whole.rows.column(0).all(|rmsd| rmsd < 1e-4));
            for sums in whole.sums.as_chunks::<4>().0 {
                prop_assert!(sums[..3].iter().all(|sum| sum.value().abs() < 1e-3) && sums[3].value() < 1e-6);
            }
        }
    }

    #[test]
    fn map_names_frame_and_atom_that_cannot_be_added() {
        for wrong in [f32::NAN, f32::INFINITY, 1e9] {
            let mut frames = vec![vec![[0.0; 3]; N_ATOMS]; 3];
            frames[1][5][2] = wrong;
            let message = of_parts(Level::detect(), &[[0.0; 3]; N_ATOMS], &[&frames]).unwrap_err().to_string();
            assert!(message.contains("frame 1: atom 5 of those selected"), "{message}");
        }
    }

    #[test]
    fn new_refuses_what_cannot_be_a_reference() {
        assert!(Fluctuation::new(&[]).unwrap_err().to_string().contains("no atoms"));
        let message = Fluctuation::new(&[[0.0; 3], [0.0, f64::NAN, 0.0]]).unwrap_err().to_string();
        assert!(message.contains("atom 1 of 2 is at"), "{message}");
    }
}
