//! The state of a channel, for who looks at it and takes no part.

use std::path::Path;

use super::atomic::Ordering;
use super::directory::Directory;
use super::end::End;
use super::lock::{Locks, PRODUCER};
use super::manifest::Manifest;
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
    /// How far each consumer that takes every frame is behind, in frames.
    pub lags: Vec<u64>,
    /// Bytes that the ring takes.
    pub n_bytes: usize,
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
        let mut lags = Vec::new();
        for (cursor, lag) in ring.protocol().lags() {
            // A cursor of a dead consumer is freed when the ring is full.
            if locks.is_taken(PRODUCER + 1 + cursor as u64)? {
                lags.push(lag);
            }
        }
        let head = ring.head();
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
            end: End::read(head),
            lags,
            n_bytes: ring.n_bytes(),
        })
    }

    /// Whether the producer has died without an end record.
    pub fn is_lost(&self) -> bool {
        !self.has_producer && self.end.is_none()
    }
}
