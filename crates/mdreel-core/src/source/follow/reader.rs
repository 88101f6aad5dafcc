//! Reader that one worker uses for a followed file.

use super::Follow;
use crate::block::{Extent, FrameSet};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::source::{Reader, Source};
use crate::span::Recorder;

/// A reader of existing frames. It uses the reader of their format.
pub(super) struct FollowReader<'a> {
    follow: &'a Follow,
    reader: Box<dyn Reader + 'a>,
    frames: FrameSet,
    /// Number of frames requested from the format's reader so far.
    n_begun: u64,
    /// Number of requested frames that the format's reader has not returned yet.
    n_awaited: u64,
    /// Offset to add to the frame numbers of the format's reader.
    base: u64,
}

impl<'a> FollowReader<'a> {
    pub(crate) fn new(follow: &'a Follow, reader: Box<dyn Reader + 'a>) -> Self {
        FollowReader { follow, reader, frames: FrameSet::all(0), n_begun: 0, n_awaited: 0, base: 0 }
    }

    /// Starts the format's reader on the next frames: all that are consecutive in the file.
    fn begin(&mut self) -> Result<()> {
        let first = self.frames.get(self.n_begun);
        let extent = if self.follow.growing.is_chained() {
            let left = self.frames.len() - self.n_begun;
            let is_next = |&i: &u64| self.frames.get(self.n_begun + i) == first + i;
            self.n_awaited = (0..left).take_while(is_next).last().unwrap_or(0) + 1;
            self.base = first;
            let last = first + self.n_awaited - 1;
            let range = |frame: u64| self.follow.known().index.range(frame as usize);
            let (Some(first), Some(last)) = (range(first), range(last)) else { return Err(self.missing(last)) };
            Extent::Bytes(first.start..last.end)
        } else {
            self.n_awaited = self.frames.len() - self.n_begun;
            self.base = 0;
            Extent::Frames(self.frames.slice(self.n_begun..self.frames.len()))
        };
        self.n_begun += self.n_awaited;
        self.reader.start(&extent)
    }

    fn missing(&self, frame: u64) -> Error {
        let n_frames = self.follow.n_frames().unwrap_or_default();
        Error::FrameIndex { path: self.follow.path.clone(), frame, n_frames }
    }

    /// Adds the frame number to errors of the format's reader, which numbers only the frames that it reads.
    fn name_frame(&self, error: Error) -> Error {
        match error {
            Error::Format { mut place, message } if self.follow.growing.is_chained() => {
                let frame = place.byte.and_then(|byte| self.follow.known().index.frame_at(byte));
                place.frame = frame.map(|frame| frame as u64);
                Error::Format { place, message }
            }
            error => error,
        }
    }
}

impl Reader for FollowReader<'_> {
    fn start(&mut self, extent: &Extent) -> Result<()> {
        self.frames = extent.numbered(&self.follow.path, self.follow.n_frames()?)?.clone();
        (self.n_begun, self.n_awaited) = (0, 0);
        Ok(())
    }

    fn read(&mut self, batch: &mut FrameBatch, recorder: &mut Recorder) -> Result<()> {
        batch.clear();
        if self.n_awaited == 0 {
            if self.n_begun == self.frames.len() {
                return Ok(());
            }
            self.begin().map_err(|error| self.name_frame(error))?;
        }
        self.reader.read(batch, recorder).map_err(|error| self.name_frame(error))?;
        let n_read = batch.len() as u64;
        if n_read == 0 || n_read > self.n_awaited {
            let message = format!("{} more frames were there, {n_read} were read", self.n_awaited);
            return Err(Error::format(&self.follow.path, Some(self.base), None, message));
        }
        batch.renumber(self.base);
        self.n_awaited -= n_read;
        Ok(())
    }
}
