//! Radial distribution: the number of pairs of atoms at each distance.

use std::sync::Arc;

use super::Computation;
use super::bins::{Bins, Histogram};
use super::group::Group;
use super::images::exceeded_radius;
use super::pairs::Pairs;
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::neighbours::{Run, Visit};
use crate::periodic::Periodic;
use crate::reduce::{Layout, Slots, Sum};
use crate::simd::{Lanes, Level, Operation};

/// Computation that counts the distances of all pairs of two groups in bins and adds up the volume of the cell (Å³).
///
/// The last count is the number of all pairs. If the bins extend beyond the radius within which images are unique, the frame
/// leaves a record of this radius (Å).
#[derive(Debug, Clone)]
pub struct RadialDistribution {
    n_atoms: usize,
    pairs: Pairs,
    bins: Arc<Bins>,
    labels: Option<Arc<[Vec<u32>; 2]>>,
    needs_cell: bool,
    level: Level,
    histogram: Histogram,
}

impl RadialDistribution {
    /// Creates the computation for pairs of two groups among `n_atoms` atoms.
    ///
    /// There is one label for each atom of the groups; pairs of atoms with the same label do not count. With `needs_cell`, a
    /// frame without a periodic cell is an error. Returns an error if a group has no atoms, the number of labels differs from
    /// the number of atoms, or an atom does not exist.
    pub fn new(
        n_atoms: usize,
        [from, to]: [impl Into<Group>; 2],
        bins: Bins,
        labels: Option<[Vec<u32>; 2]>,
        needs_cell: bool,
    ) -> Result<Self> {
        let pairs = Pairs::new(n_atoms, from, to)?;
        let n_labels = labels.as_ref().map(|labels| labels.each_ref().map(Vec::len));
        if n_labels.is_some_and(|n| n != pairs.n_atoms()) {
            let message =
                format!("there are {n_labels:?} labels: expected one for each of {:?} atoms", pairs.n_atoms());
            return Err(Error::mismatch(message));
        }
        let bins = Arc::new(bins);
        let (labels, level, histogram) = (labels.map(Arc::new), Level::detect(), Histogram::new(bins.clone()));
        Ok(RadialDistribution { n_atoms, pairs, bins, labels, needs_cell, level, histogram })
    }

    /// Sets the vector instructions. The level does not affect the counts.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn at_level(self, level: Level) -> Self {
        RadialDistribution { level, ..self }
    }
}

/// Adds the volume of the cell of a frame to `sum`. With `needs_cell`, a frame without a cell is an error.
pub(super) fn add_volume(frame: u64, images: Option<Periodic>, needs_cell: bool, sum: &mut Sum) -> Result<()> {
    let problem = match images.map(|cell| cell.volume()) {
        Some(volume) if volume <= Sum::MOST => {
            *sum += Sum::of(volume);
            return Ok(());
        }
        Some(volume) => format!("the cell has {volume:e} Å³: expected {:e} at most", Sum::MOST),
        None if needs_cell => {
            "no periodic cell: there is no density to compare with (the norms density and none need no cell)".to_owned()
        }
        None => return Ok(()),
    };
    Err(Error::mismatch(problem).at_frame(frame))
}

impl Computation for RadialDistribution {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout { n_sums: 1, n_counts: self.bins.n_bins() + 1, record: Some(1), ..Layout::default() }
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        self.level.run(MapBatch { distribution: self, batch, slots })
    }
}

struct MapBatch<'a, 'b> {
    distribution: &'a mut RadialDistribution,
    batch: &'a FrameBatch,
    slots: &'a mut Slots<'b>,
}

impl Operation for MapBatch<'_, '_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Result<()> {
        let MapBatch { distribution, batch, slots } = self;
        let labels = distribution.labels.clone();
        // A pair has the same distance in both directions, so it is visited once and counted twice.
        let once = distribution.pairs.is_of_one_group() && labels.as_ref().is_none_or(|labels| labels[0] == labels[1]);
        for i in 0..batch.len() {
            let images = Periodic::of_frame(batch.header(i))?;
            add_volume(batch.header(i).index, images, distribution.needs_cell, &mut slots.sums[0])?;
            if let Some(radius) = exceeded_radius(images.as_ref(), distribution.bins.high()) {
                slots.record(batch.header(i).index, &[radius]);
            }
            let within = (distribution.bins.high(), once);
            let histogram = &mut distribution.histogram;
            match &labels {
                None => distribution.pairs.visit(batch, i, images, within, &mut All { histogram })?,
                Some(labels) => {
                    distribution.pairs.visit(batch, i, images, within, &mut OfOthers { histogram, labels })?;
                }
            }
            let (all, counts) = slots.counts.split_last_mut().expect("there is a count of all pairs");
            let [n_from, n_to] = distribution.pairs.n_current();
            *all += n_from as u64 * n_to as u64;
            distribution.histogram.take(if once { 2 } else { 1 }, counts);
            if let (true, None, Some(bin)) = (once, &labels, distribution.bins.bin_of(0.0)) {
                counts[bin] += distribution.pairs.n_atoms()[0] as u64;
            }
        }
        Ok(())
    }
}

/// Counter for all pairs.
struct All<'a> {
    histogram: &'a mut Histogram,
}

impl Visit for All<'_> {
    #[inline(always)]
    fn visit(&mut self, _: u32, run: Run<'_>) {
        self.histogram.add(run, |_| false);
    }
}

/// Counter for pairs of atoms with different labels.
struct OfOthers<'a> {
    histogram: &'a mut Histogram,
    labels: &'a [Vec<u32>; 2],
}

impl Visit for OfOthers<'_> {
    #[inline(always)]
    fn visit(&mut self, from: u32, run: Run<'_>) {
        let [first, second] = self.labels;
        let label = first[from as usize];
        self.histogram.add(run, |to| second[to as usize] == label);
    }
}

#[cfg(test)]
mod tests;
