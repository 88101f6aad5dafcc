//! Proximity of atoms: radial distributions, contacts, hydrogen bonds, and surfaces.

use mdreel_core::kernel::bins::Bins;
use mdreel_core::kernel::contacts::{self, Contact, ContactCount, Measure, NativeContacts};
use mdreel_core::kernel::hydrogen_bonds::{Criteria, HydrogenBonds};
use mdreel_core::kernel::radial_distribution::RadialDistribution;
use mdreel_core::kernel::site_distribution::SiteDistribution;
use mdreel_core::kernel::surface::{Keep, SurfaceArea};
use mdreel_core::periodic::Periodic;
use mdreel_core::unit_cell::UnitCell;
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::{copied, points, rows};
use crate::computation::Computation;
use crate::error::to_python;
use crate::selection::Members;

type Indices<'py> = PyReadonlyArray1<'py, u32>;

/// Create the computation of the number of pairs of two groups in each distance bin, over all frames, and of the summed cell
/// volume (Å³).
///
/// The groups are among `n_atoms` atoms, and `edges` are the edges of the bins in Å. Pairs of atoms with the same label do not
/// count. The last count is the number of all pairs. With `needs_cell`, a frame without a cell is an error.
#[pyfunction]
#[pyo3(signature = (n_atoms, first, second, edges, labels, needs_cell))]
pub(crate) fn radial_distribution<'py>(
    py: Python<'py>,
    n_atoms: usize,
    first: Members<'py>,
    second: Members<'py>,
    edges: PyReadonlyArray1<'py, f64>,
    labels: Option<(Indices<'py>, Indices<'py>)>,
    needs_cell: bool,
) -> PyResult<Computation> {
    let vector = |array: &Indices<'py>| array.as_array().to_vec();
    let groups = first.group().and_then(|first| Ok([first, second.group()?]));
    let given = labels.as_ref().map(|(first, second)| [vector(first), vector(second)]);
    let computation = Bins::new(&edges.as_array().to_vec())
        .and_then(|bins| RadialDistribution::new(n_atoms, groups?, bins, given, needs_cell));
    let labels = labels.map(|(first, second)| (copied(first), copied(second)));
    let arguments = (n_atoms, first.copied(py)?, second.copied(py)?, copied(edges), labels, needs_cell);
    Computation::new(py, computation, "radial_distribution", arguments)
}

/// Create the computation of the number of frames in which each pair is in each distance bin, and of the summed cell volume (Å³).
///
/// `pairs` contains atoms among `n_atoms` atoms, shape (n_pairs, 2), and `edges` are the edges of the bins in Å. With
/// `needs_cell`, a frame without a cell is an error.
#[pyfunction]
pub(crate) fn site_distribution<'py>(
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

/// Atoms in contact, shape (n_contacts, 2), and their distances in a reference, Å.
type Reference<'py> = (PyReadonlyArray2<'py, u32>, PyReadonlyArray1<'py, f64>);

/// Create the computation of the fraction of the contacts of each reference that are present in each frame.
///
/// If `measure` is empty, a contact is present if its distance is not longer than in the reference. If `measure` is one number, a
/// contact is present if its distance is not longer than this radius (Å). If `measure` is beta (Å⁻¹) and lambda, the contact
/// counts smoothly. `is_periodic` selects the shortest images in every frame (True), in no frame (False), or in frames with a cell
/// (None).
#[pyfunction]
#[pyo3(signature = (n_atoms, references, measure, is_periodic))]
pub(crate) fn native_contacts<'py>(
    py: Python<'py>,
    n_atoms: usize,
    references: Vec<Reference<'py>>,
    measure: Vec<f64>,
    is_periodic: Option<bool>,
) -> PyResult<Computation> {
    let given = match measure[..] {
        [] => Measure::Hard,
        [radius] => Measure::Radius(radius),
        [beta, lambda, ..] => Measure::Soft { beta, lambda },
    };
    let mut contacts = Vec::with_capacity(references.len());
    for (atoms, distances) in &references {
        let atoms = rows::<u32, 2>(atoms, "a contact has 2 atoms")?.into_iter();
        let pairs = atoms.zip(distances.as_array());
        contacts.push(pairs.map(|(atoms, &reference)| Contact { atoms, reference }).collect());
    }
    let computation = NativeContacts::new(n_atoms, contacts, given, is_periodic.into());
    let references: Vec<_> =
        references.into_iter().map(|(atoms, distances)| (copied(atoms), copied(distances))).collect();
    Computation::new(py, computation, "native_contacts", (n_atoms, references, measure, is_periodic))
}

/// Create the computation of the number of pairs of two groups that are no farther apart than `radius` (Å), in each frame.
///
/// The groups are among `n_atoms` atoms. With `is_unique`, each pair of different atoms counts once; otherwise, each entry of the
/// distance matrix counts. `is_periodic` is the same as for `native_contacts`.
#[pyfunction]
#[pyo3(signature = (n_atoms, first, second, radius, is_periodic, is_unique))]
pub(crate) fn contact_count<'py>(
    py: Python<'py>,
    n_atoms: usize,
    first: Members<'py>,
    second: Members<'py>,
    radius: f64,
    is_periodic: Option<bool>,
    is_unique: bool,
) -> PyResult<Computation> {
    let groups = first.group().and_then(|first| Ok([first, second.group()?]));
    let computation =
        groups.and_then(|groups| ContactCount::new(n_atoms, groups, radius, is_periodic.into(), is_unique));
    let arguments = (n_atoms, first.copied(py)?, second.copied(py)?, radius, is_periodic, is_unique);
    Computation::new(py, computation, "contact_count", arguments)
}

