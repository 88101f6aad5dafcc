//! The model check of the protocol: every interleaving of a small ring, and what weak memory makes of it.
//!
//! What is checked is the protocol's own file, with the atomic numbers of loom. The slots are cells of loom, which finds a
//! read that is not ordered with a write; an alarm that is lost is a deadlock, which it finds as well.
//! With `MDREEL_SLOW_TESTS=1` as deep as minutes allow: `cargo test --release -p mdreel-channel --test channel_model`.

#[path = "support/loom_atomic.rs"]
mod atomic;
#[allow(dead_code, reason = "what no model needs is not checked here")]
#[path = "../src/protocol.rs"]
mod protocol;

use std::time::Duration;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use atomic::Ordering;
use protocol::{Control, Cursor, Full, Ring, Room, Taken};

const N_SLOTS: usize = 2;
const LONG: Duration = Duration::from_secs(1);

/// Explores a model, with `at_most` switches of threads that are forced; in full with three, which find all known faults of such
/// protocols.
fn explore(at_most: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let is_slow = std::env::var_os("MDREEL_SLOW_TESTS").is_some_and(|value| value == "1");
    builder.preemption_bound = Some(if is_slow { 3 } else { at_most });
    builder.check(model);
}

struct Shared {
    control: Control,
    room: Room,
    cursors: Vec<Cursor>,
    slots: [UnsafeCell<u64>; N_SLOTS],
}

// SAFETY: that the slots are not read while they are written is what the protocol promises and loom checks.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    fn new(n_consumers: usize) -> Arc<Self> {
        let shared = Shared {
            control: Control::default(),
            room: Room::default(),
            cursors: (0..n_consumers).map(|_| Cursor::default()).collect(),
            slots: [UnsafeCell::new(0), UnsafeCell::new(0)],
        };
        for cursor in &shared.cursors {
            shared.ring().join(cursor, 0);
        }
        Arc::new(shared)
    }

    fn ring(&self) -> Ring<'_> {
        Ring { control: &self.control, room: &self.room, cursors: &self.cursors, n_slots: N_SLOTS as u64 }
    }

    fn produce(&self, n_frames: u64, may_drop: bool) {
        let ring = self.ring();
        for frame in 0..n_frames {
            let position = loop {
                match ring.claim(may_drop) {
                    Ok(position) => break position,
                    Err(Full::Wanted | Full::Borrowed) => {
                        ring.await_room(|| ring.claim(may_drop).is_err(), LONG);
                    }
                }
            };
            assert_eq!(position, frame);
            // SAFETY: the slot is claimed; loom checks it.
            self.slots[position as usize % N_SLOTS].with_mut(|slot| unsafe { *slot = frame + 100 });
            ring.publish(position);
        }
    }

    fn consume(&self, consumer: usize, n_frames: u64) -> (u64, u64) {
        self.consume_from(consumer, 0, n_frames)
    }

    fn consume_from(&self, consumer: usize, first: u64, n_frames: u64) -> (u64, u64) {
        let (ring, cursor) = (self.ring(), &self.cursors[consumer]);
        let (mut next, mut seen, mut lost) = (first, 0, 0);
        while next < n_frames {
            match ring.take(cursor, next) {
                Taken::Frame { position, missed } => {
                    // SAFETY: the slot is borrowed; loom checks it.
                    let frame = self.slots[position as usize % N_SLOTS].with(|slot| unsafe { *slot });
                    assert_eq!(frame, position + 100);
                    next = position + 1;
                    ring.give_back(cursor, next);
                    seen += 1;
                    lost += missed;
                }
                Taken::NotYet => ring.await_arrival(cursor, (next, None), || false, LONG),
            }
        }
        (seen, lost)
    }
}

impl Shared {
    /// As `consume`, by one who holds each frame until the next one is read.
    fn consume_holding(&self, n_frames: u64) -> (u64, u64) {
        let (ring, cursor) = (self.ring(), &self.cursors[0]);
        let (mut next, mut held, mut seen, mut lost) = (0, None, 0, 0);
        let read = |position: u64| {
            // SAFETY: the slot is borrowed, or behind one that is; loom checks it.
            let frame = self.slots[position as usize % N_SLOTS].with(|slot| unsafe { *slot });
            assert_eq!(frame, position + 100);
        };
        while next < n_frames {
            let taken = match held {
                None => ring.take(cursor, next),
                Some(_) if ring.is_there(next) => Taken::Frame { position: next, missed: 0 },
                Some(_) => Taken::NotYet,
            };
            match taken {
                Taken::Frame { position, missed } => {
                    read(position);
                    if let Some(oldest) = held.replace(position) {
                        read(oldest);
                        ring.hold(cursor, position);
                    }
                    next = position + 1;
                    seen += 1;
                    lost += missed;
                }
                Taken::NotYet => ring.await_arrival(cursor, (next, held), || false, LONG),
            }
        }
        ring.give_back(cursor, next);
        (seen, lost)
    }
}

fn check_holding(n_frames: u64, may_drop: bool) {
    explore(2, move || {
        let shared = Shared::new(1);
        let consumer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.consume_holding(n_frames))
        };
        shared.produce(n_frames, may_drop);
        let (seen, lost) = consumer.join().unwrap();
        assert_eq!(seen + lost, n_frames);
        assert!(may_drop || lost == 0);
    });
}

#[test]
fn consumer_that_holds_a_frame_sees_the_next_when_the_producer_waits() {
    check_holding(4, false);
}

#[test]
fn consumer_that_holds_a_frame_sees_the_next_when_the_oldest_is_dropped() {
    check_holding(4, true);
}

fn check(n_consumers: usize, n_frames: u64, may_drop: bool) {
    explore(if n_consumers == 1 { 2 } else { 1 }, move || {
        let shared = Shared::new(n_consumers);
        let consumers: Vec<_> = (0..n_consumers)
            .map(|consumer| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.consume(consumer, n_frames))
            })
            .collect();
        shared.produce(n_frames, may_drop);
        for consumer in consumers {
            let (seen, lost) = consumer.join().unwrap();
            assert_eq!(seen + lost, n_frames);
            assert!(may_drop || lost == 0);
        }
    });
}

#[test]
fn consumer_sees_each_frame_when_the_producer_waits() {
    check(1, 3, false);
}

#[test]
fn consumer_sees_or_counts_each_frame_when_the_oldest_is_dropped() {
    check(1, 3, true);
}

#[test]
fn two_consumers_see_each_frame_when_the_producer_waits() {
    check(2, 3, false);
}

#[test]
fn two_consumers_see_or_count_each_frame_when_the_oldest_is_dropped() {
    check(2, 3, true);
}

/// A consumer that enters the ring while frames come: from its first one on, it sees or counts each.
fn check_entering(may_drop: bool) {
    let n_frames = 3;
    explore(2, move || {
        let shared = Shared::new(1);
        shared.ring().free(&shared.cursors[0]);
        let consumer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let ring = shared.ring();
                let first = ring.join(&shared.cursors[0], ring.control.tail.load(Ordering::Acquire));
                let (seen, lost) = shared.consume_from(0, first, n_frames);
                // One that has no cursor any more is not waited for.
                ring.free(&shared.cursors[0]);
                first + seen + lost
            })
        };
        shared.produce(n_frames, may_drop);
        assert_eq!(consumer.join().unwrap(), n_frames);
    });
}

#[test]
fn consumer_that_enters_late_sees_what_follows_when_the_producer_waits() {
    check_entering(false);
}

#[test]
fn consumer_that_enters_late_sees_what_follows_when_the_oldest_is_dropped() {
    check_entering(true);
}
