//! A reference structure for the superposition of frames.

use super::eigen::{key_matrix, rotation_matrix};
use super::moments::{Moments, moments};
use super::points::WeightedPoints;
use super::quartic::gap_below_one;
use super::superposition::Superposition;
use crate::error::{Error, Result};
use crate::frame::{Columns, LANES, Octets};
use crate::simd::{Lanes, Level, Octet, Operation};
use crate::symmetric::largest_eigenpair;

/// A difference below this fraction of its terms is summed again, atom by atom. Above it, at least nine digits of the
/// mean square distance are correct.
const CANCELLED: f64 = 1e-6;

/// A centred reference structure.
#[derive(Debug, Clone)]
pub struct Reference {
    /// The points relative to `centre`.
    points: WeightedPoints,
    /// The points times their weights.
    weighted: Vec<[Octet; 3]>,
    centre: [f64; 3],
    second_moment: f64,
    level: Level,
}

impl Reference {
    /// Creates a reference from points in Å, with equal weights if `weights` is `None`. It uses the instructions of
    /// `level`.
    pub(crate) fn new(points: &[[f64; 3]], weights: Option<&[f64]>, level: Level) -> Result<Self> {
        let mut points = WeightedPoints::new(points, weights)?;
        let mut centre = [0.0; 3];
        // For points far from the origin, the second pass removes the rounding error of the centre.
        for _ in 0..2 {
            for (k, centre) in centre.iter_mut().enumerate() {
                *centre += remove_mean(&mut points, k);
            }
        }
        let mut weighted = points.points.clone();
        let mut second_moment = 0.0;
        for ((products, coordinates), weights) in weighted.iter_mut().zip(&points.points).zip(&points.weights) {
            for (product, coordinate) in products.iter_mut().zip(coordinates) {
                for ((product, coordinate), weight) in product.0.iter_mut().zip(coordinate.0).zip(weights.0) {
                    *product = weight * coordinate;
                    second_moment += *product * coordinate;
                }
            }
        }
        if !f64::is_finite(second_moment) {
            return Err(Error::mismatch("the reference is too large: its square distances overflow"));
        }
        Ok(Reference { points, weighted, centre, second_moment, level })
    }

    /// Returns the number of atoms.
    pub(crate) fn n_atoms(&self) -> usize {
        self.points.n_points
    }

    /// Returns the weighted centre, Å.
    pub(crate) fn centre(&self) -> [f64; 3] {
        self.centre
    }

    /// Returns the weighted RMSD to `frame` after optimal superposition, Å, or `None` if the frame is not finite.
    #[inline(always)]
    pub(crate) fn minimum_rmsd<L: Lanes>(&self, frame: Octets<'_>) -> Option<f64> {
        let moments = moments::<L>(&self.points, &self.weighted, frame);
        if !moments.uncentred.is_finite() {
            return None;
        }
        Some(self.by_polynomial(&moments).unwrap_or_else(|| self.by_eigenvector(frame, &moments).rmsd))
    }

    /// Returns the optimal superposition of `frame`, or `None` if the frame is not finite. Its RMSD has the same bits
    /// as [`Self::minimum_rmsd`].
    #[inline(always)]
    pub(crate) fn fit<L: Lanes>(&self, frame: Octets<'_>) -> Option<Superposition> {
        let moments = moments::<L>(&self.points, &self.weighted, frame);
        if !moments.uncentred.is_finite() {
            return None;
        }
        let found = self.by_eigenvector(frame, &moments);
        Some(Superposition { rmsd: self.by_polynomial(&moments).unwrap_or(found.rmsd), ..found })
    }

    /// Returns the minimum RMSD, or `None` if the characteristic polynomial cannot determine it accurately.
    #[inline(always)]
    fn by_polynomial(&self, moments: &Moments) -> Option<f64> {
        let mean_moment = self.mean_moment(moments);
        let scale = 1.0 / mean_moment;
        let gap = gap_below_one(&moments.inner.map(|row| row.map(|value| value * scale)))?;
        let is_precise = !self.is_cancelled(moments, gap);
        is_precise.then(|| (2.0 * mean_moment * gap / self.points.total_weight).sqrt())
    }

