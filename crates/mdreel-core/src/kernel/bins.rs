//! Bins of equal width with exact edges, and the search for the bin of a distance.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::frame::LANES;
use crate::neighbours::Run;

/// A constant that rounds: adding it to a float64 between 0 and 2^51 leaves the nearest integer in the lowest bits.
const MAGIC: f64 = 4_503_599_627_370_496.0;
/// Distance from an edge, in bin widths, below which a value is compared with the edge itself.
const NEAR: f64 = 1e-6;
/// The largest number of squared distances that are stored before they are counted.
const MOST: usize = 1024;
/// Number of histograms among which consecutive distances are distributed, so that the same counter is not written twice in a
/// row.
const PARTS: usize = 4;

/// Intervals of equal width. As in `numpy.histogram`, each interval includes its lower edge and excludes its upper edge, except
/// the last, which includes both.
#[derive(Debug)]
pub struct Bins {
    /// Lower edges of the underflow bin, of the bins and of the overflow bin, followed by infinity.
    edges: Vec<f64>,
    low: f64,
    per_width: f64,
}

impl Bins {
    /// Creates bins with these edges, in Å. Returns an error if the bins do not have the same width.
    pub fn new(edges: &[f64]) -> Result<Self> {
        let n = edges.len().saturating_sub(1);
        let (low, high) = (edges.first().copied().unwrap_or(0.0), edges.last().copied().unwrap_or(0.0));
        let width = (high - low) / n as f64;
        let fits = |(k, edge): (usize, &f64)| (edge - (low + k as f64 * width)).abs() <= NEAR / 4.0 * width;
        if n == 0 || n > 1 << 30 || !width.is_normal() || width < 0.0 || !edges.iter().enumerate().all(fits) {
            let message = format!("{n} bins from {low} to {high} Å: expected ascending edges of bins of one width");
            return Err(Error::mismatch(message));
        }
        let mut all = vec![f64::NEG_INFINITY];
        all.extend(edges);
        all[n + 1] = high.next_up();
        all.push(f64::INFINITY);
        Ok(Bins { edges: all, low, per_width: 1.0 / width })
    }

    /// Returns the number of bins, without the underflow and overflow bins.
    pub(crate) fn n_bins(&self) -> usize {
        self.edges.len() - 3
    }

    /// Returns the highest edge, in Å.
    pub(crate) fn high(&self) -> f64 {
        self.edges[self.n_bins() + 1].next_down()
    }

    /// Returns the bin that contains a distance; `None` if it is outside all bins.
    pub(crate) fn bin_of(&self, distance: f64) -> Option<usize> {
        let place = self.corrected(distance, self.guess(distance).1 as usize);
        (1..=self.n_bins()).contains(&place).then(|| place - 1)
    }

    /// Returns the places of eight distances: 0 below all bins, k + 1 for bin k, and `n_bins() + 1` above all bins.
    #[inline(always)]
    pub(crate) fn places(&self, distances: &[f64; LANES]) -> [u32; LANES] {
        let mut places = [0; LANES];
        let mut is_near = false;
        for k in 0..LANES {
            let (apart, place) = self.guess(distances[k]);
            places[k] = place;
            is_near |= apart < NEAR;
        }
        if is_near {
            correct(self, distances, &mut places);
        }
        places
    }

    /// Returns how far a distance is from the nearest edge, in bin widths, and its place. The place is correct unless the edge
    /// is near.
    #[inline(always)]
    fn guess(&self, distance: f64) -> (f64, u32) {
        let most = self.n_bins() as f64 + 0.5;
        let widths = (distance - self.low) * self.per_width;
        let widths = if widths > most { most } else { widths };
        let widths = if widths < -0.5 { -0.5 } else { widths };
        let nearest = (widths + 1.0 + MAGIC) - MAGIC - 1.0;
        ((widths - nearest).abs(), (widths + 0.5 + MAGIC).to_bits() as u32)
    }

    fn corrected(&self, distance: f64, mut place: usize) -> usize {
        while distance < self.edges[place] {
            place -= 1;
        }
        // Distances that do not count are infinite, and so is the last edge.
        while place <= self.n_bins() && distance >= self.edges[place + 1] {
            place += 1;
        }
        place
    }
}

