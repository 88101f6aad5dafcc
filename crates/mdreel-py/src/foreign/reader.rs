//! The reader with which one worker gets frames from a trajectory that Python reads.

use mdreel_core::block::{Extent, FrameSet};
use mdreel_core::frame::{FrameBatch, FrameHeader, Quantities};
use mdreel_core::source::{AtomSelection, Reader};
use mdreel_core::span::{Recorder, SpanKind};
use mdreel_core::unit_cell::UnitCell;
use mdreel_core::{Error, Result};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::Foreign;
use crate::error::to_python;

/// Positions, velocities and forces (all atoms), lengths and angles of the cell, time, and step.
type Frame<'py> = ([Option<PyReadonlyArray2<'py, f32>>; 3], Option<PyReadonlyArray1<'py, f32>>, f64, i64);

/// The reader of one worker, with its own Python reader.
pub(super) struct ForeignReader<'a> {
    source: &'a Foreign,
    atoms: &'a AtomSelection,
    reader: Option<Py<PyAny>>,
    extent: FrameSet,
    n_read: u64,
}

impl<'a> ForeignReader<'a> {
    /// Creates a reader of `atoms`. The thread that reads the first frame opens the Python reader.
    pub(super) fn new(source: &'a Foreign, atoms: &'a AtomSelection) -> Self {
        ForeignReader { source, atoms, reader: None, extent: FrameSet::all(0), n_read: 0 }
    }

    /// Returns the Python reader, and opens it if it is not open.
    fn opened<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match &self.reader {
            Some(reader) => reader.bind(py).clone(),
            None => {
                let opened = self.source.trajectory.bind(py).call_method0("open")?;
                self.reader.insert(opened.unbind()).bind(py).clone()
            }
        })
    }

    fn read_frame(&mut self, py: Python<'_>, index: u64, batch: &mut FrameBatch) -> PyResult<()> {
        let reader = self.opened(py)?;
        if self.n_read == 0 {
            reader.call_method1("expect", (crate::block::FrameSet(self.extent.clone()),))?;
        }
        let (arrays, cell, time, step) = reader.call_method1("frame", (index,))?.extract::<Frame<'_>>()?;
        let arrays: Vec<_> = Quantities::ALL.iter().zip(&arrays).collect();
        for array in arrays.iter().filter_map(|(_, array)| array.as_ref()) {
            if array.shape() != [self.source.n_atoms, 3] {
                let message = format!("{} atoms were expected, the frame has {:?}", self.source.n_atoms, array.shape());
                return Err(to_python(py, Error::mismatch(message)));
            }
        }
        let dimensions = cell.map(|cell| cell.as_array().iter().copied().collect::<Vec<_>>());
        let unit_cell = dimensions.and_then(|cell| cell.try_into().ok()).map(UnitCell::Dimensions);
        let present = arrays.iter().filter(|(_, array)| array.is_some());
        let present =
            present.fold(Quantities::NONE, |set, &(quantity, _)| set.with(quantity, true)).both(batch.wanted());
        batch.push(FrameHeader { index, step, time, unit_cell, lambda: None, present });
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
        self.extent = extent.numbered(&self.source.path, self.source.n_frames)?.clone();
        self.n_read = 0;
        Ok(())
    }

    fn read(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        batch.clear();
        let mut start_ns = recorder.now();
        if self.reader.is_none() && self.n_read < self.extent.len() {
            let index = self.extent.get(self.n_read);
            Python::attach(|py| {
                self.opened(py).map(|_| ()).map_err(|error| self.source.error(py, Some(index), &error))
            })?;
            start_ns = recorder.record(SpanKind::Open, start_ns, 0, 0);
        }
        while batch.len() < batch.capacity() && self.n_read < self.extent.len() {
            let index = self.extent.get(self.n_read);
            // The interpreter lock is taken for each frame, because other threads need it, too.
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
