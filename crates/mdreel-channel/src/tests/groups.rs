//! Tests of groups: each committed frame is in a result once, whichever member joins, leaves or dies.

use super::super::catch_up::Next;
use super::super::group::file::{Identity, MOST_BLOB, Mode};
use super::super::group::settled::Settled;
use super::super::group::{Member, Membership, groups, remove};
use super::*;

pub(super) fn membership(member: &str, mode: Mode) -> Membership<'_> {
    Membership { group: "analysis", member, mode, start: Start::Earliest }
}

pub(super) fn join(place: &Place, member: &str, mode: Mode) -> Member {
    Member::join(&place.path, membership(member, mode)).unwrap()
}

fn take(member: &mut Member) -> Option<Identity> {
    match member.next(LONG).unwrap() {
        Next::Frame(frame) => Some(Identity::from(frame.header())),
        Next::End(_) => None,
    }
}

pub(super) fn take_step(member: &mut Member) -> Option<i64> {
    take(member).map(|identity| identity.step)
}

/// A time after which the other members have noticed what a member gave back. They look every 20 ms when they ask for a frame.
const NOTICED: Duration = Duration::from_millis(40);

pub(super) fn published(place: &Place, n: i64) -> Producer {
    let mut producer = open_staged(place, Policy::DropOldest, 0, ALL);
    (0..n).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    producer
}

#[test]
fn each_member_of_a_broadcast_goes_on_behind_its_own_commit() {
    let place = place();
    let producer = published(&place, 10);
    let (mut one, mut other) = (join(&place, "one", Mode::Broadcast), join(&place, "other", Mode::Broadcast));
    let had: Vec<_> = (0..6).map(|_| take(&mut one).unwrap()).collect();
    assert_eq!(had.iter().map(|identity| identity.step).collect::<Vec<_>>(), (0..6).collect::<Vec<_>>());
    one.commit_through(Some(had[3]), b"up to 3").unwrap();
    assert!(one.commit_through(Some(had[1]), b"back").is_err());
    assert!(one.commit_through(Some(Identity { sequence: 7, ..had[3] }), b"ahead").is_err());
    assert_eq!(take_step(&mut other), Some(0));
    drop(one);
    let mut one = join(&place, "one", Mode::Broadcast);
    assert_eq!(
        (one.state().blob.as_slice(), one.state().last, one.state().n_commits),
        (&b"up to 3"[..], Some(had[3]), 1)
    );
    assert_eq!(take_step(&mut one), Some(4));
    one.commit(b"up to 4").unwrap();
    one.commit(b"in other words").unwrap();
    one.leave();
    assert_eq!(take_step(&mut other), Some(1));
    drop(other);
    assert_eq!(take_step(&mut join(&place, "other", Mode::Broadcast)), Some(0), "it has committed nothing");
    producer.end(&End::Finished).unwrap();
    let mut one = join(&place, "one", Mode::Broadcast);
    assert_eq!(std::iter::from_fn(|| take_step(&mut one)).collect::<Vec<_>>(), [5, 6, 7, 8, 9]);
    let states = one.states().unwrap();
    assert_eq!(
        states.iter().map(|(name, state)| (name.as_str(), state.from)).collect::<Vec<_>>(),
        [("one", 5), ("other", 0)]
    );
}

#[test]
fn steps_that_a_restart_repeats_are_not_repeated_to_who_has_committed_them() {
    let place = place();
    drop(published(&place, 6));
    let mut one = join(&place, "one", Mode::Broadcast);
    (0..4).for_each(|i| assert_eq!(take_step(&mut one), Some(i)));
    one.commit(b"").unwrap();
    drop(one);
    let mut producer = open_staged(&place, Policy::DropOldest, 2, ALL);
    (2..8).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    producer.end(&End::Finished).unwrap();
    for (mode, member) in [(Mode::Broadcast, "one"), (Mode::Broadcast, "new")] {
        let mut member = join(&place, member, mode);
        let first = if member.state().n_commits > 0 { 4 } else { 0 };
        let had: Vec<_> = std::iter::from_fn(|| take(&mut member)).collect();
        assert_eq!(had.iter().map(|identity| identity.step).collect::<Vec<_>>(), (first..8).collect::<Vec<_>>());
        assert!(had.iter().all(|identity| identity.epoch == u64::from(identity.step >= 2)));
    }
}

