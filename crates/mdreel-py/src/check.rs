//! Checks of the complete content of a trajectory.

use mdreel_core::kernel::check::Check;
use mdreel_core::run as core;
use mdreel_core::source::SourceExt;
use pyo3::prelude::*;

use crate::block::Blocks;
use crate::damage::{Record, records};
use crate::pool::{Attendant, attended};
use crate::source::Source;
use crate::span::{Columns, columns};

/// A finding: its kind, the frame, the offset of the frame if it is known, and a message.
type Finding = (&'static str, u64, Option<u64>, String);

/// Check every number of the frames in `blocks` on `n_workers` threads.
///
/// The function returns the findings, the damaged frames, the number of readable frames, and the columns of the spans. See
/// `mdreel.trajectory.check`. It calls `monitor` about every 50 ms with the number of finished frames. An exception that
/// `monitor` raises stops the work.
#[pyfunction]
#[pyo3(signature = (source, blocks, n_workers, monitor=None))]
pub(crate) fn check<'py>(
    py: Python<'py>,
    source: &Source,
    blocks: &Blocks,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
) -> PyResult<(Vec<Finding>, Vec<Record>, u64, Columns<'py>)> {
    let source = source.shared();
    let work = |monitor: &mut Attendant| {
        let atoms = Check::atoms(&*source);
        let kernel = Check::new(atoms.len());
        let Some(outcome) = core::run(&*source, &atoms, &kernel, &blocks.0, n_workers, monitor)? else {
            return Ok(None);
        };
        let n_frames = mdreel_core::reduce::Partial::n_frames(&outcome.result);
        let located = outcome.result.into_findings().into_iter().map(|finding| {
            let offset = source.frame_offset(finding.frame)?;
            Ok((finding.kind.name(), finding.frame, offset, finding.message))
        });
        let findings = located.collect::<mdreel_core::Result<Vec<Finding>>>()?;
        Ok(Some((findings, outcome.damage, n_frames, outcome.spans)))
    };
    let done = attended(py, monitor, work)?;
    let (findings, damage, n_frames, spans) = done.unwrap_or_default();
    Ok((findings, records(damage), n_frames, columns(py, &spans)))
}
