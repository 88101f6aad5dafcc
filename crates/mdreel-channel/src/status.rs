//! The state of a channel, for who looks at it and takes no part.

use std::path::Path;
use std::time::Duration;

use super::atomic::Ordering;
use super::clock;
use super::directory::Directory;
use super::end::End;
use super::epochs;
use super::lock::{Locks, PRODUCER};
use super::loss;
use super::manifest::Manifest;
use super::participants::{self, Participant};
use super::ring_file::{Geometry, MOST_EPOCHS, RingFile};
use mdreel_core::error::Result;

/// What can be seen of a channel at a moment. Its parts are read one after the other, while it goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// What holds for all frames.
    pub manifest: Manifest,
    /// The size of the ring.
    pub geometry: Geometry,
    /// The incarnation of the producer.
    pub epoch: u64,
    /// The first step of each epoch.
    pub resume_steps: Vec<i64>,
    /// The number of the next frame.
    pub sequence: u64,
    /// Frames that the ring has got so far.
    pub n_published: u64,
    /// Frames that were overwritten before every consumer had seen them.
    pub n_dropped: u64,
    /// Whether there is a producer.
    pub has_producer: bool,
    /// How it ended, if it has.
    pub end: Option<End>,
    /// Why the producer was lost: `None` unless it was.
    pub loss: Option<String>,
    /// How far each consumer that takes every frame is behind, in frames.
    pub lags: Vec<u64>,
    /// Bytes that the ring takes.
    pub n_bytes: usize,
    /// The process of the producer; `None` without a producer, and if it is not known.
    pub producer: Option<Participant>,
    /// All consumers, also those that take only the newest frame or read staging.
    pub consumers: Vec<ConsumerStatus>,
    /// For how long the producer has waited for room; `None` if it does not.
    pub waits: Option<Duration>,
    /// With which number of a frame the run began; `None` if that is not known for sure.
    pub first_of_run: Option<u64>,
    /// When the run ended, in seconds since 1970; `None` while it goes on, and if that is not known.
    pub ended_at: Option<f64>,
}

/// What can be seen of a consumer.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsumerStatus {
    /// Its process, if that is known.
    pub process: Option<Participant>,
    /// How far it is behind, in frames; `None` if nobody has to wait for it.
    pub lag: Option<u64>,
    /// Whether it takes only the newest frame.
    pub takes_latest: bool,
    /// Whether the producer waits for it now.
    pub is_waited_for: bool,
}

impl Status {
    /// The state of the channel in a directory.
    pub fn of(path: &Path) -> Result<Self> {
        let directory = Directory::open(path)?;
        let ring = RingFile::open(&directory, false)?;
        let manifest = Manifest::read(&directory)?;
        let locks = Locks::open(&directory, "lock", false)?;
        // Before the end record: one that is written by a producer that ends meanwhile is then seen.
        let has_producer = locks.is_taken(PRODUCER)?;
        let head = ring.head();
        let since = Some(head.waits_since.load(Ordering::Relaxed)).filter(|since| {
            has_producer && *since > 0 && clock::is_waiting(head.waited_at.load(Ordering::Relaxed), clock::now())
        });
        let consumers = consumers(&directory, &ring, &locks, since.is_some())?;
        let (end, ended_at) = (End::read(head), head.ended_at.load(Ordering::Relaxed));
        let loss = (!has_producer && end.is_none()).then(|| loss::reason(path));
        // A new producer replaces the records from which the reason was read.
        let has_successor = loss.is_some() && locks.is_taken(PRODUCER)?;
        let epoch = head.epoch.load(Ordering::Acquire);
        let words = head.resume_steps.iter().take(epoch.saturating_add(1).min(MOST_EPOCHS as u64) as usize);
        Ok(Status {
            manifest,
            geometry: ring.geometry(),
            epoch,
            resume_steps: words.map(|word| word.load(Ordering::Relaxed).cast_signed()).collect(),
            sequence: head.sequence.load(Ordering::Relaxed),
            n_published: head.control.n_frames.load(Ordering::Acquire),
            n_dropped: head.control.dropped.load(Ordering::Relaxed),
            has_producer,
            ended_at: (end.is_some() && ended_at > 0).then(|| ended_at as f64 / 1e3),
            loss: loss.filter(|_| !has_successor),
            end,
            lags: consumers.iter().filter_map(|consumer| consumer.lag).collect(),
            n_bytes: ring.n_bytes(),
            first_of_run: Some(epochs::run_of(head, epoch)).filter(|run| run.is_certain).map(|run| run.first),
            producer: has_producer.then(|| participants::holder(&directory, PRODUCER)).flatten(),
            consumers,
            waits: since.map(|since| Duration::from_nanos(clock::now().saturating_sub(since))),
        })
    }

    /// Whether the producer has died without an end record.
    pub fn is_lost(&self) -> bool {
        !self.has_producer && self.end.is_none()
    }
}

/// The consumers that live. A cursor of a dead one is freed when the ring is full.
fn consumers(directory: &Directory, ring: &RingFile, locks: &Locks, is_waiting: bool) -> Result<Vec<ConsumerStatus>> {
    let ring = ring.protocol();
    let lags: Vec<(usize, u64)> = ring.lags().collect();
    let blockers = if is_waiting { ring.blockers() } else { Vec::new() };
    let mut consumers = Vec::new();
    for (number, cursor) in ring.used().iter().enumerate() {
        let byte = PRODUCER + 1 + number as u64;
        if locks.is_taken(byte)? {
            consumers.push(ConsumerStatus {
                process: participants::holder(directory, byte),
                lag: lags.iter().find(|(of, _)| *of == number).map(|(_, lag)| *lag),
                takes_latest: cursor.takes_latest(),
                is_waited_for: blockers.contains(&number),
            });
        }
    }
    Ok(consumers)
}
