//! Secondary structure of proteins from hydrogen bonds (DSSP): helices, strands, turns and bends.
//!
//! W. Kabsch, C. Sander, "Dictionary of protein secondary structure: pattern recognition of hydrogen-bonded and geometrical
//! features", Biopolymers 22 (1983) 2577-2637.

mod backbone;
mod bonds;
mod bridges;
mod candidates;
mod rules;
mod states;

use std::sync::Arc;

use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::periodic::Periodic;
use crate::reduce::{Layout, Slots};
use crate::simd::{Lanes, Level, Operation};
pub use rules::{Hydrogen, Method, Residue, Rules};

use backbone::Backbone;
use bonds::Bonds;
use states::Assignment;

/// Number of states that fit in one value.
const PLACE_BYTES: usize = size_of::<f64>();

/// The state of each residue in each frame, and the number of frames in which each residue is in each state.
///
/// A state takes one byte, so one value contains eight states. Bytes of states side by side always form a finite float64, so no
/// copy can change them.
#[derive(Debug)]
pub struct SecondaryStructure {
    n_atoms: usize,
    residues: Arc<Vec<Residue>>,
    rules: Rules,
    level: Level,
    memory: Memory,
}

/// Working memory for frames.
#[derive(Debug, Default)]
struct Memory {
    backbone: Backbone,
    bonds: Bonds,
    assignment: Assignment,
}

impl SecondaryStructure {
    /// Creates the computation for residues among `n_atoms` atoms. Returns an error if there are no residues, an atom does not
    /// exist, or the longest bond is not a positive length.
    pub fn new(n_atoms: usize, residues: Vec<Residue>, rules: Rules) -> Result<Self> {
        if residues.is_empty() {
            return Err(Error::mismatch("there are no residues"));
        }
        for (number, residue) in residues.iter().enumerate() {
            let hydrogen = if let Hydrogen::Atom(atom) = residue.hydrogen { Some(atom) } else { None };
            if let Some(atom) = residue.backbone.into_iter().chain(hydrogen).find(|&atom| atom as usize >= n_atoms) {
                return Err(Error::mismatch(format!("residue {number} needs atom {atom} of {n_atoms}")));
            }
        }
        if let Some(longest) = rules.longest_bond.filter(|longest| !(longest.is_finite() && *longest > 0.0)) {
            return Err(Error::mismatch(format!("the longest peptide bond is {longest} Å: expected a length")));
        }
        let (residues, level) = (Arc::new(residues), Level::detect());
        Ok(SecondaryStructure { n_atoms, residues, rules, level, memory: Memory::default() })
    }

    /// Sets the vector instructions. The level does not affect the states.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn at_level(self, level: Level) -> Self {
        SecondaryStructure { level, ..self }
    }
}

impl Computation for SecondaryStructure {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        let n_residues = self.residues.len();
        Layout {
            n_counts: n_residues * self.rules.method.n_states(),
            ..Layout::columns(n_residues.div_ceil(PLACE_BYTES))
        }
    }

    fn another(&self) -> Box<dyn Computation> {
        let residues = Arc::clone(&self.residues);
        Box::new(SecondaryStructure { residues, memory: Memory::default(), ..*self })
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        self.level.run(MapBatch { of: self, batch, slots })
    }
}

struct MapBatch<'a, 'b> {
    of: &'a mut SecondaryStructure,
    batch: &'a FrameBatch,
    slots: &'a mut Slots<'b>,
}

impl Operation for MapBatch<'_, '_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Result<()> {
        let MapBatch { of: SecondaryStructure { residues, rules, memory, .. }, batch, slots } = self;
        let Memory { backbone, bonds, assignment } = memory;
        let method = rules.method;
        for i in 0..batch.len() {
            let images = if rules.is_periodic { Periodic::of_frame(batch.header(i))? } else { None };
            let is_finite = backbone.read(residues, rules, batch.columns(i), images);
            if !(is_finite && bonds.find(backbone, method)) {
                return Err(not_finite(batch, i, "backbone"));
            }
            let states = assignment.of(method, backbone, bonds);
            for (value, states) in slots.row(i).iter_mut().zip(states.chunks(PLACE_BYTES)) {
                let mut bytes = [0; PLACE_BYTES];
                bytes[..states.len()].copy_from_slice(states);
                *value = f64::from_ne_bytes(bytes);
            }
            for (counts, &state) in slots.counts.chunks_exact_mut(method.n_states()).zip(states) {
                counts[method.counted(state)] += 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
