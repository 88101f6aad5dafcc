//! Linear density: mass and charge in slabs along x, y and z.

mod changing;

use std::sync::Arc;

use changing::ChangingCompounds;

use super::bins::Bins;
use super::group::Group;
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::{Columns, FrameBatch, LANES};
use crate::periodic::{Periodic, into_brick};
use crate::reduce::{Layout, Slots, Sum};
use crate::simd::{Lanes, Level, Operation};

/// Densities of mass and charge in slabs perpendicular to x, y and z. Each slab has four sums over frames: of the mass density,
/// its square, the charge density and its square.
#[derive(Debug)]
pub struct LinearDensity {
    counted: Counted,
    bins: Arc<Bins>,
    per_volume: [f64; 3],
    level: Level,
    memory: Memory,
}

/// Atoms or compounds. They are the same in all frames, or consist of the atoms that are selected in each frame.
#[derive(Debug, Clone)]
enum Counted {
    Same(Arc<Compounds>),
    Changing(Box<ChangingCompounds>),
}

/// Compounds of atoms, which are counted at their centre of mass.
#[derive(Debug)]
struct Compounds {
    n_atoms: usize,
    /// The compound of each atom and the share of the atom in its mass; `None` if each atom is counted by itself.
    shares: Option<Vec<(u32, f64)>>,
    /// Mass and charge of each compound, padded with zeros to full octets.
    amounts: Vec<[f64; 2]>,
}

/// Working memory for frames.
#[derive(Debug, Default)]
struct Memory {
    /// x, y and z of atoms or compounds, padded to full octets.
    centres: [Vec<f64>; 3],
    /// Mass and charge of each atom or compound if they change from frame to frame, padded to full octets.
    amounts: Vec<[f64; 2]>,
    /// Mass and charge below all slabs, in each slab, and above all slabs, for each of the three axes.
    slabs: [Vec<[f64; 2]>; 3],
}

impl LinearDensity {
    /// Number of sums per slab.
    pub(crate) const N_SUMS: usize = 4;

    /// Creates the computation for atoms with these masses and charges.
    ///
    /// Each atom is counted at its position. With `labels`, all atoms with the same label form a compound, which is counted at
    /// its centre of mass. Positions are first mapped into the cell. Slabs are between the edges of `bins` (Å) along each axis.
    /// The amounts in a slab are multiplied by the `per_volume` of its axis. Returns an error if the arguments do not match, or
    /// a compound has no mass.
    pub fn new(
        masses: &[f64],
        charges: &[f64],
        labels: Option<&[u32]>,
        bins: Bins,
        per_volume: [f64; 3],
    ) -> Result<Self> {
        LinearDensity::of(Counted::Same(Arc::new(Compounds::new(masses, charges, labels)?)), bins, per_volume)
    }

    /// Creates the computation for a group among `n_atoms` atoms that is selected again in each frame.
    ///
    /// The masses, charges and labels are those of the atoms of the group. A compound consists of its selected atoms. A frame
    /// in which the selected atoms of a compound have no mass is an error.
    pub fn changing(
        n_atoms: usize,
        group: impl Into<Group>,
        [masses, charges]: [&[f64]; 2],
        labels: Option<&[u32]>,
        bins: Bins,
        per_volume: [f64; 3],
    ) -> Result<Self> {
        let n_compounds = check_amounts(masses, charges, labels)?;
        let compounds = ChangingCompounds::new(n_atoms, group.into(), [masses, charges], labels, n_compounds)?;
        LinearDensity::of(Counted::Changing(Box::new(compounds)), bins, per_volume)
    }

    fn of(counted: Counted, bins: Bins, per_volume: [f64; 3]) -> Result<Self> {
        if !per_volume.iter().all(|factor| factor.is_normal() && *factor > 0.0) {
            return Err(Error::mismatch(format!("slabs have no volume: {per_volume:?}")));
        }
        let (bins, level, memory) = (Arc::new(bins), Level::detect(), Memory::default());
        Ok(LinearDensity { counted, bins, per_volume, level, memory })
    }

    /// Sets the vector instructions. The level does not affect the bits of the result.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn at_level(self, level: Level) -> Self {
        LinearDensity { level, ..self }
    }

    /// Adds the densities of the current frame to the sums.
    fn add_up(&self, frame: u64, sums: &mut [Sum]) -> Result<()> {
        let factors = self.per_volume.iter().zip(&self.memory.slabs);
        let amounts = factors.flat_map(|(factor, slabs)| {
            let inside = &slabs[1..slabs.len() - 1];
            inside.iter().map(move |amounts| amounts.map(|x| x * factor))
        });
        for (densities, sums) in amounts.zip(sums.as_chunks_mut::<{ LinearDensity::N_SUMS }>().0) {
            for (density, sums) in densities.into_iter().zip(sums.as_chunks_mut::<2>().0) {
                let square = density * density;
                if square > Sum::MOST {
                    return Err(
                        Error::mismatch(format!("a density is {density}: expected 262 144 at most")).at_frame(frame)
                    );
                }
                sums[0] += Sum::of(density);
                sums[1] += Sum::of(square);
            }
        }
        Ok(())
    }
}

/// Checks the properties of the atoms, and returns the number of atoms or compounds.
fn check_amounts(masses: &[f64], charges: &[f64], labels: Option<&[u32]>) -> Result<usize> {
    let mismatch = |message: String| Err(Error::mismatch(message));
    let n_atoms = masses.len();
    if n_atoms == 0 || charges.len() != n_atoms || labels.is_some_and(|labels| labels.len() != n_atoms) {
        return mismatch(format!("{n_atoms} atoms have {} charges, or other labels", charges.len()));
    }
    if let Some(atom) = (0..n_atoms).find(|&atom| !(masses[atom].is_finite() && charges[atom].is_finite())) {
        let (mass, charge) = (masses[atom], charges[atom]);
        return mismatch(format!("atom {atom} has the mass {mass} and the charge {charge}: expected numbers"));
    }
    let Some(labels) = labels else { return Ok(n_atoms) };
    let n_compounds = labels.iter().map(|&label| label as usize + 1).max().unwrap_or(0);
    if n_compounds > n_atoms {
        return mismatch(format!("{n_atoms} atoms are no {n_compounds} compounds"));
    }
    Ok(n_compounds)
}

