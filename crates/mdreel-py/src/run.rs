//! Runs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mdreel_core::pool::Monitor;
use mdreel_core::run as core;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::block::Blocks;
use crate::error::{from_panic, to_python};
use crate::frame::selection;
use crate::kernel::RmsdKernel;
use crate::source::Source;
use crate::span::{Columns, columns};

type Outcome<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Columns<'py>);

/// Map blocks with a kernel on `n_workers` threads: frames, times (ps), values, columns of spans.
///
/// `monitor` is called about every 50 ms with the number of frames done; what it raises stops the run. None is
/// returned when blocks of bytes did not join: plan by frames then.
#[pyfunction]
#[pyo3(signature = (source, atoms, kernel, blocks, n_workers, monitor=None))]
pub fn run<'py>(
    py: Python<'py>,
    source: &Source,
    atoms: PyReadonlyArray1<'py, u32>,
    kernel: &RmsdKernel,
    blocks: &Blocks,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
) -> PyResult<Option<Outcome<'py>>> {
    let atoms = selection(&atoms)?;
    let source = source.shared();
    let mut monitor = Attendant { callback: monitor, raised: None };
    let outcome = py.detach(|| {
        catch_unwind(AssertUnwindSafe(|| core::run(&*source, &atoms, &*kernel.0, &blocks.0, n_workers, &mut monitor)))
    });
    if let Some(error) = monitor.raised {
        return Err(error);
    }
    let outcome = outcome.map_err(|panic| from_panic(py, panic.as_ref()))?;
    let Some(outcome) = outcome.map_err(|error| to_python(py, error))? else { return Ok(None) };
    let (series, spans) = (outcome.result, columns(py, &outcome.spans));
    Ok(Some((series.frames.into_pyarray(py), series.times.into_pyarray(py), series.values.into_pyarray(py), spans)))
}

/// Lets Python see its signals and the progress while the core works.
struct Attendant {
    callback: Option<Py<PyAny>>,
    /// What stopped the run: the exception of a signal handler or of the callback.
    raised: Option<PyErr>,
}

impl Monitor for Attendant {
    fn poll(&mut self, frames_done: u64) -> bool {
        Python::attach(|py| {
            let called = || match &self.callback {
                Some(callback) => callback.call1(py, (frames_done,)).map(|_| ()),
                None => Ok(()),
            };
            self.raised = py.check_signals().and_then(|()| called()).err();
            self.raised.is_none()
        })
    }
}
