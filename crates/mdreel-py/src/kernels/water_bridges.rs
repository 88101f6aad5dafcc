//! Water bridges, and their tables.

use mdreel_core::kernel::group::Group;
use mdreel_core::kernel::water_bridges::{BridgeCriteria, BridgeSites, BridgeTable, Chains, WaterBridges};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::{copied, rows};
use crate::computation::Computation;
use crate::error::to_python;
use crate::selection::Members;

type Indices<'py> = PyReadonlyArray1<'py, u32>;

/// Heavy atoms: their places, their residues, and the numbers of those that are acceptors; and the hydrogens of donors, shape
/// (`n_hydrogens`, 2), each with the number of its donor and its place.
type Sites<'py> = (Indices<'py>, Indices<'py>, Indices<'py>, PyReadonlyArray2<'py, u32>);

/// Create the computation of the water bridges from one group to another through at most `order` waters, in each frame.
///
/// The values of each frame are the number of bridges, the number of their hydrogen bonds at the first group, the number of all
/// their hydrogen bonds, and the number of pairs of consecutive bonds. The computation's own value is a table of these bonds and
/// pairs. `groups` contains the first group, the second group and the water. `criteria` contains the longest distance of the
/// acceptor (Å), whether it is measured from the donor and not from the hydrogen, and the lower limit of the angle (degrees).
/// `roles` contains whether the first group may donate, and whether it may accept. `is_periodic` is the same as for
/// `native_contacts`.
#[pyfunction]
#[pyo3(signature = (n_atoms, sites, groups, criteria, order, roles, is_periodic))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn water_bridges<'py>(
    py: Python<'py>,
    n_atoms: usize,
    sites: Sites<'py>,
    groups: (Members<'py>, Members<'py>, Members<'py>),
    criteria: (f64, bool, f64),
    order: u32,
    roles: (bool, bool),
    is_periodic: Option<bool>,
) -> PyResult<Computation> {
    let (atoms, residues, acceptors, hydrogens) = sites;
    let mut of_core = BridgeSites {
        atoms: atoms.as_array().to_vec(),
        residues: residues.as_array().to_vec(),
        are_acceptors: vec![false; atoms.as_array().len()],
        hydrogens: rows::<u32, 2>(&hydrogens, "a hydrogen has a donor and a place")?,
    };
    for &site in acceptors.as_array() {
        let Some(is_acceptor) = of_core.are_acceptors.get_mut(site as usize) else {
            let message = format!("acceptor {site} is not a site");
            return Err(to_python(py, mdreel_core::Error::mismatch(message)));
        };
        *is_acceptor = true;
    }
    let (first, second, water) = &groups;
    let given: mdreel_core::Result<Vec<Group>> = [first, second, water].into_iter().map(Members::group).collect();
    let (distance, is_heavy, angle) = criteria;
    let limits = BridgeCriteria { distance, is_heavy, angle };
    let (first_donates, first_accepts) = roles;
    let chains = Chains { order, first_donates, first_accepts };
    let computation = given.and_then(|given| {
        let given = <[Group; 3]>::try_from(given).expect("three groups stay three");
        WaterBridges::new(n_atoms, of_core, given, limits, chains, is_periodic.into())
    });
    let groups = (groups.0.copied(py)?, groups.1.copied(py)?, groups.2.copied(py)?);
    let sites = (copied(atoms), copied(residues), copied(acceptors), copied(hydrogens));
    let arguments = (n_atoms, sites, groups, criteria, order, roles, is_periodic);
    Computation::new(py, computation, "water_bridges", arguments)
}

/// Converts the table to arrays: both atoms of each bond, each followed by its heavy atom (`n_bonds`, 4), with the largest number
/// for none; their distance and angle (`n_bonds`, 2); and pairs of consecutive bonds, numbered in each frame (`n_pairs`, 2).
pub(crate) fn arrays<'py>(py: Python<'py>, table: &mut BridgeTable) -> PyResult<Bound<'py, PyAny>> {
    let (atoms, measures, pairs) = table.take();
    let atoms = Array2::from_shape_fn((atoms.len(), 4), |(row, k)| atoms[row][k]).into_pyarray(py);
    let measures = Array2::from_shape_fn((measures.len(), 2), |(row, k)| measures[row][k]).into_pyarray(py);
    let pairs = Array2::from_shape_fn((pairs.len(), 2), |(row, k)| pairs[row][k]).into_pyarray(py);
    Ok((atoms, measures, pairs).into_pyobject(py)?.into_any())
}
