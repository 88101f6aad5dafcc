//! Frames, as arrays.

use mdreel_core::Error;
use mdreel_core::frame::FrameHeader;
use mdreel_core::source::memory::MemorySource;
use mdreel_core::source::read::FrameArray;
use mdreel_core::unit_cell::UnitCell;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::error::to_python;

/// Positions, cell vectors, cell lengths and angles, whether there is a cell, times, integration steps.
pub type Frames<'py> = (
    Bound<'py, PyArray3<f32>>,
    Bound<'py, PyArray3<f32>>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
);

/// The arrays of `n_frames` frames of `n_atoms` atoms.
pub fn arrays(py: Python<'_>, array: FrameArray, n_frames: usize, n_atoms: usize) -> PyResult<Frames<'_>> {
    let headers = &array.headers;
    let vectors = cells(headers, |cell| cell.vectors().into_iter().flatten().collect());
    let dimensions = cells(headers, |cell| cell.dimensions().to_vec());
    let has_cell: Vec<bool> = headers.iter().map(|header| header.unit_cell.is_some()).collect();
    let times: Vec<f64> = headers.iter().map(|header| header.time).collect();
    let steps: Vec<i64> = headers.iter().map(|header| header.step).collect();
    Ok((
        array.positions.into_pyarray(py).reshape([n_frames, n_atoms, 3])?,
        vectors.into_pyarray(py).reshape([n_frames, 3, 3])?,
        dimensions.into_pyarray(py).reshape([n_frames, 6])?,
        has_cell.into_pyarray(py),
        times.into_pyarray(py),
        steps.into_pyarray(py),
    ))
}

/// One view of each frame's cell; NaN where there is none.
fn cells(headers: &[FrameHeader], view: impl Fn(&UnitCell) -> Vec<f32>) -> Vec<f32> {
    let n = view(&UnitCell::Dimensions([1.0, 1.0, 1.0, 90.0, 90.0, 90.0])).len();
    let rows = headers.iter().map(|header| header.unit_cell.as_ref().map_or_else(|| vec![f32::NAN; n], &view));
    rows.flatten().collect()
}

/// A copy of frames that are in arrays.
pub fn from_arrays(
    py: Python<'_>,
    positions: &PyReadonlyArray3<'_, f32>,
    times: &PyReadonlyArray1<'_, f64>,
    dimensions: Option<&PyReadonlyArray2<'_, f32>>,
) -> PyResult<MemorySource> {
    let mismatch = |message: String| to_python(py, Error::Mismatch(message));
    let &[n_frames, n_atoms, 3] = positions.shape() else {
        return Err(mismatch(format!("positions need the shape (n_frames, n_atoms, 3), got {:?}", positions.shape())));
    };
    if times.len() != n_frames {
        return Err(mismatch(format!("{n_frames} frames need as many times, got {}", times.len())));
    }
    let cells = match dimensions {
        Some(rows) if rows.shape()[1] != 6 => {
            return Err(mismatch(format!("unit cells need 6 columns, got {}", rows.shape()[1])));
        }
        Some(rows) => rows.as_array().rows().into_iter().map(|row| cell(std::array::from_fn(|k| row[k]))).collect(),
        None => Vec::new(),
    };
    let positions = positions.as_array().iter().copied().collect();
    let memory = MemorySource::new(n_atoms, positions, times.as_array().to_vec(), cells);
    memory.map_err(|error| to_python(py, error))
}

/// A row of zeros stands for no cell.
fn cell(dimensions: [f32; 6]) -> Option<UnitCell> {
    (dimensions != [0.0; 6]).then_some(UnitCell::Dimensions(dimensions))
}
