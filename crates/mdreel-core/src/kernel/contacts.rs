//! Contacts: the fraction of reference contacts, or the number of all contacts, in each frame.

use std::sync::Arc;

use super::group::Group;
use super::images::{Shortest, exceeded_radius};
use super::pairs::Pairs;
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::neighbours::{Neighbours, Run, Visit};
use crate::periodic::Periodic;
use crate::reduce::{Layout, Slots};
use crate::simd::{Lanes, Level, Operation};

/// Number of distances that are computed together.
const MOST: usize = 256;

/// Two atoms that are in contact in the reference, and their distance there, Å.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contact {
    /// Indices of the atoms.
    pub atoms: [u32; 2],
    /// Distance of the atoms in the reference, in Å.
    pub reference: f64,
}

/// Criterion for the presence of a reference contact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// The contact is present if the distance is not longer than in the reference.
    Hard,
    /// The contact is present if the distance is not longer than this radius, in Å.
    Radius(f64),
    /// The contact counts `1 / (1 + exp(beta (r - lambda r0)))`, with beta in Å⁻¹ (Best, Hummer and Eaton 2013).
    Soft {
        /// Steepness of the decrease, in Å⁻¹.
        beta: f64,
        /// Ratio of the distance at which the value is one half to the distance in the reference.
        lambda: f64,
    },
}

impl Measure {
    fn of(self, distance: f64, reference: f64) -> f64 {
        match self {
            Measure::Hard => f64::from(u8::from(distance <= reference)),
            Measure::Radius(radius) => f64::from(u8::from(distance <= radius)),
            Measure::Soft { beta, lambda } => 1.0 / (1.0 + (beta * (distance - lambda * reference)).exp()),
        }
    }
}

/// Fraction of the contacts of each of several references that are present in each frame.
#[derive(Debug, Clone)]
pub struct NativeContacts {
    n_atoms: usize,
    references: Arc<Vec<Vec<Contact>>>,
    measure: Measure,
    shortest: Shortest,
}

impl NativeContacts {
    /// Creates the computation for contacts between atoms among `n_atoms`, with the images that `shortest` selects. Returns an
    /// error if a reference has no contacts, or an atom does not exist.
    pub fn new(n_atoms: usize, references: Vec<Vec<Contact>>, measure: Measure, shortest: Shortest) -> Result<Self> {
        let mut atoms = references.iter().flatten().flat_map(|contact| contact.atoms);
        if let Some(atom) = atoms.find(|&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a contact needs atom {atom} of {n_atoms}")));
        }
        if let Some(empty) = references.iter().position(Vec::is_empty) {
            return Err(Error::mismatch(format!("reference {empty} has no contacts: is the radius too short?")));
        }
        Ok(NativeContacts { n_atoms, references: Arc::new(references), measure, shortest })
    }
}

impl Computation for NativeContacts {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout::columns(self.references.len())
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        for i in 0..batch.len() {
            let cell = self.shortest.of(batch, i)?;
            let columns = batch.columns(i);
            for (share, contacts) in slots.row(i).iter_mut().zip(&*self.references) {
                let mut sum = 0.0;
                for &Contact { atoms: [from, to], reference } in contacts {
                    let d = [columns.x, columns.y, columns.z]
                        .map(|column| f64::from(column[to as usize]) - f64::from(column[from as usize]));
                    let [x, y, z] = cell.as_ref().map_or(d, |cell| cell.shortest(d));
                    let distance = (x * x + y * y + z * z).sqrt();
                    if !distance.is_finite() {
                        return Err(not_finite(batch, i, "distances"));
                    }
                    sum += self.measure.of(distance, reference);
                }
                *share = sum / contacts.len() as f64;
            }
        }
        Ok(())
    }
}

/// The number of pairs of atoms from two groups that are in contact, in each frame.
///
/// If the radius exceeds the radius within which images are unique, the frame leaves a record of the latter (Å).
#[derive(Debug, Clone)]
pub struct ContactCount {
    n_atoms: usize,
    pairs: Pairs,
    /// Indices of the atoms that both groups share in a frame, if only unique pairs count and the groups differ.
    shared: Vec<u32>,
    is_unique: bool,
    radius: f64,
    shortest: Shortest,
    level: Level,
}

