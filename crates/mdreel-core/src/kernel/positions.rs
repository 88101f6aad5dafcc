//! Positions of each frame, for computations that need all frames at once, and paths of atoms.

use std::ops::Range;

use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::periodic::Periodic;
use crate::reduce::{Layout, Slots};
use crate::transform::{Path, Scheme};
use crate::unit_cell::UnitCell;

/// Number of values that describe a cell: lengths and angles, or zeros if there is no cell.
const CELL: usize = 6;
/// Number of frames whose positions are reordered into paths together, so that they stay in the cache.
const TILE: usize = 64;

/// Computation that stores the positions and the cell of each frame unchanged.
///
/// The order is x, y and z of each atom, in float32. Two float32 share the memory of one float64 value, so the positions need
/// no more memory than in the file. Two finite float32 side by side always form a finite float64, so no copy can change their
/// bits.
#[derive(Debug, Clone, Copy)]
pub struct Positions {
    n_atoms: usize,
}

impl Positions {
    /// Creates the computation for `n_atoms` atoms.
    pub fn new(n_atoms: usize) -> Result<Self> {
        if n_atoms == 0 {
            return Err(Error::mismatch("there are no atoms"));
        }
        Ok(Positions { n_atoms })
    }
}

impl Computation for Positions {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout::columns((3 * self.n_atoms + CELL).div_ceil(2))
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(*self)
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        for i in 0..batch.len() {
            let columns = batch.columns(i);
            let cell = batch.header(i).unit_cell.as_ref().map_or([0.0; CELL], UnitCell::dimensions);
            let atoms = columns.x.iter().zip(columns.y).zip(columns.z).flat_map(|((x, y), z)| [*x, *y, *z]);
            let mut numbers = atoms.chain(cell);
            let mut is_finite = true;
            for value in slots.row(i) {
                let (first, second) = (numbers.next().unwrap_or(0.0), numbers.next().unwrap_or(0.0));
                is_finite &= first.is_finite() & second.is_finite();
                *value = pair(first, second);
            }
            if !is_finite {
                return Err(not_finite(batch, i, "cell"));
            }
        }
        Ok(())
    }
}

