//! Values of sixteen frames in the layout of the vector instructions.

/// Number of frames in a group. A register of AVX-512 holds as many float32 values.
pub(super) const WIDTH: usize = 16;

/// One value for each frame of a group.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Sixteen(pub [f32; WIDTH]);

/// The distances of a group from the pivots.
#[derive(Debug, Clone)]
pub(super) struct Distances {
    /// Distance of each frame from each pivot, Å. NaN if no bound is known.
    pub each: Vec<Sixteen>,
    /// The smallest and the largest distance from each pivot.
    pub ranges: Vec<[f32; 2]>,
}
