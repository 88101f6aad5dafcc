//! Sets of frames, and the blocks of a run.

use mdreel_core::block as core;
use mdreel_core::block::Extent;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::to_python;

/// Frames of a trajectory, in the order in which they are read.
#[pyclass(frozen, eq, module = "mdreel._core")]
#[derive(PartialEq, Eq)]
pub struct FrameSet(pub core::FrameSet);

#[pymethods]
impl FrameSet {
    /// Return the set of `count` frames `start`, `start + step`, and so on.
    #[staticmethod]
    fn range(start: u64, step: u64, count: u64) -> PyResult<Self> {
        let last = count.max(1).checked_sub(1).and_then(|n| n.checked_mul(step)).and_then(|n| n.checked_add(start));
        if step == 0 || last.is_none() {
            return Err(PyValueError::new_err(format!("no range of frames: {start}, {step}, {count}")));
        }
        Ok(FrameSet(core::FrameSet::Range { start, step, count }))
    }

    /// Return the set of these frames, in any order. Frames may be repeated.
    #[staticmethod]
    fn list(frames: PyReadonlyArray1<'_, u64>) -> Self {
        FrameSet(core::FrameSet::List(frames.as_array().iter().copied().collect()))
    }

    /// Return the set of frames `start`, `start + step`, and so on, without a known end.
    #[staticmethod]
    fn endless(start: u64, step: u64) -> PyResult<Self> {
        if step == 0 || start == u64::MAX {
            return Err(PyValueError::new_err(format!("no range of frames: {start}, {step}")));
        }
        Ok(FrameSet(core::FrameSet::endless(start, step)))
    }

    /// Whether the number of frames is unknown.
    #[getter]
    fn is_endless(&self) -> bool {
        self.0.is_endless()
    }

    fn __len__(&self) -> PyResult<usize> {
        if self.is_endless() {
            return Err(PyTypeError::new_err("frames without an end that is known cannot be counted"));
        }
        Ok(self.0.len() as usize)
    }

    fn __repr__(&self) -> String {
        match &self.0 {
            core::FrameSet::Range { start, step, .. } if self.is_endless() => {
                format!("FrameSet.endless({start}, {step})")
            }
            core::FrameSet::Range { start, step, count } => format!("FrameSet.range({start}, {step}, {count})"),
            core::FrameSet::List(list) => format!("<FrameSet of {} frames>", list.len()),
        }
    }

    /// Return the frame numbers, shape (n_frames,), uint64.
    fn numbers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let n_frames = self.__len__()? as u64;
        Ok((0..n_frames).map(|i| self.0.get(i)).collect::<Vec<_>>().into_pyarray(py))
    }
}

/// The blocks of a run, in the order of merging.
#[pyclass(frozen, module = "mdreel._core")]
pub struct Blocks(pub core::Blocks);

#[pymethods]
impl Blocks {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Return the extent of a block: `("frames", FrameSet)` or `("bytes", (first, end))`.
    fn __getitem__<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let extent = self.0.extent(index).ok_or_else(|| {
            PyIndexError::new_err(format!("there is no block {index}: the plan has {} blocks", self.0.len()))
        })?;
        let described = match extent {
            Extent::Frames(frames) => ("frames", FrameSet(frames)).into_pyobject(py)?,
            Extent::Bytes(range) => ("bytes", (range.start, range.end)).into_pyobject(py)?,
        };
        Ok(described.into_any())
    }

    /// Return the number of frames in all blocks before `block`. Blocks whose frames have not been counted add 0.
    fn frames_before(&self, block: usize) -> u64 {
        self.0.n_known_frames(0..block.min(self.0.len()))
    }

    /// Whether the blocks are ranges of bytes, in which the frames have not been located yet.
    #[getter]
    fn are_of_bytes(&self) -> bool {
        self.0.are_of_bytes()
    }

    /// Divide some of the blocks into one share for each worker.
    ///
    /// Each range is a pair of its first block and the block after its last one. The result contains the start of each share
    /// and the end of the last one, counted among the blocks of the ranges.
    fn shares(&self, py: Python<'_>, ranges: Vec<(usize, usize)>, n_workers: usize) -> PyResult<Vec<usize>> {
        let n_blocks = self.0.len();
        if let Some((first, end)) = ranges.iter().find(|(first, end)| first > end || *end > n_blocks) {
            let message = format!("there are {n_blocks} blocks, those from {first} to {end} were asked for");
            return Err(to_python(py, mdreel_core::Error::mismatch(message)));
        }
        let ranges: Vec<_> = ranges.into_iter().map(|(first, end)| first..end).collect();
        Ok(self.0.shares(&ranges, n_workers))
    }

    /// Return the blocks that `to_bytes` has serialized.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, content: &[u8]) -> PyResult<Self> {
        core::Blocks::from_bytes(content).map(Blocks).map_err(|error| to_python(py, error))
    }

    /// Return the blocks as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let content = self.0.to_bytes().map_err(|error| to_python(py, error))?;
        Ok(PyBytes::new(py, &content))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    fn __repr__(&self) -> String {
        let what = if self.0.are_of_bytes() { "bytes" } else { "frames" };
        match &self.0 {
            core::Blocks::Listed(blocks) => format!("<{} blocks of {what}>", blocks.len()),
            core::Blocks::Arriving(arriving) => format!("<blocks of {} frames as they come>", arriving.block_frames),
        }
    }
}
