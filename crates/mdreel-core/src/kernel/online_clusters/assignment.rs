//! Frames that wait for their assignment, and clusters of assigned frames.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::leaders::{KnownLeaders, Leader, Metric, Nearest, Search};
use crate::frame::LANES;
use crate::reduce::{Own, Value};

/// The cluster of each frame, the frame number of the leader of each cluster, and the positions of the leaders: x, y and z of
/// each atom, in Å.
pub type FoundClusters = (Vec<u32>, Vec<u64>, Vec<f32>);

/// Clusters of the first frames of a run, and later frames that are not assigned yet.
///
/// Only the value of a whole run, for which [`Value::begin`] was called, assigns frames when values are merged. Other values
/// keep their frames until they are merged or taken.
#[derive(Debug)]
pub struct OnlineAssignment {
    metric: Arc<Metric>,
    known: Arc<KnownLeaders>,
    is_whole: bool,
    leaders: Vec<Arc<Leader>>,
    labels: Vec<u32>,
    waiting: Vec<WaitingFrames>,
}

/// Frames in whole octets, and the leaders that are known to be nearest to them.
#[derive(Debug)]
pub(super) struct WaitingFrames {
    pub(super) frames: Vec<[f32; LANES]>,
    pub(super) hints: Hints,
}

/// The nearest of some leaders for each of several frames.
#[derive(Debug, Default)]
pub(super) struct Hints {
    n_leaders: usize,
    /// The last of these leaders. A list with the same leader at this position also has the same leaders before it.
    last: Option<Arc<Leader>>,
    nearest: Vec<Nearest>,
}

impl Hints {
    pub(super) fn new(leaders: &[Arc<Leader>], nearest: Vec<Nearest>) -> Self {
        Hints { n_leaders: leaders.len(), last: leaders.last().map(Arc::clone), nearest }
    }

    /// Returns the number of leaders that frame `i` was compared with, and the nearest of them.
    fn of(&self, i: usize, leaders: &[Arc<Leader>]) -> (usize, Nearest) {
        let own = self.n_leaders.checked_sub(1).and_then(|last| leaders.get(last));
        let are_ours = own.zip(self.last.as_ref()).is_some_and(|(one, other)| Arc::ptr_eq(one, other));
        if are_ours { (self.n_leaders, self.nearest[i]) } else { (0, None) }
    }
}

/// The complete value for another process, without hints.
#[derive(Serialize, Deserialize)]
struct Stored {
    leaders: Vec<(u64, Vec<[f32; LANES]>)>,
    labels: Vec<u32>,
    waiting: Vec<[f32; LANES]>,
}

impl OnlineAssignment {
    /// Creates the value of no frames.
    pub(super) fn new(metric: Arc<Metric>, known: Arc<KnownLeaders>) -> Self {
        let (leaders, labels, waiting) = Default::default();
        OnlineAssignment { metric, known, is_whole: false, leaders, labels, waiting }
    }

    /// Adds frames that follow the previous ones.
    pub(super) fn add(&mut self, frames: WaitingFrames) {
        self.waiting.push(frames);
    }

    /// Assigns the waiting frames, in order.
    fn assign(&mut self) {
        let n_before = self.leaders.len();
        let mut search = Search::default();
        for WaitingFrames { frames, hints } in std::mem::take(&mut self.waiting) {
            for (i, frame) in frames.chunks_exact(self.metric.frame_len()).enumerate() {
                let (n_known, best) = hints.of(i, &self.leaders);
                let columns = self.metric.columns(frame);
                let nearest = search.nearest(&self.metric, &self.leaders, n_known, best, columns);
                let label = nearest.map_or(self.leaders.len() as u32, |(number, _)| number);
                if nearest.is_none() {
                    let place = self.labels.len() as u64;
                    let leader = Leader::new(&self.metric, &self.leaders, place, frame.to_vec());
                    self.leaders.push(Arc::new(leader));
                }
                self.labels.push(label);
            }
        }
        if self.leaders.len() > n_before {
            self.known.set(&self.leaders);
        }
    }

    /// Takes the clusters of all frames, after assigning those that are still waiting.
    pub fn take(&mut self) -> FoundClusters {
        self.assign();
        let leaders = std::mem::take(&mut self.leaders);
        let mut positions = Vec::with_capacity(3 * self.metric.n_atoms() * leaders.len());
        for leader in &leaders {
            let [x, y, z] = self.metric.columns(&leader.frame).map(|column| column.as_flattened());
            let points = x.iter().zip(y).zip(z).take(self.metric.n_atoms());
            positions.extend(points.flat_map(|((x, y), z)| [*x, *y, *z]));
        }
        let places = leaders.iter().map(|leader| leader.place).collect();
        (std::mem::take(&mut self.labels), places, positions)
    }

    /// Adds the value from another process.
    fn restore(&mut self, Stored { leaders, labels, waiting }: Stored) {
        debug_assert!(
            labels.is_empty() || self.labels.is_empty() && self.waiting.is_empty(),
            "only the first is whole"
        );
        for (place, frame) in leaders {
            let leader = Leader::new(&self.metric, &self.leaders, place, frame);
            self.leaders.push(Arc::new(leader));
        }
        self.labels.extend(labels);
        if !waiting.is_empty() {
            self.waiting.push(WaitingFrames { frames: waiting, hints: Hints::default() });
        }
    }
}

impl Value for OnlineAssignment {
    fn expect(&mut self, _n_frames: u64) {}

    fn begin(&mut self) {
        self.is_whole = true;
    }

    fn merge(&mut self, mut next: Own) {
        match &mut next {
            Own::Nothing => {}
            Own::Bytes(bytes) => {
                self.restore(postcard::from_bytes(bytes).expect("online clusters are what their computation wrote"));
            }
            Own::Here(_) => {
                let next = next.here::<OnlineAssignment>().expect("online clusters merge with their kind");
                if !next.labels.is_empty() {
                    debug_assert!(self.labels.is_empty() && self.waiting.is_empty(), "only the first is whole");
                    self.leaders = std::mem::take(&mut next.leaders);
                    self.labels = std::mem::take(&mut next.labels);
                }
                self.waiting.append(&mut next.waiting);
            }
        }
        if self.is_whole {
            self.assign();
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let leaders = self.leaders.iter().map(|leader| (leader.place, leader.frame.clone())).collect();
        let waiting = self.waiting.iter().flat_map(|waiting| &waiting.frames).copied().collect();
        let stored = Stored { leaders, labels: self.labels.clone(), waiting };
        postcard::to_allocvec(&stored).expect("numbers can be written")
    }
}
