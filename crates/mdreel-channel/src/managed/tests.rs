//! Tests of managed directories: visible files are complete, waiting readers receive them, and no reader waits for a file that
//! cannot come.

mod arrivals;

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::arrivals::Order;
use super::directory::{ManagedDirectory, Settings};
use super::names::{LOCK, MOST_NAME, MOST_PART, Part, STATE, is_visible};
use super::waiting::Patience;
use crate::end::End;
use mdreel_core::error::{Error, Result};

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(20);

struct Place {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    Place { path: directory.path().join("frames"), _directory: directory }
}

fn create(place: &Place) -> ManagedDirectory {
    ManagedDirectory::create(&place.path, Settings::default()).unwrap()
}

fn shared(place: &Place) -> Result<ManagedDirectory> {
    ManagedDirectory::create(&place.path, Settings { is_shared: true, ..Settings::default() })
}

fn publish(directory: &ManagedDirectory, name: &str, text: &str) {
    let mut writer = directory.writer(OsStr::new(name)).unwrap();
    writer.write(text.as_bytes()).unwrap();
    writer.publish().unwrap();
}

fn text(mut file: File) -> String {
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    text
}

fn wait(directory: &ManagedDirectory, name: &str, at_most: Duration) -> Result<String> {
    let mut patience = Patience { at_most: Some(at_most), keep_waiting: &mut || true };
    directory.wait(OsStr::new(name), &mut patience).map(text)
}

/// Returns all names, including hidden ones.
fn all(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn file_is_seen_when_it_is_published_and_not_before() {
    let place = place();
    let directory = create(&place);
    let mut writer = directory.writer(OsStr::new("frame-1.pdb")).unwrap();
    writer.write(b"ATOM").unwrap();
    assert!(!writer.path().exists());
    assert!(
        writer.part().to_str().unwrap().ends_with(".frame-1.pdb"),
        "who goes by the ending of a name knows the format"
    );
    assert!(directory.names(Order::Name).unwrap().is_empty());
    assert!(matches!(wait(&directory, "frame-1.pdb", SHORT), Err(Error::StreamTimeout(_))));
    writer.publish().unwrap();
    assert_eq!(wait(&directory, "frame-1.pdb", LONG).unwrap(), "ATOM");
    assert_eq!(all(&place.path), [LOCK, STATE, "frame-1.pdb"]);
}

#[test]
fn file_that_is_dropped_or_could_not_be_written_leaves_nothing() {
    let place = place();
    let directory = create(&place);
    publish(&directory, "a", "before");
    let mut writer = directory.writer(OsStr::new("a")).unwrap();
    writer.write(b"half").unwrap();
    drop(writer);
    let mut writer = directory.writer(OsStr::new("a")).unwrap();
    writer.write(b"half").unwrap();
    let full = || std::io::Error::from_raw_os_error(libc::ENOSPC);
    assert!(writer.with(|_| -> std::io::Result<()> { Err(full()) }).is_err());
    writer.write(b"the rest").unwrap();
    assert!(matches!(writer.publish(), Err(Error::Io { error, .. }) if error.raw_os_error() == Some(libc::ENOSPC)));
    assert_eq!(wait(&directory, "a", LONG).unwrap(), "before");
    assert_eq!(all(&place.path), [LOCK, STATE, "a"]);
}

#[test]
fn published_file_is_replaced_as_a_whole() {
    let place = place();
    let directory = ManagedDirectory::create(&place.path, Settings { is_synced: true, ..Settings::default() }).unwrap();
    publish(&directory, "state.cpt", "one");
    let opened = File::open(place.path.join("state.cpt")).unwrap();
    publish(&directory, "state.cpt", "two");
    assert_eq!(text(opened), "one");
    assert_eq!(wait(&directory, "state.cpt", LONG).unwrap(), "two");
    assert!(directory.remove(OsStr::new("state.cpt")).unwrap());
    assert!(!directory.remove(OsStr::new("state.cpt")).unwrap());
}

#[test]
fn names_of_other_directories_and_hidden_names_are_refused() {
    let place = place();
    let directory = create(&place);
    let long = "x".repeat(MOST_NAME + 1);
    for name in ["", ".", "..", ".hidden", "a/b", "/etc/passwd", "../a", STATE, "a\0b", &long] {
        let name = OsStr::new(name);
        assert!(matches!(directory.writer(name), Err(Error::Mismatch(_))), "{name:?}");
        assert!(matches!(directory.remove(name), Err(Error::Mismatch(_))), "{name:?}");
    }
    assert!(wait(&directory, "../frames", SHORT).is_err_and(|error| matches!(error, Error::Mismatch(_))));
    publish(&directory, &long[1..], "");
    let keep = Settings { keep: Some(0), ..Settings::default() };
    assert!(matches!(ManagedDirectory::create(&place.path, keep), Err(Error::Mismatch(_))));
}

#[test]
fn who_waits_is_woken_by_the_file_the_end_and_the_death_of_the_producer() {
    let place = place();
    let producer = create(&place);
    let waiting = |name: &'static str| {
        let reader = ManagedDirectory::open(&place.path).unwrap();
        thread::spawn(move || wait(&reader, name, LONG))
    };
    let begin = Instant::now();
    let (one, never) = (waiting("1"), waiting("never"));
    publish(&producer, "1", "ready");
    assert_eq!(one.join().unwrap().unwrap(), "ready");
    assert!(producer.end(&End::Failed("the disk is full".into())).unwrap());
    let error = never.join().unwrap().unwrap_err();
    assert!(
        matches!(&error, Error::Stream(problem) if problem.message.ends_with("has failed: the disk is full")),
        "{error}"
    );
    assert!(matches!(producer.writer(OsStr::new("2")), Err(Error::Stream(_))));
    drop(producer);
    assert_eq!(wait(&ManagedDirectory::open(&place.path).unwrap(), "1", LONG).unwrap(), "ready");
    let producer = create(&place);
    let never = waiting("never");
    drop(producer);
    let error = never.join().unwrap().unwrap_err();
    assert!(matches!(&error, Error::Stream(problem) if problem.message.contains("lost")), "{error}");
    assert!(begin.elapsed() < LONG);
}

