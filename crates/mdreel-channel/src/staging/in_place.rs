//! Frames that the producer writes only once, to a segment that consumers map.
//!
//! Writing a staged frame to the ring and then to the file of a segment takes two copies. If the file has been reused or prepared,
//! its pages and blocks exist, and the producer maps it. A frame that fits into the mapping is written there, and its slot in the
//! ring refers to it. If the kernel has evicted the pages or does not make them writable, or has probably made them read-only, a
//! system call writes the frame to the file. All other frames are copied twice: those in new files, and those on file systems on
//! which this was not tested.

use std::time::Instant;

use rustix::fs::statfs;

use super::Staging;
use super::kept::{Kept, Retention};
use super::mapped_file::{MOST_MAPPED, MappedFile};
use super::place::Durability;
use super::prepared::{N_MORE, PreparedFile, PreparedFiles};
use super::segment::{PREFIX, Prefix, name};
use super::segment_file::SegmentFile;
use crate::layout::{Header, Section, encode, encode_head};
use crate::ring_file::{Geometry, InSegment};
use mdreel_core::error::Result;

/// Magic numbers of ext4, XFS and tmpfs, on which frames in mapped files were tested.
const FILE_SYSTEMS: [u64; 3] = [0xEF53, 0x5846_5342, 0x0102_1994];

impl Staging {
    /// Allows frames to be written in place, if files of this staging are reused or prepared, and their limit on bytes leaves room
    /// for the frames of this ring.
    pub(crate) fn allow_in_place(&mut self, ring: Geometry) {
        let Retention { count, bytes, segment, .. } = self.retention;
        let longest = PREFIX.saturating_add(ring.slot_len);
        let needed = ring.n_slots.saturating_mul(longest).saturating_add(N_MORE * segment.max(longest));
        let is_possible = self.level == Durability::File && bytes.is_none_or(|bytes| needed <= bytes);
        let is_known =
            || statfs(self.directory.path()).is_ok_and(|facts| FILE_SYSTEMS.contains(&(facts.f_type as u64)));
        let is_possible = is_possible && is_known();
        self.prepared = if is_possible { PreparedFiles::of(segment, ring) } else { None };
        self.in_place = (is_possible && (self.is_reused() || self.prepared.is_some())).then_some(ring.n_slots);
        if let (Some(prepared), Some(count)) = (&mut self.prepared, count) {
            let limit = bytes.map_or(u64::MAX, |bytes| bytes.saturating_sub(self.n_bytes));
            prepared.prepare_all(&self.directory, count.max(ring.n_slots), limit);
        }
        self.prepare_more();
    }

    /// Returns a segment in a prepared file, or `None` if there is no such file.
    pub(super) fn begin_prepared(&mut self, first: u64) -> Option<(SegmentFile, Option<MappedFile>)> {
        let (prepared, length) = self.prepared.as_mut().map(|prepared| (prepared.take(), prepared.length()))?;
        let begun = prepared.filter(|_| !self.is_over(length)).and_then(|PreparedFile { file, mapped }| {
            let file = file.begin(&self.directory, first).ok()?;
            self.n_mapped += mapped.memory.len() as u64;
            Some((file, Some(mapped)))
        });
        self.prepare_more();
        begun
    }

    /// Lets a thread prepare more files if they will be needed and there is room for them.
    fn prepare_more(&mut self) {
        let Retention { count, bytes, .. } = self.retention;
        let Some(prepared) = &mut self.prepared else { return };
        let Some(n_coming) = prepared.n_coming() else { return };
        // Files of an earlier producer are not reused.
        let n_own = || self.segments.iter().filter(|kept| !kept.is_read).map(|kept| kept.n_frames).sum::<u64>();
        let is_enough = count.is_some_and(|count| n_own() >= count.max(self.in_place.unwrap_or(0)));
        let is_over = bytes.is_some_and(|bytes| self.n_bytes + n_coming + prepared.length() > bytes);
        let is_mapped = self.n_mapped + n_coming <= MOST_MAPPED;
        if !is_enough && !is_over && is_mapped && !prepared.start(&self.directory) {
            self.prepared = None;
        }
    }

    /// Begins a segment in the file of an old one, and maps the file if frames may be written in place.
    pub(super) fn reuse(&mut self, old: Kept, first: u64) -> Result<(SegmentFile, Option<MappedFile>)> {
        match SegmentFile::reuse(&self.directory, old.first, first) {
            Ok(file) => {
                let mut mapped = self.map(&file, first, old.mapped);
                mapped.iter_mut().for_each(|mapped| mapped.note_age(old.written.age(Instant::now())));
                Ok((file, mapped))
            }
            Err(error) => {
                self.unmap(old.mapped);
                Err(error)
            }
        }
    }