impl Compounds {
    fn new(masses: &[f64], charges: &[f64], labels: Option<&[u32]>) -> Result<Self> {
        let n_compounds = check_amounts(masses, charges, labels)?;
        let n_atoms = masses.len();
        let atoms = masses.iter().copied().zip(charges.iter().copied());
        let Some(labels) = labels else {
            let mut amounts: Vec<[f64; 2]> = atoms.map(|(mass, charge)| [mass, charge]).collect();
            amounts.resize(n_atoms.next_multiple_of(LANES), [0.0; 2]);
            return Ok(Compounds { n_atoms, shares: None, amounts });
        };
        let mut amounts = vec![[0.0; 2]; n_compounds];
        for ((mass, charge), &label) in atoms.zip(labels) {
            let [total_mass, total_charge] = &mut amounts[label as usize];
            *total_mass += mass;
            *total_charge += charge;
        }
        if let Some(compound) = amounts.iter().position(|[mass, _]| *mass <= 0.0) {
            return Err(Error::mismatch(format!("compound {compound} has no mass, and no centre of it")));
        }
        let shares =
            labels.iter().zip(masses).map(|(&label, mass)| (label, mass / amounts[label as usize][0])).collect();
        amounts.resize(n_compounds.next_multiple_of(LANES), [0.0; 2]);
        Ok(Compounds { n_atoms, shares: Some(shares), amounts })
    }

    /// Computes the positions of the atoms or compounds, in Å, and returns whether all are finite.
    #[inline(always)]
    fn locate(&self, columns: Columns<'_>, centres: &mut [Vec<f64>; 3]) -> bool {
        let mut is_finite = true;
        for (column, centres) in [columns.x, columns.y, columns.z].into_iter().zip(centres) {
            centres.clear();
            match &self.shares {
                None => centres.extend(column.iter().map(|&at| f64::from(at))),
                Some(shares) => {
                    centres.resize(self.amounts.len(), 0.0);
                    for (&at, &(compound, share)) in column.iter().zip(shares) {
                        centres[compound as usize] += share * f64::from(at);
                    }
                }
            }
            centres.resize(self.amounts.len(), 0.0);
            is_finite &= centres.iter().fold(true, |all, at| all & at.is_finite());
        }
        is_finite
    }
}

impl Computation for LinearDensity {
    fn n_atoms(&self) -> usize {
        match &self.counted {
            Counted::Same(compounds) => compounds.n_atoms,
            Counted::Changing(compounds) => compounds.n_atoms(),
        }
    }

    fn layout(&self) -> Layout {
        Layout { n_sums: 3 * self.bins.n_bins() * LinearDensity::N_SUMS, ..Layout::default() }
    }

    fn another(&self) -> Box<dyn Computation> {
        let (counted, bins) = (self.counted.clone(), self.bins.clone());
        Box::new(LinearDensity { counted, bins, memory: Memory::default(), ..*self })
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        for i in 0..batch.len() {
            let frame = batch.header(i).index;
            let Some(cell) = Periodic::of_frame(batch.header(i))? else {
                return Err(Error::mismatch("no periodic cell: there are no slabs across it").at_frame(frame));
            };
            let level = self.level;
            if !level.run(FillSlabs { density: self, batch, i, vectors: cell.vectors() })? {
                return Err(not_finite(batch, i, "density"));
            }
            self.add_up(frame, slots.sums)?;
        }
        Ok(())
    }
}

/// Operation that computes the mass and charge in each slab and returns whether all positions are finite.
struct FillSlabs<'a> {
    density: &'a mut LinearDensity,
    batch: &'a FrameBatch,
    i: usize,
    vectors: [[f64; 3]; 3],
}

impl Operation for FillSlabs<'_> {
    type Output = Result<bool>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Result<bool> {
        let FillSlabs { density: LinearDensity { counted, bins, memory, .. }, batch, i, vectors } = self;
        let Memory { centres, amounts, slabs } = memory;
        let (is_finite, amounts) = match counted {
            Counted::Same(compounds) => (compounds.locate(batch.columns(i), centres), &compounds.amounts),
            Counted::Changing(compounds) => (compounds.locate(batch, i, centres, amounts)?, &*amounts),
        };
        if !is_finite {
            return Ok(false);
        }
        for slabs in &mut *slabs {
            slabs.clear();
            slabs.resize(bins.n_bins() + 2, [0.0; 2]);
        }
        let [x, y, z] = centres.each_ref().map(|column| column.as_chunks::<LANES>().0);
        for (((x, y), z), amounts) in x.iter().zip(y).zip(z).zip(amounts.as_chunks::<LANES>().0) {
            let mut images = [[0.0; LANES]; 3];
            for k in 0..LANES {
                let [x, y, z] = into_brick(&vectors, [x[k], y[k], z[k]]);
                (images[0][k], images[1][k], images[2][k]) = (x, y, z);
            }
            for (images, slabs) in images.iter().zip(&mut *slabs) {
                for (place, [mass, charge]) in bins.places(images).into_iter().zip(amounts) {
                    let [total_mass, total_charge] = &mut slabs[place as usize];
                    *total_mass += mass;
                    *total_charge += charge;
                }
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
