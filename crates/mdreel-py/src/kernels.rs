//! The computations of the core, with one function for each. Related functions are in the same file.

pub(crate) mod comparison;
pub(crate) mod fingerprint;
pub(crate) mod geometry;
pub(crate) mod motion;
pub(crate) mod neighbours;
pub(crate) mod online_clusters;
pub(crate) mod positions;
pub(crate) mod repeated;
pub(crate) mod residue_contacts;
pub(crate) mod superposed;
pub(crate) mod water_bridges;

use numpy::ndarray::{Dimension, Ix1, Ix2};
use numpy::{Element, IntoPyArray, PyArray, PyReadonlyArray, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::to_python;

type Copied1<'py, T> = Bound<'py, PyArray<T, Ix1>>;
type Copied2<'py, T> = Bound<'py, PyArray<T, Ix2>>;

/// Copies an array, so that no other code can write to it.
pub(crate) fn copied<'py, T: Element + Clone, D: Dimension>(
    array: PyReadonlyArray<'py, T, D>,
) -> Bound<'py, PyArray<T, D>> {
    array.as_array().to_owned().into_pyarray(array.py())
}

pub(crate) fn points(positions: &PyReadonlyArray2<'_, f64>) -> PyResult<Vec<[f64; 3]>> {
    rows(positions, "positions need 3 columns")
}

/// Returns the rows of an array, with `N` numbers each. If the rows have another length, the error begins with `expected`.
pub(crate) fn rows<T: Element + Copy, const N: usize>(
    array: &PyReadonlyArray2<'_, T>,
    expected: &str,
) -> PyResult<Vec<[T; N]>> {
    let values = array.as_array();
    if values.ncols() != N {
        let message = format!("{expected}, got {}", values.ncols());
        return Err(to_python(array.py(), mdreel_core::Error::mismatch(message)));
    }
    Ok(values.rows().into_iter().map(|row| std::array::from_fn(|k| row[k])).collect())
}
