//! The epochs of a channel, one for each incarnation of its producer, and the frame numbers with which its runs began.

use super::atomic::Ordering;
use super::ring_file::{MOST_EPOCHS, RingHead};

/// The resume step of a producer that begins a new run.
const NEW_RUN: i64 = i64::MIN;
/// A flag in the table of first numbers. It marks the first number of a relay, which may lack frames of the previous epoch.
pub(super) const UNCERTAIN: u64 = 1 << 63;

/// The beginning of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Began {
    /// The number of the run's first frame that a restarted producer did not publish again.
    pub first: u64,
    /// Whether `first` is known for sure.
    pub is_certain: bool,
}

/// Returns where the run of an epoch began.
pub(super) fn run_of(head: &RingHead, epoch: u64) -> Began {
    let resume_step = |epoch: usize| head.resume_steps[epoch].load(Ordering::Relaxed).cast_signed();
    let mut first = epoch.min(MOST_EPOCHS as u64 - 1) as usize;
    let mut lowest = resume_step(first);
    for epoch in (0..first).rev() {
        if lowest == NEW_RUN {
            break;
        }
        // Otherwise, a later epoch has published all frames of this epoch again.
        if resume_step(epoch).max(0) < lowest {
            first = epoch;
        }
        lowest = lowest.min(resume_step(epoch));
    }
    let word = head.first_sequences[first].load(Ordering::Acquire);
    Began { first: word & !UNCERTAIN, is_certain: word & UNCERTAIN == 0 }
}

/// Returns how many of the numbers from `from` to before `to` stand for frames that should have come. These are all numbers
/// except those that a relay has passed over at the beginning of an epoch.
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
