//! Where a consumer begins.

use serde::{Deserialize, Serialize};

use super::layout::Header;

/// Where a consumer begins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Start {
    /// With the first frame that is there.
    Earliest,
    /// With the next that comes.
    Latest,
    /// With the first frame of this number or a later one.
    Sequence(u64),
    /// With the first frame of this step or a later one.
    Step(i64),
    /// With the first frame of this time or a later one, ps.
    Time(f64),
}

impl Start {
    /// Whether a frame is before it.
    pub(super) fn is_before(self, header: &Header) -> bool {
        match self {
            Start::Earliest | Start::Latest => false,
            Start::Sequence(sequence) => header.sequence < sequence,
            Start::Step(step) => header.step < step,
            Start::Time(time) => header.time < time,
        }
    }
}
