//! Segments of staging that a consumer has mapped.
//!
//! A producer may write a frame only once, to a segment of staging, and refer to it from its slot in the ring. Consumers map the
//! file of the segment and read the frame there. The producer reuses its files, so a consumer rarely maps a new one.

use std::fs::OpenOptions;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::atomic::Ordering;
use super::directory::Directory;
use super::mapping::Mapping;
use super::ring_file::{InSegment, RingFile};
use super::staging::place::StagingPlace;
use super::staging::segment;
use mdreel_core::error::{Error, Result};

/// Highest number of bytes that a consumer maps, unless a single segment is longer.
const MOST_MAPPED: usize = if cfg!(test) { 1 << 20 } else { 1 << 30 };

/// Bytes of a frame in a mapped segment.
#[derive(Debug, Clone)]
pub(super) struct MappedFrame {
    segment: Arc<Mapping>,
    range: Range<usize>,
}

impl MappedFrame {
    /// Returns the bytes of the frame.
    ///
    /// # Safety
    ///
    /// The slot that refers to the frame is pinned, and stays pinned as long as the bytes are borrowed.
    pub(super) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: the producer does not reuse the file of a segment to which a pinned slot refers. If it copies the frame to the
        // slot meanwhile, it deletes the file instead.
        unsafe { self.segment.bytes(self.range.clone()) }
    }
}

/// The segments that a consumer has mapped.
#[derive(Debug)]
pub(super) struct SegmentMaps {
    channel: PathBuf,
    by_inode: Vec<(u64, Arc<Mapping>)>,
    /// Number of files that the producer had deleted when the first of these was mapped.
    n_deleted: u64,
}

impl SegmentMaps {
    /// Creates the maps of a consumer of a channel. No file is mapped yet.
    pub(super) fn new(channel: &Path) -> Self {
        SegmentMaps { channel: channel.to_owned(), by_inode: Vec::new(), n_deleted: 0 }
    }

    /// Returns the frame at a position, which is pinned, or `None` if the frame is in its slot.
    pub(super) fn find(&mut self, ring: &RingFile, position: u64) -> Result<Option<MappedFrame>> {
        while let Some(place) = ring.in_segment(position) {
            match self.frame(ring, place) {
                Ok(frame) => return Ok(Some(frame)),
                // The producer may have copied the frame to its slot and deleted the segment meanwhile.
                Err(error) if ring.in_segment(position) == Some(place) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(None)
    }

    fn frame(&mut self, ring: &RingFile, place: InSegment) -> Result<MappedFrame> {
        let n_deleted = ring.head().n_deleted_files.load(Ordering::Relaxed);
        if self.n_deleted != n_deleted {
            // A file that is mapped keeps its space on the disk even if it has been deleted.
            self.by_inode.clear();
            self.n_deleted = n_deleted;
        }
        let end =
            place.offset.checked_add(place.length).and_then(|end| usize::try_from(end).ok()).unwrap_or(usize::MAX);
        let is_known = |(inode, segment): &&(u64, Arc<Mapping>)| *inode == place.inode && segment.len() >= end;
        let segment = match self.by_inode.iter().find(is_known) {
            Some((_, segment)) => Arc::clone(segment),
            None => self.map(place, end)?,
        };
        Ok(MappedFrame { segment, range: place.offset as usize..end })
    }

    /// Maps the file of a segment, which has at least the bytes before `end`.
    fn map(&mut self, place: InSegment, end: usize) -> Result<Arc<Mapping>> {
        let lost = |message: &str| Error::stream(message).at_frame(place.sequence).in_file(&self.channel);
        let Some(staging) = StagingPlace::of(&Directory::open(&self.channel)?)? else {
            return Err(lost("the frame is in the staging of a producer that has been replaced"));
        };
        let directory = Directory::open(&staging.path)?;
        let name = segment::name(place.first);
        let (path, file) = (directory.join(&name), directory.open_file(&name, OpenOptions::new().read(true))?);
        let facts = file.metadata().map_err(|error| Error::io(&path, error))?;
        if facts.ino() != place.inode {
            return Err(Error::stream("another program has replaced the segment")
                .at_frame(place.sequence)
                .in_file(&path));
        }
        let length = usize::try_from(facts.len()).unwrap_or(usize::MAX).max(end);
        // The producer may truncate the file after its last frame meanwhile.
        let mapped = Mapping::new(&path, &file, length, false).or_else(|_| Mapping::new(&path, &file, end, false));
        let segment = Arc::new(mapped?);
        self.by_inode.retain(|(inode, _)| *inode != place.inode);
        self.by_inode.push((place.inode, Arc::clone(&segment)));
        while self.by_inode.len() > 1
            && self.by_inode.iter().map(|(_, segment)| segment.len()).sum::<usize>() > MOST_MAPPED
        {
            self.by_inode.remove(0);
        }
        Ok(segment)
    }
}
