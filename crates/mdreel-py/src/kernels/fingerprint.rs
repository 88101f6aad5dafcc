//! Interaction fingerprints, and the tables of them.

use mdreel_core::kernel::fingerprint::{Fingerprint, FingerprintTable, Interaction, Rule, Sites};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::copied;
use crate::computation::Computation;

type Indices<'py> = PyReadonlyArray1<'py, u32>;
type Copied<'py> = Bound<'py, PyArray1<u32>>;

/// Sites: where their atoms begin and the end of all, the places of the atoms, the residues, and the radii (Å) or none.
type Part<'py> = (Indices<'py>, Indices<'py>, Indices<'py>, PyReadonlyArray1<'py, f64>);
type CopiedPart<'py> = (Copied<'py>, Copied<'py>, Copied<'py>, Bound<'py, PyArray1<f64>>);

/// An interaction: its number, its rule with numbers (Å and degrees), both parts, and whether the first part belongs to the second
/// group.
type Given<'py> = (u32, String, Vec<f64>, Part<'py>, Part<'py>, bool);

/// Interactions between the residues of two groups: how many different ones there are in each frame, the number of their occurrences,
/// and a table of them, with the sites and the distance of each occurrence if these are kept. With
/// `is_once`, only pairs count whose first residue has the smaller number. Images as for `native_contacts`.
#[pyfunction]
#[pyo3(signature = (n_atoms, interactions, is_periodic, is_once, keeps_occurrences))]
pub(crate) fn interaction_fingerprint<'py>(
    py: Python<'py>,
    n_atoms: usize,
    interactions: Vec<Given<'py>>,
    is_periodic: Option<bool>,
    is_once: bool,
    keeps_occurrences: bool,
) -> PyResult<Computation> {
    let of_core = |(number, name, numbers, first, second, is_swapped): &Given<'py>| {
        let rule = Rule::from_name(name, numbers)?;
        Ok(Interaction { number: *number, rule, parts: [sites(first), sites(second)], is_swapped: *is_swapped })
    };
    let given: mdreel_core::Result<Vec<Interaction>> = interactions.iter().map(of_core).collect();
    let computation =
        given.and_then(|given| Fingerprint::new(n_atoms, given, is_periodic.into(), is_once, keeps_occurrences));
    let interactions: Vec<_> = interactions
        .into_iter()
        .map(|(number, name, numbers, first, second, is_swapped)| {
            (number, name, numbers, copies(first), copies(second), is_swapped)
        })
        .collect();
    let arguments = (n_atoms, interactions, is_periodic, is_once, keeps_occurrences);
    Computation::new(py, computation, "interaction_fingerprint", arguments)
}

fn sites((starts, atoms, residues, radii): &Part<'_>) -> Sites {
    let [starts, atoms, residues] = [starts, atoms, residues].map(|array| array.as_array().to_vec());
    Sites { starts, atoms, residues, radii: radii.as_array().to_vec() }
}

fn copies<'py>((starts, atoms, residues, radii): Part<'py>) -> CopiedPart<'py> {
    (copied(starts), copied(atoms), copied(residues), copied(radii))
}

/// The table as arrays: both residues and the number of the interaction of each column (n_columns, 3), the column and the number of
/// occurrences of each entry; then, where they are kept, both sites (n_occurrences, 2) and the distance of each occurrence.
pub(crate) fn arrays<'py>(py: Python<'py>, table: &mut FingerprintTable) -> PyResult<Bound<'py, PyAny>> {
    let (columns, entries, counts, occurrences) = table.take();
    let columns = Array2::from_shape_fn((columns.len(), 3), |(row, k)| columns[row][k]).into_pyarray(py);
    let occurrences = occurrences.map(|(sites, distances)| {
        let sites = Array2::from_shape_fn((sites.len(), 2), |(row, side)| sites[row][side]).into_pyarray(py);
        (sites, distances.into_pyarray(py))
    });
    let found = (columns, entries.into_pyarray(py), counts.into_pyarray(py), occurrences);
    Ok(found.into_pyobject(py)?.into_any())
}
