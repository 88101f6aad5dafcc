//! Pieces of units: at most eight atoms each, with boxes and spheres that rule out pairs.

use std::ops::Range;

use super::rule::Units;
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, LANES};
use crate::periodic::Periodic;

/// Eight points of a piece. If the piece has fewer atoms, the last one is repeated.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Points {
    columns: [[f64; LANES]; 3],
    n: usize,
}

impl Points {
    /// Returns the square of the smallest distance to the points of `others` after shifting these, in Å².
    #[inline(always)]
    pub(super) fn nearest(&self, others: &Points, shift: [f64; 3]) -> f64 {
        let mut best = [f64::INFINITY; LANES];
        let [x, y, z] = &others.columns;
        for i in 0..self.n {
            let point: [f64; 3] = std::array::from_fn(|axis| self.columns[axis][i] - shift[axis]);
            for k in 0..LANES {
                let d = [x[k] - point[0], y[k] - point[1], z[k] - point[2]];
                let square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                best[k] = if square < best[k] { square } else { best[k] };
            }
        }
        best.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Calls a function with the vector from each of the points to each of the others.
    #[inline(always)]
    pub(super) fn vectors(&self, others: &Points, mut call: impl FnMut([f64; 3])) {
        for i in 0..self.n {
            for k in 0..others.n {
                call(std::array::from_fn(|axis| others.columns[axis][k] - self.columns[axis][i]));
            }
        }
    }

    /// Replaces the points.
    #[cfg(test)]
    pub(super) fn with(mut self, points: &[[f64; 3]]) -> Self {
        self.n = points.len();
        self.columns = std::array::from_fn(|axis| std::array::from_fn(|k| points[k.min(self.n - 1)][axis]));
        self
    }

    /// Returns the square of the smallest distance to the nearest images of `others`, in Å².
    pub(super) fn nearest_image(&self, others: &Points, images: &Periodic) -> f64 {
        let mut best = f64::INFINITY;
        self.vectors(others, |d| {
            let [x, y, z] = images.shortest(d);
            best = best.min(x * x + y * y + z * z);
        });
        best
    }
}

/// The pieces of all units of a group in the current frame.
#[derive(Debug, Clone)]
pub(super) struct Pieces {
    atoms: Vec<([u32; LANES], usize)>,
    /// The unit of each piece.
    units: Vec<u32>,
    /// For each unit, the index of its first piece, followed by the number of all pieces.
    starts: Vec<u32>,
    points: Vec<Points>,
    /// Boxes around the points. Empty boxes follow as padding.
    lows: [Vec<f32>; 3],
    highs: [Vec<f32>; 3],
    /// Centres of spheres around the points, as computed by `make_compact`.
    centres: [Vec<f64>; 3],
    /// Radii of these spheres.
    radii: Vec<f64>,
}

impl Pieces {
    pub(super) fn new(n_atoms: usize, units: &Units) -> Result<Self> {
        let Units { numbers, starts, atoms } = units;
        if let Some(atom) = atoms.iter().find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a residue needs atom {atom} of {n_atoms}")));
        }
        let ends_with = |end: usize| starts.last() == Some(&(end as u32));
        let is_whole = starts.len() == numbers.len() + 1 && starts[0] == 0 && ends_with(atoms.len());
        if !is_whole || starts.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(Error::mismatch("a residue has no atoms"));
        }
        let (mut pieces, mut of_pieces, mut begins) = (Vec::new(), Vec::new(), vec![0]);
        for (unit, bounds) in (0..).zip(starts.windows(2)) {
            for chunk in atoms[bounds[0] as usize..bounds[1] as usize].chunks(LANES) {
                pieces.push((std::array::from_fn(|k| chunk[k.min(chunk.len() - 1)]), chunk.len()));
                of_pieces.push(unit);
            }
            begins.push(pieces.len() as u32);
        }
        let padded = pieces.len() + LANES;
        Ok(Pieces {
            points: vec![Points::default(); pieces.len()],
            lows: std::array::from_fn(|_| vec![f32::INFINITY; padded]),
            highs: std::array::from_fn(|_| vec![f32::NEG_INFINITY; padded]),
            centres: Default::default(),
            radii: Vec::new(),
            atoms: pieces,
            units: of_pieces,
            starts: begins,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.atoms.len()
    }

    pub(super) fn n_units(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the unit of a piece.
    #[inline(always)]
    pub(super) fn unit(&self, piece: usize) -> usize {
        self.units[piece] as usize
    }

    /// Returns the range of the pieces of a unit. For the number after the last unit, the range is empty and at the end.
    #[inline(always)]
    pub(super) fn of_unit(&self, unit: usize) -> Range<usize> {
        let end = self.starts.get(unit + 1).map_or(self.len(), |&end| end as usize);
        self.starts[unit] as usize..end
    }

    #[inline(always)]
    pub(super) fn points(&self, piece: usize) -> &Points {
        &self.points[piece]
    }

    /// Returns the points of all pieces of a unit.
    pub(super) fn points_of_unit(&self, unit: usize) -> &[Points] {
        &self.points[self.of_unit(unit)]
    }

    #[inline(always)]
    pub(super) fn centre(&self, piece: usize) -> [f64; 3] {
        self.centres.each_ref().map(|column| column[piece])
    }

    #[inline(always)]
    pub(super) fn radius(&self, piece: usize) -> f64 {
        self.radii[piece]
    }

    pub(super) fn centres(&self) -> [&[f64]; 3] {
        self.centres.each_ref().map(|column| &column[..])
    }

    /// Copies the positions of the i-th frame, and returns whether all are finite.
    #[inline(always)]
    pub(super) fn gather(&mut self, batch: &FrameBatch, i: usize) -> bool {
        let columns = batch.columns(i);
        let mut is_finite = true;
        for (piece, ((atoms, n), points)) in self.atoms.iter().zip(&mut self.points).enumerate() {
            points.n = *n;
            for (axis, column) in [columns.x, columns.y, columns.z].into_iter().enumerate() {
                let values: [f32; LANES] = std::array::from_fn(|k| column[atoms[k] as usize]);
                let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
                for value in values {
                    low = if value < low { value } else { low };
                    high = if value > high { value } else { high };
                    is_finite &= value.is_finite();
                }
                (self.lows[axis][piece], self.highs[axis][piece]) = (low, high);
                points.columns[axis] = values.map(f64::from);
            }
        }
        is_finite
    }

    /// Moves the atoms of each piece to the images that are nearest to its first atom, if there are images, and computes the
    /// spheres around the pieces.
    pub(super) fn make_compact(&mut self, images: Option<&Periodic>) {
        let n = self.len();
        self.centres.iter_mut().for_each(|column| column.resize(n, 0.0));
        self.radii.resize(n, 0.0);
        for (piece, points) in self.points.iter_mut().enumerate() {
            if let Some(images) = images {
                for k in 1..LANES {
                    let first: [f64; 3] = std::array::from_fn(|axis| points.columns[axis][0]);
                    let d = images.shortest(std::array::from_fn(|axis| points.columns[axis][k] - first[axis]));
                    for axis in 0..3 {
                        points.columns[axis][k] = first[axis] + d[axis];
                    }
                }
            }
            let mut square = 0.0;
            for (column, centre) in points.columns.iter().zip(&mut self.centres) {
                let (low, high) = bounds(column.iter().copied());
                centre[piece] = (low + high) / 2.0;
                square += ((high - low) / 2.0).powi(2);
            }
            self.radii[piece] = square.sqrt();
        }
    }

    /// Calls a function with each piece in a range whose box is within a distance of the box of another piece. Because of
    /// rounding, boxes that are slightly farther away also count.
    #[inline(always)]
    pub(super) fn near_boxes(
        &self,
        rows: &Pieces,
        row: usize,
        range: Range<usize>,
        distance: f64,
        gaps: &mut Vec<f32>,
        mut call: impl FnMut(u32),
    ) {
        // The corners are in float32, like positions. The relative rounding error of their differences is below 1e-6.
        let most = (distance * distance * (1.0 + 1e-5)) as f32;
        let n = range.len().next_multiple_of(LANES);
        if n == 0 {
            return;
        }
        gaps.clear();
        gaps.resize(n, 0.0);
        for axis in 0..3 {
            let (low, high) = (rows.lows[axis][row], rows.highs[axis][row]);
            let lows = self.lows[axis][range.start..range.start + n].as_chunks::<LANES>().0;
            let highs = self.highs[axis][range.start..range.start + n].as_chunks::<LANES>().0;
            for ((gaps, lows), highs) in gaps.as_chunks_mut::<LANES>().0.iter_mut().zip(lows).zip(highs) {
                let (lows, highs, mut octet) = (*lows, *highs, *gaps);
                for k in 0..LANES {
                    let (above, below) = (lows[k] - high, low - highs[k]);
                    let gap = if above > below { above } else { below };
                    let gap = if gap > 0.0 { gap } else { 0.0 };
                    octet[k] += gap * gap;
                }
                *gaps = octet;
            }
        }
        for (octet, gaps) in gaps.as_chunks::<LANES>().0.iter().enumerate() {
            let mut least = gaps[0];
            for &gap in gaps {
                least = if gap < least { gap } else { least };
            }
            if least > most {
                continue;
            }
            for (k, &gap) in gaps.iter().enumerate() {
                let piece = range.start + octet * LANES + k;
                if gap <= most && piece < range.end {
                    call(piece as u32);
                }
            }
        }
    }
}

/// Largest distance between the centres of two pieces that have atoms within the cutoff.
#[derive(Debug)]
pub(super) struct Reach {
    cutoff: f64,
    /// The largest distance for any two pieces, in Å.
    pub(super) longest: f64,
    /// The radius within which images are unique; `None` if there are no images.
    unique: Option<f64>,
}

impl Reach {
    /// Creates the reach for the pieces of two groups, after `make_compact`.
    pub(super) fn new(cutoff: f64, groups: [&Pieces; 2], images: Option<Periodic>) -> Self {
        let radius = |pieces: &Pieces| pieces.radii.iter().copied().fold(0.0, f64::max);
        let mut reach = Reach { cutoff, longest: 0.0, unique: images.map(|cell| cell.unique_radius()) };
        reach.longest = reach.of(groups.map(radius).iter().sum());
        reach
    }

    /// Returns the largest distance for two pieces with this sum of their radii.
    #[inline(always)]
    pub(super) fn of(&self, radii: f64) -> f64 {
        (self.cutoff + radii) * (1.0 + 1e-9) + 1e-9
    }

    /// Returns whether at most one image is within this distance.
    #[inline(always)]
    pub(super) fn is_unique(&self, reach: f64) -> bool {
        self.unique.is_none_or(|unique| reach < unique)
    }

    /// Returns the shift of `to` to its image at the end of `vector`, which begins at `from`.
    #[inline(always)]
    pub(super) fn shift(&self, from: [f64; 3], to: [f64; 3], vector: [f64; 3]) -> [f64; 3] {
        match self.unique {
            None => [0.0; 3],
            Some(_) => std::array::from_fn(|axis| vector[axis] - (to[axis] - from[axis])),
        }
    }
}

/// Returns whether no image of a point, except the point itself, is within a distance of another point.
///
/// The width of the cell is the distance between the planes of two opposite faces. An image is shifted by at least one width
/// along the normal of a face. Its distance is therefore at least the width minus the extent of all points along this normal.
pub(super) fn is_clear(groups: [Option<&Pieces>; 2], cell: &Periodic, distance: f64) -> bool {
    let groups = || groups.into_iter().flatten();
    let is_clear = |low: f64, high: f64, width: f64| width - (high - low) > distance * (1.0 + 1e-9);
    if let Some(lengths) = cell.lengths() {
        return (0..3).all(|axis| {
            let of = |corners: fn(&Pieces) -> &[Vec<f32>; 3]| {
                bounds(groups().flat_map(|pieces| corners(pieces)[axis][..pieces.len()].iter().copied().map(f64::from)))
            };
            is_clear(of(|pieces| &pieces.lows).0, of(|pieces| &pieces.highs).1, lengths[axis])
        });
    }
    let (mut lows, mut highs) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for points in groups().flat_map(|pieces| &pieces.points) {
        for k in 0..points.n {
            let fractions = cell.fractions(std::array::from_fn(|axis| points.columns[axis][k]));
            for (axis, fraction) in fractions.into_iter().enumerate() {
                (lows[axis], highs[axis]) = (lows[axis].min(fraction), highs[axis].max(fraction));
            }
        }
    }
    let unit = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|point| cell.fractions(point));
    (0..3).all(|axis| {
        let width = unit.iter().map(|fractions| fractions[axis].powi(2)).sum::<f64>().sqrt().recip();
        is_clear(lows[axis] * width, highs[axis] * width, width)
    })
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}
