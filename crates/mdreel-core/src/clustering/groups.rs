//! Groups of sixteen frames in the layout of the vector instructions.

use super::frames::Frames;
use super::lanes::{Distances, Sixteen, WIDTH};
use super::pivots::Pivots;

/// Frames in ascending order, divided into groups of sixteen.
pub(super) struct Groups {
    ids: Vec<u32>,
    n_atoms: usize,
    /// x, y and z of one atom in all frames of a group, then of the next atom.
    coordinates: Vec<[Sixteen; 3]>,
    /// Half the sum of the squares of the coordinates of each frame, Å², or NaN if `screen` cannot decide.
    half_moments: Vec<[f64; WIDTH]>,
    distances: Vec<Distances>,
}

impl Groups {
    /// Creates groups of the frames with the given numbers, which must ascend.
    pub(super) fn new(frames: &Frames<'_>, pivots: &Pivots, ids: Vec<u32>) -> Self {
        let (n_atoms, n_groups) = (frames.n_atoms(), ids.len().div_ceil(WIDTH));
        let mut coordinates = vec![[Sixteen([0.0; WIDTH]); 3]; n_groups * n_atoms];
        let mut half_moments = vec![[f64::NAN; WIDTH]; n_groups];
        let mut centred = Vec::with_capacity(n_atoms);
        let mut distances = Vec::with_capacity(n_groups);
        for (group, ids) in ids.chunks(WIDTH).enumerate() {
            let atoms = &mut coordinates[group * n_atoms..][..n_atoms];
            for (lane, id) in ids.iter().enumerate() {
                half_moments[group][lane] = 0.5 * frames.centred(*id as usize, &mut centred);
                for (columns, point) in atoms.iter_mut().zip(&centred) {
                    for (column, value) in columns.iter_mut().zip(point) {
                        column.0[lane] = *value;
                    }
                }
            }
            distances.push(pivots.of_group(ids));
        }
        Groups { ids, n_atoms, coordinates, half_moments, distances }
    }

    /// Returns the number of groups.
    pub(super) fn len(&self) -> usize {
        self.half_moments.len()
    }

    /// Returns the numbers of all frames.
    pub(super) fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Returns the numbers of the frames of a group. The last group may have fewer frames than the others.
    pub(super) fn ids_of(&self, group: usize) -> &[u32] {
        &self.ids[group * WIDTH..self.ids.len().min((group + 1) * WIDTH)]
    }

    /// Returns the coordinates of a group: x, y and z of one atom after another.
    pub(super) fn coordinates(&self, group: usize) -> &[[Sixteen; 3]] {
        &self.coordinates[group * self.n_atoms..][..self.n_atoms]
    }

    /// Returns half the sums of squares of a group.
    pub(super) fn half_moments(&self, group: usize) -> &[f64; WIDTH] {
        &self.half_moments[group]
    }

    /// Returns the distances of a group from the pivots.
    pub(super) fn distances(&self, group: usize) -> &Distances {
        &self.distances[group]
    }
}
