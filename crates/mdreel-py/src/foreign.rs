//! Trajectories that Python reads: slower, for all formats that the core does not know.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use mdreel_core::block::{Extent, FrameSet};
use mdreel_core::frame::{FrameBatch, FrameHeader, Quantities};
use mdreel_core::source::open::Opened;
use mdreel_core::source::{self as core, AtomSelection, Reader};
use mdreel_core::span::{Recorder, SpanKind};
use mdreel_core::unit_cell::UnitCell;
use mdreel_core::{Error, Result};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::error::to_python;
use crate::frame::quantities;
use crate::origin::Origin;
use crate::source::Source;

/// A trajectory that Python reads; see `mdreel.sources.foreign.ForeignTrajectory`.
struct Foreign {
    trajectory: Py<PyAny>,
    path: PathBuf,
    n_atoms: usize,
    n_frames: u64,
    n_bytes: u64,
    quantities: Quantities,
    times: OnceLock<Vec<f64>>,
}

/// A trajectory that has the methods `open` and `times`.
#[pyfunction]
#[pyo3(signature = (trajectory, path, n_atoms, n_frames, n_bytes, names, facts, recipe))]
#[allow(clippy::too_many_arguments, reason = "named by the caller")]
pub fn foreign_source<'py>(
    py: Python<'py>,
    trajectory: Py<PyAny>,
    path: PathBuf,
    n_atoms: usize,
    n_frames: u64,
    n_bytes: u64,
    names: Vec<String>,
    facts: Bound<'py, PyAny>,
    recipe: (Py<PyAny>, Py<PyAny>),
) -> PyResult<Source> {
    let quantities = quantities(&names).map_err(|error| to_python(py, error))?;
    let format = facts.get_item("format")?.extract::<String>()?;
    let foreign = Foreign { trajectory, path, n_atoms, n_frames, n_bytes, quantities, times: OnceLock::new() };
    Ok(Source::described(Opened::Other(Arc::new(foreign), format.into()), Origin::recipe(recipe), facts))
}

impl Foreign {
    fn error(&self, py: Python<'_>, frame: Option<u64>, error: &PyErr) -> Error {
        Error::format(&self.path, frame, None, format!("{}: {}", error.get_type(py), error.value(py)))
    }
}

impl core::Source for Foreign {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn n_frames(&self) -> Result<u64> {
        Ok(self.n_frames)
    }

    fn times(&self) -> Result<Vec<f64>> {
        if let Some(times) = self.times.get() {
            return Ok(times.clone());
        }
        let read = |py: Python<'_>| self.trajectory.bind(py).call_method0("times")?.extract::<Vec<f64>>();
        let times = Python::attach(|py| read(py).map_err(|error| self.error(py, None, &error)))?;
        Ok(self.times.get_or_init(|| times).clone())
    }

    fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    fn quantities(&self) -> Quantities {
        self.quantities
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, _wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        atoms.check(self.n_atoms)?;
        Ok(Box::new(ForeignReader { source: self, atoms, reader: None, extent: FrameSet::all(0), n_read: 0 }))
    }
}

/// Positions, velocities and forces (all atoms), lengths and angles of the cell, time, step.
type Frame<'py> = ([Option<PyReadonlyArray2<'py, f32>>; 3], Option<PyReadonlyArray1<'py, f32>>, f64, i64);

/// One worker's way, with a Python reader of its own.
struct ForeignReader<'a> {
    source: &'a Foreign,
    atoms: &'a AtomSelection,
    reader: Option<Py<PyAny>>,
    extent: FrameSet,
    n_read: u64,
}

impl ForeignReader<'_> {
    fn read_frame(&mut self, py: Python<'_>, index: u64, batch: &mut FrameBatch) -> PyResult<()> {
        let reader = match &self.reader {
            Some(reader) => reader.bind(py).clone(),
            None => {
                let opened = self.source.trajectory.bind(py).call_method0("open")?;
                self.reader.insert(opened.unbind()).bind(py).clone()
            }
        };
        let (arrays, cell, time, step) = reader.call_method1("frame", (index,))?.extract::<Frame<'_>>()?;
        let arrays: Vec<_> = Quantities::ALL.iter().zip(&arrays).collect();
        for array in arrays.iter().filter_map(|(_, array)| array.as_ref()) {
            if array.shape() != [self.source.n_atoms, 3] {
                let message = format!("{} atoms were expected, the frame has {:?}", self.source.n_atoms, array.shape());
                return Err(to_python(py, Error::Mismatch(message)));
            }
        }
        let dimensions = cell.map(|cell| cell.as_array().iter().copied().collect::<Vec<_>>());
        let unit_cell = dimensions.and_then(|cell| cell.try_into().ok()).map(UnitCell::Dimensions);
        let present = arrays.iter().filter(|(_, array)| array.is_some());
        let present =
            present.fold(Quantities::NONE, |set, &(quantity, _)| set.with(quantity, true)).both(batch.wanted());
        batch.push(FrameHeader { index, step, time, unit_cell, present });
        let last = batch.len() - 1;
        for (quantity, array) in arrays {
            let (Some(array), Some(columns)) = (array, batch.columns_of_mut(last, quantity)) else { continue };
            let array = array.as_array();
            for (i, &atom) in self.atoms.indices().iter().enumerate() {
                let row = array.row(atom as usize);
                (columns.x[i], columns.y[i], columns.z[i]) = (row[0], row[1], row[2]);
            }
        }
        Ok(())
    }
}

impl Reader for ForeignReader<'_> {
    fn start(&mut self, extent: &Extent) -> Result<()> {
        let Extent::Frames(frames) = extent else {
            return Err(Error::Unsupported("frames that Python reads are found by number, not by bytes".into()));
        };
        let n_frames = self.source.n_frames;
        if let Some(frame) = frames.last().filter(|&last| last >= n_frames) {
            return Err(Error::FrameIndex { path: self.source.path.clone(), frame, n_frames });
        }
        self.extent = frames.clone();
        self.n_read = 0;
        Ok(())
    }

    fn read(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        batch.clear();
        let start_ns = recorder.now();
        while batch.len() < batch.capacity() && self.n_read < self.extent.len() {
            let index = self.extent.get(self.n_read);
            // The interpreter is taken frame by frame: others want it, too.
            Python::attach(|py| {
                self.read_frame(py, index, batch).map_err(|error| self.source.error(py, Some(index), &error))
            })?;
            self.n_read += 1;
        }
        if !batch.is_empty() {
            let n_frames = batch.len() as u64;
            recorder.record(SpanKind::Read, start_ns, n_frames, n_frames * 12 * self.source.n_atoms as u64);
        }
        Ok(())
    }
}
