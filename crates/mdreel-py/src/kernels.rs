//! The computations of the core, one function for each, in files of those that are akin.

pub mod geometry;
pub mod motion;
pub mod positions;

use numpy::ndarray::Dimension;
use numpy::{Element, IntoPyArray, PyArray, PyReadonlyArray, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::to_python;

/// An array that nobody else writes to.
pub(crate) fn copied<'py, T: Element + Clone, D: Dimension>(
    array: PyReadonlyArray<'py, T, D>,
) -> Bound<'py, PyArray<T, D>> {
    array.as_array().to_owned().into_pyarray(array.py())
}

fn points(positions: &PyReadonlyArray2<'_, f64>) -> PyResult<Vec<[f64; 3]>> {
    let array = positions.as_array();
    if array.ncols() != 3 {
        let message = format!("positions need 3 columns, got {}", array.ncols());
        return Err(to_python(positions.py(), mdreel_core::Error::Mismatch(message)));
    }
    Ok(array.rows().into_iter().map(|row| [row[0], row[1], row[2]]).collect())
}
