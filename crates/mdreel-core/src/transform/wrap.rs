//! Wrapping: moves compounds so that their centres are in the primary cell.

use std::sync::Arc;

use super::compounds::Present;
use super::{Compounds, Mover, Transform, cell_of, position, set_position, sum};
use crate::error::Result;
use crate::frame::FrameBatch;

/// A transformation that moves each compound by cell vectors so that its centre lies in the cell that begins at the
/// origin.
#[derive(Debug, Clone)]
pub struct Wrap {
    compounds: Arc<Compounds>,
}

impl Wrap {
    /// Creates the transformation for compounds. Single atoms are compounds of one atom.
    pub fn new(compounds: Compounds) -> Self {
        Wrap { compounds: Arc::new(compounds) }
    }
}

impl Transform for Wrap {
    fn named(&self) -> &[u32] {
        self.compounds.atoms()
    }

    fn add_needed(&self, atoms: &mut Vec<u32>) {
        self.compounds.complete(atoms);
    }

    fn mover(&self, atoms: &[u32]) -> Box<dyn Mover> {
        Box::new(WrapMover { present: self.compounds.present(atoms) })
    }
}

struct WrapMover {
    present: Present,
}

impl Mover for WrapMover {
    fn apply(&mut self, batch: &mut FrameBatch) -> Result<()> {
        for i in 0..batch.len() {
            let cell = cell_of(batch, i, "to wrap atoms")?;
            let mut columns = batch.columns_mut(i);
            for (range, _) in &self.present.ranges {
                let places = &self.present.places[range.clone()];
                let positions = places.iter().map(|&place| position(&columns, place as usize));
                let shift = cell.shift_into(self.present.center(range, positions));
                if shift == [0.0; 3] {
                    continue;
                }
                for &place in places {
                    let moved = sum(position(&columns, place as usize), shift);
                    set_position(&mut columns, place as usize, moved);
                }
            }
        }
        Ok(())
    }
}
