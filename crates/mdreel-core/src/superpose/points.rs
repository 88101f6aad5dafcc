//! Weighted points in the layout of the vector instructions.

use super::superposition::Superposition;
use crate::error::{Error, Result};
use crate::frame::{LANES, Octets};
use crate::simd::{Lanes, Octet};

/// Reference points and their weights, eight per vector, padded with points of weight 0.
#[derive(Debug, Clone)]
pub struct WeightedPoints {
    pub(super) n_points: usize,
    /// x, y and z of eight points per element, Å.
    pub(super) points: Vec<[Octet; 3]>,
    /// Weights, scaled to a mean of 1, and 0 in the padding. The overall size of the weights cancels, and the scaling
    /// prevents overflow.
    pub(super) weights: Vec<Octet>,
    /// Whether all weights are 1.
    pub(super) is_uniform: bool,
    pub(super) total_weight: f64,
}

impl WeightedPoints {
    /// Creates weighted points from positions in Å. `None` gives all points equal weights.
    pub(crate) fn new(points: &[[f64; 3]], weights: Option<&[f64]>) -> Result<Self> {
        if points.is_empty() {
            return Err(Error::mismatch("the reference has no atoms: expected at least one"));
        }
        if let Some(i) = points.iter().position(|point| point.iter().any(|value| !value.is_finite())) {
            let message = format!("the reference is not finite: atom {i} of {} is at {:?}", points.len(), points[i]);
            return Err(Error::mismatch(message));
        }
        let relative = match weights {
            None => vec![1.0; points.len()],
            Some(weights) => relative_weights(weights, points.len())?,
        };
        let mut padded = vec![[Octet::default(); 3]; points.len().div_ceil(LANES)];
        let mut padded_weights = vec![Octet::default(); padded.len()];
        for (i, (point, weight)) in points.iter().zip(&relative).enumerate() {
            for (octet, value) in padded[i / LANES].iter_mut().zip(point) {
                octet.0[i % LANES] = *value;
            }
            padded_weights[i / LANES].0[i % LANES] = *weight;
        }
        Ok(WeightedPoints {
            n_points: points.len(),
            points: padded,
            weights: padded_weights,
            is_uniform: relative.iter().all(|weight| *weight == 1.0),
            total_weight: relative.iter().sum(),
        })
    }

    /// Returns the number of points.
    pub(crate) fn n_points(&self) -> usize {
        self.n_points
    }

    /// Returns the weighted root mean square distance to `frame` without superposition, Å. It is not finite if the
    /// frame is not finite.
    #[inline(always)]
    pub(crate) fn rmsd<L: Lanes>(&self, frame: Octets<'_>) -> f64 {
        (self.square_distance::<L>(frame, |x| x) / self.total_weight).sqrt()
    }

    /// Returns the weighted mean of the square distances of `frame` to its weighted centre, along x, y and z. It is not
    /// finite if the frame is not finite. The method uses only the weights of the points, not their positions.
    #[inline(always)]
    pub(crate) fn spread<L: Lanes>(&self, frame: Octets<'_>) -> [f64; 3] {
        let mut spread = [0.0; 3];
        for k in 0..3 {
            // Positions are relative to the first atom, because sums of squares lose digits far from the origin.
            let origin = L::splat(f64::from(frame[k][0][0]));
            let (mut total, mut square) = (L::splat(0.0), L::splat(0.0));
            for (x, weight) in frame[k].iter().zip(&self.weights) {
                let distance = L::widen(x).sub(origin);
                let weighted = distance.mul(L::load(weight));
                total = total.add(weighted);
                square = weighted.mul_add(distance, square);
            }
            let mean = total.sum() / self.total_weight;
            let difference = mean.mul_add(-mean, square.sum() / self.total_weight);
            // Rounding may give a negative number. Values that are not finite remain so.
            spread[k] = if difference < 0.0 { 0.0 } else { difference };
        }
        spread
    }

    /// Returns the weighted root mean square distance to `frame` after a superposition, Å. The points must be relative
    /// to the centre of the reference of the superposition. The result is not finite if the frame is not finite.
    #[inline(always)]
    pub(crate) fn rmsd_after<L: Lanes>(&self, frame: Octets<'_>, motion: &Superposition) -> f64 {
        let square = self.square_distance_turned::<L>(frame, &motion.rotation, motion.mobile_centre);
        (square / self.total_weight).sqrt()
    }

    /// Returns the weighted sum of the square distances to `frame` after a rotation that moves `centre` to the origin.
    #[inline(always)]
    pub(super) fn square_distance_turned<L: Lanes>(
        &self,
        frame: Octets<'_>,
        rotation: &[[f64; 3]; 3],
        centre: [f64; 3],
    ) -> f64 {
        let (centre, rotation) = (centre.map(L::splat), rotation.map(|row| row.map(L::splat)));
        self.square_distance::<L>(frame, |x| {
            let d: [L; 3] = std::array::from_fn(|k| x[k].sub(centre[k]));
            rotation.map(|[x, y, z]| x.mul_add(d[0], y.mul_add(d[1], z.mul(d[2]))))
        })
    }

    /// Returns the weighted sum of the square distances to `frame` after applying `moved` to its positions.
    #[inline(always)]
    fn square_distance<L: Lanes>(&self, frame: Octets<'_>, moved: impl Fn([L; 3]) -> [L; 3]) -> f64 {
        let mut total = [L::splat(0.0); 3];
        let [x, y, z] = frame;
        for ((((x, y), z), point), weight) in x.iter().zip(y).zip(z).zip(&self.points).zip(&self.weights) {
            let position = moved([L::widen(x), L::widen(y), L::widen(z)]);
            let weight = L::load(weight);
            for k in 0..3 {
                let distance = position[k].sub(L::load(&point[k]));
                total[k] = weight.mul(distance).mul_add(distance, total[k]);
            }
        }
        total[0].add(total[1]).add(total[2]).sum()
    }
}

fn relative_weights(weights: &[f64], n_points: usize) -> Result<Vec<f64>> {
    if weights.len() != n_points {
        return Err(Error::mismatch(format!("expected {n_points} weights, one for each atom, got {}", weights.len())));
    }
    // The comparison also rejects NaN.
    if let Some(i) = weights.iter().position(|weight| !(*weight >= 0.0 && weight.is_finite())) {
        return Err(Error::mismatch(format!("weight {i} is {}: expected a finite number, 0 or more", weights[i])));
    }
    // The weights are first divided by the largest one, because the sum of huge weights would overflow.
    let largest = weights.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 {
        return Err(Error::mismatch(format!("all {n_points} weights are 0: expected at least one above 0")));
    }
    let scaled: Vec<f64> = weights.iter().map(|weight| weight / largest).collect();
    let mean = scaled.iter().sum::<f64>() / n_points as f64;
    Ok(scaled.iter().map(|weight| weight / mean).collect())
}
