//! Unit cells: six numbers in double precision, whose meaning differs between programs.

use std::f64::consts::FRAC_PI_2;

use crate::unit_cell::UnitCell;

/// Number of bytes in the record of the unit cell.
pub(super) const CELL_BYTES: u64 = 48;

/// Interprets the six numbers of a frame's cell record as MDAnalysis and VMD do. The order in the record is A, gamma,
/// B, beta, alpha, C. The convention follows from the values:
///
/// * If all numbers between the lengths lie in [-1, 1], they are cosines of the angles (NAMD since 2.5, CHARMM before
///   22, LAMMPS).
/// * If any of the six numbers is negative or an angle is above 180, the record is the symmetric shape matrix xx, xy,
///   yy, xz, yz, zz (CHARMM since 22).
/// * Otherwise, they are angles in degrees (OpenMM, old NAMD, X-PLOR order).
///
/// A file does not specify its convention. A shape matrix of small positive numbers is therefore taken for angles, and
/// angles in another order stay in that order. If the lengths are zero, or the shape matrix spans no volume, the frame
/// has no unit cell.
pub(super) fn unit_cell(record: [f64; 6]) -> Option<UnitCell> {
    let [a, gamma, b, beta, alpha, c] = record;
    let angles = [alpha, beta, gamma];
    let dimensions = if angles.iter().all(|cosine| (-1.0..=1.0).contains(cosine)) {
        // The arcsine converts a cosine of 0 to exactly 90 degrees.
        let [alpha, beta, gamma] = angles.map(|cosine| 90.0 - cosine.asin() * 90.0 / FRAC_PI_2);
        [a, b, c, alpha, beta, gamma].map(|v| v as f32)
    } else if record.iter().any(|&v| v < 0.0) || angles.iter().any(|&angle| angle > 180.0) {
        dimensions_of_shape(record)?
    } else {
        [a, b, c, alpha, beta, gamma].map(|v| v as f32)
    };
    let has_lengths = dimensions[..3].iter().any(|&length| length != 0.0);
    has_lengths.then_some(UnitCell::Dimensions(dimensions))
}

/// Returns the lengths and angles of a symmetric shape matrix xx, xy, yy, xz, yz, zz, or `None` if it is not a unit
/// cell.
fn dimensions_of_shape([xx, xy, yy, xz, yz, zz]: [f64; 6]) -> Option<[f32; 6]> {
    let (a, b, c) = ([xx, xy, xz], [xy, yy, yz], [xz, yz, zz]);
    let dot = |u: [f64; 3], v: [f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let length = |u: [f64; 3]| dot(u, u).sqrt();
    let angle = |u: [f64; 3], v: [f64; 3]| (dot(u, v) / (length(u) * length(v))).acos().to_degrees();
    let angles = [angle(b, c), angle(a, c), angle(a, b)];
    let dimensions = [length(a), length(b), length(c), angles[0], angles[1], angles[2]].map(|v| v as f32);
    let is_cell = dimensions.iter().all(|&v| v > 0.0) && angles.iter().all(|&angle| angle < 180.0);
    is_cell.then_some(dimensions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dimensions(record: [f64; 6]) -> [f32; 6] {
        unit_cell(record).expect("a cell").dimensions()
    }

    // Expected values are from MDAnalysis 2.11, `DCDReader`.

    #[test]
    fn cell_keeps_angles_in_degrees() {
        assert_eq!(dimensions([81.1, 85.0, 82.2, 80.0, 75.0, 83.3]), [81.1, 82.2, 83.3, 75.0, 80.0, 85.0]);
    }

    #[test]
    fn cell_turns_cosines_into_angles() {
        assert_eq!(dimensions([10.0, 0.0, 20.0, 0.0, 0.0, 30.0]), [10.0, 20.0, 30.0, 90.0, 90.0, 90.0]);
        assert_eq!(dimensions([10.0, 0.5, 20.0, -0.5, 1.0, 30.0]), [10.0, 20.0, 30.0, 0.0, 120.0, 60.0]);
    }

    #[test]
    fn cell_reads_shape_matrix_when_an_entry_is_negative() {
        let record = [
            30.841835874369185,
            14.578634601928778,
            31.78008803979591,
            9.626322604979867,
            -2.6081501523385464,
            32.670090342078865,
        ];
        assert_eq!(dimensions(record), [35.446037, 35.06156, 34.158504, 91.328026, 61.735207, 44.40703]);
    }

    #[test]
    fn cell_reads_shape_matrix_when_an_angle_is_above_180() {
        let record = [300.0, 0.0, 300.0, 0.0, 181.0, 400.0];
        assert_eq!(dimensions(record), [300.0, 350.37265, 439.04556, 34.549267, 90.0, 90.0]);
    }

    #[test]
    fn cell_is_none_when_it_has_no_lengths() {
        assert_eq!(unit_cell([0.0; 6]), None);
        assert_eq!(unit_cell([0.0, 90.0, 0.0, 90.0, 90.0, 0.0]), None);
        assert_eq!(unit_cell([1e-60, 90.0, 0.0, 90.0, 90.0, 0.0]), None);
    }

    #[test]
    fn cell_is_none_when_the_shape_matrix_spans_no_volume() {
        assert_eq!(unit_cell([0.0, 0.0, 1.0, 0.0, -2.0, 1.0]), None);
        assert_eq!(unit_cell([-1.0, 0.0, f64::NAN, 0.0, 200.0, 1.0]), None);
    }
}
