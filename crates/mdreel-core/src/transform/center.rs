//! Centring: moves all atoms so that the centre of a group of atoms is at a given point.

use std::sync::Arc;

use super::compounds::Present;
use super::{Compounds, Mover, Transform, cell_of, difference, position, set_position, sum};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;

/// The target of a centre.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// The middle of the cell.
    Cell,
    /// A point, Å.
    Point([f64; 3]),
}

/// A transformation that moves all atoms so that the centre of a group is at a target.
#[derive(Debug, Clone)]
pub struct Center {
    group: Arc<Compounds>,
    target: Target,
    is_wrapped: bool,
}

impl Center {
    /// Creates the transformation for a group, which must be a single compound. If `is_wrapped`, the centre is computed
    /// from the atoms' images in the primary cell.
    pub fn new(group: Compounds, target: Target, is_wrapped: bool) -> Result<Self> {
        if group.ranges().count() != 1 {
            return Err(Error::mismatch("one group is centred, not several"));
        }
        match target {
            Target::Point(point) if point.iter().any(|value| !value.is_finite()) => {
                Err(Error::mismatch(format!("cannot centre on {point:?}: expected finite coordinates")))
            }
            _ => Ok(Center { group: Arc::new(group), target, is_wrapped }),
        }
    }
}

impl Transform for Center {
    fn named(&self) -> &[u32] {
        self.group.atoms()
    }

    fn add_needed(&self, atoms: &mut Vec<u32>) {
        atoms.extend(self.group.atoms());
    }

    fn mover(&self, atoms: &[u32]) -> Box<dyn Mover> {
        Box::new(CenterMover { group: self.group.present(atoms), target: self.target, is_wrapped: self.is_wrapped })
    }
}

struct CenterMover {
    group: Present,
    target: Target,
    is_wrapped: bool,
}

impl Mover for CenterMover {
    fn apply(&mut self, batch: &mut FrameBatch) -> Result<()> {
        for i in 0..batch.len() {
            let cell = match (self.target, self.is_wrapped) {
                (Target::Point(_), false) => None,
                _ => Some(cell_of(batch, i, "to centre atoms")?),
            };
            let mut columns = batch.columns_mut(i);
            let Some((range, _)) = self.group.ranges.first() else { continue };
            let positions = self.group.places.iter().map(|&place| position(&columns, place as usize));
            let wrapping = cell.filter(|_| self.is_wrapped);
            let positions = positions.map(|at| wrapping.map_or(at, |cell| sum(at, cell.shift_into(at))));
            let center = self.group.center(range, positions);
            let target = match (self.target, cell) {
                (Target::Point(point), _) => point,
                (Target::Cell, cell) => cell.map_or([0.0; 3], |cell| cell.middle()),
            };
            let shift = difference(target, center);
            for place in 0..columns.x.len() {
                let moved = sum(position(&columns, place), shift);
                set_position(&mut columns, place, moved);
            }
        }
        Ok(())
    }
}
