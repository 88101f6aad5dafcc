//! Parts of results, which travel between processes and into files.

use mdreel_core::kernel::Kernel;
use mdreel_core::part as core;
use mdreel_core::reduce::{Partial, Records, Rows, Sum, Tally};
use mdreel_core::run::{Outcome, finish};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::damage::{Record, records};
use crate::error::to_python;
use crate::fold::values;
use crate::pass::Pass;
use crate::source::Source;
use crate::span::{Columns, columns};

/// Rows of frame, time (ps) and values, sums, counts, records of frame and values, and values that only computations understand.
type Found<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<u64>>,
    Vec<Bound<'py, PyArray2<f64>>>,
    Vec<Option<Bound<'py, PyAny>>>,
);

/// The results of a run, columns of spans, and the damaged frames that were left out.
pub(crate) type Results<'py> = (Found<'py>, Columns<'py>, Vec<Record>);

/// The pieces of a pickled part: everything but its rows, and the rows.
type Pieces<'py> = (Bound<'py, PyBytes>, Bound<'py, PyArray2<f64>>);

/// What consecutive blocks became. Merges with the part that follows.
#[pyclass(module = "mdreel._core")]
pub struct Part {
    part: core::Part<Tally>,
    /// Rows from another process, if there are any. They are copied only once, to their final place.
    came: Option<Py<PyArray2<f64>>>,
}

impl Part {
    /// Creates a part that was computed in this process.
    pub fn new(part: core::Part<Tally>) -> Self {
        Part { part, came: None }
    }

    /// Returns the core's part with all its rows in it.
    fn whole(&mut self, py: Python<'_>) -> PyResult<&core::Part<Tally>> {
        if let Some(came) = self.came.take() {
            with_rows(py, &came, &mut self.part.partial.rows, Rows::extend)?;
        }
        Ok(&self.part)
    }

    /// Takes the content out, and leaves a part without blocks before block `first`.
    fn taken(&mut self, first: usize) -> core::Part<Tally> {
        let nothing = self.part.partial.of_no_frames();
        std::mem::replace(&mut self.part, core::Part::empty(first, nothing))
    }
}

/// Calls `look` with our rows and the rows that came from another process.
fn with_rows(
    py: Python<'_>,
    came: &Py<PyArray2<f64>>,
    ours: &mut Rows,
    look: impl FnOnce(&mut Rows, &[f64]),
) -> PyResult<()> {
    let mut rows = came.bind(py).try_readonly()?;
    if rows.as_slice().is_err() {
        // Arrays that came through a network may not be contiguous.
        rows = came.bind(py).call_method0("copy")?.cast_into::<PyArray2<f64>>()?.try_readonly()?;
    }
    if rows.shape()[1] != ours.width() {
        let message = format!("rows have {} columns, expected {}", rows.shape()[1], ours.width());
        return Err(PyValueError::new_err(message));
    }
    look(ours, rows.as_slice()?);
    Ok(())
}

#[pymethods]
impl Part {
    /// The part of no blocks, in front of block `first`. All blocks of a run will be merged into the part in front of block 0.
    #[staticmethod]
    fn empty(first: usize, kernel: &Pass) -> Self {
        let partial = kernel.pass.empty();
        Part::new(if first == 0 { core::Part::whole(partial) } else { core::Part::empty(first, partial) })
    }

    /// Make room for `n_frames` more frames; with `touch` the system gives the memory now, not when it is written to.
    #[pyo3(signature = (n_frames, touch=false))]
    fn reserve(&mut self, py: Python<'_>, n_frames: u64, touch: bool) {
        self.part.partial.reserve(n_frames);
        if touch {
            py.detach(|| self.part.partial.rows.touch());
        }
    }

    /// A part of these rows; `content` says all the rest of it.
    #[staticmethod]
    fn of(py: Python<'_>, content: &[u8], rows: Py<PyArray2<f64>>) -> PyResult<Self> {
        Ok(Part { came: Some(rows), ..Part::from_bytes(py, content)? })
    }

