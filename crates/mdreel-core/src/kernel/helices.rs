//! Largest eigenvalues of distance matrices, which describe the shape of a helix or the arrangement of two helices.

use std::sync::Arc;

use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::reduce::{Layout, Slots};
use crate::symmetric::largest_eigenpair;

/// Largest number of steps of the power iteration. It is only reached if the largest eigenvalues are nearly equal.
const MAX_STEPS: usize = 10_000;

/// The distances that form a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The distances within each segment.
    Segments,
    /// The distances between the two segments of each pair, as a bipartite matrix. The pairs are the first segment with the
    /// second, the first with the third, and so on.
    Pairs,
}

/// The largest eigenvalue of the matrices of distances (Å) or squared distances (Å²) of segments.
#[derive(Debug, Clone)]
pub struct HelixEigenvalues {
    n_atoms: usize,
    segments: Arc<Vec<Vec<u32>>>,
    of: Of,
    is_squared: bool,
    memory: Memory,
}

/// Working memory for frames.
#[derive(Debug, Clone, Default)]
struct Memory {
    points: Vec<Vec<[f64; 3]>>,
    matrix: Vec<f64>,
}

impl HelixEigenvalues {
    /// Creates the computation for segments among `n_atoms` atoms. Returns an error if there are no segments (for pairs: fewer
    /// than two), if a segment has fewer than two atoms, or if an atom does not exist.
    pub fn new(n_atoms: usize, segments: Vec<Vec<u32>>, of: Of, is_squared: bool) -> Result<Self> {
        let least = if of == Of::Pairs { 2 } else { 1 };
        if segments.len() < least {
            return Err(Error::mismatch(format!("expected {least} segments at least, got {}", segments.len())));
        }
        if let Some(short) = segments.iter().position(|segment| segment.len() < 2) {
            let n = segments[short].len();
            return Err(Error::mismatch(format!("segment {short} has {n} atoms: expected two at least")));
        }
        if let Some(atom) = segments.iter().flatten().find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a segment needs atom {atom} of {n_atoms}")));
        }
        Ok(HelixEigenvalues { n_atoms, segments: Arc::new(segments), of, is_squared, memory: Memory::default() })
    }
}

impl Computation for HelixEigenvalues {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        let n = self.segments.len();
        Layout::columns(if self.of == Of::Pairs { n * (n - 1) / 2 } else { n })
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(HelixEigenvalues { memory: Memory::default(), segments: self.segments.clone(), ..*self })
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        let Memory { points, matrix } = &mut self.memory;
        points.resize(self.segments.len(), Vec::new());
        for i in 0..batch.len() {
            let columns = batch.columns(i);
            for (points, segment) in points.iter_mut().zip(self.segments.iter()) {
                points.clear();
                let point =
                    |&atom: &u32| [columns.x, columns.y, columns.z].map(|column| f64::from(column[atom as usize]));
                points.extend(segment.iter().map(point));
            }
            let mut values = slots.row(i).iter_mut();
            let mut put = |value: f64| values.next().map(|place| *place = value);
            match self.of {
                Of::Segments if self.is_squared => {
                    points.iter().for_each(|points| {
                        put(largest_of_squares(points));
                    });
                }
                Of::Segments => points.iter().for_each(|points| {
                    put(largest_between(points, points, false, matrix));
                }),
                Of::Pairs => {
                    for (k, first) in points.iter().enumerate() {
                        for second in &points[k + 1..] {
                            put(largest_between(first, second, self.is_squared, matrix));
                        }
                    }
                }
            }
            if slots.row(i).iter().any(|value| !value.is_finite()) {
                return Err(not_finite(batch, i, "eigenvalue"));
            }
        }
        Ok(())
    }
}