/// Number of distances in each bin.
#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    bins: Arc<Bins>,
    counts: Vec<u64>,
    squares: Vec<f64>,
    n_squares: usize,
}

impl Histogram {
    /// Creates an empty histogram.
    pub(crate) fn new(bins: Arc<Bins>) -> Self {
        let n_counts = PARTS * (bins.n_bins() + 2);
        Histogram { bins, counts: vec![0; n_counts], squares: vec![0.0; MOST + LANES], n_squares: 0 }
    }

    /// Adds the distances of a run, except distances to points for which `is_left_out` returns true.
    #[inline(always)]
    pub(crate) fn add(&mut self, run: Run<'_>, is_left_out: impl Fn(u32) -> bool) {
        for run in run.turns(MOST / 2) {
            let n = run.places.len();
            if self.n_squares + n > MOST {
                self.count();
            }
            let squares = &mut self.squares[self.n_squares..];
            run.squares(squares);
            for (square, &place) in squares.iter_mut().zip(run.places) {
                *square = if is_left_out(place) { f64::INFINITY } else { *square };
            }
            self.n_squares += n;
        }
    }

    /// Counts the distances that have been stored.
    #[inline(always)]
    fn count(&mut self) {
        let whole = self.n_squares.next_multiple_of(LANES);
        self.squares[self.n_squares..whole].fill(f64::INFINITY);
        self.n_squares = 0;
        let n_places = self.bins.n_bins() + 2;
        for squares in self.squares[..whole].as_chunks::<LANES>().0 {
            let mut distances = [0.0; LANES];
            for (distance, square) in distances.iter_mut().zip(squares) {
                *distance = square.sqrt();
            }
            for (k, place) in self.bins.places(&distances).into_iter().enumerate() {
                self.counts[k % PARTS * n_places + place as usize] += 1;
            }
        }
    }

    /// Adds the counts, multiplied by `times`, to `counts`, which has one entry per bin. Then sets the histogram to zero.
    #[inline(always)]
    pub(crate) fn take(&mut self, times: u64, counts: &mut [u64]) {
        self.count();
        for part in self.counts.chunks_exact(self.bins.n_bins() + 2) {
            counts.iter_mut().zip(&part[1..]).for_each(|(count, n)| *count += times * n);
        }
        self.counts.fill(0);
    }
}

#[cold]
fn correct(bins: &Bins, distances: &[f64; LANES], places: &mut [u32; LANES]) {
    for (place, &distance) in places.iter_mut().zip(distances) {
        *place = bins.corrected(distance, *place as usize) as u32;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn distance_is_between_its_edges(n in 1usize..300, low in 0f64..5.0, width in 0.01f64..2.0, k in 0usize..300, part in 0f64..1.0) {
            let edges: Vec<f64> = (0..=n).map(|k| low + k as f64 * width).collect();
            let bins = Bins::new(&edges).unwrap();
            let (lower, upper) = (edges[k % n], edges[k % n + 1]);
            prop_assert_eq!(bins.bin_of(lower), Some(k % n));
            prop_assert_eq!(bins.bin_of(upper), Some((k % n + 1).min(n - 1)));
            prop_assert_eq!(bins.bin_of(upper.next_down()), Some(k % n));
            let found = bins.bin_of(lower + part * (upper - lower)).unwrap();
            prop_assert!(found == k % n || lower + part * (upper - lower) >= upper);
            for outside in [edges[n].next_up(), edges[0].next_down(), f64::INFINITY, 1e9 + edges[n]] {
                prop_assert_eq!(bins.bin_of(outside), None);
            }
        }
    }

    #[test]
    fn edges_of_no_bins_are_refused() {
        for edges in
            [&[][..], &[1.0], &[0.0, 0.0], &[1.0, 0.0], &[0.0, 1.0, 3.0], &[0.0, f64::NAN, 2.0], &[0.0, f64::INFINITY]]
        {
            assert!(Bins::new(edges).is_err(), "{edges:?}");
        }
    }
}
