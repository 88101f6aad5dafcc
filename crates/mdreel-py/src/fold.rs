//! Folds of users: code that accumulates a value over the frames of a block, and merges such values.

use std::any::Any;
use std::sync::Arc;

use mdreel_core::frame::FrameBatch;
use mdreel_core::kernel::Computation as CoreComputation;
use mdreel_core::kernel::fingerprint::FingerprintTable;
use mdreel_core::kernel::online_clusters::OnlineAssignment;
use mdreel_core::kernel::residue_contacts::ContactTable;
use mdreel_core::kernel::water_bridges::BridgeTable;
use mdreel_core::reduce::{Ids, Layout, Own, Slots, Value};
use mdreel_core::{Error, Result};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::computation::Computation;
use crate::function::failure;
use crate::given::{Given, Places, batch_of};
use crate::kernels::{fingerprint, online_clusters, residue_contacts, water_bridges};

/// A fold over frames.
#[derive(Clone)]
struct Fold {
    fold: Arc<Py<PyAny>>,
    n_atoms: usize,
    given: Given,
}

/// The value that a fold has accumulated over some frames.
#[derive(Debug)]
struct Folded {
    fold: Arc<Py<PyAny>>,
    n_expected: u64,
    value: Option<Py<PyAny>>,
}

/// Create the computation of a Python fold, whose value can be any object that can be pickled. See
/// `mdreel.analysis.user.user_functions`.
///
/// The computation calls `fold.add` with the value of the frames of the block so far (None at first), the number of frames of
/// the block (0 if it is unknown), and the next frames of the block. These are given as frame numbers, times (ps), cells of
/// shape (n_frames, 6) with NaN for no cell, positions of shape (n_frames, n_places, 3), float32, Å, and the members of groups
/// as for `function`. The method returns the value of all these frames. If it raises an exception, the attribute `place` of the
/// exception may contain the index of the frame among those of the call. `fold.merge`, `fold.pack` and `fold.unpack` must not
/// raise exceptions.
#[pyfunction]
pub(crate) fn fold<'py>(
    py: Python<'py>,
    fold: Py<PyAny>,
    n_atoms: usize,
    places: Places<'py>,
) -> PyResult<Computation> {
    let shared = Arc::new(fold.clone_ref(py));
    let made = places.given(n_atoms).map(|given| Fold { fold: shared, n_atoms, given });
    Computation::new(py, made, "fold", (fold, n_atoms, places.copied(py)?))
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
        let positions = self.given.positions(batch);
        let current = self.given.current(batch)?;
        let folded = slots.own.as_mut().and_then(|own| own.here::<Folded>());
        let folded = folded.ok_or_else(|| Error::worker("a fold has no room for its value"))?;
        Python::attach(|py| {
            let given = batch_of(py, batch, positions, current).map_err(|error| failure(py, batch, &error))?;
            let (frames, times, cells, positions, members) = given;
            let given = (folded.value.take(), folded.n_expected, frames, times, cells, positions, members);
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

/// Returns the value of a fold, from this process or from the bytes of another.
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

/// Returns the values of the folds of a run, and arrays of listed atoms, of residue contacts, of interactions, of online clusters
/// and of water bridges.
pub(crate) fn values(py: Python<'_>, own: Vec<Own>) -> Vec<Option<Bound<'_, PyAny>>> {
    let mut own = own;
    let value = |own: &mut Own| {
        if let Some(ids) = own.here::<Ids>() {
            return Some(std::mem::take(&mut ids.0).into_pyarray(py).into_any());
        }
        if let Some(table) = own.here::<ContactTable>() {
            return residue_contacts::arrays(py, table).ok();
        }
        if let Some(table) = own.here::<FingerprintTable>() {
            return fingerprint::arrays(py, table).ok();
        }
        if let Some(assignment) = own.here::<OnlineAssignment>() {
            return online_clusters::arrays(py, assignment).ok();
        }
        if let Some(table) = own.here::<BridgeTable>() {
            return water_bridges::arrays(py, table).ok();
        }
        own.here::<Folded>().and_then(|folded| folded.value.take()).map(|value| value.into_bound(py))
    };
    own.iter_mut().map(value).collect()
}
