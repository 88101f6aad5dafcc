//! Channels as sources of frames.

use std::path::PathBuf;
use std::sync::Arc;

use mdreel_channel::source::{ChannelSource, Settings};
use mdreel_core::source::open::Opened;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Begin, duration};
use crate::error::to_python;
use crate::origin::Origin;
use crate::source::Source;

const ONCE: &str = "the frames of a channel come once, to one process: use the threads or the serial executor";

/// Open a channel as a growing trajectory. See `mdreel.live.channels.channel.Channel.source`.
#[pyfunction]
#[pyo3(signature = (path, start, timeout, restart, memory, bears_missed, bears_late=true))]
#[expect(clippy::too_many_arguments, reason = "named by the caller")]
pub(crate) fn channel_source(
    py: Python<'_>,
    path: PathBuf,
    start: Begin<'_>,
    timeout: Option<f64>,
    restart: f64,
    memory: usize,
    bears_missed: bool,
    bears_late: bool,
) -> PyResult<Source> {
    let timeout = timeout.map(|timeout| duration(py, "timeout", timeout)).transpose()?;
    let (start, restart) = (start.start(py)?, duration(py, "restart", restart)?);
    let settings = Settings { start, timeout, restart, memory, bears_missed, bears_late };
    let joined = py.detach(|| ChannelSource::join(&path, settings));
    let source = Arc::new(joined.map_err(|error| to_python(py, error))?);
    let facts = PyDict::new(py);
    facts.set_item("format", "channel")?;
    facts.set_item("path", source.path().as_os_str())?;
    let counted = Arc::clone(&source);
    let opened = Opened::Other(source, "channel".into());
    let described = Source::described(opened, Origin::Nowhere(ONCE), facts.into_any());
    Ok(described.leaving_out(Arc::new(move || (counted.n_late(), counted.n_missed()))))
}
