//! Frames read into one array, for callers that want the coordinates themselves.

use std::path::Path;
use std::time::Instant;

use crate::block::{Extent, FrameSet};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, FrameHeader, Quantities, Quantity};
use crate::source::{AtomSelection, Source};
use crate::span::{NO_BLOCK, Recorder};

/// Frames with their coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameArray {
    /// What each frame carries besides coordinates.
    pub headers: Vec<FrameHeader>,
    /// Coordinates in Å: frame after frame, atom after atom, x y z. NaN where a frame has none.
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

/// Reads `wanted` quantities in `frames` of `source`; one that is damaged is always an error. The first frame alone is read without locating the others.
pub fn read_frames(
    source: &dyn Source,
    atoms: &AtomSelection,
    frames: &FrameSet,
    wanted: Quantities,
) -> Result<FrameArray> {
    let wanted = wanted.with(Quantity::Positions, true);
    atoms.check(source.n_atoms())?;
    let extent = match (first_byte(source), frames.len(), frames.last()) {
        (Some(byte), 1, Some(0)) => Extent::Bytes(byte..byte + 1),
        _ => Extent::Frames(frames.clone()),
    };
    let n_values = frames.len().checked_mul(3 * atoms.len() as u64).and_then(|n| usize::try_from(n).ok());
    let mut array =
        FrameArray { headers: Vec::new(), positions: Vec::new(), velocities: Vec::new(), forces: Vec::new() };
    let mut fits = |quantity| n_values.is_some_and(|n| array.values_mut(quantity).try_reserve_exact(n).is_ok());
    if !wanted.iter().all(&mut fits) {
        return Err(Error::Unsupported(format!(
            "{} frames of {} atoms do not fit into memory: read fewer at a time",
            frames.len(),
            atoms.len()
        )));
    }
    let mut recorder = Recorder::new(Instant::now(), NO_BLOCK);
    let mut batch = FrameBatch::for_quantities(atoms.len(), wanted);
    let mut reader = source.reader(atoms, wanted)?;
    reader.start(&extent)?;
    loop {
        reader.read(&mut batch, &mut recorder)?;
        if batch.is_empty() {
            break;
        }
        array.headers.extend_from_slice(batch.headers());
        for (i, quantity) in (0..batch.len()).flat_map(|i| wanted.iter().map(move |quantity| (i, quantity))) {
            let values = array.values_mut(quantity);
            let n_before = values.len();
            values.resize(n_before + 3 * atoms.len(), f32::NAN);
            if let Some(columns) = batch.columns_of(i, quantity) {
                let columns = columns.x.iter().zip(columns.y).zip(columns.z);
                // Into a slice, not a growing vector: so that the compiler can use vector instructions.
                for (row, ((&x, &y), &z)) in values[n_before..].as_chunks_mut().0.iter_mut().zip(columns) {
                    *row = [x, y, z];
                }
            }
        }
        recorder.take();
    }
    if let Some(damage) = reader.damage().into_iter().next() {
        return Err(damage.into_error());
    }
    let n_read = array.headers.len() as u64;
    if n_read != frames.len() {
        let path = Path::new("<trajectory>").into();
        return Err(Error::FrameIndex { path, frame: n_read, n_frames: n_read });
    }
    Ok(array)
}

/// Where the first frame begins, if frames have not been located.
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
