use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::frame::Columns;
use crate::kernel::fixture::{batch, mapped};
use crate::superpose::Reference;

const N_ATOMS: usize = 25;
type Frame = Vec<[f32; 3]>;

/// Returns the distances and the scores after the superposition of the chosen atoms.
fn slow_scores(frame: &Frame, reference: &[[f64; 3]], chosen: &[usize], scale: f64) -> (Vec<f64>, Scores) {
    let targets: Vec<[f64; 3]> = chosen.iter().map(|&place| reference[place]).collect();
    let column = |k: usize| chosen.iter().map(|&place| frame[place][k]).collect::<Vec<f32>>();
    let (x, y, z) = (column(0), column(1), column(2));
    let fit = Reference::new(&targets, None, Level::detect()).unwrap();
    let motion = fit.superpose(Columns { x: &x, y: &y, z: &z }).unwrap();
    let distances: Vec<f64> = frame
        .iter()
        .zip(reference)
        .map(|(point, target)| {
            let moved = motion.apply(point.map(f64::from));
            (0..3).map(|k| (moved[k] - target[k]).powi(2)).sum::<f64>().sqrt()
        })
        .collect();
    let mut scores = [0.0; 6];
    scores[0] = distances.iter().map(|distance| 1.0 / (1.0 + (distance / scale).powi(2))).sum();
    for (score, cutoff) in scores[1..].iter_mut().zip([0.5, 1.0, 2.0, 4.0, 8.0]) {
        *score = distances.iter().filter(|&&distance| distance <= cutoff).count() as f64;
    }
    (distances, scores)
}

/// Returns the scores from a search that follows each fragment until one of its own sets occurs for the second time, regardless
/// of the sets of other fragments.
fn slow_search(frame: &Frame, reference: &[[f64; 3]]) -> [f64; 3] {
    let n_atoms = frame.len();
    let scale = (1.24 * (n_atoms as f64 - 15.0).cbrt() - 1.8).max(0.5);
    let mut best = [0.0; 6];
    for length in [25, 12, 6, 4] {
        for start in 0..=n_atoms - length {
            let mut chosen: Vec<usize> = (start..start + length).collect();
            let mut seen = BTreeSet::new();
            let mut near = 3.5;
            loop {
                let (distances, scores) = slow_scores(frame, reference, &chosen, scale);
                add_largest(&mut best, scores);
                let mut cutoff = near;
                loop {
                    chosen = (0..n_atoms).filter(|&place| distances[place] <= cutoff).collect();
                    if chosen.len() >= 3 {
                        break;
                    }
                    cutoff += 0.5;
                }
                if !seen.insert(chosen.clone()) {
                    break;
                }
                near = 5.5;
            }
        }
    }
    let [score, half, one, two, four, eight] = best.map(|sum| sum / n_atoms as f64);
    [score, (one + two + four + eight) / 4.0, (half + one + two + four) / 4.0]
}

