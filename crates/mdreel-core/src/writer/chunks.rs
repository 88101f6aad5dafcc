//! Frames divided into the chunks of arrays that HDF5 stores, each compressed separately.
//!
//! The arrays have the shape (frames, atoms, 3), little-endian float32. A chunk is a box of the array. A chunk at an
//! edge has the full size and is padded with zeros. The bytes are the same as those of HDF5, so the HDF5 library stores
//! them unchanged (`H5Dwrite_chunk`).
//!
//! Source: HDF5 File Format Specification, "Filter Pipeline message".

use flate2::{Compress, Compression, FlushCompress, Status};

use super::check_atoms;
use crate::error::{Error, Result};
use crate::frame::{Columns, FrameBatch, Quantities, Quantity};

/// Number of bytes per number.
const NUMBER_BYTES: usize = 4;
/// Number of bytes per atom.
const ATOM_BYTES: usize = 3 * NUMBER_BYTES;
/// Maximum size of an HDF5 chunk in bytes.
const MOST_CHUNK_BYTES: u64 = u32::MAX as u64;

/// The division of frames into chunks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChunkLayout {
    /// Number of atoms in each frame.
    pub n_atoms: usize,
    /// The quantities of a frame. Each quantity has its own array.
    pub quantities: Quantities,
    /// Whether frames may have a unit cell.
    pub has_unit_cell: bool,
    /// Number of frames per chunk.
    pub chunk_frames: usize,
    /// Number of atoms per chunk.
    pub chunk_atoms: usize,
    /// Level of compression from 0 to 9, for chunks that are shuffled and deflated. `None` stores them uncompressed.
    pub deflate_level: Option<u32>,
}

impl ChunkLayout {
    /// Checks that chunks are not empty and that HDF5 can store them.
    pub fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::mismatch(message));
        let (frames, atoms) = (self.chunk_frames, self.chunk_atoms);
        if frames == 0 || atoms == 0 || self.n_atoms == 0 {
            return wrong(format!("chunks of {frames} frames x {atoms} atoms of {} hold nothing", self.n_atoms));
        }
        let chunk_bytes = (frames as u64).checked_mul(atoms as u64).and_then(|n| n.checked_mul(ATOM_BYTES as u64));
        if chunk_bytes.is_none_or(|bytes| bytes > MOST_CHUNK_BYTES) {
            return wrong(format!("a chunk of {frames} frames x {atoms} atoms has 4 GiB or more"));
        }
        match self.deflate_level {
            Some(level @ 10..) => wrong(format!("the level of compression must be from 0 to 9, not {level}")),
            _ => Ok(()),
        }
    }

    /// Returns the number of bytes of a frame.
    pub(crate) fn frame_bytes(&self) -> u64 {
        ATOM_BYTES as u64 * self.n_atoms.max(1) as u64 * self.quantities.count().max(1) as u64
    }

    fn chunk_bytes(&self) -> usize {
        ATOM_BYTES * self.chunk_frames * self.chunk_atoms
    }
}

/// A chunk in the form in which it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The quantity, which identifies the array.
    pub quantity: Quantity,
    /// The first frame of the chunk, counted from the first frame added.
    pub frame: u64,
    /// The first atom of the chunk.
    pub atom: u64,
    /// The bytes of the chunk.
    pub bytes: Vec<u8>,
}

/// Data of the added frames, divided into chunks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CutFrames {
    /// Integration steps of the frames.
    pub steps: Vec<i64>,
    /// Times of the frames in ps.
    pub times: Vec<f64>,
    /// Cell vectors in rows, nine numbers in Å for each frame; zeros for a frame without a cell. Empty if no frame has
    /// a cell.
    pub cells: Vec<f32>,
    /// The chunks.
    pub chunks: Vec<Chunk>,
}

/// A cutter that divides frames into chunks.
pub struct ChunkCutter {
    layout: ChunkLayout,
    /// The chunks that are not full yet, one after the other: for each quantity, those of all ranges of atoms.
    staged: Vec<u8>,
    n_staged: usize,
    cut: CutFrames,
    deflater: Option<Compress>,
    shuffled: Vec<u8>,
}

impl ChunkCutter {
    /// Creates a cutter for a layout that has been checked.
    pub fn new(layout: ChunkLayout) -> Self {
        let deflater = layout.deflate_level.map(|level| Compress::new(Compression::new(level), true));
        let n_chunks = layout.quantities.count() * layout.n_atoms.div_ceil(layout.chunk_atoms);
        ChunkCutter {
            layout,
            staged: vec![0; n_chunks * layout.chunk_bytes()],
            n_staged: 0,
            cut: CutFrames::default(),
            deflater,
            shuffled: Vec::new(),
        }
    }

