//! Datasets with three numbers per row and several rows per frame, divided into chunks anywhere in a file.

use super::filters::{Filter, is_plain, most_bytes};
use super::number::{Conversion, Number};
use crate::error::{Error, Result};
use crate::source::bytes::FileBytes;

/// A stored chunk. A chunk that is not stored contains the fill value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredChunk {
    /// Index of the cell in the grid of chunks. Frames vary slowest and columns fastest.
    pub cell: u64,
    /// Position of the first byte in the file.
    pub offset: u64,
    /// Number of bytes in the file.
    pub size: u64,
    /// Bit mask of the filters that were skipped. The lowest bit is that of the first filter.
    pub filter_mask: u32,
}

/// Description of a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// Name of the dataset in the file.
    pub name: String,
    /// Format of the numbers.
    pub number: Number,
    /// Number of frames, rows of each frame and columns of each row. There must be three columns.
    pub shape: [u64; 3],
    /// Shape of a chunk. Contiguous data form one chunk.
    pub chunk: [u64; 3],
    /// Filters that were applied to chunks before they were stored, in this order.
    pub filters: Vec<Filter>,
    /// The stored chunks, in any order.
    pub chunks: Vec<StoredChunk>,
    /// Value of the numbers in chunks that are not stored.
    pub fill_value: f64,
    /// Factors of the numbers.
    pub conversion: Conversion,
    /// Frame of the dataset for each frame of the trajectory; `None` if the frame numbers agree.
    pub frames: Option<Vec<Option<u64>>>,
}

/// A dataset whose description was compared with its file.
#[derive(Debug)]
pub struct Dataset {
    description: Description,
    chunk_bytes: u64,
    /// Number of chunks along frames, rows and columns.
    grid: [u64; 3],
}

impl Dataset {
    /// Checks that the parts of the description are consistent and that the chunks lie within the file.
    pub(crate) fn new(mut description: Description, file: &FileBytes) -> Result<Self> {
        if description.shape.contains(&0) {
            description.chunk = description.chunk.map(|length| length.max(1));
        }
        let Description { name, number, shape, chunk, .. } = &description;
        let wrong = |message: String| Error::format(file.path(), None, None, format!("{name}: {message}"));
        let product =
            |lengths: &[u64; 3]| lengths.iter().try_fold(number.bytes(), |bytes, &length| bytes.checked_mul(length));
        if shape[2] != 3 {
            return Err(wrong(format!("3 columns were expected, the shape is {shape:?}")));
        }
        let chunk_bytes = product(chunk).filter(|&bytes| bytes > 0);
        let (Some(chunk_bytes), Some(_)) = (chunk_bytes, product(shape)) else {
            return Err(wrong(format!("no file holds the shape {shape:?} in chunks of {chunk:?}")));
        };
        if chunk[2] > 3 || shape[1] > u64::from(u32::MAX) {
            return Err(wrong(format!("the shape {shape:?} in chunks of {chunk:?} is not supported")));
        }
        let grid = std::array::from_fn(|axis| shape[axis].div_ceil(chunk[axis]));
        if let Some(frames) = &description.frames
            && let Some(frame) = frames.iter().flatten().find(|&&frame| frame >= shape[0])
        {
            return Err(wrong(format!("frame {frame} was asked for, the shape is {shape:?}")));
        }
        description.chunks.sort_unstable_by_key(|chunk| chunk.cell);
        let dataset = Dataset { description, chunk_bytes, grid };
        dataset.check_chunks(file)?;
        Ok(dataset)
    }

    fn check_chunks(&self, file: &FileBytes) -> Result<()> {
        let Description { name, filters, chunks, .. } = &self.description;
        let n_cells: u128 = self.grid.iter().map(|&length| u128::from(length)).product();
        let mut before = None;
        for chunk in chunks {
            let wrong = |message: String| {
                let frame = self.first_frame(chunk.cell);
                Err(Error::format(file.path(), Some(frame), Some(chunk.offset), format!("{name}: {message}")))
            };
            if u128::from(chunk.cell) >= n_cells || before == Some(chunk.cell) {
                return wrong(format!("there are two chunks {}, or only {n_cells}", chunk.cell));
            }
            before = Some(chunk.cell);
            if chunk.offset.checked_add(chunk.size).is_none_or(|end| end > file.len()) {
                return wrong(format!("a chunk of {} bytes, but the file ends at byte {}", chunk.size, file.len()));
            }
            let most = most_bytes(filters, chunk.filter_mask, chunk.size);
            let is_whole = if is_plain(filters, chunk.filter_mask) {
                chunk.size == self.chunk_bytes
            } else {
                self.chunk_bytes <= most
            };
            if !is_whole {
                let chunk_bytes = self.chunk_bytes;
                return wrong(format!("a chunk of {chunk_bytes} bytes cannot be stored in {}", chunk.size));
            }
        }
        Ok(())
    }

    /// Returns the description of the dataset.
    pub(crate) fn description(&self) -> &Description {
        &self.description
    }

    /// Returns the number of bytes of a chunk before filters.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        self.chunk_bytes
    }

    /// Returns the number of chunks along frames, rows and columns.
    pub(super) fn grid(&self) -> [u64; 3] {
        self.grid
    }

    /// Returns the number of bytes of the stored chunks.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.description.chunks.iter().map(|chunk| chunk.size).sum()
    }

    /// Returns the number of frames that should be read together, which is 1 if each frame is stored in one piece.
    /// Otherwise, these are the frames of a chunk that must be decoded as a whole, or that contains only a part of
    /// their atoms. In the latter case, reading each frame separately would collect it from many places.
    pub(crate) fn frames_together(&self) -> u64 {
        let Description { filters, chunk, shape, .. } = &self.description;
        if filters.is_empty() && chunk[1] >= shape[1] { 1 } else { chunk[0].min(shape[0]).max(1) }
    }

    /// Returns the frame of the dataset that contains a frame of the trajectory.
    pub(super) fn frame(&self, frame: u64) -> Option<u64> {
        match &self.description.frames {
            Some(frames) => frames.get(frame as usize).copied().flatten(),
            None => Some(frame).filter(|&frame| frame < self.description.shape[0]),
        }
    }

    /// Returns the chunk in a cell of the grid, if it is stored.
    pub(super) fn chunk(&self, cell: u64) -> Option<&StoredChunk> {
        let chunks = &self.description.chunks;
        // Most datasets have all chunks stored, so that the index of the cell is that of the chunk.
        let place = chunks.get(cell as usize).filter(|chunk| chunk.cell == cell);
        place.or_else(|| chunks.binary_search_by_key(&cell, |chunk| chunk.cell).ok().map(|i| &chunks[i]))
    }

    /// Returns whether the bytes of a chunk are stored without filters.
    pub(super) fn is_plain(&self, chunk: &StoredChunk) -> bool {
        is_plain(&self.description.filters, chunk.filter_mask)
    }

    fn first_frame(&self, cell: u64) -> u64 {
        cell / (self.grid[1] * self.grid[2]).max(1) * self.description.chunk[0]
    }
}
