//! DCD: the reader reports the place of any damage, never panics, and trusts no number in a file without a check.

use mdreel_core::Error;
use mdreel_core::block::FrameSet;
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::dcd::Dcd;
use mdreel_core::source::{AtomSelection, Source, SourceExt};
use proptest::prelude::*;

use crate::dcd_reading::{file_of, open, read, read_all};
use crate::dcd_writer::DcdWriter;

const CELL: [f64; 6] = [30.0, 80.0, 40.0, 70.0, 60.0, 50.0];

/// Returns the frame, byte and message of a format error.
fn place<T>(result: mdreel_core::Result<T>) -> (Option<u64>, Option<u64>, String) {
    match result.err() {
        Some(Error::Format { place, message }) => (place.frame, place.byte, message),
        Some(other) => panic!("expected a format error, got {other:?}"),
        None => panic!("expected a format error, got none"),
    }
}

/// Returns `bytes` with the integer at `at` replaced.
fn with_i32(bytes: &[u8], at: usize, value: i32) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    bytes
}

/// Returns the offset of an integer of the control record in a file with 32-bit markers.
fn icntrl(i: usize) -> usize {
    4 + 4 * i
}

#[test]
fn test_dcd_says_where_a_file_was_cut_at_any_byte() {
    for (wide_markers, free_atoms) in [(false, None), (true, None), (false, Some(vec![2, 3, 5]))] {
        let writer =
            DcdWriter { wide_markers, free_atoms, cells: vec![CELL], fourth_dimension: true, ..DcdWriter::default() };
        let written = writer.write();
        for length in 0..written.bytes.len() {
            let bytes = &written.bytes[..length];
            if length < written.header_end {
                let (frame, byte, message) = place(open(bytes));
                assert!(frame.is_none() && byte.is_some(), "cut at {length}");
                assert!(length == 0 || message.contains(&format!("{length} bytes")), "cut at {length}: {message}");
                continue;
            }
            let n_whole = written.frame_ends.iter().filter(|&&end| end <= length).count();
            let border = if n_whole == 0 { written.header_end } else { written.frame_ends[n_whole - 1] };
            if length == border {
                let frames = read_all(bytes).expect("whole frames");
                assert_eq!(frames.headers.len(), n_whole, "cut at {length}");
            } else {
                let opened = open(bytes);
                assert_eq!(opened.is_ok(), n_whole > 0, "cut at {length}");
                let (frame, byte, message) = place(opened.and_then(|dcd| dcd.check_end()));
                assert_eq!((frame, byte), (Some(n_whole as u64), Some(border as u64)), "cut at {length}");
                assert!(message.contains("torn"), "{message}");
            }
        }
    }
}

#[test]
fn test_dcd_trusts_the_size_of_the_file_when_the_count_is_wrong() {
    for n_counted in [0, -1, 1, 2, 4, 500, i32::MAX] {
        let writer = DcdWriter { n_counted: Some(n_counted), ..DcdWriter::default() };
        assert_eq!(open(&writer.write().bytes).unwrap().n_frames().unwrap(), 3, "{n_counted} frames counted");
    }
}

#[test]
fn test_dcd_leaves_a_frame_being_written_when_the_header_does_not_count_it() {
    let written = DcdWriter::default().write();
    let (last, end) = (written.frame_ends[1], written.frame_ends[2]);
    for length in last + 1..end {
        let dcd = open(&with_i32(&written.bytes[..length], icntrl(1), 2)).unwrap();
        assert_eq!((dcd.n_frames().unwrap(), dcd.uncounted_bytes()), (2, (length - last) as u64));
        for n_counted in [0, 1, 3] {
            let dcd = open(&with_i32(&written.bytes[..length], icntrl(1), n_counted)).unwrap();
            assert_eq!(dcd.n_frames().unwrap(), 2);
            let (frame, byte, _) = place(dcd.check_end());
            assert_eq!((frame, byte), (Some(2), Some(last as u64)));
        }
    }
}

#[test]
fn test_dcd_refuses_files_that_are_no_dcd() {
    assert!(place(open(b"")).2.contains("empty"));
    for bytes in [b"x".as_slice(), b"CORD", b"\x54\0\0\0COOR and so on", &[0; 400], &[255; 400]] {
        assert!(place(open(bytes)).2.contains("DCD"), "{bytes:?}");
    }
    let mut velocities = DcdWriter::default().write().bytes;
    velocities[4..8].copy_from_slice(b"VELD");
    assert!(matches!(open(&velocities), Err(Error::Unsupported(problem)) if problem.message.contains("velocities")));
}

