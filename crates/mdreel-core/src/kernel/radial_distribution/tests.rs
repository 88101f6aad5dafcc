use proptest::prelude::*;

use super::*;
use crate::kernel::fixture::{batch, mapped};
use crate::unit_cell::UnitCell;

const EDGES: [f64; 8] = [0.5, 2.0, 3.5, 5.0, 6.5, 8.0, 9.5, 11.0];
type Frame = Vec<[f32; 3]>;

fn distribution(n_atoms: usize, groups: [Vec<u32>; 2], labels: Option<[Vec<u32>; 2]>) -> RadialDistribution {
    RadialDistribution::new(n_atoms, groups, Bins::new(&EDGES).unwrap(), labels, true).unwrap()
}

/// Returns the expected counts, from a loop over every pair of every frame.
fn counted(frames: &[Frame], cell: &UnitCell, groups: &[Vec<u32>; 2], labels: Option<&[Vec<u32>; 2]>) -> Vec<u64> {
    let images = Periodic::new(Some(cell)).unwrap().unwrap();
    let mut counts = vec![0; EDGES.len() - 1];
    for frame in frames {
        for (i, &from) in groups[0].iter().enumerate() {
            for (j, &to) in groups[1].iter().enumerate() {
                let (from, to) = (frame[from as usize], frame[to as usize]);
                let [x, y, z] = images.shortest(std::array::from_fn(|k| f64::from(to[k]) - f64::from(from[k])));
                let distance = (x * x + y * y + z * z).sqrt();
                let is_last = distance == EDGES[7];
                let bin =
                    if is_last { Some(6) } else { (0..7).find(|&k| (EDGES[k]..EDGES[k + 1]).contains(&distance)) };
                if let (Some(bin), true) = (bin, labels.is_none_or(|labels| labels[0][i] != labels[1][j])) {
                    counts[bin] += 1;
                }
            }
        }
    }
    counts
}

fn cells() -> impl Strategy<Value = UnitCell> {
    prop_oneof![
        prop::array::uniform3(15f32..40.0).prop_map(|[a, b, c]| UnitCell::Dimensions([a, b, c, 90.0, 90.0, 90.0])),
        (20f32..50.0).prop_map(|a| UnitCell::Dimensions([a, a, a, 60.0, 60.0, 90.0])),
    ]
}

fn frames() -> impl Strategy<Value = Vec<Frame>> {
    // Coordinates that are multiples of 0.5 Å give some distances on the edges of bins.
    let point = prop::array::uniform3(-60i32..60).prop_map(|p| p.map(|x| x as f32 / 2.0));
    prop::collection::vec(prop::collection::vec(point, 30), 1..5)
}

proptest! {
    #[test]
    fn counts_are_those_of_all_pairs(
        frames in frames(), cell in cells(), one_group in any::<bool>(), labelled in any::<bool>(), cut in 0usize..5,
    ) {
        let first: Vec<u32> = (0..20).collect();
        let second: Vec<u32> = if one_group { first.clone() } else { (10..30).collect() };
        let groups = [first, second];
        let labels = labelled.then(|| groups.clone().map(|group| group.iter().map(|atom| atom / 3).collect::<Vec<u32>>()));
        let expected = counted(&frames, &cell, &groups, labels.as_ref());
        let (left, right) = frames.split_at(cut.min(frames.len() - 1));
        let mut batches = vec![batch(left.len() as u64, right, Some(cell))];
        if !left.is_empty() {
            batches.insert(0, batch(0, left, Some(cell)));
        }
        for level in Level::available() {
            let mut tally = mapped(distribution(30, groups.clone(), labels.clone()).at_level(level), &batches).unwrap();
            prop_assert_eq!(tally.counts.pop(), Some(400 * frames.len() as u64), "all pairs are counted behind the bins");
            prop_assert_eq!(&tally.counts, &expected, "{}", level.name());
            let volume = Periodic::new(Some(&cell)).unwrap().unwrap().volume();
            prop_assert!((tally.sums[0].value() - volume * frames.len() as f64).abs() < 1e-6);
        }
    }
}

#[test]
fn distance_of_an_atom_and_itself_counts_unless_it_is_left_out() {
    let cell = UnitCell::Dimensions([30.0, 30.0, 30.0, 90.0, 90.0, 90.0]);
    let frames = [batch(0, &[vec![[0.0; 3], [0.0, 0.0, 1.5]]], Some(cell))];
    for (labels, expected) in [(None, [2, 2, 4]), (Some([vec![0, 1], vec![0, 1]]), [0, 2, 4])] {
        let bins = Bins::new(&[0.0, 1.0, 2.0]).unwrap();
        let computation = RadialDistribution::new(2, [vec![0, 1], vec![0, 1]], bins, labels, true).unwrap();
        assert_eq!(mapped(computation, &frames).unwrap().counts, expected);
    }
}

#[test]
fn frame_that_cannot_be_counted_is_named() {
    let new = || distribution(2, [vec![0], vec![1]], None);
    let message = mapped(new(), &[batch(4, &[vec![[0.0; 3]; 2]], None)]).unwrap_err().to_string();
    assert!(message.contains("frame 4: no periodic cell"), "{message}");
    let cell = Some(UnitCell::Dimensions([9000.0, 9000.0, 9000.0, 90.0, 90.0, 90.0]));
    let message = mapped(new(), &[batch(5, &[vec![[0.0; 3]; 2]], cell)]).unwrap_err().to_string();
    assert!(message.contains("frame 5: the cell has"), "{message}");
    for wrong in 0..2 {
        let cell = Some(UnitCell::Dimensions([30.0, 30.0, 30.0, 90.0, 90.0, 90.0]));
        let mut points = vec![[0.0; 3]; 2];
        points[wrong][1] = f32::NAN;
        let message = mapped(new(), &[batch(6, &[points], cell)]).unwrap_err().to_string();
        assert!(message.contains(&format!("frame 6: atom {wrong} of the 2")), "{message}");
    }
}

#[test]
fn groups_that_have_no_pairs_are_refused() {
    let new = |groups, labels| RadialDistribution::new(2, groups, Bins::new(&EDGES).unwrap(), labels, false);
    for (groups, labels, expected) in [
        ([vec![], vec![1]], None, "no atoms"),
        ([vec![2], vec![1]], None, "atom 2 of 2"),
        ([vec![0], vec![1]], Some([vec![0, 0], vec![1]]), "labels"),
    ] {
        let message = new(groups, labels).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}
