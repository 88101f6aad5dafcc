//! Retention, which determines how long the frames of a staging are kept.

use std::time::{Duration, Instant};

use super::super::group;
use super::Staging;
use super::kept::{Kept, Retention};
use super::segment::PREFIX;
use super::segment_file;
use mdreel_core::error::Result;

/// Time for which an answer of the groups is valid.
const LOOK: Duration = Duration::from_millis(100);
/// If the limit on bytes allows this number of full segments, the oldest one is deleted before the newest is full.
const MANY: u64 = 4;

impl Staging {
    /// Deletes the oldest segments as far as retention requires. Unless `is_strict`, one of them stays: the next segment gets its
    /// file. Segments to which slots of the ring refer stay as well.
    pub(super) fn retain(&mut self, now: Instant, is_strict: bool) -> Result<()> {
        while self.goes(0, now, 0)? && (is_strict || self.is_over(0) || self.goes(1, now, 0)?) {
            let Some(oldest) = self.pop_oldest() else { break };
            self.delete(oldest)?;
        }
        Ok(())
    }

    /// Deletes the oldest segments before this number of bytes is written in addition to the existing files. Returns one of them
    /// that was not deleted, whose file the next segment gets.
    pub(super) fn make_room(&mut self, now: Instant, n_coming: u64) -> Result<Option<Kept>> {
        let mut reusable: Option<Kept> = None;
        while self.goes(0, now, reusable.as_ref().map_or(0, |kept| kept.n_bytes).max(n_coming))? {
            let Some(oldest) = self.pop_oldest() else { break };
            if reusable.is_none() && !oldest.is_read && !self.is_over(oldest.n_bytes) {
                reusable = Some(oldest);
            } else {
                self.delete(oldest)?;
            }
        }
        Ok(reusable)
    }

    fn pop_oldest(&mut self) -> Option<Kept> {
        let oldest = self.segments.pop_front()?;
        self.n_frames -= oldest.n_frames;
        self.n_bytes -= oldest.n_bytes;
        Some(oldest)
    }

    fn delete(&mut self, kept: Kept) -> Result<()> {
        self.unmap(kept.mapped);
        segment_file::delete(&self.directory, kept.first)
    }

    /// Returns whether the segment at this index can be deleted with all segments before it.
    fn goes(&mut self, index: usize, now: Instant, n_coming: u64) -> Result<bool> {
        let is_free = self.segments.get(index).is_some_and(|kept| kept.n_slots == 0);
        Ok(is_free && self.may_go(index, now, n_coming) && !self.is_wanted(index, now)?)
    }

    /// Returns whether retention requires that a segment is deleted. If frames are written in place, as many of the newest frames
    /// stay as the ring has slots, unless the limit on bytes is exceeded.
    fn may_go(&self, index: usize, now: Instant, n_coming: u64) -> bool {
        let Retention { count, age, .. } = self.retention;
        let Some(kept) = self.segments.get(index).filter(|_| self.segments.len() > index + 1) else { return false };
        let n_older: u64 = self.segments.iter().take(index + 1).map(|kept| kept.n_frames).sum();
        let n_newer = self.n_frames - n_older;
        let is_old = || age.is_some_and(|age| kept.written.age(now) > age);
        let is_surplus = || count.is_some_and(|count| n_newer >= count);
        let is_in_ring = self.in_place.is_some_and(|n_slots| n_newer < n_slots);
        !is_in_ring && (is_old() || is_surplus()) || self.is_over(n_coming)
    }

    /// Returns whether a group wants a frame of the segment at this index, or of one before it.
    fn is_wanted(&mut self, index: usize, now: Instant) -> Result<bool> {
        let Some(end) = self.segments.get(index + 1).map(|next| next.first) else { return Ok(true) };
        Ok(self.wanted(now)?.is_some_and(|wanted| wanted < end))
    }

    /// Returns the first frame that a group wants.
    fn wanted(&mut self, now: Instant) -> Result<Option<u64>> {
        match self.wanted {
            Some((then, wanted)) if now.saturating_duration_since(then) < LOOK => Ok(wanted),
            _ => {
                let wanted = group::first_wanted(&self.directory)?;
                self.wanted = Some((now, wanted));
                Ok(wanted)
            }
        }
    }

    /// Returns the oldest segment if retention requires that it is deleted, but slots of the ring refer to it. The producer then
    /// has to copy their frames to the ring first. This happens if consumers hold frames for a long time. `length` is the length of
    /// the frame that is about to be written.
    pub(crate) fn must_leave(&mut self, length: u64) -> Result<Option<u64>> {
        let (now, n_coming) = (Instant::now(), self.n_coming(PREFIX + length));
        let Some(oldest) = self.segments.front().filter(|oldest| oldest.n_slots > 0) else { return Ok(None) };
        let first = oldest.first;
        Ok((self.may_go(0, now, n_coming) && !self.is_wanted(0, now)?).then_some(first))
    }

    /// Returns the number of bytes that files need in addition to the existing ones if a record of this length is appended.
    pub(super) fn n_coming(&self, record_len: u64) -> u64 {
        let Retention { bytes, segment, .. } = self.retention;
        if self.segments.back().is_some_and(|last| !last.is_closed && last.n_bytes < segment) {
            return 0;
        }
        // If the limit allows many segments, a whole segment is deleted before the new one begins, and its file is reused.
        let n_more = if bytes.is_some_and(|bytes| bytes / MANY >= segment) { segment } else { 0 };
        (PREFIX + record_len).max(n_more)
    }

    /// Returns whether the files of all segments and this number of bytes exceed the limit.
    pub(super) fn is_over(&self, n_more: u64) -> bool {
        let newest = self.segments.back().map_or(0, |last| last.n_bytes);
        let unused = self.file.as_ref().map_or(0, |file| file.length().saturating_sub(newest));
        self.retention.bytes.is_some_and(|bytes| self.n_bytes + unused + n_more > bytes)
    }
}
