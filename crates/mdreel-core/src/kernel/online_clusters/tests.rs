use proptest::prelude::*;

use super::*;
use crate::kernel::Kernel;
use crate::kernel::fixture::batch;
use crate::kernel::pass::Pass;
use crate::reduce::{Own, Partial, Tally};
use crate::superpose::Reference;

const N_ATOMS: usize = 11;
type Frame = Vec<[f32; 3]>;

/// Returns the expected labels and leaders, from a comparison of every frame with every earlier leader.
fn expected(frames: &[Frame], weights: Option<&[f64]>, cutoff: f64) -> (Vec<u32>, Vec<u64>) {
    let (mut labels, mut leaders, mut places) = (Vec::new(), Vec::<Reference>::new(), Vec::new());
    for (place, frame) in frames.iter().enumerate() {
        let batch = batch(0, std::slice::from_ref(frame), None);
        let distances = leaders.iter().map(|leader| leader.superpose(batch.columns(0)).unwrap().rmsd);
        let nearest = distances.enumerate().filter(|(_, d)| *d <= cutoff).min_by(|a, b| a.1.total_cmp(&b.1));
        labels.push(nearest.map_or(leaders.len(), |(number, _)| number) as u32);
        if nearest.is_none() {
            let points: Vec<[f64; 3]> = frame.iter().map(|point| point.map(f64::from)).collect();
            leaders.push(Reference::new(&points, weights, Level::detect()).unwrap());
            places.push(place as u64);
        }
    }
    (labels, places)
}

fn pass(weights: Option<&[f64]>, cutoff: f64, level: Level) -> Pass {
    Pass::of(OnlineClusters::at_level(N_ATOMS, weights, cutoff, level).unwrap())
}

fn block(pass: &mut Pass, first: usize, frames: &[Frame]) -> Tally {
    let mut tally = pass.empty();
    for (k, part) in frames.chunks(3).enumerate() {
        pass.map(&batch((first + 3 * k) as u64, part, None), &mut tally).unwrap();
    }
    tally
}

fn taken(tally: &mut Tally) -> FoundClusters {
    tally.own[0].here::<OnlineAssignment>().unwrap().take()
}

/// Returns the same tally after conversion to bytes.
fn sent(tally: Tally) -> Tally {
    Tally { own: tally.own.clone(), ..tally }
}

/// Returns frames that are near one of several shapes.
fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let shape = prop::collection::vec(prop::array::uniform3(-5f32..5.0), N_ATOMS);
    let noise = prop::collection::vec(prop::array::uniform3(-0.6f32..0.6), N_ATOMS);
    let chosen = prop::collection::vec((any::<prop::sample::Index>(), noise), 1..60);
    (prop::collection::vec(shape, 1..30), chosen).prop_map(|(shapes, chosen)| {
        let moved = |(index, noise): (prop::sample::Index, Frame)| {
            let points = index.get(&shapes).iter().zip(noise);
            points.map(|(point, noise)| std::array::from_fn(|k| point[k] + noise[k])).collect()
        };
        chosen.into_iter().map(moved).collect()
    })
}

