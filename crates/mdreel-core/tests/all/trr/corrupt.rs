//! Damaged files: the reader returns an error with the place. It never panics, hangs or returns frames that do not
//! exist.

use mdreel_core::block::{Extent, FrameSet, plan_bytes};
use mdreel_core::error::{Error, Result};
use mdreel_core::frame::Quantities;
use mdreel_core::source::bytes::Access;
use mdreel_core::source::{AtomSelection, Source, SourceExt};

use crate::file_of;
use crate::reading::{Seen, read_wanted, run_wanted};
use crate::trr_oracle::{decode_file, expected, file_bytes};
use crate::trr_reading::{frames, open};

/// Opens a file and reads its complete content, by frame number and as a block of bytes.
fn read_everything(bytes: &[u8]) -> Result<Vec<Seen>> {
    let file = file_of(bytes);
    let read = |access, extent: Option<Extent>| {
        let trr = open(file.path(), access)?;
        let atoms = AtomSelection::all(trr.n_atoms());
        let extent = match extent {
            Some(extent) => extent,
            None => Extent::Frames(FrameSet::all(trr.n_frames()?)),
        };
        let seen = read_wanted(&trr, &atoms, Quantities::ALL, &extent, None)?.0;
        trr.check_end()?;
        Ok(seen)
    };
    let unlocated = read(Access::Read, Some(Extent::Bytes(0..bytes.len() as u64)));
    let located = read(Access::Map, None);
    assert_eq!(unlocated.is_ok(), located.is_ok(), "{unlocated:?} against {located:?}");
    if let (Ok(unlocated), Ok(located)) = (&unlocated, &located) {
        assert_eq!(unlocated, located);
    }
    let parts = open(file.path(), Access::Auto).and_then(|trr| {
        let atoms = AtomSelection::all(trr.n_atoms());
        run_wanted(&trr, &atoms, Quantities::ALL, &plan_bytes(0..bytes.len() as u64, 5), 1)
    });
    if let Ok(Some(parts)) = parts {
        assert_eq!(Some(&parts.0), located.as_ref().ok());
    }
    located
}

/// Checks that the source and the oracle read the same frames, or that both refuse the file.
fn agrees_with_the_oracle(bytes: &[u8], what: &str) {
    match (read_everything(bytes), decode_file(bytes)) {
        (Err(Error::Format { place, .. }), Err(_)) => assert!(place.byte.is_some_and(|b| b <= bytes.len() as u64)),
        (Ok(seen), Ok(frames)) => {
            let atoms = AtomSelection::all(frames[0].n_atoms);
            let right: Vec<_> =
                frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms, Quantities::ALL)).collect();
            assert_eq!(seen, right, "{what}");
        }
        (seen, frames) => panic!("{what}: {seen:?} against the oracle's {frames:?}"),
    }
}

fn names_its_place(error: &Error, frame: u64, byte: u64) -> bool {
    let Error::Format { place, message } = error else { return false };
    place.path.is_file() && (place.frame, place.byte) == (Some(frame), Some(byte)) && !message.is_empty()
}

#[test]
fn every_truncation_gives_an_error_that_says_where_or_a_shorter_trajectory() {
    for sections in [[0x09, 0x4f, 0x01], [0x40, 0x08, 0x7f]] {
        let bytes = file_bytes(&frames(3, &sections, 5));
        let whole_frames = decode_file(&bytes).expect("a valid file");
        for len in 0..bytes.len() {
            let n_whole = whole_frames.iter().filter(|frame| frame.end <= len).count();
            let is_border = len > 0 && whole_frames.iter().any(|frame| frame.end == len);
            agrees_with_the_oracle(&bytes[..len], &format!("cut to {len} bytes"));
            let file = file_of(&bytes[..len]);
            let Ok(trr) = open(file.path(), Access::Auto) else {
                assert_eq!(n_whole, 0);
                continue;
            };
            assert_eq!(trr.n_frames().expect("whole frames are counted"), n_whole as u64);
            if is_border {
                trr.check_end().expect("no torn frame");
                continue;
            }
            let torn = trr.check_end().expect_err("a torn frame");
            assert!(names_its_place(&torn, n_whole as u64, whole_frames[n_whole].start as u64), "{torn}");
            assert!(torn.to_string().contains(&format!("{n_whole} whole frames")), "{torn}");
        }
    }
}

