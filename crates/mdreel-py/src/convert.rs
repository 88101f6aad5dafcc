//! Conversions of trajectories to files.

use std::path::PathBuf;

use mdreel_core::convert as core;
use mdreel_core::convert::{Output, Segment};
use mdreel_core::writer::format::{FORMATS, Settings};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::block::FrameSet;
use crate::damage::{Record, records};
use crate::error::to_python;
use crate::frame::selection;
use crate::pool::{Attendant, attended};
use crate::source::Source;
use crate::span::{Columns, columns};

/// Write frames to a file, encoded by `n_workers` threads; returns the number of frames written, columns of spans,
/// and what was left out as damaged. See `mdreel.trajectory.convert`.
///
/// `monitor` is called about every 50 ms with the number of finished frames; an exception that it raises stops the work.
#[pyfunction]
#[pyo3(signature = (source, atoms, frames, path, precision, n_workers, monitor=None))]
#[expect(clippy::too_many_arguments, reason = "the interpreter's, and what is said of a conversion")]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    source: &Source,
    atoms: PyReadonlyArray1<'py, u32>,
    frames: &FrameSet,
    path: PathBuf,
    precision: Option<f32>,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
) -> PyResult<(u64, Columns<'py>, Vec<Record>)> {
    let atoms = selection(&atoms)?;
    let source = source.shared();
    let output = Output::new(&path, Settings { precision }).map_err(|error| to_python(py, error))?;
    let work = |monitor: &mut Attendant| core::convert(&*source, &atoms, &frames.0, &output, n_workers, monitor);
    let written = attended(py, monitor, work)?;
    Ok((written.n_frames, columns(py, &written.spans), records(written.damage)))
}

/// Write consecutive frames to a file each, `n_workers` files at a time; returns columns of spans. See
/// `mdreel.trajectory.split`.
///
/// `segments` are paths with the first frame and the frame before which to stop.
#[pyfunction]
#[pyo3(signature = (source, atoms, segments, precision, n_workers, monitor=None))]
pub(crate) fn split<'py>(
    py: Python<'py>,
    source: &Source,
    atoms: PyReadonlyArray1<'py, u32>,
    segments: Vec<(PathBuf, u64, u64)>,
    precision: Option<f32>,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
) -> PyResult<Columns<'py>> {
    let atoms = selection(&atoms)?;
    let source = source.shared();
    let segment = |(path, start, stop): (PathBuf, u64, u64)| {
        Ok(Segment { output: Output::new(&path, Settings { precision })?, frames: start..stop.max(start) })
    };
    let segments: mdreel_core::Result<Vec<Segment>> = segments.into_iter().map(segment).collect();
    let segments = segments.map_err(|error| to_python(py, error))?;
    let work = |monitor: &mut Attendant| core::split(&*source, &atoms, &segments, n_workers, monitor);
    Ok(columns(py, &attended(py, monitor, work)?))
}

/// The formats that can be written: name, ending, whether it rounds, whether it holds the time of each frame.
#[pyfunction]
pub(crate) fn output_formats() -> Vec<(&'static str, &'static str, bool, bool)> {
    FORMATS.iter().map(|format| (format.name, format.ending, format.rounds, format.keeps_times)).collect()
}
