//! Eigenvalues of small symmetric matrices by Jacobi rotations, which are accurate for every matrix.

/// Upper limit of the number of sweeps. Convergence is quadratic: a 4x4 matrix takes about six sweeps.
const MAX_SWEEPS: usize = 30;

/// Returns the largest eigenvalue of a symmetric matrix and its unit eigenvector.
pub(crate) fn largest_eigenpair<const N: usize>(mut matrix: [[f64; N]; N]) -> (f64, [f64; N]) {
    let mut vectors: [[f64; N]; N] = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    for _ in 0..MAX_SWEEPS {
        let mut is_diagonal = true;
        for (p, q) in (0..N).flat_map(|p| (p + 1..N).map(move |q| (p, q))) {
            let off = matrix[p][q];
            // An element that cannot change the diagonal in float64 counts as zero.
            if off.abs() <= f64::EPSILON * 1e-3 * (matrix[p][p].abs() + matrix[q][q].abs()) {
                continue;
            }
            is_diagonal = false;
            rotate(&mut matrix, &mut vectors, p, q, off);
        }
        if is_diagonal {
            break;
        }
    }
    let largest = (1..N).fold(0, |best, i| if matrix[i][i] > matrix[best][best] { i } else { best });
    let vector = vectors.map(|row| row[largest]);
    let norm = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
    (matrix[largest][largest], vector.map(|v| v / norm))
}

/// Applies the rotation in the plane p, q that makes `matrix[p][q]` zero, with the smaller of the two angles.
fn rotate<const N: usize>(matrix: &mut [[f64; N]; N], vectors: &mut [[f64; N]; N], p: usize, q: usize, off: f64) {
    let half_cotangent = (matrix[q][q] - matrix[p][p]) / (2.0 * off);
    let tangent = half_cotangent.signum() / (half_cotangent.abs() + half_cotangent.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    for row in matrix.iter_mut() {
        (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
    }
    let (old_p, old_q) = (matrix[p], matrix[q]);
    for k in 0..N {
        matrix[p][k] = cosine * old_p[k] - sine * old_q[k];
        matrix[q][k] = sine * old_p[k] + cosine * old_q[k];
    }
    matrix[p][q] = 0.0;
    matrix[q][p] = 0.0;
    for row in vectors.iter_mut() {
        (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn eigenpair_satisfies_its_equation_and_is_the_largest(
            entries in prop::array::uniform5(prop::array::uniform5(-10f64..10.0)),
            other in prop::array::uniform5(-1f64..1.0),
        ) {
            let matrix: [[f64; 5]; 5] = std::array::from_fn(|i| std::array::from_fn(|j| entries[i.min(j)][i.max(j)]));
            let (value, vector) = largest_eigenpair(matrix);
            for (row, v) in matrix.iter().zip(vector) {
                let product: f64 = row.iter().zip(vector).map(|(m, v)| m * v).sum();
                prop_assert!((product - value * v).abs() < 1e-12);
            }
            // No Rayleigh quotient exceeds the largest eigenvalue.
            let quotient: f64 = (0..5).flat_map(|i| (0..5).map(move |j| other[i] * matrix[i][j] * other[j])).sum();
            prop_assert!(quotient <= value * other.iter().map(|v| v * v).sum::<f64>() + 1e-12);
        }
    }

    #[test]
    fn eigenpair_is_a_unit_vector_when_the_matrix_is_zero() {
        let (value, vector) = largest_eigenpair([[0.0; 4]; 4]);
        assert_eq!((value, vector), (0.0, [1.0, 0.0, 0.0, 0.0]));
    }
}
