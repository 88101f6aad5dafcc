//! Runs of a pass over blocks.

use std::ops::Range;

use mdreel_core::pool::{Crew, Schedule};
use mdreel_core::run as core;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::block::Blocks;
use crate::error::to_python;
use crate::frame::selection;
use crate::part::{Part, Results, results};
use crate::pass::Pass;
use crate::pool::{Attendant, attended};
use crate::source::Source;

/// Map blocks with a pass on `n_workers` threads, and return the results. See `Part.finish`.
///
/// The function calls `monitor` about every 50 ms with the number of finished frames. An exception that `monitor` raises stops
/// the run. The function returns None if consecutive blocks of bytes did not join. The caller must then plan the run by frames.
#[pyfunction]
#[pyo3(signature = (source, atoms, kernel, blocks, n_workers, monitor=None, schedule="demand"))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn run<'py>(
    py: Python<'py>,
    source: &Source,
    atoms: PyReadonlyArray1<'py, u32>,
    kernel: &Pass,
    blocks: &Blocks,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
    schedule: &str,
) -> PyResult<Option<Results<'py>>> {
    let crew = crew(py, n_workers, schedule, blocks, 0..blocks.0.len())?;
    let (atoms, source) = (selection(&atoms)?, source.shared());
    let work = |monitor: &mut Attendant| {
        core::Job { source: &*source, atoms: &atoms, kernel: &kernel.pass, blocks: &blocks.0 }.run(crew, monitor)
    };
    attended(py, monitor, work)?.map(|outcome| results(py, outcome)).transpose()
}

/// Map the blocks from `first` to before `end` on `n_workers` threads, and return the part that they form.
///
/// In the spans, the workers have the number `worker` and the numbers that follow.
#[pyfunction]
#[pyo3(signature = (source, atoms, kernel, blocks, first, end, n_workers=1, monitor=None, schedule="demand", worker=0))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn map_blocks<'py>(
    py: Python<'py>,
    source: &Source,
    atoms: PyReadonlyArray1<'py, u32>,
    kernel: &Pass,
    blocks: &Blocks,
    first: usize,
    end: usize,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
    schedule: &str,
    worker: u32,
) -> PyResult<Part> {
    let n_blocks = blocks.0.len();
    if first > end || end > n_blocks {
        let message = format!("there are {n_blocks} blocks, those from {first} to {end} were asked for");
        return Err(to_python(py, mdreel_core::Error::mismatch(message)));
    }
    let crew = crew(py, n_workers, schedule, blocks, first..end)?;
    let (atoms, source) = (selection(&atoms)?, source.shared());
    let work = |monitor: &mut Attendant| {
        let job = core::Job { source: &*source, atoms: &atoms, kernel: &kernel.pass, blocks: &blocks.0 };
        job.map(first..end, crew, worker, monitor)
    };
    attended(py, monitor, work).map(Part::new)
}

fn crew(py: Python<'_>, n_workers: usize, schedule: &str, blocks: &Blocks, range: Range<usize>) -> PyResult<Crew> {
    let schedule = Schedule::from_name(schedule).map_err(|error| to_python(py, error))?;
    Ok(Crew::new(n_workers, schedule, &blocks.0, range))
}
