//! Plans, which divide a run into blocks.

use mdreel_core::plan as core;
use pyo3::prelude::*;

use crate::block::{Blocks, FrameSet};
use crate::patience::patiently;
use crate::source::Source;

/// Divide `frames`, or the complete trajectory if None, into `n_parts` blocks.
///
/// If `n_parts` is None, the number of blocks depends on the size of the file and the number of workers. With
/// `keep_to_segments`, no block crosses the boundary of a segment. `row_bytes` is the number of bytes that a run keeps of each
/// frame.
#[pyfunction]
#[pyo3(signature = (source, frames, n_parts, n_workers, keep_to_segments=false, row_bytes=0))]
pub(crate) fn plan(
    py: Python<'_>,
    source: &Source,
    frames: Option<&FrameSet>,
    n_parts: Option<u64>,
    n_workers: usize,
    keep_to_segments: bool,
    row_bytes: u64,
) -> PyResult<Blocks> {
    let (source, frames) = (source.shared(), frames.map(|frames| frames.0.clone()));
    let wishes = core::Wishes { n_parts, keep_to_segments, row_bytes };
    patiently(py, move || core::plan(&*source, frames.as_ref(), wishes, n_workers)).map(Blocks)
}
