//! Periodic images: the shortest of the vectors between two atoms and their images.

mod lattice;

use crate::error::{Error, Result};
use crate::frame::FrameHeader;
use crate::unit_cell::UnitCell;
use lattice::{Lattice, square};

/// The placeholder cell in files of structures without a periodic cell, as lengths in Å and angles in degrees.
const PLACEHOLDER: [f32; 6] = [1.0, 1.0, 1.0, 90.0, 90.0, 90.0];

/// A periodic cell, prepared for many vectors.
#[derive(Debug, Clone, Copy)]
pub struct Periodic {
    /// Row vectors in Å, with a along x and b in the xy plane.
    vectors: [[f64; 3]; 3],
    /// The square of half the shortest lattice vector, Å². A vector shorter than half the shortest lattice vector has
    /// no shorter image.
    shortest: f64,
    /// The reduced lattice, or `None` if all angles are right angles. The rows are reduced already in this case.
    lattice: Option<Lattice>,
    volume: f64,
}

impl Periodic {
    /// Prepares the images of a cell. Returns `None` if there is no cell. Files also mark a missing cell by three
    /// lengths of zero, or by a placeholder of 1 x 1 x 1 Å. Returns an error if the lengths and angles do not define a
    /// cell with a volume.
    pub fn new(cell: Option<&UnitCell>) -> Result<Option<Self>> {
        let Some(cell) = cell else { return Ok(None) };
        // The vectors are computed from lengths and angles, as users specify the cell and as MDAnalysis does. The
        // vectors of a file differ from these by float32 rounding, and the images of an atom would differ by the same
        // amount.
        let cell = UnitCell::Dimensions(cell.dimensions());
        if cell.dimensions()[..3] == [0.0; 3] || cell.dimensions() == PLACEHOLDER {
            return Ok(None);
        }
        if let Some(problem) = cell.problem() {
            return Err(Error::mismatch(problem));
        }
        let vectors = cell.vectors().map(|row| row.map(f64::from));
        let [[ax, ay, az], [bx, by, bz], [cx, cy, cz]] = vectors;
        debug_assert_eq!([ay, az, bz], [0.0; 3], "a lies along x, b in the xy plane");
        let lattice = ([bx, cx, cy] != [0.0; 3]).then(|| Lattice::new(&vectors));
        let least = [ax, by, cz].into_iter().fold(f64::INFINITY, f64::min);
        let shortest = lattice.as_ref().map_or(least * least, Lattice::least_square) / 4.0;
        Ok(Some(Periodic { vectors, shortest, lattice, volume: cell.volume() }))
    }

    /// Prepares the images in the cell of a frame, like [`Periodic::new`]. Errors name the frame.
    pub(crate) fn of_frame(header: &FrameHeader) -> Result<Option<Self>> {
        Self::new(header.unit_cell.as_ref()).map_err(|error| {
            Error::mismatch(format!(
                "{error}. Correct the cell in the trajectory, or leave it out where the system is not periodic"
            ))
            .at_frame(header.index)
        })
    }

    /// Returns the lengths of the cell, Å, if all its angles are right angles.
    pub(crate) fn lengths(&self) -> Option<[f64; 3]> {
        let [[a, ..], [_, b, _], [.., c]] = self.vectors;
        self.lattice.is_none().then_some([a, b, c])
    }

    /// Returns the row vectors in Å, with a along x and b in the xy plane.
    pub(crate) fn vectors(&self) -> [[f64; 3]; 3] {
        self.vectors
    }

    /// Returns the volume, Å³.
    pub(crate) fn volume(&self) -> f64 {
        self.volume
    }

    /// Returns half the shortest lattice vector, Å. It is the radius of the largest sphere within which images are
    /// unique: at most one image of an atom is closer to another atom than this.
    pub(crate) fn unique_radius(&self) -> f64 {
        self.shortest.sqrt()
    }