impl ContactCount {
    /// Creates the computation for pairs of atoms from two groups among `n_atoms` atoms that are no farther apart than `radius`
    /// (Å).
    ///
    /// With `is_unique`, each pair of different atoms counts once, regardless of the groups that contain the atoms. Otherwise,
    /// each entry of the distance matrix counts. Returns an error if a group has no atoms, an atom does not exist, or the
    /// radius is negative or not finite. With `is_unique`, a changing group that contains an atom more than once is also an
    /// error.
    pub fn new(
        n_atoms: usize,
        groups: [impl Into<Group>; 2],
        radius: f64,
        shortest: Shortest,
        is_unique: bool,
    ) -> Result<Self> {
        check_radius(radius)?;
        let mut groups: [Group; 2] = groups.map(Into::into);
        if is_unique {
            for group in &mut groups {
                group.make_unique()?;
            }
        }
        let [from, to] = groups;
        let (pairs, level, mut shared) = (Pairs::new(n_atoms, from, to)?, Level::detect(), Vec::new());
        if is_unique && !pairs.is_changing() && !pairs.is_of_one_group() {
            pairs.find_shared(&mut shared);
        }
        Ok(ContactCount { n_atoms, pairs, shared, is_unique, radius, shortest, level })
    }

    /// Sets the vector instructions. The level does not affect the counts.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn at_level(self, level: Level) -> Self {
        ContactCount { level, ..self }
    }
}

impl Computation for ContactCount {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout { record: Some(1), ..Layout::columns(1) }
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        self.level.run(Count { contacts: self, batch, slots })
    }
}

struct Count<'a, 'b> {
    contacts: &'a mut ContactCount,
    batch: &'a FrameBatch,
    slots: &'a mut Slots<'b>,
}

impl Operation for Count<'_, '_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Result<()> {
        let Count { contacts: ContactCount { pairs, shared, is_unique, radius, shortest, .. }, batch, slots } = self;
        let once = *is_unique && pairs.is_of_one_group();
        let mut near = Near { radius: *radius, n_near: 0, squares: [0.0; MOST] };
        for i in 0..batch.len() {
            let images = shortest.of(batch, i)?;
            if let Some(unique) = exceeded_radius(images.as_ref(), *radius) {
                slots.record(batch.header(i).index, &[unique]);
            }
            near.n_near = 0;
            pairs.visit(batch, i, images, (*radius, once), &mut near)?;
            let mut n_contacts = near.n_near;
            if *is_unique && !once {
                if pairs.is_changing() {
                    pairs.find_shared(shared);
                }
                // The search counted each shared atom with itself, and each pair of shared atoms twice.
                n_contacts -= shared.len() as u64;
                if shared.len() > 1 {
                    near.n_near = 0;
                    pairs.visit_among(shared, batch, i, (images, *radius), &mut near)?;
                    n_contacts -= near.n_near;
                }
            }
            slots.row(i)[0] = n_contacts as f64;
        }
        Ok(())
    }
}

/// Counter for the points within a radius.
struct Near {
    radius: f64,
    n_near: u64,
    squares: [f64; MOST],
}

impl Visit for Near {
    #[inline(always)]
    fn visit(&mut self, _: u32, run: Run<'_>) {
        for run in run.turns(MOST) {
            run.squares(&mut self.squares);
            let squares = &self.squares[..run.places.len()];
            self.n_near += squares.iter().map(|square| u64::from(square.sqrt() <= self.radius)).sum::<u64>();
        }
    }
}

/// Returns the pairs of points that are no farther apart than `radius` (Å): the contacts of a reference.
///
/// The pairs are in the order of the first points, then of the second points. Returns an error if a coordinate is not finite,
/// or the radius is negative or not finite.
pub fn contacts_of([first, second]: [&[[f64; 3]]; 2], images: Option<Periodic>, radius: f64) -> Result<Vec<Contact>> {
    check_radius(radius)?;
    let columns: [Vec<f64>; 3] = std::array::from_fn(|axis| second.iter().map(|point| point[axis]).collect());
    let mut neighbours = Neighbours::default();
    let is_finite = first.iter().flatten().all(|value| value.is_finite());
    if !neighbours.place(columns.each_ref().map(|column| &column[..]), images, radius) || !is_finite {
        return Err(Error::mismatch("the reference has coordinates that are not finite"));
    }
    let mut found = Found { radius, contacts: Vec::new() };
    (0..).zip(first).for_each(|(from, &point)| neighbours.near(from, point, &mut found));
    found.contacts.sort_unstable_by_key(|contact| contact.atoms);
    Ok(found.contacts)
}

pub(super) fn check_radius(radius: f64) -> Result<()> {
    if radius.is_finite() && radius >= 0.0 {
        return Ok(());
    }
    Err(Error::mismatch(format!("the radius is {radius} Å: expected a length")))
}

struct Found {
    radius: f64,
    contacts: Vec<Contact>,
}

impl Visit for Found {
    #[inline(always)]
    fn visit(&mut self, from: u32, run: Run<'_>) {
        for (k, &to) in run.places.iter().enumerate() {
            let [x, y, z] = run.vector(k);
            let reference = (x * x + y * y + z * z).sqrt();
            if reference <= self.radius {
                self.contacts.push(Contact { atoms: [from, to], reference });
            }
        }
    }
}

#[cfg(test)]
mod tests;
