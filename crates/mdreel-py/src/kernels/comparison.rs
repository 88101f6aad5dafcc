//! Comparison of each frame with a reference structure.

use mdreel_core::kernel::local_distances::LocalDistances;
use mdreel_core::kernel::symmetric_rmsd::SymmetricRmsd;
use mdreel_core::kernel::template_scores::TemplateScores;
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;

use super::{copied, points};
use crate::computation::Computation;

/// Fraction of the distances of up to `radius`, Å, between atoms of different `residues` in `reference`, shape (n_atoms, 3), Å, that
/// each frame preserves (lDDT): of all distances, and of those of each residue.
#[pyfunction]
pub(crate) fn local_distances<'py>(
    py: Python<'py>,
    reference: PyReadonlyArray2<'py, f64>,
    residues: PyReadonlyArray1<'py, u32>,
    radius: f64,
) -> PyResult<Computation> {
    let (rows, of_atoms) = (points(&reference)?, residues.as_array().to_vec());
    let computation = py.detach(|| LocalDistances::new(&rows, of_atoms, radius));
    Computation::new(py, computation, "local_distances", (copied(reference), copied(residues), radius))
}

/// TM-score, GDT-TS and GDT-HA of each frame of `n_atoms` atoms: of `atoms`, one for each residue in the order of the chain, against
/// `reference`, shape (n, 3), Å, for a target of `n_residues`.
#[pyfunction]
pub(crate) fn template_scores<'py>(
    py: Python<'py>,
    n_atoms: usize,
    atoms: PyReadonlyArray1<'py, u32>,
    reference: PyReadonlyArray2<'py, f64>,
    n_residues: usize,
) -> PyResult<Computation> {
    let (rows, of_residues) = (points(&reference)?, atoms.as_array().to_vec());
    let computation = TemplateScores::new(n_atoms, of_residues, &rows, n_residues);
    let arguments = (n_atoms, copied(atoms), copied(reference), n_residues);
    Computation::new(py, computation, "template_scores", arguments)
}

/// RMSD of each frame, Å, from the nearest of `references`, shape (n_references, n_atoms, 3), Å, after superposition or as it is.
#[pyfunction]
pub(crate) fn symmetric_rmsd<'py>(
    py: Python<'py>,
    references: PyReadonlyArray3<'py, f64>,
    superposition: bool,
) -> PyResult<Computation> {
    let rows: Vec<Vec<[f64; 3]>> = references
        .as_array()
        .outer_iter()
        .map(|one| one.outer_iter().map(|row| [row[0], row[1], row[2]]).collect())
        .collect();
    let computation = SymmetricRmsd::new(&rows, superposition);
    Computation::new(py, computation, "symmetric_rmsd", (copied(references), superposition))
}
