use proptest::prelude::*;

use super::*;
use crate::simd::{Lanes, Level, Operation};
use crate::unit_cell::UnitCell;

/// A visitor that collects every pair within a distance, and the square of the distance.
#[derive(Default)]
struct Pairs {
    distance: f64,
    found: Vec<(u32, u32, u64)>,
}

impl Visit for Pairs {
    #[inline(always)]
    fn visit(&mut self, from: u32, run: Run<'_>) {
        for run in run.turns(5) {
            let mut squares = [0.0; LANES];
            run.squares(&mut squares);
            for (&to, square) in run.places.iter().zip(squares) {
                if square.sqrt() <= self.distance {
                    self.found.push((from, to, square.to_bits()));
                }
            }
        }
    }
}

struct Find<'a> {
    points: &'a [[f64; 3]],
    others: Option<&'a [[f64; 3]]>,
    images: Option<Periodic>,
    distance: f64,
}

impl Operation for Find<'_> {
    type Output = Vec<(u32, u32, u64)>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Self::Output {
        let columns: [Vec<f64>; 3] = std::array::from_fn(|axis| self.points.iter().map(|p| p[axis]).collect());
        let mut neighbours = Neighbours::default();
        let mut pairs = Pairs { distance: self.distance, ..Pairs::default() };
        for _ in 0..2 {
            // The second search reuses the buffers of the first one.
            pairs.found.clear();
            assert!(neighbours.place(columns.each_ref().map(|column| &column[..]), self.images, self.distance));
            match self.others {
                None => neighbours.pairs(&mut pairs),
                Some(others) => {
                    (0..).zip(others).for_each(|(from, &point)| neighbours.near(from, point, &mut pairs));
                }
            }
        }
        if self.others.is_none() {
            pairs.found.iter_mut().for_each(|(from, to, _)| (*from, *to) = ((*from).min(*to), (*from).max(*to)));
        }
        pairs.found.sort_unstable();
        pairs.found
    }
}

/// Returns every pair, found with the shortest image.
fn expected(find: &Find<'_>) -> Vec<(u32, u32, u64)> {
    let from = find.others.unwrap_or(find.points);
    let mut pairs = Vec::new();
    for (i, point) in (0u32..).zip(from) {
        for (j, other) in (0u32..).zip(find.points) {
            let d: [f64; 3] = std::array::from_fn(|axis| other[axis] - point[axis]);
            let [x, y, z] = find.images.map_or(d, |cell| cell.shortest(d));
            let square = x * x + y * y + z * z;
            if square.sqrt() <= find.distance && (find.others.is_some() || i < j) {
                pairs.push((i, j, square.to_bits()));
            }
        }
    }
    pairs
}

/// Generates points with float32 coordinates, as in a file.
fn points(most: usize) -> impl Strategy<Value = Vec<[f64; 3]>> {
    let point = prop::array::uniform3(-6000i32..9000).prop_map(|p| p.map(|x| f64::from(x as f32 / 100.0)));
    prop::collection::vec(point, 0..most)
}

fn cells() -> impl Strategy<Value = Option<UnitCell>> {
    let lengths = prop::array::uniform3(8f32..50.0);
    prop_oneof![
        Just(None),
        lengths.prop_map(|[a, b, c]| Some(UnitCell::Dimensions([a, b, c, 90.0, 90.0, 90.0]))),
        (20f32..50.0).prop_map(|a| Some(UnitCell::Dimensions([a, a, a, 60.0, 60.0, 90.0]))),
        (20f32..50.0).prop_map(|a| Some(UnitCell::Dimensions([a, a, a, 70.53, 109.47, 70.53]))),
        prop::array::uniform3(70f32..110.0)
            .prop_map(|[x, y, z]| Some(UnitCell::Dimensions([30.0, 33.0, 37.0, x, y, z]))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pairs_are_those_of_all_that_are_near(
        (one, other) in (points(80), points(40)), cell in cells(), distance in 0.1f64..30.0, ids in any::<bool>(),
    ) {
        let images = Periodic::new(cell.as_ref()).unwrap();
        let find = || Find { points: &one, others: ids.then_some(&other[..]), images, distance };
        let expected = expected(&find());
        for level in Level::available() {
            prop_assert_eq!(&level.run(find()), &expected, "{}", level.name());
        }
    }
}

#[test]
fn pair_on_the_cutoff_or_half_a_cell_apart_is_found_once() {
    let cell = UnitCell::Dimensions([20.0, 24.0, 30.0, 90.0, 90.0, 90.0]);
    let points = [[1.0, 1.0, 1.0], [11.0, 1.0, 1.0], [1.0, 6.0, 1.0], [1.0, 1.0, 31.0]];
    for distance in [5.0, 9.9, 10.0, 10.1, 40.0] {
        let find = || Find { points: &points, others: None, images: Periodic::new(Some(&cell)).unwrap(), distance };
        let found = Level::detect().run(find());
        assert_eq!(found, expected(&find()));
        assert!(found.contains(&(0, 2, 25f64.to_bits())) && found.contains(&(0, 3, 0)));
    }
}

#[test]
fn one_atom_far_away_needs_no_more_cells() {
    let mut points: Vec<[f64; 3]> = (0..100).map(|i| [f64::from(i), 0.0, 0.0]).collect();
    points.push([1e7, -1e7, 1e7]);
    let find = || Find { points: &points, others: None, images: None, distance: 2.0 };
    assert_eq!(Level::detect().run(find()), expected(&find()));
}

#[test]
fn what_is_not_finite_is_said() {
    let mut neighbours = Neighbours::default();
    assert!(!neighbours.place([&[0.0, f64::NAN], &[0.0; 2], &[0.0; 2]], None, 3.0));
    assert!(neighbours.place([&[]; 3], None, 3.0));
}
