//! Interaction fingerprints: the residues of two groups that interact in each frame, and how.

mod rule;
mod sites;
mod table;

use std::sync::Arc;

pub use rule::Rule;
pub use sites::Sites;
use sites::{Atoms, Points};
use table::Occurrence;
pub use table::{Column, Entries, FingerprintTable, Occurrences};

use super::images::{Shortest, exceeded_radius};
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::neighbours::{Neighbours, Run, Visit};
use crate::reduce::{Layout, Slots, Value};
use crate::simd::{Lanes, Level, Operation};

/// Distances that are computed together.
const MOST: usize = 256;

/// An interaction between the sites of two groups.
#[derive(Debug, Clone)]
pub struct Interaction {
    /// The number of the interaction. Several rules for the same sites may have the same number.
    pub number: u32,
    /// The geometry that two sites must have.
    pub rule: Rule,
    /// The sites of both parts, such as acceptors and donors.
    pub parts: [Sites; 2],
    /// Whether the first part belongs to the second group.
    pub is_swapped: bool,
}

/// Interactions between the residues of two groups, in each frame: the number of different interactions of two residues,
/// the number of their occurrences, and as the own value a [`FingerprintTable`]. A residue does not interact with itself.
#[derive(Debug)]
pub struct Fingerprint {
    n_atoms: usize,
    interactions: Arc<Vec<Interaction>>,
    /// The longest distance of two sites, Å.
    reach: f64,
    shortest: Shortest,
    is_once: bool,
    keeps_occurrences: bool,
    level: Level,
    work: Work,
}

/// Memory that is kept from frame to frame.
#[derive(Debug, Default)]
struct Work {
    points: [Points; 2],
    /// The sites of the larger part that may be near the smaller one, and where they are.
    close: Vec<u32>,
    columns: [Vec<f64>; 3],
    neighbours: Neighbours,
    near: Vec<([u32; 2], f64)>,
    found: Vec<Occurrence>,
}

impl Fingerprint {
    /// Creates the computation for interactions among `n_atoms` atoms. With `is_once`, only pairs count whose first
    /// residue has the smaller number. With `keeps_occurrences` the table also lists the
    /// sites of each occurrence. Returns an error if an atom does not exist, a site has not the atoms that its rule
    /// needs, or radii are missing.
    pub fn new(
        n_atoms: usize,
        interactions: Vec<Interaction>,
        shortest: Shortest,
        is_once: bool,
        keeps_occurrences: bool,
    ) -> Result<Self> {
        let mut reach = 0f64;
        for Interaction { rule, parts, .. } in &interactions {
            for (sites, (anchor, n_needed)) in parts.iter().zip(rule.parts()) {
                sites.check(n_atoms, anchor, n_needed)?;
                let has_radii = sites.radii.len() == sites.len() && sites.radii.iter().all(|radius| radius.is_finite());
                if matches!(rule, Rule::Radii { .. }) && !has_radii {
                    return Err(Error::mismatch("van der Waals contacts need a radius of each atom"));
                }
            }
            reach = reach.max(rule.reach(parts));
        }
        let (level, work) = (Level::detect(), Work::default());
        let interactions = Arc::new(interactions);
        Ok(Fingerprint { n_atoms, interactions, reach, shortest, is_once, keeps_occurrences, level, work })
    }

    /// The same with the vector instructions of `level`. The bits do not depend on it.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn at_level(self, level: Level) -> Self {
        Fingerprint { level, ..self }
    }
}

impl Clone for Fingerprint {
    fn clone(&self) -> Self {
        Fingerprint { interactions: Arc::clone(&self.interactions), work: Work::default(), ..*self }
    }
}

