//! Mean square displacement of particles as a function of the lag time.

use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

use crate::error::{Error, Result};
use crate::simd::{Lanes, Level, Operation};

/// Number of terms that are added up side by side, on every processor.
const SIDE_BY_SIDE: usize = 8;

/// Mean square displacements of particles along some axes, for lags of 0 frames and more.
pub struct Displacements {
    axes: Vec<usize>,
    n_lags: usize,
    /// The Fourier transform; if `None`, all pairs of frames are compared.
    transform: Option<Transform>,
    path: Vec<f64>,
}

impl Displacements {
    /// Creates the computation along these axes (0 to 2), with Fourier transforms of `length` numbers, or by comparing pairs of
    /// frames if `length` is `None`.
    pub fn new(axes: &[usize], n_lags: usize, length: Option<usize>) -> Result<Self> {
        if let Some(axis) = axes.iter().find(|&&axis| axis > 2) {
            return Err(Error::mismatch(format!("there is no axis {axis}")));
        }
        Ok(Displacements {
            axes: axes.to_vec(),
            n_lags,
            transform: length.map(Transform::new).transpose()?,
            path: Vec::new(),
        })
    }

    /// Computes the mean square displacements of particles and writes them to `out`, one particle after another.
    ///
    /// For each particle, `paths` contains x in all frames, then y, then z.
    pub fn of(&mut self, paths: &[f64], n_frames: usize, out: &mut [f64]) -> Result<()> {
        if n_frames == 0 || self.n_lags == 0 || self.n_lags > n_frames {
            return Err(Error::mismatch(format!("{n_frames} frames have no {} lags", self.n_lags)));
        }
        for (path, out) in paths.chunks_exact(3 * n_frames).zip(out.chunks_exact_mut(self.n_lags)) {
            self.path.clear();
            for axis in &self.axes {
                self.path.extend_from_slice(&path[axis * n_frames..][..n_frames]);
            }
            match &mut self.transform {
                Some(transform) => transform.mean_squares(&self.path, n_frames, out)?,
                None => mean_squares_at(Level::detect(), &self.path, n_frames, out),
            }
        }
        Ok(())
    }
}

/// Computes the mean square displacements of one particle. Each is the average over all pairs of frames with this lag.
///
/// `path` contains one coordinate in all `n_frames` frames, then the next coordinate.
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

/// Mean square displacements by Fourier transforms, as sums of squares minus twice the autocorrelation (Calandrini et al.,
/// Collection SFN 12 (2011) 201).
struct Transform {
    forward: Arc<dyn RealToComplex<f64>>,
    inverse: Arc<dyn ComplexToReal<f64>>,
    /// Deviations of the coordinates along an axis from their mean, padded with zeros; after the inverse transform, the
    /// autocorrelation.
    padded: Vec<f64>,
    spectrum: Vec<Complex<f64>>,
    power: Vec<Complex<f64>>,
    scratch: Vec<Complex<f64>>,
    /// Sums of the squares of all frames before each frame, and of all frames.
    squares: Vec<f64>,
}

impl Transform {
    /// Plans transforms of `length` numbers, which must be at least the number of frames plus the number of lags, minus one.
    ///
    /// The transform is fast if the length is even and has no prime factors other than 2, 3 and 5. It uses no vector
    /// instructions, so that every processor gives the same bits.
    fn new(length: usize) -> Result<Self> {
        if length == 0 {
            return Err(Error::mismatch("a transform of no numbers was asked for"));
        }
        let mut planner = RealFftPlanner::new();
        let (forward, inverse) = (planner.plan_fft_forward(length), planner.plan_fft_inverse(length));
        let scratch = forward.get_scratch_len().max(inverse.get_scratch_len());
        Ok(Transform {
            padded: forward.make_input_vec(),
            spectrum: forward.make_output_vec(),
            power: inverse.make_input_vec(),
            scratch: vec![Complex::default(); scratch],
            squares: Vec::new(),
            forward,
            inverse,
        })
    }

