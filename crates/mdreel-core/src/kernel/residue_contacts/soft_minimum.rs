//! Soft minimum of the distances between the atoms of two units.

use super::pieces::Points;
use crate::error::{Error, Result};
use crate::periodic::Periodic;

/// Distance up to which the soft minimum is the minimum itself, Å: inverse distances would overflow.
const SMALLEST: f64 = 1e-100;

/// `beta / ln Σ exp(beta / d)` over the distances d of all pairs of atoms, which is a smooth function of the positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SoftMinimum {
    /// Å.
    beta: f64,
}

impl SoftMinimum {
    /// Returns an error if `beta`, Å, is no length above 0.
    pub(super) fn new(beta: f64) -> Result<Self> {
        if !(beta.is_finite() && beta > 0.0) {
            return Err(Error::mismatch(format!("beta of the soft minimum is {beta} Å: expected a length above 0")));
        }
        Ok(SoftMinimum { beta })
    }

    /// The soft minimum of the distances between the points of two units, Å, of which `least` is the smallest.
    ///
    /// With the smallest distance m, it is `m / (1 + m / beta * ln Σ exp(beta / d - beta / m))`, in which nothing
    /// overflows. Each distance is that of the nearest images.
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
        // The smallest distance counts as 1, but for its rounding.
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
