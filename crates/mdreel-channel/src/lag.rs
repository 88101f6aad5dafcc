//! The lag of consumers, and the consumers for which a producer waits.

use super::atomic::Ordering;
use super::protocol::{Cursor, Ring};

impl Ring<'_> {
    /// Returns the lag of each consumer that takes every frame, in frames, with the number of its cursor.
    pub(crate) fn lags(&self) -> impl Iterator<Item = (usize, u64)> {
        let (tail, head) = (self.control.tail.load(Ordering::Acquire), self.control.head.load(Ordering::Acquire));
        let wanted = self.used().iter().enumerate().filter_map(|(number, cursor)| Some((number, cursor.wanted()?)));
        wanted.map(move |(number, wanted)| {
            let first = tail.max(head.saturating_sub(self.n_slots));
            let n_gone = first.saturating_sub(wanted);
            let there = wanted.max(first)..head;
            (number, n_gone + there.filter(|position| self.has_frame(*position)).count() as u64)
        })
    }

    /// Returns the cursors of the consumers that block a producer which drops no frames: those that want the frame in the next
    /// slot, or, if there are none, those that hold frames.
    pub(crate) fn blockers(&self) -> Vec<usize> {
        let head = self.control.head.load(Ordering::Acquire);
        let limit = (head + 1).saturating_sub(self.n_slots);
        let numbered = || self.used().iter().enumerate();
        let is_behind = |cursor: &Cursor| cursor.wanted().is_some_and(|wanted| wanted < limit);
        let behind: Vec<usize> = numbered().filter(|(_, cursor)| is_behind(cursor)).map(|(number, _)| number).collect();
        match behind.is_empty() {
            true => {
                numbered().filter(|(_, cursor)| cursor.pinned().next().is_some()).map(|(number, _)| number).collect()
            }
            false => behind,
        }
    }

    /// Returns the lag of the slowest consumer, in frames; `None` without consumers.
    pub(crate) fn lag(&self) -> Option<u64> {
        self.lags().map(|(_, lag)| lag).max()
    }
}
