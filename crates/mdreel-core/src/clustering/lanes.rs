//! Numbers of sixteen frames, in the layout of the vector instructions.

/// Frames of a group: the float32 that a register of AVX-512 holds.
pub(super) const WIDTH: usize = 16;

/// A number of each frame of a group.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Sixteen(pub [f32; WIDTH]);

/// What the bounds say about a group.
#[derive(Debug, Clone)]
pub(super) struct Distances {
    /// Distance of each frame from each pivot, Å; NaN where no bound is known.
    pub each: Vec<Sixteen>,
    /// The smallest and the largest distance from each pivot.
    pub ranges: Vec<[f32; 2]>,
}
