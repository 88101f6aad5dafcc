//! Relative geometry of atoms: dihedral angles, distances, eigenvalues of distances, and secondary structure.

use mdreel_core::kernel::dihedrals::{Dihedrals, Measure};
use mdreel_core::kernel::distances::{Distances, Keep, Other};
use mdreel_core::kernel::dssp::{Hydrogen, Method, Residue, Rules, SecondaryStructure};
use mdreel_core::kernel::helices::{HelixEigenvalues, Of};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::{Copied1, Copied2, copied, points, rows};
use crate::computation::Computation;

/// Create the computation of the dihedral angles of each frame, in degrees or as pairs of cosine and sine.
///
/// `quadruples` contains the atoms of each angle among `n_atoms` atoms, shape (n_angles, 4).
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

/// Create the computation of the distances of each frame from atoms among `n_atoms` atoms to targets, in Å.
///
/// The targets are atoms of the frame or points of shape (n_points, 3), Å. Without `cutoff`, the computation keeps each distance.
/// With a `cutoff` (Å), it keeps for each pair the sum over frames, the sum of squares, and the number of frames in which the
/// distance is below the cutoff. `is_periodic` selects the shortest images in every frame (True), in no frame (False), or in
/// frames with a cell (None).
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

/// Create the computation of the largest eigenvalues of the distance matrices of segments among `n_atoms` atoms.
///
/// The matrices contain the distances (Å) within each segment. With `of_pairs`, they contain the distances between the first
/// segment and each later one, then between the second and each later one, and so on. With `is_squared`, they contain squared
/// distances (Å²).
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

/// Create the computation of the secondary structure of each residue among `n_atoms` atoms, from hydrogen bonds.
///
/// A state is one byte, so a value of a frame contains eight states. For each residue, the computation also counts the frames in
/// each state. `hydrogens` contains the amide hydrogen of each residue, shape (n_residues,); without it, the computation places
/// hydrogens. A chain ends where the bond from C to N is longer than `longest_bond` (Å).
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
