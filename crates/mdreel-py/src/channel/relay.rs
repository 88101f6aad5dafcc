//! Relays: producers that pass the frames of another channel on.

use std::path::{Path, PathBuf};

use mdreel_channel::layout::Arriving;
use mdreel_channel::producer::{Policy, Producer, Settings};
use mdreel_channel::ring_file::Geometry;
use mdreel_core::Error;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use super::present::Present;
use super::producer::Place;
use super::{Manifest, SLICE, Until};
use crate::error::to_python;
use crate::patience::patiently;

/// A relay that publishes the frames of another channel on a channel of this node. See `mdreel.live.nodes.relay.Relay`.
#[pyclass(frozen, module = "mdreel._core")]
pub struct ChannelRelay(Present);

#[pymethods]
impl ChannelRelay {
    #[new]
    #[pyo3(signature = (path, manifest, n_slots, slot_bytes, staging))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        manifest: Manifest,
        n_slots: u64,
        slot_bytes: u64,
        staging: Option<Place>,
    ) -> PyResult<Self> {
        let manifest = manifest.into_core().map_err(|error| to_python(py, error))?;
        let place = path.clone();
        let producer = patiently(py, move || {
            let staging = staging.map(Place::open).transpose()?;
            let geometry = Geometry { n_slots, slot_len: slot_bytes };
            let policy = Policy::Block(SLICE);
            Producer::open_relay(&place, Settings { geometry, manifest, policy, resume_step: 0, staging })
        })?;
        Ok(ChannelRelay(Present::new(path, "relay", producer)))
    }

    /// Advance to a later epoch. Its frames replace the frames of earlier epochs from `resume_step` on.
    fn advance(&self, py: Python<'_>, epoch: u64, resume_step: i64) -> PyResult<()> {
        self.0.get(py, |producer| producer.advance(epoch, resume_step))
    }

    /// Declare that the first `n_numbers` numbers of the epoch stand for frames that are not missing.
    ///
    /// The relay must not have published a frame of the epoch yet.
    fn pass_over(&self, py: Python<'_>, n_numbers: u64) -> PyResult<()> {
        self.0.get(py, |producer| producer.pass_over(n_numbers))
    }

    /// Begin a frame of `n_bytes` bytes whose first piece is `first`.
    ///
    /// The method does not consume the piece. If the ring is full, it waits for at most `timeout` seconds; None means no limit.
    #[pyo3(signature = (first, n_bytes, timeout=None))]
    fn begin(
        &self,
        py: Python<'_>,
        first: PyReadonlyArray1<'_, u8>,
        n_bytes: usize,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let until = Until::new(py, timeout)?;
        let first = first.as_slice()?;
        loop {
            match self.0.call(py, |producer| producer.begin_relay(first, n_bytes)) {
                // No slot was free in time.
                Err(Error::StreamTimeout(_)) if !until.is_over() => py.check_signals()?,
                other => return other.map_err(|error| to_python(py, error)),
            }
        }
    }

    /// Append the next piece of the frame.
    ///
    /// If this completes the frame, the method publishes the frame unchanged and returns its number; otherwise, it returns None.
    fn relay(&self, py: Python<'_>, piece: PyReadonlyArray1<'_, u8>) -> PyResult<Option<u64>> {
        let piece = piece.as_slice()?;
        Ok(self.0.get(py, |producer| producer.relay(piece))?.map(|published| published.sequence))
    }

    /// End the channel, because no more frames will come. A second call does nothing.
    #[pyo3(signature = (how, reason=String::new()))]
    fn end(&self, py: Python<'_>, how: &str, reason: String) -> PyResult<()> {
        self.0.end(py, how, reason)
    }

    /// Leave the channel without an end record. Its consumers learn that the producer was lost, and the reason, if there is one.
    #[pyo3(signature = (reason=None))]
    fn leave(&self, py: Python<'_>, reason: Option<String>) -> PyResult<()> {
        match reason {
            Some(reason) => self.0.leave_because(py, &reason),
            None => {
                self.0.leave(py);
                Ok(())
            }
        }
    }

    /// Epoch of the next frame.
    #[getter]
    fn epoch(&self, py: Python<'_>) -> PyResult<u64> {
        self.0.get(py, |producer| Ok(producer.epoch()))
    }

    /// First step of this epoch.
    #[getter]
    fn first_step(&self, py: Python<'_>) -> PyResult<i64> {
        self.0.get(py, |producer| producer.first_step())
    }

    /// Lowest number that the next frame may have.
    #[getter]
    fn next_sequence(&self, py: Python<'_>) -> PyResult<u64> {
        self.0.get(py, |producer| Ok(producer.next_sequence()))
    }

    /// Epoch, number and step of the last frame in the ring; None without frames.
    #[getter]
    fn last(&self, py: Python<'_>) -> PyResult<Option<(u64, u64, i64)>> {
        let last = self.0.get(py, |producer| producer.last())?;
        Ok(last.map(|header| (header.epoch, header.sequence, header.step)))
    }

    /// Number of live consumers that take every frame.
    #[getter]
    fn n_consumers(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.get(py, |producer| producer.n_consumers())
    }
}

/// Return the epoch, the number and the step of a frame of `n_bytes` bytes whose first piece is `first`.
///
/// The function checks only the header of the frame.
#[pyfunction]
pub(crate) fn channel_frame_identity(
    py: Python<'_>,
    first: PyReadonlyArray1<'_, u8>,
    n_bytes: usize,
) -> PyResult<(u64, u64, i64)> {
    let header = Arriving::header_of(Path::new("<frame>"), first.as_slice()?, n_bytes);
    let header = header.map_err(|error| to_python(py, error))?;
    Ok((header.epoch, header.sequence, header.step))
}
