//! Matrix of the RMSDs of all pairs of frames.

use super::compare::{compare, frames_of};
use crate::error::{Error, Result};
use crate::pool::Monitor;

/// Returns the RMSD of each pair of frames, Å, as an n_frames x n_frames matrix in row order.
///
/// `positions` contains the positions of `n_atoms` atoms, one frame after another and one atom after another, Å. The
/// RMSD is weighted by `weights` (`None`: equal weights) and computed with or without superposition. The function works
/// on `n_workers` threads, and the bits of the result do not depend on their number. Returns an error if a coordinate
/// is not finite.
pub fn distance_matrix(
    positions: &[f32],
    n_atoms: usize,
    weights: Option<&[f64]>,
    superposition: bool,
    n_workers: usize,
    monitor: &mut dyn Monitor,
) -> Result<Vec<f64>> {
    if n_atoms == 0 || !positions.len().is_multiple_of(3 * n_atoms) {
        let got = positions.len();
        return Err(Error::mismatch(format!("{got} numbers are no frames of {n_atoms} atoms")));
    }
    let frames = frames_of(positions.chunks_exact(3 * n_atoms), n_atoms)?;
    let n = frames.len();
    let mut matrix = vec![0.0; n * n];
    compare(&frames, weights, superposition, n_workers, monitor, |row, values| {
        matrix[row * n..row * n + values.len()].copy_from_slice(values);
    })?;
    for i in 0..n {
        for j in 0..i {
            matrix[j * n + i] = matrix[i * n + j];
        }
    }
    Ok(matrix)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::fixture::{batch, mapped};
    use crate::kernel::rmsd::Rmsd;
    use crate::pool::Unattended;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn each_row_has_the_bits_of_the_rmsd_from_that_frame(
            frames in prop::collection::vec(prop::collection::vec(prop::array::uniform3(-30f32..30.0), 9), 1..30),
            superposition: bool, is_weighted: bool,
        ) {
            let weights: Vec<f64> = (1..10).map(f64::from).collect();
            let weights = is_weighted.then_some(&weights[..]);
            let positions = frames.concat().concat();
            let made = |n| distance_matrix(&positions, 9, weights, superposition, n, &mut Unattended).unwrap();
            let matrix = made(1);
            prop_assert_eq!(&made(3), &matrix);
            for (j, reference) in frames.iter().enumerate() {
                let reference: Vec<[f64; 3]> = reference.iter().map(|point| point.map(f64::from)).collect();
                let rmsd = Rmsd::new(&reference, weights, superposition).unwrap();
                let expected = mapped(rmsd, &[batch(0, &frames, None)]).unwrap().rows;
                for (i, expected) in expected.column(0).enumerate().take(j) {
                    prop_assert_eq!(matrix[j * frames.len() + i], expected);
                    prop_assert_eq!(matrix[i * frames.len() + j], expected);
                }
                prop_assert_eq!(matrix[j * frames.len() + j], 0.0);
            }
        }
    }

    #[test]
    fn what_cannot_be_compared_is_named() {
        let mut positions = vec![1.0; 4 * 6];
        positions[13] = f32::NAN;
        for n_workers in [1, 3] {
            let found = distance_matrix(&positions, 2, None, true, n_workers, &mut Unattended).unwrap_err().to_string();
            assert!(found.contains("frame 2 of those compared: the reference is not finite: atom 0 of 2"), "{found}");
        }
        let message = distance_matrix(&positions, 7, None, true, 1, &mut Unattended).unwrap_err().to_string();
        assert!(message.contains("24 numbers are no frames of 7 atoms"), "{message}");
    }
}