    /// Computes the same result as [`mean_squares_at`].
    fn mean_squares(&mut self, path: &[f64], n_frames: usize, out: &mut [f64]) -> Result<()> {
        if out.len() > n_frames || n_frames + out.len() > self.padded.len() + 1 {
            let message = format!("{n_frames} frames and {} lags in transforms of {}", out.len(), self.padded.len());
            return Err(Error::mismatch(message));
        }
        self.power.fill(Complex::default());
        self.squares.clear();
        self.squares.resize(n_frames + 1, 0.0);
        for axis in path.chunks_exact(n_frames) {
            let mean = axis.iter().sum::<f64>() / n_frames as f64;
            let (coordinates, zeros) = self.padded.split_at_mut(n_frames);
            zeros.fill(0.0);
            for ((coordinate, at), square) in coordinates.iter_mut().zip(axis).zip(&mut self.squares[1..]) {
                *coordinate = at - mean;
                *square += *coordinate * *coordinate;
            }
            let forward = self.forward.process_with_scratch(&mut self.padded, &mut self.spectrum, &mut self.scratch);
            forward.map_err(|error| Error::mismatch(error.to_string()))?;
            for (power, value) in self.power.iter_mut().zip(&self.spectrum) {
                power.re += value.norm_sqr();
            }
        }
        let inverse = self.inverse.process_with_scratch(&mut self.power, &mut self.padded, &mut self.scratch);
        inverse.map_err(|error| Error::mismatch(error.to_string()))?;
        let mut total = 0.0;
        for square in &mut self.squares {
            total += *square;
            *square = total;
        }
        let length = self.padded.len() as f64;
        for (lag, mean) in out.iter_mut().enumerate() {
            let n_pairs = n_frames - lag;
            let both = self.squares[n_pairs] + total - self.squares[lag];
            *mean = ((both - 2.0 * (self.padded[lag] / length)) / n_pairs as f64).max(0.0);
        }
        if let Some(first) = out.first_mut() {
            *first = 0.0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn displacements_along_axes_are_those_of_the_coordinates() {
        let paths: Vec<f64> = (0..2 * 3 * 4).map(|i| f64::from(i * i % 17)).collect();
        for length in [None, Some(8)] {
            let mut out = [0.0; 6];
            Displacements::new(&[2, 0], 3, length).unwrap().of(&paths, 4, &mut out).unwrap();
            for (path, found) in paths.chunks_exact(12).zip(out.chunks_exact(3)) {
                let mut expected = [0.0; 3];
                mean_squares_at(Level::detect(), &[&path[8..], &path[..4]].concat(), 4, &mut expected);
                assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-10), "{found:?} {expected:?}");
            }
        }
    }

    #[test]
    fn axes_and_lags_that_are_not_there_are_refused() {
        assert!(Displacements::new(&[3], 1, None).is_err());
        for (n_frames, n_lags) in [(0, 0), (2, 0), (2, 3)] {
            assert!(Displacements::new(&[0], n_lags, None).unwrap().of(&[0.0; 6], n_frames, &mut [0.0; 3]).is_err());
        }
    }

    #[test]
    fn transforms_that_are_too_short_are_refused() {
        assert!(Transform::new(0).is_err());
        let (path, mut out) = ([0.0; 6], [0.0; 2]);
        for (length, fits) in [(2, false), (3, false), (4, true), (5, true)] {
            assert_eq!(Transform::new(length).unwrap().mean_squares(&path, 3, &mut out).is_ok(), fits, "{length}");
        }
        assert!(Transform::new(20).unwrap().mean_squares(&path, 3, &mut [0.0; 4]).is_err());
    }

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
            for n_lags in [1, n_frames.div_ceil(2), n_frames] {
                let (mut by_transform, length) = (vec![0.0; n_lags], n_frames + n_lags - 1);
                for length in [length, length + 1, 3 * length] {
                    Transform::new(length).unwrap().mean_squares(&axes, n_frames, &mut by_transform).unwrap();
                    for (mean, expected) in by_transform.iter().zip(&found[0]) {
                        prop_assert!((mean - expected).abs() < 1e-8, "{mean} {expected}");
                    }
                }
            }
        }
    }
}
