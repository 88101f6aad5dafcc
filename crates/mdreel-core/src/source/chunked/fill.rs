//! Filling of columns: the code finds the bytes of a dataset that contain the selected rows of some frames, and copies
//! them.

use std::ops::Range;

use super::dataset::{Dataset, StoredChunk};
use super::filters::Decoder;
use super::number::{Rows, gather};
use crate::error::{Error, Result};
use crate::frame::ColumnsMut;
use crate::source::bytes::{ByteReader, FileBytes};
use crate::span::{Recorder, SpanKind};

/// Rows whose bytes are closer than a page are loaded together, because storage transfers complete pages.
const MERGE: u64 = 4 << 10;

/// Number of bytes to load at a time, except for larger chunks.
const LOAD_BYTES: u64 = 1 << 20;

/// Selected rows within the chunks at one place in the grid, for any frame.
struct Part {
    /// Index of the chunk among those of a frame.
    cell: u64,
    /// First row of such chunks.
    first_row: u64,
    /// First column of such chunks.
    first_column: u64,
    n_columns: u64,
    /// Range of these rows among the selected rows.
    wanted: Range<usize>,
    /// The same range, cut where the next row is far away or a load would grow too large.
    stretches: Vec<Range<usize>>,
}

/// Bytes to load, and their contents.
struct Piece {
    bytes: Range<u64>,
    chunk: StoredChunk,
    part: usize,
    /// Range of these rows among the selected rows.
    wanted: Range<usize>,
    /// Number of the frame in the dataset.
    frame: u64,
    /// Index of the frame among those to fill.
    slot: usize,
}

/// Reader of the selected rows of a dataset for one worker.
pub(super) struct Filler<'a> {
    file: &'a FileBytes,
    dataset: &'a Dataset,
    rows: Vec<u32>,
    parts: Vec<Part>,
    bytes: ByteReader<'a>,
    decoder: Decoder,
    pieces: Vec<Piece>,
    ranges: Vec<Range<u64>>,
}

/// Destination of the frames to fill.
pub(super) trait Target {
    /// Returns the columns of the `slot`-th frame.
    fn columns(&mut self, slot: usize) -> ColumnsMut<'_>;
}

impl<'a> Filler<'a> {
    /// Creates a filler for these rows, which must be ascending.
    pub(crate) fn new(file: &'a FileBytes, dataset: &'a Dataset, rows: &[u32]) -> Self {
        let [_, n_rows, n_columns] = dataset.description().chunk;
        let row_bytes = n_columns * dataset.description().number.bytes();
        let mut parts = Vec::new();
        let mut start = 0;
        while start < rows.len() {
            let across = u64::from(rows[start]) / n_rows;
            let end = start + rows[start..].partition_point(|&row| u64::from(row) / n_rows == across);
            for along in 0..dataset.grid()[2] {
                let first_column = along * n_columns;
                parts.push(Part {
                    cell: across * dataset.grid()[2] + along,
                    first_row: across * n_rows,
                    first_column,
                    n_columns: n_columns.min(3 - first_column),
                    wanted: start..end,
                    stretches: cut(rows, start..end, row_bytes),
                });
            }
            start = end;
        }
        let (rows, bytes) = (rows.to_vec(), file.reader());
        Filler { file, dataset, rows, parts, bytes, decoder: Decoder::new(), pieces: Vec::new(), ranges: Vec::new() }
    }

    /// Fills the columns of `frames` in `target`. Columns of frames that the dataset does not contain stay unchanged.
    pub(crate) fn fill(&mut self, frames: &[u64], target: &mut dyn Target, recorder: &mut Recorder) -> Result<()> {
        self.plan(frames, target);
        let mut start = 0;
        while start < self.pieces.len() {
            let start_ns = recorder.now();
            let end = start + self.load_together(start);
            self.ranges.clear();
            self.ranges.extend(self.pieces[start..end].iter().map(|piece| piece.bytes.clone()));
            let n_bytes = self.bytes.load(&self.ranges)?;
            let start_ns = recorder.record(SpanKind::Read, start_ns, 0, n_bytes);
            let gathered = self.gather(start..end, target);
            // If the file is truncated during the load, its bytes look corrupt. The truncation is the better error
            // message.
            self.bytes.confirm()?;
            gathered?;
            recorder.record(SpanKind::Decompress, start_ns, 0, n_bytes);
            start = end;
        }
        Ok(())
    }

