//! Passes over frames with several computations.

use std::ops::Range;

use mdreel_core::kernel::pass::{self as core, Place};
use mdreel_core::reduce::Rows;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use crate::computation::Computation;
use crate::error::to_python;

/// Several computations over the same frames. Each frame is read once.
///
/// Each computation receives all atoms of the pass, or the atoms at given places among them, in ascending order.
#[pyclass(frozen, module = "mdreel._core")]
pub struct Pass {
    pub pass: core::Pass,
    members: Vec<Member>,
    n_atoms: usize,
}

/// A computation, and the places of its atoms; `None` for all.
type Member = (Py<Computation>, Option<Py<PyArray1<u32>>>);

/// The first and the end of the columns, sums, counts, records and own values of each computation.
type Places = Vec<[(usize, usize); 5]>;

#[pymethods]
impl Pass {
    #[new]
    fn new(py: Python<'_>, n_atoms: usize, members: Vec<Member>) -> PyResult<Self> {
        let chosen = members.iter().map(|(computation, atoms)| {
            let atoms = atoms.as_ref().map(|atoms| Ok::<_, PyErr>(atoms.bind(py).try_readonly()?.as_array().to_vec()));
            Ok((computation.get().computation.another(), atoms.transpose()?))
        });
        let pass = core::Pass::new(n_atoms, chosen.collect::<PyResult<_>>()?).map_err(|error| to_python(py, error))?;
        Ok(Pass { pass, members, n_atoms })
    }

    /// Return the pass of one computation, which receives all atoms.
    #[staticmethod]
    fn of(py: Python<'_>, computation: Py<Computation>) -> PyResult<Self> {
        let n_atoms = computation.get().computation.n_atoms();
        Pass::new(py, n_atoms, vec![(computation, None)])
    }

    /// Length of a row: the frame, the time, and the values of all computations.
    #[getter]
    fn row_width(&self) -> usize {
        Rows::HEAD + self.pass.n_columns()
    }

    /// Computations of the pass.
    #[getter]
    fn computations<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, Computation>> {
        self.members.iter().map(|(computation, _)| computation.bind(py).clone()).collect()
    }

    /// For each computation, the ranges of its columns, sums, counts, records and own values in the results of the pass.
    #[getter]
    fn places(&self) -> Places {
        let edges = |range: &Range<usize>| (range.start, range.end);
        let of = |place: &Place| [&place.columns, &place.sums, &place.counts, &place.records, &place.own].map(edges);
        self.pass.places().map(of).collect()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let members: Vec<_> = self
            .members
            .iter()
            .map(|(computation, atoms)| (computation.bind(py), atoms.as_ref().map(|atoms| atoms.bind(py))))
            .collect();
        Ok((py.get_type::<Self>().into_any(), (self.n_atoms, members).into_pyobject(py)?.into_any()))
    }
}