/// Returns the largest eigenvalue of the matrix of squared distances between points.
///
/// The matrix is M = n 1' + 1 n' - 2 X X', where n contains the squares of the points X. Its rank is at most 5, because
/// M = U C U' with U = [n 1 X]. Its nonzero eigenvalues are those of L' C L, where L L' = U' U.
fn largest_of_squares(points: &[[f64; 3]]) -> f64 {
    let n = points.len() as f64;
    let centre: [f64; 3] = std::array::from_fn(|k| points.iter().map(|point| point[k]).sum::<f64>() / n);
    let mut products = [[0.0; 5]; 5];
    for point in points {
        let [x, y, z]: [f64; 3] = std::array::from_fn(|k| point[k] - centre[k]);
        let row = [x * x + y * y + z * z, 1.0, x, y, z];
        for (products, a) in products.iter_mut().zip(row) {
            products.iter_mut().zip(row).for_each(|(product, b)| *product += a * b);
        }
    }
    let lower = cholesky(&products);
    // C exchanges the first two components and multiplies the others by -2.
    let times_c = |row: [f64; 5]| [row[1], row[0], -2.0 * row[2], -2.0 * row[3], -2.0 * row[4]];
    let columns: [[f64; 5]; 5] = std::array::from_fn(|j| std::array::from_fn(|i| lower[i][j]));
    let inner = |a: [f64; 5], b: [f64; 5]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    largest_eigenpair::<5>(std::array::from_fn(|i| std::array::from_fn(|j| inner(columns[i], times_c(columns[j]))))).0
}

/// Returns L with L L' = `matrix`. The matrix may be singular: a column of L is zero if the corresponding column of the matrix
/// depends on the columns before it.
fn cholesky(matrix: &[[f64; 5]; 5]) -> [[f64; 5]; 5] {
    let mut lower = [[0.0; 5]; 5];
    for j in 0..5 {
        let left =
            |lower: &[[f64; 5]; 5], i: usize| matrix[i][j] - (0..j).map(|k| lower[i][k] * lower[j][k]).sum::<f64>();
        let pivot = left(&lower, j);
        if pivot.is_nan() || pivot > 1e-13 * matrix[j][j] {
            let root = pivot.sqrt();
            for i in j..5 {
                lower[i][j] = left(&lower, i) / root;
            }
        }
    }
    lower
}

