//! Writers of trajectory files.
//!
//! An [`Encoder`] turns frames into the bytes of a format. It has no state between frames, so workers can encode blocks
//! in parallel. A [`FileWriter`] writes the results one after another, and gives the file its final name when it is
//! complete. If a library writes the structure of a file, a [`chunks::ChunkCutter`] makes the chunks for it, and it
//! writes to a [`LentFile`].

pub mod chunks;
pub(crate) mod dcd;
mod file;
pub mod final_name;
pub mod format;
mod lent_file;
pub mod netcdf3;
mod part_file;
pub(crate) mod positioned;
pub mod trr;
pub mod xtc;

pub use file::FileWriter;
pub use lent_file::LentFile;
pub(crate) use part_file::PartFile;

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::frame::{Columns, FrameBatch, Quantities, Quantity};

/// Properties of a trajectory that some formats store before the first frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outline {
    /// Number of atoms in each frame.
    pub n_atoms: usize,
    /// Quantities that the frames contain.
    pub quantities: Quantities,
    /// Whether frames have a unit cell.
    pub has_unit_cell: bool,
    /// Integration step of the first frame.
    pub first_step: i64,
    /// Number of integration steps from one frame to the next.
    pub steps_per_frame: i64,
    /// Time of the first frame in ps.
    pub first_time: f64,
    /// Time from one frame to the next in ps.
    pub interval: f64,
}

/// An encoder that turns frames into the bytes of a format.
pub trait Encoder: Send + Sync {
    /// Appends the bytes before the first frame.
    fn begin(&self, out: &mut Vec<u8>) -> Result<()>;

    /// Appends the frames of `batch`, which has columns for the quantities of the outline. Returns an error that names
    /// the frame if a frame lacks something that the format requires. Data that the format cannot store is omitted.
    fn encode(&self, batch: &FrameBatch, out: &mut Vec<u8>) -> Result<()>;

    /// Returns the bytes to overwrite once the number of frames is known, each with its position.
    fn end(&self, n_frames: u64) -> Result<Vec<(u64, Vec<u8>)>>;
}

impl<E: Encoder + ?Sized> Encoder for Arc<E> {
    fn begin(&self, out: &mut Vec<u8>) -> Result<()> {
        (**self).begin(out)
    }

    fn encode(&self, batch: &FrameBatch, out: &mut Vec<u8>) -> Result<()> {
        (**self).encode(batch, out)
    }

    fn end(&self, n_frames: u64) -> Result<Vec<(u64, Vec<u8>)>> {
        (**self).end(n_frames)
    }
}

/// Returns an error if the number of atoms differs from the outline.
fn check_atoms(batch: &FrameBatch, n_atoms: usize) -> Result<()> {
    if batch.n_atoms() == n_atoms {
        return Ok(());
    }
    Err(Error::mismatch(format!("frames of {n_atoms} atoms are to be written, got {}", batch.n_atoms())))
}

/// Returns a quantity of the `i`-th frame of `batch`. Returns an error if the frame lacks it, because the format
/// requires it.
fn demanded<'a>(batch: &'a FrameBatch, i: usize, quantity: Quantity, format: &str) -> Result<Columns<'a>> {
    batch.columns_of(i, quantity).ok_or_else(|| {
        Error::mismatch(format!("no {}, which {format} demands", quantity.name())).at_frame(batch.header(i).index)
    })
}