#[test]
fn every_flipped_bit_gives_an_error_or_what_the_oracle_reads() {
    for n_atoms in [1, 2] {
        let bytes = file_bytes(&frames(n_atoms, &[0x09, 0x4b, 0x05], 5));
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            agrees_with_the_oracle(&flipped, &format!("bit {bit}, {n_atoms} atoms"));
        }
    }
}

#[test]
fn absurd_headers_are_refused_before_any_memory_is_taken() {
    let bytes = file_bytes(&frames(40, &[0x0f, 0x0f, 0x0f], 5));
    let third = decode_file(&bytes).expect("a valid file")[2].start;
    type Change = (&'static str, &'static [(usize, i32)], u64);
    let changes: [Change; 14] = [
        ("magic", &[(0, 1995)], 0),
        ("length of the name", &[(4, 12)], 4),
        ("length of the name", &[(8, i32::MAX)], 8),
        ("name", &[(12, 0)], 12),
        ("ir", &[(24, 4)], 24),
        ("box", &[(32, 37)], 32),
        ("box", &[(32, -36)], 32),
        ("box of another precision", &[(32, 72)], 52),
        ("virial", &[(36, 4)], 36),
        ("positions", &[(52, i32::MAX)], 52),
        ("forces", &[(60, i32::MIN)], 60),
        ("no atoms", &[(64, 0)], 64),
        ("negative atoms", &[(64, -40)], 64),
        ("nothing at all", &[(32, 0), (52, 0), (56, 0), (60, 0)], 32),
    ];
    for (what, words, byte) in changes {
        for (start, frame) in [(0, 0), (third, 2)] {
            let mut changed = bytes.clone();
            words.iter().for_each(|&(at, word)| changed[start + at..][..4].copy_from_slice(&word.to_be_bytes()));
            let file = file_of(&changed);
            let error = open(file.path(), Access::Auto).and_then(|trr| trr.check_end()).expect_err(what);
            assert!(names_its_place(&error, frame, start as u64 + byte), "{what}: {error}");
            read_everything(&changed).expect_err(what);
        }
    }
    // A tiny file states 178,956,970 atoms. This number matches the stated size of their data, but the file is too
    // small.
    let mut huge = bytes;
    for (at, word) in [(52, 2_147_483_640), (56, 0), (60, 0), (64, 178_956_970)] {
        huge[at..at + 4].copy_from_slice(&i32::to_be_bytes(word));
    }
    let error = open(file_of(&huge).path(), Access::Auto).expect_err("a tiny file");
    assert!(error.to_string().contains("torn: it needs 2147483760 bytes"), "{error}");
}

#[test]
fn a_changed_atom_count_is_an_error_at_its_frame() {
    let mut bytes = file_bytes(&frames(40, &[1, 1], 5));
    let end = bytes.len() as u64;
    bytes.extend(file_bytes(&frames(41, &[1], 6)));
    let file = file_of(&bytes);
    let error = open(file.path(), Access::Auto).and_then(|trr| trr.check_end()).expect_err("another count");
    assert!(names_its_place(&error, 2, end + 64), "{error}");
    assert!(error.to_string().contains("expected 40 atoms") && error.to_string().contains("got 41"), "{error}");
    read_everything(&bytes).expect_err("another count");
}

#[test]
fn a_file_of_another_kind_is_refused() {
    for bytes in [&b""[..], b"\0\0\x07\xcb and more", b"text", b"\0\0\x07\xc9\0\0\0\x0d\0\0\0\x0cGMX_xtc_file"] {
        let error = open(file_of(bytes).path(), Access::Auto).expect_err("no TRR");
        assert!(matches!(error, Error::Format { .. }), "{error}");
    }
}
