//! Surface areas of a group that is selected again in each frame.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::kernel::group::Group;

/// A group whose members are measured, and the atoms that cover them.
#[derive(Debug, Clone)]
pub(super) struct Changing {
    n_atoms: usize,
    /// The index in a frame of the atom of each sphere.
    places: Arc<Vec<u32>>,
    group: Group,
    /// Whether only members cover one another.
    is_alone: bool,
    n_areas: usize,
}

/// The members of the group in a frame.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// For each member, its index among the covering points, its sphere and its area.
    pub(super) measured: Vec<(u32, [u32; 2])>,
    /// The sphere of each member.
    pub(super) spheres: Vec<u32>,
    /// For each area, whether it has a member.
    pub(super) has_area: Vec<bool>,
}

impl Changing {
    pub(super) fn new(
        n_atoms: usize,
        places: Vec<u32>,
        group: Group,
        is_alone: bool,
        (measured, n_areas): (&[[u32; 2]], usize),
    ) -> Result<Self> {
        if let Some(atom) = places.iter().find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a surface needs atom {atom} of {n_atoms}")));
        }
        let of_measured = measured.iter().map(|&[sphere, _]| places[sphere as usize]);
        if !of_measured.eq(group.places().iter().copied()) {
            return Err(Error::mismatch(format!("a group of {} atoms is not what is measured", group.len())));
        }
        Ok(Changing { n_atoms, places: Arc::new(places), group, is_alone, n_areas })
    }

    pub(super) fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    pub(super) fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// Writes the positions of the covering atoms in the i-th frame (Å) to `points`, and the measured atoms to `members`.
    pub(super) fn gather(
        &mut self,
        batch: &FrameBatch,
        i: usize,
        measured: &[[u32; 2]],
        points: &mut [Vec<f64>; 3],
        members: &mut Members,
    ) -> Result<()> {
        let is_alone = self.is_alone;
        let Members { measured: current, spheres, has_area } = members;
        current.clear();
        spheres.clear();
        has_area.clear();
        has_area.resize(self.n_areas, false);
        for &number in &*self.group.numbers(batch, i)? {
            let [sphere, area] = measured[number as usize];
            current.push((if is_alone { current.len() as u32 } else { sphere }, [sphere, area]));
            spheres.push(sphere);
            has_area[area as usize] = true;
        }
        let columns = batch.columns(i);
        for (points, column) in points.iter_mut().zip([columns.x, columns.y, columns.z]) {
            let at = |place: u32| f64::from(column[place as usize]);
            points.clear();
            if is_alone {
                points.extend(spheres.iter().map(|&sphere| at(self.places[sphere as usize])));
            } else {
                points.extend(self.places.iter().map(|&place| at(place)));
            }
        }
        Ok(())
    }
}