#[test]
fn test_dcd_refuses_absurd_headers() {
    let written = DcdWriter { free_atoms: Some(vec![1, 2, 4]), ..DcdWriter::default() }.write();
    let title = 92;
    let atoms = title + 8 + 164 + 4;
    assert_eq!(i32::from_le_bytes(written.bytes[atoms..atoms + 4].try_into().unwrap()), 7);
    let refuses = |at: usize, value: i32, word: &str| {
        let (_, byte, message) = place(open(&with_i32(&written.bytes, at, value)));
        assert!(message.contains(word), "{message}");
        assert!(byte.is_some());
    };
    for n_atoms in [0, -1, i32::MIN] {
        refuses(atoms, n_atoms, "positive number of atoms");
    }
    for n_atoms in [6, 8, 1 << 28] {
        refuses(atoms, n_atoms, "free atoms");
    }
    let enormous = open(&with_i32(&written.bytes, atoms, i32::MAX));
    assert!(matches!(enormous, Err(Error::Unsupported(problem)) if problem.message.contains("2147483647 atoms")));
    for length in [-1, i32::MAX, 0, 163, 165] {
        refuses(title, length, "title");
    }
    for n_fixed in [-1, 8, i32::MAX, i32::MIN] {
        refuses(icntrl(9), n_fixed, "fixed atoms");
    }
    refuses(icntrl(9), 3, "record of 16 bytes, got 12");
    let free = atoms + 12;
    for number in [0, -5, 8, i32::MAX] {
        refuses(free, number, "atom number from 1 to 7");
    }
    refuses(free, 3, "twice");
    refuses(0, 85, "not a DCD");
    refuses(88, 83, "header");
}

#[test]
fn test_dcd_refuses_more_atoms_than_the_file_has_room_for() {
    let written = DcdWriter::default().write();
    let atoms = written.header_end - 8;
    for n_atoms in [8, 100, 1 << 28] {
        let (frame, byte, _) = place(open(&with_i32(&written.bytes, atoms, n_atoms)));
        assert_eq!(frame, Some(0), "{n_atoms} atoms");
        assert!(byte >= Some(written.header_end as u64));
    }
}

#[test]
fn test_dcd_reads_a_title_whose_markers_speak_of_fewer_lines() {
    let writer = DcdWriter { n_title_lines: 3, title_marker: Some(164), ..DcdWriter::default() };
    assert_eq!(read_all(&writer.write().bytes).unwrap().headers.len(), 3);
    let writer = DcdWriter { n_title_lines: 0, ..DcdWriter::default() };
    assert_eq!(read_all(&writer.write().bytes).unwrap().headers.len(), 3);
}

#[test]
fn test_dcd_says_where_a_record_marker_is_corrupt() {
    for (wide_markers, free_atoms) in [(false, None), (true, None), (false, Some(vec![0, 6]))] {
        let writer = DcdWriter { wide_markers, free_atoms, cells: vec![CELL], ..DcdWriter::default() };
        let written = writer.write();
        for (frame, markers) in written.markers.iter().enumerate() {
            for &at in markers {
                let mut bytes = written.bytes.clone();
                bytes[at + 1] ^= 0x10;
                let (wrong_frame, byte, message) = place(read_all(&bytes));
                assert_eq!((wrong_frame, byte), (Some(frame as u64), Some(at as u64)));
                assert!(message.contains("record marker"), "{message}");
            }
        }
    }
}

#[test]
fn test_dcd_says_so_when_the_file_shrinks_while_open() {
    let written = DcdWriter { n_frames: 50, n_atoms: 2_000, ..DcdWriter::default() }.write();
    let file = file_of(&written.bytes);
    let dcd = FileBytes::open(file.path(), Access::Auto).and_then(Dcd::open).unwrap();
    file.as_file().set_len(written.frame_ends[20] as u64 + 5).unwrap();
    let atoms = AtomSelection::all(2_000);
    let (_, byte, _) = place(read(&dcd, &atoms, FrameSet::all(50), 8));
    assert!(byte.is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn test_dcd_never_panics_when_bytes_are_changed(
        changes in prop::collection::vec((0usize..480, any::<u8>()), 1..4),
        wide_markers: bool,
        big_endian: bool,
        is_fixed: bool,
    ) {
        let free_atoms = is_fixed.then(|| vec![0, 2]);
        let writer = DcdWriter { wide_markers, big_endian, free_atoms, cells: vec![CELL], ..DcdWriter::default() };
        let mut bytes = writer.write().bytes;
        for (at, value) in changes {
            bytes[at] = value;
        }
        if let Ok(dcd) = open(&bytes) {
            let atoms = AtomSelection::all(dcd.n_atoms().min(100));
            let n_frames = dcd.n_frames().unwrap();
            prop_assert!(n_frames <= bytes.len() as u64 / 24);
            let _ = read(&dcd, &atoms, FrameSet::all(n_frames), 3);
        }
    }
}
