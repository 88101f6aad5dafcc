//! The channel as a growing source.

use std::time::Duration;

use super::ChannelSource;
use super::kept::quantity_of;
use super::reader::ChannelReader;
use crate::section::SectionKind;
use mdreel_core::error::{Error, Result};
use mdreel_core::frame::Quantities;
use mdreel_core::source::capabilities::{Capabilities, EndCheck};
use mdreel_core::source::growth::{Arrival, Growth};
use mdreel_core::source::lookout::Known;
use mdreel_core::source::{AtomSelection, Reader, Source};

impl Growth for ChannelSource {
    fn await_frame(&self, frame: u64, at_most: Duration) -> Result<Arrival> {
        self.lookout.await_frame(&self.path, frame, at_most, |taker, at_most| self.look(taker, at_most))
    }

    fn want(&self, first: u64, step: u64) {
        self.change(|known| known.want(first, step));
    }

    fn release(&self, frame: u64) {
        self.change(|known| known.release(frame));
    }

    fn check_reach(&self, frame: u64) -> Result<()> {
        let n_room = self.lookout.known().n_room(12 * self.n_atoms);
        if frame < n_room {
            return Ok(());
        }
        let message = format!("frame {frame} comes when there is no more room for the {n_room} frames before it");
        let advice = "run an analysis, which needs them only once, or give more memory";
        Err(Error::unsupported(format!("{message}: {advice}")).in_file(&self.path))
    }
}

impl EndCheck for ChannelSource {
    /// Returns the error with which the channel ended, once the source has met it.
    fn check_end(&self) -> Result<()> {
        self.lookout.known().failure().cloned().map_or(Ok(()), Err)
    }
}

impl Source for ChannelSource {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Returns the number of frames that have come so far.
    fn n_frames(&self) -> Result<u64> {
        Ok(self.lookout.known().n_frames())
    }

    /// Returns the times of the frames that have come so far.
    fn times(&self) -> Result<Vec<f64>> {
        Ok(self.lookout.known().times().to_vec())
    }

    fn n_bytes(&self) -> u64 {
        12 * self.n_atoms as u64 * self.lookout.known().n_frames()
    }

    fn capabilities(&self) -> Capabilities<'_> {
        // The quantities are those in the manifest, and positions in any case.
        let kinds = self.manifest.sections.iter().filter_map(|(number, _, _)| SectionKind::from_number(*number));
        let present = kinds.filter_map(quantity_of).fold(Quantities::POSITIONS, |all, one| all.with(one, true));
        Capabilities { growth: Some(self), end_check: Some(self), quantities: present, ..Capabilities::NONE }
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, _wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        atoms.check(self.n_atoms)?;
        Ok(Box::new(ChannelReader::new(self, atoms)))
    }
}
