//! Minimum RMSDs of all frames to a few of them.

use std::ops::Range;

use super::frames::{Frames, Padded};
use crate::error::{Error, Result};
use crate::pool::{Crew, Monitor, Shared, Worker, run_blocks};
use crate::superpose::Reference;

/// Number of frames in a block.
const BLOCK: usize = 64;

/// Returns the RMSD of each of the frames in `rows` to each of the `references`, Å. The RMSD is computed after
/// superposition weighted by `weights` (`None`: equal weights). `references` contains frame numbers. The result
/// contains the values of all frames for the first reference, then for the next one. The RMSD of a reference to itself
/// is 0.
///
/// Each row contains x, y and z of `n_atoms` atoms; the function ignores further numbers. The bits of the result do not
/// depend on the number of threads, `n_workers`. Returns an error if the shapes do not match, or a coordinate is not
/// finite.
pub fn frame_distances(
    rows: &[&[f32]],
    n_atoms: usize,
    weights: Option<&[f64]>,
    references: &[u32],
    n_workers: usize,
    monitor: &mut dyn Monitor,
) -> Result<Vec<f64>> {
    let frames = Frames::new(rows, n_atoms, weights)?;
    let reference = |number: &u32| {
        if (*number as usize) < frames.len() {
            return frames.reference(*number as usize);
        }
        Err(Error::mismatch(format!("{number} is no number of {} frames", frames.len())))
    };
    let made = references.iter().map(reference).collect::<Result<Vec<_>>>()?;
    let (mut found, mut frame) = (vec![0.0; references.len() * rows.len()], 0);
    let make_worker = |_: usize| Ok(Comparer { frames: &frames, references: &made, columns: Padded::default() });
    let n_blocks = if references.is_empty() { 0 } else { rows.len().div_ceil(BLOCK) };
    run_blocks(0..n_blocks, Crew::on_demand(n_workers), make_worker, monitor, |block: Vec<f64>| {
        for distances in block.chunks_exact(references.len()) {
            for (all, distance) in found.chunks_exact_mut(rows.len()).zip(distances) {
                all[frame] = *distance;
            }
            frame += 1;
        }
        Ok(())
    })?;
    for (all, reference) in found.chunks_exact_mut(rows.len().max(1)).zip(references) {
        all[*reference as usize] = 0.0;
    }
    Ok(found)
}

struct Comparer<'a> {
    frames: &'a Frames<'a>,
    references: &'a [Reference],
    columns: Padded,
}

impl Worker for Comparer<'_> {
    type Output = Vec<f64>;

    /// Returns the distances of one frame after another.
    fn work(&mut self, block: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<Vec<f64>> {
        let others: Range<usize> = block * BLOCK..self.frames.len().min((block + 1) * BLOCK);
        let mut found = Vec::with_capacity(others.len() * self.references.len());
        for other in others.clone() {
            tick();
            if !shared.wanted(block) {
                break;
            }
            self.frames.rmsds(self.references, other, &mut self.columns, &mut found)?;
        }
        shared.add_frames(others.len());
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pairs::distance_matrix;
    use crate::pool::Unattended;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn distances_are_those_of_the_matrix(
            frames in prop::collection::vec(prop::collection::vec(-9f32..9.0, 15), 1..200),
            is_weighted: bool, which in prop::collection::vec(0.0..1.0f64, 0..5),
        ) {
            let weights: Vec<f64> = (0..5).map(f64::from).collect();
            let weights = is_weighted.then_some(&weights[..]);
            let n = frames.len();
            let matrix = distance_matrix(&frames.concat(), 5, weights, true, 1, &mut Unattended).unwrap();
            let rows: Vec<&[f32]> = frames.iter().map(Vec::as_slice).collect();
            let references: Vec<u32> = which.iter().map(|place| (place * n as f64) as u32).collect();
            let made = |n| frame_distances(&rows, 5, weights, &references, n, &mut Unattended).unwrap();
            let found = made(1);
            prop_assert_eq!(&made(3), &found);
            prop_assert_eq!(found.len(), n * references.len());
            for (row, reference) in found.chunks_exact(n).zip(&references) {
                for (other, distance) in row.iter().enumerate() {
                    prop_assert!((distance - matrix[*reference as usize * n + other]).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn references_that_are_no_frames_are_refused() {
        let found = frame_distances(&[&[0.0; 6]], 2, None, &[1], 1, &mut Unattended).unwrap_err().to_string();
        assert!(found.contains("1 is no number of 1 frames"), "{found}");
        assert_eq!(frame_distances(&[], 2, None, &[], 1, &mut Unattended).unwrap(), []);
    }
}
