//! Soft minimum of the distances between the atoms of two units.

use super::pieces::Points;
use crate::error::{Error, Result};
use crate::periodic::Periodic;

/// Distance (Å) up to which the soft minimum equals the minimum, because inverse distances would overflow.
const SMALLEST: f64 = 1e-100;

/// The soft minimum `beta / ln Σ exp(beta / d)` of the distances d of all pairs of atoms. It is a smooth function of the
/// positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SoftMinimum {
    /// Parameter of the soft minimum, in Å.
    beta: f64,
}

impl SoftMinimum {
    /// Creates the soft minimum with this `beta` (Å). Returns an error if `beta` is not a positive length.
    pub(super) fn new(beta: f64) -> Result<Self> {
        if !(beta.is_finite() && beta > 0.0) {
            return Err(Error::mismatch(format!("beta of the soft minimum is {beta} Å: expected a length above 0")));
        }
        Ok(SoftMinimum { beta })
    }

    /// Returns the soft minimum of the distances between the points of two units, in Å. `least` is the smallest distance.
    ///
    /// With the smallest distance m, the soft minimum is `m / (1 + m / beta * ln Σ exp(beta / d - beta / m))`, in which no term
    /// overflows. Each distance is the distance of the nearest images.
    pub(super) fn of(self, least: f64, rows: &[Points], columns: &[Points], images: Option<&Periodic>) -> f64 {
        if least <= SMALLEST {
            return least;
        }
        let mut sum = 0.0;
        for one in rows {
            for other in columns {
                one.vectors(other, |d| {
                    let [x, y, z] = images.map_or(d, |images| images.shortest(d));
                    let distance = (x * x + y * y + z * z).sqrt();
                    sum += (self.beta * ((least - distance) / (distance * least))).exp();
                });
            }
        }
        // The term of the smallest distance is 1 except for rounding, so the sum is at least 1.
        least / (1.0 + least / self.beta * f64::max(sum, 1.0).ln())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_that_are_none_are_refused() {
        for beta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let message = SoftMinimum::new(beta).unwrap_err().to_string();
            assert!(message.contains("expected a length above 0"), "{message}");
        }
    }

    #[test]
    fn atoms_in_one_place_are_no_distance_apart() {
        let point = [Points::default().with(&[[1.0; 3]])];
        let soft = SoftMinimum::new(200.0).unwrap();
        assert_eq!(soft.of(0.0, &point, &point, None), 0.0);
        let other = [Points::default().with(&[[1.0, 1.0, 4.0], [1.0, 1.0, 1e9]])];
        assert_eq!(soft.of(3.0, &point, &other, None), 3.0);
    }
}