/// Returns the largest singular value of the matrix of distances, or of squared distances, from points to others.
///
/// If both sets of points are the same, this is the largest eigenvalue of the matrix. For two different sets, it is the largest
/// eigenvalue of the bipartite matrix.
fn largest_between(from: &[[f64; 3]], to: &[[f64; 3]], is_squared: bool, matrix: &mut Vec<f64>) -> f64 {
    matrix.clear();
    matrix.extend(from.iter().flat_map(|a| {
        to.iter().map(move |b| {
            let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
            if is_squared { square } else { square.sqrt() }
        })
    }));
    let mut vector = vec![1.0 / (to.len() as f64).sqrt(); to.len()];
    let (mut image, mut found) = (vec![0.0; from.len()], 0.0);
    for _ in 0..MAX_STEPS {
        for (image, row) in image.iter_mut().zip(matrix.chunks(to.len())) {
            *image = row.iter().zip(&vector).map(|(m, v)| m * v).sum();
        }
        let value = image.iter().map(|v| v * v).sum::<f64>().sqrt();
        if value == 0.0 || !value.is_finite() || (value - found).abs() <= f64::EPSILON * value {
            return value;
        }
        found = value;
        vector.fill(0.0);
        for (image, row) in image.iter().zip(matrix.chunks(to.len())) {
            vector.iter_mut().zip(row).for_each(|(v, m)| *v += m * image);
        }
        let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|v| *v /= length);
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::fixture::{batch, mapped};

    fn values(points: &[[f32; 3]], segments: &[Vec<u32>], of: Of, is_squared: bool) -> Result<Vec<f64>> {
        let computation = HelixEigenvalues::new(points.len(), segments.to_vec(), of, is_squared)?;
        Ok(mapped(computation, &[batch(5, &[points.to_vec()], None)])?.rows.into_values().split_off(2))
    }

    /// Returns the largest eigenvalue of a symmetric matrix without negative entries, from many steps of a shifted power
    /// iteration.
    fn perron(matrix: &[Vec<f64>]) -> f64 {
        let n = matrix.len();
        let shift = matrix.iter().map(|row| row.iter().sum::<f64>()).fold(0.0, f64::max) / 2.0;
        let mut vector = vec![1.0; n];
        let mut value = 0.0;
        for _ in 0..20_000 {
            let image: Vec<f64> = (0..n)
                .map(|i| matrix[i].iter().zip(&vector).map(|(m, v)| m * v).sum::<f64>() + shift * vector[i])
                .collect();
            value = image.iter().map(|v| v * v).sum::<f64>().sqrt() / vector.iter().map(|v| v * v).sum::<f64>().sqrt();
            let most = image.iter().copied().fold(1e-300, f64::max);
            vector = image.iter().map(|v| v / most).collect();
        }
        value - shift
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn eigenvalues_are_those_of_the_whole_matrix(
            points in prop::collection::vec(prop::array::uniform3(-20f32..20.0), 5..14),
            cut in 2usize..4,
            is_flat in any::<bool>(),
        ) {
            let points: Vec<[f32; 3]> = if is_flat { points.iter().map(|p| [p[0], p[1], 0.0]).collect() } else { points };
            let n = points.len() as u32;
            let (first, second): (Vec<u32>, Vec<u32>) = ((0..cut as u32).collect(), (cut as u32..n).collect());
            let distance = |a: u32, b: u32| {
                let pair = points[a as usize].iter().zip(points[b as usize]);
                pair.map(|(a, b)| (f64::from(*a) - f64::from(b)).powi(2)).sum::<f64>()
            };
            for is_squared in [false, true] {
                let entry = |a, b| if is_squared { distance(a, b) } else { distance(a, b).sqrt() };
                let segments = [first.clone(), second.clone()];
                let found = values(&points, &segments, Of::Segments, is_squared).unwrap();
                for (found, segment) in found.iter().zip(&segments) {
                    let whole: Vec<Vec<f64>> = segment.iter().map(|&a| segment.iter().map(|&b| entry(a, b)).collect()).collect();
                    prop_assert!((found - perron(&whole)).abs() < 1e-7 * (1.0 + found), "{} and {}", found, perron(&whole));
                }
                let is_first = |atom: u32| first.contains(&atom);
                let bipartite = |a: u32, b: u32| if is_first(a) == is_first(b) { 0.0 } else { entry(a, b) };
                let whole: Vec<Vec<f64>> = (0..n).map(|a| (0..n).map(|b| bipartite(a, b)).collect()).collect();
                let found = values(&points, &segments, Of::Pairs, is_squared).unwrap();
                prop_assert_eq!(found.len(), 1);
                prop_assert!((found[0] - perron(&whole)).abs() < 1e-7 * (1.0 + found[0]), "{} and {}", found[0], perron(&whole));
            }
        }
    }

    #[test]
    fn pairs_come_in_order() {
        let points: Vec<[f32; 3]> = (0..6).map(|i| [(i / 2) as f32 * 10.0, (i % 2) as f32, 0.0]).collect();
        let segments = [vec![0, 1], vec![2, 3], vec![4, 5]];
        let found = values(&points, &segments, Of::Pairs, false).unwrap();
        assert!(found.len() == 3 && found[0] < found[1] && (found[0] - found[2]).abs() < 1e-9);
        // The matrix of two points, [[0, d], [d, 0]], has the eigenvalue d.
        assert_eq!(values(&points, &segments, Of::Segments, false).unwrap(), [1.0; 3]);
    }

    #[test]
    fn points_in_one_place_have_the_eigenvalue_0() {
        let points = [[1.0; 3]; 4];
        for is_squared in [false, true] {
            assert_eq!(values(&points, &[vec![0, 1, 2, 3]], Of::Segments, is_squared).unwrap(), [0.0]);
        }
    }

    #[test]
    fn what_has_no_eigenvalues_is_refused() {
        let message =
            |segments: &[Vec<u32>], of| HelixEigenvalues::new(4, segments.to_vec(), of, true).unwrap_err().to_string();
        assert!(message(&[], Of::Segments).contains("1 segments at least"));
        assert!(message(&[vec![0, 1]], Of::Pairs).contains("2 segments at least"));
        assert!(message(&[vec![0, 1], vec![2]], Of::Pairs).contains("segment 1 has 1 atoms"));
        assert!(message(&[vec![0, 4]], Of::Segments).contains("atom 4 of 4"));
        let wrong = [[0.0; 3], [f32::NAN, 0.0, 0.0]];
        for (of, is_squared) in [(Of::Segments, true), (Of::Segments, false), (Of::Pairs, false)] {
            let error = values(&wrong, &[vec![0, 1], vec![1, 0]], of, is_squared).unwrap_err().to_string();
            assert!(error.contains("frame 5: atom 1 of the 2"), "{error}");
        }
    }
}