    /// Returns the optimal superposition of `columns`. Returns an error if they are not finite, or have a different
    /// number of atoms.
    pub(crate) fn superpose(&self, columns: Columns<'_>) -> Result<Superposition> {
        let (expected, got) = (self.n_atoms(), [columns.x.len(), columns.y.len(), columns.z.len()]);
        if got != [expected; 3] {
            return Err(Error::mismatch(format!("the reference has {expected} atoms, the columns have {got:?}")));
        }
        let padded = [columns.x, columns.y, columns.z].map(padded);
        let frame = [&padded[0][..], &padded[1], &padded[2]];
        self.level
            .run(Fit { reference: self, frame })
            .ok_or_else(|| Error::mismatch("the coordinates to be superposed are not finite"))
    }

    /// Returns half the sum of both second moments, which is the largest eigenvalue if the structures are equal.
    #[inline(always)]
    fn mean_moment(&self, moments: &Moments) -> f64 {
        0.5 * (moments.second_moment + self.second_moment)
    }

    /// Returns whether `gap`, relative to the mean moment, is only the rounding error of much larger terms.
    #[inline(always)]
    fn is_cancelled(&self, moments: &Moments, gap: f64) -> bool {
        2.0 * self.mean_moment(moments) * gap < CANCELLED * (moments.uncentred + self.second_moment)
    }

    #[cold]
    #[inline(never)]
    fn by_eigenvector(&self, frame: Octets<'_>, moments: &Moments) -> Superposition {
        let mean_moment = self.mean_moment(moments);
        let scale = 1.0 / mean_moment;
        // The scale is infinite if all points of both structures coincide. Every rotation is then equally good.
        let scale = if scale.is_finite() { scale } else { 0.0 };
        let (value, vector) = largest_eigenpair(key_matrix(&moments.inner.map(|row| row.map(|value| value * scale))));
        let rotation = rotation_matrix(vector);
        let gap = (1.0 - value).max(0.0);
        let square = if self.is_cancelled(moments, gap) || gap == 0.0 {
            self.level.run(Residual { points: &self.points, frame, rotation, centre: moments.centre })
        } else {
            2.0 * mean_moment * gap
        };
        Superposition {
            rotation,
            mobile_centre: moments.centre,
            reference_centre: self.centre,
            rmsd: (square / self.points.total_weight).sqrt(),
        }
    }
}

/// Moves the weighted mean of coordinate `k` to zero. Returns the previous mean.
fn remove_mean(points: &mut WeightedPoints, k: usize) -> f64 {
    let terms = points.points.iter().zip(&points.weights).flat_map(|(p, w)| p[k].0.into_iter().zip(w.0));
    let mean = terms.map(|(value, weight)| value * (weight / points.total_weight)).sum::<f64>();
    for (i, octet) in points.points.iter_mut().enumerate() {
        let n_left = points.n_points - i * octet[k].0.len();
        octet[k].0.iter_mut().take(n_left).for_each(|value| *value -= mean);
    }
    mean
}

/// Returns the column in complete octets, padded with zeros.
fn padded(column: &[f32]) -> Vec<[f32; LANES]> {
    let octet = |part: &[f32]| std::array::from_fn(|i| part.get(i).copied().unwrap_or(0.0));
    column.chunks(LANES).map(octet).collect()
}

struct Fit<'a> {
    reference: &'a Reference,
    frame: Octets<'a>,
}

impl Operation for Fit<'_> {
    type Output = Option<Superposition>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Option<Superposition> {
        self.reference.fit::<L>(self.frame)
    }
}

/// The weighted sum of the square distances that remain after a rotation about the centres.
struct Residual<'a> {
    points: &'a WeightedPoints,
    frame: Octets<'a>,
    rotation: [[f64; 3]; 3],
    centre: [f64; 3],
}

impl Operation for Residual<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Lanes>(self) -> f64 {
        self.points.square_distance_turned::<L>(self.frame, &self.rotation, self.centre)
    }
}
