//! What is done with frames after some of their atoms were superposed on a reference.

use mdreel_core::kernel::group_rmsd::{Group, GroupRmsd};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::{Copied1, Copied2, copied, points};
use crate::computation::Computation;

/// Atoms, shape (n_atoms,), their reference, shape (n_atoms, 3), Å, and their weights.
#[derive(FromPyObject)]
pub struct Given<'py>(PyReadonlyArray1<'py, u32>, PyReadonlyArray2<'py, f64>, Option<PyReadonlyArray1<'py, f64>>);

impl<'py> Given<'py> {
    fn group(&self) -> PyResult<Group> {
        let weights = self.2.as_ref().map(|weights| weights.as_array().to_vec());
        Ok(Group { atoms: self.0.as_array().to_vec(), reference: points(&self.1)?, weights })
    }

    fn copied(self) -> (Copied1<'py, u32>, Copied2<'py, f64>, Option<Copied1<'py, f64>>) {
        (copied(self.0), copied(self.1), self.2.map(copied))
    }
}

/// RMSD of each frame of `n_atoms` atoms, Å: of those that are `fitted`, and of `groups` that are moved with them; or of groups
/// alone, as they are.
#[pyfunction]
#[pyo3(signature = (n_atoms, fitted, groups))]
pub fn group_rmsd<'py>(
    py: Python<'py>,
    n_atoms: usize,
    fitted: Option<Given<'py>>,
    groups: Vec<Given<'py>>,
) -> PyResult<Computation> {
    let fit = fitted.as_ref().map(Given::group).transpose()?;
    let others = groups.iter().map(Given::group).collect::<PyResult<Vec<_>>>()?;
    let computation = py.detach(|| GroupRmsd::new(n_atoms, fit.as_ref(), &others));
    let copies: Vec<_> = groups.into_iter().map(Given::copied).collect();
    Computation::new(py, computation, "group_rmsd", (n_atoms, fitted.map(Given::copied), copies))
}
