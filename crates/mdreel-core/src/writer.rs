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

/// What is known of a trajectory before its first frame is written, for formats that say it at the beginning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outline {
    /// Atoms in each frame.
    pub n_atoms: usize,
    /// What each frame is to hold.
    pub quantities: Quantities,
    /// Whether frames have a unit cell.
    pub has_unit_cell: bool,
    /// Integration step of the first frame.
    pub first_step: i64,
    /// Integration steps from one frame to the next.
    pub steps_per_frame: i64,
    /// Time of the first frame, ps.
    pub first_time: f64,
    /// Time from one frame to the next, ps.
    pub interval: f64,
}

/// Turns frames into the bytes of a format.
pub trait Encoder: Send + Sync {
    /// Appends what stands in front of the first frame.
    fn begin(&self, out: &mut Vec<u8>) -> Result<()>;

    /// Appends the frames of `batch`, which has columns for the quantities of the outline. Frames without something
    /// that the format demands are refused with an error that says which; what the format cannot hold is left out.
    fn encode(&self, batch: &FrameBatch, out: &mut Vec<u8>) -> Result<()>;

    /// What has to be written over once the number of frames is known: where, and what.
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

/// Refuses frames of a different number of atoms than the outline says.
fn check_atoms(batch: &FrameBatch, n_atoms: usize) -> Result<()> {
    if batch.n_atoms() == n_atoms {
        return Ok(());
    }
    Err(Error::mismatch(format!("frames of {n_atoms} atoms are to be written, got {}", batch.n_atoms())))
}

/// A quantity that a format cannot do without, of the `i`-th frame of `batch`.
fn demanded<'a>(batch: &'a FrameBatch, i: usize, quantity: Quantity, format: &str) -> Result<Columns<'a>> {
    batch.columns_of(i, quantity).ok_or_else(|| {
        Error::mismatch(format!("no {}, which {format} demands", quantity.name())).at_frame(batch.header(i).index)
    })
}
