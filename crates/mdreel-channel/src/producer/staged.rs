//! The writes of a frame to the ring and to staging: a single one if possible, and otherwise two.

use super::Producer;
use super::slots::restore;
use crate::atomic::Ordering;
use crate::layout::{Header, Section, encode, frame_len};
use crate::staging::Durability;
use mdreel_core::error::Result;

impl Producer {
    /// Writes a frame to a claimed slot and to staging, and returns the durability that it has reached.
    pub(super) fn write(&mut self, position: u64, header: &Header, sections: &[Section<'_>]) -> Result<Durability> {
        let Producer { ring, staging, .. } = self;
        let length = frame_len(sections.iter().map(|section| section.bytes.len()));
        if let Some(staging) = staging
            && let Some(length) = length.filter(|length| *length as u64 <= ring.geometry().slot_len)
        {
            restore(ring, staging, length)?;
            let written = staging.write_in_place(header, sections, length);
            ring.head().n_deleted_files.store(staging.n_deleted(), Ordering::Relaxed);
            if let Some((place, level)) = written? {
                ring.refer(position, place);
                return Ok(level);
            }
        }
        // SAFETY: the caller has claimed the position.
        let bytes = unsafe { ring.write(position, |slot| encode(header, sections, slot)) }?;
        staging.as_mut().map_or(Ok(Durability::Ring), |staging| staging.append(header.sequence, bytes))
    }

    /// Records that the slot of a claimed position no longer refers to its previous frame.
    pub(super) fn release(&mut self, position: u64) {
        if let Some(place) = self.ring.forget(position)
            && let Some(staging) = &mut self.staging
        {
            staging.release(place.first);
        }
    }
}
