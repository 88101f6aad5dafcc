//! Numbers of a stretch on their way to a file or another process: frames differ in length by few words, so that how
//! much longer each is than the shortest takes a byte or two.

use serde::{Deserialize, Serialize};

use super::Numbers;

/// The word of XDR: all lengths are multiples of it.
const WORD: u32 = 4;

/// What numbers are sent as.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Sent {
    Even {
        first: i64,
        interval: i64,
    },
    Narrow {
        least: i64,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    Wide(#[serde(with = "serde_bytes")] Vec<u8>),
    /// Each is the one before it, `interval`, and a byte of words.
    Near {
        first: i64,
        interval: u32,
        #[serde(with = "serde_bytes")]
        words: Vec<u8>,
    },
    /// Each is the one before it, `interval`, and two bytes of words.
    Far {
        first: i64,
        interval: u32,
        #[serde(with = "serde_bytes")]
        words: Vec<u8>,
    },
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

/// Ascending numbers by what lies between them, where that takes less.
fn by_intervals(least: i64, bytes: &[u8]) -> Option<Sent> {
    let numbers = bytes.as_chunks::<4>().0;
    let number = |i: usize| u32::from_le_bytes(numbers[i]);
    let intervals = || (1..numbers.len()).map(|i| number(i).checked_sub(number(i - 1)));
    let mut limits: Option<(u32, u32)> = None;
    for interval in intervals() {
        let interval = interval?;
        limits = Some(limits.map_or((interval, interval), |(low, high)| (low.min(interval), high.max(interval))));
    }
    let (interval, longest) = limits?;
    // The first is the least, as they ascend.
    if number(0) != 0 || !intervals().flatten().all(|other| (other - interval).is_multiple_of(WORD)) {
        return None;
    }
    let words = || intervals().flatten().map(|other| (other - interval) / WORD);
    match (longest - interval) / WORD {
        0..=0xff => Some(Sent::Near { first: least, interval, words: words().map(|n| n as u8).collect() }),
        0x100..=0xffff => {
            let words = words().flat_map(|n| (n as u16).to_le_bytes()).collect();
            Some(Sent::Far { first: least, interval, words })
        }
        _ => None,
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
