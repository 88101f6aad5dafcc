//! Parts of results, which travel between processes and into files.

use mdreel_core::part as core;
use mdreel_core::reduce::Series;
use mdreel_core::run::{Outcome, finish};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::damage::{Record, records};
use crate::error::to_python;
use crate::source::Source;
use crate::span::{Columns, columns};

/// Rows of frame, time (ps) and value, columns of spans, and what was left out as damaged.
pub type Results<'py> = (Bound<'py, PyArray2<f64>>, Columns<'py>, Vec<Record>);

/// What consecutive blocks became. Merges with the part that follows.
#[pyclass(module = "mdreel._core")]
pub struct Part(pub core::Part<Series>);

#[pymethods]
impl Part {
    /// The part of no blocks, in front of block `first`.
    #[staticmethod]
    fn empty(first: usize) -> Self {
        Part(core::Part::empty(first, Series::default()))
    }

    /// The part that these bytes are.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, content: &[u8]) -> PyResult<Self> {
        core::Part::from_bytes(content).map(Part).map_err(|error| to_python(py, error))
    }

    /// Itself as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let content = py.detach(|| self.0.to_bytes()).map_err(|error| to_python(py, error))?;
        Ok(PyBytes::new(py, &content))
    }

    /// The first of its blocks.
    #[getter]
    fn first(&self) -> usize {
        self.0.blocks.start
    }

    /// The end of its blocks: the first that does not belong to it.
    #[getter]
    fn end(&self) -> usize {
        self.0.blocks.end
    }

    /// Frames in it.
    #[getter]
    fn n_frames(&self) -> u64 {
        mdreel_core::reduce::Partial::n_frames(&self.0.partial)
    }

    /// Whether nothing comes behind it, though more was planned.
    #[getter]
    fn is_last(&self) -> bool {
        self.0.is_last
    }

    /// Say which worker has done it.
    fn done_by(&mut self, worker: u32) {
        self.0.done_by(worker);
    }

    /// Forget what it cost: that was in another run.
    fn forget_spans(&mut self) {
        self.0.spans.clear();
    }

    /// Move its spans by `offset_ns`.
    fn shift(&mut self, offset_ns: i64) {
        self.0.shift(offset_ns);
    }

    /// Take its rows of frame, time (ps) and value, shape (n_frames, 3).
    fn take_rows<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        rows(py, std::mem::take(&mut self.0.partial))
    }

    /// Give it the rows that were taken.
    fn give_rows(&mut self, rows: PyReadonlyArray2<'_, f64>) {
        let rows = rows.as_array();
        self.0.partial = rows.rows().into_iter().map(|row| [row[0], row[1], row[2]]).collect();
    }

    /// Add the part that follows, of which nothing is left.
    fn merge(&mut self, mut next: PyRefMut<'_, Self>) {
        let end = next.0.blocks.end;
        let next = std::mem::replace(&mut next.0, core::Part::empty(end, Series::default()));
        self.0.merge(next);
    }

    /// The results of a run of which all blocks are in this part, of which nothing is left. None is returned when blocks of
    /// bytes did not join: plan by frames then.
    fn finish<'py>(&mut self, py: Python<'py>, source: &Source) -> PyResult<Option<Results<'py>>> {
        let whole = std::mem::replace(&mut self.0, core::Part::empty(0, Series::default()));
        let source = source.shared();
        let outcome = py.detach(|| finish(&*source, whole)).map_err(|error| to_python(py, error))?;
        outcome.map(|outcome| results(py, outcome)).transpose()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    fn __repr__(&self) -> String {
        format!("<Part of blocks {} to {}: {} frames>", self.first(), self.end(), self.n_frames())
    }
}

/// What a run gave, as Python takes it.
pub fn results<'py>(py: Python<'py>, outcome: Outcome<Series>) -> PyResult<Results<'py>> {
    Ok((rows(py, outcome.result)?, columns(py, &outcome.spans), records(outcome.damage)))
}

fn rows(py: Python<'_>, series: Series) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let rows = series.into_rows();
    let shape = [rows.len(), 3];
    rows.into_flattened().into_pyarray(py).reshape(shape)
}