impl Computation for Fingerprint {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout::columns(2)
    }

    fn own(&self) -> Option<Box<dyn Value>> {
        Some(Box::new(FingerprintTable::new(self.keeps_occurrences)))
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        for i in 0..batch.len() {
            let images = self.shortest.of(batch, i)?;
            if let Some(radius) = exceeded_radius(images.as_ref(), self.reach) {
                return Err(Error::mismatch(format!("interactions may be {} Å long, more than half the shortest lattice vector of the cell, \
                     {radius:.3} Å: several images of a residue would interact. Shorten the distances, or repeat the cell in \
                     the trajectory", self.reach)).at_frame(batch.header(i).index));
            }
            let atoms = Atoms { columns: batch.columns(i), images };
            if !atoms.are_finite() {
                return Err(not_finite(batch, i, "positions"));
            }
            let (level, Work { found, .. }) = (self.level, &mut self.work);
            found.clear();
            let is_placed = level.run(Find { fingerprint: self, atoms });
            if !is_placed {
                return Err(not_finite(batch, i, "distances"));
            }
            let found = &mut self.work.found;
            // Cells have an order of their own, which is not that of the sites.
            found.sort_unstable_by(|one, other| {
                (one.column, one.sites)
                    .cmp(&(other.column, other.sites))
                    .then_with(|| one.distance.total_cmp(&other.distance))
            });
            let table = slots.own.as_mut().and_then(|own| own.here::<FingerprintTable>());
            let table = table.ok_or_else(|| Error::worker("interactions have no room for their table"))?;
            let n_entries = table.add(found);
            slots.row(i).copy_from_slice(&[n_entries as f64, found.len() as f64]);
        }
        Ok(())
    }
}

/// Finds the occurrences of all interactions in a frame, and says whether all distances are finite.
struct Find<'a> {
    fingerprint: &'a mut Fingerprint,
    atoms: Atoms<'a>,
}

impl Operation for Find<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self) -> bool {
        let Find { fingerprint: Fingerprint { interactions, is_once, work, .. }, atoms } = self;
        let Work { points, close, columns, neighbours, near, found } = work;
        for Interaction { number, rule, parts, is_swapped } in interactions.iter() {
            if parts.iter().any(|sites| sites.len() == 0) {
                continue;
            }
            for ((points, sites), (anchor, _)) in points.iter_mut().zip(parts).zip(rule.parts()) {
                points.gather(sites, anchor, &atoms);
            }
            // The larger part is sorted into cells. Near its sites are looked for.
            let large = usize::from(parts[1].len() >= parts[0].len());
            let small = 1 - large;
            let reach = rule.reach(parts);
            let is_filtered = points[large].filter(&points[small], &atoms, reach, close, columns);
            let placed =
                if is_filtered { columns.each_ref().map(|column| &column[..]) } else { points[large].columns() };
            if !neighbours.place(placed, atoms.images, reach) {
                return false;
            }
            if is_filtered {
                neighbours.renumber(close);
            }
            near.clear();
            let residues = [&parts[small].residues[..], &parts[large].residues[..]];
            let most = reach * reach * (1.0 + 1e-12);
            let mut visit = Near { residues, most, squares: [0.0; MOST], near };
            for site in 0..parts[small].len() {
                neighbours.near(site as u32, points[small].point(site), &mut visit);
            }
            for &([from, to], square) in near.iter() {
                let of_parts = if small == 0 { [from, to] } else { [to, from] };
                let groups = if *is_swapped { [1, 0] } else { [0, 1] };
                let [first, second] = groups.map(|part| parts[part].residues[of_parts[part] as usize]);
                let distance = square.sqrt();
                let may = !*is_once || first < second;
                if may && rule.holds(&atoms, parts, points, of_parts.map(|site| site as usize), distance) {
                    let sites = groups.map(|part| of_parts[part]);
                    found.push(Occurrence { column: [first, second, *number], sites, distance });
                }
            }
        }
        true
    }
}

/// Keeps the sites of different residues that may be near.
struct Near<'a> {
    residues: [&'a [u32]; 2],
    most: f64,
    squares: [f64; MOST],
    near: &'a mut Vec<([u32; 2], f64)>,
}

impl Visit for Near<'_> {
    #[inline(always)]
    fn visit(&mut self, from: u32, run: Run<'_>) {
        for run in run.turns(MOST) {
            run.squares(&mut self.squares);
            for (&to, square) in run.places.iter().zip(self.squares) {
                if square <= self.most && self.residues[0][from as usize] != self.residues[1][to as usize] {
                    self.near.push(([from, to], square));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
