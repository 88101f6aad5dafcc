//! The periodic cell, stored as in the file and converted on request.

use crate::units::ANGSTROM_PER_NANOMETRE;

/// The smallest volume of a cell, as a fraction of the product of its lengths. Below this limit, float32 angles cannot
/// distinguish a cell from a plane.
const LEAST_VOLUME: f64 = 1e-3;

/// A periodic cell. Files contain either row vectors (GROMACS, in nm) or lengths and angles (CHARMM). The cell keeps
/// the values of the file bit for bit and computes the other representation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UnitCell {
    /// Three row vectors in Å.
    Vectors([[f32; 3]; 3]),
    /// Three row vectors in nm. Lengths and angles are computed from these before any rounding to Å.
    Nanometres([[f32; 3]; 3]),
    /// Lengths in Å and the angles alpha, beta and gamma in degrees.
    Dimensions([f32; 6]),
}

impl UnitCell {
    /// Returns the cell as three row vectors in Å, with a along x and b in the xy plane.
    pub fn vectors(&self) -> [[f32; 3]; 3] {
        match *self {
            UnitCell::Vectors(vectors) => vectors,
            UnitCell::Nanometres(vectors) => vectors.map(|row| row.map(|v| v * ANGSTROM_PER_NANOMETRE)),
            UnitCell::Dimensions(dimensions) => vectors_from_dimensions(dimensions),
        }
    }

    /// Returns the lengths (Å) and the angles alpha, beta and gamma (degrees) of the cell.
    pub fn dimensions(&self) -> [f32; 6] {
        match *self {
            UnitCell::Vectors(vectors) => dimensions_from_vectors(vectors),
            UnitCell::Nanometres(vectors) => {
                let [a, b, c, alpha, beta, gamma] = dimensions_from_vectors(vectors);
                let [a, b, c] = [a, b, c].map(|length| length * ANGSTROM_PER_NANOMETRE);
                [a, b, c, alpha, beta, gamma]
            }
            UnitCell::Dimensions(dimensions) => dimensions,
        }
    }

    /// Returns the volume (Å³) of the cell that the lengths and angles define.
    pub(crate) fn volume(&self) -> f64 {
        let [[a, ..], [_, b, _], [.., c]] = rows_from_dimensions(self.dimensions());
        a * b * c
    }

    /// Returns the reason why the lengths and angles do not define a cell with a volume, or `None` if they do.
    pub(crate) fn problem(&self) -> Option<String> {
        let dimensions = self.dimensions();
        let (lengths, angles) = dimensions.split_at(3);
        let are_lengths = lengths.iter().all(|length| length.is_finite() && *length > 0.0);
        let are_angles = angles.iter().all(|angle| *angle > 0.0 && *angle < 180.0);
        if !are_lengths || !are_angles {
            let expected = "expected lengths above 0 Å and angles between 0 and 180 degrees";
            return Some(format!("{expected}, the cell is {dimensions:?}"));
        }
        let [x, y, z] = [3, 4, 5].map(|k| f64::from(dimensions[k]).to_radians().cos());
        let volume = (1.0 - x * x - y * y - z * z + 2.0 * x * y * z).max(0.0).sqrt();
        (volume < LEAST_VOLUME).then(|| {
            format!(
                "expected angles that span a volume (each below the sum of the others, all together below 360 degrees), the \
                 cell is {dimensions:?}"
            )
        })
    }
}

fn vectors_from_dimensions(dimensions: [f32; 6]) -> [[f32; 3]; 3] {
    rows_from_dimensions(dimensions).map(|row| row.map(|v| v as f32))
}

fn rows_from_dimensions(dimensions: [f32; 6]) -> [[f64; 3]; 3] {
    let [a, b, c, alpha, beta, gamma] = dimensions.map(f64::from);
    // The cosine and sine of 90 degrees are exact, so a rectangular cell has exact zeros.
    let cosine = |angle: f64| if angle == 90.0 { 0.0 } else { angle.to_radians().cos() };
    let sine = |angle: f64| if angle == 90.0 { 1.0 } else { angle.to_radians().sin() };
    let (cos_alpha, cos_beta, cos_gamma, sin_gamma) = (cosine(alpha), cosine(beta), cosine(gamma), sine(gamma));
    let cx = c * cos_beta;
    let cy = c * (cos_alpha - cos_beta * cos_gamma) / sin_gamma;
    let cz = (c * c - cx * cx - cy * cy).max(0.0).sqrt();
    [[a, 0.0, 0.0], [b * cos_gamma, b * sin_gamma, 0.0], [cx, cy, cz]]
}

fn dimensions_from_vectors(vectors: [[f32; 3]; 3]) -> [f32; 6] {
    let [a, b, c] = vectors.map(|row| row.map(f64::from));
    let dot = |u: [f64; 3], v: [f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let length = |u: [f64; 3]| dot(u, u).sqrt();
    let (la, lb, lc) = (length(a), length(b), length(c));
    let angle = |u: [f64; 3], v: [f64; 3], lengths: f64| (dot(u, v) / lengths).clamp(-1.0, 1.0).acos().to_degrees();
    [la, lb, lc, angle(b, c, lb * lc), angle(a, c, la * lc), angle(a, b, la * lb)].map(|v| v as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_vectors_in_nanometres_are_those_of_the_file_times_ten() {
        let vectors = [[3.1234567, 0.0, 0.0], [1.0456789, 2.8765432, 0.0], [-1.2034567, 0.9123456, 2.543211]];
        let native = UnitCell::Vectors(vectors).dimensions();
        let found = UnitCell::Nanometres(vectors).dimensions();
        assert_eq!(found[..3], native.map(|value| value * 10.0)[..3]);
        assert_eq!(found[3..], native[3..]);
        assert_eq!(UnitCell::Nanometres(vectors).vectors(), vectors.map(|row| row.map(|value| value * 10.0)));
    }
}
