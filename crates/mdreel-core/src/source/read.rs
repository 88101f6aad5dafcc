//! Reading of frames into arrays, for callers that need the coordinates themselves.

use std::path::Path;
use std::time::Instant;

use crate::block::{Extent, FrameSet};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, FrameHeader, Quantities, Quantity};
use crate::large_pages;
use crate::source::{AtomSelection, Reader, Source, SourceExt};
use crate::span::{NO_BLOCK, Recorder};

/// Frames with their coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameArray {
    /// The values of each frame other than coordinates.
    pub headers: Vec<FrameHeader>,
    /// Coordinates in Å: frame after frame, atom after atom, x y z. NaN if a frame has none.
    pub positions: Vec<f32>,
    /// Velocities in Å/ps, in the same order; empty if they were not wanted.
    pub velocities: Vec<f32>,
    /// Forces in kJ/(mol Å), in the same order; empty if they were not wanted.
    pub forces: Vec<f32>,
}

impl FrameArray {
    fn values_mut(&mut self, quantity: Quantity) -> &mut Vec<f32> {
        match quantity {
            Quantity::Positions => &mut self.positions,
            Quantity::Velocities => &mut self.velocities,
            Quantity::Forces => &mut self.forces,
        }
    }
}

/// A reader that fills arrays repeatedly, and keeps its plan for the atoms.
pub struct ArrayReader<'a> {
    source: &'a dyn Source,
    n_atoms: usize,
    wanted: Quantities,
    reader: Box<dyn Reader + 'a>,
    batch: FrameBatch,
    recorder: Recorder,
}

impl<'a> ArrayReader<'a> {
    /// Creates a reader of the positions of `atoms`, and of the other quantities in `wanted`.
    pub fn new(source: &'a dyn Source, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Self> {
        let wanted = wanted.with(Quantity::Positions, true);
        atoms.check(source.n_atoms())?;
        let recorder = Recorder::new(Instant::now(), NO_BLOCK);
        let batch = FrameBatch::for_quantities(atoms.len(), wanted);
        Ok(ArrayReader { source, n_atoms: atoms.len(), wanted, reader: source.reader(atoms, wanted)?, batch, recorder })
    }

    /// Reads `frames`. A damaged frame is always an error. If only the first frame is requested, the others are not
    /// located.
    pub fn read(&mut self, frames: &FrameSet) -> Result<FrameArray> {
        let extent = match (first_byte(self.source), frames.len(), frames.last()) {
            (Some(byte), 1, Some(0)) => Extent::Bytes(byte..byte + 1),
            _ => Extent::Frames(frames.clone()),
        };
        let mut array = self.room(frames)?;
        self.reader.start(&extent)?;
        loop {
            self.reader.read(&mut self.batch, &mut self.recorder)?;
            if self.batch.is_empty() {
                break;
            }
            array.headers.extend_from_slice(self.batch.headers());
            for i in 0..self.batch.len() {
                self.append(i, &mut array);
            }
            self.recorder.take();
        }
        if let Some(damage) = self.reader.damage().into_iter().next() {
            return Err(damage.into_error());
        }
        let n_read = array.headers.len() as u64;
        if n_read != frames.len() {
            let path = Path::new("<trajectory>").into();
            return Err(Error::FrameIndex { path, frame: n_read, n_frames: n_read });
        }
        Ok(array)
    }

    /// Creates an array with room for `frames`.
    fn room(&self, frames: &FrameSet) -> Result<FrameArray> {
        let n_values = frames.len().checked_mul(3 * self.n_atoms as u64).and_then(|n| usize::try_from(n).ok());
        let mut array =
            FrameArray { headers: Vec::new(), positions: Vec::new(), velocities: Vec::new(), forces: Vec::new() };
        let mut fits = |quantity| {
            let values = array.values_mut(quantity);
            let fits = n_values.is_some_and(|n| values.try_reserve_exact(n).is_ok());
            large_pages::ask_for(values);
            fits
        };
        if !self.wanted.iter().all(&mut fits) {
            return Err(Error::unsupported(format!(
                "{} frames of {} atoms do not fit into memory: read fewer at a time",
                frames.len(),
                self.n_atoms
            )));
        }
        Ok(array)
    }

    /// Appends the coordinates of the `i`-th frame of the batch.
    fn append(&self, i: usize, array: &mut FrameArray) {
        for quantity in self.wanted.iter() {
            let values = array.values_mut(quantity);
            let n_after = values.len() + 3 * self.n_atoms;
            let Some(columns) = self.batch.columns_of(i, quantity) else {
                values.resize(n_after, f32::NAN);
                continue;
            };
            // The values are written only once, to reserved memory, because large arrays do not stay in the cache.
            values.reserve(3 * self.n_atoms);
            let rows = values.spare_capacity_mut().as_chunks_mut().0;
            assert!([columns.x, columns.y, columns.z].iter().all(|column| column.len() == self.n_atoms));
            let columns = columns.x.iter().zip(columns.y).zip(columns.z);
            for ([x, y, z], ((&from_x, &from_y), &from_z)) in rows[..self.n_atoms].iter_mut().zip(columns) {
                x.write(from_x);
                y.write(from_y);
                z.write(from_z);
            }
            // SAFETY: all of these numbers were written: three for each of `n_atoms` atoms, which is the length of each
            // column.
            unsafe { values.set_len(n_after) };
        }
    }
}

/// Reads the `wanted` quantities of `frames` of `source` once; see [`ArrayReader`].
pub fn read_frames(
    source: &dyn Source,
    atoms: &AtomSelection,
    frames: &FrameSet,
    wanted: Quantities,
) -> Result<FrameArray> {
    ArrayReader::new(source, atoms, wanted)?.read(frames)
}

/// Returns the byte at which the first frame starts, if the frames have not been located.
fn first_byte(source: &dyn Source) -> Option<u64> {
    source.unlocated_bytes()?.first().map(|range| range.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::memory::MemorySource;

    #[test]
    fn read_gives_frames_in_the_order_asked_for() {
        let positions = (0..24).map(|i| i as f32).collect();
        let source = MemorySource::new(2, positions, vec![0.0, 2.0, 4.0, 6.0], Vec::new()).unwrap();
        let atoms = AtomSelection::new(vec![1]).unwrap();
        let frames = read_frames(&source, &atoms, &FrameSet::List([3, 0].into()), Quantities::POSITIONS).unwrap();
        assert_eq!(frames.positions, [21.0, 22.0, 23.0, 3.0, 4.0, 5.0]);
        assert_eq!(frames.headers.iter().map(|header| header.time).collect::<Vec<_>>(), [6.0, 0.0]);
    }

    #[test]
    fn read_refuses_what_does_not_fit_into_memory() {
        let source = MemorySource::new(2, vec![0.0; 6], vec![0.0], Vec::new()).unwrap();
        let frames = FrameSet::Range { start: 0, step: 1, count: u64::MAX };
        let error = read_frames(&source, &AtomSelection::all(2), &frames, Quantities::POSITIONS).unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)));
    }
}
