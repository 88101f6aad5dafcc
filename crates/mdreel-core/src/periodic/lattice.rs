//! Reduced lattices: the vectors that determine the shortest image of a vector.

/// Positive dot products below this fraction of the product of the lengths count as zero.
const ROUNDING: f64 = 1e-13;
/// Maximum number of steps of Selling's algorithm. A few steps are sufficient, because each step shortens a nearly
/// reduced basis.
const MOST_STEPS: usize = 100;

/// The faces of the Voronoi cell of a lattice. The Voronoi cell contains the points that are nearer to the origin than
/// to any other lattice point.
///
/// A superbase is a basis together with its negative sum. Selling's algorithm makes it obtuse: no two of its four
/// vectors have a positive dot product. The sums of some of the vectors of an obtuse superbase, seven up to their sign,
/// are then all the vectors that can have a face (Conway and Sloane, Proc. R. Soc. Lond. A 436 (1992) 55, theorem 3). A
/// vector that none of these seven vectors shortens is therefore the shortest of all its images, in every lattice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lattice {
    /// One lattice vector for each pair of opposite faces, Å.
    faces: [[f64; 3]; 7],
    /// Half the square of each face vector, Å². A vector lies between two opposite faces if the magnitude of its dot
    /// product with the face vector does not exceed this value.
    half_squares: [f64; 7],
}

impl Lattice {
    /// Creates the lattice of row vectors that define a cell with a volume. The reduction uses only integer
    /// combinations of the rows.
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

    /// Returns the square of the length of the shortest lattice vector, Å².
    pub(crate) fn least_square(&self) -> f64 {
        2.0 * self.half_squares.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Returns the shortest image of a vector.
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
                    // Each image must be shorter than the previous one, because rounding can make an image appear
                    // shorter.
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

/// Returns a basis in which multiples of one vector do not shorten another. Only a few steps then remain for [`acute`]
/// pairs, however elongated the cell is.
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

/// Returns two vectors of a superbase with an acute angle.
fn acute(superbase: &[[f64; 3]; 4]) -> Option<(usize, usize)> {
    let pairs = (0..4).flat_map(|i| (0..i).map(move |j| (i, j)));
    pairs.into_iter().find(|&(i, j)| {
        let (u, v) = (superbase[i], superbase[j]);
        dot(u, v) > ROUNDING * (square(u) * square(v)).sqrt()
    })
}

/// Applies one step of Selling's algorithm: negates the `i`-th vector and adds the original to the two vectors other
/// than the `i`-th and `j`-th.
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
