//! Leaders of clusters, and the search for the nearest one.

use std::sync::{Arc, PoisonError, RwLock};

use crate::error::{Error, Result};
use crate::frame::{LANES, Octets};
use crate::simd::{Lanes, Level, Operation};
use crate::superpose::Reference;

/// Number of pivots. The pivots are the first leaders; their distances from all later leaders are stored.
const N_PIVOTS: usize = 8;
/// Relative margin for the rounding of a difference of two distances. Rounding errors are several orders of magnitude smaller.
const MARGIN: f64 = 1e-6;

/// The distance measure for two frames, and the largest distance of a frame from its leader.
#[derive(Debug)]
pub(super) struct Metric {
    n_atoms: usize,
    weights: Option<Vec<f64>>,
    cutoff: f64,
    level: Level,
}

impl Metric {
    pub(super) fn new(n_atoms: usize, weights: Option<&[f64]>, cutoff: f64, level: Level) -> Result<Self> {
        if n_atoms == 0 {
            return Err(Error::mismatch("there are no atoms"));
        }
        // This call checks the weights. No other reference can fail, because its coordinates are finite float32.
        Reference::new(&vec![[0.0; 3]; n_atoms], weights, level)?;
        Ok(Metric { n_atoms, weights: weights.map(<[f64]>::to_vec), cutoff, level })
    }

    pub(super) fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Returns the number of octets of one column of a frame.
    fn n_octets(&self) -> usize {
        self.n_atoms.div_ceil(LANES)
    }

    /// Returns the number of octets of a frame.
    pub(super) fn frame_len(&self) -> usize {
        3 * self.n_octets()
    }

    /// Returns the columns of a frame.
    pub(super) fn columns<'a>(&self, frame: &'a [[f32; LANES]]) -> Octets<'a> {
        let n = self.n_octets();
        [&frame[..n], &frame[n..2 * n], &frame[2 * n..3 * n]]
    }

    fn rmsd(&self, leader: &Leader, frame: Octets<'_>) -> f64 {
        // Sums of squares of float32 cannot overflow, so the distance always exists.
        self.level.run(Minimum(&leader.reference, frame)).unwrap_or(f64::INFINITY)
    }
}

/// The first frame of a cluster.
#[derive(Debug)]
pub(super) struct Leader {
    /// The number of the frame in the run.
    pub(super) place: u64,
    /// The positions in whole octets, in Å.
    pub(super) frame: Vec<[f32; LANES]>,
    reference: Reference,
    /// Distances from the pivots; empty if the leader is a pivot.
    from_pivots: Vec<f64>,
}

impl Leader {
    /// Creates the leader that follows the `earlier` ones.
    pub(super) fn new(metric: &Metric, earlier: &[Arc<Leader>], place: u64, frame: Vec<[f32; LANES]>) -> Self {
        let [x, y, z] = metric.columns(&frame).map(|column| column.as_flattened());
        let points: Vec<[f64; 3]> =
            x.iter().zip(y).zip(z).take(metric.n_atoms).map(|((x, y), z)| [*x, *y, *z].map(f64::from)).collect();
        let reference = Reference::new(&points, metric.weights.as_deref(), metric.level);
        let reference = reference.expect("finite float32 and weights that were checked make a reference");
        let pivots = if earlier.len() < N_PIVOTS { &[][..] } else { &earlier[..N_PIVOTS] };
        let columns = metric.columns(&frame);
        let from_pivots = pivots.iter().map(|pivot| metric.rmsd(pivot, columns)).collect();
        Leader { place, frame, reference, from_pivots }
    }

    /// Returns a lower bound (Å) for the distance of a frame with these distances from the pivots. The bound holds because the
    /// minimum RMSD is a metric.
    fn bound(&self, from_pivots: &[f64]) -> f64 {
        let pairs = self.from_pivots.iter().zip(from_pivots);
        pairs.fold(0.0, |bound, (one, other)| f64::max(bound, (one - other).abs() - MARGIN * (one + other)))
    }
}

/// The nearest leader and its distance in Å.
pub(super) type Nearest = Option<(u32, f64)>;

/// Working memory of searches.
#[derive(Debug, Default)]
pub(super) struct Search {
    from_pivots: Vec<f64>,
}

impl Search {
    /// Returns the nearest leader within the cutoff, or the first of several equally near leaders. `best` is the nearest of the
    /// leaders before `from`.
    pub(super) fn nearest(
        &mut self,
        metric: &Metric,
        leaders: &[Arc<Leader>],
        from: usize,
        mut best: Nearest,
        frame: Octets<'_>,
    ) -> Nearest {
        self.from_pivots.clear();
        if leaders.len() > from + 2 * N_PIVOTS {
            self.from_pivots.extend(leaders[..N_PIVOTS].iter().map(|pivot| metric.rmsd(pivot, frame)));
        }
        for (number, leader) in leaders.iter().enumerate().skip(from) {
            let limit = best.map_or(metric.cutoff, |(_, distance)| distance);
            let distance = match self.from_pivots.get(number) {
                Some(distance) => *distance,
                None if leader.bound(&self.from_pivots) > limit => continue,
                None => metric.rmsd(leader, frame),
            };
            if distance < limit || (best.is_none() && distance <= limit) {
                best = Some((number as u32, distance));
            }
        }
        best
    }
}

/// The leaders that are known to the threads of a process.
#[derive(Debug, Default)]
pub(super) struct KnownLeaders(RwLock<Arc<Vec<Arc<Leader>>>>);

impl KnownLeaders {
    pub(super) fn all(&self) -> Arc<Vec<Arc<Leader>>> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set(&self, leaders: &[Arc<Leader>]) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(leaders.to_vec());
    }
}

struct Minimum<'a>(&'a Reference, Octets<'a>);

impl Operation for Minimum<'_> {
    type Output = Option<f64>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Option<f64> {
        self.0.minimum_rmsd::<L>(self.1)
    }
}
