//! Clusters of X. Daura, K. Gademann, B. Jaun, D. Seebach, W. F. van Gunsteren, A. E. Mark, Angew. Chem. Int. Ed. 38,
//! 236 (1999), known as the GROMOS method.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use super::frames::Frames;
use super::groups::Groups;
use super::lanes::WIDTH;
use super::lists::{Collector, Lists, Neighbours};
use super::pivots::Pivots;
use super::scan::{Scan, Wanted};
use crate::error::{Error, Result};
use crate::pool::{Monitor, POLL_INTERVAL};

/// The label of a frame that belongs to no cluster yet.
const NONE: u32 = u32::MAX;
/// Number of groups in a part, if threads share a row.
const GROUPS_OF_A_PART: usize = 256;

/// Clusters of frames, numbered from 0 in the order in which they are found. Their sizes therefore never increase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clusters {
    /// The cluster of each frame.
    pub labels: Vec<u32>,
    /// The central frame of each cluster.
    pub centers: Vec<u32>,
}

/// Clusters the frames in `rows`. Each row contains x, y and z of `n_atoms` atoms, one atom after another, Å.
///
/// The frame with the most neighbours that belong to no cluster yet becomes the centre of the next cluster. This
/// cluster consists of the frame and all these neighbours. If several frames have the same number of neighbours, the
/// first one becomes the centre. Neighbours are frames whose RMSD after superposition, weighted by `weights` (`None`:
/// equal weights), is at most `cutoff`, Å.
///
/// The function stores the neighbours of at most `most_pairs` pairs, with 8 bytes each. If there are more pairs, it
/// searches for the neighbours of each frame a second time when the frame joins a cluster. It works on `n_workers`
/// threads. The result depends neither on their number nor on `most_pairs`.
pub fn gromos(
    rows: &[&[f32]],
    n_atoms: usize,
    weights: Option<&[f64]>,
    cutoff: f64,
    most_pairs: usize,
    n_workers: usize,
    monitor: &mut dyn Monitor,
) -> Result<Clusters> {
    if !(cutoff >= 0.0 && cutoff.is_finite()) {
        return Err(Error::mismatch(format!("the cutoff is {cutoff}: expected a finite length, 0 or more")));
    }
    let frames = Frames::new(rows, n_atoms, weights)?;
    let pivots = Pivots::new(&frames, cutoff, n_workers, monitor)?;
    clusters_of(&Scan { frames: &frames, pivots: &pivots, cutoff, n_workers }, most_pairs, monitor)
}

/// Returns the clusters of the frames of a scan.
pub(super) fn clusters_of(scan: &Scan<'_>, most_pairs: usize, monitor: &mut dyn Monitor) -> Result<Clusters> {
    let numbers: Vec<u32> = (0..scan.frames.len() as u32).collect();
    let groups = Groups::new(scan.frames, scan.pivots, numbers.clone());
    let mut collector = Collector::new(numbers.len(), most_pairs);
    scan.run(&numbers, &groups, Wanted::Earlier, 1, monitor, |frame, neighbours| {
        collector.add(frame, neighbours);
        Ok(())
    })?;
    let Neighbours { counts, lists } = collector.finish();
    match lists {
        Some(lists) => {
            drop(groups);
            assign(counts, &mut Kept { lists }, monitor)
        }
        None => assign(counts, &mut SearchedAgain::new(scan, groups), monitor),
    }
}

/// A method to find the neighbours of frames that belong to no cluster yet.
trait Neighbourhoods {
    /// Returns the neighbours of a frame that have the label [`NONE`], in ascending order.
    fn of(&mut self, frame: u32, labels: &[u32], monitor: &mut dyn Monitor) -> Result<Vec<u32>>;

    /// Subtracts newly labelled frames from the counts of their neighbours that have no label.
    fn subtract(&mut self, frames: &[u32], labels: &[u32], counts: &mut [u32], monitor: &mut dyn Monitor)
    -> Result<()>;
}

