//! A producer that relays the frames of another channel. The frames keep their numbers, epochs and checksums.
//!
//! The frames may arrive through a network, so the relay checks everything before it uses it.

use std::path::Path;

use super::arrival::Arrival;
use super::{Policy, Producer, Published, Settings};
use crate::atomic::Ordering;
use crate::epochs::UNCERTAIN;
use crate::layout::{Arriving, FrameView, Header};
use crate::ring_file::MOST_EPOCHS;
use crate::segment_maps::SegmentMaps;
use crate::staging::Durability;
use mdreel_core::error::{Error, Result};

/// The resume step of an epoch in which nothing is published. No frame of another epoch is skipped because of it.
const NEVER: i64 = i64::MAX;
/// The resume step of a run whose beginning is unknown.
const ANY: i64 = i64::MIN;

impl Producer {
    /// Opens the channel in a directory as the relay of another channel. The relay continues in the current epoch of the channel,
    /// after the frames that the channel has. It neither spills nor drops frames.
    pub fn open_relay(path: &Path, settings: Settings) -> Result<Self> {
        if !matches!(settings.policy, Policy::Block(_)) {
            return Err(
                Error::mismatch("a relay waits for its consumers: it neither spills nor drops frames").in_file(path)
            );
        }
        let mut producer = Self::enter(path, settings)?;
        let n_before = producer.ring.head().n_epochs.load(Ordering::Relaxed);
        let (next, unseen) = producer.count_on(n_before > 0)?;
        let mut steps = producer.resume_steps()?;
        if steps.is_empty() {
            steps.push(ANY);
        }
        producer.set_epochs(&steps)?;
        if let Some((_, frame)) = unseen {
            producer.publish_late(&frame)?;
        }
        producer.begin_at(next);
        Ok(producer)
    }

    /// Advances to a later epoch of the other channel. Its frames replace the frames of earlier epochs from `resume_step` on.
    pub fn advance(&mut self, epoch: u64, resume_step: i64) -> Result<()> {
        self.locks.check()?;
        if epoch <= self.epoch || epoch >= MOST_EPOCHS as u64 {
            let expected = format!("expected an epoch behind {}, and one of the first {MOST_EPOCHS}", self.epoch);
            return Err(Error::mismatch(format!("{expected}, got {epoch}")).in_file(&self.path));
        }
        self.arrival = None;
        let mut steps = self.resume_steps()?;
        steps.resize(epoch as usize, NEVER);
        steps.push(resume_step);
        self.set_epochs(&steps)?;
        let (head, next) = (self.ring.head(), self.next_sequence() | UNCERTAIN);
        for (first, n_passed) in head.first_sequences.iter().zip(&head.n_passed).take(epoch as usize) {
            if first.load(Ordering::Relaxed) == next {
                // No frame of that epoch was published here. The new epoch begins with the same number, so it passes over these
                // numbers itself.
                n_passed.store(0, Ordering::Relaxed);
            }
        }
        if let Some(first) = head.first_sequences.get(epoch as usize) {
            first.store(next, Ordering::Release);
        }
        Ok(())
    }