/// Return the pairs of points that are no farther apart than `radius` (Å), shape (n_contacts, 2), uint32, and their distances,
/// float64, Å.
///
/// `first` and `second` have the shape (n, 3), Å. With `dimensions`, the function uses the shortest images in this cell.
#[pyfunction]
#[pyo3(signature = (first, second, dimensions, radius))]
#[expect(clippy::type_complexity, reason = "two arrays")]
pub(crate) fn contacts_of<'py>(
    py: Python<'py>,
    first: PyReadonlyArray2<'py, f64>,
    second: PyReadonlyArray2<'py, f64>,
    dimensions: Option<[f32; 6]>,
    radius: f64,
) -> PyResult<(Bound<'py, PyArray2<u32>>, Bound<'py, PyArray1<f64>>)> {
    let (first, second) = (points(&first)?, points(&second)?);
    let images = Periodic::new(dimensions.map(UnitCell::Dimensions).as_ref()).map_err(|error| to_python(py, error))?;
    let found = py.detach(|| contacts::contacts_of([&first, &second], images, radius));
    let found = found.map_err(|error| to_python(py, error))?;
    let atoms = Array2::from_shape_fn((found.len(), 2), |(k, side)| found[k].atoms[side]);
    let distances: Vec<f64> = found.iter().map(|contact| contact.reference).collect();
    Ok((atoms.into_pyarray(py), distances.into_pyarray(py)))
}

/// Create the computation of the hydrogen bonds of each frame of `n_atoms` atoms.
///
/// `hydrogens` contains the hydrogen of each donor. Donor and acceptor are at most `distance` (Å) apart, and the angle is above
/// `angle` (degrees). With `masks`, a donor and an acceptor are bonded only if their masks share a bit.
#[pyfunction]
#[pyo3(signature = (n_atoms, donors, hydrogens, acceptors, masks, distance, angle))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn hydrogen_bonds<'py>(
    py: Python<'py>,
    n_atoms: usize,
    donors: Members<'py>,
    hydrogens: Indices<'py>,
    acceptors: Members<'py>,
    masks: Option<(PyReadonlyArray1<'py, u64>, PyReadonlyArray1<'py, u64>)>,
    distance: f64,
    angle: f64,
) -> PyResult<Computation> {
    let given = masks.as_ref().map(|(donors, acceptors)| [donors, acceptors].map(|masks| masks.as_array().to_vec()));
    let (criteria, places) = (Criteria { distance, angle }, hydrogens.as_array().to_vec());
    let groups = donors.group().and_then(|donors| Ok((donors, acceptors.group()?)));
    let computation =
        groups.and_then(|(donors, acceptors)| HydrogenBonds::new(n_atoms, donors, places, acceptors, given, criteria));
    let masks = masks.map(|(donors, acceptors)| (copied(donors), copied(acceptors)));
    let (donors, acceptors) = (donors.copied(py)?, acceptors.copied(py)?);
    let arguments = (n_atoms, donors, copied(hydrogens), acceptors, masks, distance, angle);
    Computation::new(py, computation, "hydrogen_bonds", arguments)
}

/// Create the computation of solvent-accessible surface areas of each frame, in Å².
///
/// `radii` are the van der Waals radii of the atoms, and `probe` is the radius of the probe, both in Å. Each row of `measured`,
/// shape (n_measured, 2), contains an atom and the number of the area to which it contributes. The computation keeps the sum of
/// the areas. With `all`, it also keeps each area, and with `statistics` the sum over frames and the sum of squares of each area.
#[pyfunction]
pub(crate) fn surface_area<'py>(
    py: Python<'py>,
    radii: PyReadonlyArray1<'py, f64>,
    probe: f64,
    n_points: usize,
    measured: PyReadonlyArray2<'py, u32>,
    is_periodic: bool,
    keep: &str,
) -> PyResult<Computation> {
    let (given, atoms) = (radii.as_array().to_vec(), rows::<u32, 2>(&measured, "an atom and its area are 2 numbers")?);
    let computation =
        Keep::from_name(keep).and_then(|keep| SurfaceArea::new(&given, probe, n_points, atoms, is_periodic, keep));
    let arguments = (copied(radii), probe, n_points, copied(measured), is_periodic, keep);
    Computation::new(py, computation, "surface_area", arguments)
}

/// Create the computation of `surface_area` for the members of a group among `n_atoms` atoms that is selected again in each frame.
///
/// `places` contains the atoms to which the radii belong. `measured` contains, for each number of the group, its index in `places`
/// and the number of its area. With `is_alone`, only members cover one another. With `statistics`, the computation also counts,
/// for each area, the frames in which the area has members. `all` is not supported.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn changing_surface_area<'py>(
    py: Python<'py>,
    n_atoms: usize,
    group: Members<'py>,
    places: Indices<'py>,
    radii: PyReadonlyArray1<'py, f64>,
    probe: f64,
    n_points: usize,
    measured: PyReadonlyArray2<'py, u32>,
    is_periodic: bool,
    keep: &str,
    is_alone: bool,
) -> PyResult<Computation> {
    let (given, atoms) = (radii.as_array().to_vec(), rows::<u32, 2>(&measured, "an atom and its area are 2 numbers")?);
    let computation = Keep::from_name(keep)
        .and_then(|keep| SurfaceArea::new(&given, probe, n_points, atoms, is_periodic, keep))
        .and_then(|areas| areas.of_changing(n_atoms, places.as_array().to_vec(), group.group()?, is_alone));
    let group = group.copied(py)?;
    let (radii, measured) = (copied(radii), copied(measured));
    let arguments = (n_atoms, group, copied(places), radii, probe, n_points, measured, is_periodic, keep, is_alone);
    Computation::new(py, computation, "changing_surface_area", arguments)
}