/// Forms one cluster after another.
fn assign(
    mut counts: Vec<u32>,
    neighbourhoods: &mut impl Neighbourhoods,
    monitor: &mut dyn Monitor,
) -> Result<Clusters> {
    let n_frames = counts.len();
    let (mut labels, mut centers) = (vec![NONE; n_frames], Vec::new());
    // Counts only decrease. The loop finds the largest one by correcting the entry at the top of the heap.
    let mut heap: BinaryHeap<(u32, Reverse<u32>)> =
        counts.iter().zip(0..).map(|(count, frame)| (*count, Reverse(frame))).collect();
    let mut polled = Instant::now();
    while let Some((count, Reverse(frame))) = heap.pop() {
        let current = counts[frame as usize];
        if labels[frame as usize] != NONE {
            continue;
        }
        if current != count {
            heap.push((current, Reverse(frame)));
            continue;
        }
        if polled.elapsed() >= POLL_INTERVAL {
            polled = Instant::now();
            if !monitor.poll(n_frames as u64) {
                return Err(Error::Interrupted);
            }
        }
        let label = centers.len() as u32;
        centers.push(frame);
        labels[frame as usize] = label;
        if count > 0 {
            let members = neighbourhoods.of(frame, &labels, monitor)?;
            debug_assert_eq!(members.len(), count as usize);
            members.iter().for_each(|member| labels[*member as usize] = label);
            neighbourhoods.subtract(&members, &labels, &mut counts, monitor)?;
        }
    }
    Ok(Clusters { labels, centers })
}

/// Neighbours stored in memory.
struct Kept {
    lists: Lists,
}

impl Neighbourhoods for Kept {
    fn of(&mut self, frame: u32, labels: &[u32], _monitor: &mut dyn Monitor) -> Result<Vec<u32>> {
        Ok(self.lists.of(frame).filter(|other| labels[*other as usize] == NONE).collect())
    }

    fn subtract(
        &mut self,
        frames: &[u32],
        labels: &[u32],
        counts: &mut [u32],
        _monitor: &mut dyn Monitor,
    ) -> Result<()> {
        for frame in frames {
            for other in self.lists.of(*frame).filter(|other| labels[*other as usize] == NONE) {
                counts[other as usize] -= 1;
            }
        }
        Ok(())
    }
}

/// Neighbours that are searched on demand, among the frames without a label.
struct SearchedAgain<'a> {
    scan: &'a Scan<'a>,
    groups: Groups,
    /// A bit mask of the frames without a label, for each group.
    left: Vec<u16>,
}

impl<'a> SearchedAgain<'a> {
    fn new(scan: &'a Scan<'a>, groups: Groups) -> Self {
        SearchedAgain { scan, groups, left: Vec::new() }
    }

    /// Determines which frames have no label. Removes the other frames once they are the majority.
    fn update(&mut self, labels: &[u32]) {
        let is_left = |id: &u32| labels[*id as usize] == NONE;
        let left: Vec<u32> = self.groups.ids().iter().copied().filter(is_left).collect();
        if 2 * left.len() < self.groups.ids().len() {
            self.groups = Groups::new(self.scan.frames, self.scan.pivots, left);
        }
        let bits_of =
            |ids: &[u32]| ids.iter().zip(0..).fold(0, |bits, (id, lane)| bits | u16::from(is_left(id)) << lane);
        self.left = (0..self.groups.len()).map(|group| bits_of(self.groups.ids_of(group))).collect();
        debug_assert!(self.groups.ids().len() <= self.left.len() * WIDTH);
    }
}

impl Neighbourhoods for SearchedAgain<'_> {
    fn of(&mut self, frame: u32, labels: &[u32], monitor: &mut dyn Monitor) -> Result<Vec<u32>> {
        self.update(labels);
        let (parts, mut found) = (self.groups.len().div_ceil(GROUPS_OF_A_PART).max(1), Vec::new());
        self.scan.run(&[frame], &self.groups, Wanted::These(&self.left), parts, monitor, |_, neighbours| {
            found.extend(neighbours);
            Ok(())
        })?;
        Ok(found)
    }

    fn subtract(
        &mut self,
        frames: &[u32],
        labels: &[u32],
        counts: &mut [u32],
        monitor: &mut dyn Monitor,
    ) -> Result<()> {
        self.update(labels);
        self.scan.run(frames, &self.groups, Wanted::These(&self.left), 1, monitor, |_, neighbours| {
            neighbours.iter().for_each(|other| counts[*other as usize] -= 1);
            Ok(())
        })
    }
}
