//! Dihedral angles, each defined by four atoms, in every frame.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
use std::sync::Arc;

use super::Computation;
use crate::error::{Error, Result};
use crate::frame::{Columns, FrameBatch};
use crate::periodic::Periodic;
use crate::reduce::{Layout, Slots};
use crate::simd::{Lanes, Level, Operation};

/// Number of angles that are computed side by side.
const LANES: usize = 8;

/// Representation of an angle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Degrees from -180 to 180, in the IUPAC convention: 180 is trans.
    Degrees,
    /// Cosine and sine, which have no discontinuity: two columns for each angle.
    CosineSine,
}

/// The dihedral angles of quadruples of atoms. If a frame has a cell, each bond is the shortest image.
#[derive(Debug, Clone)]
pub struct Dihedrals {
    n_atoms: usize,
    quadruples: Arc<Vec<[u32; 4]>>,
    measure: Measure,
    level: Level,
}

impl Dihedrals {
    /// Creates the computation for quadruples among `n_atoms` atoms. Returns an error if there are no quadruples, or an atom
    /// does not exist.
    pub fn new(n_atoms: usize, quadruples: Vec<[u32; 4]>, measure: Measure) -> Result<Self> {
        Dihedrals::at_level(n_atoms, quadruples, measure, Level::detect())
    }

    /// Creates the computation with the vector instructions of `level`. The level does not affect the bits of the result.
    pub(crate) fn at_level(n_atoms: usize, quadruples: Vec<[u32; 4]>, measure: Measure, level: Level) -> Result<Self> {
        if quadruples.is_empty() {
            return Err(Error::mismatch("there are no dihedral angles"));
        }
        if let Some(atom) = quadruples.iter().flatten().find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a dihedral angle needs atom {atom} of {n_atoms}")));
        }
        Ok(Dihedrals { n_atoms, quadruples: Arc::new(quadruples), measure, level })
    }
}

impl Computation for Dihedrals {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        let each = match self.measure {
            Measure::Degrees => 1,
            Measure::CosineSine => 2,
        };
        Layout::columns(each * self.quadruples.len())
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        for i in 0..batch.len() {
            let columns = batch.columns(i);
            let cell = Periodic::of_frame(batch.header(i))?;
            let row = slots.row(i);
            self.level.run(MapFrame { of: self, columns, cell, row: &mut *row });
            if let Some(at) = row.iter().position(|value| value.is_nan()) {
                return Err(self.undefined(batch.header(i).index, at, &columns));
            }
        }
        Ok(())
    }
}

impl Dihedrals {
    #[cold]
    fn undefined(&self, frame: u64, at: usize, columns: &Columns<'_>) -> Error {
        let atoms = self.quadruples[at / (self.layout().n_columns / self.quadruples.len())];
        let points = atoms.map(|atom| [columns.x, columns.y, columns.z].map(|column| column[atom as usize]));
        Error::mismatch(format!("atoms {atoms:?} of those selected, at {points:?}, have no dihedral angle"))
            .at_frame(frame)
    }
}

struct MapFrame<'a> {
    of: &'a Dihedrals,
    columns: Columns<'a>,
    cell: Option<Periodic>,
    row: &'a mut [f64],
}

impl Operation for MapFrame<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let MapFrame { of, columns, cell, row } = self;
        let each = if of.measure == Measure::Degrees { 1 } else { 2 };
        for (quadruples, values) in of.quadruples.chunks(LANES).zip(row.chunks_mut(each * LANES)) {
            let mut bonds = [[[0.0; LANES]; 3]; 3];
            for (lane, atoms) in quadruples.iter().enumerate() {
                let point = |k: usize| {
                    let atom = atoms[k] as usize;
                    [f64::from(columns.x[atom]), f64::from(columns.y[atom]), f64::from(columns.z[atom])]
                };
                let points = [point(0), point(1), point(2), point(3)];
                for k in 0..3 {
                    let [from, to] = [points[k], points[k + 1]];
                    let mut bond = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
                    if let Some(cell) = &cell {
                        bond = cell.shortest(bond);
                    }
                    for axis in 0..3 {
                        bonds[k][axis][lane] = bond[axis];
                    }
                }
            }
            let (cosines, sines) = projections(&bonds);
            match of.measure {
                Measure::Degrees => {
                    let degrees = degrees(&sines, &cosines);
                    values.copy_from_slice(&degrees[..values.len()]);
                }
                Measure::CosineSine => {
                    for (lane, pair) in values.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                        let length = (cosines[lane] * cosines[lane] + sines[lane] * sines[lane]).sqrt();
                        *pair = [cosines[lane] / length, sines[lane] / length];
                    }
                }
            }
        }
    }
}

/// Returns values proportional to the cosines and sines of the dihedral angles of three bonds.
#[inline(always)]
fn projections([first, second, third]: &[[[f64; LANES]; 3]; 3]) -> ([f64; LANES], [f64; LANES]) {
    let (mut cosines, mut sines) = ([0.0; LANES], [0.0; LANES]);
    for lane in 0..LANES {
        let [a, b, c] = [first, second, third].map(|bond| [bond[0][lane], bond[1][lane], bond[2][lane]]);
        let (n, m) = (cross(a, b), cross(b, c));
        cosines[lane] = dot(n, m);
        sines[lane] = dot(b, b).sqrt() * dot(a, m);
    }
    (cosines, sines)
}

