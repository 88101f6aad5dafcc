//! Tests of managed directories whose producers are killed at random moments. Visible files are complete, and readers miss none
//! of them.
#![cfg(target_os = "linux")]

#[path = "support/channel_processes.rs"]
mod channel_processes;

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use channel_processes::{LONG, kill, n_repetitions, random, role, start};
use mdreel_channel::directory::Directory;
use mdreel_channel::end::End;
use mdreel_channel::managed::arrivals::{Next, Order};
use mdreel_channel::managed::directory::{ManagedDirectory, Settings};
use mdreel_channel::managed::waiting::Patience;
use mdreel_core::error::{Error, Result};

const N_FILES: i64 = 400;
const N_KILLS: usize = 10;

fn content(i: i64) -> Vec<u8> {
    i.to_le_bytes().repeat(5000)
}

/// Opens the directory, also while a killed producer is still dying.
fn open(place: &Path) -> ManagedDirectory {
    let until = Instant::now() + LONG;
    loop {
        match ManagedDirectory::create(&place.join("frames"), Settings::default()) {
            Ok(directory) => return directory,
            Err(Error::Stream(_)) if Instant::now() < until => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn other_process_plays_its_role() {
    let Some((_, place, from)) = role() else { return };
    let directory = open(&place);
    for i in from..N_FILES {
        let mut writer = directory.writer(OsStr::new(&format!("frame-{i}"))).unwrap();
        content(i).chunks(1000).for_each(|piece| writer.write(piece).unwrap());
        writer.publish().unwrap();
    }
    directory.end(&End::Finished).unwrap();
}

/// Returns the numbers of the files in the order of their arrival, until the end.
fn follow(place: &Path) -> Result<Vec<i64>> {
    let mut arrivals = ManagedDirectory::open(&place.join("frames"))?.arrivals(Order::Published, None)?;
    let mut seen = Vec::new();
    let until = Instant::now() + 4 * LONG;
    loop {
        let mut patience = Patience { at_most: Some(Duration::from_secs(1)), keep_waiting: &mut || true };
        match arrivals.next(&mut patience) {
            Ok(Next::File(name, mut file)) => {
                let i = name.to_str().unwrap().strip_prefix("frame-").unwrap().parse().unwrap();
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).unwrap();
                assert!(bytes == content(i), "frame {i} is torn");
                seen.push(i);
            }
            Ok(Next::End(end)) => {
                assert_eq!(end, End::Finished);
                return Ok(seen);
            }
            // No producer is running at the moment, and the next one will start.
            Err(Error::Stream(_) | Error::StreamTimeout(_)) if Instant::now() < until => {}
            Err(error) => return Err(error),
        }
    }
}

#[test]
fn files_of_killed_producers_are_whole_and_each_is_seen_once() {
    for _ in 0..n_repetitions() {
        let place = tempfile::tempdir().unwrap();
        let frames = place.path().join("frames");
        Directory::create(&frames).unwrap();
        let of_reader = place.path().to_owned();
        let reader = thread::spawn(move || follow(&of_reader).unwrap());
        for i in 0..=N_KILLS {
            let present = |i: &i64| frames.join(format!("frame-{i}")).exists();
            let from = (0..N_FILES).take_while(present).count() as i64;
            let mut producer = start("producer", place.path(), from);
            if i < N_KILLS {
                // A producer that is killed at random moments must first live for a random time.
                thread::sleep(Duration::from_millis(random(30)));
                kill(&mut producer);
            } else {
                assert!(producer.wait().unwrap().success());
            }
        }
        let mut seen = reader.join().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (0..N_FILES).collect::<Vec<_>>());
        let entries = std::fs::read_dir(&frames).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let left: Vec<_> = names.filter(|name| name.contains("part")).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn forked_child_can_do_nothing_to_its_parents_files() {
    let place = tempfile::tempdir().unwrap();
    let directory = open(place.path());
    let name = OsStr::new("frame");
    let mut writer = directory.writer(name).unwrap();
    writer.write(b"whole").unwrap();
    // SAFETY: the child accesses only its copies of the parent's values, which it does not use again, and exits at once.
    let child = unsafe {
        match libc::fork() {
            0 => {
                std::ptr::drop_in_place(&raw mut writer);
                let is_refused = directory.writer(name).is_err() && directory.end(&End::Stopped).is_err();
                libc::_exit(i32::from(is_refused));
            }
            child => child,
        }
    };
    let mut status = 0;
    // SAFETY: the call writes only to the number.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(waited == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 1, "{status}");
    writer.publish().unwrap();
    assert_eq!(std::fs::read(place.path().join("frames/frame")).unwrap(), b"whole");
}
