//! Eigenvalues of the key matrix by Jacobi rotations: slower than the polynomial, precise whatever the matrix.

/// Sweeps that are never needed: convergence is quadratic, 4x4 takes about six.
const MAX_SWEEPS: usize = 30;

/// Horn's symmetric key matrix; its quaternions are in the order w, x, y, z. `inner[i][j]` is the sum over the atoms
/// of coordinate i of the mobile times coordinate j of the reference.
pub(super) fn key_matrix(inner: &[[f64; 3]; 3]) -> [[f64; 4]; 4] {
    let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = *inner;
    [
        [xx + yy + zz, yz - zy, zx - xz, xy - yx],
        [yz - zy, xx - yy - zz, xy + yx, zx + xz],
        [zx - xz, xy + yx, -xx + yy - zz, yz + zy],
        [xy - yx, zx + xz, yz + zy, -xx - yy + zz],
    ]
}

/// The largest eigenvalue of a symmetric matrix and its unit eigenvector.
pub(super) fn largest_eigenpair(mut matrix: [[f64; 4]; 4]) -> (f64, [f64; 4]) {
    let mut vectors: [[f64; 4]; 4] = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    for _ in 0..MAX_SWEEPS {
        let mut is_diagonal = true;
        for (p, q) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            let off = matrix[p][q];
            // What cannot change the diagonal in float64 is zero.
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
    let largest = (1..4).fold(0, |best, i| if matrix[i][i] > matrix[best][best] { i } else { best });
    let vector = vectors.map(|row| row[largest]);
    let norm = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
    (matrix[largest][largest], vector.map(|v| v / norm))
}

/// The rotation in the plane p, q that makes `matrix[p][q]` zero (the smaller of the two angles).
fn rotate(matrix: &mut [[f64; 4]; 4], vectors: &mut [[f64; 4]; 4], p: usize, q: usize, off: f64) {
    let half_cotangent = (matrix[q][q] - matrix[p][p]) / (2.0 * off);
    let tangent = half_cotangent.signum() / (half_cotangent.abs() + half_cotangent.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    for row in matrix.iter_mut() {
        (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
    }
    let (old_p, old_q) = (matrix[p], matrix[q]);
    for k in 0..4 {
        matrix[p][k] = cosine * old_p[k] - sine * old_q[k];
        matrix[q][k] = sine * old_p[k] + cosine * old_q[k];
    }
    matrix[p][q] = 0.0;
    matrix[q][p] = 0.0;
    for row in vectors.iter_mut() {
        (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
    }
}

/// The rotation matrix of a unit quaternion: `rotated = matrix * vector`.
pub(super) fn rotation_matrix([w, x, y, z]: [f64; 4]) -> [[f64; 3]; 3] {
    [
        [w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_eigenpair_satisfies_its_equation_and_is_the_largest() {
        let matrix = key_matrix(&[[0.3, -0.2, 0.1], [0.05, 0.4, -0.6], [0.7, 0.15, -0.25]]);
        let (value, vector) = largest_eigenpair(matrix);
        for (row, v) in matrix.iter().zip(vector) {
            let product: f64 = row.iter().zip(vector).map(|(m, v)| m * v).sum();
            assert!((product - value * v).abs() < 1e-15);
        }
        // The trace of a key matrix is zero, and no Rayleigh quotient exceeds the largest eigenvalue.
        assert!((0..4).all(|i| matrix[i][i] <= value) && value > 0.0);
    }

    #[test]
    fn test_eigenpair_is_a_unit_vector_when_the_matrix_is_zero() {
        let (value, vector) = largest_eigenpair([[0.0; 4]; 4]);
        assert_eq!((value, vector), (0.0, [1.0, 0.0, 0.0, 0.0]));
    }
}
