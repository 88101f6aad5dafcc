//! Groups of atoms that are fixed or selected again in each frame.

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::selection::Selecting;

/// A group of atoms, given by their indices in a frame. In each frame, either all of these atoms belong to the group, or only
/// those that are selected.
///
/// Functions identify an atom of the group by its number: its position in the list of indices, from 0.
#[derive(Debug, Clone)]
pub struct Group {
    places: Arc<Vec<u32>>,
    changing: Option<Changing>,
}

#[derive(Debug, Clone)]
struct Changing {
    selecting: Selecting,
    /// For each number, the index in the whole system of the atom that must be selected.
    keys: Arc<Vec<u32>>,
    current: Vec<u32>,
}

impl From<Vec<u32>> for Group {
    /// Creates a group to which these atoms belong in every frame.
    fn from(places: Vec<u32>) -> Self {
        Group { places: Arc::new(places), changing: None }
    }
}

impl Group {
    /// Creates a group to which an atom belongs in a frame if its key is selected. A key is an index in the whole system.
    pub fn changing(places: Vec<u32>, selecting: Selecting, keys: Vec<u32>) -> Result<Self> {
        if places.len() != keys.len() {
            return Err(Error::mismatch(format!("a group of {} atoms has {} keys", places.len(), keys.len())));
        }
        if let Some(key) = keys.iter().find(|&&key| key as usize >= selecting.n_atoms()) {
            return Err(Error::mismatch(format!("a group has the key {key} of {} atoms", selecting.n_atoms())));
        }
        let changing = Changing { selecting, keys: Arc::new(keys), current: Vec::new() };
        Ok(Group { places: Arc::new(places), changing: Some(changing) })
    }

    /// Sorts the atoms and removes duplicates. Returns an error if the group is changing and contains an atom more than once.
    pub(crate) fn make_unique(&mut self) -> Result<()> {
        let mut places = self.places.to_vec();
        places.sort_unstable();
        places.dedup();
        if self.changing.is_none() {
            self.places = Arc::new(places);
        } else if places.len() < self.places.len() {
            return Err(Error::mismatch("a group that changes has an atom more than once"));
        }
        Ok(())
    }

    /// Returns the indices of all atoms that can belong to the group.
    pub fn places(&self) -> &Arc<Vec<u32>> {
        &self.places
    }

    /// Returns how many atoms can belong to the group.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns whether the group is selected again in each frame.
    pub fn is_changing(&self) -> bool {
        self.changing.is_some()
    }

    /// Calls a function with the index of each atom that belonged to the group in the frame of the last call of `current`.
    pub(crate) fn for_each_latest(&self, mut call: impl FnMut(u32)) {
        match &self.changing {
            None => self.places.iter().for_each(|&place| call(place)),
            Some(Changing { current, .. }) => current.iter().for_each(|&number| call(self.places[number as usize])),
        }
    }

    /// Returns the numbers of the atoms that belong to the group in the i-th frame of `batch`; `None` if all do, because the
    /// group is fixed.
    pub fn current(&mut self, batch: &FrameBatch, i: usize) -> Result<Option<&[u32]>> {
        let Some(Changing { selecting, keys, current }) = &mut self.changing else { return Ok(None) };
        let selected = selecting.select(batch, i)?;
        current.clear();
        current.extend((0..).zip(keys.iter()).filter(|&(_, &key)| selected.contains(key)).map(|(number, _)| number));
        Ok(Some(current))
    }

    /// Returns the numbers of the atoms that belong to the group in the i-th frame of `batch`, also for a fixed group.
    pub(crate) fn numbers(&mut self, batch: &FrameBatch, i: usize) -> Result<Cow<'_, [u32]>> {
        let n_atoms = self.len() as u32;
        Ok(self.current(batch, i)?.map_or_else(|| (0..n_atoms).collect::<Vec<u32>>().into(), Cow::Borrowed))
    }
}
