//! Search for pairs of neighbouring atoms in a frame, within one group or between two groups.

use super::group::Group;
use super::not_finite;
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::neighbours::{Neighbours, Visit};
use crate::periodic::Periodic;

/// Groups of atoms, and the memory for a search of their pairs. The search identifies atoms by their number within the group.
#[derive(Debug)]
pub(crate) struct Pairs {
    from: Group,
    to: Group,
    n_current: [usize; 2],
    columns: [Vec<f64>; 3],
    neighbours: Neighbours,
}

impl Clone for Pairs {
    fn clone(&self) -> Self {
        let (from, to) = (self.from.clone(), self.to.clone());
        Pairs { from, to, columns: Default::default(), neighbours: Neighbours::default(), ..*self }
    }
}

impl Pairs {
    /// Creates the search for pairs of atoms from two groups among `n_atoms` atoms. Returns an error if a group is empty or an
    /// atom does not exist.
    pub(crate) fn new(n_atoms: usize, from: impl Into<Group>, to: impl Into<Group>) -> Result<Self> {
        let (from, to): (Group, Group) = (from.into(), to.into());
        if let Some(atom) = from.places().iter().chain(to.places().iter()).find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a pair needs atom {atom} of {n_atoms}")));
        }
        if from.len() == 0 || to.len() == 0 {
            return Err(Error::mismatch("there are no pairs: a group has no atoms"));
        }
        let n_current = [from.len(), to.len()];
        let (columns, neighbours) = (Default::default(), Neighbours::default());
        Ok(Pairs { from, to, n_current, columns, neighbours })
    }

    /// Returns whether both groups are fixed and consist of the same atoms.
    pub(crate) fn is_of_one_group(&self) -> bool {
        !self.from.is_changing() && !self.to.is_changing() && self.from.places() == self.to.places()
    }

    /// Returns how many atoms belonged to the first group and to the second group in the frame that was visited last.
    pub(crate) fn n_current(&self) -> [usize; 2] {
        self.n_current
    }

    /// Returns how many atoms can belong to the first group and to the second group.
    pub(crate) fn n_atoms(&self) -> [usize; 2] {
        [self.from.len(), self.to.len()]
    }

    /// Returns whether one of the groups is selected again in each frame.
    pub(crate) fn is_changing(&self) -> bool {
        self.from.is_changing() || self.to.is_changing()
    }

    /// Writes to `shared` the indices of the atoms that belonged to both groups in the frame that was visited last. Neither
    /// group may contain an atom twice.
    pub(crate) fn find_shared(&self, shared: &mut Vec<u32>) {
        shared.clear();
        self.from.for_each_latest(|atom| shared.push(atom));
        shared.sort_unstable();
        let mut of_second = Vec::with_capacity(self.to.len());
        self.to.for_each_latest(|atom| of_second.push(atom));
        of_second.sort_unstable();
        shared.retain(|atom| of_second.binary_search(atom).is_ok());
    }

    /// Visits each pair of `atoms` within `distance` (Å) in the i-th frame once. The search also visits some pairs that are
    /// farther apart.
    #[inline(always)]
    pub(crate) fn visit_among(
        &mut self,
        atoms: &[u32],
        batch: &FrameBatch,
        i: usize,
        (images, distance): (Option<Periodic>, f64),
        visit: &mut impl Visit,
    ) -> Result<()> {
        let columns = batch.columns(i);
        for (place, column) in self.columns.iter_mut().zip([columns.x, columns.y, columns.z]) {
            place.clear();
            place.extend(atoms.iter().map(|&atom| f64::from(column[atom as usize])));
        }
        if !self.neighbours.place(self.columns.each_ref().map(|column| &column[..]), images, distance) {
            return Err(not_finite(batch, i, "distances"));
        }
        self.neighbours.pairs(visit);
        Ok(())
    }

    /// Visits every pair within `distance` (Å) in the i-th frame. The search also visits some pairs that are farther apart.
    ///
    /// With `once`, the search visits each pair within the second group once, and never pairs an atom with itself.
    #[inline(always)]
    pub(crate) fn visit(
        &mut self,
        batch: &FrameBatch,
        i: usize,
        images: Option<Periodic>,
        (distance, once): (f64, bool),
        visit: &mut impl Visit,
    ) -> Result<()> {
        let columns = batch.columns(i);
        let columns = [columns.x, columns.y, columns.z];
        let to = self.to.places().clone();
        let numbers = self.to.current(batch, i)?;
        for (place, column) in self.columns.iter_mut().zip(columns) {
            place.clear();
            let value = |&number: &u32| f64::from(column[to[number as usize] as usize]);
            match numbers {
                Some(numbers) => place.extend(numbers.iter().map(value)),
                None => place.extend(to.iter().map(|&atom| f64::from(column[atom as usize]))),
            }
        }
        if !self.neighbours.place(self.columns.each_ref().map(|column| &column[..]), images, distance) {
            return Err(not_finite(batch, i, "distances"));
        }
        self.n_current[1] = self.columns[0].len();
        if let Some(numbers) = numbers {
            self.neighbours.renumber(numbers);
        }
        if once {
            self.n_current[0] = self.n_current[1];
            self.neighbours.pairs(visit);
            return Ok(());
        }
        let from = self.from.places().clone();
        let mut look = |number: u32| {
            let point = columns.map(|column| f64::from(column[from[number as usize] as usize]));
            if !point.iter().all(|value| value.is_finite()) {
                return Err(not_finite(batch, i, "distances"));
            }
            self.neighbours.near(number, point, visit);
            Ok(())
        };
        match self.from.current(batch, i)? {
            Some(numbers) => {
                self.n_current[0] = numbers.len();
                numbers.iter().try_for_each(|&number| look(number))
            }
            None => (0..from.len() as u32).try_for_each(look),
        }
    }
}
