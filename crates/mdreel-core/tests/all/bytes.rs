//! Bytes of files: every access method reads the same bytes. If a file is truncated, the reader returns an error and
//! the process survives.

#![allow(clippy::single_range_in_vec_init, reason = "a load of one range is what is meant")]

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Barrier;

use mdreel_core::error::{Error, Result};
use mdreel_core::source::bytes::{Access, ByteReader, FileBytes, MARGIN};
use proptest::prelude::*;
use tempfile::NamedTempFile;

use crate::alone;

const PAGE: u64 = 4096;
/// The environment variable that a test sets in processes that it starts from this program.
const CHILD: &str = "MDREEL_TEST_BYTES_CHILD";

fn file_of(len: u64) -> (NamedTempFile, Vec<u8>) {
    let bytes: Vec<u8> = (0..len).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 | 1).collect();
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    (file, bytes)
}

fn cut(path: &Path, len: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte)).sum()
}

/// Loads, reads and confirms ranges of bytes, as a source does.
fn use_up(reader: &mut ByteReader<'_>, ranges: &[Range<u64>]) -> Result<u64> {
    reader.load(ranges)?;
    let total = (0..ranges.len()).map(|i| sum(reader.get_with_margin(i))).sum();
    reader.confirm()?;
    Ok(total)
}

/// Returns the byte that the error names. Panics unless the error states that the file was truncated.
fn cut_at(error: &Error, path: &Path) -> u64 {
    let text = error.to_string();
    assert!(text.contains(path.to_str().unwrap()) && text.contains("cut while being read"), "{text}");
    let Error::Format { place, .. } = error else { panic!("not a format error: {error:?}") };
    place.byte.unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_access_gives_the_files_bytes(
        len in prop_oneof![0u64..300_000, (0u64..70).prop_map(|pages| pages * PAGE)],
        cuts in prop::collection::vec((0u64..300_000, 0u64..60_000), 0..20),
        to_the_end in any::<bool>(),
        n_loads in 1usize..4,
    ) {
        let (file, bytes) = file_of(len);
        let mut ranges: Vec<Range<u64>> =
            cuts.iter().map(|&(start, length)| start.min(len)..(start + length).min(len)).collect();
        if to_the_end {
            ranges.push(len.saturating_sub(17)..len);
        }
        ranges.sort_by_key(|range| (range.start, range.end));
        for access in [Access::Map, Access::Read, Access::Auto] {
            let source = FileBytes::open(file.path(), access).unwrap();
            let mut reader = source.reader();
            for part in ranges.chunks(ranges.len().div_ceil(n_loads).max(1)) {
                reader.load(part).unwrap();
                for (i, range) in part.iter().enumerate() {
                    let expected = &bytes[range.start as usize..range.end as usize];
                    prop_assert_eq!(reader.get(i), expected);
                    let padded = reader.get_with_margin(i);
                    prop_assert_eq!(padded.len(), expected.len() + MARGIN);
                    prop_assert_eq!(&padded[..expected.len()], expected);
                    std::hint::black_box(sum(padded));
                }
                reader.confirm().unwrap();
            }
        }
    }
}

#[test]
fn ranges_at_the_end_have_their_margin_when_the_file_fills_its_last_page() {
    for len in [PAGE, 3 * PAGE, 16 * PAGE, 16 * PAGE - 1, 16 * PAGE - MARGIN as u64, 16 * PAGE + 1] {
        let (file, bytes) = file_of(len);
        let source = FileBytes::open(file.path(), Access::Map).unwrap();
        assert_eq!(source.access().unwrap(), Access::Map);
        let mut reader = source.reader();
        for before in [0, 1, 63, 64, 65, 4095, 4096] {
            let start = len - before.min(len);
            // From the start of the file, runs are long enough to come from the map.
            for (start, end) in [(start, start), (start, len - before / 2), (start, len), (0, start), (0, len)] {
                reader.load(&[start..end]).unwrap();
                assert_eq!(reader.get(0), &bytes[start as usize..end as usize]);
                std::hint::black_box(sum(reader.get_with_margin(0)));
                reader.confirm().unwrap();
            }
        }
    }
}

#[test]
fn bytes_that_a_file_gained_can_be_read() {
    for access in [Access::Map, Access::Read] {
        let (file, _) = file_of(5 * PAGE);
        let source = FileBytes::open(file.path(), access).unwrap();
        let mut reader = source.reader();
        let bytes: Vec<u8> = (0..9 * PAGE).map(|i| (i % 251) as u8).collect();
        std::fs::write(file.path(), &bytes).unwrap();
        reader.load(&[4 * PAGE..8 * PAGE + 5]).unwrap();
        assert_eq!(reader.get(0), &bytes[4 * PAGE as usize..8 * PAGE as usize + 5]);
        reader.confirm().unwrap();
    }
}

