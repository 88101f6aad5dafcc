//! Trees of clusters by the minimum RMSD between their frames, with the nearest-neighbour chain of F. Murtagh, Comput.
//! J. 26, 354 (1983), in place.
//!
//! The chain follows nearest neighbours until two clusters are each other's nearest neighbours, and merges them. With
//! these linkages, a merged cluster is never closer to a third one than its nearer part was. The tree is therefore the
//! same as with repeated merging of the two nearest clusters.

use std::time::Instant;

use super::compare::frames_of;
use super::triangle::Triangle;
use crate::error::{Error, Result};
use crate::pool::{Monitor, POLL_INTERVAL};

/// A definition of the distance between two clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    /// The smallest distance between their frames.
    Single,
    /// The largest distance between their frames.
    Complete,
    /// The mean distance between their frames.
    Average,
}

impl Linkage {
    /// Returns the distance of a cluster to the union of two others, from its distances to them and their sizes.
    fn merged(self, (first, n_first): (f64, u32), (second, n_second): (f64, u32)) -> f64 {
        match self {
            Linkage::Single => first.min(second),
            Linkage::Complete => first.max(second),
            Linkage::Average => {
                let (n_first, n_second) = (f64::from(n_first), f64::from(n_second));
                (n_first * first + n_second * second) / (n_first + n_second)
            }
        }
    }
}

/// Two clusters that merge. The first `n_frames` clusters are the frames, and each merge adds one cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Merge {
    /// The two clusters, the one with the smaller number first.
    pub clusters: [u32; 2],
    /// The distance between them, Å.
    pub distance: f64,
    /// Number of frames in both clusters together.
    pub size: u32,
}

/// Returns the merges of the frames in `rows` in order of ascending distance. Each row contains x, y and z of `n_atoms`
/// atoms, one atom after another, Å.
///
/// The distance between two frames is their RMSD after superposition, weighted by `weights` (`None`: equal weights).
/// The function works on `n_workers` threads, and the bits of the result do not depend on their number. It needs 4
/// bytes times the square of the number of frames. Returns an error if a coordinate is not finite.
pub fn linkage(
    rows: &[&[f32]],
    n_atoms: usize,
    weights: Option<&[f64]>,
    linkage: Linkage,
    n_workers: usize,
    monitor: &mut dyn Monitor,
) -> Result<Vec<Merge>> {
    if u32::try_from(2 * rows.len()).is_err() {
        return Err(Error::unsupported(format!("{} frames are more than can be clustered", rows.len())));
    }
    let frames = frames_of(rows.iter().copied(), n_atoms)?;
    let distances = Triangle::of_frames(&frames, weights, n_workers, monitor)?;
    drop(frames);
    let mut merges = chain(distances, rows.len(), linkage, monitor)?;
    merges.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    number(&mut merges, rows.len());
    Ok(merges)
}

/// Returns the merges in the order in which the chain finds them. Each cluster is named by the number of one of its
/// frames.
fn chain(mut distances: Triangle, n: usize, linkage: Linkage, monitor: &mut dyn Monitor) -> Result<Vec<Merge>> {
    let mut active: Vec<u32> = (0..n as u32).collect();
    let (mut sizes, mut chain) = (vec![1u32; n], Vec::with_capacity(n));
    let mut merges = Vec::with_capacity(n.saturating_sub(1));
    let mut polled = Instant::now();
    while active.len() > 1 {
        if polled.elapsed() >= POLL_INTERVAL {
            polled = Instant::now();
            if !monitor.poll(n as u64) {
                return Err(Error::Interrupted);
            }
        }
        if chain.is_empty() {
            chain.push(active[0]);
        }
        let (first, second, distance) = loop {
            let last = chain[chain.len() - 1];
            // Equal distances prefer the previous cluster, so that the chain ends.
            let before = (chain.len() > 1).then(|| chain[chain.len() - 2]);
            let start = before.map_or((f64::INFINITY, last), |one| (distances.at(last as usize, one as usize), one));
            let (distance, nearest) = active.iter().filter(|one| **one != last).fold(start, |nearest, one| {
                let distance = distances.at(last as usize, *one as usize);
                if distance < nearest.0 { (distance, *one) } else { nearest }
            });
            if before == Some(nearest) {
                break (last, nearest, distance);
            }
            chain.push(nearest);
        };
        chain.truncate(chain.len() - 2);
        let (gone, kept) = (first.min(second), first.max(second));
        let (n_gone, n_kept) = (sizes[gone as usize], sizes[kept as usize]);
        sizes[kept as usize] = n_gone + n_kept;
        merges.push(Merge { clusters: [gone, kept], distance, size: n_gone + n_kept });
        active.remove(active.binary_search(&gone).unwrap_or_else(|place| place));
        for other in active.iter().map(|other| *other as usize).filter(|other| *other != kept as usize) {
            let [from_gone, from_kept] = [gone, kept].map(|one| distances.at(other, one as usize));
            distances.set(other, kept as usize, linkage.merged((from_gone, n_gone), (from_kept, n_kept)));
        }
    }
    Ok(merges)
}

