//! The rigid motion that brings a frame closest to a reference.

/// The rigid motion that brings a frame closest to a reference, in the sense of weighted least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Superposition {
    /// Rotation matrix: `rotated = rotation * vector`.
    pub rotation: [[f64; 3]; 3],
    /// Weighted centre of the frame, Å.
    pub mobile_centre: [f64; 3],
    /// Weighted centre of the reference, Å.
    pub reference_centre: [f64; 3],
    /// Remaining weighted root mean square distance, Å.
    pub rmsd: f64,
}

impl Superposition {
    /// Returns the position of `point` (Å) after the motion.
    pub(crate) fn apply(&self, point: [f64; 3]) -> [f64; 3] {
        let turned = self.rotate(std::array::from_fn(|k| point[k] - self.mobile_centre[k]));
        std::array::from_fn(|k| self.reference_centre[k] + turned[k])
    }

    /// Returns `vector` after the rotation.
    pub(crate) fn rotate(&self, vector: [f64; 3]) -> [f64; 3] {
        self.rotation.map(|[x, y, z]| x * vector[0] + y * vector[1] + z * vector[2])
    }
}