#[test]
fn ranges_that_no_file_holds_are_refused() {
    for access in [Access::Map, Access::Read] {
        let (file, _) = file_of(1000);
        let source = FileBytes::open(file.path(), access).unwrap();
        let mut reader = source.reader();
        for range in [0..1001, 990..u64::MAX, u64::MAX - 1..u64::MAX, 2000..2000] {
            assert!(matches!(reader.load(std::slice::from_ref(&range)), Err(Error::Format { .. })), "{range:?}");
            assert!(matches!(source.read_vec(range), Err(Error::Format { .. })));
        }
        #[expect(clippy::reversed_empty_ranges, reason = "what is tested")]
        let backwards = 20..10;
        assert!(matches!(reader.load(&[backwards]), Err(Error::Mismatch(_))));
        reader.load(&[0..1000]).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn file_is_read_when_its_file_system_is_not_known_to_be_local() {
    let source = FileBytes::open(Path::new("/proc/self/maps"), Access::Auto).unwrap();
    assert_eq!(source.access().unwrap(), Access::Read);
}

#[test]
fn file_cut_before_a_load_is_an_error() {
    let len = 64 * PAGE;
    for access in [Access::Map, Access::Read] {
        for left in [0, 1, PAGE, 20 * PAGE, 20 * PAGE + 7, len - 1] {
            let (file, _) = file_of(len);
            let source = FileBytes::open(file.path(), access).unwrap();
            let mut reader = source.reader();
            cut(file.path(), left);
            let error = use_up(&mut reader, &[0..len - PAGE, len - PAGE..len]).unwrap_err();
            assert!(cut_at(&error, file.path()) < len);
        }
    }
}

#[test]
fn map_of_a_file_cut_after_a_load_is_an_error_for_good() {
    let len = 64 * PAGE;
    for left in [0, 1, PAGE, 20 * PAGE, 20 * PAGE + 7, len - 1] {
        let (file, bytes) = file_of(len);
        let source = FileBytes::open(file.path(), Access::Map).unwrap();
        let mut reader = source.reader();
        reader.load(&[0..len - 100]).unwrap();
        reader.confirm().unwrap();
        cut(file.path(), left);
        let seen = reader.get(0).to_vec();
        assert_eq!(seen[..left.min(len - 100) as usize], bytes[..left.min(len - 100) as usize]);
        assert!(seen[left.min(len - 100) as usize..].iter().all(|byte| *byte == 0));
        let byte = cut_at(&reader.confirm().unwrap_err(), file.path());
        assert!(left <= byte && byte < len, "{byte} for {left}");
        // The file is complete again, but its content could have changed.
        std::fs::write(file.path(), &bytes).unwrap();
        assert!(reader.confirm().is_err());
        assert!(reader.load(&[0..10]).is_err());
        assert!(source.reader().load(&[0..10]).is_err());
        let anew = FileBytes::open(file.path(), Access::Map).unwrap();
        assert_eq!(use_up(&mut anew.reader(), &[0..len - MARGIN as u64]).unwrap(), sum(&bytes));
    }
}

#[test]
fn bus_error_is_remembered_when_the_file_is_whole_again() {
    let len = 64 * PAGE;
    let (file, bytes) = file_of(len);
    let source = FileBytes::open(file.path(), Access::Map).unwrap();
    let mut reader = source.reader();
    reader.load(&[0..len - 100]).unwrap();
    cut(file.path(), 10 * PAGE);
    assert_eq!(reader.get(0)[30 * PAGE as usize + 5], 0);
    std::fs::write(file.path(), &bytes).unwrap();
    // The size is correct again, so only the signal handler knows about the bus error.
    assert_eq!(cut_at(&reader.confirm().unwrap_err(), file.path()), 30 * PAGE + 5);
}

#[test]
fn file_cut_under_two_threads_is_an_error_in_both() {
    let len = 512 * PAGE;
    for access in [Access::Map, Access::Read] {
        for round in 0..8 {
            let (file, bytes) = file_of(len);
            let whole = sum(&bytes[..(len - PAGE) as usize]);
            let source = FileBytes::open(file.path(), access).unwrap();
            let barrier = Barrier::new(3);
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        let mut reader = source.reader();
                        let mut scan = || -> Result<u64> {
                            reader.load(std::slice::from_ref(&(0..len - PAGE)))?;
                            let total = sum(reader.get(0));
                            reader.confirm().map(|()| total)
                        };
                        assert_eq!(scan().unwrap(), whole);
                        barrier.wait();
                        // All confirmed data is correct until a scan meets the truncation.
                        let error = loop {
                            match scan() {
                                Ok(total) => assert_eq!(total, whole, "{access:?}"),
                                Err(error) => break error,
                            }
                        };
                        cut_at(&error, file.path());
                    });
                }
                barrier.wait();
                cut(file.path(), round * 17 * PAGE + round);
            });
        }
    }
}

