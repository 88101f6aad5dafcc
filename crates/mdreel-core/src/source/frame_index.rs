//! The frame index: the position of each frame of a file, in a few bytes per frame.

mod claim;
pub(in crate::source) mod kept;
mod stretch;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use self::stretch::{STRETCH, Stretch};
use super::{FrameLocation, LocatedFrames};

pub(crate) use claim::{Claim, PATIENCE, Turn};
pub use kept::{Keep, place};

/// Maximum size of the sample of frames that are compared with the index of a file that has grown.
pub const SAMPLE: usize = 1024;

/// The position of each frame of a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameIndex {
    /// The frames, [`STRETCH`] in each stretch.
    stretches: Vec<Stretch>,
    /// The frames after the stretches, fewer than [`STRETCH`].
    tail: Vec<FrameLocation>,
    /// The byte at which the last frame ends.
    pub end: u64,
}

impl FrameIndex {
    /// Builds the index of a file of `n_bytes` from located parts. Returns `None` if the parts do not join, or end
    /// before the file.
    pub(crate) fn joined(parts: Vec<LocatedFrames>, n_bytes: u64) -> Option<Self> {
        let mut index = FrameIndex::default();
        for part in parts {
            let Some(first) = part.first else { continue };
            if first != index.end {
                return None;
            }
            index.extend(part.frames);
            index.end = part.end;
        }
        (index.end == n_bytes).then_some(index)
    }

    /// Appends frames.
    pub fn extend(&mut self, frames: impl IntoIterator<Item = FrameLocation>) {
        for frame in frames {
            self.tail.push(frame);
            if self.tail.len() == STRETCH {
                self.stretches.push(Stretch::of(&self.tail));
                self.tail.clear();
            }
        }
    }

    /// Appends the frames of another file, as if that file followed the files of this index.
    pub(crate) fn append(&mut self, other: &FrameIndex) {
        let base = self.end;
        self.extend(other.frames().map(|frame| FrameLocation { offset: base + frame.offset, ..frame }));
        self.end = base + other.end;
    }

    /// Returns the index of one of the appended files. The file has these `frames` and these `bytes` of the whole.
    pub(crate) fn part(&self, frames: Range<usize>, bytes: Range<u64>) -> FrameIndex {
        let mut part = FrameIndex::default();
        let own = |frame: FrameLocation| FrameLocation { offset: frame.offset.wrapping_sub(bytes.start), ..frame };
        part.extend(frames.map_while(|i| self.get(i)).map(own));
        part.end = bytes.end - bytes.start;
        part
    }

