//! Pairs: of an atom of one group and one of another, or of two of one group, that are near to one another in a frame.

use std::sync::Arc;

use super::not_finite;
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::neighbours::{Neighbours, Visit};
use crate::periodic::Periodic;

/// Groups of atoms, and memory to find pairs of them. Points have the numbers of the atoms within their group.
#[derive(Debug)]
pub(crate) struct Pairs {
    from: Arc<Vec<u32>>,
    to: Arc<Vec<u32>>,
    n_alike: u64,
    columns: [Vec<f64>; 3],
    neighbours: Neighbours,
}

impl Clone for Pairs {
    fn clone(&self) -> Self {
        let (from, to) = (self.from.clone(), self.to.clone());
        Pairs { from, to, n_alike: self.n_alike, columns: Default::default(), neighbours: Neighbours::default() }
    }
}

impl Pairs {
    /// Of two groups among `n_atoms` atoms. Fails where a group has none, or an atom is not there.
    pub(crate) fn new(n_atoms: usize, from: Vec<u32>, to: Vec<u32>) -> Result<Self> {
        if let Some(atom) = from.iter().chain(&to).find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a pair needs atom {atom} of {n_atoms}")));
        }
        if from.is_empty() || to.is_empty() {
            return Err(Error::mismatch("there are no pairs: a group has no atoms"));
        }
        let mut times = vec![0; n_atoms];
        to.iter().for_each(|&atom| times[atom as usize] += 1);
        let n_alike = from.iter().map(|&atom| times[atom as usize]).sum();
        let (from, to) = (Arc::new(from), Arc::new(to));
        Ok(Pairs { from, to, n_alike, columns: Default::default(), neighbours: Neighbours::default() })
    }

    /// Whether both groups are the same.
    pub(crate) fn is_of_one_group(&self) -> bool {
        self.from == self.to
    }

    /// Atoms of the first group, and of the second.
    pub(crate) fn n_atoms(&self) -> [usize; 2] {
        [self.from.len(), self.to.len()]
    }

    /// Pairs of an atom and itself.
    pub(crate) fn n_alike(&self) -> u64 {
        self.n_alike
    }

    /// Visits every pair of the i-th frame within `distance` (Å), and others; with `once` each pair of one group once, and no atom
    /// and itself.
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
        for (place, column) in self.columns.iter_mut().zip(columns) {
            place.clear();
            place.extend(self.to.iter().map(|&atom| f64::from(column[atom as usize])));
        }
        if !self.neighbours.place(self.columns.each_ref().map(|column| &column[..]), images, distance) {
            return Err(not_finite(batch, i, "distances"));
        }
        if once {
            self.neighbours.pairs(visit);
            return Ok(());
        }
        for (from, &atom) in (0..).zip(self.from.iter()) {
            let point = columns.map(|column| f64::from(column[atom as usize]));
            if !point.iter().all(|value| value.is_finite()) {
                return Err(not_finite(batch, i, "distances"));
            }
            self.neighbours.near(from, point, visit);
        }
        Ok(())
    }
}