#[test]
fn each_step_goes_to_one_of_those_who_share() {
    let place = place();
    let mut producer = published(&place, 50);
    let members: Vec<_> = ["a", "b", "c"]
        .into_iter()
        .map(|name| {
            let mut member = join(&place, name, Mode::Share);
            thread::spawn(move || {
                let mut had = Vec::new();
                while let Some(step) = take_step(&mut member) {
                    had.push(step as u8);
                    member.commit(&had).unwrap();
                }
                had
            })
        })
        .collect();
    (50..200).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    producer.end(&End::Finished).unwrap();
    let mut all: Vec<u8> = members.into_iter().flat_map(|member| member.join().unwrap()).collect();
    all.sort_unstable();
    assert_eq!(all, (0..200).collect::<Vec<_>>());
    let found = groups(&place.path).unwrap();
    assert_eq!((found.len(), found[0].name.as_str(), found[0].facts.mode), (1, "analysis", Mode::Share));
    let mut kept: Vec<u8> = found[0].members.iter().flat_map(|(_, state)| state.blob.clone()).collect();
    kept.sort_unstable();
    assert_eq!(kept, all);
    let mut late = join(&place, "late", Mode::Share);
    assert_eq!(take_step(&mut late), None);
    late.commit(b"nothing").unwrap();
    assert_eq!((late.state().from, &late.state().settled), (200, &Settled { up_to: Some(199), open: Vec::new() }));
}

#[test]
fn what_a_member_had_and_did_not_commit_goes_to_another() {
    let place = place();
    let mut producer = published(&place, 6);
    let (mut one, mut other) = (join(&place, "one", Mode::Share), join(&place, "other", Mode::Share));
    let had: Vec<_> = (0..3).map(|_| take(&mut one).unwrap()).collect();
    assert_eq!(take_step(&mut other), Some(3));
    one.commit_through(Some(had[1]), b"0 and 1").unwrap();
    assert!(one.commit_through(Some(had[0]), b"again").is_err());
    drop(one);
    thread::sleep(NOTICED);
    assert_eq!(take_step(&mut other), Some(2), "which one has died with");
    other.commit(b"2 and 3").unwrap();
    let mut one = join(&place, "one", Mode::Share);
    assert_eq!((one.state().blob.as_slice(), one.state().last), (&b"0 and 1"[..], Some(had[1])));
    assert_eq!((take_step(&mut one), take_step(&mut other)), (Some(4), Some(5)));
    publish(&mut producer, 6).unwrap();
    producer.end(&End::Finished).unwrap();
    assert_eq!(take_step(&mut one), Some(6));
    // Neither member waits for the other, because both have frames to commit.
    assert_eq!((take_step(&mut one), take_step(&mut other)), (None, None));
    other.commit(b"2, 3, 5").unwrap();
    assert!(matches!(other.next(SHORT), Err(Error::StreamTimeout(_))), "one may still die with its frames");
    one.commit(b"0, 1, 4, 6").unwrap();
    assert_eq!(take_step(&mut other), None);
}

#[test]
fn member_that_stops_lets_others_go_on_and_what_they_keep_in_mind_does_not_grow() {
    let place = place();
    let mut producer = published(&place, 1);
    let (mut one, mut other) = (join(&place, "one", Mode::Share), join(&place, "other", Mode::Share));
    assert_eq!(take_step(&mut one), Some(0));
    for step in 1..300 {
        publish(&mut producer, step).unwrap();
        assert_eq!(take_step(&mut other), Some(step));
        other.commit(b"").unwrap();
        assert_eq!(other.state().settled, Settled { up_to: Some(step), open: vec![0] });
    }
    producer.end(&End::Finished).unwrap();
    drop((one, other));
    thread::sleep(NOTICED);
    // A member that joins again knows from its last commit which steps are settled while it reads all of them again.
    let mut other = join(&place, "other", Mode::Share);
    assert_eq!(take_step(&mut other), Some(0));
    other.commit(b"").unwrap();
    assert_eq!(other.state().settled, Settled { up_to: Some(299), open: Vec::new() });
    assert_eq!(take_step(&mut other), None);
}

