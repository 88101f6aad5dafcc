//! A grid of cells for sorting points and for finding the cells near a point.

use std::ops::RangeInclusive;

use crate::periodic::into_brick;

/// Approximate number of points per cell.
const POINTS: f64 = 1.0;
/// Number of columns into which the distance is divided. More columns fit the sphere better, but are shorter.
const COLUMNS: f64 = 3.0;
/// Maximum number of cells per point.
const MOST_CELLS: f64 = 4.0;

/// A grid of cells in a rectangular brick. The brick contains all points, or its images fill space like those of a
/// periodic cell ([`into_brick`]).
#[derive(Debug, Clone)]
pub(super) struct Grid {
    origin: [f64; 3],
    /// Row vectors of the periodic cell.
    vectors: Option<[[f64; 3]; 3]>,
    /// Number of cells along each axis. `width` is the width of a cell.
    n: [i64; 3],
    width: [f64; 3],
    per_width: [f64; 3],
}

impl Grid {
    /// Creates a grid for points and a distance.
    pub(crate) fn new(points: [&[f64]; 3], vectors: Option<[[f64; 3]; 3]>, reach: f64) -> Self {
        let (origin, lengths) = match vectors {
            Some([[a, ..], [_, b, _], [.., c]]) => ([0.0; 3], [a, b, c]),
            None => {
                let least = points.map(|column| column.iter().copied().fold(f64::INFINITY, f64::min));
                let most = points.map(|column| column.iter().copied().fold(f64::NEG_INFINITY, f64::max));
                let lengths = std::array::from_fn(|axis| (most[axis] - least[axis]).max(reach).max(1.0));
                (if points[0].is_empty() { [0.0; 3] } else { least }, lengths)
            }
        };
        let n_points = points[0].len().max(1) as f64;
        let volume = lengths.iter().product::<f64>() * POINTS / n_points;
        let across = (reach / COLUMNS).max(volume.cbrt());
        let along = (volume / (across * across)).min(across);
        let mut n = [0; 3];
        let mut most = MOST_CELLS * n_points;
        for (axis, width) in [(2, across), (1, across), (0, along)] {
            n[axis] = (lengths[axis] / width).floor().clamp(1.0, most.max(1.0)) as i64;
            most /= n[axis] as f64;
        }
        let width = std::array::from_fn(|axis| lengths[axis] / n[axis] as f64);
        let per_width = std::array::from_fn(|axis| n[axis] as f64 / lengths[axis]);
        Grid { origin, vectors, n, width, per_width }
    }

    /// Returns the number of cells along an axis.
    pub(crate) fn n(&self, axis: usize) -> i64 {
        self.n[axis]
    }

    /// Returns the number of cells.
    pub(crate) fn n_cells(&self) -> usize {
        self.n.iter().product::<i64>() as usize
    }

    /// Returns the image of a point within the brick, or on its faces.
    pub(crate) fn wrapped(&self, point: [f64; 3]) -> [f64; 3] {
        self.vectors.as_ref().map_or(point, |vectors| into_brick(vectors, point))
    }

    /// Returns the cell of a point within the brick.
    pub(crate) fn cell_of(&self, point: [f64; 3]) -> usize {
        let [x, y, z] = std::array::from_fn(|axis| self.level(axis, point[axis]).clamp(0, self.n[axis] - 1));
        ((z * self.n[1] + y) * self.n[0] + x) as usize
    }

    #[inline(always)]
    fn level(&self, axis: usize, at: f64) -> i64 {
        ((at - self.origin[axis]) * self.per_width[axis]).floor() as i64
    }

    /// Returns the levels within `reach` of a coordinate, including levels of images.
    #[inline(always)]
    pub(crate) fn levels(&self, axis: usize, at: f64, reach: f64) -> RangeInclusive<i64> {
        let (first, last) = (self.level(axis, at - reach), self.level(axis, at + reach));
        if self.vectors.is_some() { first..=last } else { first.max(0)..=last.min(self.n[axis] - 1) }
    }

    /// Returns the image to which a level belongs, and the level within the brick.
    #[inline(always)]
    pub(crate) fn split(&self, axis: usize, level: i64) -> (i64, i64) {
        let n = self.n[axis];
        if (0..n).contains(&level) { (0, level) } else { (level.div_euclid(n), level.rem_euclid(n)) }
    }

    /// Returns the distance of a coordinate from a level of the brick.
    #[inline(always)]
    pub(crate) fn gap(&self, axis: usize, level: i64, at: f64) -> f64 {
        let lower = self.origin[axis] + level as f64 * self.width[axis];
        (lower - at).max(at - lower - self.width[axis]).max(0.0)
    }

    /// Returns a point relative to an image of the brick.
    #[inline(always)]
    pub(crate) fn seen_from(&self, point: [f64; 3], axis: usize, image: i64) -> [f64; 3] {
        match &self.vectors {
            Some(vectors) if image != 0 => shifted(point, vectors[axis], image as f64),
            _ => point,
        }
    }
}

#[inline(always)]
fn shifted(point: [f64; 3], row: [f64; 3], n: f64) -> [f64; 3] {
    std::array::from_fn(|axis| point[axis] - n * row[axis])
}
