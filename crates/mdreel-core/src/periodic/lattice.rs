//! Reduced lattices: the vectors that determine the shortest image of a vector.

/// Positive dot products that are taken for zero, as a part of the product of the lengths.
const ROUNDING: f64 = 1e-13;
/// Steps of Selling's algorithm: a few are enough, as each shortens a basis that is nearly reduced.
const MOST_STEPS: usize = 100;

/// The faces of the Voronoi cell of a lattice, which holds the points that are nearer to the origin than to any other
/// point of the lattice.
///
/// A superbase is a basis and the negative sum of it. Selling's algorithm makes it obtuse: no two of its four vectors
/// have a positive dot product. The sums of some of the vectors of an obtuse superbase, seven up to their sign, are
/// then all the vectors that can have a face (Conway and Sloane, Proc. R. Soc. Lond. A 436 (1992) 55, theorem 3). A
/// vector that none of these seven shortens is therefore the shortest of all its images, in every lattice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lattice {
    /// One lattice vector of each two opposite faces, Å.
    faces: [[f64; 3]; 7],
    /// Half the square of each, Å²: a vector is within two faces while its dot product with them does not exceed this.
    half_squares: [f64; 7],
}

impl Lattice {
    /// The lattice of these row vectors, which span a volume. All arithmetic is integer combinations of the rows.
    pub(crate) fn new(rows: &[[f64; 3]; 3]) -> Self {
        let [a, b, c] = pairwise_reduced(*rows);
        let mut superbase = [a, b, c, negative(plus(plus(a, b), c))];
        for _ in 0..MOST_STEPS {
            let Some((i, j)) = acute(&superbase) else { break };
            superbase = flipped(&superbase, i, j);
        }
        debug_assert!(acute(&superbase).is_none(), "{rows:?} are not reduced to {superbase:?}");
        let [a, b, c, d] = superbase;
        let faces = [a, b, c, d, plus(a, b), plus(a, c), plus(b, c)];
        Lattice { faces, half_squares: faces.map(|face| square(face) / 2.0) }
    }

    /// The square of the length of the shortest lattice vector, Å².
    pub(crate) fn least_square(&self) -> f64 {
        2.0 * self.half_squares.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// The shortest image of a vector.
    #[inline]
    pub(crate) fn shorten(&self, mut d: [f64; 3]) -> [f64; 3] {
        let mut least = square(d);
        loop {
            let mut is_shorter = false;
            for (face, half_square) in self.faces.iter().zip(self.half_squares) {
                let along = dot(d, *face);
                if along.abs() > half_square {
                    let n = (along / (2.0 * half_square)).round_ties_even();
                    let image = std::array::from_fn(|axis| d[axis] - n * face[axis]);
                    let length = square(image);
                    // What rounding takes for shorter is not: each image must be shorter than the one before.
                    if length < least {
                        (d, least, is_shorter) = (image, length, true);
                    }
                }
            }
            if !is_shorter {
                return d;
            }
        }
    }
}

/// A basis of which none is shortened by multiples of one other: few steps are left for [`acute`] pairs, however long
/// the cell.
fn pairwise_reduced(mut basis: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    loop {
        let before = basis;
        for i in 0..3 {
            for j in [(i + 1) % 3, (i + 2) % 3] {
                let n = (dot(basis[i], basis[j]) / square(basis[j])).round_ties_even();
                let image = std::array::from_fn(|axis| basis[i][axis] - n * basis[j][axis]);
                if square(image) < square(basis[i]) {
                    basis[i] = image;
                }
            }
        }
        if basis == before {
            return basis;
        }
    }
}

/// Two vectors of a superbase with an acute angle.
fn acute(superbase: &[[f64; 3]; 4]) -> Option<(usize, usize)> {
    let pairs = (0..4).flat_map(|i| (0..i).map(move |j| (i, j)));
    pairs.into_iter().find(|&(i, j)| {
        let (u, v) = (superbase[i], superbase[j]);
        dot(u, v) > ROUNDING * (square(u) * square(v)).sqrt()
    })
}

/// A step of Selling's: turns the `i`-th vector round, and adds it to the two that are neither it nor the `j`-th.
fn flipped(superbase: &[[f64; 3]; 4], i: usize, j: usize) -> [[f64; 3]; 4] {
    std::array::from_fn(|k| match k {
        k if k == i => negative(superbase[i]),
        k if k == j => superbase[j],
        k => plus(superbase[k], superbase[i]),
    })
}

#[inline(always)]
fn dot(u: [f64; 3], v: [f64; 3]) -> f64 {
    u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
}

fn plus(u: [f64; 3], v: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|axis| u[axis] + v[axis])
}

fn negative(v: [f64; 3]) -> [f64; 3] {
    v.map(|value| -value)
}

pub(super) fn square([x, y, z]: [f64; 3]) -> f64 {
    x * x + y * y + z * z
}
