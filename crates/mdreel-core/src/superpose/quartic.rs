//! The characteristic polynomial of the key matrix, and its largest root.

/// Maximum number of Newton steps. After them, the eigenvalue solver computes the root. From above, convergence is
/// monotone and soon quadratic. It takes 4 to 8 steps unless the root is nearly double.
const MAX_STEPS: usize = 24;
/// Convergence limit: after a smaller step, the next one would be lost in rounding.
const LAST_STEP: f64 = 1e-9;
/// Minimum accepted `slope² gap`. An error of some units in the last place of the polynomial then changes the RMSD by
/// at most 1e-12 of the radius of gyration.
const MIN_CONDITION: f64 = 1e-6;

/// Returns the coefficients of `λ⁴ + c2 λ² + c1 λ + c0`, the characteristic polynomial of the key matrix of `inner`.
///
/// Let s be the singular values of the inner product matrix M, the last one with the sign of det M. The four roots are
/// then `s1+s2+s3, s1-s2-s3, -s1+s2-s3, -s1-s2+s3`. Multiplied out: `c2 = -2 |M|²`, `c1 = -8 det M` and `c0 = |M|⁴ - 4
/// |cof M|²`, where cof M is the matrix of the cofactors and |.| the Frobenius norm.
#[inline(always)]
fn coefficients(inner: &[[f64; 3]; 3]) -> (f64, f64, f64) {
    let [a, b, c] = inner;
    let (bc, ca, ab) = (cross(b, c), cross(c, a), cross(a, b));
    let square = (dot(a, a) + dot(b, b)) + dot(c, c);
    let cofactors = (dot(&bc, &bc) + dot(&ca, &ca)) + dot(&ab, &ab);
    (-2.0 * square, -8.0 * dot(a, &bc), square.mul_add(square, -4.0 * cofactors))
}

#[inline(always)]
fn cross(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    let minor = |i: usize, j: usize| a[i].mul_add(b[j], -(a[j] * b[i]));
    [minor(1, 2), minor(2, 0), minor(0, 1)]
}

#[inline(always)]
fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

/// Returns `1 - λ` for the largest root λ. `inner` must be scaled so that no root exceeds 1. Returns `None` if the root
/// is so close to another one, or to 1, that the polynomial cannot determine it accurately.
#[inline(always)]
pub(super) fn gap_below_one(inner: &[[f64; 3]; 3]) -> Option<f64> {
    let (c2, c1, c0) = coefficients(inner);
    let mut root = 1.0f64;
    for _ in 0..MAX_STEPS {
        let square = root * root;
        let odd = (square + c2) * root;
        let cubic = odd + c1;
        let slope = (2.0 * square).mul_add(root, odd + cubic);
        let step = cubic.mul_add(root, c0) / slope;
        root -= step;
        if step.abs() < LAST_STEP {
            let gap = 1.0 - root;
            return (slope * slope * gap >= MIN_CONDITION).then_some(gap);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_coefficients_have_the_roots_of_a_diagonal_matrix() {
        let (s1, s2, s3) = (0.5, 0.3, -0.125);
        let (c2, c1, c0) = coefficients(&[[s1, 0.0, 0.0], [0.0, s2, 0.0], [0.0, 0.0, s3]]);
        for root in [s1 + s2 + s3, s1 - s2 - s3, -s1 + s2 - s3, -s1 - s2 + s3] {
            let value: f64 = ((root * root + c2) * root + c1) * root + c0;
            assert!(value.abs() < 1e-15, "P({root}) = {value}");
        }
    }

    #[test]
    fn test_gap_is_left_to_the_eigenvalue_when_the_root_is_double() {
        assert_eq!(gap_below_one(&[[0.7, 0.0, 0.0], [0.0; 3], [0.0; 3]]), None);
        assert_eq!(gap_below_one(&[[0.0; 3]; 3]), None);
        assert_eq!(gap_below_one(&[[f64::NAN; 3]; 3]), None);
    }

    #[test]
    fn test_gap_is_that_of_the_largest_root() {
        let gap = gap_below_one(&[[0.0, 0.4, 0.0], [0.0, 0.0, 0.3], [0.2, 0.0, 0.0]]).unwrap();
        assert!((gap - 0.1).abs() < 1e-15, "{gap}");
    }
}
