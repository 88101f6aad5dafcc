//! Channels: frames of a running simulation, for analyses on the same node. See `mdreel.live`.

pub(crate) mod compressed;
pub(crate) mod consumer;
pub(crate) mod frame;
mod present;
pub(crate) mod producer;
pub(crate) mod relay;
pub(crate) mod source;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use mdreel_channel::consumer::Start;
use mdreel_channel::end::End;
use mdreel_channel::group::declare;
use mdreel_channel::group::file::Mode;
use mdreel_channel::manifest::Manifest as CoreManifest;
use mdreel_channel::participants::Participant;
use mdreel_channel::ring_file::N_CURSORS;
use mdreel_channel::section::{DataType, SectionKind};
use mdreel_channel::status::Status;
use mdreel_core::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::to_python;

/// The longest time that the core waits before Python checks for signals.
const SLICE: Duration = Duration::from_millis(50);

const KINDS: [(&str, SectionKind); 4] = [
    ("positions", SectionKind::Positions),
    ("velocities", SectionKind::Velocities),
    ("forces", SectionKind::Forces),
    ("energies", SectionKind::Energies),
];
const DATA_TYPES: [(&str, DataType); 4] = [
    ("float32", DataType::Float32),
    ("float64", DataType::Float64),
    ("xtc", DataType::Xtc),
    ("type and float64", DataType::TypeAndFloat64),
];

/// Returns the value of this name among `known`.
pub(crate) fn named<T: Copy>(what: &str, known: &[(&str, T)], name: &str) -> Result<T> {
    let names = || known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    found.ok_or_else(|| Error::unsupported(format!("unknown {what} {name:?}; known: {}", names())))
}

fn kind_named(name: &str) -> Result<SectionKind> {
    named("section", &KINDS, name)
}

fn data_type_named(name: &str) -> Result<DataType> {
    named("data type", &DATA_TYPES, name)
}

/// Returns the name of a section.
fn kind_name(kind: SectionKind) -> String {
    kind.to_string()
}

/// Returns the name of a data type.
fn data_type_name(data_type: DataType) -> &'static str {
    DATA_TYPES.iter().find(|(_, value)| *value == data_type).map_or("unknown", |(name, _)| *name)
}

/// The properties that all frames share, from the Python class `mdreel.live.channels.manifest.Manifest`.
#[derive(FromPyObject)]
pub(crate) struct Manifest {
    stream: u64,
    topology_hash: [u8; 32],
    n_atoms: u64,
    units: Vec<(String, String)>,
    time_step: f64,
    stride: u64,
    /// The sections of each frame, as names of kinds and of data types.
    sections: Vec<(String, String)>,
    energies: Vec<String>,
}

impl Manifest {
    fn into_core(self) -> Result<CoreManifest> {
        let Manifest { stream, topology_hash, n_atoms, units, time_step, stride, sections, energies } = self;
        let number = |(name, data_type): (String, String)| -> Result<(u16, u16, String)> {
            let kind = kind_named(&name)?;
            let number = kind.number().ok_or_else(|| Error::unsupported(format!("{kind} has no number")))?;
            Ok((number, data_type_named(&data_type)?.number(), name))
        };
        let sections = sections.into_iter().map(number).collect::<Result<_>>()?;
        Ok(CoreManifest { stream, topology_hash, n_atoms, units, time_step, stride, sections, energies })
    }
}

/// Converts a manifest to the arguments of the Python class `mdreel.live.channels.manifest.Manifest`.
fn said<'py>(py: Python<'py>, manifest: &CoreManifest) -> PyResult<Bound<'py, PyDict>> {
    let said = PyDict::new(py);
    let section = |(_, data_type, name): &(u16, u16, String)| {
        let data_type = DataType::from_number(*data_type).map_or("unknown", data_type_name);
        (name.clone(), data_type)
    };
    said.set_item("stream", manifest.stream)?;
    said.set_item("topology_hash", PyBytes::new(py, &manifest.topology_hash))?;
    said.set_item("n_atoms", manifest.n_atoms)?;
    said.set_item("units", manifest.units.clone())?;
    said.set_item("time_step", manifest.time_step)?;
    said.set_item("stride", manifest.stride)?;
    said.set_item("sections", manifest.sections.iter().map(section).collect::<Vec<_>>())?;
    said.set_item("energies", manifest.energies.clone())?;
    Ok(said)
}

/// The end of a channel: a word, and the reason if it is a failure.
pub(crate) type Ended = (&'static str, Option<String>);

pub(crate) fn ended(end: &End) -> Ended {
    match end {
        End::Finished => ("finished", None),
        End::Stopped => ("stopped", None),
        End::Failed(reason) => ("failed", Some(reason.clone())),
    }
}

/// Returns the end of this name.
pub(crate) fn end_named(name: &str, reason: String) -> Result<End> {
    match name {
        "finished" => Ok(End::Finished),
        "stopped" => Ok(End::Stopped),
        "failed" => Ok(End::Failed(reason)),
        _ => Err(Error::unsupported(format!("unknown end {name:?}; known: finished, stopped, failed"))),
    }
}

/// The start of a consumer: a word, and a number for some of the words.
#[derive(FromPyObject)]
pub(crate) struct Begin<'py>(String, Option<Bound<'py, PyAny>>);

