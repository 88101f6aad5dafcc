//! Tests of consumers that hold frames: the producer skips their slots, and never waits for them if it may drop frames.

use std::sync::Arc;
use std::thread;

use super::{LONG, N_ATOMS, SHORT, open, place, publish, step, steps};
use crate::consumer::{Consumer, Next, Start};
use crate::end::End;
use crate::held::{Held, HeldNext, Holder};
use crate::layout::Section;
use crate::producer::{Moment, Policy};
use crate::section::{DataType, SectionKind};
use crate::status::Status;
use mdreel_core::error::Error;

fn hold(holder: &Arc<Holder>) -> Held {
    let HeldNext::Frame(frame) = holder.next(LONG).unwrap() else { panic!("no frame") };
    frame
}

#[test]
fn frame_is_dropped_where_all_slots_are_held_and_nobody_is_waited_for() {
    let place = place();
    let mut producer = open(&place.path, Policy::DropOldest, 0);
    let mut holders: Vec<_> = (0..4).map(|_| Consumer::join(&place.path, Start::Earliest).unwrap()).collect();
    let mut held = Vec::new();
    (0..4).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    for (i, consumer) in holders.iter_mut().enumerate() {
        (0..i).for_each(|earlier| assert_eq!(step(consumer), Some(earlier as i64)));
        let Next::Frame(frame) = consumer.next(LONG).unwrap() else { panic!("no frame") };
        held.push(frame);
    }
    let moment = Moment { step: 4, time: 0.0, cell: None };
    let bytes = [4_u8; 12 * N_ATOMS];
    let section = Section { kind: SectionKind::Positions, data_type: DataType::Float32, bytes: &bytes };
    let published = producer.publish(&moment, &[section]).unwrap();
    assert!(published.is_dropped && !published.is_spilled);
    assert_eq!((published.sequence, producer.dropped()), (4, 1));
    assert_eq!(held.iter().map(|frame| frame.header().step).collect::<Vec<_>>(), [0, 1, 2, 3]);
    drop(held);
    publish(&mut producer, 5).unwrap();
    producer.end(&End::Finished).unwrap();
    // The frame that overwrote frame 0 has a higher number than the dropped frame.
    assert_eq!((steps(&mut holders[0]), holders[0].missed()), (vec![1, 2, 3, 5], 1));
    assert_eq!((steps(&mut holders[3]), holders[3].missed()), (vec![5], 1));
}

#[test]
fn others_see_each_frame_in_order_while_one_holds_a_frame() {
    for may_drop in [false, true] {
        let place = place();
        let policy = if may_drop { Policy::DropOldest } else { Policy::Block(SHORT) };
        let mut producer = open(&place.path, policy, 0);
        let holder = Holder::join(&place.path, Start::Earliest).unwrap();
        let mut other = Consumer::join(&place.path, Start::Earliest).unwrap();
        publish(&mut producer, 0).unwrap();
        let frame = hold(&holder);
        assert_eq!(step(&mut other), Some(0));
        for i in 1..30 {
            publish(&mut producer, i).unwrap();
            assert_eq!((step(&mut other), hold(&holder).header().step), (Some(i), i));
        }
        assert_eq!((other.missed(), holder.missed(), producer.dropped()), (0, 0, 0));
        assert_eq!(Status::of(&place.path).unwrap().n_published, 30);
        assert!(frame.view().unwrap().sections().all(|section| section.bytes == [0; 12 * N_ATOMS]));
    }
}

#[test]
fn consumer_of_the_newest_frame_is_waited_for_by_nobody() {
    for may_drop in [false, true] {
        let place = place();
        let policy = if may_drop { Policy::DropOldest } else { Policy::Block(SHORT) };
        let mut producer = open(&place.path, policy, 0);
        let mut viewer = Consumer::join_latest(&place.path).unwrap();
        (0..10).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
        assert_eq!((producer.lag(), producer.n_consumers().unwrap(), producer.dropped()), (None, 0, 0));
        let Next::Frame(frame) = viewer.next(LONG).unwrap() else { panic!("no frame") };
        assert_eq!(frame.header().step, 9);
        // The producer also continues while the consumer holds a frame, for example because its process was stopped.
        (10..20).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
        assert_eq!((frame.header().step, frame.view().unwrap().header.step), (9, 9));
        drop(frame);
        assert_eq!(step(&mut viewer), Some(19));
        assert_eq!((viewer.missed(), producer.dropped()), (18, 0));
        assert!(matches!(viewer.next(SHORT), Err(Error::StreamTimeout(_))));
        producer.end(&End::Finished).unwrap();
        assert_eq!(step(&mut viewer), None);
    }
}

