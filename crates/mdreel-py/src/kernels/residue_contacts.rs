//! Contacts of residues, and their tables.

use mdreel_core::kernel::residue_contacts::{Choice, ContactTable, PairStatistics, Places, ResidueContacts, Units};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::{copied, rows};
use crate::computation::Computation;

type Indices<'py> = PyReadonlyArray1<'py, u32>;

/// Residues: their numbers, the starts of their atoms and the end of all, and the places of the atoms.
type Residues<'py> = (Indices<'py>, Indices<'py>, Indices<'py>);
type Copied<'py> = Bound<'py, PyArray1<u32>>;

/// Create the computation of the contacts between residues of one group or of two groups.
///
/// Two residues are in contact if their nearest atoms are at most `cutoff` (Å) apart. The value of each frame is the number of
/// contacts. The computation's own value is a table of statistics; with `keeps_series`, it also contains the contacts of each
/// frame. Residues are numbered from 0. Their `positions` in the sequence must differ by at least `separation`. With `pairs`,
/// shape (n_pairs, 2), only these pairs are examined. `is_periodic` is the same as for `native_contacts`. With `beta` (Å), the
/// distance of two residues in contact is the soft minimum of the distances of all their atoms.
#[pyfunction]
#[pyo3(signature = (n_atoms, first, second, positions, separation, pairs, cutoff, is_periodic, keeps_series, beta=None))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn residue_contacts<'py>(
    py: Python<'py>,
    n_atoms: usize,
    first: Residues<'py>,
    second: Option<Residues<'py>>,
    positions: PyReadonlyArray1<'py, i64>,
    separation: i64,
    pairs: Option<PyReadonlyArray2<'py, u32>>,
    cutoff: f64,
    is_periodic: Option<bool>,
    keeps_series: bool,
    beta: Option<f64>,
) -> PyResult<Computation> {
    let listed = pairs.as_ref().map(|pairs| rows::<u32, 2>(pairs, "a pair has 2 residues")).transpose()?;
    let choice = match listed {
        Some(pairs) => Choice::Listed { n_units: positions.as_array().len(), pairs },
        None => Choice::Apart { positions: positions.as_array().to_vec(), separation },
    };
    let (from, to) = (units(&first), second.as_ref().map(units));
    let shortest = is_periodic.into();
    let hard = ResidueContacts::new(n_atoms, &from, to.as_ref(), choice, cutoff, shortest, keeps_series);
    let computation = match beta {
        Some(beta) => hard.and_then(|hard| hard.with_soft_minimum(beta)),
        None => hard,
    };
    let (first, second) = (copies(first), second.map(copies));
    let (positions, pairs) = (copied(positions), pairs.map(copied));
    let arguments = (n_atoms, first, second, positions, separation, pairs, cutoff, is_periodic, keeps_series, beta);
    Computation::new(py, computation, "residue_contacts", arguments)
}

fn units((numbers, starts, atoms): &Residues<'_>) -> Units {
    let [numbers, starts, atoms] = [numbers, starts, atoms].map(|array| array.as_array().to_vec());
    Units { numbers, starts, atoms }
}

fn copies<'py>((numbers, starts, atoms): Residues<'py>) -> (Copied<'py>, Copied<'py>, Copied<'py>) {
    (copied(numbers), copied(starts), copied(atoms))
}

/// Converts the table to arrays: numbers of both residues (n_pairs, 2), frames in contact, uninterrupted stays in contact, first
/// and last frame, sums of distances, and smallest distances. If series are kept, the pair and the distance of each contact follow.
pub(crate) fn arrays<'py>(py: Python<'py>, table: &mut ContactTable) -> PyResult<Bound<'py, PyAny>> {
    let (pairs, series) = table.take();
    let counts = |of: fn(&PairStatistics) -> u64| pairs.iter().map(of).collect::<Vec<u64>>().into_pyarray(py);
    let lengths = |of: fn(&PairStatistics) -> f64| pairs.iter().map(of).collect::<Vec<f64>>().into_pyarray(py);
    let units = Array2::from_shape_fn((pairs.len(), 2), |(pair, side)| pairs[pair].units[side]).into_pyarray(py);
    let series = series.map(|(places, distances)| {
        let places = match places {
            Places::Short(places) => places.into_pyarray(py).into_any(),
            Places::Long(places) => places.into_pyarray(py).into_any(),
        };
        (places, distances.into_pyarray(py))
    });
    let statistics = (
        units,
        counts(|pair| pair.n_frames),
        counts(|pair| pair.n_events),
        counts(|pair| pair.first),
        counts(|pair| pair.last),
        lengths(|pair| pair.sum.value()),
        lengths(|pair| pair.minimum),
        series,
    );
    Ok(statistics.into_pyobject(py)?.into_any())
}