#[test]
fn steps_of_a_restarted_simulation_are_shared_once() {
    let place = place();
    drop(published(&place, 6));
    let (mut one, mut other) = (join(&place, "one", Mode::Share), join(&place, "other", Mode::Share));
    (0..3).for_each(|i| assert_eq!(take_step(&mut one), Some(i)));
    (3..5).for_each(|i| assert_eq!(take_step(&mut other), Some(i)));
    other.commit(b"").unwrap();
    let mut producer = open_staged(&place, Policy::DropOldest, 1, ALL);
    (1..8).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    producer.end(&End::Finished).unwrap();
    drop(one);
    let had: Vec<_> = std::iter::from_fn(|| {
        let identity = take(&mut other);
        other.commit(b"").unwrap();
        identity
    })
    .collect();
    let mut steps: Vec<_> = had.iter().map(|identity| (identity.step, identity.epoch)).collect();
    steps.sort_unstable();
    assert_eq!(steps, [(0, 0), (1, 1), (2, 1), (5, 1), (6, 1), (7, 1)]);
}

#[test]
fn membership_that_does_not_go_with_the_group_is_refused() {
    let place = place();
    let producer = published(&place, 3);
    let try_to = |member: &str, mode| Member::join(&place.path, membership(member, mode)).map(|_| ());
    let mut one = join(&place, "one", Mode::Broadcast);
    assert!(matches!(try_to("one", Mode::Broadcast), Err(Error::Stream(_))));
    assert!(matches!(try_to("two", Mode::Share), Err(Error::Mismatch(_))));
    for name in ["", "a.b", "a/b", "é", &"a".repeat(65)] {
        assert!(matches!(try_to(name, Mode::Broadcast), Err(Error::Mismatch(_))), "{name}");
    }
    take(&mut one).unwrap();
    assert!(matches!(one.commit(&vec![0; MOST_BLOB + 1]), Err(Error::Mismatch(_))));
    one.commit(&vec![0; MOST_BLOB]).unwrap();
    assert!(matches!(remove(&place.path, "analysis"), Err(Error::Stream(_))));
    drop(one);
    remove(&place.path, "analysis").unwrap();
    assert!(groups(&place.path).unwrap().is_empty());
    try_to("one", Mode::Share).unwrap();
    drop(producer);
}

#[test]
fn group_begins_where_it_was_told_whenever_its_members_come() {
    let place = place();
    let mut producer = published(&place, 10);
    let join = |group, start| {
        let membership = Membership { group, member: "one", mode: Mode::Broadcast, start };
        Member::join(&place.path, membership).unwrap()
    };
    assert_eq!(take_step(&mut join("sequence", Start::Sequence(4))), Some(4));
    assert_eq!(take_step(&mut join("step", Start::Step(6))), Some(6));
    drop(join("latest", Start::Latest));
    (10..13).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    assert_eq!(take_step(&mut join("latest", Start::Latest)), Some(10));
}

#[test]
fn group_without_staging_has_what_the_ring_has() {
    let place = place();
    let mut producer = open(&place.path, Policy::DropOldest, 0);
    let (mut one, mut other) = (join(&place, "one", Mode::Share), join(&place, "other", Mode::Share));
    (0..3).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    assert_eq!((take_step(&mut one), take_step(&mut other)), (Some(0), Some(1)));
    drop(one);
    thread::sleep(NOTICED);
    assert_eq!(take_step(&mut other), Some(0), "the ring still has it");
    let mut one = join(&place, "one", Mode::Share);
    assert_eq!(take_step(&mut one), Some(2));
    assert!(matches!(other.next(SHORT), Err(Error::StreamTimeout(_))));
    drop(one);
    (3..7).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    producer.end(&End::Finished).unwrap();
    assert_eq!(std::iter::from_fn(|| take_step(&mut other)).collect::<Vec<_>>(), [3, 4, 5, 6]);
    other.commit(b"").unwrap();
    assert_eq!(take_step(&mut other), None);
    assert_eq!(other.missed(), 1, "frame 2 has gone with its member");
}

