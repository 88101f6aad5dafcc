//! Files that mdreel follows while they grow.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mdreel_core::Error;
use mdreel_core::pool::POLL_INTERVAL;
use mdreel_core::source::follow::{Ending, Follow, Settings};
use mdreel_core::source::growth::Growth;
use mdreel_core::source::open::{Opened, Options};
use mdreel_core::source::{Source as CoreSource, SourceExt};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::to_python;
use crate::origin::Origin;
use crate::source::Source;

/// Follow a file while it grows, and return once its first frame is available. See `mdreel.trajectory.follow`.
#[pyfunction]
#[pyo3(signature = (path, n_frames, idle, stop_file, process, timeout, format, index, notify, recipe))]
#[expect(clippy::too_many_arguments, reason = "named by the caller")]
pub(crate) fn follow_file(
    py: Python<'_>,
    path: PathBuf,
    n_frames: Option<u64>,
    idle: Option<f64>,
    stop_file: Option<PathBuf>,
    process: Option<u32>,
    timeout: Option<f64>,
    format: Option<&str>,
    index: &str,
    notify: bool,
    recipe: (Py<PyAny>, Py<PyAny>),
) -> PyResult<Source> {
    let settings = || -> Result<Settings, Error> {
        let options = Options::from_names(format, "read", index, "keep")?;
        let (idle, timeout) = (seconds("idle", idle)?, seconds("timeout", timeout)?);
        let ending = Ending { n_frames, idle, stop_file, process };
        Ok(Settings { ending, format: options.format, timeout, keep: options.keep, may_notify: notify })
    };
    let settings = settings().map_err(|error| to_python(py, error))?;
    let mut raised = None;
    let opened = py.detach(|| {
        let mut keep_waiting = || {
            raised = Python::attach(|py| py.check_signals().err());
            raised.is_none()
        };
        Follow::open(&path, &settings, &mut keep_waiting)
    });
    if let Some(error) = raised {
        return Err(error);
    }
    let follow = opened.map_err(|error| to_python(py, error))?;
    let facts = PyDict::new(py);
    facts.set_item("format", follow.format().name())?;
    facts.set_item("path", follow.path().as_os_str())?;
    facts.set_item("followed", true)?;
    let format = follow.format().name();
    Ok(Source::described(Opened::Other(Arc::new(follow), format.into()), Origin::Recipe(recipe), facts.into_any()))
}

fn seconds(what: &str, given: Option<f64>) -> Result<Option<Duration>, Error> {
    let wrong = |given: f64| Error::mismatch(format!("{what} must be a time in seconds, 0 or more, not {given}"));
    given.map(|given| Duration::try_from_secs_f64(given).map_err(|_| wrong(given))).transpose()
}

/// Waits for `frame` of a growing source. A signal that Python reports ends the wait with its exception.
pub(crate) fn await_frame(py: Python<'_>, source: &dyn CoreSource, frame: u64) -> PyResult<()> {
    let Some(growth) = source.growth() else { return Ok(()) };
    growth.check_reach(frame).map_err(|error| to_python(py, error))?;
    await_until(py, growth, frame, None).map(|_| ())
}

/// Wait for a frame of a growing trajectory, and return the number of available frames and whether no more will come.
///
/// The wait ends when the frame is available, when the trajectory has ended, or after `seconds` seconds. From now on, the
/// caller needs only every `step`-th frame from this one on.
#[pyfunction]
pub(crate) fn await_arrival(
    py: Python<'_>,
    source: &Source,
    frame: u64,
    step: u64,
    seconds: f64,
) -> PyResult<(u64, bool)> {
    let source = source.shared();
    let time = self::seconds("seconds", Some(seconds)).map_err(|error| to_python(py, error))?;
    match source.growth() {
        Some(growth) => {
            growth.want(frame, step);
            await_until(py, growth, frame, time.and_then(|time| Instant::now().checked_add(time)))
        }
        None => Ok((source.n_frames().map_err(|error| to_python(py, error))?, true)),
    }
}

fn await_until(py: Python<'_>, growth: &dyn Growth, frame: u64, until: Option<Instant>) -> PyResult<(u64, bool)> {
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let slice = left.map_or(POLL_INTERVAL, |left| left.min(POLL_INTERVAL));
        let arrival = py.detach(|| growth.await_frame(frame, slice)).map_err(|error| to_python(py, error))?;
        if arrival.settles(frame) || left.is_some_and(|left| left.is_zero()) {
            return Ok((arrival.n_frames, arrival.is_ended));
        }
        py.check_signals()?;
    }
}
