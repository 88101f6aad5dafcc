//! Hydrogen bonds in each frame: donor, hydrogen and acceptor that are close and nearly collinear.

use std::sync::Arc;

use super::group::Group;
use super::images::exceeded_radius;
use super::pairs::Pairs;
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::neighbours::{Run, Visit};
use crate::periodic::Periodic;
use crate::reduce::{Layout, Slots};
use crate::simd::{Lanes, Level, Operation};

/// Lower limit of the distance of donor and acceptor, in Å. Atoms that are closer are the same atom, or covalently bonded.
const LEAST: f64 = 1.0;
/// Number of distances that are computed together.
const MOST: usize = 256;

/// Criteria for a hydrogen bond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criteria {
    /// The longest distance of donor and acceptor, in Å.
    pub distance: f64,
    /// The lower limit of the angle of donor, hydrogen and acceptor, in degrees.
    pub angle: f64,
}

/// One bit mask for each donor and for each acceptor. A donor and an acceptor may be bonded if their masks share a bit.
pub(crate) type Masks = [Vec<u64>; 2];

/// Computation that records the hydrogen bonds of each frame: donor, hydrogen, acceptor, distance of donor and acceptor (Å),
/// and angle (degrees).
#[derive(Debug, Clone)]
pub struct HydrogenBonds {
    n_atoms: usize,
    pairs: Pairs,
    donors: Arc<Vec<u32>>,
    hydrogens: Arc<Vec<u32>>,
    acceptors: Arc<Vec<u32>>,
    masks: Option<Arc<Masks>>,
    criteria: Criteria,
    level: Level,
    found: Vec<(u32, u32, f64)>,
}

impl HydrogenBonds {
    /// Creates the computation for donors and acceptors among `n_atoms` atoms. `hydrogens` contains the index of the hydrogen
    /// of each donor.
    ///
    /// Returns an error if there are no donors or acceptors, an atom does not exist, the number of hydrogens or masks is wrong,
    /// or the criteria are not a valid distance and angle.
    pub fn new(
        n_atoms: usize,
        donors: impl Into<Group>,
        hydrogens: Vec<u32>,
        acceptors: impl Into<Group>,
        masks: Option<Masks>,
        criteria: Criteria,
    ) -> Result<Self> {
        let Criteria { distance, angle } = criteria;
        if !(distance.is_finite() && distance > 0.0 && angle.is_finite()) {
            let message =
                format!("a hydrogen bond of {distance} Å and {angle} degrees: expected a distance and an angle");
            return Err(Error::mismatch(message));
        }
        if let Some(hydrogen) = hydrogens.iter().find(|&&hydrogen| hydrogen as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a hydrogen bond needs atom {hydrogen} of {n_atoms}")));
        }
        let (donors, acceptors) = (donors.into(), acceptors.into());
        let pairs = Pairs::new(n_atoms, donors.clone(), acceptors.clone())?;
        if hydrogens.len() != donors.len() {
            let message = format!("there are {} hydrogens for {} donors", hydrogens.len(), donors.len());
            return Err(Error::mismatch(message));
        }
        if masks.as_ref().is_some_and(|masks| masks.each_ref().map(Vec::len) != pairs.n_atoms()) {
            return Err(Error::mismatch("there are masks: expected one for each donor and acceptor"));
        }
        let (donors, acceptors) = (Arc::clone(donors.places()), Arc::clone(acceptors.places()));
        let (hydrogens, masks) = (Arc::new(hydrogens), masks.map(Arc::new));
        Ok(HydrogenBonds {
            n_atoms,
            pairs,
            donors,
            hydrogens,
            acceptors,
            masks,
            criteria,
            level: Level::detect(),
            found: Vec::new(),
        })
    }

    /// Sets the vector instructions. The level does not affect the bits of the result.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn at_level(self, level: Level) -> Self {
        HydrogenBonds { level, ..self }
    }
}

impl Computation for HydrogenBonds {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout { record: Some(5), ..Layout::default() }
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        for i in 0..batch.len() {
            let images = Periodic::of_frame(batch.header(i))?;
            if let Some(radius) = exceeded_radius(images.as_ref(), self.criteria.distance) {
                return Err(Error::mismatch(format!("donors and acceptors may be {} Å apart, more than half the shortest lattice vector of the cell, \
                     {radius:.3} Å: several images of an acceptor would be bonded. Shorten the distance, or repeat the cell in \
                     the trajectory", self.criteria.distance)).at_frame(batch.header(i).index));
            }
            let level = self.level;
            level.run(FindNear { bonds: self, batch, i, images })?;
            let columns = batch.columns(i);
            let at = |atom: u32| [columns.x, columns.y, columns.z].map(|column| f64::from(column[atom as usize]));
            for &(pair, acceptor, distance) in &self.found {
                let (donor, hydrogen) = (self.donors[pair as usize], self.hydrogens[pair as usize]);
                let acceptor = self.acceptors[acceptor as usize];
                let angle = angle([at(donor), at(hydrogen), at(acceptor)], images);
                if !angle.is_finite() {
                    return Err(not_finite(batch, i, "angles"));
                }
                if angle > self.criteria.angle {
                    let atoms = [donor, hydrogen, acceptor].map(f64::from);
                    let frame = batch.header(i).index;
                    slots.record(frame, &[atoms[0], atoms[1], atoms[2], distance, angle]);
                }
            }
        }
        Ok(())
    }
}

/// Returns the angle at the second of three points, in degrees.
pub(super) fn angle([a, b, c]: [[f64; 3]; 3], images: Option<Periodic>) -> f64 {
    let shortest = |d| images.as_ref().map_or(d, |cell| cell.shortest(d));
    let [u, v] = [a, c].map(|end| shortest(std::array::from_fn(|k| end[k] - b[k])));
    let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let dot = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let sine = (cross[0] * cross[0] + cross[1] * cross[1] + cross[2] * cross[2]).sqrt();
    sine.atan2(dot).to_degrees()
}

/// Operation that finds the donors and acceptors of a frame that are near each other, and sorts them.
struct FindNear<'a> {
    bonds: &'a mut HydrogenBonds,
    batch: &'a FrameBatch,
    i: usize,
    images: Option<Periodic>,
}

impl Operation for FindNear<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Result<()> {
        let FindNear { bonds: HydrogenBonds { pairs, masks, criteria, found, .. }, batch, i, images } = self;
        found.clear();
        let mut near = Near { distance: criteria.distance, masks: masks.as_deref(), squares: [0.0; MOST], found };
        pairs.visit(batch, i, images, (criteria.distance, false), &mut near)?;
        // The search finds pairs in the order of its cells.
        found.sort_unstable_by_key(|&(donor, acceptor, _)| (donor, acceptor));
        Ok(())
    }
}

struct Near<'a> {
    distance: f64,
    masks: Option<&'a Masks>,
    squares: [f64; MOST],
    found: &'a mut Vec<(u32, u32, f64)>,
}

impl Visit for Near<'_> {
    #[inline(always)]
    fn visit(&mut self, from: u32, run: Run<'_>) {
        for run in run.turns(MOST) {
            run.squares(&mut self.squares);
            for (&to, square) in run.places.iter().zip(self.squares) {
                let distance = square.sqrt();
                let may_bond = |[donors, acceptors]: &Masks| donors[from as usize] & acceptors[to as usize] != 0;
                if distance > LEAST && distance <= self.distance && self.masks.is_none_or(may_bond) {
                    self.found.push((from, to, distance));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
