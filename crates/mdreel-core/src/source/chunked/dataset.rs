//! Datasets with three numbers per row and several rows per frame, cut into chunks anywhere in a file.

use super::filters::{Filter, is_plain, most_bytes};
use super::number::{Conversion, Number};
use crate::error::{Error, Result};
use crate::source::bytes::FileBytes;

/// A chunk that is stored. One that is not holds the fill value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredChunk {
    /// Which cell of the grid of chunks, counted frames slowest, columns fastest.
    pub cell: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes in the file.
    pub size: u64,
    /// A bit for each filter that was left out, beginning with the lowest.
    pub filter_mask: u32,
}

/// What is said of a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// Its name in the file.
    pub name: String,
    /// How a number is stored.
    pub number: Number,
    /// Frames, rows of each frame, columns of each row: there must be three.
    pub shape: [u64; 3],
    /// The same of a chunk. Contiguous data are one chunk.
    pub chunk: [u64; 3],
    /// What chunks went through before they were stored, in that order.
    pub filters: Vec<Filter>,
    /// The chunks there are, in any order.
    pub chunks: Vec<StoredChunk>,
    /// The number that stands in chunks that are not stored.
    pub fill_value: f64,
    /// What numbers are multiplied with.
    pub conversion: Conversion,
    /// Which frame of the dataset holds each frame of the trajectory, if not the same.
    pub frames: Option<Vec<Option<u64>>>,
}

/// A dataset whose description was held against its file.
#[derive(Debug)]
pub struct Dataset {
    description: Description,
    chunk_bytes: u64,
    /// Chunks along frames, rows, columns.
    grid: [u64; 3],
}

impl Dataset {
    /// Checks that what is described fits together and lies within the file.
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

    /// What is known of it.
    pub(crate) fn description(&self) -> &Description {
        &self.description
    }

    /// Bytes of a chunk before it went through filters.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        self.chunk_bytes
    }

    /// Chunks along frames, rows, columns.
    pub(super) fn grid(&self) -> [u64; 3] {
        self.grid
    }

    /// Bytes that its chunks take in the file.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.description.chunks.iter().map(|chunk| chunk.size).sum()
    }

    /// Frames that are better read together: those of a chunk that must be decoded as a whole, or that holds a part of
    /// their atoms, so each frame alone would be gathered from many places. 1 where frames lie in one piece.
    pub(crate) fn frames_together(&self) -> u64 {
        let Description { filters, chunk, shape, .. } = &self.description;
        if filters.is_empty() && chunk[1] >= shape[1] { 1 } else { chunk[0].min(shape[0]).max(1) }
    }

    /// The frame of the dataset that holds a frame of the trajectory.
    pub(super) fn frame(&self, frame: u64) -> Option<u64> {
        match &self.description.frames {
            Some(frames) => frames.get(frame as usize).copied().flatten(),
            None => Some(frame).filter(|&frame| frame < self.description.shape[0]),
        }
    }

    /// The chunk in a cell of the grid, if it is stored.
    pub(super) fn chunk(&self, cell: u64) -> Option<&StoredChunk> {
        let chunks = &self.description.chunks;
        // Most datasets have all chunks: the cell is the place.
        let place = chunks.get(cell as usize).filter(|chunk| chunk.cell == cell);
        place.or_else(|| chunks.binary_search_by_key(&cell, |chunk| chunk.cell).ok().map(|i| &chunks[i]))
    }

    /// Whether a chunk's bytes are stored as they are.
    pub(super) fn is_plain(&self, chunk: &StoredChunk) -> bool {
        is_plain(&self.description.filters, chunk.filter_mask)
    }

    fn first_frame(&self, cell: u64) -> u64 {
        cell / (self.grid[1] * self.grid[2]).max(1) * self.description.chunk[0]
    }
}