#[test]
fn reader_may_come_before_the_producer_and_may_be_interrupted() {
    let place = place();
    assert!(matches!(ManagedDirectory::open(&place.path), Err(Error::Io { .. })));
    std::fs::create_dir(&place.path).unwrap();
    std::fs::set_permissions(&place.path, PermissionsExt::from_mode(0o755)).unwrap();
    assert!(ManagedDirectory::open(&place.path).is_err(), "others may enter");
    std::fs::remove_dir(&place.path).unwrap();
    crate::directory::Directory::create(&place.path).unwrap();
    let reader = ManagedDirectory::open(&place.path).unwrap();
    assert!(matches!(reader.writer(OsStr::new("a")), Err(Error::Stream(_))));
    assert!(matches!(reader.end(&End::Finished), Err(Error::Stream(_))));
    let error = wait(&reader, "a", SHORT).unwrap_err();
    assert!(
        matches!(&error, Error::StreamTimeout(problem) if problem.message.contains("no producer has come")),
        "{error}"
    );
    let mut n_asked = 0;
    let mut keep_waiting = || {
        n_asked += 1;
        n_asked < 4
    };
    let mut patience = Patience { at_most: None, keep_waiting: &mut keep_waiting };
    assert!(matches!(reader.wait(OsStr::new("a"), &mut patience), Err(Error::Interrupted)));
    let waiting = thread::spawn(move || wait(&reader, "a", LONG));
    publish(&create(&place), "a", "there");
    // The producer has gone without an end record, but the file that it published is visible.
    assert_eq!(waiting.join().unwrap().unwrap(), "there");
}

