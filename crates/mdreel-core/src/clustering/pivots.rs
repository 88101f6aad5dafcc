//! Lower bounds of the distances between frames from their distances to a few pivots.
//!
//! The minimum RMSD d is a metric on shapes: rigid motions do not change the norm |A - B| that it minimises. For the
//! optimal motions R and S, d(A, C) <= |A - R S C| <= |A - R B| + |R B - R S C| = d(A, B) + d(B, C). Hence d(A, B) >=
//! |d(A, P) - d(B, P)| for every pivot P. The first pivot is the shape whose atoms all coincide. The distance from it
//! is the radius of gyration. The other pivots are frames. Each of them is the frame farthest from the previous pivots.

use std::ops::Range;

use super::frames::{Frames, Padded};
use super::lanes::{Distances, Sixteen, WIDTH};
use crate::error::Result;
use crate::pool::{Crew, Monitor, Shared, Worker, run_blocks};
use crate::superpose::Reference;

/// Number of frames between two calls of `tick`.
const BLOCK: usize = 256;
/// Minimum number of frames for which pivots that are frames save time.
const WORTHWHILE: usize = 512;
/// Number of pivots that are frames.
const MOST: usize = 7;
/// Fraction of the largest distance that may be lost in rounding: of the distances to float32, and of their difference.
const ROUNDING: f64 = 1e-6;

/// Distances of all frames from the pivots.
pub(super) struct Pivots {
    /// Distances of all frames from each pivot, Å. NaN if no bound is known.
    distances: Vec<Vec<f32>>,
    /// Two frames are not neighbours if their distances from a pivot differ by more than this.
    reach: f32,
}

impl Pivots {
    /// Creates as many pivots as save time.
    pub(super) fn new(frames: &Frames<'_>, cutoff: f64, n_workers: usize, monitor: &mut dyn Monitor) -> Result<Self> {
        let n_frames = if frames.len() < WORTHWHILE { 0 } else { MOST };
        Pivots::with(frames, cutoff, n_frames, n_workers, monitor)
    }

    /// Creates the pivot for the radius of gyration and up to `n_pivots` pivots that are frames. There are fewer if
    /// fewer frames differ.
    pub(super) fn with(
        frames: &Frames<'_>,
        cutoff: f64,
        n_pivots: usize,
        n_workers: usize,
        monitor: &mut dyn Monitor,
    ) -> Result<Self> {
        let mut centred = Vec::new();
        let radius = |frame| (frames.centred(frame, &mut centred) / frames.n_atoms() as f64).sqrt() as f32;
        let mut distances: Vec<Vec<f32>> = vec![(0..frames.len()).map(radius).collect()];
        let mut nearest: Vec<f32> = distances[0].iter().map(|radius| radius + f32::INFINITY).collect();
        for _ in 0..n_pivots {
            // A NaN distance is never the farthest. If several frames are equally far, the first one becomes the pivot.
            let farthest = nearest.iter().enumerate().filter(|(_, distance)| **distance > 0.0);
            let Some((pivot, _)) = farthest.reduce(|best, one| if one.1 > best.1 { one } else { best }) else { break };
            let mut found = distances_from(frames, pivot, n_workers, monitor)?;
            for ((distance, radius), nearest) in found.iter_mut().zip(&distances[0]).zip(&mut nearest) {
                *distance += 0.0 * radius; // NaN where the radius is NaN
                *nearest = if *distance < *nearest { *distance } else { *nearest };
            }
            distances.push(found);
        }
        let largest = distances.iter().flatten().copied().fold(0.0, f32::max);
        let reach = (cutoff + ROUNDING * (f64::from(largest) + cutoff)) as f32;
        Ok(Pivots { distances, reach: reach.next_up() })
    }

    /// Returns the largest difference of the distances of two neighbours from a pivot, Å.
    pub(super) fn reach(&self) -> f32 {
        self.reach
    }

    /// Returns the distances of a frame from all pivots, Å.
    pub(super) fn of(&self, frame: usize) -> Vec<f32> {
        self.distances.iter().map(|distances| distances[frame]).collect()
    }

    /// Returns the distances of up to sixteen frames from all pivots.
    pub(super) fn of_group(&self, ids: &[u32]) -> Distances {
        let lanes = |distances: &Vec<f32>| {
            Sixteen(std::array::from_fn(|lane| ids.get(lane).map_or(f32::NAN, |id| distances[*id as usize])))
        };
        let each: Vec<Sixteen> = self.distances.iter().map(lanes).collect();
        let ranges = each.iter().map(|lanes| range(&lanes.0[..ids.len().min(WIDTH)])).collect();
        Distances { each, ranges }
    }
}

/// Returns the smallest and the largest value, or an infinite range if one value is NaN.
fn range(values: &[f32]) -> [f32; 2] {
    if values.iter().any(|value| value.is_nan()) {
        return [f32::NEG_INFINITY, f32::INFINITY];
    }
    let ends = |[low, high]: [f32; 2], value: &f32| [low.min(*value), high.max(*value)];
    values.iter().fold([f32::INFINITY, f32::NEG_INFINITY], ends)
}

/// Computes the distances of all frames from one of them.
fn distances_from(frames: &Frames<'_>, pivot: usize, n_workers: usize, monitor: &mut dyn Monitor) -> Result<Vec<f32>> {
    let reference = frames.reference(pivot)?;
    let mut distances = Vec::with_capacity(frames.len());
    let make_worker = |_: usize| Ok(FromPivot { frames, reference: &reference, columns: Padded::default() });
    let n_blocks = frames.len().div_ceil(BLOCK);
    run_blocks(0..n_blocks, Crew::on_demand(n_workers), make_worker, monitor, |block: Vec<f32>| {
        distances.extend(block);
        Ok(())
    })?;
    Ok(distances)
}

struct FromPivot<'a> {
    frames: &'a Frames<'a>,
    reference: &'a Reference,
    columns: Padded,
}

impl Worker for FromPivot<'_> {
    type Output = Vec<f32>;

    fn work(&mut self, block: usize, _shared: &Shared, tick: &mut dyn FnMut()) -> Result<Vec<f32>> {
        tick();
        let numbers: Range<usize> = block * BLOCK..self.frames.len().min((block + 1) * BLOCK);
        let distance = |i| self.frames.rmsd(self.reference, i, &mut self.columns).map(|distance| distance as f32);
        numbers.map(distance).collect()
    }
}
