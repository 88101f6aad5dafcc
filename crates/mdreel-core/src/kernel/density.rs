//! Density: the number of atoms in each bin of a grid.

use std::sync::Arc;

use super::group::Group;
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::{Columns, FrameBatch};
use crate::reduce::{Layout, Slots};

/// Largest number of bins of a grid. Each bin takes 8 bytes for each worker.
const MOST_BINS: usize = 1 << 28;

/// Bins along an axis.
#[derive(Debug, Clone)]
struct Axis {
    edges: Vec<f64>,
    per_bin: f64,
}

impl Axis {
    fn new(edges: Vec<f64>) -> Result<Self> {
        let is_ascending = edges.windows(2).all(|pair| pair[0] < pair[1]) && edges.iter().all(|edge| edge.is_finite());
        if edges.len() < 2 || !is_ascending {
            return Err(Error::mismatch("the edges of bins must ascend, and be two at least"));
        }
        let per_bin = (edges.len() - 1) as f64 / (edges[edges.len() - 1] - edges[0]);
        Ok(Axis { edges, per_bin })
    }

    fn n_bins(&self) -> usize {
        self.edges.len() - 1
    }

    /// Returns the bin that contains a coordinate. Each bin includes its lower edge; the last bin also includes its upper edge.
    fn bin(&self, at: f64) -> Option<usize> {
        let (first, last) = (self.edges[0], self.edges[self.n_bins()]);
        if !(first..=last).contains(&at) {
            return None;
        }
        // The widths of the bins differ only by rounding. The edges decide.
        let mut bin = (((at - first) * self.per_bin) as usize).min(self.n_bins() - 1);
        while at < self.edges[bin] {
            bin -= 1;
        }
        while bin + 1 < self.n_bins() && at >= self.edges[bin + 1] {
            bin += 1;
        }
        Some(bin)
    }
}

/// Computation that counts the atoms in each bin of a grid over all frames. The last count is the number of all atoms, inside
/// or outside the grid.
#[derive(Debug, Clone)]
pub struct Density {
    n_atoms: usize,
    group: Group,
    axes: Arc<[Axis; 3]>,
}

impl Density {
    /// Creates the computation for a group among `n_atoms` atoms, with bins between these edges (Å). The bins along an axis
    /// must have about the same width.
    pub fn new(n_atoms: usize, group: impl Into<Group>, edges: [Vec<f64>; 3]) -> Result<Self> {
        let group = group.into();
        if let Some(atom) = group.places().iter().find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a density needs atom {atom} of {n_atoms}")));
        }
        let [x, y, z] = edges;
        let axes = [Axis::new(x)?, Axis::new(y)?, Axis::new(z)?];
        let n_bins = axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.n_bins()));
        if n_bins.is_none_or(|n| n > MOST_BINS) {
            let [x, y, z] = [0, 1, 2].map(|k: usize| axes[k].n_bins());
            return Err(Error::mismatch(format!(
                "a grid of {x} x {y} x {z} bins is too fine: expected {MOST_BINS} at most"
            )));
        }
        Ok(Density { n_atoms, group, axes: Arc::new(axes) })
    }
}

impl Computation for Density {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout { n_counts: self.axes.iter().map(Axis::n_bins).product::<usize>() + 1, ..Layout::default() }
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        let (all, counts) = slots.counts.split_last_mut().expect("there is a count of all atoms");
        for i in 0..batch.len() {
            let mut grid = Grid { axes: &self.axes, columns: batch.columns(i), counts, is_finite: true };
            let places = self.group.places().clone();
            match self.group.current(batch, i)? {
                Some(numbers) => {
                    numbers.iter().for_each(|&number| grid.count(places[number as usize]));
                    *all += numbers.len() as u64;
                }
                None => {
                    places.iter().for_each(|&place| grid.count(place));
                    *all += places.len() as u64;
                }
            }
            if !grid.is_finite {
                return Err(not_finite(batch, i, "density"));
            }
        }
        Ok(())
    }
}