#[inline(always)]
fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[inline(always)]
fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The coefficients of P in `atan(t) = t P(t^2)` for |t| up to tan(pi/8), with an error of at most 4e-17. They interpolate at
/// the zeros of a Chebyshev polynomial.
const ARC_TANGENT: [f64; 11] = [
    0.999_999_999_999_999_97,
    -0.333_333_333_333_284_34,
    0.199_999_999_988_541_67,
    -0.142_857_141_809_006_45,
    0.111_111_061_773_752_27,
    -0.090_907_730_032_408_28,
    0.076_899_524_882_330_16,
    -0.066_402_251_735_395,
    0.056_883_034_036_332_5,
    -0.043_479_198_390_465_37,
    0.021_133_752_033_748_363,
];

/// Returns the angles of the points (x, y) in degrees; NaN at the origin. There are no branches, so that the compiler can use
/// vector instructions.
#[inline(always)]
fn degrees(y: &[f64; LANES], x: &[f64; LANES]) -> [f64; LANES] {
    const TAN_PI_8: f64 = std::f64::consts::SQRT_2 - 1.0;
    let mut angles = [0.0; LANES];
    for lane in 0..LANES {
        let (ax, ay) = (x[lane].abs(), y[lane].abs());
        let (low, high) = if ax < ay { (ax, ay) } else { (ay, ax) };
        let is_upper = low > TAN_PI_8 * high;
        let t = if is_upper { (low - high) / (low + high) } else { low / high };
        let u = t * t;
        let mut p = ARC_TANGENT[10];
        for k in (0..10).rev() {
            p = p * u + ARC_TANGENT[k];
        }
        let angle = t * p + if is_upper { FRAC_PI_4 } else { 0.0 };
        let angle = if ax < ay { FRAC_PI_2 - angle } else { angle };
        let angle = if x[lane] < 0.0 { PI - angle } else { angle };
        angles[lane] = angle.copysign(y[lane]) * (180.0 / PI);
    }
    angles
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::fixture::{batch, mapped};
    use crate::unit_cell::UnitCell;

    fn angles_of(
        points: &[[f32; 3]],
        unit_cell: Option<UnitCell>,
        quadruples: &[[u32; 4]],
        measure: Measure,
        level: Level,
    ) -> Result<Vec<f64>> {
        let dihedrals = Dihedrals::at_level(points.len(), quadruples.to_vec(), measure, level)?;
        Ok(mapped(dihedrals, &[batch(7, &[points.to_vec()], unit_cell)])?.rows.into_values().split_off(2))
    }

    proptest! {
        #[test]
        fn angle_of_a_point_is_that_of_the_standard_library(x in -1e3f64..1e3, y in -1e3f64..1e3, swap in 0usize..LANES) {
            let (mut xs, mut ys) = ([1.0; LANES], [0.0; LANES]);
            (xs[swap], ys[swap]) = (x, y);
            let found = degrees(&ys, &xs);
            prop_assert!((found[swap] - y.atan2(x).to_degrees()).abs() <= 1e-13);
        }

        #[test]
        fn angle_is_that_by_which_the_last_bond_is_turned(
            angles in prop::collection::vec(-180f64..180.0, 1..20),
            box_length in 8f32..20.0,
        ) {
            // Each quadruple is at a different place, and its atoms are in different images of the cell.
            let mut points = Vec::new();
            for (i, angle) in angles.iter().enumerate() {
                let (sine, cosine) = angle.to_radians().sin_cos();
                let shift = |k: usize| ((i * 7 + k * 5) % 3) as f32 * box_length;
                for (k, [x, y, z]) in [[1.0, 0.0, 0.0], [0.0; 3], [0.0, 0.0, 1.5], [cosine, sine, 1.5]].into_iter().enumerate() {
                    points.push([x as f32 + shift(k), y as f32 - shift(k + 1), z as f32 + shift(k + 2)]);
                }
            }
            let quadruples: Vec<[u32; 4]> = (0..angles.len() as u32).map(|i| [4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3]).collect();
            let cell = Some(UnitCell::Dimensions([box_length, box_length, box_length, 90.0, 90.0, 90.0]));
            let expected = angles_of(&points, cell, &quadruples, Measure::Degrees, Level::detect()).unwrap();
            for level in Level::available() {
                let found = angles_of(&points, cell, &quadruples, Measure::Degrees, level).unwrap();
                prop_assert_eq!(&found, &expected);
                let features = angles_of(&points, cell, &quadruples, Measure::CosineSine, level).unwrap();
                for ((found, angle), [cosine, sine]) in found.iter().zip(&angles).zip(features.as_chunks::<2>().0) {
                    let apart = (found - angle).rem_euclid(360.0);
                    prop_assert!(apart.min(360.0 - apart) < 1e-3, "{} and {}", found, angle);
                    prop_assert!((cosine - found.to_radians().cos()).abs() < 1e-12);
                    prop_assert!((sine - found.to_radians().sin()).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn atoms_without_an_angle_are_named() {
        let points = [[0.0; 3], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 1.0, 0.0], [f32::NAN, 0.0, 0.0]];
        for quadruple in [[0, 1, 2, 3], [4, 0, 1, 3], [0, 0, 0, 0]] {
            for measure in [Measure::Degrees, Measure::CosineSine] {
                let error = angles_of(&points, None, &[quadruple], measure, Level::detect()).unwrap_err().to_string();
                assert!(error.contains("frame 7") && error.contains(&format!("{quadruple:?}")), "{error}");
            }
        }
    }

    #[test]
    fn new_refuses_what_has_no_angles() {
        assert!(Dihedrals::new(4, Vec::new(), Measure::Degrees).unwrap_err().to_string().contains("no dihedral"));
        assert!(
            Dihedrals::new(4, vec![[0, 1, 2, 4]], Measure::Degrees).unwrap_err().to_string().contains("atom 4 of 4")
        );
    }
}
