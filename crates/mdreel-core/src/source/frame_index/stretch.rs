//! Stretches of a frame index. They are small because frames have similar lengths, and steps and times are mostly even.

mod sent;

use serde::{Deserialize, Serialize};

use self::sent::{Sent, WORD, by_intervals};
use crate::source::FrameLocation;

/// Number of frames in a stretch.
pub(crate) const STRETCH: usize = 4096;

/// [`STRETCH`] consecutive frames. Access to each takes constant time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stretch {
    offsets: Numbers,
    steps: Numbers,
    times: Times,
}

/// Integers of a stretch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Sent", into = "Sent")]
enum Numbers {
    /// `first + i * interval`.
    Even { first: i64, interval: i64 },
    /// Each number is `least` plus an unsigned integer of four bytes.
    Narrow { least: i64, bytes: Vec<u8> },
    /// Each number has eight bytes.
    Wide(Vec<u8>),
}

/// Times of the frames of a stretch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Times {
    /// `first + i * interval`, exact to the last bit.
    Even { first: f64, interval: f64 },
    /// Single precision, which represents all times exactly.
    Single(#[serde(with = "serde_bytes")] Vec<u8>),
    /// Double precision.
    Double(#[serde(with = "serde_bytes")] Vec<u8>),
}

impl Stretch {
    /// Builds the stretch of [`STRETCH`] frames.
    pub(crate) fn of(frames: &[FrameLocation]) -> Self {
        Stretch {
            offsets: Numbers::of(frames.iter().map(|frame| frame.offset as i64)),
            steps: Numbers::of(frames.iter().map(|frame| frame.step)),
            times: Times::of(frames.iter().map(|frame| frame.time)),
        }
    }

    /// Returns the `i`-th frame of the stretch.
    pub(crate) fn get(&self, i: usize) -> FrameLocation {
        FrameLocation { offset: self.offsets.get(i) as u64, step: self.steps.get(i), time: self.times.get(i) }
    }

    /// Returns whether the stretch has the right number of frames.
    pub(crate) fn is_whole(&self) -> bool {
        let has = |bytes: &[u8], width| bytes.len() == width * STRETCH;
        let has_numbers = |numbers: &Numbers| match numbers {
            Numbers::Even { .. } => true,
            Numbers::Narrow { bytes, .. } => has(bytes, 4),
            Numbers::Wide(bytes) => has(bytes, 8),
        };
        let has_times = match &self.times {
            Times::Even { .. } => true,
            Times::Single(bytes) => has(bytes, 4),
            Times::Double(bytes) => has(bytes, 8),
        };
        has_numbers(&self.offsets) && has_numbers(&self.steps) && has_times
    }

    /// Returns three copies of the stretch. In each of them, one column has the wrong length.
    #[cfg(test)]
    pub(crate) fn spoilt(&self) -> [Self; 3] {
        let short = vec![0; 8 * (STRETCH - 1)];
        [
            Stretch { offsets: Numbers::Wide(short.clone()), ..self.clone() },
            Stretch { steps: Numbers::Narrow { least: 0, bytes: short.clone() }, ..self.clone() },
            Stretch { times: Times::Double(short), ..self.clone() },
        ]
    }
}

impl Numbers {
    fn of(values: impl Iterator<Item = i64> + Clone) -> Self {
        let first = values.clone().next().unwrap_or_default();
        let interval = values.clone().nth(1).unwrap_or(first).wrapping_sub(first);
        if values.clone().enumerate().all(|(i, value)| even(first, interval, i) == value) {
            return Numbers::Even { first, interval };
        }
        let least = values.clone().min().unwrap_or_default();
        let narrow = || values.clone().map(|value| u32::try_from(value.wrapping_sub(least) as u64));
        if narrow().all(|added| added.is_ok()) {
            return Numbers::Narrow { least, bytes: narrow().flatten().flat_map(u32::to_le_bytes).collect() };
        }
        Numbers::Wide(values.flat_map(i64::to_le_bytes).collect())
    }

    fn get(&self, i: usize) -> i64 {
        match self {
            Numbers::Even { first, interval } => even(*first, *interval, i),
            Numbers::Narrow { least, bytes } => {
                least.wrapping_add(i64::from(u32::from_le_bytes(bytes.as_chunks::<4>().0[i])))
            }
            Numbers::Wide(bytes) => i64::from_le_bytes(bytes.as_chunks::<8>().0[i]),
        }
    }
}

impl From<Numbers> for Sent {
    fn from(numbers: Numbers) -> Self {
        match numbers {
            Numbers::Even { first, interval } => Sent::Even { first, interval },
            Numbers::Wide(bytes) => Sent::Wide(bytes),
            Numbers::Narrow { least, bytes } => by_intervals(least, &bytes).unwrap_or(Sent::Narrow { least, bytes }),
        }
    }
}

impl From<Sent> for Numbers {
    fn from(sent: Sent) -> Self {
        match sent {
            Sent::Even { first, interval } => Numbers::Even { first, interval },
            Sent::Wide(bytes) => Numbers::Wide(bytes),
            Sent::Narrow { least, bytes } => Numbers::Narrow { least, bytes },
            Sent::Near { first, interval, words } => summed(first, interval, words.iter().map(|&n| u32::from(n))),
            Sent::Far { first, interval, words } => {
                let words = words.as_chunks::<2>().0;
                summed(first, interval, words.iter().map(|&n| u32::from(u16::from_le_bytes(n))))
            }
        }
    }
}

fn summed(first: i64, interval: u32, words: impl ExactSizeIterator<Item = u32>) -> Numbers {
    let mut bytes = Vec::with_capacity(4 * (words.len() + 1));
    let mut number = 0u32;
    bytes.extend(number.to_le_bytes());
    for n in words {
        number = number.wrapping_add(interval).wrapping_add(WORD * n);
        bytes.extend(number.to_le_bytes());
    }
    Numbers::Narrow { least: first, bytes }
}

fn even(first: i64, interval: i64, i: usize) -> i64 {
    first.wrapping_add(interval.wrapping_mul(i as i64))
}

impl Times {
    fn of(times: impl Iterator<Item = f64> + Clone) -> Self {
        let first = times.clone().next().unwrap_or_default();
        let interval = times.clone().nth(1).unwrap_or(first) - first;
        if times.clone().enumerate().all(|(i, time)| even_time(first, interval, i).to_bits() == time.to_bits()) {
            Times::Even { first, interval }
        } else if times.clone().all(|time| f64::from(time as f32).to_bits() == time.to_bits()) {
            Times::Single(times.flat_map(|time| (time as f32).to_le_bytes()).collect())
        } else {
            Times::Double(times.flat_map(f64::to_le_bytes).collect())
        }
    }

    fn get(&self, i: usize) -> f64 {
        match self {
            Times::Even { first, interval } => even_time(*first, *interval, i),
            Times::Single(bytes) => f64::from(f32::from_le_bytes(bytes.as_chunks::<4>().0[i])),
            Times::Double(bytes) => f64::from_le_bytes(bytes.as_chunks::<8>().0[i]),
        }
    }
}

fn even_time(first: f64, interval: f64, i: usize) -> f64 {
    first + i as f64 * interval
}
