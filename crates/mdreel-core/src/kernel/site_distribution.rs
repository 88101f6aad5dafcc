//! Site-specific radial distribution: counts of distances for given pairs of atoms.

use std::sync::Arc;

use super::bins::Bins;
use super::images::exceeded_radius;
use super::radial_distribution::add_volume;
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::periodic::Periodic;
use crate::reduce::{Layout, Slots};

/// Computation that counts the distances of each pair in separate bins and adds up the volume of the cell (Å³).
///
/// If the bins extend beyond the radius within which images are unique, the frame leaves a record of this radius (Å).
#[derive(Debug, Clone)]
pub struct SiteDistribution {
    n_atoms: usize,
    pairs: Arc<Vec<[u32; 2]>>,
    bins: Arc<Bins>,
    needs_cell: bool,
}

impl SiteDistribution {
    /// Creates the computation for pairs among `n_atoms` atoms. Returns an error if there are no pairs, or an atom does not
    /// exist.
    ///
    /// With `needs_cell`, a frame without a periodic cell is an error.
    pub fn new(n_atoms: usize, pairs: Vec<[u32; 2]>, bins: Bins, needs_cell: bool) -> Result<Self> {
        if let Some(atom) = pairs.iter().flatten().find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a pair needs atom {atom} of {n_atoms}")));
        }
        if pairs.is_empty() {
            return Err(Error::mismatch("there are no pairs: a group has no atoms"));
        }
        Ok(SiteDistribution { n_atoms, pairs: Arc::new(pairs), bins: Arc::new(bins), needs_cell })
    }
}

impl Computation for SiteDistribution {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        let n_counts = self.pairs.len() * self.bins.n_bins();
        Layout { n_sums: 1, n_counts, record: Some(1), ..Layout::default() }
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        for i in 0..batch.len() {
            let header = batch.header(i);
            let images = Periodic::of_frame(header)?;
            add_volume(header.index, images, self.needs_cell, &mut slots.sums[0])?;
            if let Some(radius) = exceeded_radius(images.as_ref(), self.bins.high()) {
                slots.record(header.index, &[radius]);
            }
            let columns = batch.columns(i);
            let counts = slots.counts.chunks_exact_mut(self.bins.n_bins());
            for (&[from, to], counts) in self.pairs.iter().zip(counts) {
                let d = [columns.x, columns.y, columns.z]
                    .map(|column| f64::from(column[to as usize]) - f64::from(column[from as usize]));
                let [x, y, z] = images.as_ref().map_or(d, |cell| cell.shortest(d));
                let distance = (x * x + y * y + z * z).sqrt();
                if !distance.is_finite() {
                    return Err(not_finite(batch, i, "distances"));
                }
                if let Some(bin) = self.bins.bin_of(distance) {
                    counts[bin] += 1;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::fixture::{batch, mapped};
    use crate::kernel::radial_distribution::RadialDistribution;
    use crate::unit_cell::UnitCell;

    const EDGES: [f64; 4] = [1.0, 4.0, 7.0, 10.0];

    proptest! {
        #[test]
        fn counts_of_a_pair_are_those_of_two_groups_of_an_atom(
            frames in prop::collection::vec(prop::collection::vec(prop::array::uniform3(-30i32..30), 4), 1..6),
        ) {
            let frames: Vec<Vec<[f32; 3]>> =
                frames.iter().map(|frame| frame.iter().map(|point| point.map(|x| x as f32 / 2.0)).collect()).collect();
            let cell = UnitCell::Dimensions([21.0, 23.0, 25.0, 80.0, 95.0, 75.0]);
            let batches: Vec<_> = (0..).zip(&frames).map(|(i, frame)| batch(i, std::slice::from_ref(frame), Some(cell))).collect();
            let pairs = vec![[0, 2], [0, 3], [1, 2], [1, 1]];
            let sites = SiteDistribution::new(4, pairs.clone(), Bins::new(&EDGES).unwrap(), true).unwrap();
            let found = mapped(sites, &batches).unwrap();
            for ([from, to], counts) in pairs.into_iter().zip(found.counts.chunks_exact(3)) {
                let bins = Bins::new(&EDGES).unwrap();
                let of_groups = RadialDistribution::new(4, [vec![from], vec![to]], bins, None, true).unwrap();
                let expected = mapped(of_groups, &batches).unwrap();
                prop_assert_eq!(counts, &expected.counts[..3]);
                prop_assert_eq!(&found.sums, &expected.sums);
            }
        }
    }

    #[test]
    fn what_cannot_be_counted_is_refused_or_named() {
        let new = |pairs, needs_cell| SiteDistribution::new(2, pairs, Bins::new(&EDGES).unwrap(), needs_cell);
        assert!(new(vec![], true).unwrap_err().to_string().contains("no atoms"));
        assert!(new(vec![[0, 2]], true).unwrap_err().to_string().contains("atom 2 of 2"));
        for (points, needs_cell, expected) in [
            (vec![[0.0; 3]; 2], true, "frame 3: no periodic cell"),
            (vec![[0.0; 3], [f32::NAN, 0.0, 0.0]], false, "frame 3: atom 1 of the 2"),
        ] {
            let frames = [batch(3, &[points], None)];
            let message = mapped(new(vec![[0, 1]], needs_cell).unwrap(), &frames).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
