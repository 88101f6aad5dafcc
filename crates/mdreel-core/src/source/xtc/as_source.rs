//! XTC files as sources.

use std::ops::Range;

use super::Xtc;
use super::reader::XtcReader;
use crate::error::Result;
use crate::frame::Quantities;
use crate::source::bytes::FileBytes;
use crate::source::places::Places;
use crate::source::{AtomSelection, LocatedFrames, Reader, Source, StoredFrames};

impl Source for Xtc {
    fn n_atoms(&self) -> usize {
        self.frames.n_atoms()
    }

    fn n_frames(&self) -> Result<u64> {
        self.frames.n_frames()
    }

    fn times(&self) -> Result<Vec<f64>> {
        self.frames.times()
    }

    fn file(&self) -> Option<&FileBytes> {
        Some(&self.frames.file)
    }

    fn n_bytes(&self) -> u64 {
        self.frames.file.len()
    }

    fn check_end(&self) -> Result<()> {
        self.frames.check_end()
    }

    fn frame_offset(&self, frame: u64) -> Result<Option<u64>> {
        self.frames.range(frame).map(|range| Some(range.start))
    }

    fn unlocated_bytes(&self) -> Option<Vec<Range<u64>>> {
        self.frames.unlocated_bytes()
    }

    fn locate(&self, parts: Vec<LocatedFrames>) -> Result<bool> {
        Ok(self.frames.locate(parts))
    }

    fn places(&self) -> Vec<Places> {
        vec![self.frames.places()]
    }

    fn take_places(&self, places: &mut dyn Iterator<Item = Places>) -> Result<()> {
        places.next().map_or(Ok(()), |known| self.frames.take_places(known))
    }

    fn precision(&self) -> Option<f32> {
        self.facts().precision
    }

    fn stored_format(&self) -> Option<&'static str> {
        Some("XTC")
    }

    fn stored_frames(&self, frames: Range<u64>) -> Result<Option<Vec<StoredFrames<'_>>>> {
        self.frames.stored_frames("XTC", frames).map(Some)
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, _wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        atoms.check(self.n_atoms())?;
        Ok(Box::new(XtcReader::new(self, atoms, self.full_checks(atoms.len())?)))
    }
}
