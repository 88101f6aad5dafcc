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

/// Create the computation of the RMSD of groups in each frame of `n_atoms` atoms, in Å.
///
/// With `fitted`, these atoms are superposed on their reference, and the groups move with them. The RMSD of the fitted atoms is
/// then the first value. Without `fitted`, the coordinates of the groups are used as stored.
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

/// Create the computation of fluctuations after superposition of the `fitted` atoms, in frames of `n_atoms` atoms.
///
/// The value of each frame is the RMSD of the fitted atoms, in Å. Each of `atoms` has four sums over frames: its displacement (x,
/// y, z) from `reference` in Å, and the square of it in Å². The reference has the shape (n, 3), Å.
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

/// Create the computation of the sums over frames from which a covariance matrix follows.
///
/// The sums are the displacement of each coordinate from `reference` (Å), and the product of the displacements of each pair of
/// coordinates (Å²). The products are in the order of the rows of the upper triangle. The reference has the shape (n_atoms, 3), Å.
/// With `fitted`, each frame is first superposed by fitting these atoms.
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

/// Create the computation of the sums over frames from which the cross-correlation of atoms follows.
///
/// The sums are the displacement of each atom from `reference` (x, y, z, in Å), and the inner product of the displacements of each
/// pair of atoms (Å²). The products are in the order of the rows of the upper triangle. The reference has the shape (n_atoms, 3),
/// Å. With `fitted`, each frame is first superposed by fitting these atoms.
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

/// Create the computation of the inner product of each frame's displacement from `origin` with each direction.
///
/// `origin` has the shape (n_atoms, 3), Å, and `directions` has the shape (n_directions, n_atoms, 3). With `fitted`, each frame is
/// first superposed by fitting these atoms.
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
