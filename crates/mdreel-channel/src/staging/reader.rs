//! A reader of staged frames. Meanwhile, a producer may write and delete frames.

use std::path::Path;

use super::super::directory::Directory;
use super::super::layout::{FrameView, Header};
use super::segment::{Segment, all};
use mdreel_core::error::Result;

/// A reader of staged frames.
#[derive(Debug)]
pub(crate) struct StagedFrames {
    directory: Directory,
    segment: Option<Segment>,
    frame: Vec<u8>,
}

impl StagedFrames {
    /// Opens the staging in a directory of the user.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Ok(StagedFrames { directory: Directory::open(path)?, segment: None, frame: Vec::new() })
    }

    /// Reads the first frame with this sequence number or a later one. Returns `None` if there is no such frame yet.
    pub(crate) fn read(&mut self, sequence: u64) -> Result<Option<Header>> {
        if self.segment.as_ref().is_none_or(|segment| segment.next != sequence) {
            let begun = self.begin(sequence)?;
            // If the current position is in the same segment and not after the frame, it is nearer than the beginning of the
            // segment.
            let is_near = |segment: &Segment| {
                segment.next <= sequence && begun.as_ref().is_some_and(|begun| begun.first <= segment.first)
            };
            if !self.segment.as_ref().is_some_and(is_near) {
                self.segment = begun;
            }
        }
        loop {
            if let Some(header) = self.read_here(sequence)? {
                return Ok(Some(header));
            }
            let Some(segment) = &self.segment else { return Ok(None) };
            let first = segment.first;
            if segment.has_gone() {
                // The file was deleted or reused. If an earlier producer was killed before the segment had a frame, the segment of
                // this name may be another file now.
                self.segment = self.begin(sequence)?;
                continue;
            }
            if !all(&self.directory)?.into_iter().any(|later| later > first) {
                return Ok(None);
            }
            // Nothing is appended to a segment once the next one exists. This second read sees everything that was appended until
            // then.
            if let Some(header) = self.read_here(sequence)? {
                return Ok(Some(header));
            }
            self.segment = self.first_of(|later| later > first)?;
        }
    }

    /// Returns the bytes of the frame that was read last.
    pub(crate) fn frame(&self) -> &[u8] {
        &self.frame
    }

    /// Reads the frame in the open segment, from the current position on.
    fn read_here(&mut self, sequence: u64) -> Result<Option<Header>> {
        let Some(segment) = &mut self.segment else { return Ok(None) };
        loop {
            let (at, next) = (segment.at, segment.next);
            let Some(prefix) = segment.pass()? else { return Ok(None) };
            if prefix.sequence >= sequence {
                (segment.at, segment.next) = (at, next);
                break;
            }
        }
        if segment.read(&mut self.frame)?.is_none() {
            return Ok(None);
        }
        Ok(Some(FrameView::decode(segment.path(), &self.frame)?.header))
    }

    /// Opens the segment that may contain a sequence number, at its beginning. Without such a segment, this is the first one.
    fn begin(&self, sequence: u64) -> Result<Option<Segment>> {
        let last = all(&self.directory)?.into_iter().rfind(|first| *first <= sequence);
        let segment = match last {
            Some(first) => Segment::open(&self.directory, first)?,
            None => None,
        };
        // The segment may have been deleted, or may never have existed.
        if segment.is_some() { Ok(segment) } else { self.first_of(|_| true) }
    }

    /// Opens the first segment that `is_wanted` accepts. Returns `None` if there is none.
    fn first_of(&self, is_wanted: impl Fn(u64) -> bool) -> Result<Option<Segment>> {
        // If a segment was deleted after it was listed, the segments are listed again.
        while let Some(first) = all(&self.directory)?.into_iter().find(|first| is_wanted(*first)) {
            if let Some(segment) = Segment::open(&self.directory, first)? {
                return Ok(Some(segment));
            }
        }
        Ok(None)
    }
}
