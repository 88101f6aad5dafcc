//! The end of a channel, which the producer records explicitly.

use serde::{Deserialize, Serialize};

use super::atomic::Ordering;
use super::date;
use super::ring_file::{MOST_REASON, RingHead};

/// The way in which a channel ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// All expected frames have been published.
    Finished,
    /// The simulation was asked to stop.
    Stopped,
    /// The simulation has failed, for this reason.
    Failed(String),
}

impl End {
    /// Writes the end record. The caller wakes the consumers afterwards.
    pub(super) fn write(&self, head: &RingHead) {
        let (number, reason) = match self {
            End::Finished => (1, ""),
            End::Stopped => (2, ""),
            End::Failed(reason) => (3, reason.as_str()),
        };
        let fits =
            reason.char_indices().map(|(at, letter)| at + letter.len_utf8()).take_while(|end| *end <= MOST_REASON);
        let length = fits.last().unwrap_or(0);
        for (word, bytes) in head.reason.iter().zip(reason.as_bytes()[..length].chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(padded), Ordering::Relaxed);
        }
        head.reason_len.store(length as u64, Ordering::Relaxed);
        head.ended_at.store(date::now_ms(), Ordering::Relaxed);
        head.end.store(number, Ordering::Release);
    }

    /// Reads the end record, if there is one.
    pub(super) fn read(head: &RingHead) -> Option<Self> {
        match head.end.load(Ordering::Acquire) {
            0 => None,
            1 => Some(End::Finished),
            2 => Some(End::Stopped),
            _ => {
                let words = head.reason.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes());
                let length = head.reason_len.load(Ordering::Relaxed).min(MOST_REASON as u64);
                let bytes: Vec<u8> = words.take(length as usize).collect();
                Some(End::Failed(String::from_utf8_lossy(&bytes).into_owned()))
            }
        }
    }
}
