//! Frames superposed on a reference, as rows of numbers whose square distances are mean square deviations.

use std::ops::Range;

use super::frames::{Frames, Padded};
use crate::error::{Error, Result};
use crate::pool::{Crew, Monitor, Shared, Worker, run_blocks};
use crate::simd::Level;
use crate::superpose::Reference;

/// Number of frames in a block, and between two calls of `tick`.
const BLOCK: usize = 64;

/// Returns the positions of each of the frames in `rows` after superposition on `reference`, weighted by `weights`
/// (`None`: equal weights).
///
/// The result contains x, y and z of one atom after another, Å, relative to the centre of the reference. Each position
/// is multiplied by the square root of the atom's fraction of the total weight. The square of the distance between two
/// of these rows is therefore the weighted mean square deviation of the two frames, both superposed on the reference.
///
/// Each row of `rows` contains x, y and z of `n_atoms` atoms; the function ignores further numbers. It works on
/// `n_workers` threads. Returns an error if the shapes do not match, or a coordinate is not finite.
pub fn superposed_rows(
    rows: &[&[f32]],
    n_atoms: usize,
    weights: Option<&[f64]>,
    reference: &[[f64; 3]],
    n_workers: usize,
    monitor: &mut dyn Monitor,
) -> Result<Vec<f32>> {
    if reference.len() != n_atoms {
        return Err(Error::mismatch(format!("the reference has {} atoms, the frames have {n_atoms}", reference.len())));
    }
    let frames = Frames::new(rows, n_atoms, weights)?;
    let reference = Reference::new(reference, weights, Level::detect())?;
    let scales: Vec<f64> = (0..n_atoms).map(|atom| (frames.weight(atom) / n_atoms as f64).sqrt()).collect();
    let mut found = Vec::with_capacity(3 * n_atoms * rows.len());
    let make_worker = |_: usize| {
        Ok(Superposer { frames: &frames, reference: &reference, scales: &scales, columns: Padded::default() })
    };
    run_blocks(0..rows.len().div_ceil(BLOCK), Crew::on_demand(n_workers), make_worker, monitor, |block: Vec<f32>| {
        found.extend(block);
        Ok(())
    })?;
    Ok(found)
}

struct Superposer<'a> {
    frames: &'a Frames<'a>,
    reference: &'a Reference,
    scales: &'a [f64],
    columns: Padded,
}

impl Worker for Superposer<'_> {
    type Output = Vec<f32>;

    /// The limit is low because each block is part of a copy of all frames.
    const AHEAD: usize = 4;

    fn work(&mut self, block: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<Vec<f32>> {
        tick();
        let numbers: Range<usize> = block * BLOCK..self.frames.len().min((block + 1) * BLOCK);
        let mut found = Vec::with_capacity(3 * self.scales.len() * numbers.len());
        for number in numbers.clone() {
            let motion = self.frames.fit(self.reference, number, &mut self.columns)?;
            for (point, scale) in self.frames.points(number).iter().zip(self.scales) {
                let moved = motion.rotate(std::array::from_fn(|k| f64::from(point[k]) - motion.mobile_centre[k]));
                found.extend(moved.map(|value| (scale * value) as f32));
            }
        }
        shared.add_frames(numbers.len());
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pool::Unattended;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn distances_from_the_reference_are_minimum_rmsds(
            frames in prop::collection::vec(prop::collection::vec(prop::array::uniform3(-30f32..30.0), 9), 1..150),
            is_weighted: bool,
        ) {
            let weights: Vec<f64> = (0..9).map(f64::from).collect();
            let weights = is_weighted.then_some(&weights[..]);
            let flat: Vec<Vec<f32>> = frames.iter().map(|frame| frame.concat()).collect();
            let rows: Vec<&[f32]> = flat.iter().map(Vec::as_slice).collect();
            let reference: Vec<[f64; 3]> = frames[0].iter().map(|point| point.map(f64::from)).collect();
            let made = |n| superposed_rows(&rows, 9, weights, &reference, n, &mut Unattended).unwrap();
            let found = made(1);
            prop_assert_eq!(&made(3), &found);
            let all = Frames::new(&rows, 9, weights).unwrap();
            let (of, mut columns) = (all.reference(0).unwrap(), Padded::default());
            for (number, row) in found.chunks_exact(27).enumerate() {
                let square: f64 = row.iter().zip(&found[..27]).map(|(x, y)| f64::from(x - y).powi(2)).sum();
                let rmsd = all.rmsd(&of, number, &mut columns).unwrap();
                prop_assert!((square.sqrt() - rmsd).abs() < 1e-4, "{} and {}", square.sqrt(), rmsd);
            }
        }
    }

    #[test]
    fn references_of_other_atoms_are_refused() {
        let found = superposed_rows(&[&[0.0; 6]], 2, None, &[[0.0; 3]], 1, &mut Unattended).unwrap_err().to_string();
        assert!(found.contains("the reference has 1 atoms, the frames have 2"), "{found}");
    }
}
