//! Periodic images: the shortest of the vectors between two atoms and their images.

use crate::unit_cell::UnitCell;

/// A periodic cell, ready for many vectors.
#[derive(Debug, Clone, Copy)]
pub struct Periodic {
    /// Row vectors, Å: a along x, b in the xy plane.
    vectors: [[f64; 3]; 3],
    /// The square of half the least height, Å²: no image is shorter than a vector that is shorter than this.
    shortest: f64,
    is_rectangular: bool,
}

impl Periodic {
    /// The images of a cell; `None` where there is none, or it has no volume.
    pub fn new(cell: Option<&UnitCell>) -> Option<Self> {
        // By way of lengths and angles, as users know the cell and MDAnalysis takes it: the vectors of a file differ from these
        // by what a float32 is rounded, and an atom's images by as much.
        let vectors = UnitCell::Dimensions(cell?.dimensions()).vectors().map(|row| row.map(f64::from));
        let [[ax, ay, az], [bx, by, bz], [cx, cy, cz]] = vectors;
        let heights = [ax, by, cz];
        if ![ax, by, cz, bx, cx, cy].iter().all(|value| value.is_finite())
            || heights.iter().any(|height| *height <= 0.0)
        {
            return None;
        }
        debug_assert_eq!([ay, az, bz], [0.0; 3], "a lies along x, b in the xy plane");
        let least = heights.into_iter().fold(f64::INFINITY, f64::min) / 2.0;
        Some(Periodic { vectors, shortest: least * least, is_rectangular: [bx, cx, cy] == [0.0; 3] })
    }

    /// The lengths of a cell with right angles, Å.
    pub fn lengths(&self) -> Option<[f64; 3]> {
        let [[a, ..], [_, b, _], [.., c]] = self.vectors;
        self.is_rectangular.then_some([a, b, c])
    }

    /// The row vectors, Å: a along x, b in the xy plane.
    pub fn vectors(&self) -> [[f64; 3]; 3] {
        self.vectors
    }

    /// The volume, Å³.
    pub fn volume(&self) -> f64 {
        let [[a, ..], [_, b, _], [.., c]] = self.vectors;
        a * b * c
    }

    /// Half the least height, Å: of two atoms, one image at most is closer than this.
    pub fn half_height(&self) -> f64 {
        self.shortest.sqrt()
    }

    /// The vector of the cell that brings a point into it: to fractions from 0 up to 1.
    #[inline(always)]
    pub fn shift_into(&self, point: [f64; 3]) -> [f64; 3] {
        self.vector(self.fractions(point).map(|fraction| -fraction.floor()))
    }

    /// A point in fractions of the cell.
    #[inline(always)]
    pub fn fractions(&self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let [[ax, ..], [bx, by, _], [cx, cy, cz]] = self.vectors;
        let c = z / cz;
        let b = (y - c * cy) / by;
        [(x - b * bx - c * cx) / ax, b, c]
    }

    /// The point that has these fractions.
    #[inline(always)]
    pub fn vector(&self, [a, b, c]: [f64; 3]) -> [f64; 3] {
        let [[ax, ..], [bx, by, _], [cx, cy, cz]] = self.vectors;
        [a * ax + b * bx + c * cx, b * by + c * cy, c * cz]
    }

    /// The middle of the cell, Å.
    pub fn middle(&self) -> [f64; 3] {
        self.vector([0.5; 3])
    }

    /// The shortest image of a vector.
    #[inline(always)]
    pub fn shortest(&self, d: [f64; 3]) -> [f64; 3] {
        if square(d) < self.shortest { d } else { self.search(d) }
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
        if self.is_rectangular || square(d) < self.shortest {
            return d;
        }
        let [a, b, c] = self.vectors;
        let mut best = d;
        for i in -1..=1 {
            for j in -1..=1 {
                for k in -1..=1 {
                    let [i, j, k] = [f64::from(i), f64::from(j), f64::from(k)];
                    let image = std::array::from_fn(|axis| d[axis] + i * a[axis] + j * b[axis] + k * c[axis]);
                    if square(image) < square(best) {
                        best = image;
                    }
                }
            }
        }
        best
    }
}

/// The image of a point within the brick of the diagonal of a cell, given by its row vectors, or on the faces of that. With a along x
/// and b in the xy plane, images of this brick fill space as those of the cell do. Vectors of a cell have the bits of a float32: where
/// coordinates have, nothing is rounded.
#[inline(always)]
pub fn into_brick(vectors: &[[f64; 3]; 3], mut point: [f64; 3]) -> [f64; 3] {
    for axis in [2, 1, 0] {
        let row = vectors[axis];
        let n = (point[axis] / row[axis]).floor();
        point = std::array::from_fn(|k| point[k] - n * row[k]);
    }
    point
}

fn square([x, y, z]: [f64; 3]) -> f64 {
    x * x + y * y + z * z
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The shortest of very many images.
    fn shortest_of_many(cell: &UnitCell, d: [f64; 3]) -> f64 {
        let [a, b, c] = cell.vectors().map(|row| row.map(f64::from));
        let steps = -4..=4;
        let images = steps
            .clone()
            .flat_map(|i| steps.clone().flat_map(move |j| (-4..=4).map(move |k| [i, j, k].map(f64::from))));
        images
            .map(|[i, j, k]| square(std::array::from_fn(|axis| d[axis] + i * a[axis] + j * b[axis] + k * c[axis])))
            .fold(f64::INFINITY, f64::min)
    }

    fn cells() -> impl Strategy<Value = UnitCell> {
        prop_oneof![
            prop::array::uniform3(5f32..50.0).prop_map(|[a, b, c]| UnitCell::Dimensions([a, b, c, 90.0, 90.0, 90.0])),
            (20f32..50.0).prop_map(|a| UnitCell::Dimensions([a, a, a, 60.0, 60.0, 90.0])),
            (20f32..50.0).prop_map(|a| UnitCell::Dimensions([a, a, a, 70.53, 109.47, 70.53])),
            prop::array::uniform3(70f32..110.0).prop_map(|[x, y, z]| UnitCell::Dimensions([30.0, 33.0, 37.0, x, y, z])),
        ]
    }

    proptest! {
        #[test]
        fn shortest_image_is_the_shortest_of_all(cell in cells(), d in prop::array::uniform3(-60f64..60.0)) {
            let images = Periodic::new(Some(&cell)).unwrap();
            let found = images.shortest(d);
            let expected = shortest_of_many(&cell, found);
            prop_assert!(square(found) <= expected + 1e-9, "{:?}: {} and {}", found, square(found), expected);
        }
    }

    proptest! {
        #[test]
        fn point_is_shifted_into_the_cell(cell in cells(), point in prop::array::uniform3(-300f64..300.0)) {
            let cell = Periodic::new(Some(&cell)).unwrap();
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
    fn cell_without_volume_has_no_images() {
        for dimensions in [[0.0; 6], [10.0, 0.0, 10.0, 90.0, 90.0, 90.0], [f32::NAN, 1.0, 1.0, 90.0, 90.0, 90.0]] {
            assert!(Periodic::new(Some(&UnitCell::Dimensions(dimensions))).is_none());
        }
        assert!(Periodic::new(None).is_none());
    }
}