    /// The part that these bytes are.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, content: &[u8]) -> PyResult<Self> {
        core::Part::from_bytes(content).map(Part::new).map_err(|error| to_python(py, error))
    }

    /// Itself as bytes.
    #[expect(clippy::wrong_self_convention, reason = "that its rows are taken in is not seen")]
    fn to_bytes<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let whole = self.whole(py)?;
        let content = py.detach(|| whole.to_bytes()).map_err(|error| to_python(py, error))?;
        Ok(PyBytes::new(py, &content))
    }

    /// The first of its blocks.
    #[getter]
    fn first(&self) -> usize {
        self.part.blocks.start
    }

    /// The end of its blocks: the first that does not belong to it.
    #[getter]
    fn end(&self) -> usize {
        self.part.blocks.end
    }

    /// Frames in it.
    #[getter]
    fn n_frames(&self, py: Python<'_>) -> u64 {
        self.part.partial.n_frames() + self.came.as_ref().map_or(0, |came| came.bind(py).dims()[0] as u64)
    }

    /// Whether nothing comes behind it, though more was planned.
    #[getter]
    fn is_last(&self) -> bool {
        self.part.is_last
    }

    /// Say which worker has done it.
    fn done_by(&mut self, worker: u32) {
        self.part.done_by(worker);
    }

    /// Number its blocks from `first` on: they come behind those of another plan.
    fn move_to(&mut self, first: usize) {
        self.part.move_to(first);
    }

    /// Forget what it cost: that was in another run.
    fn forget_spans(&mut self) {
        self.part.spans.clear();
    }

    /// Move its spans by `offset_ns`.
    fn shift(&mut self, offset_ns: i64) {
        self.part.shift(offset_ns);
    }

    /// Take its rows of frame, time (ps) and values, shape (n_frames, row_width).
    fn take_rows<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        match self.came.take() {
            Some(came) => Ok(came.into_bound(py)),
            None => rows(py, self.part.partial.rows.take()),
        }
    }

    /// Give it rows, which must stay as they are.
    fn give_rows(&mut self, rows: Py<PyArray2<f64>>) {
        self.came = Some(rows);
    }

    /// Add the part that follows, of which nothing is left.
    fn merge(&mut self, py: Python<'_>, mut next: PyRefMut<'_, Self>) -> PyResult<()> {
        self.whole(py)?;
        if !next.part.located.is_empty() {
            next.whole(py)?; // The frames of `next` get new numbers.
        }
        let (end, came) = (next.part.blocks.end, next.came.take());
        self.part.merge(next.taken(end));
        came.map_or(Ok(()), |came| with_rows(py, &came, &mut self.part.partial.rows, Rows::extend))
    }

    /// The results of a run of which all blocks are in this part, of which nothing is left. None is returned when blocks of
    /// bytes did not join: plan by frames then.
    fn finish<'py>(&mut self, py: Python<'py>, source: &Source) -> PyResult<Option<Results<'py>>> {
        self.whole(py)?;
        let whole = self.taken(0);
        let source = source.shared();
        let outcome = py.detach(|| finish(&*source, whole)).map_err(|error| to_python(py, error))?;
        outcome.map(|outcome| results(py, outcome)).transpose()
    }

    /// Its rows travel as an array, which pickles send from where it is.
    fn __reduce__<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Pieces<'py>)> {
        let own = self.part.partial.rows.take();
        let content = py.detach(|| self.part.to_bytes()).map_err(|error| to_python(py, error));
        self.part.partial.rows = own;
        let rows = match &self.came {
            Some(came) => came.bind(py).clone(),
            None => rows(py, self.part.partial.rows.clone())?,
        };
        Ok((py.get_type::<Self>().getattr("of")?, (PyBytes::new(py, &content?), rows)))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<Part of blocks {} to {}: {} frames>", self.first(), self.end(), self.n_frames(py))
    }
}

/// Converts the outcome of a run for Python.
pub(crate) fn results<'py>(py: Python<'py>, outcome: Outcome<Tally>) -> PyResult<Results<'py>> {
    let Tally { rows: found, sums, counts, records: left, own } = outcome.result;
    let sums: Vec<f64> = sums.into_iter().map(Sum::value).collect();
    let left = left.into_iter().map(|records| of_records(py, records)).collect::<PyResult<_>>()?;
    let found = (rows(py, found)?, sums.into_pyarray(py), counts.into_pyarray(py), left, values(py, own));
    Ok((found, columns(py, &outcome.spans), records(outcome.damage)))
}

fn rows(py: Python<'_>, rows: Rows) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let shape = [rows.len(), rows.width()];
    rows.into_values().into_pyarray(py).reshape(shape)
}

fn of_records(py: Python<'_>, records: Records) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let shape = [records.len(), records.width()];
    records.into_values().into_pyarray(py).reshape(shape)
}
