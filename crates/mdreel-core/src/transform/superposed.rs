//! Superposition: moves all atoms by the motion that brings some of them closest to a reference.

use std::sync::Arc;

use super::{Mover, Transform, position, set_position};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantity};
use crate::simd::Level;
use crate::superpose::Reference;

/// A transformation that shifts and rotates all atoms. It also rotates velocities and forces. The cell does not change.
#[derive(Debug, Clone)]
pub struct Superposed {
    atoms: Arc<Vec<u32>>,
    reference: Arc<Reference>,
}

impl Superposed {
    /// Creates the transformation that superposes `atoms`, which must ascend, on `reference` (Å), weighted by `weights`
    /// (`None`: equal weights). Returns an error if there are no atoms, if the numbers of atoms differ, or if values
    /// are not finite.
    pub fn new(atoms: Vec<u32>, reference: &[[f64; 3]], weights: Option<&[f64]>) -> Result<Self> {
        if atoms.len() != reference.len() {
            let message = format!("the reference has {} atoms, {} are superposed on it", reference.len(), atoms.len());
            return Err(Error::mismatch(message));
        }
        let reference = Reference::new(reference, weights, Level::detect())?;
        Ok(Superposed { atoms: Arc::new(atoms), reference: Arc::new(reference) })
    }
}

impl Transform for Superposed {
    fn named(&self) -> &[u32] {
        &self.atoms
    }

    fn add_needed(&self, atoms: &mut Vec<u32>) {
        atoms.extend(self.atoms.iter());
    }

    fn mover(&self, atoms: &[u32]) -> Box<dyn Mover> {
        let place = |atom| atoms.binary_search(atom).map(|place| place as u32).ok();
        let places: Vec<u32> = self.atoms.iter().filter_map(place).collect();
        let fitted = FrameBatch::for_atoms(places.len());
        Box::new(SuperposedMover { reference: Arc::clone(&self.reference), places, fitted })
    }
}

struct SuperposedMover {
    reference: Arc<Reference>,
    places: Vec<u32>,
    fitted: FrameBatch,
}

impl Mover for SuperposedMover {
    fn apply(&mut self, batch: &mut FrameBatch) -> Result<()> {
        self.fitted.copy_atoms(batch, &self.places);
        for i in 0..batch.len() {
            let header = *batch.header(i);
            let motion = self
                .reference
                .superpose(self.fitted.columns(i))
                .map_err(|error| Error::mismatch(format!("{error}")).at_frame(header.index))?;
            let mut columns = batch.columns_mut(i);
            for place in 0..columns.x.len() {
                let moved = motion.apply(position(&columns, place));
                set_position(&mut columns, place, moved);
            }
            for quantity in [Quantity::Velocities, Quantity::Forces] {
                if !header.present.contains(quantity) {
                    continue;
                }
                let Some(mut columns) = batch.columns_of_mut(i, quantity) else { continue };
                for place in 0..columns.x.len() {
                    let turned = motion.rotate(position(&columns, place));
                    set_position(&mut columns, place, turned);
                }
            }
        }
        Ok(())
    }
}
