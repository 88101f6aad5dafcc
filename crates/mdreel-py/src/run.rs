//! Runs.

use mdreel_core::run as core;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::block::Blocks;
use crate::damage::{Record, records};
use crate::frame::selection;
use crate::kernel::RmsdKernel;
use crate::pool::{Attendant, attended};
use crate::source::Source;
use crate::span::{Columns, columns};

type Outcome<'py> = (Bound<'py, PyArray2<f64>>, Columns<'py>, Vec<Record>);

/// Map blocks with a kernel on `n_workers` threads: frames, times (ps), values, columns of spans, and
/// what was left out as damaged.
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
    let work = |monitor: &mut Attendant| core::run(&*source, &atoms, &*kernel.0, &blocks.0, n_workers, monitor);
    let Some(outcome) = attended(py, monitor, work)? else { return Ok(None) };
    let rows = outcome.result.into_rows();
    let shape = [rows.len(), 3];
    let series = rows.into_flattened().into_pyarray(py).reshape(shape)?;
    Ok(Some((series, columns(py, &outcome.spans), records(outcome.damage))))
}
