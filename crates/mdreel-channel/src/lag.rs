//! How far consumers are behind, and for which of them a producer waits.

use super::atomic::Ordering;
use super::protocol::{Cursor, Ring};

impl Ring<'_> {
    /// How far the consumer of each cursor is behind, in frames, for those that take every frame.
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

    /// The cursors of the consumers that keep a producer waiting which drops no frames: those that want what is in the next slot, or
    /// else those that hold frames.
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

    /// How far the slowest consumer is behind; `None` without consumers.
    pub(crate) fn lag(&self) -> Option<u64> {
        self.lags().map(|(_, lag)| lag).max()
    }
}
