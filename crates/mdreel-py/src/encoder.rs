//! Encoders, which convert single frames to the bytes of a format.

use std::path::PathBuf;
use std::sync::Arc;

use mdreel_core::frame::{FrameBatch, FrameHeader, Quantities, Quantity};
use mdreel_core::unit_cell::UnitCell;
use mdreel_core::writer::format::{OutputFormat, Settings};
use mdreel_core::writer::{Encoder, Outline as CoreOutline};
use mdreel_core::{Error, Result};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::to_python;
use crate::frame::quantities;

/// The properties of a trajectory before its first frame is written, from `mdreel.live.archives.core_formats`.
#[derive(FromPyObject)]
pub(crate) struct Outline {
    n_atoms: usize,
    quantities: Vec<String>,
    has_unit_cell: bool,
    first_step: i64,
    steps_per_frame: i64,
    first_time: f64,
    interval: f64,
}

/// An encoder, which converts frames to the bytes of an output format. The extension of the path selects the format.
#[pyclass(frozen, module = "mdreel._core")]
pub struct FrameEncoder {
    encoder: Arc<dyn Encoder>,
    n_atoms: usize,
    quantities: Quantities,
}

/// A quantity, and its values for each atom in the units of the core.
type Given<'py> = (String, PyReadonlyArray2<'py, f32>);

#[pymethods]
impl FrameEncoder {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, outline: Outline, precision: Option<f32>) -> PyResult<Self> {
        let make = || {
            let format = OutputFormat::of(&path)?;
            let Outline { n_atoms, has_unit_cell, first_step, steps_per_frame, first_time, interval, .. } = outline;
            let given = quantities(&outline.quantities)?.both(format.quantities).with(Quantity::Positions, true);
            let outline = CoreOutline {
                n_atoms,
                quantities: given,
                has_unit_cell,
                first_step,
                steps_per_frame,
                first_time,
                interval,
            };
            Ok(FrameEncoder { encoder: format.encoder(&outline, &Settings { precision })?, n_atoms, quantities: given })
        };
        make().map_err(|error| to_python(py, error))
    }

    /// Return the bytes before the first frame.
    fn begin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        self.encoder.begin(&mut bytes).map_err(|error| to_python(py, error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Return the bytes of a frame.
    ///
    /// `index` is the number of the frame, and `time` is in ps. `cell` contains the row vectors of the cell, one after another,
    /// in Å, or is None. Each entry of `given` is the name of a quantity with its values, shape (n_atoms, 3), float32, in the
    /// units of the core.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        index: u64,
        step: i64,
        time: f64,
        cell: Option<[f32; 9]>,
        given: Vec<Given<'py>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let columns = given.iter().map(|(name, values)| Ok((name.as_str(), values.as_slice()?)));
        let columns: Vec<(&str, &[f32])> = columns.collect::<PyResult<_>>()?;
        let unit_cell = cell.map(|[a, b, c, d, e, f, g, h, i]| UnitCell::Vectors([[a, b, c], [d, e, f], [g, h, i]]));
        let header = FrameHeader { index, step, time, unit_cell, lambda: None, present: Quantities::NONE };
        let encoded = py.detach(|| self.encoded(header, &columns)).map_err(|error| to_python(py, error))?;
        Ok(PyBytes::new(py, &encoded))
    }

    /// Return the bytes to overwrite once the number of frames is known, each with its position in the file.
    fn end<'py>(&self, py: Python<'py>, n_frames: u64) -> PyResult<Vec<(u64, Bound<'py, PyBytes>)>> {
        let patches = self.encoder.end(n_frames).map_err(|error| to_python(py, error))?;
        Ok(patches.into_iter().map(|(at, bytes)| (at, PyBytes::new(py, &bytes))).collect())
    }
}

impl FrameEncoder {
    fn encoded(&self, mut header: FrameHeader, given: &[(&str, &[f32])]) -> Result<Vec<u8>> {
        let named = |name: &str| self.quantities.iter().find(|quantity| quantity.name() == name);
        let held: Vec<(Quantity, &[f32])> =
            given.iter().filter_map(|(name, values)| Some((named(name)?, *values))).collect();
        header.present = held.iter().fold(Quantities::NONE, |set, (quantity, _)| set.with(*quantity, true));
        let mut batch = FrameBatch::for_quantities(self.n_atoms, self.quantities);
        batch.push(header);
        for (quantity, values) in held {
            let values = values.as_chunks::<3>().0;
            if values.len() != self.n_atoms {
                let (name, n_atoms) = (quantity.name(), self.n_atoms);
                let message = format!("expected {name} of {n_atoms} atoms, got {}", values.len());
                return Err(Error::mismatch(message).at_frame(header.index));
            }
            let Some(columns) = batch.columns_of_mut(0, quantity) else { continue };
            for (((x, y), z), value) in columns.x.iter_mut().zip(columns.y).zip(columns.z).zip(values) {
                [*x, *y, *z] = *value;
            }
        }
        let mut bytes = Vec::new();
        self.encoder.encode(&batch, &mut bytes)?;
        Ok(bytes)
    }
}
