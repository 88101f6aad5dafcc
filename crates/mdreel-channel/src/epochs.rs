//! The incarnations of a producer: with which number of a frame a run began.

use super::atomic::Ordering;
use super::ring_file::{MOST_EPOCHS, RingHead};

/// The first step of a producer that begins a new run.
const NEW_RUN: i64 = i64::MIN;
/// In the table of first numbers: that of a relay, which may lack frames of the epoch before.
pub(super) const UNCERTAIN: u64 = 1 << 63;

/// Where a run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Began {
    /// The number of its first frame that was not published again by a restarted producer.
    pub first: u64,
    /// Whether that is known for sure.
    pub is_certain: bool,
}

/// Where the run of an epoch began.
pub(super) fn run_of(head: &RingHead, epoch: u64) -> Began {
    let resume_step = |epoch: usize| head.resume_steps[epoch].load(Ordering::Relaxed).cast_signed();
    let mut first = epoch.min(MOST_EPOCHS as u64 - 1) as usize;
    let mut lowest = resume_step(first);
    for epoch in (0..first).rev() {
        if lowest == NEW_RUN {
            break;
        }
        // Otherwise all frames of that epoch were published again.
        if resume_step(epoch).max(0) < lowest {
            first = epoch;
        }
        lowest = lowest.min(resume_step(epoch));
    }
    let word = head.first_sequences[first].load(Ordering::Acquire);
    Began { first: word & !UNCERTAIN, is_certain: word & UNCERTAIN == 0 }
}

/// How many of the numbers from `from` to before `to` stand for frames that should have come: all, but for those that a relay has
/// passed over at the beginning of an epoch.
pub(super) fn n_missing(head: &RingHead, from: u64, to: u64) -> u64 {
    let n_all = to.saturating_sub(from);
    if n_all == 0 {
        return 0;
    }
    let n_epochs = head.n_epochs.load(Ordering::Relaxed).min(MOST_EPOCHS as u64) as usize;
    let passed = |epoch: usize| {
        let n_passed = head.n_passed[epoch].load(Ordering::Relaxed);
        let first = head.first_sequences[epoch].load(Ordering::Relaxed) & !UNCERTAIN;
        to.min(first.saturating_add(n_passed)).saturating_sub(from.max(first))
    };
    n_all.saturating_sub((0..n_epochs).map(passed).sum())
}
