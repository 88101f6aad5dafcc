//! The model check of the protocol, over every interleaving of a small ring and the reorderings that weak memory permits.
//!
//! It compiles the file of the protocol itself with the atomic integers of loom. The slots are cells of loom, which detects a
//! read that is not ordered with a write. Loom also detects a lost alarm, as a deadlock. With `MDREEL_SLOW_TESTS=1`, the check
//! goes as deep as is possible within minutes: `cargo test --release -p mdreel-channel --test channel_model`.

#[path = "support/loom_atomic.rs"]
mod atomic;
#[allow(dead_code, reason = "what no model needs is not checked here")]
#[path = "../src/protocol.rs"]
mod protocol;

use std::time::Duration;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use atomic::{AtomicU64, Ordering};
use protocol::{Control, Cursor, Full, Ring, Room, Stamp, Taken};

const N_SLOTS: usize = 2;
const LONG: Duration = Duration::from_secs(1);

/// Explores a model, with at most `at_most` forced preemptions of threads. Slow tests use three, which reveal all known faults of
/// such protocols.
fn explore(at_most: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let is_slow = std::env::var_os("MDREEL_SLOW_TESTS").is_some_and(|value| value == "1");
    builder.preemption_bound = Some(if is_slow { 3 } else { at_most });
    builder.max_branches = 20_000;
    builder.check(model);
}

struct Shared {
    control: Control,
    room: Room,
    cursors: Vec<Cursor>,
    stamps: Vec<Stamp>,
    /// The number of frames in the ring plus 1 after the producer has ended; 0 before.
    ended: AtomicU64,
    slots: [UnsafeCell<u64>; N_SLOTS],
}

// SAFETY: the protocol guarantees that the slots are not read while they are written, and loom checks this.
unsafe impl Sync for Shared {}
// SAFETY: see above.
unsafe impl Send for Shared {}

impl Shared {
    fn new(n_consumers: usize) -> Arc<Self> {
        let shared = Shared {
            control: Control::default(),
            room: Room::default(),
            cursors: (0..n_consumers).map(|_| Cursor::default()).collect(),
            stamps: (0..N_SLOTS).map(|_| Stamp::default()).collect(),
            ended: AtomicU64::new(0),
            slots: [UnsafeCell::new(0), UnsafeCell::new(0)],
        };
        for cursor in 0..n_consumers {
            shared.ring().join(cursor, 0, false);
        }
        Arc::new(shared)
    }

    fn ring(&self) -> Ring<'_> {
        let Shared { control, room, cursors, stamps, .. } = self;
        Ring { control, room, cursors, stamps, n_slots: N_SLOTS as u64 }
    }

    /// Reads the slot of a pinned position.
    fn read(&self, position: u64) -> u64 {
        // SAFETY: the slot is pinned; loom checks this.
        self.slots[position as usize % N_SLOTS].with(|slot| unsafe { *slot })
    }

    /// Publishes frames. Returns how many of them were dropped because consumers held all slots.
    fn produce(&self, n_frames: u64, may_drop: bool) -> u64 {
        let ring = self.ring();
        let mut n_dropped = 0;
        for frame in 0..n_frames {
            let claimed = loop {
                match ring.claim(may_drop) {
                    Ok(position) => break Some(position),
                    // A producer that may drop frames does not wait for consumers.
                    Err(full) if may_drop => {
                        assert_eq!(full, Full::Held);
                        break None;
                    }
                    Err(_) => ring.await_room(|| ring.claim(may_drop).is_err(), LONG),
                }
            };
            let Some(position) = claimed else {
                n_dropped += 1;
                continue;
            };
            // SAFETY: the slot is claimed; loom checks this.
            self.slots[position as usize % N_SLOTS].with_mut(|slot| unsafe { *slot = frame + 100 });
            ring.publish(position);
        }
        self.ended.store(1 + n_frames - n_dropped, Ordering::Release);
        ring.ring_arrival();
        n_dropped
    }

    /// Waits for frames. Returns the total number of published frames once no more will come.
    fn wait(&self, cursor: &Cursor, next: u64) -> Option<u64> {
        let ring = self.ring();
        let ended = self.ended.load(Ordering::Acquire);
        if ended > 0 && !ring.is_there(next) {
            return Some(ended - 1);
        }
        ring.await_arrival(cursor, (next, false), || self.ended.load(Ordering::Acquire) > 0, LONG);
        None
    }

    /// Takes frames until the producer has ended. Returns how many frames the consumer saw, and how many it lost.
    fn consume(&self, consumer: usize) -> (u64, u64) {
        let (first, seen, lost) = self.consume_from(consumer, (0, 0));
        assert_eq!(first, 0);
        (seen, lost)
    }

    /// Takes frames as `consume` does, and also returns how many frames came before. A consumer that enters while a frame is
    /// being published may expect the next one.
    fn consume_from(&self, consumer: usize, (first, ordinal): (u64, u64)) -> (u64, u64, u64) {
        let (ring, cursor) = (self.ring(), &self.cursors[consumer]);
        let (mut next, mut expected, mut seen, mut lost) = (first, ordinal, 0, 0);
        let mut before = ordinal;
        loop {
            match ring.take(cursor, 0, next) {
                Taken::Frame { position, ordinal } => {
                    ring.want(cursor, position + 1, false);
                    let frame = self.read(position);
                    assert!(frame >= ordinal + 100, "frames come in order");
                    ring.unpin(cursor, 0);
                    if seen == 0 {
                        assert!(ordinal + 1 >= expected);
                        before = before.min(ordinal);
                        expected = before;
                    }
                    lost += ordinal - expected;
                    (next, expected) = (position + 1, ordinal + 1);
                    seen += 1;
                }
                Taken::NotYet => {
                    next = ring.first_possible(next);
                    if let Some(n_frames) = self.wait(cursor, next) {
                        return (before, seen, lost + n_frames - expected);
                    }
                }
            }
        }
    }
}

