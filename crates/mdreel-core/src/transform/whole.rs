//! Whole molecules: moves each atom to the image nearest to its parent in the bonds.

use std::sync::Arc;

use super::compounds::Present;
use super::{Compounds, Mover, Transform, cell_of, difference, position, set_position, sum};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;

/// A transformation that makes compounds whole if they cross a periodic boundary. The first atom of each compound stays
/// in place. Each other atom moves to the image nearest to its parent, which comes before it.
#[derive(Debug, Clone)]
pub struct Whole {
    compounds: Arc<Compounds>,
    /// The position of each atom's parent among the atoms of all compounds.
    parents: Arc<Vec<usize>>,
    is_centered: bool,
}

impl Whole {
    /// Creates the transformation from compounds and the parent of each of their atoms, given as its position among all
    /// atoms. The first atom of each compound is its own parent. If `is_centered`, each whole compound is moved so that
    /// its centre is in the cell.
    pub fn new(compounds: Compounds, parents: Vec<usize>, is_centered: bool) -> Result<Self> {
        if parents.len() != compounds.atoms().len() {
            return Err(Error::mismatch(format!(
                "there must be a parent for each of {} atoms",
                compounds.atoms().len()
            )));
        }
        for range in compounds.ranges() {
            let start = range.start;
            if let Some(atom) = range.skip(1).find(|&atom| !(start..atom).contains(&parents[atom])) {
                let message = format!("the parent of atom {} does not come before it", compounds.atoms()[atom]);
                return Err(Error::mismatch(message));
            }
        }
        Ok(Whole { compounds: Arc::new(compounds), parents: Arc::new(parents), is_centered })
    }
}

impl Transform for Whole {
    fn named(&self) -> &[u32] {
        self.compounds.atoms()
    }

    fn add_needed(&self, atoms: &mut Vec<u32>) {
        self.compounds.complete(atoms);
    }

    fn mover(&self, atoms: &[u32]) -> Box<dyn Mover> {
        let present = self.compounds.present(atoms);
        let parents = present.ranges.iter().flat_map(|(here, all)| {
            let (parents, first) = (&self.parents[all.clone()], all.start);
            let own = here.start;
            parents.iter().enumerate().map(move |(k, &parent)| if k == 0 { own } else { parent - first + own })
        });
        let parents = parents.collect();
        Box::new(WholeMover { present, parents, is_centered: self.is_centered, positions: Vec::new() })
    }
}

struct WholeMover {
    present: Present,
    parents: Vec<usize>,
    is_centered: bool,
    positions: Vec<[f64; 3]>,
}

impl Mover for WholeMover {
    fn apply(&mut self, batch: &mut FrameBatch) -> Result<()> {
        for i in 0..batch.len() {
            let cell = cell_of(batch, i, "to make molecules whole")?;
            let mut columns = batch.columns_mut(i);
            self.positions.clear();
            self.positions.extend(self.present.places.iter().map(|&place| position(&columns, place as usize)));
            for (range, _) in &self.present.ranges {
                for atom in range.clone().skip(1) {
                    let parent = self.positions[self.parents[atom]];
                    self.positions[atom] = sum(parent, cell.shortest(difference(self.positions[atom], parent)));
                }
                let positions = &mut self.positions[range.clone()];
                if self.is_centered {
                    let shift = cell.shift_into(self.present.center(range, positions.iter().copied()));
                    positions.iter_mut().for_each(|position| *position = sum(*position, shift));
                }
                for (position, &place) in positions.iter().zip(&self.present.places[range.clone()]) {
                    set_position(&mut columns, place as usize, *position);
                }
            }
        }
        Ok(())
    }
}