    /// Adds the frames of `batch` after those added before. `is_wanted` is called before each chunk is made. If it
    /// returns false, no more chunks are made, and the result is invalid.
    pub fn add(&mut self, batch: &FrameBatch, is_wanted: &mut dyn FnMut() -> bool) -> Result<()> {
        check_atoms(batch, self.layout.n_atoms)?;
        let mut first = 0;
        while first < batch.len() {
            let end = batch.len().min(first + self.layout.chunk_frames - self.n_staged);
            for (place, quantity) in self.layout.quantities.iter().enumerate() {
                self.stage(batch, first..end, place, quantity)?;
            }
            self.n_staged += end - first;
            if self.n_staged == self.layout.chunk_frames {
                self.emit(is_wanted)?;
            }
            first = end;
        }
        batch.headers().iter().try_for_each(|header| {
            self.cut.steps.push(header.step);
            self.cut.times.push(header.time);
            if self.layout.has_unit_cell {
                let vectors = header.unit_cell.map_or([[0.0; 3]; 3], |cell| cell.vectors());
                self.cut.cells.extend(vectors.as_flattened());
            } else if header.unit_cell.is_some() {
                return Err(Error::mismatch("a unit cell, which the first frame lacks").at_frame(header.index));
            }
            Ok(())
        })
    }

    /// Returns the chunks of all added frames. The next frame added begins a new chunk.
    pub fn finish(&mut self, is_wanted: &mut dyn FnMut() -> bool) -> Result<CutFrames> {
        if self.n_staged > 0 {
            let (filled, chunk_bytes) =
                (self.n_staged * self.layout.chunk_atoms * ATOM_BYTES, self.layout.chunk_bytes());
            self.staged.chunks_exact_mut(chunk_bytes).for_each(|chunk| chunk[filled..].fill(0));
            self.emit(is_wanted)?;
        }
        Ok(std::mem::take(&mut self.cut))
    }

    /// Copies frames of `batch` to their places, one chunk after the other, so that adjacent bytes are written
    /// together.
    fn stage(
        &mut self,
        batch: &FrameBatch,
        frames: std::ops::Range<usize>,
        place: usize,
        quantity: Quantity,
    ) -> Result<()> {
        let ChunkLayout { n_atoms, chunk_atoms, .. } = self.layout;
        let columns: Vec<Columns<'_>> =
            frames.map(|i| super::demanded(batch, i, quantity, "H5MD")).collect::<Result<_>>()?;
        let chunk_bytes = self.layout.chunk_bytes();
        let chunks = &mut self.staged[place * n_atoms.div_ceil(chunk_atoms) * chunk_bytes..];
        for (i, chunk) in chunks.chunks_exact_mut(chunk_bytes).take(n_atoms.div_ceil(chunk_atoms)).enumerate() {
            let atoms = i * chunk_atoms..n_atoms.min((i + 1) * chunk_atoms);
            let rows = chunk.chunks_exact_mut(chunk_atoms * ATOM_BYTES).skip(self.n_staged);
            for (columns, row) in columns.iter().zip(rows) {
                let [x, y, z] = [columns.x, columns.y, columns.z].map(|column| &column[atoms.clone()]);
                let row = row.as_chunks_mut::<NUMBER_BYTES>().0.as_chunks_mut::<3>().0;
                for (((atom, &x), &y), &z) in row.iter_mut().zip(x).zip(y).zip(z) {
                    *atom = [x, y, z].map(f32::to_le_bytes);
                }
            }
        }
        Ok(())
    }

    /// Moves the staged chunks to the result.
    fn emit(&mut self, is_wanted: &mut dyn FnMut() -> bool) -> Result<()> {
        let ChunkLayout { n_atoms, chunk_frames, chunk_atoms, quantities, .. } = self.layout;
        // `steps` grows only after a whole batch. So the frames before these chunks are counted by the chunks made so
        // far, which are all full.
        let n_before = self.cut.chunks.len() / (quantities.count() * n_atoms.div_ceil(chunk_atoms));
        let places =
            quantities.iter().flat_map(|quantity| (0..n_atoms).step_by(chunk_atoms).map(move |a| (quantity, a)));
        for ((quantity, atom), staged) in places.zip(self.staged.chunks_exact(self.layout.chunk_bytes())) {
            if !is_wanted() {
                break;
            }
            let bytes = match &mut self.deflater {
                None => staged.to_vec(),
                Some(deflater) => {
                    shuffle(staged, &mut self.shuffled);
                    deflate(deflater, &self.shuffled)?
                }
            };
            let frame = (n_before * chunk_frames) as u64;
            self.cut.chunks.push(Chunk { quantity, frame, atom: atom as u64, bytes });
        }
        self.n_staged = 0;
        Ok(())
    }
}

/// Writes the first bytes of all numbers to `shuffled`, then the second bytes, and so on.
fn shuffle(bytes: &[u8], shuffled: &mut Vec<u8>) {
    let numbers = bytes.as_chunks::<NUMBER_BYTES>().0;
    shuffled.clear();
    (0..NUMBER_BYTES).for_each(|k| shuffled.extend(numbers.iter().map(|number| number[k])));
}

fn deflate(deflater: &mut Compress, bytes: &[u8]) -> Result<Vec<u8>> {
    deflater.reset();
    // Incompressible data grows by the headers of its blocks (RFC 1951).
    let mut deflated = Vec::with_capacity(bytes.len() + bytes.len() / 1000 + 64);
    loop {
        let rest = &bytes[deflater.total_in() as usize..];
        match deflater.compress_vec(rest, &mut deflated, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => break,
            Ok(_) => deflated.reserve(bytes.len() / 8 + 64),
            Err(error) => return Err(Error::worker(format!("a chunk could not be deflated: {error}"))),
        }
    }
    deflated.shrink_to_fit();
    Ok(deflated)
}