/// Combines the bits of two float32 into one float64.
fn pair(first: f32, second: f32) -> f64 {
    let ([a, b, c, d], [e, f, g, h]) = (first.to_ne_bytes(), second.to_ne_bytes());
    f64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// Returns the paths of some atoms, from frames as stored by [`Positions`].
///
/// The result contains x of the first atom in all frames, then y, then z, and then the same for the next atom. With a scheme,
/// the function undoes jumps across periodic boundaries; every frame must then have a cell.
pub fn paths(frames: &[&[f32]], n_atoms: usize, atoms: Range<usize>, scheme: Option<Scheme>) -> Result<Vec<f64>> {
    let (n_frames, n_numbers) = (frames.len(), 3 * n_atoms + CELL);
    if atoms.end > n_atoms || frames.iter().any(|frame| frame.len() < n_numbers) {
        return Err(Error::mismatch(format!("expected positions of {n_atoms} atoms, {} of them wanted", atoms.end)));
    }
    let cells = match scheme {
        None => Vec::new(),
        Some(_) => frames.iter().enumerate().map(|(i, frame)| cell_of(frame, i, n_atoms)).collect::<Result<_>>()?,
    };
    let mut followed: Vec<Option<Path>> = vec![None; atoms.len()];
    let mut all = vec![0.0; 3 * atoms.len() * n_frames];
    for first in (0..n_frames).step_by(TILE) {
        let tile = first..n_frames.min(first + TILE);
        for ((atom, path), out) in atoms.clone().zip(&mut followed).zip(all.chunks_exact_mut(3 * n_frames.max(1))) {
            for i in tile.clone() {
                let stored: [f64; 3] = std::array::from_fn(|axis| f64::from(frames[i][3 * atom + axis]));
                let at = match (scheme, path.as_mut()) {
                    (None, _) => stored,
                    (Some(scheme), Some(path)) => path.follow(scheme, &cells[i], stored),
                    (Some(scheme), None) => {
                        *path = Some(Path::new(scheme, &cells[i], stored));
                        stored
                    }
                };
                for (axis, value) in at.into_iter().enumerate() {
                    out[axis * n_frames + i] = value;
                }
            }
        }
    }
    Ok(all)
}

fn cell_of(frame: &[f32], i: usize, n_atoms: usize) -> Result<Periodic> {
    let mut dimensions = [0.0; CELL];
    dimensions.copy_from_slice(&frame[3 * n_atoms..][..CELL]);
    let cell = Periodic::new(Some(&UnitCell::Dimensions(dimensions)))
        .map_err(|error| Error::mismatch(format!("frame {i} of those read: {error}: to undo jumps needs a cell")))?;
    cell.ok_or_else(|| {
        Error::mismatch(format!("frame {i} of those read has no periodic cell: to undo jumps needs one"))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::fixture::{batch, mapped};

    fn kept(frames: &[Vec<[f32; 3]>], cell: Option<UnitCell>) -> Result<Vec<Vec<f32>>> {
        let rows = mapped(Positions::new(frames[0].len())?, &[batch(0, frames, cell)])?.rows;
        let width = rows.width();
        let values = rows.into_values();
        let numbers = |row: &[f64]| row[2..].iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
        let frames = values.chunks_exact(width).map(|row| {
            let bytes = numbers(row);
            bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
        });
        Ok(frames.collect())
    }

    proptest! {
        #[test]
        fn positions_are_kept_to_the_bit(
            frames in prop::collection::vec(prop::collection::vec(prop::array::uniform3(-1e30f32..1e30), 7), 1..5),
        ) {
            let cell = [30.0, 40.0, 50.0, 90.0, 80.0, 70.0];
            for (frame, row) in frames.iter().zip(kept(&frames, Some(UnitCell::Dimensions(cell))).unwrap()) {
                let mut expected: Vec<f32> = frame.iter().flatten().copied().collect();
                expected.extend(cell);
                prop_assert_eq!(&row[..expected.len()], &expected[..]);
            }
        }

        #[test]
        fn path_that_was_wrapped_is_found_again(
            steps in prop::collection::vec(prop::array::uniform3(-4f32..4.0), 1..200),
            n_behind in 0usize..3,
        ) {
            let (mut at, mut expected, mut frames) = ([1f64; 3], Vec::new(), Vec::new());
            for step in &steps {
                at = std::array::from_fn(|axis| at[axis] + f64::from(step[axis]));
                expected.push(at);
                let mut frame = vec![[0.0; 3]; n_behind];
                frame.push(at.map(|value| (value.rem_euclid(20.0)) as f32));
                frames.push(frame);
            }
            let cell = UnitCell::Dimensions([20.0, 20.0, 20.0, 90.0, 90.0, 90.0]);
            let rows = kept(&frames, Some(cell)).unwrap();
            let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
            for scheme in [Scheme::Lattice, Scheme::Toroidal] {
                let found = paths(&rows, n_behind + 1, n_behind..n_behind + 1, Some(scheme)).unwrap();
                for (axis, found) in found.chunks_exact(steps.len()).enumerate() {
                    let shift = found[0] - expected[0][axis];
                    for (found, expected) in found.iter().zip(&expected) {
                        prop_assert!((found - shift - expected[axis]).abs() < 1e-3);
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_kept_or_followed_is_refused() {
        let message = kept(&[vec![[0.0, f32::NAN, 0.0]]], None).unwrap_err().to_string();
        assert!(message.contains("frame 0: atom 0 of the 1 selected"), "{message}");
        let rows = kept(&[vec![[0.0; 3]]], None).unwrap();
        let message = paths(&[&rows[0]], 1, 0..1, Some(Scheme::Lattice)).unwrap_err().to_string();
        assert!(message.contains("no periodic cell"), "{message}");
        assert!(paths(&[&rows[0]], 1, 0..2, None).is_err());
    }
}
