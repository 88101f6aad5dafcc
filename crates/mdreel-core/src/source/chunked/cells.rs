//! Unit cells, fixed or in separate datasets.

use super::dataset::Dataset;
use super::fill::{Filler, Target};
use crate::error::Result;
use crate::frame::ColumnsMut;
use crate::source::bytes::FileBytes;
use crate::span::Recorder;
use crate::unit_cell::UnitCell;

/// Storage of the unit cells of a trajectory.
#[derive(Debug)]
pub enum Cells<D = Dataset> {
    /// No unit cells.
    None,
    /// The same unit cell for all frames.
    Fixed(UnitCell),
    /// Lengths, and angles if these are not right angles.
    Dimensions {
        /// One row per frame, in Å after conversion.
        lengths: D,
        /// One row per frame, in degrees after conversion.
        angles: Option<D>,
    },
    /// Three vectors: three rows per frame, in Å after conversion.
    Vectors(D),
}

impl<D> Cells<D> {
    /// Converts the datasets of the cells.
    pub(crate) fn map<E>(self, mut change: impl FnMut(D) -> Result<E>) -> Result<Cells<E>> {
        Ok(match self {
            Cells::None => Cells::None,
            Cells::Fixed(cell) => Cells::Fixed(cell),
            Cells::Dimensions { lengths, angles } => {
                Cells::Dimensions { lengths: change(lengths)?, angles: angles.map(change).transpose()? }
            }
            Cells::Vectors(vectors) => Cells::Vectors(change(vectors)?),
        })
    }

    /// Returns the datasets of the cells.
    pub(crate) fn datasets(&self) -> impl Iterator<Item = &D> {
        let datasets = match self {
            Cells::None | Cells::Fixed(_) => [None, None],
            Cells::Dimensions { lengths, angles } => [Some(lengths), angles.as_ref()],
            Cells::Vectors(vectors) => [Some(vectors), None],
        };
        datasets.into_iter().flatten()
    }
}

/// Returns the cell, or `None` if it has no lengths.
fn known(cell: UnitCell) -> Option<UnitCell> {
    let is_known = match cell {
        UnitCell::Dimensions(dimensions) => dimensions[..3].iter().any(|&length| length != 0.0),
        UnitCell::Vectors(vectors) | UnitCell::Nanometres(vectors) => {
            vectors.iter().all(|row| row.iter().any(|&value| value != 0.0))
        }
    };
    is_known.then_some(cell)
}

/// Reader of the cells for one worker.
pub(super) enum CellReader<'a> {
    Fixed(Option<UnitCell>),
    Dimensions(Box<Filler<'a>>, Option<Box<Filler<'a>>>),
    Vectors(Box<Filler<'a>>),
}

impl<'a> CellReader<'a> {
    pub(crate) fn new(file: &'a FileBytes, cells: &'a Cells) -> Self {
        match cells {
            Cells::None => CellReader::Fixed(None),
            Cells::Fixed(cell) => CellReader::Fixed(known(*cell)),
            Cells::Dimensions { lengths, angles } => CellReader::Dimensions(
                Box::new(Filler::new(file, lengths, &[0])),
                angles.as_ref().map(|angles| Box::new(Filler::new(file, angles, &[0]))),
            ),
            Cells::Vectors(vectors) => CellReader::Vectors(Box::new(Filler::new(file, vectors, &[0, 1, 2]))),
        }
    }

    /// Reads the cells of `frames`.
    pub(crate) fn read(&mut self, frames: &[u64], recorder: &mut Recorder) -> Result<Vec<Option<UnitCell>>> {
        Ok(match self {
            CellReader::Fixed(cell) => vec![*cell; frames.len()],
            CellReader::Dimensions(lengths, angles) => {
                let lengths = read_rows(lengths, 1, frames, recorder)?;
                let angles = angles.as_mut().map(|angles| read_rows(angles, 1, frames, recorder)).transpose()?;
                let cells = lengths.iter().enumerate().map(|(i, &[a, b, c])| {
                    let [alpha, beta, gamma] = angles.as_ref().map_or([90.0; 3], |angles| angles[i]);
                    known(UnitCell::Dimensions([a, b, c, alpha, beta, gamma]))
                });
                cells.collect()
            }
            CellReader::Vectors(vectors) => {
                let rows = read_rows(vectors, 3, frames, recorder)?;
                rows.as_chunks().0.iter().map(|&cell| known(UnitCell::Vectors(cell))).collect()
            }
        })
    }
}

/// Columns of `n_rows` rows for each frame.
struct ColumnsRead {
    n_rows: usize,
    values: Vec<f32>,
}

impl Target for ColumnsRead {
    fn columns(&mut self, slot: usize) -> ColumnsMut<'_> {
        let frame = &mut self.values[3 * self.n_rows * slot..][..3 * self.n_rows];
        let (x, rest) = frame.split_at_mut(self.n_rows);
        let (y, z) = rest.split_at_mut(self.n_rows);
        ColumnsMut { x, y, z }
    }
}

fn read_rows(filler: &mut Filler<'_>, n_rows: usize, frames: &[u64], recorder: &mut Recorder) -> Result<Vec<[f32; 3]>> {
    let mut target = ColumnsRead { n_rows, values: vec![0.0; 3 * n_rows * frames.len()] };
    filler.fill(frames, &mut target, recorder)?;
    let frames = target.values.chunks_exact(3 * n_rows);
    let row = |frame: &[f32], row: usize| std::array::from_fn(|k| frame[k * n_rows + row]);
    Ok(frames.flat_map(|frame| (0..n_rows).map(move |i| row(frame, i))).collect())
}
