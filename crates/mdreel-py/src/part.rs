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

/// The result of consecutive blocks. It can merge with the part that follows.
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
    /// Return the part of no blocks before block `first`. All blocks of a run will be merged into the part before block 0.
    #[staticmethod]
    fn empty(first: usize, kernel: &Pass) -> Self {
        let partial = kernel.pass.empty();
        Part::new(if first == 0 { core::Part::whole(partial) } else { core::Part::empty(first, partial) })
    }

    /// Reserve memory for `n_frames` more frames. With `touch`, the system provides the memory now and not at the first write.
    #[pyo3(signature = (n_frames, touch=false))]
    fn reserve(&mut self, py: Python<'_>, n_frames: u64, touch: bool) {
        self.part.partial.reserve(n_frames);
        if touch {
            py.detach(|| self.part.partial.rows.touch());
        }
    }

    /// Return the part with these rows. `content` contains everything else.
    #[staticmethod]
    fn of(py: Python<'_>, content: &[u8], rows: Py<PyArray2<f64>>) -> PyResult<Self> {
        Ok(Part { came: Some(rows), ..Part::from_bytes(py, content)? })
    }

    /// Return the part that `to_bytes` has serialized.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, content: &[u8]) -> PyResult<Self> {
        core::Part::from_bytes(content).map(Part::new).map_err(|error| to_python(py, error))
    }

    /// Return the part as bytes.
    #[expect(clippy::wrong_self_convention, reason = "that its rows are taken in is not seen")]
    fn to_bytes<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let whole = self.whole(py)?;
        let content = py.detach(|| whole.to_bytes()).map_err(|error| to_python(py, error))?;
        Ok(PyBytes::new(py, &content))
    }

    /// First block of the part.
    #[getter]
    fn first(&self) -> usize {
        self.part.blocks.start
    }

    /// First block after the part.
    #[getter]
    fn end(&self) -> usize {
        self.part.blocks.end
    }

    /// Number of frames in the part.
    #[getter]
    fn n_frames(&self, py: Python<'_>) -> u64 {
        self.part.partial.n_frames() + self.came.as_ref().map_or(0, |came| came.bind(py).dims()[0] as u64)
    }

    /// Whether nothing follows the part, although more blocks were planned.
    #[getter]
    fn is_last(&self) -> bool {
        self.part.is_last
    }

    /// Set the worker of all spans.
    fn done_by(&mut self, worker: u32) {
        self.part.done_by(worker);
    }

    /// Number the blocks of the part from `first` on, so that they follow the blocks of another plan.
    fn move_to(&mut self, first: usize) {
        self.part.move_to(first);
    }

    /// Remove the spans, which belong to another run.
    fn forget_spans(&mut self) {
        self.part.spans.clear();
    }

    /// Shift all spans by `offset_ns` nanoseconds.
    fn shift(&mut self, offset_ns: i64) {
        self.part.shift(offset_ns);
    }

    /// Take the rows of frame, time (ps) and values out of the part, shape (n_frames, row_width), float64.
    fn take_rows<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        match self.came.take() {
            Some(came) => Ok(came.into_bound(py)),
            None => rows(py, self.part.partial.rows.take()),
        }
    }

    /// Set the rows of the part. The caller must not change the array afterwards.
    fn give_rows(&mut self, rows: Py<PyArray2<f64>>) {
        self.came = Some(rows);
    }

    /// Add the part that follows. This leaves `next` empty.
    fn merge(&mut self, py: Python<'_>, mut next: PyRefMut<'_, Self>) -> PyResult<()> {
        self.whole(py)?;
        if !next.part.located.is_empty() {
            next.whole(py)?; // The frames of `next` get new numbers.
        }
        let (end, came) = (next.part.blocks.end, next.came.take());
        self.part.merge(next.taken(end));
        came.map_or(Ok(()), |came| with_rows(py, &came, &mut self.part.partial.rows, Rows::extend))
    }

    /// Return the results of a run whose blocks are all in this part, and leave the part empty.
    ///
    /// The method returns None if consecutive blocks of bytes did not join. The caller must then plan the run by frames.
    fn finish<'py>(&mut self, py: Python<'py>, source: &Source) -> PyResult<Option<Results<'py>>> {
        self.whole(py)?;
        let whole = self.taken(0);
        let source = source.shared();
        let outcome = py.detach(|| finish(&*source, whole)).map_err(|error| to_python(py, error))?;
        outcome.map(|outcome| results(py, outcome)).transpose()
    }

    /// Return the rows as an array, which pickle can send without a copy, and everything else as bytes.
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
