//! Horn's key matrix, whose eigenvector of the largest eigenvalue gives the rotation.

/// Returns Horn's symmetric key matrix, for quaternions in the order w, x, y, z. `inner[i][j]` is the sum over the
/// atoms of coordinate i of the mobile structure times coordinate j of the reference.
pub(super) fn key_matrix(inner: &[[f64; 3]; 3]) -> [[f64; 4]; 4] {
    let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = *inner;
    [
        [xx + yy + zz, yz - zy, zx - xz, xy - yx],
        [yz - zy, xx - yy - zz, xy + yx, zx + xz],
        [zx - xz, xy + yx, -xx + yy - zz, yz + zy],
        [xy - yx, zx + xz, yz + zy, -xx - yy + zz],
    ]
}

/// Returns the rotation matrix of a unit quaternion: `rotated = matrix * vector`.
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
    use crate::symmetric::largest_eigenpair;

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
}
