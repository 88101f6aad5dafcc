//! Consumers of channels.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mdreel_channel::end::End;
use mdreel_channel::group::Membership;
use mdreel_channel::group::file::{Identity, Mode, State as Committed};
use mdreel_channel::held::{HeldNext, Holder};
use mdreel_channel::participants::producer_of;
use mdreel_channel::restart::Restart;
use mdreel_core::Error;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::frame::ChannelFrame;
use super::{Begin, Ended, Until, duration, ended, said};
use crate::error::to_python;

/// A consumer of the frames of a channel; see `mdreel.live.channels.consumer.Consumer`.
#[pyclass(frozen, module = "mdreel._core")]
pub struct ChannelConsumer {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    /// The consumer; `None` once it is closed.
    holder: Option<Arc<Holder>>,
    restart: Restart,
    end: Option<End>,
}

impl ChannelConsumer {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holder(&self, py: Python<'_>) -> PyResult<Arc<Holder>> {
        let closed = || Error::mismatch("the consumer is closed; create another one to read on").in_file(&self.path);
        self.state().holder.clone().ok_or_else(|| to_python(py, closed()))
    }
}

#[pymethods]
impl ChannelConsumer {
    #[new]
    #[pyo3(signature = (path, start, restart, group=None, takes_latest=false))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        start: Begin<'_>,
        restart: f64,
        group: Option<(String, String, bool)>,
        takes_latest: bool,
    ) -> PyResult<Self> {
        let (start, restart) = (start.start(py)?, Restart::within(duration(py, "restart", restart)?));
        let join = || match &group {
            None if takes_latest => Holder::join_latest(&path),
            None => Holder::join(&path, start),
            Some((group, member, shares)) => {
                let mode = if *shares { Mode::Share } else { Mode::Broadcast };
                Holder::join_group(&path, Membership { group, member, mode, start })
            }
        };
        let holder = py.detach(join).map_err(|error| to_python(py, error))?;
        Ok(ChannelConsumer { path, state: Mutex::new(State { holder: Some(holder), restart, end: None }) })
    }

    /// Wait for the next frame, and return it; return None at the end.
    ///
    /// The wait takes at most `timeout` seconds; None means no limit.
    #[pyo3(signature = (timeout=None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<ChannelFrame>> {
        let (holder, until) = (self.holder(py)?, Until::new(py, timeout)?);
        loop {
            let next = py.detach(|| holder.next(until.slice()));
            // Another thread may have closed the consumer in the meantime.
            self.holder(py)?;
            let error = match next {
                Ok(HeldNext::Frame(frame)) => {
                    self.state().restart.forget();
                    return Ok(Some(ChannelFrame(frame)));
                }
                Ok(HeldNext::End(End::Failed(reason))) => {
                    let error = Error::stream(format!("the simulation has failed: {reason}")).in_file(&self.path);
                    self.state().end = Some(End::Failed(reason));
                    return Err(to_python(py, error));
                }
                Ok(HeldNext::End(end)) => {
                    self.state().end = Some(end);
                    return Ok(None);
                }
                Err(error) => error,
            };
            // The time limit for a restart is copied, because waiting must not hold the lock, and written back afterwards.
            let mut restart = self.state().restart;
            let bears = py.detach(|| restart.bears(&error));
            self.state().restart = restart;
            if !bears {
                return Err(to_python(py, error));
            }
            if until.is_over() {
                let message = format!("no frame came {}; {} is running", until.said(), producer_of(&self.path));
                return Err(to_python(py, Error::stream_timeout(message).in_file(&self.path)));
            }
            py.check_signals()?;
        }
    }

    /// Properties that all frames share.
    #[getter]
    fn manifest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        said(py, self.holder(py)?.manifest())
    }

    /// Number of frames that were overwritten before this consumer took them.
    #[getter]
    fn missed(&self, py: Python<'_>) -> PyResult<u64> {
        let holder = self.holder(py)?;
        Ok(py.detach(|| holder.missed()))
    }

    /// Number of frames of the run that were gone before the consumer handed out its first one.
    #[getter]
    fn n_late(&self, py: Python<'_>) -> PyResult<u64> {
        let holder = self.holder(py)?;
        Ok(py.detach(|| holder.n_late()))
    }

    /// Number of frames that Python objects or arrays still use.
    #[getter]
    fn n_held(&self, py: Python<'_>) -> PyResult<usize> {
        let holder = self.holder(py)?;
        Ok(py.detach(|| holder.n_held()))
    }

    /// End of the channel, if the consumer has seen it: `finished`, `stopped` or `failed`, and the reason of a failure.
    #[getter]
    fn end(&self) -> Option<Ended> {
        self.state().end.as_ref().map(ended)
    }

    /// Commit frames that were handed out to this member of a group, together with the state of its result.
    ///
    /// `through` contains the epoch, the number and the step of the last frame to commit. Without it, the method commits all
    /// frames.
    #[pyo3(signature = (state, through=None))]
    fn commit(&self, py: Python<'_>, state: &[u8], through: Option<(u64, u64, i64)>) -> PyResult<()> {
        let holder = self.holder(py)?;
        let through = through.map(|(epoch, sequence, step)| Identity { epoch, sequence, step });
        py.detach(|| holder.commit(through, state)).map_err(|error| to_python(py, error))
    }

    /// Return the state that this member has committed last, or None without a commit.
    fn committed<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let holder = self.holder(py)?;
        let state = py.detach(|| holder.state()).map_err(|error| to_python(py, error))?;
        Ok(blob(py, &state))
    }

    /// Return the name of each member of the group and the state that it has committed last.
    fn members<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Option<Bound<'py, PyBytes>>)>> {
        let holder = self.holder(py)?;
        let states = py.detach(|| holder.states()).map_err(|error| to_python(py, error))?;
        Ok(states.into_iter().map(|(name, state)| (name, blob(py, &state))).collect())
    }

    /// Leave the channel. Frames that Python objects or arrays still use stay unchanged.
    fn close(&self, py: Python<'_>) {
        let holder = self.state().holder.take();
        // A thread that waits for a frame holds the consumer for a moment, so the interpreter is released.
        py.detach(|| holder.inspect(|holder| holder.leave()));
    }
}

fn blob<'py>(py: Python<'py>, state: &Committed) -> Option<Bound<'py, PyBytes>> {
    (state.n_commits > 0).then(|| PyBytes::new(py, &state.blob))
}
