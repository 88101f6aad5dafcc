//! Reader of one worker for a chunked trajectory.

use super::Chunked;
use super::cells::CellReader;
use super::fill::{Filler, Target};
use crate::block::{Extent, FrameSet};
use crate::error::{Error, Result};
use crate::frame::{ColumnsMut, FrameBatch, FrameHeader, Quantities, Quantity};
use crate::source::{AtomSelection, Reader};
use crate::span::Recorder;

/// Maximum number of bytes of coordinates that are decoded ahead of the batch, if a chunk spans many frames.
const STAGED_BYTES: u64 = 128 << 20;

/// Reader of the selected atoms of a chunked trajectory.
pub(super) struct ChunkedReader<'a> {
    source: &'a Chunked,
    n_atoms: usize,
    quantities: Vec<(Quantity, Filler<'a>)>,
    cells: CellReader<'a>,
    extent: FrameSet,
    /// Number of frames of the extent that the reader has returned.
    n_read: u64,
    frames: Vec<u64>,
    /// Decoded frames that share chunks. The reader has not returned those from `n_staged` on yet.
    staged: FrameBatch,
    n_staged: usize,
}

/// Columns of a quantity in a batch.
struct BatchTarget<'b> {
    batch: &'b mut FrameBatch,
    quantity: Quantity,
    /// Index of the first frame to fill in the batch.
    first: usize,
}

impl Target for BatchTarget<'_> {
    fn columns(&mut self, slot: usize) -> ColumnsMut<'_> {
        let columns = self.batch.columns_of_mut(self.first + slot, self.quantity);
        columns.expect("only quantities of the batch are read")
    }
}

impl<'a> ChunkedReader<'a> {
    /// Creates a reader of `atoms`.
    pub(crate) fn new(source: &'a Chunked, atoms: &AtomSelection, wanted: Quantities) -> Result<Self> {
        atoms.check(source.n_atoms)?;
        let wanted = wanted.with(Quantity::Positions, true);
        let datasets = wanted.iter().filter_map(|quantity| Some((quantity, source.dataset(quantity)?)));
        Ok(ChunkedReader {
            source,
            n_atoms: atoms.len(),
            quantities: datasets
                .map(|(quantity, dataset)| (quantity, Filler::new(&source.file, dataset, atoms.indices())))
                .collect(),
            cells: CellReader::new(&source.file, &source.cells),
            extent: FrameSet::all(0),
            n_read: 0,
            frames: Vec::new(),
            staged: FrameBatch::for_quantities(atoms.len(), wanted),
            n_staged: 0,
        })
    }

    /// Chooses the next frames of the extent: at most `room` of them, or all frames that share chunks with the next
    /// one. Returns whether the frames share chunks.
    fn choose_frames(&mut self, room: u64, n_quantities: usize) -> bool {
        self.frames.clear();
        let left = self.n_read..self.extent.len();
        let together = self.source.frames_together();
        let is_staged = together > 1;
        let room = if is_staged {
            let frame_bytes = 12 * n_quantities as u64 * self.n_atoms.max(1) as u64;
            (STAGED_BYTES / frame_bytes).max(room)
        } else {
            room
        };
        for i in left.take(room as usize) {
            let frame = self.extent.get(i);
            if is_staged && self.frames.first().is_some_and(|&first| first / together != frame / together) {
                break;
            }
            self.frames.push(frame);
        }
        is_staged
    }

    /// Adds the chosen frames to `batch`.
    fn read_frames(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        let first = batch.len();
        let cells = self.cells.read(&self.frames, recorder)?;
        for (&frame, unit_cell) in self.frames.iter().zip(cells) {
            let present = |set: Quantities, quantity| {
                let has = self.source.dataset(quantity).is_some_and(|dataset| dataset.frame(frame).is_some());
                set.with(quantity, has && batch.wanted().contains(quantity))
            };
            batch.push(FrameHeader {
                index: frame,
                step: self.source.steps[frame as usize],
                time: self.source.times[frame as usize],
                unit_cell,
                lambda: None,
                present: Quantities::ALL.iter().fold(Quantities::NONE, present),
            });
        }
        for (quantity, filler) in &mut self.quantities {
            let mut target = BatchTarget { batch, quantity: *quantity, first };
            filler.fill(&self.frames, &mut target, recorder)?;
        }
        Ok(())
    }
}

/// Copies the `i`-th frame of a batch to the end of another batch of the same quantities.
fn copy_frame(from: &FrameBatch, i: usize, to: &mut FrameBatch) {
    to.push(*from.header(i));
    let last = to.len() - 1;
    for quantity in from.wanted().iter() {
        if let (Some(source), Some(target)) = (from.columns_of(i, quantity), to.columns_of_mut(last, quantity)) {
            target.x.copy_from_slice(source.x);
            target.y.copy_from_slice(source.y);
            target.z.copy_from_slice(source.z);
        }
    }
}

impl Reader for ChunkedReader<'_> {
    fn start(&mut self, extent: &Extent) -> Result<()> {
        self.extent = extent.numbered(self.source.file.path(), self.source.times.len() as u64)?.clone();
        self.n_read = 0;
        self.staged.clear();
        self.n_staged = 0;
        Ok(())
    }

    fn read(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        batch.check(self.n_atoms)?;
        if batch.wanted() != self.staged.wanted() {
            return Err(Error::mismatch("a batch was given for quantities other than those that are read"));
        }
        batch.clear();
        while batch.len() < batch.capacity() {
            if self.n_staged < self.staged.len() {
                copy_frame(&self.staged, self.n_staged, batch);
                self.n_staged += 1;
                self.n_read += 1;
                continue;
            }
            let is_staged = self.choose_frames((batch.capacity() - batch.len()) as u64, batch.wanted().count());
            if self.frames.is_empty() {
                break;
            }
            if is_staged {
                let mut staged = std::mem::replace(&mut self.staged, FrameBatch::with_capacity(0, 1));
                staged.clear();
                self.n_staged = 0;
                let done = self.read_frames(&mut staged, recorder);
                self.staged = staged;
                if done.is_err() {
                    self.staged.clear();
                }
                done?;
            } else {
                self.read_frames(batch, recorder)?;
                self.n_read += self.frames.len() as u64;
            }
        }
        Ok(())
    }
}
