//! Encoding of the numbers of a stretch for a file or another process. The lengths of frames differ by a few words. The
//! excess of each length over the shortest one takes one or two bytes.

use serde::{Deserialize, Serialize};

/// Size of an XDR word in bytes. All lengths are multiples of it.
pub(super) const WORD: u32 = 4;

/// The encoded numbers of a stretch.
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
    /// Each number is the sum of the previous number, `interval`, and a number of words in one byte.
    Near {
        first: i64,
        interval: u32,
        #[serde(with = "serde_bytes")]
        words: Vec<u8>,
    },
    /// Each number is the sum of the previous number, `interval`, and a number of words in two bytes.
    Far {
        first: i64,
        interval: u32,
        #[serde(with = "serde_bytes")]
        words: Vec<u8>,
    },
}

/// Encodes ascending numbers by their intervals. Returns `None` if this is impossible or not shorter.
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
    // The first number is the smallest, because the numbers ascend.
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
