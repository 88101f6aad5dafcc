//! Candidates for hydrogen bonds: amides and carbonyls that are close to each other.

use super::backbone::{Amide, Backbone, square};
use crate::frame::LANES;
use crate::neighbours::{Neighbours, Run, Visit};

/// Number of distances that are computed together.
const MOST: usize = 64;
/// Largest number of residues for which spheres around pieces of the chain are faster than cells. The cost of cells is
/// proportional to the number of residues.
const FEW: usize = 2000;

/// An amide and a carbonyl that are near each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    /// The index of the amide.
    pub amide: u32,
    /// The residue of the carbonyl.
    pub acceptor: u32,
    /// The vector from the midpoint of N-H to the midpoint of C=O, in Å.
    pub vector: [f64; 3],
}

/// One value for each of eight objects.
type Octet = [f64; LANES];

/// All candidates of a frame, and working memory.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// The candidates, in the order of the amides.
    pub found: Vec<Candidate>,
    /// Midpoints of eight consecutive carbonyls: a piece of the chain with a small extent.
    pieces: Vec<[Octet; 3]>,
    /// Spheres around eight pieces: their centres, and the square of the largest distance of an amide from the centre, in Å².
    spheres: Vec<[Octet; 4]>,
    neighbours: Neighbours,
}

/// Limits of the search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The largest distance between the midpoints, in Å.
    pub reach: f64,
    /// An amide is not a candidate if its residue is 0 to `nearest` residues after the residue of the carbonyl.
    pub nearest: u32,
}

impl Candidates {
    /// Finds the candidates, and returns whether all coordinates of the backbone are finite.
    #[inline(always)]
    pub(crate) fn find(&mut self, backbone: &Backbone, limits: Limits) -> bool {
        self.found.clear();
        if backbone.carbonyls[0].len() <= FEW && is_apart_from_images(backbone, limits.reach) {
            self.enclose(backbone, limits.reach);
            self.look_in_spheres(backbone, limits);
            return true;
        }
        let columns = backbone.carbonyls.each_ref().map(|column| &column[..]);
        if !self.neighbours.place(columns, backbone.images, limits.reach) {
            return false;
        }
        let mut near = Near { amides: &backbone.amides, limits, squares: [0.0; MOST], found: &mut self.found };
        for (number, amide) in (0..).zip(&backbone.amides) {
            self.neighbours.near(number, amide.middle, &mut near);
        }
        true
    }

    /// Divides the chain into pieces, and computes a sphere around each piece.
    #[inline(always)]
    fn enclose(&mut self, backbone: &Backbone, reach: f64) {
        let n_residues = backbone.carbonyls[0].len();
        self.pieces.clear();
        self.spheres.clear();
        self.spheres
            .resize(n_residues.div_ceil(LANES * LANES), [[0.0; LANES], [0.0; LANES], [0.0; LANES], [-1.0; LANES]]);
        for (number, first) in (0..n_residues).step_by(LANES).enumerate() {
            let n = LANES.min(n_residues - first);
            let mut piece = [[f64::INFINITY; LANES]; 3];
            let mut centre = [0.0; 3];
            for axis in 0..3 {
                piece[axis][..n].copy_from_slice(&backbone.carbonyls[axis][first..first + n]);
                centre[axis] = piece[axis][..n].iter().sum::<f64>() / n as f64;
            }
            let squares = (0..n).map(|k| square(std::array::from_fn(|axis| piece[axis][k] - centre[axis])));
            let radius = squares.fold(0.0, f64::max).sqrt();
            let (spheres, lane) = (&mut self.spheres[number / LANES], number % LANES);
            for axis in 0..3 {
                spheres[axis][lane] = centre[axis];
            }
            // The factor is a margin for rounding errors.
            spheres[3][lane] = (reach + radius).powi(2) * (1.0 + 1e-9);
            self.pieces.push(piece);
        }
    }

    /// For each amide, searches the pieces whose spheres contain it.
    #[inline(always)]
    fn look_in_spheres(&mut self, backbone: &Backbone, limits: Limits) {
        let reach = [limits.reach * limits.reach; LANES];
        for (number, amide) in (0..).zip(&backbone.amides) {
            for (group, [x, y, z, allowed]) in self.spheres.iter().enumerate() {
                let mut near = within([x, y, z], amide.middle, allowed);
                while near != 0 {
                    let at = group * LANES + near.trailing_zeros() as usize;
                    near &= near - 1;
                    let [x, y, z] = &self.pieces[at];
                    let mut found = within([x, y, z], amide.middle, &reach);
                    while found != 0 {
                        let lane = found.trailing_zeros() as usize;
                        found &= found - 1;
                        let acceptor = (at * LANES + lane) as u32;
                        if amide.residue.wrapping_sub(acceptor) > limits.nearest {
                            let [a, b, c] = amide.middle;
                            let vector = [x[lane] - a, y[lane] - b, z[lane] - c];
                            self.found.push(Candidate { amide: number, acceptor, vector });
                        }
                    }
                }
            }
        }
    }
}

/// Returns, as one bit each, which of eight points are nearer to a point than allowed. `allowed` contains squares of distances.
///
/// The bits are the signs of differences, because compilers vectorize shifts of signs but not comparisons.
#[inline(always)]
fn within([x, y, z]: [&Octet; 3], [a, b, c]: [f64; 3], allowed: &Octet) -> u64 {
    let mut found = 0;
    for k in 0..LANES {
        let d = [x[k] - a, y[k] - b, z[k] - c];
        let excess = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] - allowed[k];
        found |= (excess.to_bits() >> 63) << k;
    }
    found
}

/// Returns whether no image of a carbonyl, except the one in the frame, is within `reach` (Å) of an amide.
///
/// Every other image is at least a whole cell away along one axis, because a is along x and b is in the xy plane.
#[inline(always)]
fn is_apart_from_images(backbone: &Backbone, reach: f64) -> bool {
    let Some(cell) = backbone.images else { return true };
    let vectors = cell.vectors();
    (0..3).all(|axis| {
        let amides = backbone.amides.iter().map(|amide| amide.middle[axis]);
        let values = backbone.carbonyls[axis].iter().copied().chain(amides);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), value| (a.min(value), b.max(value)));
        vectors[axis][axis] - (high - low) > reach + 1e-6
    })
}

/// Collector for near pairs, except residues that are neighbours in the chain.
struct Near<'a> {
    amides: &'a [Amide],
    limits: Limits,
    squares: [f64; MOST],
    found: &'a mut Vec<Candidate>,
}

impl Visit for Near<'_> {
    #[inline(always)]
    fn visit(&mut self, from: u32, run: Run<'_>) {
        let donor = self.amides[from as usize].residue;
        let reach = self.limits.reach * self.limits.reach;
        for run in run.turns(MOST) {
            run.squares(&mut self.squares);
            for (k, (&acceptor, square)) in run.places.iter().zip(&self.squares).enumerate() {
                if *square <= reach && donor.wrapping_sub(acceptor) > self.limits.nearest {
                    self.found.push(Candidate { amide: from, acceptor, vector: run.vector(k) });
                }
            }
        }
    }
}
