//! Caps that the spheres of neighbours cut off the sphere of an atom.

use super::sphere::{Patch, Sphere};
use crate::frame::LANES;
use crate::neighbours::{Run, Visit};
use crate::simd::{Lanes, Octet};

/// Relative margin by which bounds are moved to the safe side of rounding errors.
const SLACK: f64 = 1e-9;
/// Number of size classes into which caps are sorted.
const N_CLASSES: usize = 16;

/// The caps of one atom, approximately in the order of their size, the largest first.
///
/// Let d be the vector to a neighbour. A point `R u` of the atom's sphere is inside the neighbour's sphere of radius r if
/// `|R u - d| < r`, that is, if `u . d > (R² + |d|² - r²) / 2R`. These points are on one side of a plane. If the centre of a
/// patch is far enough on this side, so are all of its points. If the centre is far enough on the other side, no point of the
/// patch is inside the neighbour's sphere.
///
/// Most patches are completely inside one of the largest caps, and a test of eight caps that do not reach a patch takes one
/// vector instruction. Single points are only tested along the edges of caps. These shortcuts do not affect the result.
#[derive(Debug, Default)]
pub(super) struct Caps {
    found: Vec<Cap>,
    n_of_class: [u32; N_CLASSES],
    sorted: Vec<EightCaps>,
    /// For each group of eight caps, a bit for each cap that reaches into the current patch.
    reaching: Vec<u8>,
}

/// Atoms that may be neighbours of an atom.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    n: usize,
    /// x, y and z of the vectors to the atoms, in Å. The columns may be longer than the number of atoms.
    vectors: [Vec<f64>; 3],
    atoms: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Cap {
    direction: [f64; 3],
    plane: f64,
    class: u32,
}

#[derive(Debug, Clone, Default)]
struct EightCaps {
    direction: [Octet; 3],
    plane: Octet,
    /// Bound of the centre of a patch along the direction of the cap. Above this bound, the whole patch is inside the cap.
    holds: Octet,
    /// Up to this bound, no part of the patch is inside the cap.
    reaches: Octet,
}

impl Caps {
    /// Finds the caps of atom `from` among the candidates. `radii` contains the radii of all atoms, in Å.
    #[inline(always)]
    pub(crate) fn find<L: Lanes>(&mut self, from: u32, radii: &[f64], candidates: &mut Candidates) {
        self.found.clear();
        self.n_of_class = [0; N_CLASSES];
        let radius = radii[from as usize];
        let (own_square, per_twice_radius) = (radius * radius, 0.5 / radius);
        for ([x, y, z], others) in candidates.octets(from) {
            let (mut square, mut most) = (Octet::default(), Octet::default());
            let (mut of_others, mut plane, mut cosine) = ([0.0; LANES], [0.0; LANES], [0f32; LANES]);
            for (of_other, &other) in of_others.iter_mut().zip(others) {
                // An atom is not its own neighbour: its reach is 0, and no distance is below 0.
                *of_other = if other == from { -radius } else { radii[other as usize] };
            }
            for k in 0..LANES {
                let reach = radius + of_others[k];
                most.0[k] = reach * reach;
                square.0[k] = x[k] * x[k] + y[k] * y[k] + z[k] * z[k];
                plane[k] = (own_square + square.0[k] - of_others[k] * of_others[k]) * per_twice_radius;
                // The cosine only determines the order of the caps, so float32 is sufficient.
                cosine[k] = plane[k] as f32 / (square.0[k] as f32).sqrt();
            }
            let mut near = L::load(&most).above(L::load(&square));
            while near != 0 {
                let k = near.trailing_zeros() as usize;
                near &= near - 1;
                let class = (((1.0 + cosine[k]) * (N_CLASSES / 2) as f32) as u32).min(N_CLASSES as u32 - 1);
                self.n_of_class[class as usize] += 1;
                self.found.push(Cap { direction: [x[k], y[k], z[k]], plane: plane[k], class });
            }
        }
    }

    /// Returns how many points of a sphere of radius 1 are outside all caps.
    #[inline(always)]
    pub(crate) fn n_open<L: Lanes>(&mut self, sphere: &Sphere) -> u32 {
        self.sort();
        self.set_bounds(sphere.spread);
        let mut n_open = 0;
        for patch in &sphere.patches {
            n_open += self.open::<L>(patch).count_ones();
        }
        n_open
    }

    /// Sorts the caps by class, with a counting sort.
    #[inline(always)]
    fn sort(&mut self) {
        let mut next = [0; N_CLASSES];
        for class in 1..N_CLASSES {
            next[class] = next[class - 1] + self.n_of_class[class - 1] as usize;
        }
        let n_eights = self.found.len().div_ceil(LANES);
        self.sorted.resize_with(n_eights, EightCaps::default);
        self.reaching.resize(n_eights, 0);
        for cap in &self.found {
            let at = &mut next[cap.class as usize];
            self.sorted[*at / LANES].set(*at % LANES, cap.direction, cap.plane);
            *at += 1;
        }
        for k in self.found.len()..n_eights * LANES {
            self.sorted[n_eights - 1].set(k % LANES, [0.0; 3], f64::MAX);
        }
    }

