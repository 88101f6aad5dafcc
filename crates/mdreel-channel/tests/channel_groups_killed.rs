//! Tests that kill members of groups at random moments, and the simulation as well. Each step is in the committed results once.
#![cfg(target_os = "linux")]

#[path = "support/channel_processes.rs"]
mod channel_processes;

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use channel_processes::{LONG, N_STEPS, check, checkpoint, kill, n_repetitions, open, random, role, simulate, start};
use mdreel_channel::catch_up::Next;
use mdreel_channel::consumer::Start;
use mdreel_channel::group::file::Mode;
use mdreel_channel::group::{Member, Membership, groups};
use mdreel_core::error::{Error, Result};

fn join(place: &Path, member: &str, mode: Mode) -> Result<Member> {
    let group = if mode == Mode::Share { "share" } else { "broadcast" };
    Member::join(&place.join("channel"), Membership { group, member, mode, start: Start::Earliest })
}

/// Counts how often the member has received each step, and commits the counts now and then.
fn analyse(place: &Path, member: &str, mode: Mode) {
    let mut member = loop {
        match join(place, member, mode) {
            Ok(member) => break member,
            // A killed member may still be dying.
            Err(Error::Stream(_)) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    };
    let mut counts = member.state().blob.clone();
    counts.resize(N_STEPS as usize, 0);
    let until = Instant::now() + LONG;
    let mut n_had = 0;
    loop {
        match member.next(Duration::from_secs(1)) {
            Ok(Next::Frame(frame)) => {
                counts[check(&frame) as usize] += 1;
                n_had += 1;
            }
            Ok(Next::End(_)) if n_had == 0 => return,
            Ok(Next::End(_)) => n_had = 7,
            // No producer is running at the moment, and the next one will start.
            Err(Error::Stream(_) | Error::StreamTimeout(_)) if Instant::now() < until => continue,
            Err(error) => panic!("{error}"),
        }
        if n_had == 7 {
            member.commit(&counts).unwrap();
            n_had = 0;
        }
    }
}

#[test]
fn other_process_plays_its_role() {
    let Some((role, place, from)) = role() else { return };
    match role.as_str() {
        "producer" => simulate(&place, from, true),
        "alone" => analyse(&place, "alone", Mode::Broadcast),
        member => analyse(&place, member, Mode::Share),
    }
}

#[test]
fn each_step_is_in_the_committed_results_once_whoever_is_killed() {
    for _ in 0..n_repetitions() {
        let place = tempfile::tempdir().unwrap();
        drop(open(place.path(), 0, true));
        let names = ["producer", "alone", "a", "b", "c"];
        let mut children: Vec<Child> = names.iter().map(|name| start(name, place.path(), 0)).collect();
        for _ in 0..8 {
            let until = Instant::now() + Duration::from_micros(random(100_000));
            while Instant::now() < until {
                std::thread::yield_now();
            }
            let which = random(names.len() as u64) as usize;
            kill(&mut children[which]);
            let from = if which == 0 { checkpoint(place.path()) } else { 0 };
            children[which] = start(names[which], place.path(), from);
        }
        for (name, child) in names.iter().zip(&mut children) {
            assert!(child.wait().unwrap().success(), "{name}");
        }
        let found = groups(&place.path().join("channel")).unwrap();
        assert_eq!(found.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), ["broadcast", "share"]);
        for group in &found {
            let mut counts = vec![0; N_STEPS as usize];
            for (_, state) in &group.members {
                assert_eq!(state.missed, 0);
                state.blob.iter().zip(&mut counts).for_each(|(count, sum)| *sum += i32::from(*count));
            }
            let wrong: Vec<_> = (0..N_STEPS).zip(&counts).filter(|(_, count)| **count != 1).collect();
            assert!(wrong.is_empty(), "group {}: steps and how often each was had: {wrong:?}", group.name);
        }
    }
}