fn chain() -> impl Strategy<Value = Vec<Frame>> {
    let steps = prop::collection::vec(prop::array::uniform3(-2f32..2.0), N_ATOMS);
    let noise = prop::collection::vec(prop::array::uniform3(-1f32..1.0), N_ATOMS);
    (steps, noise, 0f32..4.0).prop_map(|(steps, noise, size)| {
        let mut at = [0f32; 3];
        let reference: Frame = steps
            .iter()
            .map(|step| {
                at = std::array::from_fn(|k| at[k] + step[k]);
                at
            })
            .collect();
        // The structure is rotated by 90 degrees and shifted, and one half of it is disturbed.
        let moved = reference.iter().zip(&noise).enumerate().map(|(i, (point, noise))| {
            let size = if i < N_ATOMS / 2 { 0.1 } else { size };
            let [x, y, z] = std::array::from_fn(|k| point[k] + size * noise[k]);
            [5.0 - y, x - 3.0, z + 8.0]
        });
        vec![reference.clone(), moved.collect()]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn scores_are_those_of_the_slow_search(frames in chain()) {
        let reference: Vec<[f64; 3]> = frames[0].iter().map(|point| point.map(f64::from)).collect();
        let atoms: Vec<u32> = (0..N_ATOMS as u32).collect();
        for level in Level::available() {
            let scores = TemplateScores::at_level(N_ATOMS, atoms.clone(), &reference, N_ATOMS, level).unwrap();
            let found = mapped(scores, &[batch(0, &frames, None)]).unwrap().rows.into_values();
            prop_assert!(found[2..5].iter().all(|score| (score - 1.0).abs() < 1e-9), "{:?}", &found[2..5]);
            for (one, other) in found[7..].iter().zip(slow_search(&frames[1], &reference)) {
                prop_assert!((one - other).abs() < 1e-6, "{} and {}", one, other);
            }
        }
    }

    #[test]
    fn order_of_atoms_in_the_frame_does_not_matter(frames in chain()) {
        let reference: Vec<[f64; 3]> = frames[0].iter().map(|point| point.map(f64::from)).collect();
        let order: Vec<u32> = (0..N_ATOMS as u32).map(|i| (7 * i + 3) % N_ATOMS as u32).collect();
        let turned: Vec<Frame> = frames
            .iter()
            .map(|frame| {
                let mut turned = frame.clone();
                order.iter().zip(frame).for_each(|(&place, point)| turned[place as usize] = *point);
                turned
            })
            .collect();
        let values = |atoms: Vec<u32>, frames: &[Frame]| {
            let scores = TemplateScores::new(N_ATOMS, atoms, &reference, N_ATOMS).unwrap();
            mapped(scores, &[batch(0, frames, None)]).unwrap().rows.into_values()
        };
        prop_assert_eq!(values(order.clone(), &turned), values((0..N_ATOMS as u32).collect(), &frames));
    }
}

#[test]
fn input_without_scores_is_refused() {
    let two = [[0.0; 3], [1.0, 2.0, 3.0]];
    let message =
        |atoms: Vec<u32>, n_residues| TemplateScores::new(2, atoms, &two, n_residues).unwrap_err().to_string();
    assert!(message(vec![], 2).contains("an atom of each residue"));
    assert!(message(vec![0], 2).contains("1 atoms, 2 of the reference"));
    assert!(message(vec![0, 1], 1).contains("1 residues"));
    assert!(message(vec![0, 2], 2).contains("atom 2 of 2"));
    let wrong = TemplateScores::new(2, vec![0, 1], &[[0.0; 3], [f64::NAN; 3]], 2).unwrap_err().to_string();
    assert!(wrong.contains("not finite"), "{wrong}");
    let scores = TemplateScores::new(2, vec![0, 1], &two, 2).unwrap();
    let error = mapped(scores, &[batch(4, &[vec![[0.0; 3], [f32::NAN; 3]]], None)]).unwrap_err().to_string();
    assert!(error.contains("frame 4: atom 1 of the 2 selected"), "{error}");
}

#[test]
fn search_ends_when_a_structure_is_far_too_large() {
    let points: Vec<[f64; 3]> = (0..9u8).map(|i| [f64::from(i), f64::from(i * i), 1.0]).collect();
    let frame = points.iter().map(|point| point.map(|value| 1e30 * value as f32)).collect();
    let scores = TemplateScores::new(9, (0..9).collect(), &points, 9).unwrap();
    let found = mapped(scores, &[batch(0, &[frame], None)]).unwrap().rows.into_values();
    assert!(found[2..].iter().all(|score| (0.0..0.3).contains(score)), "{found:?}");
}

#[test]
fn one_residue_and_a_longer_target_have_scores() {
    let one = TemplateScores::new(1, vec![0], &[[1.0; 3]], 1).unwrap();
    let found = mapped(one, &[batch(0, &[vec![[9.0; 3]]], None)]).unwrap().rows.into_values();
    assert_eq!(found[2..], [1.0, 1.0, 1.0]);
    let points: Vec<[f64; 3]> = (0..6u8).map(|i| [f64::from(i), f64::from(i * i), 1.0]).collect();
    let frame = points.iter().map(|point| point.map(|value| value as f32)).collect();
    let half = TemplateScores::new(6, (0..6).collect(), &points, 12).unwrap();
    let found = mapped(half, &[batch(0, &[frame], None)]).unwrap().rows.into_values();
    assert!(found[2..].iter().all(|score| (score - 0.5).abs() < 1e-9), "{found:?}");
}