proptest! {
    #[test]
    fn clusters_are_those_of_all_comparisons_in_order(
        frames in frames(), cutoff in 0.1f64..3.0, weighted in any::<bool>(),
        cuts in prop::collection::vec(0usize..60, 0..5), late in any::<bool>(),
    ) {
        let weights: Vec<f64> = (0..N_ATOMS).map(|i| 1.0 + (i % 3) as f64).collect();
        let weights = weighted.then_some(&weights[..]);
        let (labels, places) = expected(&frames, weights, cutoff);
        let mut edges: Vec<usize> = cuts.iter().map(|cut| cut % (frames.len() + 1)).chain([0, frames.len()]).collect();
        edges.sort_unstable();
        for level in Level::available() {
            let mut pass = pass(weights, cutoff, level);
            let mut whole = pass.empty();
            whole.begin();
            // If `late`, each block knows the leaders of the blocks merged before it. Otherwise, all blocks are computed first
            // and know no leaders.
            let early: Vec<Tally> = if late { Vec::new() } else {
                edges.windows(2).map(|edge| block(&mut pass, edge[0], &frames[edge[0]..edge[1]])).collect()
            };
            let mut early = early.into_iter();
            for (k, edge) in edges.windows(2).enumerate() {
                let next = early.next().unwrap_or_else(|| block(&mut pass, edge[0], &frames[edge[0]..edge[1]]));
                whole.merge(if k % 3 == 1 { sent(next) } else { next });
            }
            let found = taken(&mut whole);
            prop_assert_eq!(&found.0, &labels);
            prop_assert_eq!(&found.1, &places);
            let positions: Vec<f32> = places.iter().flat_map(|place| frames[*place as usize].concat()).collect();
            prop_assert_eq!(found.2, positions);
        }
    }

    #[test]
    fn parts_that_merge_before_they_reach_the_whole_are_the_same(
        frames in frames(), cutoff in 0.1f64..3.0, cut in 0usize..60, second in 0usize..60, through_bytes in any::<bool>(),
    ) {
        let (labels, places) = expected(&frames, None, cutoff);
        let (cut, second) = (cut % (frames.len() + 1), second % (frames.len() + 1));
        let (cut, second) = (cut.min(second), cut.max(second));
        let mut pass = pass(None, cutoff, Level::detect());
        let mut part = block(&mut pass, cut, &frames[cut..second]);
        part.merge(block(&mut pass, second, &frames[second..]));
        let mut whole = pass.empty();
        whole.begin();
        whole.merge(block(&mut pass, 0, &frames[..cut]));
        // The intermediate state, as shown while a simulation runs, must have the same labels and must not affect the result.
        let mut so_far = pass.empty();
        so_far.begin();
        so_far.merge(sent(Tally { own: whole.own.clone(), ..pass.empty() }));
        prop_assert_eq!(&taken(&mut so_far).0[..], &labels[..cut]);
        whole.merge(if through_bytes { sent(part) } else { part });
        prop_assert_eq!(taken(&mut whole), (labels.clone(), places, taken_positions(&frames, cutoff)));
        // A value for which `begin` was not called assigns its frames when they are taken.
        let mut untold = block(&mut pass, 0, &frames);
        prop_assert_eq!(taken(&mut untold).0, labels);
    }
}

fn taken_positions(frames: &[Frame], cutoff: f64) -> Vec<f32> {
    expected(frames, None, cutoff).1.iter().flat_map(|place| frames[*place as usize].concat()).collect()
}

#[test]
fn whole_keeps_only_leaders_and_labels() {
    let frames: Vec<Frame> = (0..40).map(|k| vec![[0.01 * (k % 7) as f32, 0.0, 0.0]; N_ATOMS]).collect();
    let mut pass = pass(None, 1.0, Level::detect());
    let mut whole = pass.empty();
    whole.begin();
    for (k, part) in frames.chunks(5).enumerate() {
        whole.merge(block(&mut pass, 5 * k, part));
    }
    let Own::Bytes(bytes) = whole.own[0].clone() else { panic!("a clone is bytes") };
    assert!(bytes.len() < 2 * 12 * 16 + 100, "one leader and 40 labels, not 40 frames: {} bytes", bytes.len());
    assert_eq!(taken(&mut whole).1, [0]);
}

#[test]
fn wrong_settings_and_positions_are_refused() {
    for (n_atoms, weights, cutoff, expected) in [
        (0, None, 1.0, "no atoms"),
        (2, None, -1.0, "cutoff of -1"),
        (2, None, f64::NAN, "cutoff of NaN"),
        (2, Some(&[1.0][..]), 1.0, "weights"),
    ] {
        let message = OnlineClusters::new(n_atoms, weights, cutoff).map(|_| ()).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let mut pass = Pass::of(OnlineClusters::new(2, None, 1.0).unwrap());
    let mut tally = pass.empty();
    let message = pass.map(&batch(8, &[vec![[0.0; 3], [0.0, f32::NAN, 0.0]]], None), &mut tally).unwrap_err();
    assert!(message.to_string().contains("frame 8: atom 1 of the 2"), "{message}");
}
