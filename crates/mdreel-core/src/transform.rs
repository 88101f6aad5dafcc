//! Transformations of frames before any analysis uses them, for example to make molecules whole.

mod center;
mod compounds;
mod no_jump;
mod spanning_forest;
mod superposed;
mod transformed;
mod whole;
mod wrap;

pub use center::{Center, Target};
pub use compounds::Compounds;
pub use no_jump::{NoJump, Path, Scheme};
pub use spanning_forest::SpanningForest;
pub use superposed::Superposed;
pub use transformed::Transformed;
pub use whole::Whole;
pub use wrap::Wrap;

use crate::error::{Error, Result};
use crate::frame::{ColumnsMut, FrameBatch};
use crate::periodic::Periodic;

/// A transformation of the positions in each frame. It computes in float64 and rounds the result to float32 once.
pub trait Transform: Send + Sync {
    /// Returns the atoms that the transformation names, independent of the selection. The trajectory must contain these
    /// atoms.
    fn named(&self) -> &[u32];

    /// Adds to `atoms` the other atoms whose positions the transformation needs to move `atoms` correctly. `atoms` must
    /// ascend before the call, but need not ascend after it.
    fn add_needed(&self, atoms: &mut Vec<u32>);

    /// Returns whether each frame depends on the previous one. A single reader must then read the frames in order.
    fn needs_order(&self) -> bool {
        false
    }

    /// Creates a mover for frames with the given atoms, which must ascend.
    fn mover(&self, atoms: &[u32]) -> Box<dyn Mover>;
}

/// A transformation applied to successive frames with a fixed set of atoms.
pub trait Mover: Send {
    /// Moves the atoms of all frames in the batch.
    fn apply(&mut self, batch: &mut FrameBatch) -> Result<()>;
}

/// Returns the cell of the i-th frame. If there is none, the error message names the operation `what`.
fn cell_of(batch: &FrameBatch, i: usize, what: &str) -> Result<Periodic> {
    let header = batch.header(i);
    Periodic::of_frame(header)?
        .ok_or_else(|| Error::mismatch(format!("no periodic cell: {what} needs one")).at_frame(header.index))
}

fn position(columns: &ColumnsMut<'_>, place: usize) -> [f64; 3] {
    [columns.x[place], columns.y[place], columns.z[place]].map(f64::from)
}

fn set_position(columns: &mut ColumnsMut<'_>, place: usize, [x, y, z]: [f64; 3]) {
    (columns.x[place], columns.y[place], columns.z[place]) = (x as f32, y as f32, z as f32);
}

fn sum([ax, ay, az]: [f64; 3], [bx, by, bz]: [f64; 3]) -> [f64; 3] {
    [ax + bx, ay + by, az + bz]
}

fn difference([ax, ay, az]: [f64; 3], [bx, by, bz]: [f64; 3]) -> [f64; 3] {
    [ax - bx, ay - by, az - bz]
}

#[cfg(test)]
mod tests;