    /// Computes the bounds.
    ///
    /// Let t be the angle of a cap and s the spread of patches. A patch is inside the cap if the angle between its centre and
    /// the direction of the cap is at most t - s. The cap reaches the patch if this angle is at most t + s.
    #[inline(always)]
    fn set_bounds(&mut self, spread: Option<[f64; 2]>) {
        for caps in &mut self.sorted {
            let Some([cosine, sine]) = spread else {
                (caps.holds, caps.reaches) = (Octet([f64::INFINITY; LANES]), Octet([f64::NEG_INFINITY; LANES]));
                continue;
            };
            let ([x, y, z], plane) = (caps.direction.each_ref().map(|column| column.0), caps.plane.0);
            let (mut holds, mut reaches) = ([0.0; LANES], [0.0; LANES]);
            for k in 0..LANES {
                let square = x[k] * x[k] + y[k] * y[k] + z[k] * z[k];
                let across = sine * (square - plane[k] * plane[k]).max(0.0).sqrt();
                let slack = SLACK * (1.0 + square + plane[k].abs());
                // The cap is smaller than a patch (t - s is below 0°), or covers almost the whole sphere (t + s is above 180°).
                let is_extreme = plane[k] * plane[k] > square * (cosine * cosine);
                let along = cosine * plane[k];
                holds[k] = if is_extreme & (plane[k] > 0.0) { f64::INFINITY } else { along + across + slack };
                reaches[k] = if is_extreme & (plane[k] < 0.0) { f64::NEG_INFINITY } else { along - across - slack };
            }
            (caps.holds, caps.reaches) = (Octet(holds), Octet(reaches));
        }
    }

    /// Returns which points of a patch are outside all caps, as one bit for each point.
    #[inline(always)]
    fn open<L: Lanes>(&mut self, patch: &Patch) -> u8 {
        let centre = splat::<L>(patch.centre);
        for (caps, reaching) in self.sorted.iter().zip(&mut self.reaching) {
            let along = dot(centre, load(&caps.direction));
            if along.above(L::load(&caps.holds)) != 0 {
                return 0;
            }
            *reaching = along.above(L::load(&caps.reaches));
        }
        let (mut open, points) = (patch.present, load::<L>(&patch.points));
        for (caps, mut reaching) in self.sorted.iter().zip(self.reaching.iter().copied()) {
            while reaching != 0 {
                let k = reaching.trailing_zeros() as usize;
                reaching &= reaching - 1;
                let [x, y, z] = &caps.direction;
                open &= !dot(points, splat([x.0[k], y.0[k], z.0[k]])).above(L::splat(caps.plane.0[k]));
                if open == 0 {
                    return 0;
                }
            }
        }
        open
    }
}

impl Candidates {
    /// Removes all atoms.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.n = 0;
    }

    /// Returns the vectors to eight atoms at a time, in Å, and the indices of these atoms. In the last octet, missing atoms
    /// have the index `filler`.
    #[inline(always)]
    fn octets(&mut self, filler: u32) -> impl Iterator<Item = ([&[f64; LANES]; 3], &[u32; LANES])> {
        let whole = self.n.next_multiple_of(LANES);
        self.atoms[self.n..whole].fill(filler);
        let [x, y, z] = self.vectors.each_ref().map(|column| column[..whole].as_chunks::<LANES>().0);
        let vectors = x.iter().zip(y).zip(z).map(|((x, y), z)| [x, y, z]);
        vectors.zip(self.atoms[..whole].as_chunks::<LANES>().0)
    }
}

impl Visit for Candidates {
    #[inline(always)]
    fn visit(&mut self, _: u32, run: Run<'_>) {
        let (first, n) = (self.n, run.places.len());
        // A run writes whole octets, and `octets` reads whole octets of all atoms.
        let needed = first + n.next_multiple_of(LANES) + LANES;
        if self.atoms.len() < needed {
            self.atoms.resize(2 * needed, 0);
            self.vectors.iter_mut().for_each(|column| column.resize(2 * needed, 0.0));
        }
        let [x, y, z] = &mut self.vectors;
        run.vectors([&mut x[first..], &mut y[first..], &mut z[first..]]);
        self.atoms[first..first + n].copy_from_slice(run.places);
        self.n += n;
    }
}

impl EightCaps {
    #[inline(always)]
    fn set(&mut self, k: usize, direction: [f64; 3], plane: f64) {
        self.direction.iter_mut().zip(direction).for_each(|(column, value)| column.0[k] = value);
        self.plane.0[k] = plane;
    }
}

#[inline(always)]
fn splat<L: Lanes>([x, y, z]: [f64; 3]) -> [L; 3] {
    [L::splat(x), L::splat(y), L::splat(z)]
}

#[inline(always)]
fn load<L: Lanes>([x, y, z]: &[Octet; 3]) -> [L; 3] {
    [L::load(x), L::load(y), L::load(z)]
}

#[inline(always)]
fn dot<L: Lanes>([x, y, z]: [L; 3], [a, b, c]: [L; 3]) -> L {
    z.mul_add(c, y.mul_add(b, x.mul(a)))
}
