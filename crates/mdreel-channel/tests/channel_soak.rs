//! A soak test of many frames through channels whose producers and consumers are killed (SIGKILL) all the time. It checks each
//! frame. No frame that had reached its level of durability is lost, no frame is in a committed result twice, and no process
//! hangs.
//!
//! With `MDREEL_SLOW_TESTS=1`, it publishes 1,000,000 frames for each level: `cargo test --release --test channel_soak`.
#![cfg(target_os = "linux")]

#[path = "support/channel_processes.rs"]
mod channel_processes;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use channel_processes::{check, insist, is_slow, publish_of, random, role, settings, start_saying};
use mdreel_channel::catch_up::{CatchUp, Next};
use mdreel_channel::consumer::Start;
use mdreel_channel::end::End;
use mdreel_channel::group::file::{Mode, State};
use mdreel_channel::group::{Member, Membership, groups};
use mdreel_channel::producer::{Policy, Producer};
use mdreel_channel::staging::{Durability, Retention, Staging};
use mdreel_core::error::{Error, Result};

const N_ATOMS: usize = 25;
/// The time without progress after which a process counts as hanging.
const HUNG: Duration = Duration::from_secs(120);
/// The number of rounds. Each uses a new channel, as a channel may be opened only 64 times.
const N_ROUNDS: usize = 20;
/// The number of frames in a round. A count of each step fits into the state of a commit.
const N_FRAMES: i64 = 50_000;
const FEWER_FRAMES: i64 = 10_000;
/// The producer, the members of the groups `all`, `twice` and `share`, and a reader that is in no group.
const NAMES: [&str; 7] = ["producer", "all", "twice", "share-a", "share-b", "share-c", "watcher"];

fn n_frames() -> i64 {
    if is_slow() { N_FRAMES } else { FEWER_FRAMES }
}

/// Returns whether the round in this folder uses staging.
fn is_staged(place: &Path) -> bool {
    place.join("is-staged").exists()
}

fn open(place: &Path, from: i64, policy: Policy) -> Result<Producer> {
    let retention = Retention { count: Some(1000), bytes: None, age: None, segment: 1 << 18 };
    let open = || Staging::open(&place.join("staging"), Durability::File, retention);
    let staging = is_staged(place).then(open).transpose()?;
    Producer::open(&place.join("channel"), settings(N_ATOMS, from, policy, staging))
}

/// Returns the step after the last one that the producer has recorded as published.
fn acknowledged(file: &File) -> i64 {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, 0).unwrap();
    i64::from_le_bytes(bytes)
}

/// Publishes frames with pauses, in which lagging consumers can return from staging to the ring.
fn simulate(place: &Path, from: i64) {
    let file = OpenOptions::new().write(true).open(place.join("acknowledged")).unwrap();
    let policy = || match random(if is_staged(place) { 4 } else { 1 }) {
        0 | 1 => Policy::Block(HUNG),
        2 => Policy::DropOldest,
        _ => Policy::Spill(Box::new(|_| Ok(()))),
    };
    let acknowledge = |step: i64| file.write_all_at(&step.to_le_bytes(), 0).unwrap();
    // Recorded before the channel is opened, so that the next checkpoint is not after steps that this producer has not published
    // yet.
    acknowledge(from);
    let mut producer = insist(|| open(place, from, policy()));
    let mut pause = from;
    for step in from..n_frames() {
        publish_of(N_ATOMS, &mut producer, step);
        acknowledge(step + 1);
        if step >= pause && is_staged(place) {
            thread::sleep(Duration::from_micros(random(5000)));
            pause = step + random(200).cast_signed();
        }
    }
    producer.end(&End::Finished).unwrap();
}

fn join(place: &Path, name: &str) -> Result<Member> {
    let (group, mode) = match name {
        "all" | "twice" | "steady" => (name, Mode::Broadcast),
        _ => ("share", Mode::Share),
    };
    Member::join(&place.join("channel"), Membership { group, member: name, mode, start: Start::Earliest })
}

