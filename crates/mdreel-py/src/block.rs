//! Sets of frames, and the blocks that a run is cut into.

use mdreel_core::block as core;
use mdreel_core::block::Extent;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

/// Frames of a trajectory, in the order in which they are to be read.
#[pyclass(frozen, eq, module = "mdreel._core")]
#[derive(PartialEq, Eq)]
pub struct FrameSet(pub core::FrameSet);

#[pymethods]
impl FrameSet {
    /// `start`, `start + step`, … for `count` frames.
    #[staticmethod]
    fn range(start: u64, step: u64, count: u64) -> PyResult<Self> {
        let last = count.max(1).checked_sub(1).and_then(|n| n.checked_mul(step)).and_then(|n| n.checked_add(start));
        if step == 0 || last.is_none() {
            return Err(PyValueError::new_err(format!("no range of frames: {start}, {step}, {count}")));
        }
        Ok(FrameSet(core::FrameSet::Range { start, step, count }))
    }

    /// Any frames in any order, repetitions allowed.
    #[staticmethod]
    fn list(frames: PyReadonlyArray1<'_, u64>) -> Self {
        FrameSet(core::FrameSet::List(frames.as_array().iter().copied().collect()))
    }

    fn __len__(&self) -> usize {
        self.0.len() as usize
    }

    fn __repr__(&self) -> String {
        match &self.0 {
            core::FrameSet::Range { start, step, count } => format!("FrameSet.range({start}, {step}, {count})"),
            core::FrameSet::List(list) => format!("<FrameSet of {} frames>", list.len()),
        }
    }

    /// The frame numbers.
    fn numbers<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        (0..self.0.len()).map(|i| self.0.get(i)).collect::<Vec<_>>().into_pyarray(py)
    }
}

/// The blocks of a run, in the order of merging.
#[pyclass(frozen, module = "mdreel._core")]
pub struct Blocks(pub Vec<core::Block>);

#[pymethods]
impl Blocks {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// What a block covers: `("frames", FrameSet)`, or `("bytes", (first, end))`.
    fn __getitem__<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let block = self.0.get(index).ok_or_else(|| {
            PyIndexError::new_err(format!("there is no block {index}: the plan has {} blocks", self.0.len()))
        })?;
        let described = match &block.extent {
            Extent::Frames(frames) => ("frames", FrameSet(frames.clone())).into_pyobject(py)?,
            Extent::Bytes(range) => ("bytes", (range.start, range.end)).into_pyobject(py)?,
        };
        Ok(described.into_any())
    }

    fn __repr__(&self) -> String {
        let by_bytes = self.0.iter().any(|block| matches!(block.extent, Extent::Bytes(_)));
        format!("<{} blocks of {}>", self.0.len(), if by_bytes { "bytes" } else { "frames" })
    }
}