    /// Returns the lattice vector that moves a point into the cell, to fractional coordinates from 0 up to 1.
    #[inline(always)]
    pub(crate) fn shift_into(&self, point: [f64; 3]) -> [f64; 3] {
        self.vector(self.fractions(point).map(|fraction| -fraction.floor()))
    }

    /// Returns the fractional coordinates of a point.
    #[inline(always)]
    pub(crate) fn fractions(&self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let [[ax, ..], [bx, by, _], [cx, cy, cz]] = self.vectors;
        let c = z / cz;
        let b = (y - c * cy) / by;
        [(x - b * bx - c * cx) / ax, b, c]
    }

    /// Returns the point with the given fractional coordinates.
    #[inline(always)]
    pub(crate) fn vector(&self, [a, b, c]: [f64; 3]) -> [f64; 3] {
        let [[ax, ..], [bx, by, _], [cx, cy, cz]] = self.vectors;
        [a * ax + b * bx + c * cx, b * by + c * cy, c * cz]
    }

    /// Returns the middle of the cell, Å.
    pub(crate) fn middle(&self) -> [f64; 3] {
        self.vector([0.5; 3])
    }

    /// Returns the shortest image of a vector.
    #[inline(always)]
    pub(crate) fn shortest(&self, d: [f64; 3]) -> [f64; 3] {
        if square(d) < self.shortest { d } else { self.search(d) }
    }

    /// Returns the lattice vector that makes a difference of two points the shortest of its images. The difference is
    /// given in fractional coordinates, and the result in multiples of the cell vectors.
    #[inline(always)]
    pub(crate) fn nearest(&self, fractions: [f64; 3]) -> [f64; 3] {
        let rounded = fractions.map(|fraction| -fraction.round_ties_even());
        let Some(lattice) = &self.lattice else { return rounded };
        let d = self.vector(std::array::from_fn(|k| fractions[k] + rounded[k]));
        if square(d) < self.shortest {
            return rounded;
        }
        let short = lattice.shorten(d);
        let images = self.fractions(std::array::from_fn(|axis| short[axis] - d[axis]));
        std::array::from_fn(|k| rounded[k] + images[k].round_ties_even())
    }

    #[cold]
    #[inline(never)]
    fn search(&self, mut d: [f64; 3]) -> [f64; 3] {
        for (k, row) in self.vectors.iter().enumerate().rev() {
            let n = (d[k] / row[k]).round_ties_even();
            for (d, row) in d.iter_mut().zip(row) {
                *d -= n * row;
            }
        }
        match &self.lattice {
            Some(lattice) if square(d) >= self.shortest => lattice.shorten(d),
            _ => d,
        }
    }
}

