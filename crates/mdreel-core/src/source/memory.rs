//! Frames that are already in memory.

use std::path::Path;
use std::sync::Arc;

use crate::block::{Extent, FrameSet};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, FrameHeader, Quantities};
use crate::source::capabilities::Capabilities;
use crate::source::{AtomSelection, Reader, Source};
use crate::span::{Recorder, SpanKind};
use crate::unit_cell::UnitCell;

/// Replacement for the path in error messages.
const NAME: &str = "<memory>";

/// A trajectory in memory: frame after frame, atom after atom, x y z.
#[derive(Debug, Clone)]
pub struct MemorySource {
    n_atoms: usize,
    positions: Arc<[f32]>,
    times: Arc<[f64]>,
    unit_cells: Arc<[Option<UnitCell>]>,
}

impl MemorySource {
    /// Creates a trajectory of `times.len()` frames (ps) with the given positions (Å). `unit_cells` contains one cell
    /// for each frame, or is empty for a trajectory without cells.
    pub fn new(
        n_atoms: usize,
        positions: Vec<f32>,
        times: Vec<f64>,
        unit_cells: Vec<Option<UnitCell>>,
    ) -> Result<Self> {
        if times.len().checked_mul(3 * n_atoms) != Some(positions.len()) {
            return Err(Error::mismatch(format!(
                "{} frames of {n_atoms} atoms need {} coordinates, got {}",
                times.len(),
                times.len() as u128 * 3 * n_atoms as u128,
                positions.len()
            )));
        }
        if !unit_cells.is_empty() && unit_cells.len() != times.len() {
            return Err(Error::mismatch(format!(
                "{} frames need as many unit cells, got {}",
                times.len(),
                unit_cells.len()
            )));
        }
        Ok(MemorySource { n_atoms, positions: positions.into(), times: times.into(), unit_cells: unit_cells.into() })
    }

    fn frame_bytes(&self) -> u64 {
        12 * self.n_atoms as u64
    }
}

impl Source for MemorySource {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn n_frames(&self) -> Result<u64> {
        Ok(self.times.len() as u64)
    }

    fn times(&self) -> Result<Vec<f64>> {
        Ok(self.times.to_vec())
    }

    fn n_bytes(&self) -> u64 {
        self.frame_bytes() * self.times.len() as u64
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::NONE
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, _wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        atoms.check(self.n_atoms)?;
        Ok(Box::new(MemoryReader { source: self, atoms, frames: FrameSet::all(0), next: 0 }))
    }
}

struct MemoryReader<'a> {
    source: &'a MemorySource,
    atoms: &'a AtomSelection,
    frames: FrameSet,
    next: u64,
}

impl Reader for MemoryReader<'_> {
    fn start(&mut self, extent: &Extent) -> Result<()> {
        self.frames = extent.numbered(Path::new(NAME), self.source.times.len() as u64)?.clone();
        self.next = 0;
        Ok(())
    }

    fn read(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        batch.clear();
        let start_ns = recorder.now();
        while batch.len() < batch.capacity() && self.next < self.frames.len() {
            let index = self.frames.get(self.next);
            self.next += 1;
            let frame = index as usize;
            let columns = batch.push(FrameHeader {
                index,
                step: index as i64,
                time: self.source.times[frame],
                unit_cell: self.source.unit_cells.get(frame).copied().flatten(),
                lambda: None,
                present: Quantities::POSITIONS,
            });
            let (positions, _) =
                self.source.positions[3 * self.source.n_atoms * frame..][..3 * self.source.n_atoms].as_chunks::<3>();
            for (i, &atom) in self.atoms.indices().iter().enumerate() {
                [columns.x[i], columns.y[i], columns.z[i]] = positions[atom as usize];
            }
        }
        if !batch.is_empty() {
            let n_frames = batch.len() as u64;
            recorder.record(SpanKind::Read, start_ns, n_frames, n_frames * 12 * self.atoms.len() as u64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn source(n_frames: usize, n_atoms: usize) -> MemorySource {
        let positions = (0..n_frames * n_atoms * 3).map(|i| i as f32).collect();
        MemorySource::new(n_atoms, positions, (0..n_frames).map(|i| i as f64).collect(), Vec::new()).unwrap()
    }

    #[test]
    fn memory_gives_the_wanted_frames_and_atoms() {
        let source = source(7, 4);
        let atoms = AtomSelection::new(vec![1, 3]).unwrap();
        let mut reader = source.reader(&atoms, Quantities::POSITIONS).unwrap();
        let mut recorder = Recorder::new(Instant::now(), 0);
        let mut batch = FrameBatch::with_capacity(2, 2);
        reader.start(&Extent::Frames(FrameSet::List([6, 0, 6].into()))).unwrap();
        let mut seen = Vec::new();
        loop {
            reader.read(&mut batch, &mut recorder).unwrap();
            if batch.is_empty() {
                break;
            }
            for i in 0..batch.len() {
                let columns = batch.columns(i);
                seen.push((batch.header(i).index, columns.x.to_vec(), columns.z.to_vec()));
            }
        }
        let last = (6, vec![75.0, 81.0], vec![77.0, 83.0]);
        assert_eq!(seen, [last.clone(), (0, vec![3.0, 9.0], vec![5.0, 11.0]), last]);
    }

    #[test]
    fn memory_refuses_a_frame_that_does_not_exist() {
        let source = source(3, 1);
        let atoms = AtomSelection::all(1);
        let extent = Extent::Frames(FrameSet::Range { start: 1, step: 2, count: 2 });
        let error = source.reader(&atoms, Quantities::POSITIONS).unwrap().start(&extent).unwrap_err();
        assert!(matches!(error, Error::FrameIndex { frame: 3, n_frames: 3, .. }));
    }

    #[test]
    fn memory_refuses_arrays_that_do_not_fit() {
        assert!(MemorySource::new(2, vec![0.0; 6], vec![0.0, 1.0], Vec::new()).is_err());
        assert!(MemorySource::new(1, vec![0.0; 6], vec![0.0, 1.0], vec![None]).is_err());
    }
}
