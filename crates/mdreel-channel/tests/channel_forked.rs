//! Tests of children that are forked without `exec`, as Python's `multiprocessing` does. They keep nothing of their parent's
//! channel alive, and cannot change it.
#![cfg(target_os = "linux")]

#[path = "support/channel_processes.rs"]
mod channel_processes;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use channel_processes::{LONG, N_STEPS, check, kill, publish, role, staged, start, try_open};
use mdreel_channel::catch_up::CatchUp;
use mdreel_channel::consumer::{Consumer, Next, Start};
use mdreel_channel::end::End;
use mdreel_channel::group::file::Mode;
use mdreel_channel::group::{Member, Membership};
use mdreel_core::error::Error;

fn channel(place: &Path) -> PathBuf {
    place.join("channel")
}

fn member(place: &Path) -> Result<Member, Error> {
    let membership = Membership { group: "group", member: "one", mode: Mode::Broadcast, start: Start::Earliest };
    Member::join(&channel(place), membership)
}

/// Forks. The child calls `then` and exits with its result; the parent gets the child's process number.
fn fork(then: impl FnOnce() -> i32) -> libc::pid_t {
    // SAFETY: the child runs `then` and ends at once, without the destructors and the other tests of this process.
    unsafe {
        match libc::fork() {
            0 => libc::_exit(then()),
            child => child,
        }
    }
}

/// Sleeps until the process is killed, for at most 120 s.
fn stay() -> i32 {
    // SAFETY: these are two system calls that access no memory.
    unsafe {
        libc::alarm(120);
        libc::pause()
    }
}

/// Returns the exit status of a child.
fn outcome(child: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: the call writes only to the number.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(waited == child && libc::WIFEXITED(status), "{status}");
    libc::WEXITSTATUS(status)
}

/// Writes the process number of the child to a file, which appears only when it is complete.
fn tell(place: &Path, child: libc::pid_t) {
    let part = place.join("child.part");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&part).unwrap();
    file.write_all(child.to_string().as_bytes()).unwrap();
    std::fs::rename(part, place.join("child")).unwrap();
}

fn told(place: &Path) -> libc::pid_t {
    let begin = Instant::now();
    loop {
        if let Ok(text) = std::fs::read_to_string(place.join("child")) {
            return text.parse().unwrap();
        }
        assert!(begin.elapsed() < LONG);
        std::thread::yield_now();
    }
}

#[test]
fn other_process_plays_its_role() {
    let Some((role, place, from)) = role() else { return };
    if role == "producer" {
        let mut producer = try_open(&place, from, true).unwrap();
        tell(&place, fork(stay));
        for step in from.. {
            publish(&mut producer, step % N_STEPS + from);
        }
    } else {
        let _member = member(&place).unwrap();
        let _consumer = Consumer::join(&channel(&place), Start::Earliest).unwrap();
        tell(&place, fork(stay));
        stay();
    }
}

/// A child that outlives its parent. Dropping this value kills it.
struct Orphan(libc::pid_t);

impl Orphan {
    fn lives(&self) -> bool {
        // SAFETY: signal 0 only checks whether the process exists.
        unsafe { libc::kill(self.0, 0) == 0 }
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        // SAFETY: the process is the child whose number the other process has written.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
    }
}

#[test]
fn killed_producer_is_missed_and_succeeded_while_its_forked_child_lives() {
    let place = tempfile::tempdir().unwrap();
    drop(try_open(place.path(), 0, true).unwrap());
    let mut consumer = Consumer::join(&channel(place.path()), Start::Earliest).unwrap();
    let mut producer = start("producer", place.path(), 0);
    let child = Orphan(told(place.path()));
    while consumer.next(LONG).is_err() {}
    kill(&mut producer);
    let error = loop {
        match consumer.next(LONG) {
            Ok(Next::Frame(frame)) => assert!(check(&frame) >= 0),
            Ok(Next::End(end)) => panic!("{end:?}"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Stream(_)), "{error}");
    assert!(child.lives());
    let mut producer = try_open(place.path(), N_STEPS, true).expect("the locks are free, that of staging as well");
    assert!(child.lives());
    publish(&mut producer, N_STEPS);
    let mut next = || match consumer.next(LONG).unwrap() {
        Next::Frame(frame) => check(&frame),
        Next::End(end) => panic!("{end:?}"),
    };
    let step = next();
    // The killed producer may have staged a frame that it did not publish. Its successor publishes that frame first.
    let is_late = staged(place.path()).iter().rev().nth(1) == Some(&step);
    assert_eq!(if is_late { next() } else { step }, N_STEPS);
}

#[test]
fn killed_consumer_is_not_waited_for_while_its_forked_child_lives() {
    let place = tempfile::tempdir().unwrap();
    let mut producer = try_open(place.path(), 0, false).unwrap();
    let mut consumer = start("consumer", place.path(), 0);
    let child = Orphan(told(place.path()));
    assert_eq!(producer.n_consumers().unwrap(), 2, "the consumer and the member");
    kill(&mut consumer);
    (0..20).for_each(|step| publish(&mut producer, step));
    assert_eq!(producer.n_consumers().unwrap(), 0);
    member(place.path()).expect("the name is free");
    assert!(child.lives());
}

#[test]
fn forked_child_can_do_nothing_to_its_parents_channel_and_may_open_it_anew() {
    let place = tempfile::tempdir().unwrap();
    let mut producer = try_open(place.path(), 0, false).unwrap();
    let mut consumer = Consumer::join(&channel(place.path()), Start::Earliest).unwrap();
    publish(&mut producer, 0);
    publish(&mut producer, 1);
    let mut member = member(place.path()).unwrap();
    assert!(matches!(consumer.next(LONG), Ok(Next::Frame(frame)) if check(&frame) == 0));
    let child = fork(|| {
        let takes_nothing = matches!(member.next(LONG), Err(Error::Stream(_)));
        let is_refused = [
            takes_nothing,
            matches!(consumer.next(LONG), Err(Error::Stream(_))),
            matches!(producer.n_consumers(), Err(Error::Stream(_))),
            matches!(member.commit(b""), Err(Error::Stream(_))),
        ];
        // SAFETY: these are the child's copies, which it does not use again. The locks that they hold belong to the parent.
        let is_ended = unsafe {
            std::ptr::drop_in_place(&raw mut consumer);
            std::ptr::drop_in_place(&raw mut member);
            std::ptr::read(&raw const producer).end(&End::Stopped).is_ok()
        };
        let mut own = CatchUp::join(&channel(place.path()), Start::Earliest).unwrap();
        let is_read = own.next(LONG).is_ok();
        drop(own);
        i32::from(is_refused == [true; 4] && !is_ended && is_read)
    });
    assert_eq!(outcome(child), 1);
    assert_eq!(producer.n_consumers().unwrap(), 1);
    let is_next = matches!(consumer.next(LONG), Ok(Next::Frame(frame)) if check(&frame) == 1);
    assert!(is_next);
    member.commit(b"").unwrap();
    // The consumer lags by a full ring, and the producer waits for it.
    (2..10).for_each(|step| publish(&mut producer, step));
    assert_eq!(producer.lag(), Some(8));
    producer.end(&End::Finished).unwrap();
}
