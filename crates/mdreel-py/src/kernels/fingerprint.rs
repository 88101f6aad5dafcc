//! Interaction fingerprints, and their tables.

use mdreel_core::Error;
use mdreel_core::kernel::fingerprint::{Bridges, Fingerprint, FingerprintTable, Interaction, Rule, Sites};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::copied;
use crate::computation::Computation;

type Indices<'py> = PyReadonlyArray1<'py, u32>;
type Copied<'py> = Bound<'py, PyArray1<u32>>;

/// Sites: the starts of their atoms and the end of all, the places of the atoms, the residues, and the radii (Å) or none.
type Part<'py> = (Indices<'py>, Indices<'py>, Indices<'py>, PyReadonlyArray1<'py, f64>);
type CopiedPart<'py> = (Copied<'py>, Copied<'py>, Copied<'py>, Bound<'py, PyArray1<f64>>);

/// Water bridges: the number of the interaction, the smallest and largest number of waters, and pairs of hydrogen bonds. In the
/// first pair, the first group accepts, and donates. In the second pair, the water accepts from the second group, and donates to
/// it. If bridges may have several waters, there is a third pair, in which the first of two waters accepts, and donates.
type GivenBridges<'py> = (u32, (u32, u32), Vec<Given<'py>>);

/// An interaction: its number, its rule with numbers (Å and degrees), both parts, and whether the first part belongs to the
/// second group.
type Given<'py> = (u32, String, Vec<f64>, Part<'py>, Part<'py>, bool);

/// Create the computation of the interactions between the residues of two groups.
///
/// The values of each frame are the number of different interactions and the number of their occurrences. The computation's own
/// value is a table of the interactions. With `keeps_occurrences`, it also contains the sites and the distance of each occurrence.
/// `bridges` adds water bridges as another interaction. With `is_once`, a pair counts only if its first residue has the smaller
/// number. `is_periodic` is the same as for `native_contacts`.
#[pyfunction]
#[pyo3(signature = (n_atoms, interactions, is_periodic, is_once, keeps_occurrences, bridges))]
pub(crate) fn interaction_fingerprint<'py>(
    py: Python<'py>,
    n_atoms: usize,
    interactions: Vec<Given<'py>>,
    is_periodic: Option<bool>,
    is_once: bool,
    keeps_occurrences: bool,
    bridges: Option<GivenBridges<'py>>,
) -> PyResult<Computation> {
    let given: mdreel_core::Result<Vec<Interaction>> = interactions.iter().map(of_core).collect();
    let mut computation =
        given.and_then(|given| Fingerprint::new(n_atoms, given, is_periodic.into(), is_once, keeps_occurrences));
    if let Some(bridges) = &bridges {
        computation = computation.and_then(|made| made.with_bridges(bridges_of(bridges)?));
    }
    let interactions: Vec<_> = interactions.into_iter().map(copied_interaction).collect();
    let bridges = bridges.map(|(number, waters, bonds)| {
        let bonds: Vec<_> = bonds.into_iter().map(copied_interaction).collect();
        (number, waters, bonds)
    });
    let arguments = (n_atoms, interactions, is_periodic, is_once, keeps_occurrences, bridges);
    Computation::new(py, computation, "interaction_fingerprint", arguments)
}

fn of_core((number, name, numbers, first, second, is_swapped): &Given<'_>) -> mdreel_core::Result<Interaction> {
    let rule = Rule::from_name(name, numbers)?;
    Ok(Interaction { number: *number, rule, parts: [sites(first), sites(second)], is_swapped: *is_swapped })
}

fn bridges_of((number, (fewest, most), bonds): &GivenBridges<'_>) -> mdreel_core::Result<Bridges> {
    let bonds: Vec<Interaction> = bonds.iter().map(of_core).collect::<mdreel_core::Result<_>>()?;
    let mut pairs = bonds.as_chunks::<2>().0.iter().cloned();
    let (Some(of_first), Some(of_second)) = (pairs.next(), pairs.next()) else {
        return Err(Error::mismatch("water bridges need hydrogen bonds of both groups"));
    };
    Ok(Bridges { number: *number, waters: [*fewest, *most], of_first, of_second, of_waters: pairs.next() })
}

fn copied_interaction(
    (number, name, numbers, first, second, is_swapped): Given<'_>,
) -> (u32, String, Vec<f64>, CopiedPart<'_>, CopiedPart<'_>, bool) {
    (number, name, numbers, copies(first), copies(second), is_swapped)
}

fn sites((starts, atoms, residues, radii): &Part<'_>) -> Sites {
    let [starts, atoms, residues] = [starts, atoms, residues].map(|array| array.as_array().to_vec());
    Sites { starts, atoms, residues, radii: radii.as_array().to_vec() }
}

fn copies<'py>((starts, atoms, residues, radii): Part<'py>) -> CopiedPart<'py> {
    (copied(starts), copied(atoms), copied(residues), copied(radii))
}

/// Converts the table to arrays: both residues and the number of the interaction of each column (n_columns, 3), and the column
/// and the number of occurrences of each entry. If occurrences are kept, both sites (n_occurrences, 2) and the distance of each
/// occurrence follow. With water bridges, the number of waters of each occurrence and the residues of all waters follow as well.
pub(crate) fn arrays<'py>(py: Python<'py>, table: &mut FingerprintTable) -> PyResult<Bound<'py, PyAny>> {
    let (columns, entries, counts, occurrences) = table.take();
    let columns = Array2::from_shape_fn((columns.len(), 3), |(row, k)| columns[row][k]).into_pyarray(py);
    let occurrences = occurrences.map(|(sites, distances, bridged)| {
        let sites = Array2::from_shape_fn((sites.len(), 2), |(row, side)| sites[row][side]).into_pyarray(py);
        let bridged = bridged.map(|(n_waters, waters)| (n_waters.into_pyarray(py), waters.into_pyarray(py)));
        (sites, distances.into_pyarray(py), bridged)
    });
    let found = (columns, entries.into_pyarray(py), counts.into_pyarray(py), occurrences);
    Ok(found.into_pyobject(py)?.into_any())
}