#[test]
fn second_producer_is_refused_unless_all_share() {
    let place = place();
    let one = create(&place);
    let refused = |outcome: Result<ManagedDirectory>| matches!(outcome, Err(Error::Stream(_)));
    assert!(refused(ManagedDirectory::create(&place.path, Settings::default())));
    assert!(refused(shared(&place)));
    drop(one);
    let (one, other) = (shared(&place).unwrap(), shared(&place).unwrap());
    assert!(refused(ManagedDirectory::create(&place.path, Settings::default())));
    publish(&one, "rank-0", "");
    publish(&other, "rank-1", "");
    assert!(!one.end(&End::Finished).unwrap(), "the other one goes on");
    publish(&other, "rank-1-2", "");
    assert!(other.end(&End::Finished).unwrap());
    assert!(wait(&one, "rank-0-2", LONG).is_err_and(|error| error.to_string().contains("is finished")));
    let (one, other) = (shared(&place).unwrap(), shared(&place).unwrap());
    assert!(one.end(&End::Failed("rank 0".into())).unwrap());
    assert!(wait(&other, "rank-0-2", LONG).is_err_and(|error| error.to_string().ends_with("rank 0")));
    assert!(!other.end(&End::Finished).unwrap(), "what was said of the failure stays");
    assert!(wait(&other, "rank-0-2", LONG).is_err_and(|error| error.to_string().ends_with("rank 0")));
}

#[test]
fn producers_that_enter_together_share() {
    let place = place();
    thread::scope(|scope| {
        for i in 0..8 {
            let place = &place;
            scope.spawn(move || publish(&shared(place).unwrap(), &format!("rank-{i}"), ""));
        }
    });
    assert_eq!(all(&place.path).len(), 2 + 8);
}

#[test]
fn what_dead_writers_have_left_is_removed_and_what_living_ones_write_stays() {
    let place = place();
    let directory = create(&place);
    let dead = [".mdreel-part.1.0.a", ".mdreel-part.4294967295.18446744073709551615.b.c"];
    let foreign = [".mdreel-part.x.0.a", ".mdreel-part.1.0.", ".mdreel-part.01.0.a", ".mdreel-other", "a.part"];
    dead.iter().chain(&foreign).for_each(|name| drop(File::create(place.path.join(name)).unwrap()));
    let mut writer = directory.writer(OsStr::new("living")).unwrap();
    writer.write(b"it").unwrap();
    // The producer releases its lock, but the writer still exists.
    directory.end(&End::Stopped).unwrap();
    let next = create(&place);
    let left = all(&place.path);
    assert!(dead.iter().all(|name| !left.iter().any(|other| other == name)), "{left:?}");
    assert!(foreign.iter().all(|name| left.iter().any(|other| other == name)), "{left:?}");
    assert!(writer.part().exists());
    // The producer of the file has ended, so the file cannot be published any more.
    assert!(matches!(writer.publish(), Err(Error::Stream(_))));
    publish(&next, "a", "");
}

#[test]
fn only_the_newest_files_are_kept() {
    let place = place();
    publish(&create(&place), "old", "");
    let directory = ManagedDirectory::create(&place.path, Settings { keep: Some(2), ..Settings::default() }).unwrap();
    let present = || directory.names(Order::Name).unwrap();
    publish(&directory, "1", "");
    assert_eq!(present(), ["1", "old"]);
    publish(&directory, "2", "");
    assert_eq!(present(), ["1", "2"]);
    publish(&directory, "1", "again");
    publish(&directory, "3", "");
    assert_eq!(present(), ["1", "3"]);
}

proptest! {
    #[test]
    fn hidden_names_come_back(process: u32, number: u64, name in prop::collection::vec(any::<u8>(), 1..=MOST_NAME)) {
        prop_assume!(is_visible(&name));
        let part = Part { process, number, name: &name };
        let mut room = [0; MOST_PART];
        let hidden = part.write(&mut room).unwrap();
        prop_assert!(hidden.len() < 256 && !is_visible(hidden));
        prop_assert_eq!(Part::read(hidden), Some(part));
    }
}