#[test]
fn member_that_comes_again_counts_what_the_ring_has_overwritten() {
    for mode in [Mode::Broadcast, Mode::Share] {
        let place = place();
        let mut producer = open(&place.path, Policy::DropOldest, 0);
        let mut one = join(&place, "one", mode);
        (0..3).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
        assert_eq!((take_step(&mut one), take_step(&mut one)), (Some(0), Some(1)));
        one.commit(b"").unwrap();
        drop(one);
        (3..10).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
        let mut one = join(&place, "one", mode);
        assert_eq!((take_step(&mut one), one.missed()), (Some(6), 4), "{mode:?}: 2, 3, 4 and 5 are gone");
        (10..15).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
        assert_eq!((take_step(&mut one), one.missed()), (Some(11), 8), "{mode:?}: 7, 8, 9 and 10 as well");
        one.commit(b"").unwrap();
        assert_eq!(one.state().missed, 8);
    }
}

#[test]
fn frames_that_the_others_have_committed_are_not_missed_by_a_slow_member() {
    for is_staged in [true, false] {
        let place = place();
        let mut producer = match is_staged {
            true => open_staged(&place, Policy::DropOldest, 0, Retention { count: Some(1), ..ALL }),
            false => open(&place.path, Policy::DropOldest, 0),
        };
        let (mut slow, mut fast) = (join(&place, "slow", Mode::Share), join(&place, "fast", Mode::Share));
        publish(&mut producer, 0).unwrap();
        assert_eq!(take_step(&mut slow), Some(0));
        slow.commit(b"").unwrap();
        let (begin, mut step) = (Instant::now(), 1);
        // Publishes until the first frames are gone from the ring and from staging.
        while step < 20 || is_staged && staged_steps(&place)[0] < 10 {
            assert!(begin.elapsed() < LONG);
            publish(&mut producer, step).unwrap();
            assert_eq!(take_step(&mut fast), Some(step));
            fast.commit(b"").unwrap();
            step += 1;
        }
        publish(&mut producer, step).unwrap();
        assert_eq!((take_step(&mut slow), slow.missed()), (Some(step), 0), "staged: {is_staged}");
        slow.commit(b"").unwrap();
        assert_eq!(slow.state().missed, 0);
        // Frames that no member had are missed, as before.
        (step + 1..step + 20).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
        producer.end(&End::Finished).unwrap();
        let had = std::iter::from_fn(|| take_step(&mut slow)).count() as u64;
        assert_eq!(had + slow.missed(), 19, "staged: {is_staged}");
    }
}

#[test]
fn slowest_group_keeps_what_it_has_not_committed() {
    let place = place();
    let few = Retention { count: Some(1), ..ALL };
    let mut producer = open_staged(&place, Policy::DropOldest, 0, few);
    let (mut one, other) = (join(&place, "one", Mode::Broadcast), join(&place, "other", Mode::Broadcast));
    (0..30).for_each(|i| assert!(publish(&mut producer, i).is_ok()));
    assert_eq!(staged_steps(&place), (0..30).collect::<Vec<_>>());
    (0..30).for_each(|i| assert_eq!(take_step(&mut one), Some(i)));
    one.commit(b"").unwrap();
    drop(other);
    let begin = Instant::now();
    let mut step = 30;
    let mut until = |is_kept: fn(&[i64]) -> bool| {
        // The producer does not ask the groups at each frame.
        while is_kept(&staged_steps(&place)) {
            assert!(begin.elapsed() < LONG);
            publish(&mut producer, step).unwrap();
            step += 1;
        }
    };
    until(|steps| steps.len() < 60);
    assert_eq!(staged_steps(&place)[0], 0, "the other has committed nothing");
    let mut other = join(&place, "other", Mode::Broadcast);
    (0..20).for_each(|i| assert_eq!(take_step(&mut other), Some(i)));
    other.commit(b"").unwrap();
    until(|steps| steps[0] == 0);
    // Three frames to a segment, of which one more stays than the groups want.
    assert!((14..=20).contains(&staged_steps(&place)[0]), "{:?}", staged_steps(&place));
    drop((one, other));
    remove(&place.path, "analysis").unwrap();
    until(|steps| steps[0] < 60);
}