/// Replaces the frame that names each cluster by the cluster's number, and computes the sizes in this order.
fn number(merges: &mut [Merge], n_frames: usize) {
    let mut parents: Vec<u32> = (0..(n_frames + merges.len()) as u32).collect();
    let mut sizes = vec![1u32; parents.len()];
    for (number, merge) in (n_frames as u32..).zip(merges) {
        let [first, second] = merge.clusters.map(|frame| top(&mut parents, frame));
        merge.clusters = [first.min(second), first.max(second)];
        merge.size = sizes[first as usize] + sizes[second as usize];
        sizes[number as usize] = merge.size;
        [first, second].into_iter().for_each(|cluster| parents[cluster as usize] = number);
    }
}

/// Returns the largest cluster that contains `cluster`.
fn top(parents: &mut [u32], cluster: u32) -> u32 {
    let mut top = cluster;
    while parents[top as usize] != top {
        top = parents[top as usize];
    }
    let mut at = cluster;
    while parents[at as usize] != top {
        at = std::mem::replace(&mut parents[at as usize], top);
    }
    top
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pairs::matrix::distance_matrix;
    use crate::pool::Unattended;

    /// Repeatedly merges the two nearest clusters, as sets of frames with the distances of all their pairs.
    fn oracle(matrix: &[f64], n: usize, linkage: Linkage) -> Vec<(Vec<usize>, f64)> {
        let mut clusters: Vec<Vec<usize>> = (0..n).map(|i| vec![i]).collect();
        let mut found = Vec::new();
        while clusters.len() > 1 {
            let mut best = (f64::INFINITY, 0, 0);
            for i in 0..clusters.len() {
                for j in i + 1..clusters.len() {
                    let pairs = clusters[i].iter().flat_map(|a| clusters[j].iter().map(move |b| matrix[a * n + b]));
                    let distance = match linkage {
                        Linkage::Single => pairs.fold(f64::INFINITY, f64::min),
                        Linkage::Complete => pairs.fold(0.0, f64::max),
                        Linkage::Average => pairs.sum::<f64>() / (clusters[i].len() * clusters[j].len()) as f64,
                    };
                    if distance < best.0 {
                        best = (distance, i, j);
                    }
                }
            }
            let (distance, i, j) = best;
            let second = clusters.remove(j);
            clusters[i].extend(second);
            clusters[i].sort_unstable();
            found.push((clusters[i].clone(), distance));
        }
        found
    }

    fn members(merges: &[Merge], n: usize) -> Vec<(Vec<usize>, f64)> {
        let mut clusters: Vec<Vec<usize>> = (0..n).map(|i| vec![i]).collect();
        for merge in merges {
            let mut both = merge.clusters.map(|one| clusters[one as usize].clone()).concat();
            both.sort_unstable();
            assert_eq!(both.len(), merge.size as usize);
            clusters.push(both);
        }
        clusters.split_off(n).into_iter().zip(merges.iter().map(|merge| merge.distance)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn merges_are_those_of_the_two_nearest_clusters(
            frames in prop::collection::vec(prop::collection::vec(-9f32..9.0, 15), 1..40),
            which in prop_oneof![Just(Linkage::Single), Just(Linkage::Complete), Just(Linkage::Average)],
        ) {
            let n = frames.len();
            let matrix = distance_matrix(&frames.concat(), 5, None, true, 1, &mut Unattended).unwrap();
            let rows: Vec<&[f32]> = frames.iter().map(Vec::as_slice).collect();
            let made = |n_workers| linkage(&rows, 5, None, which, n_workers, &mut Unattended).unwrap();
            let merges = made(1);
            prop_assert_eq!(&made(3), &merges);
            prop_assert_eq!(merges.len(), n - 1);
            let expected = oracle(&matrix, n, which);
            for ((found, height), (members, distance)) in members(&merges, n).into_iter().zip(expected) {
                prop_assert_eq!(found, members);
                prop_assert!((height - distance).abs() <= 1e-12 * distance, "{} {}", height, distance);
            }
        }
    }

    #[test]
    fn same_frames_merge_at_once_and_ends_are_reached() {
        let frame: Vec<f32> = (0..12).map(|i| (i * i % 7) as f32).collect();
        let rows = vec![&frame[..]; 9];
        for which in [Linkage::Single, Linkage::Complete, Linkage::Average] {
            let merges = linkage(&rows, 4, None, which, 2, &mut Unattended).unwrap();
            assert!(merges.iter().all(|merge| merge.distance < 1e-6));
            assert_eq!(merges[7].size, 9);
        }
        assert!(linkage(&rows[..1], 4, None, Linkage::Single, 1, &mut Unattended).unwrap().is_empty());
        let message = linkage(&rows, 5, None, Linkage::Single, 1, &mut Unattended).unwrap_err().to_string();
        assert!(message.contains("12 numbers are no positions of 5 atoms"), "{message}");
    }
}
