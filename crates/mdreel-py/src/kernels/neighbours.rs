//! What is near to what: radial distributions.

use mdreel_core::kernel::bins::Bins;
use mdreel_core::kernel::radial_distribution::RadialDistribution;
use mdreel_core::kernel::site_distribution::SiteDistribution;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::{copied, rows};
use crate::computation::Computation;

type Indices<'py> = PyReadonlyArray1<'py, u32>;

/// How many pairs of two groups among `n_atoms` atoms are in each bin, over all frames, and the volume of the cell, Å³, added up.
/// Pairs of atoms with the same label do not count.
#[pyfunction]
#[pyo3(signature = (n_atoms, first, second, edges, labels, needs_cell))]
pub fn radial_distribution<'py>(
    py: Python<'py>,
    n_atoms: usize,
    first: Indices<'py>,
    second: Indices<'py>,
    edges: PyReadonlyArray1<'py, f64>,
    labels: Option<(Indices<'py>, Indices<'py>)>,
    needs_cell: bool,
) -> PyResult<Computation> {
    let vector = |array: &Indices<'py>| array.as_array().to_vec();
    let groups = [vector(&first), vector(&second)];
    let given = labels.as_ref().map(|(first, second)| [vector(first), vector(second)]);
    let computation = Bins::new(&edges.as_array().to_vec())
        .and_then(|bins| RadialDistribution::new(n_atoms, groups, bins, given, needs_cell));
    let labels = labels.map(|(first, second)| (copied(first), copied(second)));
    let arguments = (n_atoms, copied(first), copied(second), copied(edges), labels, needs_cell);
    Computation::new(py, computation, "radial_distribution", arguments)
}

/// How often each of some pairs among `n_atoms` atoms, shape (n_pairs, 2), is in each bin, and the volume of the cell, Å³, added up.
#[pyfunction]
pub fn site_distribution<'py>(
    py: Python<'py>,
    n_atoms: usize,
    pairs: PyReadonlyArray2<'py, u32>,
    edges: PyReadonlyArray1<'py, f64>,
    needs_cell: bool,
) -> PyResult<Computation> {
    let given = rows::<u32, 2>(&pairs, "a pair has 2 atoms")?;
    let computation =
        Bins::new(&edges.as_array().to_vec()).and_then(|bins| SiteDistribution::new(n_atoms, given, bins, needs_cell));
    let arguments = (n_atoms, copied(pairs), copied(edges), needs_cell);
    Computation::new(py, computation, "site_distribution", arguments)
}
