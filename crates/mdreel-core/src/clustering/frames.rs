//! The frames to be compared: exact distances, and centred positions in single precision.

use crate::error::{Error, Result};
use crate::frame::{LANES, Octets};
use crate::simd::{Lanes, Level, Operation};
use crate::superpose::{Reference, Superposition};

/// Radii of gyration, Å, whose products and squares are representable in float32.
const USABLE: std::ops::Range<f64> = 1e-12..1e12;

/// Frames given as rows of positions, with x, y and z of one atom after another, Å. Numbers after those of the last
/// atom are ignored.
pub(super) struct Frames<'a> {
    rows: &'a [&'a [f32]],
    n_atoms: usize,
    weights: Option<&'a [f64]>,
    /// Weights, scaled to a mean of 1.
    relative: Option<Vec<f64>>,
    level: Level,
}

/// The columns of a frame, with eight atoms per element, padded with zeros.
#[derive(Default)]
pub(super) struct Padded([Vec<[f32; LANES]>; 3]);

impl<'a> Frames<'a> {
    /// Creates frames of `n_atoms` atoms, with equal weights if `weights` is `None`. Returns an error if there are no
    /// atoms, or if weights or coordinates are not finite.
    pub(super) fn new(rows: &'a [&'a [f32]], n_atoms: usize, weights: Option<&'a [f64]>) -> Result<Self> {
        if u32::try_from(rows.len()).is_err() {
            return Err(Error::unsupported(format!("{} frames are more than can be clustered", rows.len())));
        }
        if let Some(row) = rows.iter().find(|row| row.len() < 3 * n_atoms) {
            return Err(Error::mismatch(format!("{} numbers are no positions of {n_atoms} atoms", row.len())));
        }
        for (i, row) in rows.iter().enumerate() {
            if let Some(place) = row[..3 * n_atoms].iter().position(|value| !value.is_finite()) {
                let message = format!("frame {i} of those compared: atom {} is not finite", place / 3);
                return Err(Error::mismatch(message));
            }
        }
        let relative = weights.map(|weights| {
            // The weights are first divided by the largest one, because the sum of huge weights would overflow.
            let largest = weights.iter().copied().fold(0.0, f64::max);
            let mean = weights.iter().map(|weight| weight / largest).sum::<f64>() / n_atoms as f64;
            weights.iter().map(|weight| weight / largest / mean).collect()
        });
        let frames = Frames { rows, n_atoms, weights, relative, level: Level::detect() };
        if frames.len() > 0 {
            frames.reference(0)?; // This call checks the weights.
        }
        Ok(frames)
    }

    /// Returns the number of frames.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of atoms.
    pub(super) fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Returns the instruction set that the operations use.
    pub(super) fn level(&self) -> Level {
        self.level
    }

    /// Returns the weight of an atom. The mean of all weights is 1.
    pub(super) fn weight(&self, atom: usize) -> f64 {
        self.relative.as_ref().map_or(1.0, |relative| relative[atom])
    }

    /// Returns the positions of a frame, Å.
    pub(super) fn points(&self, frame: usize) -> &'a [[f32; 3]] {
        self.rows[frame][..3 * self.n_atoms].as_chunks::<3>().0
    }

    /// Returns a frame as a reference for superposition.
    pub(super) fn reference(&self, frame: usize) -> Result<Reference> {
        let points: Vec<[f64; 3]> = self.points(frame).iter().map(|point| point.map(f64::from)).collect();
        let named = |error| Error::mismatch(format!("frame {frame} of those compared: {error}"));
        Reference::new(&points, self.weights, self.level).map_err(named)
    }

    /// Returns the RMSD of a frame to a reference, Å, with the bits of [`crate::pairs::distance_matrix`]. `columns` is
    /// a buffer for the frame.
    pub(super) fn rmsd(&self, reference: &Reference, frame: usize, columns: &mut Padded) -> Result<f64> {
        columns.fill(self.points(frame));
        let value = self.level.run(Minimum(reference, columns.octets())).unwrap_or(f64::NAN);
        if value.is_finite() { Ok(value) } else { Err(Self::too_large(frame)) }
    }

    /// Adds the RMSD of a frame to each reference to `found`. See [`Self::rmsd`].
    pub(super) fn rmsds(
        &self,
        references: &[Reference],
        frame: usize,
        columns: &mut Padded,
        found: &mut Vec<f64>,
    ) -> Result<()> {
        columns.fill(self.points(frame));
        for reference in references {
            let value = self.level.run(Minimum(reference, columns.octets())).unwrap_or(f64::NAN);
            if !value.is_finite() {
                return Err(Self::too_large(frame));
            }
            found.push(value);
        }
        Ok(())
    }

    /// Returns the motion that superposes a frame on a reference. `columns` is a buffer for the frame.
    pub(super) fn fit(&self, reference: &Reference, frame: usize, columns: &mut Padded) -> Result<Superposition> {
        columns.fill(self.points(frame));
        self.level.run(Fit(reference, columns.octets())).ok_or_else(|| Self::too_large(frame))
    }

    fn too_large(frame: usize) -> Error {
        Error::mismatch(format!("frame {frame} of those compared is not finite, or too large for a float64"))
    }

    /// Fills `centred` with the positions of a frame relative to their weighted centre, times the square roots of their
    /// weights. Returns the sum of their squares, Å², or NaN if single precision is not sufficient for the margin of
    /// `screen`.
    pub(super) fn centred(&self, frame: usize, centred: &mut Vec<[f32; 3]>) -> f64 {
        let (points, n_atoms) = (self.points(frame), self.n_atoms as f64);
        let (mut centre, mut farthest) = ([0.0; 3], 0f32);
        for (i, point) in points.iter().enumerate() {
            for k in 0..3 {
                centre[k] += self.weight(i) * f64::from(point[k]);
                farthest = farthest.max(point[k].abs());
            }
        }
        let centre = centre.map(|sum| sum / n_atoms);
        let mut moment = 0.0;
        centred.clear();
        centred.extend(points.iter().enumerate().map(|(i, point)| {
            let root = self.weight(i).sqrt();
            let place: [f64; 3] = std::array::from_fn(|k| root * (f64::from(point[k]) - centre[k]));
            moment += place[0] * place[0] + place[1] * place[1] + place[2] * place[2];
            place.map(|value| value as f32)
        }));
        let radius = (moment / n_atoms).sqrt();
        // The rounding error of the sums then moves the centre by less than the float32 rounding error.
        let is_precise = f64::from(farthest) * n_atoms * f64::EPSILON <= radius * (f64::from(f32::EPSILON) / 2.0);
        if is_precise && USABLE.contains(&radius) { moment } else { f64::NAN }
    }
}

impl Padded {
    fn fill(&mut self, points: &[[f32; 3]]) {
        for (k, column) in self.0.iter_mut().enumerate() {
            column.clear();
            column.extend(
                points.chunks(LANES).map(|part| std::array::from_fn(|i| part.get(i).map_or(0.0, |point| point[k]))),
            );
        }
    }

    fn octets(&self) -> Octets<'_> {
        let [x, y, z] = &self.0;
        [x, y, z]
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

struct Fit<'a>(&'a Reference, Octets<'a>);

impl Operation for Fit<'_> {
    type Output = Option<Superposition>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Option<Superposition> {
        self.0.fit::<L>(self.1)
    }
}