/// Returns the next frame while producers come and go; `None` at the end.
fn next_step(mut next: impl FnMut(Duration) -> Result<Option<(u64, i64)>>) -> Option<(u64, i64)> {
    let begin = Instant::now();
    loop {
        match next(Duration::from_secs(1)) {
            Ok(found) => return found,
            // No producer is running at the moment, and the next one will start.
            Err(Error::Stream(_) | Error::StreamTimeout(_)) if begin.elapsed() < HUNG => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Checks a frame, and returns its number and its step; `None` at the end.
fn identity(next: Next<'_>) -> Option<(u64, i64)> {
    match next {
        Next::Frame(frame) => Some((frame.header().sequence, check(&frame))),
        Next::End(end) => {
            assert_eq!(end, End::Finished);
            None
        }
    }
}

/// Counts how often the member has received each step, and commits the counts now and then.
fn analyse(place: &Path, name: &str) {
    let mut member = insist(|| join(place, name));
    let mut counts = member.state().blob.clone();
    counts.resize(n_frames() as usize, 0);
    let mut before = member.state().last.map(|last| (last.sequence, last.step));
    let (mut n_had, mut n_wanted, mut is_over) = (0, 1 + random(100), false);
    while !is_over || n_had > 0 {
        let found = next_step(|at_most| member.next(at_most).map(identity));
        if let Some((sequence, step)) = found {
            if !name.starts_with("share") {
                assert!(before.is_none_or(|before| before.0 < sequence && before.1 < step), "{before:?} {step}");
                let expected = before.map_or(0, |before| before.1 + 1);
                assert!(step == expected || !is_staged(place), "step {step} instead of {expected}");
            }
            before = found;
            counts[step as usize] += 1;
            n_had += 1;
        } else if is_over {
            return;
        }
        is_over = found.is_none();
        if is_over || n_had >= n_wanted {
            // The commit includes frames that are missed after the last one.
            member.commit(&counts).unwrap();
            (n_had, n_wanted) = (0, 1 + random(100));
        }
    }
}

/// Reads the frames that are available when it joins, and those that follow.
fn watch(place: &Path) {
    let mut reader = CatchUp::join(&place.join("channel"), Start::Earliest).unwrap();
    let mut before = None;
    while let Some(found) = next_step(|at_most| reader.next(at_most).map(identity)) {
        assert!(before.is_none_or(|(sequence, step)| sequence < found.0 && step < found.1), "{before:?} {found:?}");
        before = Some(found);
    }
}

#[test]
fn other_process_plays_its_role() {
    let Some((role, place, from)) = role() else { return };
    match role.as_str() {
        "producer" => simulate(&place, from),
        "watcher" => watch(&place),
        member => analyse(&place, member),
    }
}

/// A process that the test ends when it ends.
struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Process {
    fn start(name: &'static str, place: &Path, from: i64) -> Self {
        let log = place.join(format!("{name}.log"));
        let child = start_saying(name, place, from, Stdio::from(File::create(&log).unwrap()));
        Process { name, child, log }
    }

    fn check(&self, outcome: ExitStatus) {
        assert!(outcome.success(), "{}: {outcome}: {}", self.name, std::fs::read_to_string(&self.log).unwrap());
    }

    /// Returns whether the process has ended.
    fn is_done(&mut self) -> bool {
        let outcome = self.child.try_wait().unwrap();
        outcome.inspect(|outcome| self.check(*outcome)).is_some()
    }

    /// Kills the process. Returns whether it had not ended before.
    fn kill(&mut self) -> bool {
        self.child.kill().unwrap();
        let outcome = self.child.wait().unwrap();
        if outcome.code().is_some() {
            self.check(outcome);
        }
        outcome.code().is_none()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a producer and its consumers, and kills one of these processes `n_kills` times. Returns how often that was the producer,
/// and how often another process.
fn round(place: &Path, n_kills: usize) -> (usize, usize) {
    std::fs::write(place.join("acknowledged"), [0; 8]).unwrap();
    let file = File::open(place.join("acknowledged")).unwrap();
    drop(open(place, 0, Policy::Block(HUNG)).unwrap());
    let steady = steady(place);
    // From now on, staging keeps all frames for the groups.
    NAMES[1..6].iter().for_each(|name| drop(join(place, name).unwrap()));
    let mut processes: Vec<Process> = NAMES.iter().map(|name| Process::start(name, place, 0)).collect();
    let mut at: Vec<i64> = (0..n_kills).map(|_| random(n_frames() as u64).cast_signed()).collect();
    at.sort_unstable();
    let (mut n_producers, mut n_others) = (0, 0);
    for at in at {
        let (mut progress, mut since) = (0, Instant::now());
        while acknowledged(&file) < at {
            if acknowledged(&file) > progress {
                (progress, since) = (acknowledged(&file), Instant::now());
            }
            assert!(since.elapsed() < HUNG, "nothing was published for {HUNG:?} behind {progress}");
            let n_done = processes.iter_mut().filter_map(|process| process.is_done().then_some(())).count();
            assert!(n_done == 0, "before the end");
            thread::sleep(Duration::from_micros(random(500)));
        }
        // In a third of the cases, this is the producer, up to the number of times that a channel may be opened.
        let which = if n_producers < 60 && random(3) == 0 { 0 } else { 1 + random(6) as usize };
        let process = &mut processes[which];
        if process.is_done() || !process.kill() {
            continue;
        }
        let counts = if which == 0 { &mut n_producers } else { &mut n_others };
        *counts += 1;
        // The checkpoint is directly after the published frames, or some frames before.
        let back = if random(2) == 0 { 0 } else { random(20).cast_signed() };
        *process = Process::start(process.name, place, (acknowledged(&file) - back).max(0));
    }
    let begin = Instant::now();
    while !processes.iter_mut().all(Process::is_done) {
        assert!(begin.elapsed() < HUNG, "somebody hangs at the end");
        thread::sleep(Duration::from_millis(1));
    }
    steady.join().unwrap();
    (n_producers, n_others)
}

/// Starts a member that is never killed. It sees each step once and in order.
fn steady(place: &Path) -> thread::JoinHandle<()> {
    let mut member = join(place, "steady").unwrap();
    thread::spawn(move || {
        let mut expected = 0;
        while let Some((_, step)) = next_step(|at_most| member.next(at_most).map(identity)) {
            assert_eq!(step, expected);
            expected += 1;
            if expected % 500 == 0 {
                member.commit(b"").unwrap();
            }
        }
        assert_eq!((expected, member.missed()), (n_frames(), 0));
    })
}

/// Returns how often each step is in the committed results of a group, and how many frames the group has missed.
fn committed(members: &[(String, State)]) -> (Vec<u32>, u64) {
    let mut counts = vec![0; n_frames() as usize];
    for (_, state) in members {
        state.blob.iter().zip(&mut counts).for_each(|(count, sum)| *sum += u32::from(*count));
    }
    (counts, members.iter().map(|(_, state)| state.missed).sum())
}

fn soak(is_staged: bool) {
    let (n_rounds, n_kills) = if is_slow() { (N_ROUNDS, 150) } else { (1, 25) };
    let begin = Instant::now();
    let (mut n_producers, mut n_others, mut n_missed) = (0, 0, 0);
    for _ in 0..n_rounds {
        let place = tempfile::tempdir().unwrap();
        if is_staged {
            File::create(place.path().join("is-staged")).unwrap();
        }
        let killed = round(place.path(), n_kills);
        (n_producers, n_others) = (n_producers + killed.0, n_others + killed.1);
        for group in groups(&place.path().join("channel")).unwrap() {
            if group.name == "steady" {
                continue;
            }
            let (counts, missed) = committed(&group.members);
            // A group without commits begins with the first frame that is still available.
            let first = if is_staged { 0 } else { counts.iter().position(|count| *count > 0).unwrap() };
            let wrong: Vec<_> = (0..).zip(&counts).skip(first).filter(|(_, count)| **count != 1).collect();
            let n_lost = wrong.iter().filter(|(_, count)| **count == 0).count() as u64;
            assert!(wrong.len() as u64 == n_lost, "group {}: twice in a result: {wrong:?}", group.name);
            // The ring alone keeps no frames for killed members, but lost frames are counted.
            let may_lose = if is_staged { 0 } else { missed };
            assert!(n_lost <= may_lose, "group {}: {missed} were missed, {n_lost} are lost: {wrong:?}", group.name);
            n_missed += n_lost;
        }
    }
    let n_frames = n_frames() * n_rounds as i64;
    let whose = if is_staged { "file" } else { "ring" };
    let killed = format!("{n_producers} producers and {n_others} consumers killed");
    let line = format!("level {whose}: {n_frames} frames, {killed}, {n_missed} missed, in {:.0?}\n", begin.elapsed());
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
}

#[test]
fn frames_in_the_ring_are_seen_once_or_counted_whoever_is_killed() {
    soak(false);
}

#[test]
fn frames_in_staging_are_in_each_committed_result_once_whoever_is_killed() {
    soak(true);
}
