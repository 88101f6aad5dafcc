//! Tests of a consumer that reads the ring and staging: it gets each frame once and in order, wherever the frame is.

use super::super::catch_up::{CatchUp, Next};
use super::*;

fn step(reader: &mut CatchUp) -> Option<i64> {
    match reader.next(LONG).unwrap() {
        Next::End(_) => None,
        Next::Frame(frame) => {
            let view = frame.view().unwrap();
            view.verify(Path::new("frame")).unwrap();
            assert_eq!(frame.header(), &view.header);
            assert!(view.sections().all(|section| section.bytes == [view.header.step as u8; 12 * N_ATOMS]));
            Some(view.header.step)
        }
    }
}

fn steps(reader: &mut CatchUp) -> Vec<i64> {
    std::iter::from_fn(|| step(reader)).collect()
}

fn ignored() -> Policy {
    Policy::Spill(Box::new(|_| Ok(())))
}

#[test]
fn late_consumer_gets_what_is_staged_and_then_what_comes() {
    let place = place();
    let mut producer = open_staged(&place, Policy::Block(LONG), 0, ALL);
    (0..20).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    let mut reader = CatchUp::join(&place.path, Start::Earliest).unwrap();
    assert_eq!(producer.n_consumers().unwrap(), 0, "who reads staging has no place in the ring");
    assert_eq!((0..20).map(|_| step(&mut reader).unwrap()).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    assert!(matches!(reader.next(SHORT), Err(Error::StreamTimeout(_))));
    assert!(!reader.is_in_staging());
    (20..24).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    assert_eq!(producer.lag(), Some(4), "who reads the ring is waited for");
    producer.end(&End::Finished).unwrap();
    assert_eq!(steps(&mut reader), [20, 21, 22, 23]);
    assert_eq!(reader.missed(), 0);
}

#[test]
fn consumer_that_comes_before_the_first_frame_is_counted_at_once() {
    let place = place();
    let mut producer = open_staged(&place, Policy::Block(LONG), 0, ALL);
    let mut reader = CatchUp::join(&place.path, Start::Earliest).unwrap();
    assert!(!reader.is_in_staging());
    assert_eq!(producer.n_consumers().unwrap(), 1);
    (0..4).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    producer.end(&End::Finished).unwrap();
    assert_eq!((steps(&mut reader), reader.missed()), (vec![0, 1, 2, 3], 0));
}

#[test]
fn consumer_gets_each_frame_once_while_the_ring_drops_them() {
    let place = place();
    let mut producer = open_staged(&place, Policy::DropOldest, 0, Retention { segment: 100_000, ..ALL });
    let readers: Vec<_> = [Start::Earliest, Start::Latest]
        .into_iter()
        .map(|start| {
            let mut reader = CatchUp::join(&place.path, start).unwrap();
            thread::spawn(move || (steps(&mut reader), reader.missed()))
        })
        .collect();
    (0..3000).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    producer.end(&End::Finished).unwrap();
    for reader in readers {
        let (steps, missed) = reader.join().unwrap();
        assert_eq!((steps, missed), ((0..3000).collect(), 0));
    }
}

#[test]
fn consumer_begins_where_it_was_told_in_staging_or_in_the_ring() {
    let place = place();
    let mut producer = open_staged(&place, Policy::Block(LONG), 0, ALL);
    (0..20).for_each(|i| assert!(publish(&mut producer, 10 * i).is_ok()));
    let cases = [(Start::Earliest, 0), (Start::Sequence(7), 70), (Start::Step(25), 30), (Start::Time(180.0), 180)];
    for (start, expected) in cases {
        assert_eq!(step(&mut CatchUp::join(&place.path, start).unwrap()), Some(expected));
    }
    let mut latest = CatchUp::join(&place.path, Start::Latest).unwrap();
    assert!(matches!(latest.next(SHORT), Err(Error::StreamTimeout(_))));
    publish(&mut producer, 200).unwrap();
    assert_eq!(step(&mut latest), Some(200));
}

#[test]
fn waiting_consumer_gets_frames_for_which_the_ring_had_no_room() {
    let place = place();
    let mut producer = open_staged(&place, ignored(), 0, ALL);
    // This consumer takes nothing, so the ring stays full.
    let _stuck = Consumer::join(&place.path, Start::Earliest).unwrap();
    let mut reader = CatchUp::join(&place.path, Start::Latest).unwrap();
    let waiting = thread::spawn(move || (steps(&mut reader), reader.missed()));
    (0..50).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    producer.end(&End::Finished).unwrap();
    assert_eq!(waiting.join().unwrap(), ((0..50).collect(), 0));
}

#[test]
fn frames_that_are_nowhere_any_more_are_counted() {
    let place = place();
    let few = Retention { count: Some(6), ..ALL };
    let mut producer = open_staged(&place, Policy::DropOldest, 0, few);
    let mut reader = CatchUp::join(&place.path, Start::Latest).unwrap();
    (0..2).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    assert_eq!((step(&mut reader), step(&mut reader)), (Some(0), Some(1)));
    (2..40).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    producer.end(&End::Finished).unwrap();
    let first = staged_steps(&place)[0];
    assert!((20..35).contains(&first));
    assert_eq!(steps(&mut reader), (first..40).collect::<Vec<_>>());
    assert_eq!(reader.missed(), first as u64 - 2);
    let mut late = CatchUp::join(&place.path, Start::Earliest).unwrap();
    assert_eq!((steps(&mut late), late.missed()), ((first..40).collect(), 0));
}

#[test]
fn channel_without_staging_is_read_from_the_ring() {
    let place = place();
    let mut producer = open(&place.path, Policy::DropOldest, 0);
    let mut reader = CatchUp::join(&place.path, Start::Earliest).unwrap();
    (0..10).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    producer.end(&End::Stopped).unwrap();
    assert_eq!((steps(&mut reader), reader.missed()), (vec![6, 7, 8, 9], 6));
}
