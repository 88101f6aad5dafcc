//! An endurance test of a channel with staging, retention and two groups, over as many frames as a simulation publishes in days.
//! Over time, no process uses more memory or descriptors, and staging has no more files.
//!
//! With `MDREEL_SLOW_TESTS=1`, it publishes 10 million frames: `cargo test --release --test channel_endurance`.
#![cfg(target_os = "linux")]

#[path = "support/channel_processes.rs"]
mod channel_processes;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use channel_processes::{check, insist, is_slow, publish_of, role, settings, start_saying};
use mdreel_channel::catch_up::Next;
use mdreel_channel::consumer::Start;
use mdreel_channel::end::End;
use mdreel_channel::group::file::Mode;
use mdreel_channel::group::{Member, Membership, groups};
use mdreel_channel::producer::{Policy, Producer};
use mdreel_channel::staging::{Durability, Retention, Staging};
use mdreel_channel::status::Status;
use mdreel_core::error::{Error, Result};

const N_ATOMS: usize = 4;
const HUNG: Duration = Duration::from_secs(120);
const NAMES: [&str; 4] = ["producer", "all", "share-a", "share-b"];
/// The number of frames per commit.
const COMMITTED: i64 = 500;
/// The size of a segment in bytes; it holds some 1,000 frames.
const SEGMENT: u64 = 1 << 18;
/// The number of frames that retention keeps in any case.
const KEPT: u64 = 5000;
const MOST_FILES: usize = 200;

fn n_frames() -> i64 {
    if is_slow() { 10_000_000 } else { 50_000 }
}

fn open(place: &Path) -> Result<Producer> {
    let retention = Retention { count: Some(KEPT), bytes: None, age: None, segment: SEGMENT };
    let staging = Staging::open(&place.join("staging"), Durability::File, retention)?;
    Producer::open(&place.join("channel"), settings(N_ATOMS, 0, Policy::Block(HUNG), Some(staging)))
}

fn simulate(place: &Path) {
    let mut producer = insist(|| open(place));
    let begin = Instant::now();
    // A producer does not wait for consumers that read staging, so all of them must be in the ring first.
    while producer.n_consumers().unwrap() < NAMES.len() - 1 {
        assert!(begin.elapsed() < HUNG, "nobody comes");
        thread::yield_now();
    }
    (0..n_frames()).for_each(|step| publish_of(N_ATOMS, &mut producer, step));
    producer.end(&End::Finished).unwrap();
}

fn join(place: &Path, name: &str) -> Result<Member> {
    let (group, mode) = if name == "all" { ("all", Mode::Broadcast) } else { ("share", Mode::Share) };
    Member::join(&place.join("channel"), Membership { group, member: name, mode, start: Start::Earliest })
}

/// Receives frames, and commits their number and the sum of their steps.
fn analyse(place: &Path, name: &str) {
    let mut member = join(place, name).unwrap();
    let (mut n_had, mut sum, mut n_open) = (0_i64, 0_i64, 0);
    let mut last = Instant::now();
    loop {
        let is_over = match member.next(Duration::from_secs(1)) {
            Ok(Next::Frame(frame)) => {
                let step = check(&frame);
                assert!(name != "all" || step == n_had);
                (n_had, sum, n_open) = (n_had + 1, sum + step, n_open + 1);
                last = Instant::now();
                false
            }
            Ok(Next::End(_)) if n_open == 0 => return,
            Ok(Next::End(_)) => true,
            // The producer has not started yet.
            Err(Error::Stream(_) | Error::StreamTimeout(_)) if last.elapsed() < HUNG => continue,
            Err(error) => panic!("{error}"),
        };
        if is_over || n_open == COMMITTED {
            member.commit(&[n_had.to_le_bytes(), sum.to_le_bytes()].concat()).unwrap();
            n_open = 0;
        }
    }
}

#[test]
fn other_process_plays_its_role() {
    match role() {
        Some((role, place, _)) if role == "producer" => simulate(&place),
        Some((role, place, _)) => analyse(&place, &role),
        None => {}
    }
}

/// The resources that a process uses at a moment, without mapped files. The producer maps segments as retention fills up, up to a
/// limit.
#[derive(Debug, Clone, Copy)]
struct Usage {
    resident_kb: u64,
    size_kb: u64,
    n_descriptors: usize,
}

impl Usage {
    /// Reads the usage of a process; `None` if it has ended.
    fn of(process: u32) -> Option<Self> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let kilobytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim_matches(|letter: char| !letter.is_ascii_digit()).parse().ok()
        };
        let (resident_kb, size_kb) = (kilobytes("RssAnon:")?, kilobytes("VmData:")?);
        let n_descriptors = std::fs::read_dir(format!("/proc/{process}/fd")).ok()?.count();
        Some(Usage { resident_kb, size_kb, n_descriptors })
    }

    fn most(self, other: Self) -> Self {
        Usage {
            resident_kb: self.resident_kb.max(other.resident_kb),
            size_kb: self.size_kb.max(other.size_kb),
            n_descriptors: self.n_descriptors.max(other.n_descriptors),
        }
    }
}

