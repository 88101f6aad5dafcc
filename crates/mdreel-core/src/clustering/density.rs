//! Density-based clusters of M. Ester, H.-P. Kriegel, J. Sander, X. Xu, Proc. KDD-96, 226 (1996), known as DBSCAN.

use super::frames::Frames;
use super::groups::Groups;
use super::lists::{Collector, Neighbours};
use super::pivots::Pivots;
use super::scan::{Scan, Wanted};
use crate::error::{Error, Result};
use crate::pool::Monitor;

/// The label of a frame that belongs to no cluster.
pub const NOISE: u32 = u32::MAX;

/// Returns the label of each of the frames in `rows`, or [`NOISE`]. Each row contains x, y and z of `n_atoms` atoms,
/// one atom after another, Å.
///
/// A frame is in the core of a cluster if at least `min_frames` frames, including itself, have an RMSD of at most
/// `cutoff`, Å, to it. The RMSD is computed after superposition weighted by `weights` (`None`: equal weights).
/// Neighbours in the core are in the same cluster. Other neighbours of cores are in the neighbouring cluster with the
/// smallest number. Clusters are numbered from 0 in the order of the first frames of their cores.
///
/// The function stores the neighbours of at most `most_pairs` pairs, with 8 bytes each. If there are more pairs, it
/// searches for them a second time. It works on `n_workers` threads. The result depends neither on their number nor on
/// `most_pairs`.
#[expect(clippy::too_many_arguments, reason = "those of the other methods, and one more")]
pub fn dbscan(
    rows: &[&[f32]],
    n_atoms: usize,
    weights: Option<&[f64]>,
    cutoff: f64,
    min_frames: u32,
    most_pairs: usize,
    n_workers: usize,
    monitor: &mut dyn Monitor,
) -> Result<Vec<u32>> {
    if !(cutoff >= 0.0 && cutoff.is_finite()) {
        return Err(Error::mismatch(format!("the cutoff is {cutoff}: expected a finite length, 0 or more")));
    }
    let frames = Frames::new(rows, n_atoms, weights)?;
    let pivots = Pivots::new(&frames, cutoff, n_workers, monitor)?;
    let scan = Scan { frames: &frames, pivots: &pivots, cutoff, n_workers };
    let numbers: Vec<u32> = (0..frames.len() as u32).collect();
    let groups = Groups::new(&frames, &pivots, numbers.clone());
    let mut collector = Collector::new(numbers.len(), most_pairs);
    scan.run(&numbers, &groups, Wanted::Earlier, 1, monitor, |frame, neighbours| {
        collector.add(frame, neighbours);
        Ok(())
    })?;
    let Neighbours { counts, lists } = collector.finish();
    let mut cores = Cores::new(counts.iter().map(|count| count.saturating_add(1) >= min_frames).collect());
    match lists {
        Some(lists) => {
            for frame in numbers {
                lists.of(frame).take_while(|other| *other < frame).for_each(|other| cores.join(frame, other));
            }
        }
        None => scan.run(&numbers, &groups, Wanted::Earlier, 1, monitor, |frame, neighbours| {
            neighbours.iter().for_each(|other| cores.join(frame, *other));
            Ok(())
        })?,
    }
    Ok(cores.labels())
}

/// The core frames, which are joined into the cores of clusters.
struct Cores {
    is_core: Vec<bool>,
    /// An earlier frame of the same core. The first frame is its own parent.
    parents: Vec<u32>,
    /// Pairs of a neighbour that is not in a core and a core frame. Each such neighbour has fewer than `min_frames`
    /// pairs.
    edges: Vec<(u32, u32)>,
}

impl Cores {
    fn new(is_core: Vec<bool>) -> Self {
        let parents = (0..is_core.len() as u32).collect();
        Cores { is_core, parents, edges: Vec::new() }
    }

    /// Adds a pair of neighbours.
    fn join(&mut self, one: u32, other: u32) {
        match [one, other].map(|frame| self.is_core[frame as usize]) {
            [true, true] => {
                let [one, other] = [one, other].map(|frame| self.first(frame));
                self.parents[one.max(other) as usize] = one.min(other);
            }
            [true, false] => self.edges.push((other, one)),
            [false, true] => self.edges.push((one, other)),
            [false, false] => {}
        }
    }

    /// Returns the first frame of the core that contains `frame`.
    fn first(&mut self, frame: u32) -> u32 {
        let mut at = frame;
        while self.parents[at as usize] != at {
            let parent = self.parents[at as usize];
            self.parents[at as usize] = self.parents[parent as usize];
            at = parent;
        }
        at
    }

    fn labels(mut self) -> Vec<u32> {
        let (mut labels, mut n_clusters) = (vec![NOISE; self.is_core.len()], 0);
        for frame in 0..self.is_core.len() as u32 {
            if self.is_core[frame as usize] {
                let first = self.first(frame);
                if first == frame {
                    labels[frame as usize] = n_clusters;
                    n_clusters += 1;
                } else {
                    labels[frame as usize] = labels[first as usize];
                }
            }
        }
        for (frame, core) in &self.edges {
            labels[*frame as usize] = labels[*frame as usize].min(labels[*core as usize]);
        }
        labels
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pairs::distance_matrix;
    use crate::pool::Unattended;

    /// Implements the definition: each cluster grows from one core frame.
    fn oracle(matrix: &[f64], n: usize, cutoff: f64, min_frames: u32) -> Vec<u32> {
        let near = |i: usize| (0..n).filter(move |j| i == *j || matrix[i * n + j] <= cutoff);
        let is_core = |i: usize| near(i).count() >= min_frames as usize;
        let (mut labels, mut n_clusters) = (vec![NOISE; n], 0);
        for seed in 0..n {
            if labels[seed] != NOISE || !is_core(seed) {
                continue;
            }
            let mut waiting = vec![seed];
            while let Some(frame) = waiting.pop() {
                if labels[frame] == NOISE {
                    labels[frame] = n_clusters;
                    if is_core(frame) {
                        waiting.extend(near(frame));
                    }
                }
            }
            n_clusters += 1;
        }
        labels
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn labels_are_those_of_the_definition(
            frames in prop::collection::vec(prop::collection::vec(-3f32..3.0, 9), 1..70),
            which in 0.0..0.3f64,
            min_frames in 0u32..8,
        ) {
            let n = frames.len();
            let matrix = distance_matrix(&frames.concat(), 3, None, true, 1, &mut Unattended).unwrap();
            let mut sorted = matrix.clone();
            sorted.sort_by(f64::total_cmp);
            let cutoff = sorted[(which * (sorted.len() - 1) as f64) as usize];
            let rows: Vec<&[f32]> = frames.iter().map(Vec::as_slice).collect();
            for cutoff in [cutoff, cutoff.next_down().max(0.0)] {
                let expected = oracle(&matrix, n, cutoff, min_frames);
                for (most_pairs, n_workers) in [(usize::MAX, 1), (0, 1), (7, 3)] {
                    let found =
                        dbscan(&rows, 3, None, cutoff, min_frames, most_pairs, n_workers, &mut Unattended).unwrap();
                    prop_assert_eq!(&found, &expected);
                }
            }
        }
    }

    #[test]
    fn cutoffs_that_are_no_lengths_are_refused() {
        for cutoff in [-1.0, f64::NAN, f64::INFINITY] {
            let found = dbscan(&[], 1, None, cutoff, 2, 0, 1, &mut Unattended).unwrap_err().to_string();
            assert!(found.contains("expected a finite length"), "{found}");
        }
    }
}
