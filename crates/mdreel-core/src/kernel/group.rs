//! Groups of atoms, which stay the same or are selected again in each frame.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::selection::Selecting;

/// Atoms given by their places in a frame, numbered from 0. In each frame, either all atoms or only the selected ones belong to
/// the group.
#[derive(Debug, Clone)]
pub struct Group {
    places: Arc<Vec<u32>>,
    changing: Option<Changing>,
}

#[derive(Debug, Clone)]
struct Changing {
    selecting: Selecting,
    /// The atom of the whole system that must be selected for each number to belong to the group.
    keys: Arc<Vec<u32>>,
    current: Vec<u32>,
}

impl From<Vec<u32>> for Group {
    /// Atoms at these places, in every frame.
    fn from(places: Vec<u32>) -> Self {
        Group { places: Arc::new(places), changing: None }
    }
}

impl Group {
    /// A group whose members in a frame are the atoms whose key is selected. A key is an index in the whole system.
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

    /// The places of all that can belong to it, by number.
    pub fn places(&self) -> &Arc<Vec<u32>> {
        &self.places
    }

    /// How many can belong to it.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether it is selected again in each frame.
    pub fn is_changing(&self) -> bool {
        self.changing.is_some()
    }

    /// The numbers of those that belong to it in the i-th frame of a batch; `None` for all.
    pub fn current(&mut self, batch: &FrameBatch, i: usize) -> Result<Option<&[u32]>> {
        let Some(Changing { selecting, keys, current }) = &mut self.changing else { return Ok(None) };
        let selected = selecting.select(batch, i)?;
        current.clear();
        current.extend((0..).zip(keys.iter()).filter(|&(_, &key)| selected.contains(key)).map(|(number, _)| number));
        Ok(Some(current))
    }
}