/// Returns the image of a point within a rectangular brick, or on its faces.
///
/// The edges of the brick are the diagonal elements of the cell's row vectors. With a along x and b in the xy plane,
/// images of this brick fill space like images of the cell do. Cell vectors have float32 precision. If the coordinates
/// do too, the function does not round.
#[inline(always)]
pub(crate) fn into_brick(vectors: &[[f64; 3]; 3], mut point: [f64; 3]) -> [f64; 3] {
    for axis in [2, 1, 0] {
        let row = vectors[axis];
        let n = (point[axis] / row[axis]).floor();
        point = std::array::from_fn(|k| point[k] - n * row[k]);
    }
    point
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the square of the shortest of all images. A lattice vector longer than twice the vector cannot shorten
    /// it. The heights of the cell therefore limit the multiples of each cell vector.
    fn shortest_of_all(cell: &Periodic, d: [f64; 3]) -> f64 {
        let [a, b, c] = cell.vectors();
        let longest = 2.0 * square(d).sqrt() + 1e-6;
        let mut least = square(d);
        for k in range(0.0, longest / c[2]) {
            for j in range(k * c[1] / b[1], longest / b[1]) {
                for i in range((k * c[0] + j * b[0]) / a[0], longest / a[0]) {
                    let image = std::array::from_fn(|axis| d[axis] + i * a[axis] + j * b[axis] + k * c[axis]);
                    least = least.min(square(image));
                }
            }
        }
        least
    }

    /// Returns the integers that are no farther from `-middle` than `reach`.
    fn range(middle: f64, reach: f64) -> impl Iterator<Item = f64> {
        ((-middle - reach).ceil() as i64..=(-middle + reach).floor() as i64).map(|n| n as f64)
    }

    fn cells() -> impl Strategy<Value = UnitCell> {
        prop_oneof![
            prop::array::uniform3(5f32..50.0).prop_map(|[a, b, c]| UnitCell::Dimensions([a, b, c, 90.0, 90.0, 90.0])),
            (20f32..50.0).prop_map(|a| UnitCell::Dimensions([a, a, a, 60.0, 60.0, 90.0])),
            (20f32..50.0).prop_map(|a| UnitCell::Dimensions([a, a, a, 70.53, 109.47, 70.53])),
            prop::array::uniform3(70f32..110.0).prop_map(|[x, y, z]| UnitCell::Dimensions([30.0, 33.0, 37.0, x, y, z])),
            skewed_cells(),
        ]
    }

    /// Generates cells with angles of 30 to 150 degrees and ratios of edges up to 20. The angles may be multiples of 10
    /// degrees.
    fn skewed_cells() -> impl Strategy<Value = UnitCell> {
        let angle = || prop_oneof![30f32..150.0, (3u8..=15).prop_map(|tens| 10.0 * f32::from(tens))];
        let edges = prop::array::uniform3(prop_oneof![10f32..200.0, Just(10f32), Just(200f32)]);
        (edges, [angle(), angle(), angle()])
            .prop_map(|([a, b, c], [x, y, z])| UnitCell::Dimensions([a, b, c, x, y, z]))
            .prop_filter("the angles span no volume", |cell| cell.problem().is_none())
    }

    fn periodic(cell: &UnitCell) -> Periodic {
        Periodic::new(Some(cell)).unwrap().unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn shortest_image_is_the_shortest_of_all_in_every_valid_cell(
            cell in cells(), d in prop::array::uniform3(-300f64..300.0),
        ) {
            let cell = periodic(&cell);
            let found = cell.shortest(d);
            let expected = shortest_of_all(&cell, found);
            prop_assert!(square(found) <= expected * (1.0 + 1e-12), "{found:?}: {} and {expected}", square(found));
            let images = cell.fractions(std::array::from_fn(|axis| found[axis] - d[axis]));
            prop_assert!(images.iter().all(|n| (n - n.round()).abs() < 1e-6), "{images:?} are no image");
        }

        #[test]
        fn unique_radius_is_half_the_shortest_lattice_vector(cell in cells()) {
            let cell = periodic(&cell);
            let [a, b, c] = cell.vectors();
            let longest = [a, b, c].map(square).into_iter().fold(f64::INFINITY, f64::min).sqrt() * (1.0 + 1e-9);
            let mut least = longest;
            for k in range(0.0, longest / c[2]) {
                for j in range(k * c[1] / b[1], longest / b[1]) {
                    for i in range((k * c[0] + j * b[0]) / a[0], longest / a[0]) {
                        if [i, j, k] != [0.0; 3] {
                            least = least.min(square(cell.vector([i, j, k])).sqrt());
                        }
                    }
                }
            }
            prop_assert!((2.0 * cell.unique_radius() - least).abs() < 1e-9 * least, "{} and {least}", cell.unique_radius());
        }

        #[test]
        fn nearest_numbers_of_cells_are_those_of_the_shortest_image(
            cell in cells(), d in prop::array::uniform3(-300f64..300.0),
        ) {
            let cell = periodic(&cell);
            let images = cell.nearest(cell.fractions(d));
            let (moved, shortest) = (cell.vector(images), square(cell.shortest(d)));
            let found = square(std::array::from_fn(|axis| d[axis] + moved[axis]));
            prop_assert!((found - shortest).abs() < 1e-9 * (1.0 + shortest), "{found} and {shortest}");
        }
    }

    #[test]
    fn shortest_image_is_found_in_the_cells_of_the_issue() {
        for (dimensions, fractions) in [
            ([30.0, 40.0, 50.0, 90.0, 140.0, 90.0], [0.5, 0.0, 0.5]),
            ([100.0, 100.0, 10.0, 90.0, 110.0, 90.0], [0.4, 0.2, 0.5]),
        ] {
            let cell = periodic(&UnitCell::Dimensions(dimensions));
            for step in 0..1000 {
                let shift = [f64::from(step % 10), f64::from(step / 10 % 10), f64::from(step / 100)].map(|n| n / 10.0);
                let d = cell.vector(std::array::from_fn(|k| fractions[k] + shift[k]));
                let found = square(cell.shortest(d));
                assert!(found <= shortest_of_all(&cell, d) * (1.0 + 1e-12), "{dimensions:?}, {d:?}: {found}");
            }
        }
    }

    #[test]
    fn vectors_that_are_not_finite_or_very_long_end_the_search() {
        for dimensions in [[30.0, 40.0, 50.0, 90.0, 140.0, 90.0], [1e6, 3.0, 3e-3, 75.0, 80.0, 60.0]] {
            let cell = periodic(&UnitCell::Dimensions(dimensions));
            for d in [[f64::NAN, 0.0, 0.0], [f64::INFINITY, 0.0, 0.0], [1e30, -1e30, 1e30], [1e300; 3]] {
                cell.shortest(d);
                cell.nearest(d);
            }
            assert!(square(cell.shortest([1e6, 2e6, -3e6])) <= 3e12);
        }
    }

    proptest! {
        #[test]
        fn point_is_shifted_into_the_cell(cell in cells(), point in prop::array::uniform3(-300f64..300.0)) {
            let cell = periodic(&cell);
            let shift = cell.shift_into(point);
            let inside = cell.fractions(std::array::from_fn(|axis| point[axis] + shift[axis]));
            let images = cell.fractions(shift);
            for (fraction, image) in inside.into_iter().zip(images) {
                prop_assert!((-1e-9..1.0 + 1e-9).contains(&fraction), "{fraction}");
                prop_assert!((image - image.round()).abs() < 1e-9, "{image}");
            }
            let again = cell.vector(cell.fractions(point));
            prop_assert!((0..3).all(|axis| (again[axis] - point[axis]).abs() < 1e-9));
        }
    }

    #[test]
    fn cell_without_lengths_is_none_and_one_without_volume_an_error() {
        assert!(Periodic::new(None).unwrap().is_none());
        for angles in [[0.0; 3], [90.0; 3], [f32::NAN; 3]] {
            let [x, y, z] = angles;
            assert!(Periodic::new(Some(&UnitCell::Dimensions([0.0, 0.0, 0.0, x, y, z]))).unwrap().is_none());
        }
        assert!(Periodic::new(Some(&UnitCell::Dimensions(PLACEHOLDER))).unwrap().is_none());
        for dimensions in [
            [10.0, 0.0, 10.0, 90.0, 90.0, 90.0],
            [f32::NAN, 1.0, 1.0, 90.0, 90.0, 90.0],
            [1.0, 1.0, f32::INFINITY, 90.0, 90.0, 90.0],
            [10.0, -10.0, 10.0, 90.0, 90.0, 90.0],
            [10.0, 10.0, 10.0, 90.0, 180.0, 90.0],
            [10.0, 10.0, 10.0, 90.0, f32::NAN, 90.0],
            [10.0, 10.0, 10.0, 60.0, 60.0, 120.0],
            [10.0, 10.0, 10.0, 120.0, 120.0, 120.0],
            [10.0, 10.0, 10.0, 30.0, 30.0, 90.0],
        ] {
            let message = Periodic::new(Some(&UnitCell::Dimensions(dimensions))).unwrap_err().to_string();
            assert!(message.contains("expected") && message.contains(&format!("{dimensions:?}")), "{message}");
        }
    }
}
