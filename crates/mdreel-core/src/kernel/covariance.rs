//! Covariance: exact sums of the products of all pairs of displacements.
//!
//! Displacements are integers in steps of 2^-21 Å. Their products add up in 64 bits, so the sums have the same bits for
//! any grouping of frames. The matrix product is cut into panels that stay in the cache, over all frames of a batch.
//! See `docs/design/009-covariance.md`.

use std::sync::Arc;

use super::Computation;
use super::chosen::Chosen;
use super::fit::Fit;
use super::fluctuation::columns_of;
use super::moved::Moved;
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities};
use crate::reduce::{Layout, Slots, Sum};
use crate::simd::{Lanes, Level, Operation};

/// Bits behind the binary point of displacements: no coarser than float32 from 4 Å on.
const FRACTION: u32 = 21;
/// Å below which a displacement takes 28 bits and the product of two 56.
const NEAR: f64 = 128.0;
/// Frames whose products add up in 64 bits for certain.
const MOST_FRAMES: usize = 64;
/// Å beyond which squares are too large for a sum.
const FAR: f64 = 262_144.0;
/// Coordinates of a panel: as many as stay in the first-level cache, of all frames.
const WIDTH: usize = 64;
/// Frames whose products add up in one go.
const AT_ONCE: usize = 8;

/// Sums over frames: of the displacement of each coordinate from a structure, Å, and of the product of each with itself
/// and all that follow, Å², row after row of the upper triangle. Coordinates are x, y, z of the first atom, of the
/// second, and so on.
#[derive(Debug, Clone)]
pub struct Covariance {
    n_atoms: usize,
    moved: Moved,
    reference: Arc<[Vec<f64>; 3]>,
    panels: Panels,
    level: Level,
}

/// Displacements of several frames in steps, of some coordinates to a panel, frame after frame.
#[derive(Debug, Clone, Default)]
struct Panels {
    n_frames: usize,
    steps: Vec<[[i32; WIDTH]; MOST_FRAMES]>,
}

impl Panels {
    /// Fills up with frames that add nothing.
    fn pad(&mut self) {
        let padding = self.n_frames..self.n_frames.next_multiple_of(AT_ONCE);
        self.steps.iter_mut().for_each(|panel| panel[padding.clone()].fill([0; WIDTH]));
    }
}

/// Coordinates of `n_atoms` atoms.
fn n_coordinates(n_atoms: usize) -> usize {
    3 * n_atoms
}

/// Place of the product of coordinate `i` with itself, behind the sums of `n` coordinates.
fn row_begin(i: usize, n: usize) -> usize {
    n + i * n - i * i.saturating_sub(1) / 2
}

impl Covariance {
    /// Creates the computation for `atoms` (`None`: all) of frames of `n_atoms` about `reference`, Å, moved by `fit`
    /// (`None`: as they are).
    pub fn new(n_atoms: usize, fit: Option<Fit>, atoms: Option<Vec<u32>>, reference: &[[f64; 3]]) -> Result<Self> {
        Covariance::at_level(n_atoms, fit, atoms, reference, Level::detect())
    }

    /// The same with the vector instructions of `level`. The bits do not depend on it.
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
        self.panels.steps.resize(n.div_ceil(WIDTH), [[0; WIDTH]; MOST_FRAMES]);
        let mut frames = self.moved.frames(batch)?;
        for i in 0..batch.len() {
            let columns = frames.columns(i);
            let add = AddFrame { columns, reference: &self.reference, panels: &mut self.panels };
            if !self.level.run(add) {
                add_far(columns, &self.reference, batch.header(i).index, slots.sums)?;
            }
            if self.panels.n_frames == MOST_FRAMES || i + 1 == batch.len() {
                self.panels.pad();
                self.level.run(Multiply { panels: &self.panels, n, sums: slots.sums });
                self.panels.n_frames = 0;
            }
        }
        Ok(())
    }
}

/// Adds a frame to panels; returns whether it could, because all atoms are near.
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
        for (of, from) in columns.into_iter().zip(reference) {
            if !of.iter().zip(from).fold(true, |near, (of, from)| near & ((of - from).abs() < NEAR)) {
                return false;
            }
        }
        for (k, (of, from)) in columns.into_iter().zip(reference).enumerate() {
            for (atom, (of, from)) in of.iter().zip(from).enumerate() {
                let at = 3 * atom + k;
                panels.steps[at / WIDTH][panels.n_frames][at % WIDTH] = Sum::steps(of - from, FRACTION) as i32;
            }
        }
        panels.n_frames += 1;
        true
    }
}

