//! The state of a channel, for observers that take no part in it.

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

/// The state of a channel. Its parts are read one after the other while the channel is in use, so they may differ in age.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// The properties that all frames share.
    pub manifest: Manifest,
    /// The size of the ring.
    pub geometry: Geometry,
    /// The number of the producer's incarnation.
    pub epoch: u64,
    /// The first step of each epoch.
    pub resume_steps: Vec<i64>,
    /// The number of the next frame.
    pub sequence: u64,
    /// The number of frames published into the ring so far.
    pub n_published: u64,
    /// The number of frames that were overwritten before every consumer had seen them.
    pub n_dropped: u64,
    /// Whether there is a producer.
    pub has_producer: bool,
    /// The end of the channel, if it has ended.
    pub end: Option<End>,
    /// The reason for which the producer was lost; `None` unless it was.
    pub loss: Option<String>,
    /// The lag of each consumer that takes every frame, in frames.
    pub lags: Vec<u64>,
    /// The size of the ring in bytes.
    pub n_bytes: usize,
    /// The process of the producer; `None` without a producer, or if it is not known.
    pub producer: Option<Participant>,
    /// All consumers, including those that take only the newest frame or read staging.
    pub consumers: Vec<ConsumerStatus>,
    /// For how long the producer has waited for a free slot; `None` if it does not wait.
    pub waits: Option<Duration>,
    /// The number of the first frame of the run; `None` if that is not known for sure.
    pub first_of_run: Option<u64>,
    /// The time at which the run ended, in seconds since 1970; `None` while it goes on, or if that is not known.
    pub ended_at: Option<f64>,
}

/// The state of a consumer.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsumerStatus {
    /// The process of the consumer, if it is known.
    pub process: Option<Participant>,
    /// The lag in frames; `None` if the producer never has to wait for this consumer.
    pub lag: Option<u64>,
    /// Whether the consumer takes only the newest frame.
    pub takes_latest: bool,
    /// Whether the producer is waiting for this consumer.
    pub is_waited_for: bool,
}

impl Status {
    /// Reads the state of the channel in a directory.
    pub fn of(path: &Path) -> Result<Self> {
        let directory = Directory::open(path)?;
        let ring = RingFile::open(&directory, false)?;
        let manifest = Manifest::read(&directory)?;
        let locks = Locks::open(&directory, "lock", false)?;
        // This check comes before reading the end record. If a producer ends in between, its end record is seen.
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

    /// Returns whether the producer has died without an end record.
    pub fn is_lost(&self) -> bool {
        !self.has_producer && self.end.is_none()
    }
}

/// Returns the consumers that are alive. The producer frees the cursor of a dead one when the ring is full.
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
