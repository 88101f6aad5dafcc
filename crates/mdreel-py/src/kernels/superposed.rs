//! Measures of frames after some of their atoms were superposed on a reference.

use mdreel_core::kernel::covariance::Covariance;
use mdreel_core::kernel::cross_correlation::CrossCorrelation;
use mdreel_core::kernel::fit::Fit;
use mdreel_core::kernel::fluctuation::Fluctuation;
use mdreel_core::kernel::group_rmsd::{Group, GroupRmsd};
use mdreel_core::kernel::projection::Projection;
use mdreel_core::simd::Level;
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;

use super::{Copied1, Copied2, copied, points};
use crate::computation::Computation;

/// Atoms, shape (n_atoms,), their reference, shape (n_atoms, 3), Å, and their weights.
#[derive(FromPyObject)]
pub(crate) struct Given<'py>(
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray2<'py, f64>,
    Option<PyReadonlyArray1<'py, f64>>,
);

impl<'py> Given<'py> {
    fn group(&self) -> PyResult<Group> {
        let weights = self.2.as_ref().map(|weights| weights.as_array().to_vec());
        Ok(Group { atoms: self.0.as_array().to_vec(), reference: points(&self.1)?, weights })
    }

    /// Returns the superposition of these atoms of frames of `n_atoms` atoms.
    fn fit(&self, n_atoms: usize) -> PyResult<mdreel_core::Result<Fit>> {
        let Group { atoms, reference, weights } = self.group()?;
        Ok(Fit::new(n_atoms, Some(atoms), &reference, weights.as_deref(), Level::detect()))
    }

    fn copied(self) -> (Copied1<'py, u32>, Copied2<'py, f64>, Option<Copied1<'py, f64>>) {
        (copied(self.0), copied(self.1), self.2.map(copied))
    }
}

/// RMSD of each frame of `n_atoms` atoms, Å: of those that are `fitted`, and of `groups` that are moved with them; or of groups
/// alone, as they are.
#[pyfunction]
#[pyo3(signature = (n_atoms, fitted, groups))]
pub(crate) fn group_rmsd<'py>(
    py: Python<'py>,
    n_atoms: usize,
    fitted: Option<Given<'py>>,
    groups: Vec<Given<'py>>,
) -> PyResult<Computation> {
    let fit = fitted.as_ref().map(Given::group).transpose()?;
    let others = groups.iter().map(Given::group).collect::<PyResult<Vec<_>>>()?;
    let computation = py.detach(|| GroupRmsd::new(n_atoms, fit.as_ref(), &others));
    let copies: Vec<_> = groups.into_iter().map(Given::copied).collect();
    Computation::new(py, computation, "group_rmsd", (n_atoms, fitted.map(Given::copied), copies))
}

/// RMSD of each frame of `n_atoms` atoms after those that are `fitted` were superposed, Å, and sums for each of `atoms` of its
/// displacement from `reference`, shape (n, 3), Å, and of the square of that: x, y, z, square.
#[pyfunction]
pub(crate) fn superposed_fluctuation<'py>(
    py: Python<'py>,
    n_atoms: usize,
    fitted: Given<'py>,
    atoms: PyReadonlyArray1<'py, u32>,
    reference: PyReadonlyArray2<'py, f64>,
) -> PyResult<Computation> {
    let (fit, places, rows) = (fitted.fit(n_atoms)?, atoms.as_array().to_vec(), points(&reference)?);
    let computation = fit.and_then(|fit| Fluctuation::superposed(n_atoms, fit, places, &rows));
    let arguments = (n_atoms, fitted.copied(), copied(atoms), copied(reference));
    Computation::new(py, computation, "superposed_fluctuation", arguments)
}

/// Sums for each coordinate of its displacement from `reference`, shape (n_atoms, 3), Å, and for each pair of coordinates of the
/// product of both, row after row of the upper triangle; after superposition of what is `fitted`, if anything is.
#[pyfunction]
#[pyo3(signature = (reference, fitted))]
pub(crate) fn covariance<'py>(
    py: Python<'py>,
    reference: PyReadonlyArray2<'py, f64>,
    fitted: Option<Given<'py>>,
) -> PyResult<Computation> {
    let rows = points(&reference)?;
    let fit = fitted.as_ref().map(|fitted| fitted.fit(rows.len())).transpose()?;
    let computation = fit.transpose().and_then(|fit| Covariance::new(rows.len(), fit, None, &rows));
    Computation::new(py, computation, "covariance", (copied(reference), fitted.map(Given::copied)))
}

/// Sums for each atom of its displacement from `reference`, shape (n_atoms, 3), Å, and for each pair of atoms of the inner product of
/// both displacements, row after row of the upper triangle; after superposition of what is `fitted`, if anything is.
#[pyfunction]
#[pyo3(signature = (reference, fitted))]
pub(crate) fn cross_correlation<'py>(
    py: Python<'py>,
    reference: PyReadonlyArray2<'py, f64>,
    fitted: Option<Given<'py>>,
) -> PyResult<Computation> {
    let rows = points(&reference)?;
    let fit = fitted.as_ref().map(|fitted| fitted.fit(rows.len())).transpose()?;
    let computation = fit.transpose().and_then(|fit| CrossCorrelation::new(fit, &rows));
    Computation::new(py, computation, "cross_correlation", (copied(reference), fitted.map(Given::copied)))
}

/// Inner products of each frame's displacement from `origin`, shape (n_atoms, 3), Å, with `directions`, shape (n_directions,
/// n_atoms, 3); after superposition of what is `fitted`, if anything is.
#[pyfunction]
#[pyo3(signature = (origin, directions, fitted))]
pub(crate) fn projection<'py>(
    py: Python<'py>,
    origin: PyReadonlyArray2<'py, f64>,
    directions: PyReadonlyArray3<'py, f64>,
    fitted: Option<Given<'py>>,
) -> PyResult<Computation> {
    let rows = points(&origin)?;
    let fit = fitted.as_ref().map(|fitted| fitted.fit(rows.len())).transpose()?;
    let along = directions.as_array();
    let along: Vec<Vec<[f64; 3]>> = along
        .outer_iter()
        .map(|direction| direction.outer_iter().map(|row| [row[0], row[1], row[2]]).collect())
        .collect();
    let computation = fit.transpose().and_then(|fit| Projection::new(rows.len(), fit, None, &rows, &along));
    Computation::new(py, computation, "projection", (copied(origin), copied(directions), fitted.map(Given::copied)))
}