/// Adds a frame in which an atom is far away: product by product.
#[cold]
fn add_far(columns: [&[f64]; 3], reference: &[Vec<f64>; 3], frame: u64, sums: &mut [Sum]) -> Result<()> {
    let n = n_coordinates(reference[0].len());
    let mut steps = Vec::with_capacity(n);
    for atom in 0..reference[0].len() {
        let d: [f64; 3] = std::array::from_fn(|k| columns[k][atom] - reference[k][atom]);
        // NaN is not within either.
        if !d.iter().all(|d| d.abs() <= FAR) {
            let at = columns.map(|column| column[atom]);
            let expected = "expected finite coordinates within 262 144 Å of the reference";
            return Err(
                Error::mismatch(format!("atom {atom} of those selected is at {at:?}: {expected}")).at_frame(frame)
            );
        }
        steps.extend(d.map(|d| Sum::steps(d, FRACTION)));
    }
    for (i, &of) in steps.iter().enumerate() {
        sums[i] += Sum::of_steps(of, FRACTION);
        let begin = row_begin(i, n);
        for (sum, &with) in sums[begin..begin + n - i].iter_mut().zip(&steps[i..]) {
            *sum += Sum::of_wide_steps(i128::from(of) * i128::from(with), 2 * FRACTION);
        }
    }
    Ok(())
}

/// Adds the frames of panels to the sums.
struct Multiply<'a> {
    panels: &'a Panels,
    n: usize,
    sums: &'a mut [Sum],
}

impl Operation for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Multiply { panels: Panels { n_frames, steps }, n, sums } = self;
        for (p, panel) in steps.iter().enumerate() {
            let (first, width) = (p * WIDTH, WIDTH.min(n - p * WIDTH));
            let mut total = [0i64; WIDTH];
            for frame in &panel[..*n_frames] {
                total.iter_mut().zip(frame).for_each(|(total, step)| *total += i64::from(*step));
            }
            add_steps(&mut sums[first..first + width], &total, FRACTION);
            for i in 0..first + width {
                // The row of coordinate i, as far as it is in the panel and behind the diagonal.
                let begin = i.saturating_sub(first);
                let mut total = [0i64; WIDTH];
                for (of, with) in steps[i / WIDTH]
                    .chunks_exact(AT_ONCE)
                    .zip(panel.chunks_exact(AT_ONCE))
                    .take(n_frames.div_ceil(AT_ONCE))
                {
                    let of: [i32; AT_ONCE] = std::array::from_fn(|frame| of[frame][i % WIDTH]);
                    let with: [&[i32]; AT_ONCE] = std::array::from_fn(|frame| &with[frame][begin..width]);
                    add_products(&mut total[begin..width], of, with);
                }
                let row = row_begin(i, n) + first + begin - i;
                add_steps(&mut sums[row..row + width - begin], &total[begin..], 2 * FRACTION);
            }
        }
    }
}

/// Adds products of one coordinate with several, over a few frames.
#[inline(always)]
fn add_products(total: &mut [i64], of: [i32; AT_ONCE], with: [&[i32]; AT_ONCE]) {
    let with = with.map(|steps| &steps[..total.len()]);
    for (at, total) in total.iter_mut().enumerate() {
        for frame in 0..AT_ONCE {
            *total += i64::from(of[frame]) * i64::from(with[frame][at]);
        }
    }
}

#[inline(always)]
fn add_steps(sums: &mut [Sum], steps: &[i64], fraction: u32) {
    sums.iter_mut().zip(steps).for_each(|(sum, steps)| *sum += Sum::of_steps(*steps, fraction));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::fixture::{batch, mapped};

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
            let n = 3 * N_ATOMS;
            let d: Vec<Vec<f64>> = frames.iter().map(|frame| {
                frame.iter().zip(&reference).flat_map(|(x, y)| [0, 1, 2].map(|k| f64::from(x[k]) - y[k])).collect()
            }).collect();
            for i in 0..n {
                let expected: f64 = d.iter().map(|d| d[i]).sum();
                prop_assert!((whole[i].value() - expected).abs() < 1e-6 * frames.len() as f64);
                for j in i..n {
                    let (found, expected): (f64, f64) =
                        (whole[row_begin(i, n) + j - i].value(), d.iter().map(|d| d[i] * d[j]).sum());
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
            // Two frames far from one another may be as near in two ways; float32 decides then.
            let near = found.iter().zip(&expected).filter(|(a, b)| (a.value() - b.value()).abs() < 2e-2).count();
            prop_assert!(near as f64 >= 0.9 * found.len() as f64);
        }
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
