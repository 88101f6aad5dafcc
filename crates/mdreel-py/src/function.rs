//! User functions as computations.

use std::sync::Arc;

use mdreel_core::frame::FrameBatch;
use mdreel_core::kernel::Computation as CoreComputation;
use mdreel_core::reduce::{Layout, Slots, Sum};
use mdreel_core::{Error, Result};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::computation::Computation;
use crate::given::{Given, Places, batch_of};

/// A user function that returns `n_columns` values for each frame of a batch.
#[derive(Clone)]
struct Function {
    function: Arc<Py<PyAny>>,
    n_atoms: usize,
    given: Given,
    n_columns: usize,
    is_summed: bool,
}

/// Create the computation of a Python function. See `mdreel.from_function`.
///
/// The computation calls `function` with the positions of a few frames, shape (n_frames, n_places, 3), float32, Å. The function
/// returns values of shape (n_frames, n_columns), float64. With `is_summed`, the values are added up over frames; otherwise,
/// they are kept for each frame.
///
/// If `places` is a list of groups, the computation calls `function` with five arguments: the frame numbers, the times (ps),
/// the cells of shape (n_frames, 6) with NaN for no cell, the positions of all groups, and a list. The list contains the
/// members of each group in each frame, or None for a group that does not change. It is empty if no group changes.
///
/// If `function` raises an exception, the attribute `place` of the exception may contain the index of the frame among those of
/// the call.
#[pyfunction]
pub(crate) fn function<'py>(
    py: Python<'py>,
    function: Py<PyAny>,
    n_atoms: usize,
    places: Places<'py>,
    n_columns: usize,
    is_summed: bool,
) -> PyResult<Computation> {
    let shared = Arc::new(function.clone_ref(py));
    let made = places.given(n_atoms);
    let made = made.map(|given| Function { function: shared, n_atoms, given, n_columns, is_summed });
    Computation::new(py, made, "function", (function, n_atoms, places.copied(py)?, n_columns, is_summed))
}

impl CoreComputation for Function {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        match self.is_summed {
            false => Layout::columns(self.n_columns),
            true => Layout { n_sums: self.n_columns, ..Layout::default() },
        }
    }

    fn another(&self) -> Box<dyn CoreComputation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        let positions = self.given.positions(batch);
        let current = self.given.current(batch)?;
        Python::attach(|py| {
            let called = match self.given.is_list() {
                true => batch_of(py, batch, positions, current).and_then(|given| self.function.call1(py, given)),
                false => self.function.call1(py, (positions.into_pyarray(py),)),
            };
            let values = called.map_err(|error| failure(py, batch, &error))?;
            let values = values.into_bound(py).cast_into::<PyArray2<f64>>();
            let values = values.map_err(|_| Error::worker("a function has not been checked"))?;
            let values = values.readonly();
            for (i, row) in values.as_array().rows().into_iter().enumerate() {
                if !self.is_summed {
                    slots.row(i).iter_mut().zip(row).for_each(|(place, value)| *place = *value);
                    continue;
                }
                for (k, value) in row.iter().enumerate() {
                    if value.is_nan() || value.abs() > Sum::MOST {
                        let frame = batch.header(i).index;
                        let message = format!("value {k} is {value}: it cannot be added up");
                        return Err(Error::function(message).at_frame(frame));
                    }
                    slots.sums[k] += Sum::of(*value);
                }
            }
            Ok(())
        })
    }
}

/// Converts an exception of a user function to an error, with the frame that it concerns.
pub(crate) fn failure(py: Python<'_>, batch: &FrameBatch, error: &PyErr) -> Error {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return Error::Interrupted;
    }
    let place = error.value(py).getattr("place").and_then(|place| place.extract::<usize>()).ok();
    let message = error.value(py).to_string();
    match place.filter(|&place| place < batch.len()) {
        Some(place) => Error::function(message).at_frame(batch.header(place).index),
        None => {
            let (first, last) = (batch.header(0).index, batch.header(batch.len() - 1).index);
            Error::function(format!("frames {first} to {last}: {message}"))
        }
    }
}