    fn map(&mut self, file: &SegmentFile, first: u64, before: Option<MappedFile>) -> Option<MappedFile> {
        match before {
            Some(mapped) if mapped.inode != file.inode() => self.unmap(Some(mapped)),
            Some(mapped) if mapped.memory.len() as u64 >= file.length() => return Some(mapped),
            // The file has grown.
            Some(mapped) => self.n_mapped -= mapped.memory.len() as u64,
            None => {}
        }
        if self.in_place.is_none() || self.n_mapped + file.length() > MOST_MAPPED {
            return None;
        }
        let memory = file.map(&self.directory.join(&name(first))).ok()?;
        self.n_mapped += memory.len() as u64;
        Some(MappedFile::new(file.inode(), memory))
    }

    /// Returns whether retention deletes frames, so that files are reused.
    fn is_reused(&self) -> bool {
        let Retention { count, bytes, age, .. } = self.retention;
        count.is_some() || bytes.is_some() || age.is_some()
    }

    /// Unmaps the newest segment, to which no frame will be appended, unless its file will be reused.
    pub(super) fn unmap_newest(&mut self) {
        if !self.is_reused() {
            let mapped = self.segments.back_mut().and_then(|last| last.mapped.take());
            self.n_mapped -= mapped.map_or(0, |mapped| mapped.memory.len() as u64);
        }
    }

    /// Unmaps a file that has been deleted. Consumers may have mapped it, too.
    pub(super) fn unmap(&mut self, mapped: Option<MappedFile>) {
        if let Some(mapped) = mapped {
            self.n_mapped -= mapped.memory.len() as u64;
            self.n_deleted += 1;
        }
    }

    /// Writes a frame of this length to a segment that consumers map, and returns its place and its durability. Returns `None` if
    /// the frame has to be copied twice.
    pub(crate) fn write_in_place(
        &mut self,
        header: &Header,
        sections: &[Section<'_>],
        length: usize,
    ) -> Result<Option<(InSegment, Durability)>> {
        if self.in_place.is_none() {
            return Ok(None);
        }
        let sequence = header.sequence;
        let (at, mut file) = self.prepare(sequence, PREFIX + length as u64)?;
        let offset = at + PREFIX;
        let is_there = offset + length as u64 <= file.length();
        let Some(mapped) = self.segments.back_mut().filter(|_| is_there).and_then(|last| last.mapped.as_mut()) else {
            self.file = Some(file);
            return Ok(None);
        };
        // SAFETY: no slot refers to these bytes, and readers of staging read the file and not the mapping.
        let bytes = unsafe { mapped.frame_mut(offset, length) };
        let length = length as u64;
        let written = match bytes {
            Some(bytes) => encode(header, sections, bytes).map(|_| {
                let prefix = Prefix::of(sequence, bytes);
                prefix.map(|prefix| (prefix, file.finish(at, prefix)))
            }),
            // The file has its blocks, and mostly its pages, so a system call takes little more time than the copy.
            None => encode_head(header, sections).map(|(head, checksum)| {
                let prefix = Prefix::new(sequence, length, checksum);
                Some((prefix, file.write_parts(at, prefix, &head, sections)))
            }),
        };
        let (prefix, outcome) = match written {
            Ok(Some(written)) => written,
            outcome => {
                self.file = Some(file);
                return outcome.map(|_| None);
            }
        };
        let inode = file.inode();
        let level = self.finish(prefix, file, outcome)?;
        let Some(last) = self.segments.back_mut() else { return Ok(None) };
        last.n_slots += 1;
        Ok(Some((InSegment { first: last.first, inode, offset, length, sequence }, level)))
    }

    /// Records that a slot refers to the segment that begins with the frame `first`.
    pub(crate) fn refer(&mut self, first: u64) {
        if let Some(kept) = self.find(first) {
            kept.n_slots += 1;
        }
    }

    /// Records that a slot no longer refers to the segment that begins with the frame `first`.
    pub(crate) fn release(&mut self, first: u64) {
        if let Some(kept) = self.find(first) {
            kept.n_slots = kept.n_slots.saturating_sub(1);
        }
    }

    fn find(&mut self, first: u64) -> Option<&mut Kept> {
        let number = self.segments.binary_search_by_key(&first, |kept| kept.first).ok()?;
        self.segments.get_mut(number)
    }

    /// Records that the frames of the oldest segment have been copied to the slots that referred to them. Consumers may still read
    /// them in the segment, so its file is deleted and not reused.
    pub(crate) fn leave(&mut self) {
        if let Some(oldest) = self.segments.front_mut() {
            (oldest.n_slots, oldest.is_read) = (0, true);
        }
    }

    /// Returns the number of mapped files that have been deleted.
    pub(crate) fn n_deleted(&self) -> u64 {
        self.n_deleted
    }
}