impl Shared {
    /// Takes frames as `consume` does, but holds each frame until it has read the next one.
    fn consume_holding(&self) -> (u64, u64) {
        let (ring, cursor) = (self.ring(), &self.cursors[0]);
        let (mut next, mut expected, mut seen, mut lost) = (0, 0, 0, 0);
        let mut held: Option<(usize, u64, u64)> = None;
        loop {
            let pin = usize::from(held.is_some_and(|(pin, ..)| pin == 0));
            match ring.take(cursor, pin, next) {
                Taken::Frame { position, ordinal } => {
                    ring.want(cursor, position + 1, false);
                    let frame = self.read(position);
                    if let Some((pin, position, frame)) = held.replace((pin, position, frame)) {
                        assert_eq!(self.read(position), frame, "what is held does not change");
                        ring.unpin(cursor, pin);
                    } else {
                        ring.tell_producer();
                    }
                    lost += ordinal - expected;
                    (next, expected) = (position + 1, ordinal + 1);
                    seen += 1;
                }
                Taken::NotYet => {
                    next = ring.first_possible(next);
                    if let Some(n_frames) = self.wait(cursor, next) {
                        return (seen, lost + n_frames - expected);
                    }
                }
            }
        }
    }
}

fn check_holding(n_frames: u64, may_drop: bool) {
    explore(1, move || {
        let shared = Shared::new(1);
        let consumer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.consume_holding())
        };
        let n_dropped = shared.produce(n_frames, may_drop);
        let (seen, lost) = consumer.join().unwrap();
        assert_eq!(seen + lost + n_dropped, n_frames);
        assert!(may_drop || lost + n_dropped == 0);
    });
}

#[test]
fn consumer_that_holds_a_frame_sees_the_next_when_the_producer_waits() {
    check_holding(3, false);
}

#[test]
fn consumer_that_holds_a_frame_sees_the_next_when_the_oldest_is_dropped() {
    check_holding(3, true);
}

fn check(n_consumers: usize, n_frames: u64, may_drop: bool) {
    explore(if n_consumers == 1 { 2 } else { 1 }, move || {
        let shared = Shared::new(n_consumers);
        let consumers: Vec<_> = (0..n_consumers)
            .map(|consumer| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.consume(consumer))
            })
            .collect();
        let n_dropped = shared.produce(n_frames, may_drop);
        for consumer in consumers {
            let (seen, lost) = consumer.join().unwrap();
            assert_eq!(seen + lost + n_dropped, n_frames);
            assert!(may_drop || lost + n_dropped == 0);
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

/// Checks a consumer that enters the ring while frames come. From its first frame on, it sees or counts each one.
fn check_entering(may_drop: bool) {
    let n_frames = 3;
    explore(2, move || {
        let shared = Shared::new(1);
        shared.ring().free(&shared.cursors[0]);
        let consumer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let ring = shared.ring();
                let cursor = &shared.cursors[0];
                let first = ring.join(0, ring.control.tail.load(Ordering::Acquire), false);
                let mut before = ring.control.n_frames.load(Ordering::Acquire);
                if let Taken::Frame { ordinal, .. } = ring.take(cursor, 0, first) {
                    before = ordinal;
                    ring.unpin(cursor, 0);
                }
                let (before, seen, lost) = shared.consume_from(0, (first, before));
                // The producer does not wait for a consumer without a cursor.
                ring.free(&shared.cursors[0]);
                before + seen + lost
            })
        };
        let n_dropped = shared.produce(n_frames, may_drop);
        assert_eq!(consumer.join().unwrap() + n_dropped, n_frames);
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