/// The maximum usage of each process, and the maximum number of files in staging, in a part of the run.
#[derive(Debug, Clone, Copy)]
struct Part {
    processes: [Usage; NAMES.len()],
    n_files: usize,
    n_looks: usize,
}

/// Processes that the test ends when it ends.
struct Processes(Vec<Child>);

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn look(place: &Path, processes: &Processes) -> Option<Part> {
    let usages: Option<Vec<Usage>> = processes.0.iter().map(|child| Usage::of(child.id())).collect();
    let n_files = std::fs::read_dir(place.join("staging")).unwrap().count();
    Some(Part { processes: usages?.try_into().ok()?, n_files, n_looks: 1 })
}

fn join_parts(one: Part, other: Part) -> Part {
    let mut all = one;
    all.processes.iter_mut().zip(other.processes).for_each(|(most, usage)| *most = most.most(usage));
    Part { n_files: one.n_files.max(other.n_files), n_looks: one.n_looks + 1, ..all }
}

#[test]
fn memory_descriptors_and_files_do_not_grow_with_the_number_of_frames() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    drop(open(place).unwrap());
    NAMES[1..].iter().for_each(|name| drop(join(place, name).unwrap()));
    let log = |name: &str| place.join(format!("{name}.log"));
    let start = |name: &&str| start_saying(name, place, 0, Stdio::from(File::create(log(name)).unwrap()));
    let mut processes = Processes(NAMES.iter().map(start).collect());
    let begin = Instant::now();
    // The tenths of the run.
    let mut parts: [Option<Part>; 10] = [None; 10];
    let (mut before, mut moved) = (0, Instant::now());
    let mut is_done = false;
    while !is_done {
        let n_published = Status::of(&place.join("channel")).unwrap().n_published;
        if n_published > before {
            (before, moved) = (n_published, Instant::now());
        }
        assert!(moved.elapsed() < HUNG, "nothing was published for {HUNG:?} behind frame {before}");
        let tenth = (10 * n_published / n_frames().cast_unsigned()) as usize;
        // At the end, some processes have ended and others have not.
        if let (Some(part), Some(found)) = (parts.get_mut(tenth), look(place, &processes)) {
            *part = Some(part.map_or(found, |part| join_parts(part, found)));
        }
        is_done = true;
        for (name, child) in NAMES.iter().zip(&mut processes.0) {
            let outcome = child.try_wait().unwrap();
            let said = || std::fs::read_to_string(log(name)).unwrap();
            assert!(outcome.is_none_or(|outcome| outcome.success()), "{name}: {}", said());
            is_done &= outcome.is_some();
        }
        thread::sleep(Duration::from_millis(if is_slow() { 100 } else { 5 }));
    }
    report(&parts, begin.elapsed());
    check_results(place);
    // The first tenth covers what is allocated once. The other tenths may exceed it by at most
    // * 1 MiB, as the memory that an allocator keeps depends on the order of allocations;
    // * 4 descriptors, as files of commits are open for a moment.
    // The files in staging are those that retention keeps, and those written since the last check of the groups, within 100 ms.
    let first = parts[0].expect("a look in the first tenth");
    assert!(parts.iter().flatten().count() >= 5, "too few looks: {parts:?}");
    for part in parts.iter().flatten() {
        assert!(part.n_files < MOST_FILES, "{} files in staging", part.n_files);
        for ((name, now), then) in NAMES.iter().zip(part.processes).zip(first.processes) {
            assert!(now.resident_kb <= then.resident_kb + 1024, "{name}: {now:?} {then:?}");
            assert!(now.size_kb <= then.size_kb + 1024, "{name}: {now:?} {then:?}");
            assert!(now.n_descriptors <= then.n_descriptors + 4, "{name}: {now:?} {then:?}");
        }
    }
}

fn report(parts: &[Option<Part>], took: Duration) {
    let mut text = format!("{} frames in {took:.0?}; per tenth: looks, files, then of each process ", n_frames());
    text += &format!("resident kB, size kB, descriptors\n{NAMES:?}\n");
    for part in parts.iter().flatten() {
        let usage = |usage: &Usage| format!("{} {} {}", usage.resident_kb, usage.size_kb, usage.n_descriptors);
        let usages: Vec<String> = part.processes.iter().map(usage).collect();
        text += &format!("{:6} {:6}  {}\n", part.n_looks, part.n_files, usages.join("  |  "));
    }
    std::io::stdout().write_all(text.as_bytes()).unwrap();
}

/// Checks that each frame is in the result of each group once.
fn check_results(place: &Path) {
    let n = n_frames();
    for group in groups(&place.join("channel")).unwrap() {
        let mut total = (0, 0);
        for (_, state) in &group.members {
            let (words, _) = state.blob.as_chunks::<8>();
            let word = |at: usize| i64::from_le_bytes(words[at]);
            total = (total.0 + word(0), total.1 + word(1));
            assert_eq!(state.missed, 0);
            // These are the steps that the members of a group hold, however far one of them lags.
            let n_open = state.settled.open.len();
            assert!(n_open <= 2 * COMMITTED as usize, "{n_open} steps are open");
        }
        assert_eq!(total, (n, n * (n - 1) / 2), "group {}", group.name);
    }
}