#[test]
fn frames_that_are_held_stay_while_later_ones_are_taken() {
    let place = place();
    let mut producer = open(&place.path, Policy::Block(SHORT), 0);
    let holder = Holder::join(&place.path, Start::Earliest).unwrap();
    (0..4).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    let mut frames: Vec<_> = (0..4).map(|_| hold(&holder)).collect();
    // Half of the slots are held; the other frames are copies.
    assert_eq!(holder.n_held(), 2);
    for i in 4..40 {
        publish(&mut producer, i).unwrap();
        frames.push(hold(&holder));
    }
    assert_eq!(frames.iter().map(|frame| frame.header().step).collect::<Vec<_>>(), (0..40).collect::<Vec<_>>());
    for frame in &frames {
        let step = frame.header().step;
        assert!(frame.view().unwrap().sections().all(|section| section.bytes == [step as u8; 12 * N_ATOMS]));
    }
    frames.clear();
    publish(&mut producer, 40).unwrap();
    assert_eq!((holder.n_held(), hold(&holder).header().step, holder.missed()), (0, 40, 0));
    (41..45).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
}

#[test]
fn frame_that_is_held_is_not_dropped_and_outlives_its_consumer() {
    let place = place();
    let mut producer = open(&place.path, Policy::DropOldest, 0);
    let holder = Holder::join(&place.path, Start::Earliest).unwrap();
    (0..4).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    let frame = hold(&holder);
    holder.leave();
    drop(holder);
    assert_eq!(producer.n_consumers().unwrap(), 0);
    (4..20).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    assert!(frame.view().unwrap().sections().all(|section| section.bytes == [0; 12 * N_ATOMS]));
}

#[test]
fn frames_may_be_let_go_on_other_threads_while_one_waits() {
    let place = place();
    let mut producer = open(&place.path, Policy::Block(LONG), 0);
    let holder = Holder::join(&place.path, Start::Earliest).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let dropper =
        thread::spawn(move || receiver.into_iter().map(|frame: Held| frame.header().step).collect::<Vec<_>>());
    let taker = thread::spawn(move || {
        let mut steps = 0;
        loop {
            match holder.next(LONG) {
                Ok(HeldNext::Frame(frame)) => {
                    steps += 1;
                    sender.send(frame).unwrap();
                }
                Ok(HeldNext::End(_)) => return steps,
                Err(error) => panic!("{error}"),
            }
        }
    });
    (0..2000).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    producer.end(&End::Finished).unwrap();
    assert_eq!(taker.join().unwrap(), 2000);
    assert_eq!(dropper.join().unwrap(), (0..2000).collect::<Vec<_>>());
}

#[test]
fn oldest_frames_are_dropped_and_counted_but_never_a_borrowed_one() {
    let place = place();
    let mut producer = open(&place.path, Policy::DropOldest, 0);
    let mut consumer = Consumer::join(&place.path, Start::Earliest).unwrap();
    (0..10).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    assert_eq!(producer.dropped(), 6);
    let Next::Frame(frame) = consumer.next(LONG).unwrap() else { panic!("no frame") };
    assert_eq!(frame.header().step, 6);
    let before = frame.to_vec();
    // The slot of the borrowed frame is skipped, so that three slots are left.
    (10..20).for_each(|i| assert_eq!(publish(&mut producer, i).unwrap(), i as u64));
    assert_eq!(before, frame.to_vec());
    drop(frame);
    assert_eq!((consumer.missed(), producer.dropped()), (6, 16));
    producer.end(&End::Finished).unwrap();
    assert_eq!((steps(&mut consumer), consumer.missed()), (vec![17, 18, 19], 16));
}
