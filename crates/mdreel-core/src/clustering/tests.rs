use proptest::prelude::*;

use super::frames::{Frames, Padded};
use super::gromos::{Clusters, clusters_of, gromos};
use super::groups::Groups;
use super::pivots::Pivots;
use super::scan::Scan;
use super::screen::{Comparison, Decision, Limits, Room, Row};
use crate::error::{Error, Result};
use crate::pairs::distance_matrix;
use crate::pool::{Monitor, Unattended};
use crate::simd::Level;

type Frame = Vec<[f32; 3]>;

fn flat(frames: &[Frame]) -> Vec<Vec<f32>> {
    frames.iter().map(|frame| frame.concat()).collect()
}

fn matrix_of(frames: &[Frame], weights: Option<&[f64]>) -> Vec<f64> {
    let positions = flat(frames).concat();
    distance_matrix(&positions, frames[0].len(), weights, true, 1, &mut Unattended).unwrap()
}

/// Implements the definition with the matrix of all pairs.
fn oracle(matrix: &[f64], n_frames: usize, cutoff: f64) -> Clusters {
    let near = |i: usize, j: usize| i != j && matrix[i * n_frames + j] <= cutoff;
    let (mut labels, mut centers) = (vec![u32::MAX; n_frames], Vec::new());
    let mut left: Vec<usize> = (0..n_frames).collect();
    while !left.is_empty() {
        let count = |i: usize| left.iter().filter(|j| near(i, **j)).count();
        let most = left.iter().map(|i| count(*i)).max().unwrap();
        let center = *left.iter().find(|i| count(**i) == most).unwrap();
        for i in left.iter().filter(|i| **i == center || near(center, **i)) {
            labels[*i] = centers.len() as u32;
        }
        centers.push(center as u32);
        left.retain(|i| labels[*i] == u32::MAX);
    }
    Clusters { labels, centers }
}

fn clusters(
    frames: &[Frame],
    weights: Option<&[f64]>,
    cutoff: f64,
    most_pairs: usize,
    n_pivots: usize,
    n_workers: usize,
) -> Result<Clusters> {
    let rows = flat(frames);
    let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
    let frames = Frames::new(&rows, frames[0].len(), weights)?;
    let pivots = Pivots::with(&frames, cutoff, n_pivots, n_workers, &mut Unattended)?;
    clusters_of(&Scan { frames: &frames, pivots: &pivots, cutoff, n_workers }, most_pairs, &mut Unattended)
}

/// Generates frames near a few shapes. Some frames have the same shape, and each frame is moved.
fn shapes(n_atoms: usize) -> impl Strategy<Value = Vec<Frame>> {
    let shape = prop::collection::vec(prop::array::uniform3(-9f32..9.0), n_atoms);
    let frame = (0usize..4, 0usize..4, prop::array::uniform3(-20f32..20.0), prop::array::uniform3(-1f32..1.0), 0u64..9);
    (prop::collection::vec(shape, 4), prop::collection::vec(frame, 1..70)).prop_map(move |(shapes, frames)| {
        let moved = |(which, size, shift, axis, seed): (usize, usize, [f32; 3], [f32; 3], u64)| -> Frame {
            let mut random = noise(seed);
            let norm = axis.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-3);
            let [x, y, z] = axis.map(|value| value / norm);
            shapes[which]
                .iter()
                .map(|point| {
                    let at: [f32; 3] = std::array::from_fn(|k| point[k] + 0.3 * size as f32 * random());
                    // This is half a turn around the axis.
                    let along = 2.0 * (at[0] * x + at[1] * y + at[2] * z);
                    [along * x - at[0] + shift[0], along * y - at[1] + shift[1], along * z - at[2] + shift[2]]
                })
                .collect()
        };
        frames.into_iter().map(moved).collect()
    })
}

