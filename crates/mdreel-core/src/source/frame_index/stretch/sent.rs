//! Numbers of a stretch on their way to a file or another process: frames differ in length by few words, so that how
//! much longer each is than the shortest takes a byte or two.

use serde::{Deserialize, Serialize};

/// The word of XDR: all lengths are multiples of it.
pub(super) const WORD: u32 = 4;

/// Encoding of numbers for sending.
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

/// Ascending numbers, stored as differences if this is shorter.
pub(super) fn by_intervals(least: i64, bytes: &[u8]) -> Option<Sent> {
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
