//! Reader of chunked trajectories, whose arrays are stored in chunks of a file, as in HDF5. The caller provides the
//! structure of the file.
//!
//! A [`Description`] contains the positions of the chunks of each dataset and the filters that were applied to them
//! (`dataset`). The reader compares it with the size of the file before it reads anything. It reads and decodes only
//! the chunks that contain selected atoms (`fill`, `filters`). From chunks without filters, it reads only the bytes of
//! these atoms. While it copies numbers, it converts them to float32 in the units of mdreel (`number`). If a chunk
//! spans many frames, the reader decodes it once for all of its frames in a block (`reader`).

mod as_source;
mod cells;
mod dataset;
mod fill;
mod filters;
mod number;
mod reader;

pub use cells::Cells;
pub use dataset::{Dataset, Description, StoredChunk};
pub use filters::Filter;
pub use number::{Conversion, Kind, Number};

use crate::error::{Error, Result};
use crate::frame::Quantity;
use crate::source::bytes::FileBytes;

/// Description of a chunked trajectory.
#[derive(Debug)]
pub struct Layout {
    /// Time of each frame in ps.
    pub times: Vec<f64>,
    /// Integration step of each frame.
    pub steps: Vec<i64>,
    /// Quantities and their datasets.
    pub quantities: Vec<(Quantity, Description)>,
    /// Unit cells.
    pub cells: Cells<Description>,
}

/// An open chunked trajectory.
#[derive(Debug)]
pub struct Chunked {
    file: FileBytes,
    n_atoms: usize,
    times: Vec<f64>,
    steps: Vec<i64>,
    quantities: Vec<(Quantity, Dataset)>,
    cells: Cells,
    n_bytes: u64,
}

impl Chunked {
    /// Opens a file, and checks that the layout fits it.
    pub fn open(file: FileBytes, layout: Layout) -> Result<Self> {
        let Layout { times, steps, quantities, cells } = layout;
        let mismatch = |message: String| Error::mismatch(message).in_file(file.path());
        if times.len() != steps.len() {
            return Err(mismatch(format!("{} times, but {} steps", times.len(), steps.len())));
        }
        let Some((_, first)) = quantities.first() else {
            return Err(mismatch("neither positions nor velocities nor forces".into()));
        };
        let n_rows = first.shape[1];
        let check = |description: Description, n_rows: u64| {
            let Description { name, shape, frames, .. } = &description;
            let n_frames = frames.as_ref().map_or(shape[0], |frames| frames.len() as u64);
            if shape[1] != n_rows || n_frames != times.len() as u64 {
                let message =
                    format!("{name}: {} frames of {n_rows} rows were expected, the shape is {shape:?}", times.len());
                return Err(Error::format(file.path(), None, None, message));
            }
            Dataset::new(description, &file)
        };
        let quantities: Vec<_> = quantities
            .into_iter()
            .map(|(quantity, description)| Ok((quantity, check(description, n_rows)?)))
            .collect::<Result<_>>()?;
        let n_cell_rows = if matches!(cells, Cells::Vectors(_)) { 3 } else { 1 };
        let cells = cells.map(|description| check(description, n_cell_rows))?;
        let n_bytes = quantities.iter().map(|(_, dataset)| dataset.n_bytes()).sum::<u64>()
            + cells.datasets().map(Dataset::n_bytes).sum::<u64>();
        Ok(Chunked { file, n_atoms: n_rows as usize, times, steps, quantities, cells, n_bytes })
    }

    fn dataset(&self, quantity: Quantity) -> Option<&Dataset> {
        self.quantities.iter().find(|(own, _)| *own == quantity).map(|(_, dataset)| dataset)
    }

    /// Returns the number of frames that should be read together, which is 1 if each frame is stored separately.
    fn frames_together(&self) -> u64 {
        self.quantities.iter().map(|(_, dataset)| dataset.frames_together()).max().unwrap_or(1)
    }
}