/// Returns a generator of pseudorandom numbers between -1 and 1.
fn noise(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed.wrapping_mul(2862933555777941757).wrapping_add(3037000493);
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// Returns a chain that moves steadily from one shape to another.
fn path(n_frames: usize, n_atoms: usize) -> Vec<Frame> {
    let mut random = noise(3);
    let ends: Vec<[Frame; 2]> = vec![std::array::from_fn(|_| {
        (0..n_atoms).map(|i| [1.5 * i as f32 % 23.0 + 4.0 * random(), 9.0 * random(), 9.0 * random()]).collect()
    })];
    let mut at = |frame: usize, atom: usize| -> [f32; 3] {
        let part = frame as f32 / n_frames as f32;
        let [from, to] = &ends[0];
        std::array::from_fn(|k| from[atom][k] + part * (to[atom][k] - from[atom][k]) + 0.2 * random())
    };
    (0..n_frames).map(|frame| (0..n_atoms).map(|atom| at(frame, atom)).collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn clusters_are_those_of_the_definition_on_the_whole_matrix(
        frames in (1usize..70).prop_flat_map(shapes), is_weighted: bool, which in 0.0..1.0f64, n_pivots in 0usize..4,
    ) {
        let weights: Vec<f64> = (0..frames[0].len()).map(|i| (i % 4) as f64 + if i == 0 { 1.0 } else { 0.0 }).collect();
        let weights = is_weighted.then_some(&weights[..]);
        let matrix = matrix_of(&frames, weights);
        let mut sorted = matrix.clone();
        sorted.sort_by(f64::total_cmp);
        // The cutoff is the RMSD of a pair, so that the last bit decides the comparison.
        let cutoff = sorted[(which * (sorted.len() - 1) as f64) as usize];
        for cutoff in [cutoff, cutoff.next_down().max(0.0)] {
            let expected = oracle(&matrix, frames.len(), cutoff);
            for (most_pairs, n_workers) in [(usize::MAX, 1), (usize::MAX, 3), (0, 1), (9, 2)] {
                let found = clusters(&frames, weights, cutoff, most_pairs, n_pivots, n_workers).unwrap();
                prop_assert_eq!(&found, &expected, "{} pairs, {} workers", most_pairs, n_workers);
            }
        }
    }
}

#[test]
fn pivots_and_groups_that_are_forgotten_change_nothing() {
    let frames = path(700, 20);
    let matrix = matrix_of(&frames, None);
    for cutoff in [0.3, 0.9, 2.0, 4.0, 50.0] {
        let expected = oracle(&matrix, frames.len(), cutoff);
        for (most_pairs, n_pivots, n_workers) in [(usize::MAX, 7, 2), (0, 7, 2), (0, 0, 1), (1000, 2, 1)] {
            let found = clusters(&frames, None, cutoff, most_pairs, n_pivots, n_workers).unwrap();
            assert_eq!(found, expected, "{cutoff} Å, {most_pairs} pairs, {n_pivots} pivots");
        }
    }
}

#[test]
fn shapes_that_single_precision_cannot_tell_are_compared_exactly() {
    let line =
        |scale: f32, offset: f32| -> Frame { (0..5).map(|i| [scale * i as f32 + offset, offset, 0.0]).collect() };
    let sheet: Frame = (0..5).map(|i| [i as f32, (i * i) as f32, 1.0]).collect();
    let point = vec![[3.0, 2.0, 1.0]; 5];
    let frames = [
        line(1.0, 0.0),
        line(1.0, 4e6),
        line(1.5, -7.0),
        point.clone(),
        sheet.clone(),
        line(1e-20, 0.0),
        line(1e12, 0.0),
        point,
        vec![[0.0; 3]; 5],
        sheet,
        line(1.0, 0.0),
        line(1e-3, 1e5),
    ];
    let matrix = matrix_of(&frames, None);
    for cutoff in [0.0, 1e-9, 0.3, 1.0, 1e6, 1e13].into_iter().chain(matrix.iter().copied()) {
        let expected = oracle(&matrix, frames.len(), cutoff);
        for (most_pairs, n_pivots) in [(usize::MAX, 0), (0, 3)] {
            assert_eq!(clusters(&frames, None, cutoff, most_pairs, n_pivots, 1).unwrap(), expected, "{cutoff} Å");
        }
    }
}

#[test]
fn one_frame_or_none_and_frames_of_one_atom_have_clusters() {
    let none = gromos(&[], 3, None, 1.0, 9, 2, &mut Unattended).unwrap();
    assert_eq!(none, Clusters { labels: vec![], centers: vec![] });
    let one = clusters(&[vec![[1.0, 2.0, 3.0]; 2]], None, 0.0, 9, 3, 2).unwrap();
    assert_eq!(one, Clusters { labels: vec![0], centers: vec![0] });
    let atoms: Vec<Frame> = (0..40).map(|i| vec![[i as f32, 0.0, 1.0]]).collect();
    let all = clusters(&atoms, None, 0.0, 9, 3, 2).unwrap();
    assert_eq!(all, Clusters { labels: vec![0; 40], centers: vec![0] });
}

/// Checks the decisions of an instruction set against the exact distances. Returns the number of undecided pairs.
fn undecided(frames: &[Frame], level: Level, cutoff: f64) -> usize {
    let (rows, n_atoms) = (flat(frames), frames[0].len());
    let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
    let frames = Frames::new(&rows, n_atoms, None).unwrap();
    let pivots = Pivots::with(&frames, cutoff, 2, 1, &mut Unattended).unwrap();
    let numbers: Vec<u32> = (0..frames.len() as u32).collect();
    let groups = Groups::new(&frames, &pivots, numbers.clone());
    let row = |number: &u32| -> Row {
        let mut points = Vec::new();
        let half_moment = 0.5 * frames.centred(*number as usize, &mut points);
        Row { points, half_moment, distances: pivots.of(*number as usize) }
    };
    let compared: Vec<Row> = numbers.iter().map(row).collect();
    let limits = Limits { half_square: 0.5 * cutoff * cutoff * n_atoms as f64, reach: pivots.reach() };
    let (mut room, mut decisions, mut columns, mut n_undecided) = (Room::default(), vec![], Padded::default(), 0);
    for group in 0..groups.len() {
        let ids = groups.ids_of(group);
        let wanted = vec![((1u32 << ids.len()) - 1) as u16; compared.len()];
        let comparison = Comparison { limits, rows: &compared, groups: &groups, group, wanted: &wanted };
        comparison.decide(level, &mut room, &mut decisions);
        for (row, Decision { near, undecided }) in decisions.iter().enumerate() {
            let reference = frames.reference(row).unwrap();
            for (lane, id) in ids.iter().enumerate().filter(|(_, id)| **id as usize != row) {
                let is_near = frames.rmsd(&reference, *id as usize, &mut columns).unwrap() <= cutoff;
                let bit = |bits: &u16| bits >> lane & 1 == 1;
                assert!(bit(undecided) || bit(near) == is_near, "{row} and {id} at {}", level.name());
                n_undecided += usize::from(bit(undecided));
            }
        }
    }
    n_undecided
}

#[test]
fn few_pairs_are_left_to_double_precision() {
    let frames = path(120, 150);
    for level in Level::available() {
        for cutoff in [0.4, 1.0, 3.0, 8.0] {
            let n_undecided = undecided(&frames, level, cutoff);
            assert!(n_undecided < 120 * 119 / 50, "{n_undecided} at {cutoff} Å with {}", level.name());
        }
    }
}

#[test]
fn what_cannot_be_clustered_is_named() {
    let frames = vec![vec![[1.0, 2.0, 3.0]; 2]; 3];
    for cutoff in [f64::NAN, -1.0, f64::INFINITY] {
        let message = gromos(&[&[0.0; 6]], 2, None, cutoff, 9, 1, &mut Unattended).unwrap_err().to_string();
        assert!(message.contains("expected a finite length, 0 or more"), "{message}");
    }
    let message = clusters(&frames, Some(&[1.0]), 1.0, 9, 0, 1).unwrap_err().to_string();
    assert!(message.contains("expected 2 weights"), "{message}");
    let message = clusters(&frames, Some(&[0.0, 0.0]), 1.0, 9, 0, 1).unwrap_err().to_string();
    assert!(message.contains("all 2 weights are 0"), "{message}");
    let mut wrong = frames.clone();
    wrong[1][1][2] = f32::NAN;
    let message = clusters(&wrong, None, 1.0, 9, 0, 1).unwrap_err().to_string();
    assert!(message.contains("frame 1 of those compared: atom 1 is not finite"), "{message}");
    let message = gromos(&[&[0.0; 5]], 2, None, 1.0, 9, 1, &mut Unattended).unwrap_err().to_string();
    assert!(message.contains("5 numbers are no positions of 2 atoms"), "{message}");
}

struct Stop;

impl Monitor for Stop {
    fn poll(&mut self, _frames_done: u64) -> bool {
        false
    }
}

#[test]
fn clustering_can_be_interrupted() {
    let frames = flat(&path(4000, 400));
    let rows: Vec<&[f32]> = frames.iter().map(Vec::as_slice).collect();
    for n_workers in [1, 2] {
        let stopped = gromos(&rows, 400, None, 1.0, 9, n_workers, &mut Stop);
        assert!(matches!(stopped, Err(Error::Interrupted)));
    }
}
