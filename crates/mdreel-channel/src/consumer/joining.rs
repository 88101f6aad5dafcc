//! The entry of consumers into the ring of a channel.

use std::path::Path;
use std::sync::Arc;

use super::{Consumer, Start};
use crate::atomic::{N_PINS, Ordering};
use crate::directory::Directory;
use crate::lock::{Locks, PRODUCER};
use crate::manifest::Manifest;
use crate::missed::Missed;
use crate::participants;
use crate::protocol::Taken;
use crate::ring_file::{N_CURSORS, RingFile};
use crate::segment_maps::SegmentMaps;
use mdreel_core::error::{Error, Result};

impl Consumer {
    /// Joins the channel in a directory. The channel need not have a producer any more.
    pub fn join(path: &Path, start: Start) -> Result<Self> {
        Self::enter(path, start, false)
    }

    /// Joins as `join` does, but takes only the newest frame, so that no producer waits for this consumer.
    pub fn join_latest(path: &Path) -> Result<Self> {
        Self::enter(path, Start::Earliest, true)
    }

    fn enter(path: &Path, start: Start, takes_latest: bool) -> Result<Self> {
        let directory = Directory::open(path)?;
        let ring = RingFile::open(&directory, false)?;
        ring.populate();
        let manifest = Manifest::read(&directory)?;
        let locks = Locks::open(&directory, "lock", false)?;
        let mut free = None;
        for cursor in 0..N_CURSORS {
            if locks.take(PRODUCER + 1 + cursor as u64)? {
                free = Some(cursor);
                break;
            }
        }
        let Some(cursor) = free else {
            let message = format!("the channel already has {N_CURSORS} consumers, and no more fit");
            return Err(Error::stream(message).in_file(path));
        };
        participants::record(&directory, PRODUCER + 1 + cursor as u64);
        // A dead consumer may have left its state in the cursor.
        ring.protocol().cursors[cursor].clear();
        let mut consumer = Consumer {
            path: path.to_owned(),
            ring: Arc::new(ring),
            segments: SegmentMaps::new(path),
            locks,
            manifest,
            cursor,
            takes_latest,
            position: 0,
            ordinal: 0,
            borrowed: None,
            held: [false; N_PINS],
            is_away: false,
            missed: Missed::default(),
            start,
            last: None,
        };
        consumer.begin(start == Start::Latest);
        Ok(consumer)
    }

    /// Enters the ring at its first frame, or after its last one.
    pub(super) fn begin(&mut self, is_behind: bool) {
        let ring = self.ring.protocol();
        let from = if is_behind { &ring.control.head } else { &ring.control.tail };
        let position = ring.join(self.cursor, from.load(Ordering::Acquire), self.takes_latest);
        // The number is loaded before `take`: if that finds no frame, this is the number of frames before the next one.
        let mut first = ring.control.n_frames.load(Ordering::Acquire);
        let pin = self.free_pin();
        if let Taken::Frame { ordinal, .. } = ring.take(self.cursor(), pin, position) {
            first = ordinal;
            ring.unpin(self.cursor(), pin);
        }
        (self.position, self.ordinal) = (position, first);
    }
}