impl Begin<'_> {
    fn start(&self, py: Python<'_>) -> PyResult<Start> {
        let Begin(word, number) = self;
        match (word.as_str(), number) {
            ("earliest", None) => Ok(Start::Earliest),
            ("latest", None) => Ok(Start::Latest),
            ("sequence", Some(number)) => Ok(Start::Sequence(number.extract()?)),
            ("step", Some(number)) => Ok(Start::Step(number.extract()?)),
            ("time", Some(number)) => Ok(Start::Time(number.extract()?)),
            _ => {
                let known = "earliest, latest, or sequence, step or time with a number";
                Err(to_python(py, Error::unsupported(format!("unknown start {word:?}; known: {known}"))))
            }
        }
    }
}

/// Converts a time in seconds that a user has given.
pub(crate) fn duration(py: Python<'_>, what: &str, seconds: f64) -> PyResult<Duration> {
    let wrong = |_| Error::mismatch(format!("{what} must be a time in seconds, 0 or more, not {seconds}"));
    Duration::try_from_secs_f64(seconds).map_err(|error| to_python(py, wrong(error)))
}

/// The end of a wait.
struct Until {
    seconds: Option<f64>,
    /// The time at which the wait ends; `None` if it has no limit.
    end: Option<Instant>,
}

impl Until {
    fn new(py: Python<'_>, seconds: Option<f64>) -> PyResult<Self> {
        let time = seconds.map(|seconds| duration(py, "timeout", seconds)).transpose()?;
        Ok(Until { seconds, end: time.and_then(|time| Instant::now().checked_add(time)) })
    }

    /// Returns how long to wait before Python checks for signals.
    fn slice(&self) -> Duration {
        self.end.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()).min(SLICE))
    }

    fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Describes the length of the wait, for messages.
    fn said(&self) -> String {
        self.seconds.map_or_else(String::new, |seconds| format!("within {seconds} s"))
    }
}

/// Return the state of the channel in a directory, without joining it. See `mdreel.live.channels.status.Status`.
#[pyfunction]
pub(crate) fn channel_status<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let status = py.detach(|| Status::of(&path)).map_err(|error| to_python(py, error))?;
    let facts = PyDict::new(py);
    facts.set_item("manifest", said(py, &status.manifest)?)?;
    facts.set_item("n_slots", status.geometry.n_slots)?;
    facts.set_item("slot_bytes", status.geometry.slot_len)?;
    facts.set_item("n_bytes", status.n_bytes)?;
    facts.set_item("epoch", status.epoch)?;
    facts.set_item("resume_steps", status.resume_steps)?;
    facts.set_item("sequence", status.sequence)?;
    facts.set_item("n_published", status.n_published)?;
    facts.set_item("n_dropped", status.n_dropped)?;
    facts.set_item("has_producer", status.has_producer)?;
    facts.set_item("end", status.end.as_ref().map(ended))?;
    facts.set_item("loss", status.loss)?;
    facts.set_item("lags", status.lags)?;
    facts.set_item("producer", status.producer.as_ref().map(|found| process(py, found)).transpose()?)?;
    let consumers = status.consumers.iter().map(|consumer| -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        facts.set_item("process", consumer.process.as_ref().map(|found| process(py, found)).transpose()?)?;
        facts.set_item("lag", consumer.lag)?;
        facts.set_item("takes_latest", consumer.takes_latest)?;
        facts.set_item("is_waited_for", consumer.is_waited_for)?;
        Ok(facts)
    });
    facts.set_item("consumers", consumers.collect::<PyResult<Vec<_>>>()?)?;
    facts.set_item("waits", status.waits.map(|waits| waits.as_secs_f64()))?;
    facts.set_item("ended_at", status.ended_at)?;
    facts.set_item("first_of_run", status.first_of_run)?;
    Ok(facts)
}

/// Converts a process to the arguments of the Python class `mdreel.live.channels.participant.Participant`.
fn process<'py>(py: Python<'py>, found: &Participant) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("process", found.process)?;
    facts.set_item("host", &found.host)?;
    facts.set_item("command", &found.command)?;
    facts.set_item("joined", found.joined)?;
    Ok(facts)
}

/// Create a consumer group of the channel in a directory. The group begins with the next frame.
///
/// If the group exists, the function does not change it. With `shares`, the members of the group share the frames; otherwise,
/// each member receives all frames.
#[pyfunction]
pub(crate) fn channel_declare_group(py: Python<'_>, path: PathBuf, group: &str, shares: bool) -> PyResult<()> {
    let mode = if shares { Mode::Share } else { Mode::Broadcast };
    py.detach(|| declare(&path, group, mode)).map_err(|error| to_python(py, error))
}

/// Return the largest number of consumers that a channel can have at a time.
#[pyfunction]
pub(crate) fn channel_most_consumers() -> usize {
    N_CURSORS
}