    /// Returns the frames, in order.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = FrameLocation> + Clone {
        (0..self.len()).map(|i| self.at(i))
    }

    /// Returns the `i`-th frame.
    pub fn get(&self, i: usize) -> Option<FrameLocation> {
        (i < self.len()).then(|| self.at(i))
    }

    /// Returns the bytes of the `i`-th frame.
    pub fn range(&self, i: usize) -> Option<Range<u64>> {
        let end = self.get(i + 1).map_or(self.end, |next| next.offset);
        Some(self.get(i)?.offset..end)
    }

    /// Returns the frame that contains a byte, if the index covers the byte.
    pub(crate) fn frame_at(&self, byte: u64) -> Option<usize> {
        if byte >= self.end {
            return None;
        }
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.at(middle).offset <= byte {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.checked_sub(1)
    }

    /// Removes all frames from the `n_frames`-th on.
    pub(crate) fn truncate(&mut self, n_frames: usize) {
        let Some(first) = self.get(n_frames) else { return };
        let n_stretches = n_frames / STRETCH;
        if n_stretches < self.stretches.len() {
            self.tail = (n_stretches * STRETCH..n_frames).map(|i| self.at(i)).collect();
            self.stretches.truncate(n_stretches);
        } else {
            self.tail.truncate(n_frames - n_stretches * STRETCH);
        }
        self.end = first.offset;
    }

    /// Returns the number of frames.
    pub fn len(&self) -> usize {
        self.stretches.len() * STRETCH + self.tail.len()
    }

    /// Returns whether there is no frame.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether all stretches are full and the tail is shorter than one. An index from elsewhere may be damaged.
    pub(crate) fn is_complete(&self) -> bool {
        self.tail.len() < STRETCH && self.stretches.iter().all(Stretch::is_whole)
    }

    /// Returns whether this can be the index of a file: it is complete, and its frames ascend.
    pub(crate) fn is_whole(&self) -> bool {
        let offsets = || self.frames().map(|frame| frame.offset);
        self.is_complete() && offsets().zip(offsets().skip(1).chain([self.end])).all(|(offset, next)| offset < next)
    }

    /// Returns whether a file still has these frames. It checks a sample of at most [`SAMPLE`] frames and the last one;
    /// an index with no more frames is checked completely. `found` returns the frame at a byte and the byte at which it
    /// ends.
    pub(crate) fn agrees(&self, mut found: impl FnMut(u64) -> Option<(FrameLocation, u64)>) -> bool {
        let n_frames = self.len();
        let sample = (0..n_frames).step_by(n_frames.div_ceil(SAMPLE).max(1)).chain(n_frames.checked_sub(1));
        sample.into_iter().all(|i| {
            let (kept, end) = (self.at(i), self.range(i).map(|range| range.end));
            found(kept.offset).is_some_and(|(there, ends)| {
                there.step == kept.step && there.time.to_bits() == kept.time.to_bits() && Some(ends) == end
            })
        })
    }

    fn at(&self, i: usize) -> FrameLocation {
        match self.stretches.get(i / STRETCH) {
            Some(stretch) => stretch.get(i % STRETCH),
            None => self.tail[i - self.stretches.len() * STRETCH],
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn index(frames: &[FrameLocation], end: u64) -> FrameIndex {
        let mut index = FrameIndex { end, ..FrameIndex::default() };
        index.extend(frames.iter().copied());
        index
    }

    fn bits(frame: FrameLocation) -> (u64, i64, u64) {
        (frame.offset, frame.step, frame.time.to_bits())
    }

    /// Returns the time of a frame, in one of several kinds of files.
    fn time(kind: u8, seed: u32, i: usize) -> f64 {
        match kind {
            0 => f64::from(seed) + i as f64 * 0.1,
            1 => f64::from(f32::from_bits(scatter(seed, i) as u32)),
            _ => f64::from_bits(scatter(seed, i)),
        }
    }

    /// Returns pseudo-random bits.
    fn scatter(seed: u32, i: usize) -> u64 {
        (u64::from(seed) + i as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(23)
            .wrapping_mul(0xd6e8_feb8_6659_fd93)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn frames_come_out_as_they_were(
            n_frames in prop_oneof![0usize..20, STRETCH - 2..STRETCH + 3, 2 * STRETCH..3 * STRETCH],
            most in prop_oneof![Just(1u64), Just(200), Just(60_000), Just(3_000_000_000), Just(1 << 40)],
            step in prop_oneof![Just(1u64), Just(50_000), Just(1 << 40), Just(u64::MAX)],
            seed in any::<u32>(),
            word in prop_oneof![Just(1u64), Just(4)],
            kind in 0u8..3,
            cut in 0usize..3 * STRETCH,
        ) {
            let (mut frames, mut end) = (Vec::new(), 7);
            for i in 0..n_frames {
                let step = (scatter(seed, i) % step) as i64;
                frames.push(FrameLocation { offset: end, step, time: time(kind, seed, i) });
                end += word * (1 + scatter(seed, i) % most);
            }
            let bytes = postcard::to_allocvec(&index(&frames, end)).unwrap();
            let mut found: FrameIndex = postcard::from_bytes(&bytes).unwrap();
            prop_assert!(found.is_whole());
            prop_assert!(found.frames().map(bits).eq(frames.iter().copied().map(bits)));
            prop_assert_eq!(found.get(n_frames), None);
            for byte in [0, 7, end / 2, end - 1, end] {
                let expected = frames.partition_point(|frame| frame.offset <= byte).checked_sub(1);
                prop_assert_eq!(found.frame_at(byte), expected.filter(|_| byte < end));
            }
            found.truncate(cut);
            frames.truncate(cut);
            prop_assert!(found.frames().map(bits).eq(frames.iter().copied().map(bits)));
            prop_assert!(found.is_whole());
            // A frame added later is stored like in a new index.
            frames.push(FrameLocation { offset: found.end, step: -1, time: 0.5 });
            found.extend(frames.last().copied());
            found.end += 1;
            let anew = index(&frames, frames[frames.len() - 1].offset + 1);
            // Some times may be NaN, so the bytes are compared.
            prop_assert_eq!(postcard::to_allocvec(&found).unwrap(), postcard::to_allocvec(&anew).unwrap());
        }
    }

    #[test]
    fn parts_of_an_index_are_the_indices_that_were_appended() {
        let of_file = |n: u64, length: u64, seed: u64| {
            let frames: Vec<_> = (0..n)
                .map(|i| FrameLocation { offset: length * i, step: (seed + i) as i64, time: 0.3 * (seed * i) as f64 })
                .collect();
            index(&frames, length * n)
        };
        let files = [of_file(5, 7, 1), of_file(0, 1, 2), of_file(STRETCH as u64 + 9, 100, 3), of_file(2, 8, 4)];
        let mut joined = FrameIndex::default();
        let mut edges = vec![(0, 0)];
        for file in &files {
            joined.append(file);
            edges.push((joined.len(), joined.end));
        }
        assert!(joined.is_complete() && joined.is_whole());
        for (file, edges) in files.iter().zip(edges.windows(2)) {
            assert_eq!(joined.part(edges[0].0..edges[1].0, edges[0].1..edges[1].1), *file);
        }
        // A part that was damaged in transit causes no panic, and its index is not whole.
        assert!(!joined.part(0..5, 20..35).is_whole());
        assert_eq!(joined.part(joined.len()..joined.len() + 3, 0..9).len(), 0);
    }

    #[test]
    fn even_frames_take_little_and_any_take_less_than_they_are() {
        let frame = |i: u64, offset, time| FrameLocation { offset, step: i as i64, time };
        let alike: Vec<_> = (0..100_000).map(|i| frame(5 * i, 1000 * i, 0.5 * i as f64)).collect();
        let usual: Vec<_> =
            (0..100_000).map(|i| frame(5 * i, 1000 * i + 4 * (i % 7), f64::from(0.1 * i as f32))).collect();
        let odd: Vec<_> = (0..100_000).map(|i| frame(i * i, i * i, (i as f64).sqrt())).collect();
        let n_bytes = |frames| postcard::to_allocvec(&index(frames, u64::MAX)).unwrap().len() / 100_000;
        assert_eq!((n_bytes(&alike), n_bytes(&usual), n_bytes(&odd)), (0, 5, 16));
    }

    #[test]
    fn index_that_is_not_whole_is_noticed() {
        let frames: Vec<_> = (0..2 * STRETCH as u64)
            .map(|i| FrameLocation { offset: i * i, step: (i * i) as i64, time: (i as f64).sqrt() })
            .collect();
        let whole = index(&frames, u64::MAX);
        assert!(whole.is_whole());
        assert!(!FrameIndex { end: 5, ..whole.clone() }.is_whole());
        assert!(!FrameIndex { tail: frames.clone(), stretches: Vec::new(), ..whole.clone() }.is_whole());
        for spoilt in whole.stretches[1].spoilt() {
            assert!(!FrameIndex { stretches: vec![whole.stretches[0].clone(), spoilt], ..whole.clone() }.is_whole());
        }
    }
}
