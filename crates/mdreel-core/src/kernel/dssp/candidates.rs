//! Candidates for hydrogen bonds: amides and carbonyls that are close enough.

use super::backbone::{Amide, Backbone, square};
use crate::frame::LANES;
use crate::neighbours::{Neighbours, Run, Visit};

/// Distances that are computed together.
const MOST: usize = 64;
/// Residues up to which spheres of pieces of the chain are faster than cells, whose cost grows with the residues alone.
const FEW: usize = 2000;

/// An amide and a carbonyl that are near.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    /// Which of the amides.
    pub amide: u32,
    /// The residue of the carbonyl.
    pub acceptor: u32,
    /// From the middle of N-H to that of C=O, Å.
    pub vector: [f64; 3],
}

/// Eight numbers of eight things each.
type Octet = [f64; LANES];

/// All of a frame, and memory to find them.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Candidates, in the order of the amides.
    pub found: Vec<Candidate>,
    /// Middles of eight carbonyls that follow one another: a piece of the chain, which is not far across.
    pieces: Vec<[Octet; 3]>,
    /// Spheres of eight pieces: centres, and the square of how far from there an amide may be, Å².
    spheres: Vec<[Octet; 4]>,
    neighbours: Neighbours,
}

/// Neighbouring pieces.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How far middles are apart, at most, Å.
    pub reach: f64,
    /// Residues from 0 to this many behind that of the carbonyl are no candidates.
    pub nearest: u32,
}

impl Candidates {
    /// Finds the candidates; returns whether all coordinates of the backbone are finite.
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

    /// Cuts the chain into pieces, and lays a sphere around each.
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
            // A little more, for what is rounded.
            spheres[3][lane] = (reach + radius).powi(2) * (1.0 + 1e-9);
            self.pieces.push(piece);
        }
    }

    /// Looks for each amide at the pieces whose spheres it is near to.
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

/// Which of eight points are nearer to a point than is allowed, by the squares of the distances: a bit for each. Bits
/// are signs of differences, which compilers shift side by side; of comparisons they do not.
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

/// Whether no image of a carbonyl is within `reach` (Å) of an amide but that which stands in the frame: each is a whole
/// cell away from there along one axis, as a lies along x and b in the xy plane.
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

/// Collects what is near, but for residues that are neighbours in the chain.
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
