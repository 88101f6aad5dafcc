//! Writers: frames to files.
//!
//! An [`Encoder`] turns frames into the bytes of a format. It keeps nothing from frame to frame, so that workers can
//! encode blocks side by side; a [`FileWriter`] puts what they made one after the other, and gives the file its name
//! when it is whole.

mod file;
pub mod trr;

pub use file::FileWriter;

use crate::error::Result;
use crate::frame::{FrameBatch, Quantities};

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
