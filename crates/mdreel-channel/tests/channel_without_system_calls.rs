//! Tests that taking an available frame and publishing a frame for which no consumer sleeps need no system call. The kernel kills
//! the process at the first one.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use mdreel_channel::consumer::{Consumer, Next, Start};
use mdreel_channel::held::{HeldNext, Holder};
use mdreel_channel::layout::Section;
use mdreel_channel::manifest::Manifest;
use mdreel_channel::producer::{Moment, Policy, Producer, Settings};
use mdreel_channel::ring_file::Geometry;
use mdreel_channel::section::{DataType, SectionKind};

const ROLE: &str = "MDREEL_SILENT_ROLE";
const PLACE: &str = "MDREEL_SILENT_PLACE";
const LONG: Duration = Duration::from_secs(30);
const N_ATOMS: usize = 100;
/// The number of frames that are published or taken before system calls become fatal. Memory is allocated during these frames,
/// and kept.
const N_BEFORE: i64 = 10;
const N_SILENT: i64 = 1000;

fn open(place: &Path) -> Producer {
    let manifest = Manifest {
        stream: 1,
        topology_hash: [0; 32],
        n_atoms: N_ATOMS as u64,
        units: Vec::new(),
        time_step: 0.002,
        stride: 1,
        sections: Vec::new(),
        energies: Vec::new(),
    };
    let n_slots = (N_BEFORE + N_SILENT + 10) as u64;
    let geometry = Geometry { n_slots, slot_len: 12 * N_ATOMS as u64 + 1024 };
    let settings = Settings { geometry, manifest, policy: Policy::Block(LONG), resume_step: 0, staging: None };
    Producer::open(&place.join("channel"), settings).unwrap()
}

fn publish(producer: &mut Producer, steps: std::ops::Range<i64>) {
    let bytes = [7; 12 * N_ATOMS];
    let section = Section { kind: SectionKind::Positions, data_type: DataType::Float32, bytes: &bytes };
    for step in steps {
        producer.publish(&Moment { step, time: 0.0, cell: None }, &[section]).unwrap();
    }
}

/// Lets the kernel kill the process at any further system call of this thread, except `exit_group`.
fn be_silent() {
    let load_number = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let is_equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let answer = (libc::BPF_RET | libc::BPF_K) as u16;
    let mut filter = [
        libc::sock_filter { code: load_number, jt: 0, jf: 0, k: 0 },
        libc::sock_filter { code: is_equal, jt: 0, jf: 1, k: libc::SYS_exit_group as u32 },
        libc::sock_filter { code: answer, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW },
        libc::sock_filter { code: answer, jt: 0, jf: 0, k: libc::SECCOMP_RET_KILL_PROCESS },
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the addresses are those of values that live for the calls; the kernel copies the filter.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
    }
}

/// Ends the process with the only permitted system call.
fn leave(is_right: bool) -> ! {
    // SAFETY: the call does not return.
    unsafe { libc::_exit(i32::from(!is_right)) }
}

fn take(consumer: &mut Consumer, steps: std::ops::Range<i64>) -> bool {
    let mut steps = steps;
    steps.all(|step| matches!(consumer.next(LONG), Ok(Next::Frame(frame)) if frame.header().step == step))
}

fn take_held(holder: &std::sync::Arc<Holder>, steps: std::ops::Range<i64>) -> bool {
    let mut steps = steps;
    steps.all(|step| matches!(holder.next(LONG), Ok(HeldNext::Frame(frame)) if frame.header().step == step))
}

/// The entry point of the other processes, which run only this test. Does nothing in a normal test run.
#[test]
fn other_process_plays_its_role() {
    let (Ok(role), Some(place)) = (std::env::var(ROLE), std::env::var_os(PLACE)) else { return };
    let place = PathBuf::from(place);
    let all = N_BEFORE + N_SILENT;
    match role.as_str() {
        "consumer" | "consumer that waits" => {
            let mut consumer = Consumer::join(&place.join("channel"), Start::Earliest).unwrap();
            assert!(take(&mut consumer, 0..N_BEFORE));
            be_silent();
            let is_right = take(&mut consumer, N_BEFORE..all);
            if role == "consumer that waits" {
                let _ = consumer.next(LONG);
            }
            leave(is_right);
        }
        "holder" => {
            let holder = Holder::join(&place.join("channel"), Start::Earliest).unwrap();
            assert!(take_held(&holder, 0..N_BEFORE));
            be_silent();
            leave(take_held(&holder, N_BEFORE..all));
        }
        "producer" => {
            let mut producer = open(&place);
            publish(&mut producer, 0..N_BEFORE);
            be_silent();
            publish(&mut producer, N_BEFORE..all);
            leave(true);
        }
        _ => panic!("{role}"),
    }
}

fn play(role: &str, place: &Path) -> ExitStatus {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "other_process_plays_its_role", "--nocapture"]).env(ROLE, role).env(PLACE, place);
    command.stdout(Stdio::null()).status().unwrap()
}

/// Runs a process that takes a thousand available frames.
fn with_frames(role: &str) -> ExitStatus {
    let place = tempfile::tempdir().unwrap();
    let mut producer = open(place.path());
    publish(&mut producer, 0..N_BEFORE + N_SILENT);
    play(role, place.path())
}

#[test]
fn consumer_takes_frames_that_are_there_without_a_system_call() {
    assert!(with_frames("consumer").success());
}

#[test]
fn holder_takes_frames_that_are_there_without_a_system_call() {
    assert!(with_frames("holder").success());
}

#[test]
fn producer_publishes_without_a_system_call_when_nobody_sleeps() {
    let place = tempfile::tempdir().unwrap();
    assert!(play("producer", place.path()).success());
}

#[test]
fn process_is_killed_when_it_waits_for_a_frame() {
    assert_eq!(with_frames("consumer that waits").signal(), Some(libc::SIGSYS));
}