    /// Declares that the first `n_numbers` numbers of this epoch stand for frames that are not missing. The relay must not have
    /// published a frame of this epoch yet.
    pub fn pass_over(&mut self, n_numbers: u64) -> Result<()> {
        self.locks.check()?;
        if let Some(n_passed) = self.ring.head().n_passed.get(self.epoch as usize) {
            // A consumer that sees the next frame also sees this value.
            n_passed.store(n_numbers, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns the first step of the current epoch.
    pub fn first_step(&self) -> Result<i64> {
        Ok(self.resume_steps()?.last().copied().unwrap_or(ANY))
    }

    /// Returns the lowest number that the next frame may have.
    pub fn next_sequence(&self) -> u64 {
        self.ring.head().sequence.load(Ordering::Relaxed)
    }

    /// Returns the header of the last frame in the ring, or `None` if no frame was published yet.
    pub fn last(&self) -> Result<Option<Header>> {
        let n_published = self.ring.head().control.head.load(Ordering::Relaxed);
        let Some(last) = n_published.checked_sub(1) else { return Ok(None) };
        let mapped = SegmentMaps::new(&self.path).find(&self.ring, last)?;
        // SAFETY: only this producer writes to slots and deletes segments.
        let bytes = unsafe { mapped.as_ref().map_or_else(|| self.ring.frame(last), |mapped| mapped.bytes()) };
        FrameView::decode(&self.path, bytes).map(|view| Some(view.header))
    }

    /// Claims a slot for a frame of `n_bytes` bytes of the other channel. Returns a `Format` error if the channel cannot accept
    /// this frame now. `first` is the first piece of the frame, and contains its complete header. This does not consume the piece:
    /// it is also the first one to pass to `relay`.
    pub fn begin_relay(&mut self, first: &[u8], n_bytes: usize) -> Result<()> {
        self.arrival = None;
        self.locks.check()?;
        let (frame, next) = (self.checked(first, n_bytes)?, self.next_sequence());
        let sequence = frame.header().sequence;
        if sequence < next {
            let message = format!("expected frame {next} or a later one");
            return Err(Error::format(&self.path, Some(sequence), None, message));
        }
        let n_before = self.ring.head().control.head.load(Ordering::Relaxed);
        self.arrival = self.claim(sequence)?.map(|position| Arrival { frame, position, n_before });
        Ok(())
    }

    /// Copies the next piece of the frame that was begun, and publishes the frame when it is complete. Returns a `Format` error if
    /// a checksum does not match. After an error, the caller has to begin the frame again. If staging has failed, however, the
    /// frame is kept, and an empty piece tries again.
    pub fn relay(&mut self, piece: &[u8]) -> Result<Option<Published>> {
        self.locks.check()?;
        let is_claimed = |arrival: &Arrival| arrival.n_before == self.ring.head().control.head.load(Ordering::Relaxed);
        let Some(mut arrival) = self.arrival.take().filter(is_claimed) else {
            return Err(Error::mismatch("a piece of a frame came, but no frame was begun").in_file(&self.path));
        };
        let Arrival { frame, position, .. } = &mut arrival;
        let copy = |slot: &mut [u8]| frame.copy(&self.path, piece, slot).map(|()| frame.n_there());
        // SAFETY: `begin_relay` has claimed the position, and no frame was published since.
        let bytes = unsafe { self.ring.write(*position, copy) }?;
        if !frame.is_whole() {
            self.arrival = Some(arrival);
            return Ok(None);
        }
        let sequence = frame.header().sequence;
        let staged = self.staging.as_mut().map_or(Ok(Durability::Ring), |staging| staging.append(sequence, bytes));
        let level = match staged {
            Ok(level) => level,
            Err(error) => {
                self.arrival = Some(arrival);
                return Err(error);
            }
        };
        self.ring.protocol().publish(*position);
        // The number is stored after the head: see `Producer::put`.
        self.ring.head().sequence.store(sequence + 1, Ordering::Release);
        Ok(Some(Published { sequence, level, is_spilled: false, is_dropped: false }))
    }

    /// Returns the frame that begins with these bytes if it belongs to this channel and epoch. The checksums of its sections are
    /// compared when they are copied.
    fn checked(&self, first: &[u8], n_bytes: usize) -> Result<Arriving> {
        let frame = Arriving::begin(&self.path, first, n_bytes)?;
        let Header { stream, epoch, sequence, n_atoms, .. } = frame.header();
        let wrong = |message: String| Err(Error::format(&self.path, Some(sequence), None, message));
        let expected = (self.manifest.stream, self.epoch, self.manifest.n_atoms);
        if (stream, epoch, n_atoms) != expected {
            let (e_stream, e_epoch, e_atoms) = expected;
            let expected = format!("expected {e_atoms} atoms of stream {e_stream} in epoch {e_epoch}");
            return wrong(format!("{expected}, got {n_atoms} of {stream} in {epoch}"));
        }
        if sequence == u64::MAX {
            return wrong("no frame can follow this number".into());
        }
        for (kind, data_type) in frame.sections() {
            let numbers = (kind.number(), data_type.number());
            let is_known = |(kind, data_type, _): &(u16, u16, String)| (Some(*kind), *data_type) == numbers;
            if !self.manifest.sections.iter().any(is_known) {
                return wrong(format!("the manifest has no {kind} as {data_type}"));
            }
        }
        Ok(frame)
    }
}

#[cfg(test)]
mod tests;
