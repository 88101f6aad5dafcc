//! Many processes that open the same new file at once need one or two scans, but not one scan each.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use mdreel_core::source::Source;
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::frame_index::Keep;
use mdreel_core::source::xtc::Xtc;

use crate::alone;

/// The environment variable that names the file that a child process of a test opens.
const CHILD_FILE: &str = "MDREEL_TEST_FILE";
const N_FRAMES: usize = 20_000;
const N_PROCESSES: usize = 48;

/// Creates frames of one atom. A scan of them needs as many system calls as there are frames.
fn many_frames() -> Vec<u8> {
    let frame = |i: usize| {
        let words = [1995, 1, i as u32, (i as f32).to_bits()].into_iter().chain([0; 9]).chain([1, 0, 0, 0]);
        words.flat_map(u32::to_be_bytes).collect::<Vec<_>>()
    };
    (0..N_FRAMES).flat_map(frame).collect()
}

/// Returns the number of read system calls of this process so far.
fn n_reads() -> usize {
    let counts = std::fs::read_to_string("/proc/self/io").expect("Linux has it");
    let line = counts.lines().find_map(|line| line.strip_prefix("syscr: ")).expect("a count of calls");
    line.parse().expect("a number")
}

/// Starts this test program again. The new process waits for a byte from its parent and then opens a file.
fn child(file: &Path, cache: &Path) -> Child {
    alone(module_path!(), "child_locates_frames")
        .args(["--ignored", "--nocapture"])
        .env("MDREEL_CACHE_DIR", cache)
        .env(CHILD_FILE, file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process")
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn child_locates_frames() {
    let path = PathBuf::from(std::env::var_os(CHILD_FILE).expect("named by the parent"));
    std::io::stdin().read_exact(&mut [0]).expect("a sign of the parent");
    let before = n_reads();
    let xtc = Xtc::open(FileBytes::open(&path, Access::Read).expect("it is there"), Keep::Cache).expect("a valid file");
    assert_eq!(xtc.n_frames().expect("located"), N_FRAMES as u64);
    assert!(xtc.times().expect("located").iter().enumerate().all(|(i, &time)| time == i as f64));
    writeln!(std::io::stdout(), "reads: {}", n_reads() - before).expect("the parent listens");
}

/// Returns how many of `N_PROCESSES` processes scan the complete file.
fn count_scans(file: &Path, cache: &Path) -> usize {
    let mut children: Vec<_> = (0..N_PROCESSES).map(|_| child(file, cache)).collect();
    for child in &mut children {
        child.stdin.take().expect("a pipe").write_all(b"!").expect("it listens");
    }
    let scans = children.into_iter().filter_map(|child| {
        let output = child.wait_with_output().expect("our own child");
        assert!(output.status.success());
        let said = String::from_utf8(output.stdout).expect("text");
        let n_reads: usize = said.split_once("reads: ")?.1.lines().next()?.parse().ok()?;
        Some(n_reads >= N_FRAMES)
    });
    let scans: Vec<_> = scans.collect();
    assert_eq!(scans.len(), N_PROCESSES, "all say how much they read");
    scans.into_iter().filter(|&is_scan| is_scan).count()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn processes_that_open_the_same_new_file_scan_it_twice_at_most() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (path, cache) = (directory.path().join("run.xtc"), directory.path().join("cache"));
    std::fs::write(&path, many_frames()).expect("room for a small file");
    let n_scans = count_scans(&path, &cache);
    assert!((1..=2).contains(&n_scans), "{n_scans} scans");
    // Only the index remains.
    let kept = names(&cache.join("index"));
    assert!(kept.len() == 1 && kept[0].ends_with(".index"), "{kept:?}");
    assert_eq!(count_scans(&path, &cache), 0, "the index is there");
}

#[test]
fn processes_scan_each_for_itself_where_nothing_can_be_kept() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (path, cache) = (directory.path().join("run.xtc"), directory.path().join("a file"));
    std::fs::write(&path, many_frames()).expect("room for a small file");
    std::fs::write(&cache, "where a directory should be").expect("room for a small file");
    assert_eq!(count_scans(&path, &cache), N_PROCESSES);
}
