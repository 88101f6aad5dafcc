//! Search for the points within a distance of a point, also across periodic boundaries.

mod grid;

use std::ops::Range;

use grid::Grid;

use crate::frame::LANES;
use crate::periodic::Periodic;

/// Points sorted into cells, so that the neighbours of a point can be found quickly. The buffers are reused from frame
/// to frame.
///
/// Cells form columns along x. The points within the distance of a point lie in stretches of columns. Each stretch
/// consists of consecutive points that share one image, so the computation of distances does not need to search for the
/// shortest image. If the distance is not below half the shortest lattice vector of the periodic cell, several images
/// of a point may lie within it. The search then visits all pairs with their shortest images.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    /// x, y and z of the points in the order of the cells, padded to complete octets.
    points: [Vec<f64>; 3],
    /// The number of each of these points.
    places: Vec<u32>,
    /// The first point of each cell, followed by the end of all points.
    starts: Vec<u32>,
    /// The grid of cells, or `None` if the search visits all pairs.
    grid: Option<Grid>,
    images: Option<Periodic>,
    reach: f64,
    /// The cell of each point. `vectors` contains the vectors from one point to all points.
    cells: Vec<u32>,
    vectors: [Vec<f64>; 3],
}

/// Consecutive points that may be near a point. The search may read the memory after the last point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    columns: [&'a [f64]; 3],
    /// The numbers of these points.
    pub places: &'a [u32],
    point: [f64; 3],
}

impl Run<'_> {
    /// Writes the squares of the distances, Å², to `squares`. The values that fill the last octet are undefined.
    #[inline(always)]
    pub(crate) fn squares(&self, squares: &mut [f64]) {
        let whole = self.places.len().next_multiple_of(LANES);
        let [x, y, z] = self.columns.map(|column| column[..whole].as_chunks::<LANES>().0);
        let squares = squares[..whole].as_chunks_mut::<LANES>().0;
        for (((x, y), z), squares) in x.iter().zip(y).zip(z).zip(squares) {
            // With separate arrays, the compiler knows that nothing else writes to the eight numbers.
            let (x, y, z, mut octet) = (*x, *y, *z, [0.0; LANES]);
            for (k, square) in octet.iter_mut().enumerate() {
                let d = [x[k] - self.point[0], y[k] - self.point[1], z[k] - self.point[2]];
                *square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            }
            *squares = octet;
        }
    }

    /// Writes x, y and z of the vectors from the point to these points, Å, to `vectors`. The values that fill the last
    /// octet are undefined.
    #[inline(always)]
    pub(crate) fn vectors(&self, vectors: [&mut [f64]; 3]) {
        let whole = self.places.len().next_multiple_of(LANES);
        for ((column, vectors), at) in self.columns.into_iter().zip(vectors).zip(self.point) {
            let octets = vectors[..whole].as_chunks_mut::<LANES>().0;
            for (octet, column) in octets.iter_mut().zip(column[..whole].as_chunks::<LANES>().0) {
                for (value, of_column) in octet.iter_mut().zip(column) {
                    *value = of_column - at;
                }
            }
        }
    }

    /// Returns the vector from the point to the `k`-th of these points, Å.
    #[inline(always)]
    pub(crate) fn vector(&self, k: usize) -> [f64; 3] {
        std::array::from_fn(|axis| self.columns[axis][k] - self.point[axis])
    }

    /// Divides the points into runs of at most `n` points.
    #[inline(always)]
    pub(crate) fn turns(self, n: usize) -> impl Iterator<Item = Self> {
        (0..self.places.len()).step_by(n).map(move |first| {
            let end = self.places.len().min(first + n);
            Run { columns: self.columns.map(|column| &column[first..]), places: &self.places[first..end], ..self }
        })
    }
}

/// A handler for the neighbours of a point.
pub(crate) trait Visit {
    /// Processes points that may be near point `from`. Mark the method `#[inline(always)]`, like
    /// [`crate::simd::Operation::run`].
    fn visit(&mut self, from: u32, run: Run<'_>);
}

impl Neighbours {
    /// Sorts `points` (x, y and z), with or without a periodic cell, for searches within `distance` (Å, finite).
    /// Returns whether all points are finite. If not, no search is allowed.
    pub(crate) fn place(&mut self, points: [&[f64]; 3], images: Option<Periodic>, distance: f64) -> bool {
        let n_points = points[0].len();
        if !points.iter().all(|column| column.iter().fold(true, |all, value| all & value.is_finite())) {
            return false;
        }
        self.images = images;
        // The reach is slightly larger, because the lookup of cells rounds.
        let extent = points.iter().flat_map(|column| column.iter()).fold(0.0, |most: f64, value| most.max(value.abs()));
        self.reach = distance + 1e-9 * (1.0 + distance + extent);
        let is_sorted = images.is_none_or(|cell| self.reach < cell.unique_radius());
        self.places.clear();
        self.points.iter_mut().for_each(|column| column.clear());
        if is_sorted {
            let grid = Grid::new(points, images.map(|cell| cell.vectors()), self.reach);
            self.sort(points, &grid);
            self.grid = Some(grid);
        } else {
            self.grid = None;
            self.places.extend(0..n_points as u32);
            for (column, values) in self.points.iter_mut().zip(points) {
                column.extend_from_slice(values);
            }
        }
        self.points.iter_mut().chain(&mut self.vectors).for_each(|column| column.resize(n_points + LANES, 0.0));
        true
    }

