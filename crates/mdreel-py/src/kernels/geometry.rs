//! Relative geometry of atoms: dihedral angles, distances, eigenvalues of distances, and secondary structure.

use mdreel_core::kernel::dihedrals::{Dihedrals, Measure};
use mdreel_core::kernel::distances::{Distances, Keep, Other};
use mdreel_core::kernel::dssp::{Hydrogen, Method, Residue, Rules, SecondaryStructure};
use mdreel_core::kernel::helices::{HelixEigenvalues, Of};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::{Copied1, Copied2, copied, points, rows};
use crate::computation::Computation;

/// Dihedral angles of each frame, of quadruples among `n_atoms` atoms, shape (n_angles, 4): in degrees, or as pairs of cosine
/// and sine.
#[pyfunction]
pub(crate) fn dihedrals<'py>(
    py: Python<'py>,
    n_atoms: usize,
    quadruples: PyReadonlyArray2<'py, u32>,
    as_cosine_sine: bool,
) -> PyResult<Computation> {
    let given = rows(&quadruples, "a dihedral angle has 4 atoms")?;
    let measure = if as_cosine_sine { Measure::CosineSine } else { Measure::Degrees };
    let computation = Dihedrals::new(n_atoms, given, measure);
    Computation::new(py, computation, "dihedrals", (n_atoms, copied(quadruples), as_cosine_sine))
}

/// Distances of each frame, Å, from atoms among `n_atoms` to others of the frame, or to points, shape (n_points, 3), Å: all of
/// them, or with a `cutoff` (Å) for each pair their sum, that of their squares, and in how many frames they are below it. Of shortest
/// images in every frame, in none, or (`None`) where a frame has a cell.
#[pyfunction]
#[pyo3(signature = (n_atoms, first, second, is_periodic, cutoff))]
pub(crate) fn distances<'py>(
    py: Python<'py>,
    n_atoms: usize,
    first: PyReadonlyArray1<'py, u32>,
    second: To<'py>,
    is_periodic: Option<bool>,
    cutoff: Option<f64>,
) -> PyResult<Computation> {
    let other = match &second {
        To::Atoms(atoms) => Other::Atoms(atoms.as_array().to_vec()),
        To::Points(positions) => Other::Points(points(positions)?),
    };
    let keep = cutoff.map_or(Keep::All, Keep::Statistics);
    let computation = Distances::new(n_atoms, first.as_array().to_vec(), other, is_periodic.into(), keep);
    let second = match second {
        To::Atoms(atoms) => copied(atoms).into_any(),
        To::Points(positions) => copied(positions).into_any(),
    };
    Computation::new(py, computation, "distances", (n_atoms, copied(first), second, is_periodic, cutoff))
}

/// The targets to which distances are measured.
#[derive(FromPyObject)]
pub(crate) enum To<'py> {
    /// Atoms of the frame.
    Atoms(PyReadonlyArray1<'py, u32>),
    /// Fixed points.
    Points(PyReadonlyArray2<'py, f64>),
}

/// The largest eigenvalue of the distance matrix of each of several segments of `n_atoms` atoms, or from each to each other.
#[pyfunction]
pub(crate) fn helix_eigenvalues<'py>(
    py: Python<'py>,
    n_atoms: usize,
    segments: Vec<Vec<u32>>,
    of_pairs: bool,
    is_squared: bool,
) -> PyResult<Computation> {
    let of = if of_pairs { Of::Pairs } else { Of::Segments };
    let computation = HelixEigenvalues::new(n_atoms, segments.clone(), of, is_squared);
    Computation::new(py, computation, "helix_eigenvalues", (n_atoms, segments, of_pairs, is_squared))
}

/// For each residue, N, CA, C and O, shape (n_residues, 4), its chain, and whether its amide has a hydrogen.
#[derive(FromPyObject)]
pub(crate) struct Residues<'py>(PyReadonlyArray2<'py, u32>, PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, bool>);

impl<'py> Residues<'py> {
    /// Returns the residues of the core. The hydrogen of each donor is its atom in `hydrogens`, or is placed if there is none.
    fn given(&self, hydrogens: Option<&[u32]>) -> PyResult<Vec<Residue>> {
        let Residues(backbone, chains, donors) = self;
        let backbones = rows::<u32, 4>(backbone, "a backbone has 4 atoms")?;
        let others = chains.as_array().into_iter().zip(donors.as_array());
        let residues =
            backbones.into_iter().zip(others).enumerate().map(|(number, (backbone, (&chain, &is_donor)))| {
                let atom = hydrogens.and_then(|atoms| atoms.get(number).copied());
                let hydrogen = if is_donor { atom.map_or(Hydrogen::Placed, Hydrogen::Atom) } else { Hydrogen::Missing };
                Residue { backbone, chain, hydrogen }
            });
        Ok(residues.collect())
    }

    fn copied(self) -> (Copied2<'py, u32>, Copied1<'py, u32>, Copied1<'py, bool>) {
        (copied(self.0), copied(self.1), copied(self.2))
    }
}

/// The state of each residue of `n_atoms` atoms in each frame, a byte each, eight in a value, by hydrogen bonds; and for each
/// residue, counts of the frames in which it is in each state. Hydrogens are placed, or atoms, shape (n_residues,). A chain ends
/// where the bond from C to N is longer than `longest_bond`, Å.
#[pyfunction]
#[pyo3(signature = (n_atoms, residues, hydrogens, is_simplified, longest_bond, is_periodic))]
pub(crate) fn secondary_structure<'py>(
    py: Python<'py>,
    n_atoms: usize,
    residues: Residues<'py>,
    hydrogens: Option<PyReadonlyArray1<'py, u32>>,
    is_simplified: bool,
    longest_bond: Option<f64>,
    is_periodic: bool,
) -> PyResult<Computation> {
    let method = if is_simplified { Method::Simplified } else { Method::KabschSander };
    let atoms = hydrogens.as_ref().map(|atoms| atoms.as_array().to_vec());
    let given = residues.given(atoms.as_deref())?;
    let computation = SecondaryStructure::new(n_atoms, given, Rules { method, longest_bond, is_periodic });
    let arguments = (n_atoms, residues.copied(), hydrogens.map(copied), is_simplified, longest_bond, is_periodic);
    Computation::new(py, computation, "secondary_structure", arguments)
}