/// Runs only the test `name` in a separate process, with `CHILD` set.
fn run_alone(name: &str) -> ExitStatus {
    let mut child = alone(module_path!(), name);
    child.args(["--nocapture", "--test-threads=1"]).env(CHILD, "1").output().unwrap().status
}

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

fn set_action(action: libc::sighandler_t) {
    // SAFETY: the only actions used here are the default action, ignoring the signal, and `leave`.
    assert_ne!(unsafe { libc::signal(libc::SIGBUS, action) }, libc::SIG_ERR);
}

extern "C" fn leave(_signal: c_int) {
    // SAFETY: signal handlers may call `_exit`.
    unsafe { libc::_exit(42) }
}

fn leave_action() -> libc::sighandler_t {
    let handler: extern "C" fn(c_int) = leave;
    handler as libc::sighandler_t
}

/// Reads a memory map that does not belong to a reader and whose file has been truncated to zero bytes.
fn touch_foreign_map() {
    let file: File = tempfile::tempfile().unwrap();
    file.set_len(PAGE).unwrap();
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file);
    // SAFETY: the map is new. The test intends the SIGBUS that reading it raises.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), 1, libc::PROT_READ, libc::MAP_SHARED, descriptor, 0);
        assert_ne!(start, libc::MAP_FAILED);
        file.set_len(0).unwrap();
        std::hint::black_box(start.cast::<u8>().read_volatile());
    }
}

/// Causes a bus error in a reader's map, so that the handler is installed and known to work.
fn meet_bus_error(expected: Access) {
    let (file, _) = file_of(64 * PAGE);
    let source = FileBytes::open(file.path(), Access::Map).unwrap();
    assert_eq!(source.access().unwrap(), expected);
    let mut reader = source.reader();
    reader.load(&[0..60 * PAGE]).unwrap();
    cut(file.path(), 0);
    std::hint::black_box(sum(reader.get(0)));
    assert!(use_up(&mut reader, &[0..60 * PAGE]).is_err());
}

#[test]
fn foreign_bus_error_ends_the_process_as_before() {
    if is_child() {
        set_action(libc::SIG_DFL);
        meet_bus_error(Access::Map);
        touch_foreign_map();
    } else {
        let status = run_alone("foreign_bus_error_ends_the_process_as_before");
        assert_eq!(status.signal(), Some(libc::SIGBUS), "{status:?}");
    }
}

#[test]
fn foreign_bus_error_reaches_the_handler_that_was_there() {
    if is_child() {
        set_action(leave_action());
        meet_bus_error(Access::Map);
        touch_foreign_map();
    } else {
        assert_eq!(run_alone("foreign_bus_error_reaches_the_handler_that_was_there").code(), Some(42));
    }
}

#[test]
fn sent_bus_error_is_ignored_when_it_was_before() {
    if is_child() {
        set_action(libc::SIG_IGN);
        meet_bus_error(Access::Map);
        // SAFETY: the call sends a signal to this thread.
        assert_eq!(unsafe { libc::raise(libc::SIGBUS) }, 0);
    } else {
        assert_eq!(run_alone("sent_bus_error_is_ignored_when_it_was_before").code(), Some(0));
    }
}

#[test]
fn sent_bus_error_ends_the_process_as_before() {
    if is_child() {
        set_action(libc::SIG_DFL);
        meet_bus_error(Access::Map);
        // SAFETY: the call sends a signal to this thread.
        assert_eq!(unsafe { libc::raise(libc::SIGBUS) }, 0);
    } else {
        assert_eq!(run_alone("sent_bus_error_ends_the_process_as_before").signal(), Some(libc::SIGBUS));
    }
}

#[test]
fn file_is_read_when_another_handler_came_after_ours() {
    if is_child() {
        meet_bus_error(Access::Map);
        let (file, _) = file_of(64 * PAGE);
        let before = FileBytes::open(file.path(), Access::Map).unwrap();
        assert_eq!(before.access().unwrap(), Access::Map);
        set_action(leave_action());
        meet_bus_error(Access::Read);
        let mut reader = before.reader();
        reader.load(&[0..60 * PAGE]).unwrap();
        cut(file.path(), 0);
        std::hint::black_box(sum(reader.get(0)));
        assert!(use_up(&mut reader, &[0..60 * PAGE]).is_err());
    } else {
        assert_eq!(run_alone("file_is_read_when_another_handler_came_after_ours").code(), Some(0));
    }
}
