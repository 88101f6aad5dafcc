//! Displacement: how far particles are from where they were, by the time that has passed.

use crate::simd::{Lanes, Level, Operation};

/// Terms that are added up side by side, on every processor.
const SIDE_BY_SIDE: usize = 8;

/// Mean square displacements of one particle for each number of frames up to `out.len() - 1`, averaged over all pairs of frames
/// so far apart. `path` has a coordinate in all `n_frames` frames, then the next.
pub fn mean_squares(path: &[f64], n_frames: usize, out: &mut [f64]) {
    mean_squares_at(Level::detect(), path, n_frames, out);
}

fn mean_squares_at(level: Level, path: &[f64], n_frames: usize, out: &mut [f64]) {
    level.run(MeanSquares { path, n_frames, out });
}

struct MeanSquares<'a> {
    path: &'a [f64],
    n_frames: usize,
    out: &'a mut [f64],
}

impl Operation for MeanSquares<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        for (lag, mean) in self.out.iter_mut().enumerate() {
            let n_pairs = self.n_frames - lag;
            let total: f64 =
                self.path.chunks_exact(self.n_frames).map(|axis| squares(&axis[..n_pairs], &axis[lag..])).sum();
            *mean = total / n_pairs as f64;
        }
    }
}

#[inline(always)]
fn squares(from: &[f64], to: &[f64]) -> f64 {
    let ((from, from_rest), (to, to_rest)) = (from.as_chunks::<SIDE_BY_SIDE>(), to.as_chunks::<SIDE_BY_SIDE>());
    let mut sums = [0.0; SIDE_BY_SIDE];
    for (from, to) in from.iter().zip(to) {
        for k in 0..SIDE_BY_SIDE {
            let d = to[k] - from[k];
            sums[k] += d * d;
        }
    }
    let rest: f64 = from_rest.iter().zip(to_rest).map(|(from, to)| (to - from) * (to - from)).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn means_are_those_of_the_formula(path in prop::collection::vec(prop::array::uniform2(-50f64..50.0), 2..60)) {
            let n_frames = path.len();
            let axes: Vec<f64> = (0..2).flat_map(|axis| path.iter().map(move |at| at[axis])).collect();
            let found = Level::available().into_iter().map(|level| {
                let mut out = vec![0.0; n_frames];
                mean_squares_at(level, &axes, n_frames, &mut out);
                out
            });
            let found: Vec<Vec<f64>> = found.collect();
            for (lag, mean) in found[0].iter().enumerate() {
                let pairs = path.iter().zip(&path[lag..]);
                let total: f64 = pairs.map(|(a, b)| (b[0] - a[0]).powi(2) + (b[1] - a[1]).powi(2)).sum();
                prop_assert!((mean - total / (n_frames - lag) as f64).abs() < 1e-9);
            }
            prop_assert!(found.iter().all(|other| *other == found[0]));
        }
    }
}
