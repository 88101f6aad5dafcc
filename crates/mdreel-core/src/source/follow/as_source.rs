//! Implementation of `Source` and `Growth` for followed files.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Follow;
use super::reader::FollowReader;
use crate::error::Result;
use crate::frame::Quantities;
use crate::source::capabilities::{Capabilities, EndCheck};
use crate::source::growth::{Arrival, Growth};
use crate::source::{AtomSelection, Reader, Source};

impl Growth for Follow {
    fn await_frame(&self, frame: u64, at_most: Duration) -> Result<Arrival> {
        self.lookout.await_frame(&self.path, frame, at_most, |look, at_most| look.look(self, at_most))
    }
}

impl EndCheck for Follow {
    /// Returns an error that describes the defect at the end, if the file has ended with one.
    fn check_end(&self) -> Result<()> {
        self.known().failure.clone().map_or(Ok(()), Err)
    }
}

impl Source for Follow {
    fn n_atoms(&self) -> usize {
        self.growing.source().n_atoms()
    }

    /// Returns the number of frames found so far.
    fn n_frames(&self) -> Result<u64> {
        Ok(self.known().index.len() as u64)
    }

    /// Returns the times of the frames found so far.
    fn times(&self) -> Result<Vec<f64>> {
        Ok(self.known().index.frames().map(|frame| frame.time).collect())
    }

    fn n_bytes(&self) -> u64 {
        self.length.load(Ordering::Acquire) - self.growing.start()
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let Capabilities { precision, quantities, .. } = self.growing.source().capabilities();
        let of_file = Capabilities::of_file(self.growing.file());
        Capabilities { growth: Some(self), end_check: Some(self), precision, quantities, ..of_file }
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        Ok(Box::new(FollowReader::new(self, self.growing.source().reader(atoms, wanted)?)))
    }
}
