//! Frames of a staging, read while a producer may be writing to it and deleting from it.

use std::path::Path;

use super::super::directory::Directory;
use super::super::layout::{FrameView, Header};
use super::segment::{Segment, all};
use mdreel_core::error::Result;

/// Who reads frames that are staged.
#[derive(Debug)]
pub(crate) struct StagedFrames {
    directory: Directory,
    segment: Option<Segment>,
    frame: Vec<u8>,
}

impl StagedFrames {
    /// The frames in a directory of the user.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Ok(StagedFrames { directory: Directory::open(path)?, segment: None, frame: Vec::new() })
    }

    /// Reads the first frame with this sequence number or a later one; `None` if there is none yet.
    pub(crate) fn read(&mut self, sequence: u64) -> Result<Option<Header>> {
        if self.segment.as_ref().is_none_or(|segment| segment.next != sequence) {
            let begun = self.begin(sequence)?;
            // A place in the same segment, and not behind the frame, is nearer than the beginning.
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
                // A producer has deleted or reused the file. If it had no frame when an earlier producer was killed, the segment of this
                // name is another file now.
                self.segment = self.begin(sequence)?;
                continue;
            }
            if !all(&self.directory)?.into_iter().any(|later| later > first) {
                return Ok(None);
            }
            // Nothing is appended to a segment when the next one is there: what came until then is seen now.
            if let Some(header) = self.read_here(sequence)? {
                return Ok(Some(header));
            }
            self.segment = self.first_of(|later| later > first)?;
        }
    }

    /// The bytes of the frame that was read.
    pub(crate) fn frame(&self) -> &[u8] {
        &self.frame
    }

    /// Reads on in the segment that is open.
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

    /// The segment in which a sequence number has to be looked for, at its beginning.
    fn begin(&self, sequence: u64) -> Result<Option<Segment>> {
        let last = all(&self.directory)?.into_iter().rfind(|first| *first <= sequence);
        let segment = match last {
            Some(first) => Segment::open(&self.directory, first)?,
            None => None,
        };
        // It may have been deleted, or never been there.
        if segment.is_some() { Ok(segment) } else { self.first_of(|_| true) }
    }

    /// The first segment of those that are wanted; `None` if there is none.
    fn first_of(&self, is_wanted: impl Fn(u64) -> bool) -> Result<Option<Segment>> {
        // Which are there is asked again when one of them was deleted meanwhile.
        while let Some(first) = all(&self.directory)?.into_iter().find(|first| is_wanted(*first)) {
            if let Some(segment) = Segment::open(&self.directory, first)? {
                return Ok(Some(segment));
            }
        }
        Ok(None)
    }
}
