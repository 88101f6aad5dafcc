//! A frame index in few bytes, for other processes: frames are about equally long, and come at even steps and times.

use serde::{Deserialize, Serialize};

use super::{FrameIndex, RECORD};
use crate::error::{Error, Result};
use crate::source::FrameLocation;

/// What a frame index says, in fewer bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PackedIndex {
    n_frames: usize,
    start: u64,
    end: u64,
    first_step: i64,
    lengths: Numbers,
    steps: Numbers,
    times: Times,
}

/// Whole numbers, of which each is the least of them and what is added to that, in as many bytes as the largest needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Numbers {
    least: i64,
    width: usize,
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
}

/// Times of frames.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Times {
    /// Of each frame `first + i * interval`, bit for bit.
    Even { first: f64, interval: f64 },
    /// In single precision, which holds all of them.
    Single(#[serde(with = "serde_bytes")] Vec<u8>),
    /// As they are.
    Double(#[serde(with = "serde_bytes")] Vec<u8>),
}

impl PackedIndex {
    /// Packs an index.
    pub fn of(index: &FrameIndex) -> Self {
        let first = index.get(0).unwrap_or(FrameLocation { offset: index.end, step: 0, time: 0.0 });
        let frames = || index.frames();
        let offsets_behind = || frames().skip(1).map(|frame| frame.offset).chain([index.end]);
        let lengths = frames().zip(offsets_behind()).map(|(frame, next)| next.wrapping_sub(frame.offset) as i64);
        let steps = frames().zip(frames().skip(1)).map(|(frame, next)| next.step.wrapping_sub(frame.step));
        PackedIndex {
            n_frames: index.len(),
            start: first.offset,
            end: index.end,
            first_step: first.step,
            lengths: Numbers::of(lengths),
            steps: Numbers::of(steps),
            times: Times::of(|| frames().map(|frame| frame.time)),
        }
    }

    /// The index.
    ///
    /// # Errors
    /// If the bytes are no index, or there is no memory for it.
    pub fn unpack(&self) -> Result<FrameIndex> {
        let wrong = || Error::Mismatch(format!("what is said of {} frames is not whole", self.n_frames));
        let n_records = self.n_frames.checked_mul(RECORD).ok_or_else(wrong)?;
        let n_steps = self.n_frames.saturating_sub(1);
        if !(self.lengths.has(self.n_frames) && self.steps.has(n_steps) && self.times.has(self.n_frames)) {
            return Err(wrong());
        }
        let mut index = FrameIndex { records: Vec::new(), end: self.end };
        index.records.try_reserve_exact(n_records).map_err(|_| wrong())?;
        let (mut offset, mut step) = (self.start, self.first_step);
        for i in 0..self.n_frames {
            index.extend([FrameLocation { offset, step, time: self.times.get(i) }]);
            offset = offset.wrapping_add_signed(self.lengths.get(i));
            if i < n_steps {
                step = step.wrapping_add(self.steps.get(i));
            }
        }
        if offset == self.end { Ok(index) } else { Err(wrong()) }
    }
}

impl Numbers {
    fn of(values: impl Iterator<Item = i64> + Clone) -> Self {
        let limits = values.clone().fold(None, |limits: Option<(i64, i64)>, value| {
            Some(limits.map_or((value, value), |(least, most)| (least.min(value), most.max(value))))
        });
        let (least, most) = limits.unwrap_or_default();
        let width = match most.wrapping_sub(least) as u64 {
            0 => 0,
            1..=0xff => 1,
            0x100..=0xffff => 2,
            0x1_0000..=0xffff_ffff => 4,
            _ => 8,
        };
        let added = values.map(|value| value.wrapping_sub(least) as u64);
        let mut bytes = Vec::with_capacity(width * added.size_hint().0);
        // One loop for each width: they are run for millions of frames.
        match width {
            0 => {}
            1 => bytes.extend(added.map(|value| value as u8)),
            2 => added.for_each(|value| bytes.extend((value as u16).to_le_bytes())),
            4 => added.for_each(|value| bytes.extend((value as u32).to_le_bytes())),
            _ => added.for_each(|value| bytes.extend(value.to_le_bytes())),
        }
        Numbers { least, width, bytes }
    }

    fn has(&self, n: usize) -> bool {
        matches!(self.width, 0 | 1 | 2 | 4 | 8) && n.checked_mul(self.width) == Some(self.bytes.len())
    }

    fn get(&self, i: usize) -> i64 {
        let added = match self.width {
            0 => 0,
            1 => u64::from(self.bytes[i]),
            2 => u64::from(u16::from_le_bytes(self.bytes.as_chunks::<2>().0[i])),
            4 => u64::from(u32::from_le_bytes(self.bytes.as_chunks::<4>().0[i])),
            _ => u64::from_le_bytes(self.bytes.as_chunks::<8>().0[i]),
        };
        self.least.wrapping_add(added as i64)
    }
}

impl Times {
    fn of<I: ExactSizeIterator<Item = f64>>(times: impl Fn() -> I) -> Self {
        let first = times().next().unwrap_or_default();
        let interval = times().nth(1).map_or(0.0, |second| second - first);
        if times().enumerate().all(|(i, time)| even(first, interval, i).to_bits() == time.to_bits()) {
            Times::Even { first, interval }
        } else if times().all(|time| f64::from(time as f32).to_bits() == time.to_bits()) {
            Times::Single(times().flat_map(|time| (time as f32).to_le_bytes()).collect())
        } else {
            Times::Double(times().flat_map(f64::to_le_bytes).collect())
        }
    }

    fn has(&self, n: usize) -> bool {
        match self {
            Times::Even { .. } => true,
            Times::Single(bytes) => n.checked_mul(4) == Some(bytes.len()),
            Times::Double(bytes) => n.checked_mul(8) == Some(bytes.len()),
        }
    }

    fn get(&self, i: usize) -> f64 {
        match self {
            Times::Even { first, interval } => even(*first, *interval, i),
            Times::Single(bytes) => f64::from(f32::from_le_bytes(bytes.as_chunks::<4>().0[i])),
            Times::Double(bytes) => f64::from_le_bytes(bytes.as_chunks::<8>().0[i]),
        }
    }
}

fn even(first: f64, interval: f64, i: usize) -> f64 {
    first + i as f64 * interval
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn index(frames: &[(u64, i32, f64)]) -> FrameIndex {
        let mut index = FrameIndex { end: 7, ..FrameIndex::default() };
        for &(length, step, time) in frames {
            index.extend([FrameLocation { offset: index.end, step: i64::from(step), time }]);
            index.end += length;
        }
        index
    }

    fn packed(frames: &[(u64, i32, f64)]) -> PackedIndex {
        let bytes = postcard::to_allocvec(&PackedIndex::of(&index(frames))).unwrap();
        postcard::from_bytes(&bytes).unwrap()
    }

    fn times() -> impl Strategy<Value = Vec<f64>> {
        let n = 0..40usize;
        prop_oneof![
            prop::collection::vec(any::<u64>().prop_map(f64::from_bits), n.clone()),
            prop::collection::vec(any::<f32>().prop_map(f64::from), n.clone()),
            (any::<f64>(), any::<f64>(), n).prop_map(|(first, dt, n)| (0..n).map(|i| even(first, dt, i)).collect()),
        ]
    }

    proptest! {
        #[test]
        fn index_comes_out_as_it_was(
            times in times(),
            most in prop_oneof![Just(1u64), Just(200), Just(60_000), Just(3_000_000_000), Just(1 << 40)],
            seeds in prop::collection::vec((any::<u64>(), any::<i32>()), 40),
        ) {
            let frames: Vec<_> =
                times.iter().zip(seeds).map(|(&time, (seed, step))| (1 + seed % most, step, time)).collect();
            let expected = index(&frames);
            let found = packed(&frames).unpack().unwrap();
            prop_assert_eq!(&found.records, &expected.records);
            prop_assert_eq!(found.end, expected.end);
        }
    }

    #[test]
    fn even_index_takes_little_and_any_takes_less_than_its_records() {
        let even: Vec<_> = (0..10_000u64).map(|i| (12_000 + 4 * (i % 50), 5 * i as i32, 0.5 * i as f64)).collect();
        let other: Vec<_> = (0..10_000u64).map(|i| (i * i + 1, (i * i) as i32, (i as f64).sqrt())).collect();
        assert!(postcard::to_allocvec(&packed(&even)).unwrap().len() < 11_000);
        assert!(postcard::to_allocvec(&packed(&other)).unwrap().len() < 17 * 10_000);
    }

    #[test]
    fn index_that_is_not_whole_is_refused() {
        let whole = packed(&[(5, 1, 0.1), (500, 2, 0.3), (7, 4, 0.4)]);
        assert!(whole.unpack().is_ok());
        for spoil in [
            |index: &mut PackedIndex| index.n_frames = usize::MAX,
            |index: &mut PackedIndex| index.n_frames -= 1,
            |index: &mut PackedIndex| index.lengths.width = 3,
            |index: &mut PackedIndex| index.lengths.bytes.truncate(1),
            |index: &mut PackedIndex| index.end += 1,
        ] {
            let mut spoiled = whole.clone();
            spoil(&mut spoiled);
            assert!(spoiled.unpack().is_err(), "{spoiled:?}");
        }
    }
}