    /// Replaces the number of each point `i` by `numbers[i]`.
    pub(crate) fn renumber(&mut self, numbers: &[u32]) {
        self.places.iter_mut().for_each(|place| *place = numbers[*place as usize]);
    }

    /// Sorts points by cell with a counting sort.
    fn sort(&mut self, points: [&[f64]; 3], grid: &Grid) {
        let n_points = points[0].len();
        for (column, values) in self.points.iter_mut().zip(points) {
            column.resize(n_points, 0.0);
            column.copy_from_slice(values);
        }
        self.starts.clear();
        self.starts.resize(grid.n_cells() + 2, 0);
        self.cells.clear();
        for i in 0..n_points {
            let point = grid.wrapped(points.map(|column| column[i]));
            let cell = grid.cell_of(point);
            self.cells.push(cell as u32);
            self.starts[cell + 2] += 1;
        }
        for cell in 2..self.starts.len() {
            self.starts[cell] += self.starts[cell - 1];
        }
        self.places.resize(n_points, 0);
        let [x, y, z] = &mut self.points;
        for (i, &cell) in self.cells.iter().enumerate() {
            let next = &mut self.starts[cell as usize + 1];
            let at = *next as usize;
            *next += 1;
            self.places[at] = i as u32;
            [x[at], y[at], z[at]] = grid.wrapped(points.map(|column| column[i]));
        }
    }

    /// Visits the points that may be near `point`, which has the number `from`. The search visits every point within
    /// the distance once, and some others.
    #[inline(always)]
    pub(crate) fn near(&mut self, from: u32, point: [f64; 3], visit: &mut impl Visit) {
        self.look(from, point, None, visit);
    }

    /// Visits the pairs of points that may be near each other. The search visits every pair within the distance once,
    /// and some others, but never pairs a point with itself.
    #[inline(always)]
    pub(crate) fn pairs(&mut self, visit: &mut impl Visit) {
        for i in 0..self.places.len() {
            let point = std::array::from_fn(|axis| self.points[axis][i]);
            self.look(self.places[i], point, Some(i), visit);
        }
    }

    /// Visits the points that may be near a point. If `behind` is given, only points after this position in the order
    /// of the cells form a pair, so that the search visits each pair once.
    #[inline(always)]
    fn look(&mut self, from: u32, point: [f64; 3], behind: Option<usize>, visit: &mut impl Visit) {
        match &self.grid {
            Some(grid) => self.look_in_cells(grid, from, point, behind, visit),
            None => {
                self.measure(point);
                let all = behind.map_or(0, |i| i + 1)..self.places.len();
                visit.visit(from, self.run(&self.vectors, all, [0.0; 3]));
            }
        }
    }

    /// Visits slabs along z, columns along y within each slab, and stretches along x within each column. If each pair
    /// counts once, the search uses only one of two opposite images.
    #[inline(always)]
    fn look_in_cells(&self, grid: &Grid, from: u32, point: [f64; 3], behind: Option<usize>, visit: &mut impl Visit) {
        let is_half = behind.is_some();
        for level in grid.levels(2, point[2], self.reach) {
            let (c, slab) = grid.split(2, level);
            let point = grid.seen_from(point, 2, c);
            let across = self.reach * self.reach - grid.gap(2, slab, point[2]).powi(2);
            if across < 0.0 || (is_half && c < 0) {
                continue;
            }
            for level in grid.levels(1, point[1], across.sqrt()) {
                let (b, column) = grid.split(1, level);
                let point = grid.seen_from(point, 1, b);
                let along = across - grid.gap(1, column, point[1]).powi(2);
                if along < 0.0 || (is_half && (c, b) < (0, 0)) {
                    continue;
                }
                let n = grid.n(0);
                let cells = grid.levels(0, point[0], along.sqrt());
                if cells.is_empty() {
                    continue;
                }
                let base = (slab * grid.n(1) + column) * n;
                for a in grid.split(0, *cells.start()).0..=grid.split(0, *cells.end()).0 {
                    if is_half && (c, b, a) < (0, 0, 0) {
                        continue;
                    }
                    let first = base + (cells.start() - a * n).max(0);
                    let last = base + (cells.end() - a * n).min(n - 1);
                    let mut start = self.starts[first as usize] as usize;
                    let end = self.starts[last as usize + 1] as usize;
                    if let (Some(i), (0, 0, 0)) = (behind, (c, b, a)) {
                        start = start.max(i + 1);
                    }
                    if start < end {
                        visit.visit(from, self.run(&self.points, start..end, grid.seen_from(point, 0, a)));
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn run<'a>(&'a self, columns: &'a [Vec<f64>; 3], range: Range<usize>, point: [f64; 3]) -> Run<'a> {
        let columns = columns.each_ref().map(|column| &column[range.start..]);
        Run { columns, places: &self.places[range], point }
    }

    /// Computes the shortest vectors from a point to all points.
    #[inline(always)]
    fn measure(&mut self, point: [f64; 3]) {
        let [x, y, z] = &mut self.vectors;
        for i in 0..self.places.len() {
            let d = std::array::from_fn(|axis| self.points[axis][i] - point[axis]);
            [x[i], y[i], z[i]] = self.images.as_ref().map_or(d, |cell| cell.shortest(d));
        }
    }
}

#[cfg(test)]
mod tests;
