//! Frames as arrays.

use mdreel_core::Error;
use mdreel_core::block::FrameSet;
use mdreel_core::frame::{FrameHeader, Quantities, Quantity};
use mdreel_core::source::memory::MemorySource;
use mdreel_core::source::read::{FrameArray, read_frames};
use mdreel_core::source::{AtomSelection, Source};
use mdreel_core::unit_cell::UnitCell;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::error::to_python;

/// Frames that were read. In the shapes, n is the number of frames and a the number of atoms.
#[pyclass(frozen, get_all, module = "mdreel._core")]
pub struct Frames {
    /// Positions, shape (n, a, 3), Å; NaN for frames without positions.
    positions: Py<PyArray3<f32>>,
    /// Velocities, shape (n, a, 3), Å/ps; NaN for frames without velocities. None if they were not requested.
    velocities: Option<Py<PyArray3<f32>>>,
    /// Forces, shape (n, a, 3), kJ/(mol Å); NaN for frames without forces. None if they were not requested.
    forces: Option<Py<PyArray3<f32>>>,
    /// Whether each frame has positions, shape (n,).
    has_positions: Py<PyArray1<bool>>,
    /// Whether each frame has velocities, shape (n,).
    has_velocities: Py<PyArray1<bool>>,
    /// Whether each frame has forces, shape (n,).
    has_forces: Py<PyArray1<bool>>,
    /// Whether each frame has a cell, shape (n,).
    has_cell: Py<PyArray1<bool>>,
    /// Cell vectors as rows, shape (n, 3, 3), Å; NaN for frames without a cell.
    vectors: Py<PyArray3<f32>>,
    /// Cell lengths in Å and angles in degrees, shape (n, 6); NaN for frames without a cell.
    dimensions: Py<PyArray2<f32>>,
    /// Times, shape (n,), ps.
    times: Py<PyArray1<f64>>,
    /// Integration steps, shape (n,).
    steps: Py<PyArray1<i64>>,
    /// Free-energy coupling parameters, shape (n,); NaN for formats that do not store them.
    lambdas: Py<PyArray1<f32>>,
}

impl Frames {
    /// Creates the arrays of frames of `n_atoms` atoms.
    pub fn new(py: Python<'_>, array: FrameArray, n_atoms: usize, wanted: Quantities) -> PyResult<Self> {
        let FrameArray { headers, positions, velocities, forces } = array;
        let n = headers.len();
        let columns =
            |values: Vec<f32>| -> PyResult<_> { Ok(values.into_pyarray(py).reshape([n, n_atoms, 3])?.unbind()) };
        let asked = |quantity, values| wanted.contains(quantity).then(|| columns(values)).transpose();
        let flags =
            |is: &dyn Fn(&FrameHeader) -> bool| headers.iter().map(is).collect::<Vec<_>>().into_pyarray(py).unbind();
        let has = |quantity| flags(&|header| header.present.contains(quantity));
        let vectors = cells(&headers, |cell| cell.vectors().into_iter().flatten().collect());
        let dimensions = cells(&headers, |cell| cell.dimensions().to_vec());
        let times: Vec<f64> = headers.iter().map(|header| header.time).collect();
        let steps: Vec<i64> = headers.iter().map(|header| header.step).collect();
        let lambdas: Vec<f32> = headers.iter().map(|header| header.lambda.unwrap_or(f32::NAN)).collect();
        Ok(Frames {
            positions: columns(positions)?,
            velocities: asked(Quantity::Velocities, velocities)?,
            forces: asked(Quantity::Forces, forces)?,
            has_positions: has(Quantity::Positions),
            has_velocities: has(Quantity::Velocities),
            has_forces: has(Quantity::Forces),
            has_cell: flags(&|header| header.unit_cell.is_some()),
            vectors: vectors.into_pyarray(py).reshape([n, 3, 3])?.unbind(),
            dimensions: dimensions.into_pyarray(py).reshape([n, 6])?.unbind(),
            times: times.into_pyarray(py).unbind(),
            steps: steps.into_pyarray(py).unbind(),
            lambdas: lambdas.into_pyarray(py).unbind(),
        })
    }
}

/// Checks atom indices.
pub(crate) fn selection(atoms: &PyReadonlyArray1<'_, u32>) -> PyResult<AtomSelection> {
    AtomSelection::new(atoms.as_array().to_vec()).map_err(|error| to_python(atoms.py(), error))
}

/// Returns the quantities of these names.
pub(crate) fn quantities(names: &[String]) -> Result<Quantities, Error> {
    names.iter().try_fold(Quantities::NONE, |set, name| {
        let known = Quantities::ALL.iter().find(|quantity| quantity.name() == name);
        let unknown = || Error::unsupported(format!("unknown quantity {name:?}; known: positions, velocities, forces"));
        Ok(set.with(known.ok_or_else(unknown)?, true))
    })
}

/// Returns one view of each frame's cell; NaN for frames without a cell.
pub(crate) fn cells(headers: &[FrameHeader], view: impl Fn(&UnitCell) -> Vec<f32>) -> Vec<f32> {
    let n = view(&UnitCell::Dimensions([1.0, 1.0, 1.0, 90.0, 90.0, 90.0])).len();
    let rows = headers.iter().map(|header| header.unit_cell.as_ref().map_or_else(|| vec![f32::NAN; n], &view));
    rows.flatten().collect()
}

/// Copies frames from arrays to a source in memory.
pub(crate) fn from_arrays(
    py: Python<'_>,
    positions: &PyReadonlyArray3<'_, f32>,
    times: &PyReadonlyArray1<'_, f64>,
    dimensions: Option<&PyReadonlyArray2<'_, f32>>,
) -> PyResult<MemorySource> {
    let mismatch = |message: String| to_python(py, Error::mismatch(message));
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

/// Returns copies of the arrays from which [`from_arrays`] makes the same frames.
pub(crate) fn arrays_of<'py>(py: Python<'py>, memory: &MemorySource) -> PyResult<Arrays<'py>> {
    let (n_frames, n_atoms) = (memory.n_bytes() / (12 * memory.n_atoms() as u64).max(1), memory.n_atoms());
    let (atoms, frames) = (AtomSelection::all(n_atoms), FrameSet::all(n_frames));
    let read = py.detach(|| read_frames(memory, &atoms, &frames, Quantities::POSITIONS));
    let FrameArray { headers, positions, .. } = read.map_err(|error| to_python(py, error))?;
    let times: Vec<f64> = headers.iter().map(|header| header.time).collect();
    let rows = headers.iter().map(|header| header.unit_cell.map_or([0.0; 6], |cell| cell.dimensions()));
    let dimensions: Vec<f32> = rows.flatten().collect();
    Ok((
        positions.into_pyarray(py).reshape([headers.len(), n_atoms, 3])?,
        times.into_pyarray(py),
        dimensions.into_pyarray(py).reshape([headers.len(), 6])?,
    ))
}

/// Positions, times and unit cells of frames in memory.
type Arrays<'py> = (Bound<'py, PyArray3<f32>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f32>>);

/// Returns the cell of these dimensions; `None` for a row of zeros, which means no cell.
fn cell(dimensions: [f32; 6]) -> Option<UnitCell> {
    (dimensions != [0.0; 6]).then_some(UnitCell::Dimensions(dimensions))
}
