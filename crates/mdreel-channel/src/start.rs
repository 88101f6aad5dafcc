//! The frame with which a consumer begins.

use serde::{Deserialize, Serialize};

use super::layout::Header;

/// The frame with which a consumer begins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Start {
    /// The first available frame.
    Earliest,
    /// The next frame that comes.
    Latest,
    /// The first frame with this number or a later one.
    Sequence(u64),
    /// The first frame with this step or a later one.
    Step(i64),
    /// The first frame at this time or a later one, ps.
    Time(f64),
}

impl Start {
    /// Returns whether a frame comes before the start.
    pub(super) fn is_before(self, header: &Header) -> bool {
        match self {
            Start::Earliest | Start::Latest => false,
            Start::Sequence(sequence) => header.sequence < sequence,
            Start::Step(step) => header.step < step,
            Start::Time(time) => header.time < time,
        }
    }
}
