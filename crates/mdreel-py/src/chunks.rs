//! Conversions to chunks of arrays, which Python writes to a file.

use mdreel_core::convert::{ChunkSink, chunk_outline as core_outline, convert_to_chunks as core_convert};
use mdreel_core::frame::Quantity;
use mdreel_core::writer::chunks::{Chunk, ChunkLayout, CutFrames};
use mdreel_core::{Error, Result};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::block::FrameSet;
use crate::error::to_python;
use crate::frame::{quantities, selection};
use crate::patience::patiently;
use crate::pool::{Relay, attended_aside};
use crate::source::Source;
use crate::span::{Columns, columns};

/// Return the names of the quantities to write and whether to write unit cells. They are the same for all frames.
#[pyfunction]
pub(crate) fn chunk_outline<'py>(
    py: Python<'py>,
    source: &Source,
    atoms: PyReadonlyArray1<'py, u32>,
    frames: &FrameSet,
) -> PyResult<(Vec<&'static str>, bool)> {
    let (source, atoms, frames) = (source.shared(), selection(&atoms)?, frames.0.clone());
    let outline = patiently(py, move || core_outline(&*source, &atoms, &frames))?;
    Ok((outline.quantities.iter().map(Quantity::name).collect(), outline.has_unit_cell))
}

/// The division of frames into chunks, from `mdreel.trajectory.chunking`.
#[derive(FromPyObject)]
pub(crate) struct Layout {
    quantities: Vec<String>,
    has_unit_cell: bool,
    chunk_frames: usize,
    chunk_atoms: usize,
    deflate_level: Option<u32>,
}

/// Divide frames into chunks on `n_workers` threads, pass them to `sink` in order, and return the columns of the spans.
///
/// See `mdreel.trajectory.h5md_writer`. The function calls `sink` with the number of the first frame, the steps, the times
/// (ps), the vectors of the cells, and a list of chunks. The vectors are n_frames * 9 numbers (Å), or None if there are no
/// cells. A chunk consists of the name of the quantity, the first frame, the first atom, and the bytes. The calls run on a
/// separate thread, where Python raises no signals.
///
/// The function calls `monitor` about every 50 ms with the number of finished frames. An exception that `sink` or `monitor`
/// raises stops the work.
#[pyfunction]
#[pyo3(signature = (source, atoms, frames, layout, n_workers, sink, monitor=None))]
#[expect(clippy::too_many_arguments, reason = "the interpreter's, and what is said of a conversion")]
pub(crate) fn convert_to_chunks<'py>(
    py: Python<'py>,
    source: &Source,
    atoms: PyReadonlyArray1<'py, u32>,
    frames: &FrameSet,
    layout: Layout,
    n_workers: usize,
    sink: Py<PyAny>,
    monitor: Option<Py<PyAny>>,
) -> PyResult<Columns<'py>> {
    let atoms = selection(&atoms)?;
    let source = source.shared();
    let layout = ChunkLayout {
        n_atoms: atoms.len(),
        quantities: quantities(&layout.quantities).map_err(|error| to_python(py, error))?,
        has_unit_cell: layout.has_unit_cell,
        chunk_frames: layout.chunk_frames,
        chunk_atoms: layout.chunk_atoms,
        deflate_level: layout.deflate_level,
    };
    let mut sink = Sink { callback: sink, raised: None };
    let work =
        |monitor: &mut Relay<'_>| core_convert(&*source, &atoms, &frames.0, layout, n_workers, monitor, &mut sink);
    let spans = attended_aside(py, monitor, work);
    match sink.raised {
        Some(error) => Err(error),
        None => Ok(columns(py, &spans?)),
    }
}

/// A sink that passes chunks to a Python function.
struct Sink {
    callback: Py<PyAny>,
    raised: Option<PyErr>,
}

impl ChunkSink for Sink {
    fn write(&mut self, first: u64, frames: CutFrames) -> Result<()> {
        let CutFrames { steps, times, cells, chunks } = frames;
        Python::attach(|py| {
            let chunk = |chunk: Chunk| {
                let Chunk { quantity, frame, atom, bytes } = chunk;
                (quantity.name(), first + frame, atom, bytes.into_pyarray(py))
            };
            let chunks: Vec<_> = chunks.into_iter().map(chunk).collect();
            let cells = (!cells.is_empty()).then(|| cells.into_pyarray(py));
            let arguments = (first, steps.into_pyarray(py), times.into_pyarray(py), cells, chunks);
            self.callback.call1(py, arguments).map(|_| ()).map_err(|error| {
                self.raised = Some(error);
                Error::Interrupted
            })
        })
    }
}
