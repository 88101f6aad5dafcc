//! Medoids: the frame of each cluster that is nearest to the others.

use super::compare::{compare, frames_of};
use crate::error::{Error, Result};
use crate::pool::Monitor;

/// Returns, for each of `n_clusters` clusters, the frame with the smallest sum of RMSDs to the other frames of its
/// cluster. If several frames have the same sum, it returns the first one.
///
/// `labels` contains the cluster of each frame in `rows`. Frames with other labels belong to no cluster. The other
/// parameters are those of [`linkage`](super::linkage::linkage). Returns an error if a cluster has no frame.
pub fn medoids(
    rows: &[&[f32]],
    n_atoms: usize,
    weights: Option<&[f64]>,
    labels: &[u32],
    n_clusters: usize,
    n_workers: usize,
    monitor: &mut dyn Monitor,
) -> Result<Vec<u32>> {
    if labels.len() != rows.len() {
        return Err(Error::mismatch(format!("{} labels are not those of {} frames", labels.len(), rows.len())));
    }
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); n_clusters];
    for (frame, label) in (0..).zip(labels) {
        if let Some(members) = members.get_mut(*label as usize) {
            members.push(frame);
        }
    }
    let mut medoid = |(cluster, members): (usize, &Vec<u32>)| {
        let frames = frames_of(members.iter().map(|frame| rows[*frame as usize]), n_atoms)?;
        let mut sums = vec![0.0; members.len()];
        compare(&frames, weights, true, n_workers, monitor, |row, distances| {
            for (earlier, distance) in distances.iter().enumerate() {
                sums[earlier] += distance;
                sums[row] += distance;
            }
        })?;
        let nearest = sums.iter().zip(members).min_by(|a, b| a.0.total_cmp(b.0));
        nearest.map(|(_, frame)| *frame).ok_or_else(|| Error::mismatch(format!("cluster {cluster} has no frame")))
    };
    members.iter().enumerate().map(&mut medoid).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pairs::matrix::distance_matrix;
    use crate::pool::Unattended;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn medoids_have_the_smallest_sums_of_the_matrix(
            frames in prop::collection::vec((prop::collection::vec(-9f32..9.0, 12), 0u32..4), 4..50),
        ) {
            let (frames, mut labels): (Vec<Vec<f32>>, Vec<u32>) = frames.into_iter().unzip();
            (0..3).for_each(|label| labels[label as usize] = label);
            let n = frames.len();
            let matrix = distance_matrix(&frames.concat(), 4, None, true, 1, &mut Unattended).unwrap();
            let rows: Vec<&[f32]> = frames.iter().map(Vec::as_slice).collect();
            let made = |n_workers| medoids(&rows, 4, None, &labels, 3, n_workers, &mut Unattended).unwrap();
            let found = made(1);
            prop_assert_eq!(&made(3), &found);
            for (label, center) in (0..).zip(found) {
                prop_assert_eq!(labels[center as usize], label);
                let sum = |i: usize| (0..n).filter(|j| labels[*j] == label).map(|j| matrix[i * n + j]).sum::<f64>();
                for i in (0..n).filter(|i| labels[*i] == label) {
                    prop_assert!(sum(center as usize) <= sum(i) * (1.0 + 1e-12));
                }
            }
        }
    }

    #[test]
    fn labels_that_do_not_fit_are_refused() {
        let rows = [&[0f32, 1.0, 2.0, 3.0, 4.0, 7.0][..]; 2];
        let message = medoids(&rows, 2, None, &[0], 1, 1, &mut Unattended).unwrap_err().to_string();
        assert!(message.contains("1 labels are not those of 2 frames"), "{message}");
        let message = medoids(&rows, 2, None, &[0, 0], 2, 1, &mut Unattended).unwrap_err().to_string();
        assert!(message.contains("cluster 1 has no frame"), "{message}");
        assert_eq!(medoids(&rows, 2, None, &[u32::MAX, 0], 1, 1, &mut Unattended).unwrap(), [1]);
    }
}
