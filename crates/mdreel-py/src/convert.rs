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

/// Write frames to a file, encoded on `n_workers` threads.
///
/// The function returns the number of written frames, the columns of the spans, and the damaged frames that were left out. See
/// `mdreel.trajectory.convert`. It calls `monitor` about every 50 ms with the number of finished frames. An exception that
/// `monitor` raises stops the work.
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

/// Write segments of consecutive frames to separate files, `n_workers` files at a time, and return the columns of the spans.
///
/// A segment consists of the path, the first frame, and the frame before which to stop. See `mdreel.trajectory.split`.
/// `monitor` is the same as for `convert`.
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

/// Return the formats that mdreel can write.
///
/// Each entry contains the name, the file extension, whether the format rounds positions, and whether it stores the time of
/// each frame.
#[pyfunction]
pub(crate) fn output_formats() -> Vec<(&'static str, &'static str, bool, bool)> {
    FORMATS.iter().map(|format| (format.name, format.ending, format.rounds, format.keeps_times)).collect()
}
