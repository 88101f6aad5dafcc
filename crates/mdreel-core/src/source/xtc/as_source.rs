//! Implementation of [`Source`] for XTC files.

use super::Xtc;
use super::reader::XtcReader;
use crate::error::Result;
use crate::frame::Quantities;
use crate::source::capabilities::Capabilities;
use crate::source::{AtomSelection, Reader, Source};

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

    fn n_bytes(&self) -> u64 {
        self.frames.file.len()
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { precision: self.facts().precision, ..self.frames.capabilities() }
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, _wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        atoms.check(self.n_atoms())?;
        Ok(Box::new(XtcReader::new(self, atoms, self.full_checks(atoms.len())?)))
    }
}