/// Counter for the atoms of a frame.
struct Grid<'a> {
    axes: &'a [Axis; 3],
    columns: Columns<'a>,
    counts: &'a mut [u64],
    is_finite: bool,
}

impl Grid<'_> {
    #[inline(always)]
    fn count(&mut self, place: u32) {
        let [x, y, z] = self.axes;
        let columns = [self.columns.x, self.columns.y, self.columns.z];
        let [at_x, at_y, at_z] = columns.map(|column| column[place as usize]);
        self.is_finite &= at_x.is_finite() & at_y.is_finite() & at_z.is_finite();
        let bins = (x.bin(f64::from(at_x)), y.bin(f64::from(at_y)), z.bin(f64::from(at_z)));
        if let (Some(bin_x), Some(bin_y), Some(bin_z)) = bins {
            self.counts[(bin_x * y.n_bins() + bin_y) * z.n_bins() + bin_z] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::fixture::{batch, mapped};

    fn counts(frames: &[Vec<[f32; 3]>], edges: &[Vec<f64>; 3]) -> Result<Vec<u64>> {
        let n_atoms = frames[0].len();
        let density = Density::new(n_atoms, (0..n_atoms as u32).collect::<Vec<_>>(), edges.clone())?;
        let mut counts = mapped(density, &[batch(0, frames, None)])?.counts;
        assert_eq!(counts.pop(), Some((n_atoms * frames.len()) as u64));
        Ok(counts)
    }

    proptest! {
        #[test]
        fn counts_are_those_of_all_bins_looked_at(
            frames in prop::collection::vec(prop::collection::vec(prop::array::uniform3(-3i8..12), 6), 1..5),
            width in prop::array::uniform3(0.3f64..2.0),
            cut in 0usize..5,
        ) {
            let frames: Vec<Vec<[f32; 3]>> =
                frames.iter().map(|frame| frame.iter().map(|point| point.map(|x| f32::from(x) / 2.0)).collect()).collect();
            let edges: [Vec<f64>; 3] = std::array::from_fn(|k| (0..5).map(|i| -0.5 + width[k] * f64::from(i)).collect());
            let found = counts(&frames, &edges).unwrap();
            let bin = |axis: usize, at: f32| {
                let (at, edges) = (f64::from(at), &edges[axis]);
                (0..4).find(|&i| edges[i] <= at && (at < edges[i + 1] || (i == 3 && at == edges[4])))
            };
            let mut expected = vec![0; 64];
            for point in frames.iter().flatten() {
                if let (Some(x), Some(y), Some(z)) = (bin(0, point[0]), bin(1, point[1]), bin(2, point[2])) {
                    expected[16 * x + 4 * y + z] += 1;
                }
            }
            prop_assert_eq!(&found, &expected);
            let (left, right) = frames.split_at(cut % frames.len());
            let mut parts = vec![0; 64];
            for part in [left, right].into_iter().filter(|part| !part.is_empty()) {
                parts.iter_mut().zip(counts(part, &edges).unwrap()).for_each(|(sum, count)| *sum += count);
            }
            prop_assert_eq!(parts, expected);
        }
    }

    #[test]
    fn what_has_no_density_is_refused() {
        let axis = || vec![0.0, 1.0, 2.0];
        for wrong in [vec![], vec![0.0], vec![0.0, 0.0], vec![1.0, 0.0], vec![0.0, f64::NAN]] {
            assert!(Density::new(1, vec![0], [axis(), wrong, axis()]).unwrap_err().to_string().contains("must ascend"));
        }
        let fine = || (0..1000).map(f64::from).collect::<Vec<_>>();
        let message = Density::new(1, vec![0], [fine(), fine(), fine()]).unwrap_err().to_string();
        assert!(message.contains("999 x 999 x 999 bins is too fine"), "{message}");
        let message = counts(&[vec![[0.0, f32::NAN, 0.0]]], &[axis(), axis(), axis()]).unwrap_err().to_string();
        assert!(message.contains("frame 0: atom 0 of the 1 selected"), "{message}");
    }
}
