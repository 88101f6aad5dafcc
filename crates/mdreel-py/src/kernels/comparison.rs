//! Comparison of each frame with a reference structure.

use mdreel_core::kernel::local_distances::LocalDistances;
use mdreel_core::kernel::symmetric_rmsd::SymmetricRmsd;
use mdreel_core::kernel::template_scores::TemplateScores;
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;

use super::{copied, points};
use crate::computation::Computation;

/// Create the computation of the lDDT of each frame: the fraction of the reference distances that the frame preserves.
///
/// The reference distances are those of up to `radius` (Å) between atoms of different `residues` in `reference`, shape (n_atoms,
/// 3), Å. The values are the fraction of all distances, and the fraction for each residue.
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

/// Create the computation of the TM-score, GDT-TS and GDT-HA of each frame of `n_atoms` atoms.
///
/// `atoms` contains one atom for each residue, in the order of the chain, and `reference` their positions, shape (n, 3), Å. The
/// target has `n_residues` residues.
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

/// Create the computation of the RMSD of each frame from the nearest reference, in Å.
///
/// `references` has the shape (n_references, n_atoms, 3), Å. With `superposition`, each frame is superposed on each reference;
/// otherwise, the coordinates are used as stored.
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
