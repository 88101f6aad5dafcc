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

/// Change of the positions of each frame. Arithmetic is in float64; the result is rounded to float32 once.
pub trait Transform: Send + Sync {
    /// The atoms that it names, whichever are selected: a trajectory must have them.
    fn named(&self) -> &[u32];

    /// Adds to `atoms` those that it must see so that these come out right. They ascend before; not after.
    fn add_needed(&self, atoms: &mut Vec<u32>);

    /// Whether each frame needs the one before: frames must be read in order, by one reader.
    fn needs_order(&self) -> bool {
        false
    }

    /// Itself, ready for frames of these atoms, which ascend.
    fn mover(&self, atoms: &[u32]) -> Box<dyn Mover>;
}

/// A transformation on its way through frames of some atoms.
pub trait Mover: Send {
    /// Moves atoms of all frames held.
    fn apply(&mut self, batch: &mut FrameBatch) -> Result<()>;
}

/// Cell of the i-th frame, which `what` needs.
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
