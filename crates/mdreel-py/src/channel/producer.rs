//! Producers of channels.

use std::path::PathBuf;
use std::time::Duration;

use mdreel_channel::layout::{Section, frame_len};
use mdreel_channel::producer::{Moment, Policy, Producer, Settings};
use mdreel_channel::ring_file::Geometry;
use mdreel_channel::staging::{Durability, Retention, Staging};
use mdreel_core::{Error, Result};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use super::present::Present;
use super::{Manifest, SLICE, Until, data_type_named, kind_named};
use crate::error::to_python;
use crate::patience::patiently;

const LEVELS: [(&str, Durability); 3] =
    [("ring", Durability::Ring), ("file", Durability::File), ("fsync", Durability::Fsync)];

/// The staging of a channel, from the Python class `mdreel.live.channels.staging.Staging`.
#[derive(FromPyObject)]
pub(crate) struct Place {
    path: PathBuf,
    level: String,
    n_frames: Option<u64>,
    n_bytes: Option<u64>,
    seconds: Option<f64>,
    segment_bytes: u64,
}

impl Place {
    pub(super) fn open(self) -> Result<Staging> {
        let level = super::named("level", &LEVELS, &self.level)?;
        let wrong = |_| {
            Error::mismatch(format!("expected a time in seconds, 0 or more, got {}", self.seconds.unwrap_or_default()))
        };
        let age = self.seconds.map(Duration::try_from_secs_f64).transpose().map_err(wrong)?;
        let retention = Retention { count: self.n_frames, bytes: self.n_bytes, age, segment: self.segment_bytes };
        Staging::open(&self.path, level, retention)
    }
}

type PolicyOf = fn(Duration) -> Policy;
const POLICIES: [(&str, PolicyOf); 3] = [("block", Policy::Block), ("drop-oldest", drop_oldest), ("spill", spill)];

/// Returns the policy that drops the oldest frames. It does not wait.
fn drop_oldest(_: Duration) -> Policy {
    Policy::DropOldest
}

/// Returns the policy that spills frames. A frame for which the ring has no slot is in staging only, which receives every frame.
fn spill(_: Duration) -> Policy {
    Policy::Spill(Box::new(|_| Ok(())))
}

/// A section to be published: its name, its data type, and its bytes.
type Given<'py> = (String, String, PyReadonlyArray1<'py, u8>);

fn of_given<'a>(py: Python<'_>, given: &'a [Given<'_>]) -> PyResult<Vec<Section<'a>>> {
    let section = given.iter().map(|(name, data_type, bytes)| -> PyResult<Section<'a>> {
        let named = kind_named(name).and_then(|kind| Ok((kind, data_type_named(data_type)?)));
        let (kind, data_type) = named.map_err(|error| to_python(py, error))?;
        Ok(Section { kind, data_type, bytes: bytes.as_slice()? })
    });
    section.collect()
}

/// A producer that publishes frames on a channel. See `mdreel.live.producers.producer.Producer`.
#[pyclass(frozen, module = "mdreel._core")]
pub struct ChannelProducer(Present);

#[pymethods]
impl ChannelProducer {
    #[new]
    #[pyo3(signature = (path, manifest, n_slots, slot_bytes, full, resume_step, staging))]
    #[expect(clippy::too_many_arguments, reason = "named by the caller")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        manifest: Manifest,
        n_slots: u64,
        slot_bytes: u64,
        full: &str,
        resume_step: i64,
        staging: Option<Place>,
    ) -> PyResult<Self> {
        let policy = super::named("way with a full ring", &POLICIES, full);
        let settings = policy.and_then(|policy| Ok((policy(SLICE), manifest.into_core()?)));
        let (policy, manifest) = settings.map_err(|error| to_python(py, error))?;
        let place = path.clone();
        // Opening a staging reads its content, which takes longer the more there is.
        let producer = patiently(py, move || {
            let staging = staging.map(Place::open).transpose()?;
            let geometry = Geometry { n_slots, slot_len: slot_bytes };
            Producer::open(&place, Settings { geometry, manifest, policy, resume_step, staging })
        })?;
        Ok(ChannelProducer(Present::new(path, "producer", producer)))
    }

    /// Publish a frame, and return its number and the durability that it has reached.
    ///
    /// `time` is in ps. `cell` contains the row vectors of the cell, one after another, in Å, or is None. Each section consists of
    /// its name, data type and bytes. If the ring is full and the policy is `block`, the method waits for at most `timeout`
    /// seconds; None means no limit. The durability is `ring`, `file` or `fsync`, or `dropped` if the frame was dropped.
    #[pyo3(signature = (step, time, cell, sections, timeout=None))]
    fn publish(
        &self,
        py: Python<'_>,
        step: i64,
        time: f64,
        cell: Option<[f64; 9]>,
        sections: Vec<Given<'_>>,
        timeout: Option<f64>,
    ) -> PyResult<(u64, &'static str)> {
        let until = Until::new(py, timeout)?;
        let (sections, moment) = (of_given(py, &sections)?, Moment { step, time, cell });
        loop {
            match self.0.call(py, |producer| producer.publish(&moment, &sections)) {
                Ok(published) => {
                    if published.is_dropped && published.level == Durability::Ring {
                        return Ok((published.sequence, "dropped"));
                    }
                    let level = LEVELS.iter().find(|(_, level)| *level == published.level);
                    return Ok((published.sequence, level.map_or("unknown", |(name, _)| *name)));
                }
                // No slot was free in time, and the frame was not accepted.
                Err(Error::StreamTimeout(_)) if !until.is_over() => py.check_signals()?,
                Err(error) => return Err(to_python(py, error)),
            }
        }
    }

    /// End the channel, because no more frames will come. A second call does nothing.
    ///
    /// `how` is `finished`, `stopped` or `failed`, and `reason` is the reason of a failure.
    #[pyo3(signature = (how, reason=String::new()))]
    fn end(&self, py: Python<'_>, how: &str, reason: String) -> PyResult<()> {
        self.0.end(py, how, reason)
    }

    /// Leave the channel without an end record, like a producer that has died.
    fn leave(&self, py: Python<'_>) {
        self.0.leave(py);
    }

    /// Whether the producer has left the channel.
    #[getter]
    fn has_left(&self, py: Python<'_>) -> bool {
        self.0.has_left(py)
    }

    /// Number of the epoch: how often the channel was opened before.
    #[getter]
    fn epoch(&self, py: Python<'_>) -> PyResult<u64> {
        self.0.get(py, |producer| Ok(producer.epoch()))
    }

    /// Number of frames that were overwritten before every consumer had seen them, or that were dropped.
    #[getter]
    fn dropped(&self, py: Python<'_>) -> PyResult<u64> {
        self.0.get(py, |producer| Ok(producer.dropped()))
    }

    /// Number of frames by which the slowest consumer is behind; None without consumers.
    #[getter]
    fn lag(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.0.get(py, |producer| Ok(producer.lag()))
    }

    /// Number of live consumers that take every frame.
    #[getter]
    fn n_consumers(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.call(py, |producer| producer.n_consumers()).map_err(|error| to_python(py, error))
    }
}

/// Return the number of bytes of a frame whose sections have these numbers of bytes.
#[pyfunction]
pub(crate) fn channel_frame_bytes(py: Python<'_>, sections: Vec<usize>) -> PyResult<usize> {
    let length = frame_len(sections.into_iter());
    length.ok_or_else(|| to_python(py, Error::mismatch("a frame of more bytes than there can be")))
}
