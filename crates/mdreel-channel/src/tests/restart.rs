//! Tests of producers that restart: staged frames are not forgotten, and no number is used twice.

use super::super::catch_up::CatchUp;
use super::super::layout::{Header, encode};
use super::*;

/// Stages a frame like a producer that dies before it publishes the frame.
fn stage(place: &Place, sequence: u64, step: i64) {
    let bytes = [step as u8; 12 * N_ATOMS];
    let section = Section { kind: SectionKind::Positions, data_type: DataType::Float32, bytes: &bytes };
    let (time, n_atoms) = (step as f64, N_ATOMS as u64);
    let header = Header { stream: 1, epoch: 0, sequence, step, time, n_atoms, cell: None };
    let mut frame = vec![0; 1000];
    let length = encode(&header, &[section], &mut frame).unwrap();
    let mut staging = Staging::open(&place.staging(), Durability::File, ALL).unwrap();
    staging.append(sequence, &frame[..length]).unwrap();
}

fn rest(reader: &mut CatchUp) -> Vec<(u64, u64, i64)> {
    let mut seen = Vec::new();
    while let super::super::catch_up::Next::Frame(frame) = reader.next(LONG).unwrap() {
        seen.push((frame.header().epoch, frame.header().sequence, frame.header().step));
    }
    seen
}

#[test]
fn frame_that_was_staged_and_not_published_is_published_by_the_successor() {
    for (resume_step, expected) in [
        // The checkpoint was after the frame, so the frame is not computed again.
        (4, vec![(0, 2, 2), (0, 3, 3), (1, 4, 4)]),
        (3, vec![(0, 2, 2), (1, 4, 3), (1, 5, 4)]),
    ] {
        let place = place();
        let mut producer = open_staged(&place, Policy::Block(LONG), 0, ALL);
        let mut from_ring = Consumer::join(&place.path, Start::Sequence(2)).unwrap();
        (0..3).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
        let mut reader = CatchUp::join(&place.path, Start::Sequence(2)).unwrap();
        assert_eq!(step(&mut from_ring), Some(2));
        drop(producer);
        stage(&place, 3, 3);
        let mut producer = open_staged(&place, Policy::Block(LONG), resume_step, ALL);
        assert_eq!(producer.epoch(), 1);
        (resume_step..5).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
        producer.end(&End::Finished).unwrap();
        assert_eq!(rest(&mut reader), expected);
        assert_eq!(steps(&mut from_ring), [3, 4]);
    }
}

#[test]
fn channel_goes_on_behind_its_staging_when_the_ring_has_gone() {
    let place = place();
    let mut producer = open_staged(&place, Policy::Block(LONG), 0, ALL);
    (0..6).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    drop(producer);
    // This is the state after a restart of the machine: the files in memory are gone.
    std::fs::remove_dir_all(&place.path).unwrap();
    let mut producer = open_staged(&place, Policy::Block(LONG), 4, ALL);
    assert_eq!(producer.epoch(), 1);
    let mut reader = CatchUp::join(&place.path, Start::Earliest).unwrap();
    (4..7).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    producer.end(&End::Finished).unwrap();
    let old = (0..4).map(|i| (0, i as u64, i));
    assert_eq!(rest(&mut reader), old.chain([(1, 6, 4), (1, 7, 5), (1, 8, 6)]).collect::<Vec<_>>());
    assert_eq!(reader.missed(), 0);
}

#[test]
fn frames_that_had_gone_before_a_restart_are_late() {
    for (start, n_late) in [(Start::Earliest, 6), (Start::Sequence(3), 3), (Start::Step(7), 0)] {
        let place = place();
        let mut producer = open(&place.path, Policy::Block(LONG), 0);
        (0..10).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
        drop(producer);
        // The ring has the frames from 6 on, which are computed again.
        let mut producer = open(&place.path, Policy::Block(LONG), 5);
        let mut reader = CatchUp::join(&place.path, start).unwrap();
        let reading = thread::spawn(move || (rest(&mut reader), reader.n_late(), reader.missed()));
        (5..8).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
        producer.end(&End::Finished).unwrap();
        let first = if start == Start::Step(7) { 7 } else { 5 };
        let expected = (first..8).map(|i| (1, 5 + i as u64, i)).collect();
        assert_eq!(reading.join().unwrap(), (expected, n_late, 0), "{start:?}");
    }
}

#[test]
fn staging_of_another_stream_is_refused() {
    let place = place();
    stage(&place, 0, 0);
    let mut other = settings(Policy::Block(LONG), 0);
    other.manifest.stream = 2;
    other.staging = Some(Staging::open(&place.staging(), Durability::File, ALL).unwrap());
    assert!(matches!(Producer::open(&place.path, other).map(|_| ()), Err(Error::Mismatch(_))));
}

#[test]
fn failed_spill_leaves_the_number_of_the_frame_to_the_next() {
    let place = place();
    let mut fails = true;
    let spill = Policy::Spill(Box::new(move |_| {
        fails = !fails;
        if fails { Ok(()) } else { Err(Error::function("no")) }
    }));
    let mut producer = open_staged(&place, spill, 0, ALL);
    let _stuck = Consumer::join(&place.path, Start::Earliest).unwrap();
    (0..4).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    assert!(publish(&mut producer, 4).is_err());
    assert_eq!(publish(&mut producer, 4).unwrap(), 4);
    assert_eq!(staged_steps(&place), [0, 1, 2, 3, 4]);
}
