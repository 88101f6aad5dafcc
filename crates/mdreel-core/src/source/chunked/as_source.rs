//! Implementation of [`Source`] for chunked trajectories.

use super::Chunked;
use super::reader::ChunkedReader;
use crate::error::Result;
use crate::frame::Quantities;
use crate::source::capabilities::Capabilities;
use crate::source::{AtomSelection, Reader, Source};

impl Source for Chunked {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn n_frames(&self) -> Result<u64> {
        Ok(self.times.len() as u64)
    }

    fn times(&self) -> Result<Vec<f64>> {
        Ok(self.times.clone())
    }

    fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let present = self.quantities.iter().fold(Quantities::NONE, |set, (quantity, _)| set.with(*quantity, true));
        Capabilities {
            preferred_step: self.frames_together(),
            quantities: present,
            ..Capabilities::of_file(&self.file)
        }
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        Ok(Box::new(ChunkedReader::new(self, atoms, wanted)?))
    }
}
