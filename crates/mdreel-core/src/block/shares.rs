//! Fixed assignment of blocks to workers before a run.

use std::ops::Range;

use super::{Blocks, Extent};

impl Blocks {
    /// Divides some of the blocks into one share for each worker. Returns the start of each share, followed by the end
    /// of the last one, counted among these blocks. Shares are consecutive and as equal as possible. Their size is
    /// measured in frames, or in bytes where frames have not been counted. Blocks of a segment stay together: each edge
    /// is the segment boundary nearest to the edge of an equal share. No worker gets two segments while another worker
    /// gets none.
    pub fn shares(&self, ranges: &[Range<usize>], n_workers: usize) -> Vec<usize> {
        let n_workers = n_workers.max(1);
        let Blocks::Listed(blocks) = self else {
            let n_blocks: usize = ranges.iter().map(ExactSizeIterator::len).sum();
            return (0..=n_workers).map(|k| (n_blocks as u128 * k as u128 / n_workers as u128) as usize).collect();
        };
        // Blocks that stay together form a bundle. Each entry holds the end of a bundle and the total size up to there.
        let mut bundles: Vec<(usize, u64)> = vec![(0, 0)];
        let mut before = None;
        for (i, block) in ranges.iter().flat_map(|range| &blocks[range.clone()]).enumerate() {
            let size = match &block.extent {
                Extent::Frames(frames) => frames.len(),
                Extent::Bytes(bytes) => bytes.end - bytes.start,
            };
            let (_, total) = bundles[bundles.len() - 1];
            if block.segment.is_some() && block.segment == before {
                bundles.pop();
            }
            bundles.push((i + 1, total + size));
            before = block.segment;
        }
        let (n_bundles, total) = (bundles.len() - 1, bundles[bundles.len() - 1].1);
        let mut edges = vec![0];
        for k in 1..=n_workers {
            let equal = (u128::from(total) * k as u128 / n_workers as u128) as u64;
            let behind = bundles.partition_point(|&(_, end)| end < equal);
            let is_nearer = behind > 0 && equal - bundles[behind - 1].1 < bundles[behind].1 - equal;
            let nearest = if is_nearer { behind - 1 } else { behind };
            // This worker and each later worker get at least one bundle, as long as there are enough.
            let least = (edges[k - 1] + 1).min(n_bundles);
            edges.push(nearest.clamp(least, n_bundles.saturating_sub(n_workers - k).max(least)));
        }
        edges.into_iter().map(|edge| bundles[edge].0).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::block::{Block, FrameSet};

    /// Creates blocks with the given numbers of frames, each with its segment.
    fn blocks(sizes: &[(u64, Option<usize>)]) -> Blocks {
        let mut start = 0;
        let block = |(index, &(count, segment)): (usize, &(u64, Option<usize>))| {
            start += count;
            let frames = FrameSet::Range { start: start - count, step: 1, count };
            Block { index, extent: Extent::Frames(frames), segment }
        };
        Blocks::Listed(sizes.iter().enumerate().map(block).collect())
    }

    fn of_segments(segments: &[u64], n_workers: usize) -> Vec<usize> {
        let sizes: Vec<_> = segments.iter().enumerate().map(|(i, &size)| (size, Some(i))).collect();
        blocks(&sizes).shares(std::slice::from_ref(&(0..sizes.len())), n_workers)
    }

    #[test]
    fn shares_are_whole_segments_as_equal_as_they_allow() {
        assert_eq!(of_segments(&[5; 7], 3), [0, 2, 5, 7]);
        assert_eq!(of_segments(&[30, 10, 10], 3), [0, 1, 2, 3]);
        assert_eq!(of_segments(&[100, 1, 1, 1], 2), [0, 1, 4]);
        assert_eq!(of_segments(&[1, 1, 1, 100], 2), [0, 3, 4]);
        assert_eq!(of_segments(&[4, 4], 4), [0, 1, 2, 2, 2]);
        assert_eq!(of_segments(&[], 2), [0, 0, 0]);
        let two = blocks(&[(3, Some(0)), (3, Some(0)), (1, Some(1)), (1, Some(1)), (1, Some(1))]);
        assert_eq!(two.shares(&[0..2, 2..5], 2), [0, 2, 5]);
        assert_eq!(two.shares(&[1..2, 2..5], 3), [0, 1, 4, 4]);
        assert_eq!(two.shares(&[0..1, 3..5], 2), [0, 1, 3]);
    }

    proptest! {
        #[test]
        fn shares_hold_every_block_once_and_split_no_segment(
            sizes in prop::collection::vec((1u64..40, 1usize..4), 0..30),
            keeps in any::<bool>(),
            n_workers in 1usize..12,
        ) {
            let each: Vec<_> = sizes
                .iter()
                .enumerate()
                .flat_map(|(i, &(size, n))| std::iter::repeat_n((size, keeps.then_some(i)), n))
                .collect();
            let edges = blocks(&each).shares(std::slice::from_ref(&(0..each.len())), n_workers);
            prop_assert_eq!(edges.len(), n_workers + 1);
            prop_assert_eq!((edges[0], edges[n_workers]), (0, each.len()));
            prop_assert!(edges.is_sorted());
            for &edge in &edges[1..n_workers] {
                let inside = edge > 0 && edge < each.len() && each[edge].1.is_some() && each[edge - 1].1 == each[edge].1;
                prop_assert!(!inside, "a segment is split at {edge}");
            }
            let n_bundles = if keeps { sizes.len() } else { each.len() };
            let n_busy = edges.windows(2).filter(|pair| pair[0] < pair[1]).count();
            prop_assert_eq!(n_busy, n_bundles.min(n_workers));
        }

        #[test]
        fn shares_of_blocks_that_are_alike_differ_by_one_block(n_blocks in 0usize..200, n_workers in 1usize..20) {
            let edges = blocks(&vec![(7, None); n_blocks]).shares(std::slice::from_ref(&(0..n_blocks)), n_workers);
            let lengths: Vec<usize> = edges.windows(2).map(|pair| pair[1] - pair[0]).collect();
            prop_assert!(lengths.iter().max().unwrap() - lengths.iter().min().unwrap() <= 1);
        }
    }
}