    /// Finds the pieces that contain the selected rows, in the order of the file. For chunks that are not stored, this
    /// function fills the columns.
    fn plan(&mut self, frames: &[u64], target: &mut dyn Target) {
        self.pieces.clear();
        let description = self.dataset.description();
        let [chunk_frames, chunk_rows, chunk_columns] = description.chunk;
        let [_, across, along] = self.dataset.grid();
        let row_bytes = chunk_columns * description.number.bytes();
        for (slot, &frame) in frames.iter().enumerate() {
            let Some(frame) = self.dataset.frame(frame) else { continue };
            let first_cell = frame / chunk_frames * across * along;
            for (i, part) in self.parts.iter().enumerate() {
                let Some(&chunk) = self.dataset.chunk(first_cell + part.cell) else {
                    let value = description.conversion.of_double(description.fill_value);
                    let ColumnsMut { x, y, z } = target.columns(slot);
                    let columns = [x, y, z].into_iter().skip(part.first_column as usize);
                    columns.take(part.n_columns as usize).for_each(|column| column[part.wanted.clone()].fill(value));
                    continue;
                };
                let piece = |bytes, wanted| Piece { bytes, chunk, part: i, wanted, frame, slot };
                if self.dataset.is_plain(&chunk) {
                    let start = chunk.offset + frame % chunk_frames * chunk_rows * row_bytes;
                    let byte = |i: usize| start + (u64::from(self.rows[i]) - part.first_row) * row_bytes;
                    let stretches = part.stretches.iter().cloned();
                    self.pieces.extend(stretches.map(|w| piece(byte(w.start)..byte(w.end - 1) + row_bytes, w)));
                } else {
                    self.pieces.push(piece(chunk.offset..chunk.offset + chunk.size, part.wanted.clone()));
                }
            }
        }
        if !self.pieces.is_sorted_by_key(|piece| piece.bytes.start) {
            self.pieces.sort_by_key(|piece| piece.bytes.start);
        }
    }

    /// Returns the number of pieces from `start` on that are loaded together.
    fn load_together(&self, start: usize) -> usize {
        let first = self.pieces[start].bytes.start;
        let fits = |piece: &&Piece| piece.bytes.end - first <= LOAD_BYTES;
        // The pieces of a chunk stay together, regardless of its size, so that it is decoded once.
        let near = self.pieces[start..].iter().take_while(fits).count();
        let last = self.pieces[start..].get(near.max(1) - 1).map(|piece| piece.bytes.clone());
        near.max(1)
            + self.pieces[start + near.max(1)..].iter().take_while(|piece| Some(&piece.bytes) == last.as_ref()).count()
    }

    /// Copies the loaded bytes to their places in `target`.
    fn gather(&mut self, loaded: Range<usize>, target: &mut dyn Target) -> Result<()> {
        let description = self.dataset.description();
        let [chunk_frames, chunk_rows, chunk_columns] = description.chunk;
        let row_bytes = chunk_columns * description.number.bytes();
        let pieces = &self.pieces[loaded];
        // In a damaged file, chunks may share bytes although they are stored in different ways.
        let is_same = |a: &Piece, b: &Piece| a.bytes == b.bytes && a.chunk == b.chunk;
        for (first, same) in pieces.chunk_by(is_same).scan(0, |first, same| {
            let at = *first;
            *first += same.len();
            Some((at, same))
        }) {
            let chunk = same[0].chunk;
            let is_plain = self.dataset.is_plain(&chunk);
            let bytes = if is_plain {
                self.bytes.get(first)
            } else {
                let size = self.dataset.chunk_bytes() as usize;
                let decoded = self.decoder.decode(&description.filters, chunk.filter_mask, self.bytes.get(first), size);
                decoded.map_err(|message| {
                    let message = format!("{}: {message}", description.name);
                    Error::format(self.file.path(), Some(same[0].frame), Some(chunk.offset), message)
                })?
            };
            for piece in same {
                let part = &self.parts[piece.part];
                let indices = &self.rows[piece.wanted.clone()];
                // A plain piece begins with its first row. A decoded chunk begins with the first row of its first
                // frame.
                let within = if is_plain {
                    0
                } else {
                    let row = u64::from(indices[0]) - part.first_row;
                    ((piece.frame % chunk_frames * chunk_rows + row) * row_bytes) as usize
                };
                let rows = Rows {
                    bytes: &bytes[within..],
                    indices,
                    first_column: part.first_column as usize,
                    n_columns: part.n_columns as usize,
                    stride: chunk_columns as usize,
                };
                let mut columns = target.columns(piece.slot);
                gather(description.number, description.conversion, rows, &mut columns, piece.wanted.start);
            }
        }
        Ok(())
    }
}

/// Cuts selected rows where the next row is far away, or where a load would grow too large.
fn cut(rows: &[u32], wanted: Range<usize>, row_bytes: u64) -> Vec<Range<usize>> {
    let mut stretches = Vec::new();
    let mut start = wanted.start;
    for i in wanted.start + 1..=wanted.end {
        let bytes = |from: usize, to: usize| u64::from(rows[to] - rows[from]) * row_bytes;
        if i == wanted.end || bytes(i - 1, i) > MERGE || bytes(start, i) + row_bytes > LOAD_BYTES {
            stretches.push(start..i);
            start = i;
        }
    }
    stretches
}
