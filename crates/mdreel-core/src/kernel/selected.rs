//! Atoms that are selected in each frame.

use super::Computation;
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::reduce::{Ids, Layout, Slots, Value};
use crate::selection::Selecting;

/// Computation that counts the atoms selected in each frame, and lists them on request.
#[derive(Debug, Clone)]
pub struct Selected {
    n_atoms: usize,
    selecting: Selecting,
    keeps_ids: bool,
}

impl Selected {
    /// Creates the computation for frames of `n_atoms` atoms. With `keeps_ids`, it also lists the atoms.
    pub fn new(n_atoms: usize, selecting: Selecting, keeps_ids: bool) -> Self {
        Selected { n_atoms, selecting, keeps_ids }
    }
}

impl Computation for Selected {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout::columns(1)
    }

    fn own(&self) -> Option<Box<dyn Value>> {
        self.keeps_ids.then(|| Box::new(Ids::default()) as Box<dyn Value>)
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        for i in 0..batch.len() {
            let found = self.selecting.find(batch, i)?;
            slots.row(i)[0] = found.len() as f64;
            if self.keeps_ids {
                let ids = slots.own.as_mut().and_then(|own| own.here::<Ids>());
                ids.ok_or_else(|| Error::worker("a selection has no room for its atoms"))?.0.extend_from_slice(found);
            }
        }
        Ok(())
    }
}
