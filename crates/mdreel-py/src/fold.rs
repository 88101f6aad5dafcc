//! Folds of users: what their code makes of the frames of a block, one after the other, and how that merges.

use std::any::Any;
use std::sync::Arc;

use mdreel_core::frame::FrameBatch;
use mdreel_core::kernel::Computation as CoreComputation;
use mdreel_core::reduce::{Ids, Layout, Own, Slots, Value};
use mdreel_core::{Error, Result};
use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::computation::Computation;
use crate::frame::cells;
use crate::function::{failure, positions};

/// A fold over frames.
#[derive(Clone)]
struct Fold {
    fold: Arc<Py<PyAny>>,
    n_atoms: usize,
    /// Where each atom that the fold is given, in its order, is among the atoms of the batch.
    places: Arc<Vec<u32>>,
}

/// What a fold has made of some frames.
#[derive(Debug)]
struct Folded {
    fold: Arc<Py<PyAny>>,
    n_expected: u64,
    value: Option<Py<PyAny>>,
}

/// What a fold of Python makes of frames: any value that can be pickled; see `mdreel.analysis.user.user_functions`.
///
/// `fold.add` is called with the value of the frames of the block so far (None for none), how many the block has (0 where
/// nobody knows), and a few more of them: numbers, times (ps), cells (n_frames, 6), NaN for none, and positions
/// (n_frames, n_places, 3), float32, Å; it returns the value of all. What it raises may say in an attribute `place` which of
/// the frames it is about. `fold.merge`, `fold.pack` and `fold.unpack` do not raise.
#[pyfunction]
pub(crate) fn fold<'py>(
    py: Python<'py>,
    fold: Py<PyAny>,
    n_atoms: usize,
    places: PyReadonlyArray1<'py, u32>,
) -> PyResult<Computation> {
    let given: Vec<u32> = places.as_array().to_vec();
    let kept = given.clone().into_pyarray(py);
    let arguments = (fold.clone_ref(py), n_atoms, kept);
    let checked = match given.iter().find(|&&atom| atom as usize >= n_atoms) {
        Some(atom) => Err(Error::mismatch(format!("a fold wants atom {atom} of {n_atoms}"))),
        None => Ok(Fold { fold: Arc::new(fold), n_atoms, places: Arc::new(given) }),
    };
    Computation::new(py, checked, "fold", arguments)
}

impl CoreComputation for Fold {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout::default()
    }

    fn own(&self) -> Option<Box<dyn Value>> {
        Some(Box::new(Folded { fold: Arc::clone(&self.fold), n_expected: 0, value: None }))
    }

    fn another(&self) -> Box<dyn CoreComputation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        let positions = positions(batch, &self.places);
        let headers = batch.headers();
        let frames: Vec<u64> = headers.iter().map(|header| header.index).collect();
        let times: Vec<f64> = headers.iter().map(|header| header.time).collect();
        let dimensions = cells(headers, |cell| cell.dimensions().to_vec());
        let folded = slots.own.as_mut().and_then(|own| own.here::<Folded>());
        let folded = folded.ok_or_else(|| Error::worker("a fold has no room for its value"))?;
        Python::attach(|py| {
            let dimensions = dimensions.into_pyarray(py).reshape([headers.len(), 6]);
            let dimensions = dimensions.map_err(|error| failure(py, batch, &error))?;
            let (frames, times) = (frames.into_pyarray(py), times.into_pyarray(py));
            let given = (folded.value.take(), folded.n_expected, frames, times, dimensions, positions.into_pyarray(py));
            let called = self.fold.call_method1(py, "add", given);
            folded.value = Some(called.map_err(|error| failure(py, batch, &error))?);
            Ok(())
        })
    }
}

impl Value for Folded {
    fn expect(&mut self, n_frames: u64) {
        self.n_expected = n_frames;
    }

    fn merge(&mut self, next: Own) {
        Python::attach(|py| {
            let merged = value(py, &self.fold, next).and_then(|next| match (self.value.take(), next) {
                (Some(value), Some(next)) => self.fold.call_method1(py, "merge", (value, next)).map(Some),
                (value, next) => Ok(value.or(next)),
            });
            self.value = merged.unwrap_or_else(|error| panic!("a fold has raised {error} in merging"));
        });
    }

    fn to_bytes(&self) -> Vec<u8> {
        Python::attach(|py| {
            let packed = self.fold.call_method1(py, "pack", (&self.value,));
            let packed = packed.and_then(|bytes| Ok(bytes.bind(py).cast::<PyBytes>()?.as_bytes().to_vec()));
            packed.unwrap_or_else(|error| panic!("a fold has raised {error} in packing"))
        })
    }
}

/// The value of a fold, wherever it comes from.
fn value(py: Python<'_>, fold: &Py<PyAny>, own: Own) -> PyResult<Option<Py<PyAny>>> {
    match own {
        Own::Nothing => Ok(None),
        Own::Bytes(bytes) => fold.call_method1(py, "unpack", (PyBytes::new(py, &bytes),)).map(Some),
        Own::Here(here) => {
            let folded = (here as Box<dyn Any>).downcast::<Folded>();
            Ok(folded.ok().and_then(|folded| folded.value))
        }
    }
}

/// The values of the folds of a run, and arrays of the atoms that are listed.
pub(crate) fn values(py: Python<'_>, own: Vec<Own>) -> Vec<Option<Bound<'_, PyAny>>> {
    let mut own = own;
    let value = |own: &mut Own| {
        if let Some(ids) = own.here::<Ids>() {
            return Some(std::mem::take(&mut ids.0).into_pyarray(py).into_any());
        }
        own.here::<Folded>().and_then(|folded| folded.value.take()).map(|value| value.into_bound(py))
    };
    own.iter_mut().map(value).collect()
}
