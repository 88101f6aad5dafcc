//! Shortest periodic images, and the distance up to which images are unique.

use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::periodic::Periodic;

/// Setting for the use of the shortest periodic images of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortest {
    /// Uses positions as stored.
    Never,
    /// Uses the shortest images if a frame has a periodic cell.
    WherePossible,
    /// Uses the shortest images in every frame. A frame without a periodic cell is an error.
    Always,
}

impl Shortest {
    /// Returns the images to use in the i-th frame of a batch; `None` to use positions as stored.
    pub(crate) fn of(self, batch: &FrameBatch, i: usize) -> Result<Option<Periodic>> {
        if self == Shortest::Never {
            return Ok(None);
        }
        let header = batch.header(i);
        let images = Periodic::of_frame(header)?;
        if images.is_none() && self == Shortest::Always {
            return Err(Error::mismatch("no periodic cell: there are no shortest images").at_frame(header.index));
        }
        Ok(images)
    }
}

impl From<Option<bool>> for Shortest {
    /// Converts an option: `Some` states whether to use the shortest images, and `None` lets each frame decide.
    fn from(wanted: Option<bool>) -> Self {
        match wanted {
            None => Shortest::WherePossible,
            Some(true) => Shortest::Always,
            Some(false) => Shortest::Never,
        }
    }
}

/// Relative tolerance of the radius within which images are unique, because the lengths of cells are rounded to float32.
const ROUNDING: f64 = 1e-6;

/// Returns the radius (Å) within which images are unique if `distance` (Å) exceeds it, and `None` otherwise.
///
/// If the distance exceeds the radius, it can include images other than the shortest.
pub(super) fn exceeded_radius(images: Option<&Periodic>, distance: f64) -> Option<f64> {
    let radius = images?.unique_radius();
    (distance > radius * (1.0 + ROUNDING)).then_some(radius)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fixture::batch;
    use crate::unit_cell::UnitCell;

    #[test]
    fn frame_without_a_cell_is_an_error_where_it_needs_one() {
        let cell = UnitCell::Dimensions([10.0, 10.0, 10.0, 90.0, 90.0, 90.0]);
        let of = |wanted: Option<bool>, cell| Shortest::from(wanted).of(&batch(7, &[vec![[0.0; 3]]], cell), 0);
        for (wanted, has_images) in [(None, true), (Some(true), true), (Some(false), false)] {
            assert_eq!(of(wanted, Some(cell)).unwrap().is_some(), has_images, "{wanted:?}");
        }
        assert!(of(None, None).unwrap().is_none() && of(Some(false), None).unwrap().is_none());
        let zeros = UnitCell::Dimensions([0.0; 6]);
        for cell in [None, Some(zeros)] {
            let message = of(Some(true), cell).unwrap_err().to_string();
            assert!(message.contains("frame 7: no periodic cell"), "{message}");
            assert!(of(None, cell).unwrap().is_none());
        }
    }

    #[test]
    fn cell_without_volume_is_an_error_unless_images_never_count() {
        let flat = UnitCell::Dimensions([10.0, 10.0, 0.0, 90.0, 90.0, 90.0]);
        let of = |wanted: Option<bool>| Shortest::from(wanted).of(&batch(7, &[vec![[0.0; 3]]], Some(flat)), 0);
        for wanted in [None, Some(true)] {
            let message = of(wanted).unwrap_err().to_string();
            assert!(
                message.contains("frame 7: expected lengths above 0 Å") && message.contains("10.0, 0.0"),
                "{message}"
            );
        }
        assert!(of(Some(false)).unwrap().is_none());
    }

    #[test]
    fn radius_is_exceeded_by_what_is_longer_than_half_the_shortest_lattice_vector() {
        // The shortest lattice vector is a + c.
        let cell = UnitCell::Dimensions([30.0, 40.0, 50.0, 90.0, 140.0, 90.0]);
        let images = Periodic::new(Some(&cell)).unwrap();
        let radius = images.unwrap().unique_radius();
        let (sine, cosine) = 140f64.to_radians().sin_cos();
        assert!((radius - (30.0 + 50.0 * cosine).hypot(50.0 * sine).min(30.0) / 2.0).abs() < 1e-5, "{radius}");
        assert_eq!(exceeded_radius(images.as_ref(), radius), None);
        assert_eq!(exceeded_radius(images.as_ref(), radius + 1e-4), Some(radius));
        assert_eq!(exceeded_radius(None, 1e9), None);
    }
}
