//! Damaged files: the reader returns an error with the place. It never panics, hangs or returns frames that do not
//! exist.

use mdreel_core::block::{FrameSet, plan_bytes};
use mdreel_core::error::{Error, Result};
use mdreel_core::source::{AtomSelection, Source, SourceExt};

use crate::file_of;
use crate::xtc_oracle::{OracleFrame, decode_file};
use crate::xtc_reading::{Seen, expected, open, open_portable, read_bytes, read_frames, run_all};
use crate::xtc_stream::{Coverage, Dice, Shape, Width, append_frame, random_file};

/// Creates a few frames of `n_atoms` atoms.
fn small_file(n_atoms: usize) -> (Vec<u8>, Vec<OracleFrame>) {
    let mut bytes = Vec::new();
    let mut dice = Dice::new(&[7]);
    for (magic, width) in [(1995, Width::Packed(30)), (2023, Width::Packed(66)), (1995, Width::Fields)] {
        append_frame(&mut dice, Shape { n_atoms, magic, width, most_run: 8 }, &mut bytes, &mut Coverage::default());
    }
    let frames = decode_file(&bytes).expect("a valid stream");
    (bytes, frames)
}

/// Opens a file and reads its complete content, by frame number and as a block of bytes.
fn read_everything(bytes: &[u8]) -> Result<Vec<Seen>> {
    let file = file_of(bytes);
    // The two readers decode with different instructions. Both must return the same frames.
    let unlocated = open_portable(file.path()).and_then(|xtc| {
        let atoms = AtomSelection::all(xtc.n_atoms());
        read_bytes(&xtc, &atoms, 0..bytes.len() as u64)
    });
    let located = open(file.path()).and_then(|xtc| {
        let atoms = AtomSelection::all(xtc.n_atoms());
        let seen = read_frames(&xtc, &atoms, FrameSet::all(xtc.n_frames()?))?;
        xtc.check_end()?;
        Ok(seen)
    });
    assert_eq!(unlocated.is_ok(), located.is_ok(), "{unlocated:?} against {located:?}");
    if let (Ok((unlocated, _)), Ok(located)) = (&unlocated, &located) {
        assert_eq!(unlocated, located);
    }
    // In several parts, the result must be correct or `None`, or there must be an error. A worker in the middle of the
    // file cannot know more.
    let parts = open(file.path()).and_then(|xtc| {
        let atoms = AtomSelection::all(xtc.n_atoms());
        run_all(&xtc, &atoms, &plan_bytes(0..bytes.len() as u64, 5), 1)
    });
    if let Ok(Some(parts)) = parts {
        assert_eq!(Some(&parts.0), located.as_ref().ok());
    }
    located
}

fn names_its_place(error: &Error, frame: u64, byte: impl Fn(u64) -> bool) -> bool {
    let Error::Format { place, message } = error else { return false };
    place.path.is_file() && place.frame == Some(frame) && place.byte.is_some_and(byte) && !message.is_empty()
}

#[test]
fn every_truncation_gives_an_error_that_says_where_or_a_shorter_trajectory() {
    for n_atoms in [3, 40] {
        let (bytes, frames) = small_file(n_atoms);
        for len in 0..bytes.len() {
            let whole = frames.iter().filter(|frame| frame.end <= len).count();
            let file = file_of(&bytes[..len]);
            let border = len == 0 || frames.iter().any(|frame| frame.end == len);
            let xtc = match open(file.path()) {
                Err(error) => {
                    assert_eq!(whole, 0, "{error}");
                    let frame = (len > 0).then_some(0);
                    let Error::Format { place, .. } = &error else { panic!("{error}") };
                    assert_eq!((place.path.as_path(), place.frame), (file.path(), frame));
                    assert!(place.byte.is_some_and(|byte| byte <= len as u64));
                    continue;
                }
                Ok(xtc) => xtc,
            };
            let atoms = AtomSelection::all(n_atoms);
            let expected: Vec<_> =
                frames[..whole].iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms)).collect();
            let unlocated = read_bytes(&xtc, &atoms, 0..len as u64);
            assert_eq!(xtc.n_frames().expect("whole frames are counted"), whole as u64);
            assert_eq!(read_frames(&xtc, &atoms, FrameSet::all(whole as u64)).expect("whole frames"), expected);
            if border {
                xtc.check_end().expect("no torn frame");
                assert_eq!(unlocated.expect("whole frames").0, expected);
            } else {
                let torn = xtc.check_end().expect_err("a torn frame");
                let start = frames[whole].start as u64;
                assert!(names_its_place(&torn, whole as u64, |byte| byte == start), "{torn}");
                assert!(torn.to_string().contains(&format!("{whole} whole frames")), "{torn}");
                unlocated.expect_err("a torn frame is no end");
                let beyond = read_frames(&xtc, &atoms, FrameSet::all(whole as u64 + 1));
                assert!(matches!(beyond, Err(Error::FrameIndex { n_frames, .. }) if n_frames == whole as u64));
            }
        }
    }
}

#[test]
fn every_flipped_bit_gives_an_error_or_what_the_oracle_reads() {
    for n_atoms in [4, 14] {
        let (bytes, _) = small_file(n_atoms);
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            agrees_with_the_oracle(&flipped, &format!("bit {bit}, {n_atoms} atoms"));
        }
    }
}

/// Checks that the source and the oracle read the same frames, or that both refuse the file.
fn agrees_with_the_oracle(bytes: &[u8], what: &str) {
    match (read_everything(bytes), decode_file(bytes)) {
        (Err(Error::Format { place, .. }), Err(_)) => assert!(place.byte.is_some_and(|b| b <= bytes.len() as u64)),
        (Ok(seen), Ok(frames)) => {
            let atoms = AtomSelection::all(frames[0].coordinates.len());
            let expected: Vec<_> = frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms)).collect();
            assert_eq!(seen, expected, "{what}");
        }
        (seen, frames) => panic!("{what}: {seen:?} against the oracle's {frames:?}"),
    }
}

#[test]
fn damaged_streams_agree_with_the_oracle() {
    for seed in 0u16..300 {
        let steer = seed.to_le_bytes();
        let mut dice = Dice::new(&steer);
        let n_atoms = dice.between(1, 300) as usize;
        let mut bytes = random_file(&mut dice, n_atoms, 3, &mut Coverage::default());
        for _ in 0..dice.between(1, 4) {
            let at = dice.below(bytes.len() as u64) as usize;
            bytes[at] = dice.below(256) as u8;
        }
        agrees_with_the_oracle(&bytes, &format!("seed {seed}"));
    }
}

/// Writes a word at byte `at`.
fn set_word(bytes: &mut [u8], at: usize, word: u32) {
    bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
}

#[test]
fn absurd_headers_are_refused_before_any_memory_is_taken() {
    let (bytes, frames) = small_file(40);
    let third = frames[2].start;
    let changes: [(&str, &[(usize, u32)]); 10] = [
        ("atoms", &[(4, 0x7fff_ffff), (52, 0x7fff_ffff)]),
        ("negative atoms", &[(4, 0x8000_0000), (52, 0x8000_0000)]),
        ("no atoms", &[(4, 0), (52, 0)]),
        ("two counts", &[(52, 41)]),
        ("bytes", &[(88, 0xffff_ffff)]),
        ("no bytes", &[(88, 0)]),
        ("small index", &[(84, 73)]),
        ("small index below", &[(84, 8)]),
        ("precision", &[(56, f32::NAN.to_bits())]),
        ("extent", &[(60, 0x7fff_ffff), (72, 0x8000_0000)]),
    ];
    for (what, words) in changes {
        let mut first = bytes.clone();
        words.iter().for_each(|&(at, word)| set_word(&mut first, at, word));
        let file = file_of(&first);
        let error = open(file.path()).expect_err(what);
        assert!(names_its_place(&error, 0, |byte| byte < 92), "{what}: {error}");
        let mut later = bytes.clone();
        words.iter().for_each(|&(at, word)| set_word(&mut later, third + at, word));
        let file = file_of(&later);
        let xtc = open(file.path()).expect("the first frame is whole");
        assert_eq!(xtc.n_frames().expect("whole frames are counted"), 2);
        let error = xtc.check_end().expect_err(what);
        let inside = third as u64..third as u64 + 96;
        assert!(names_its_place(&error, 2, |byte| inside.contains(&byte)), "{what}: {error}");
    }
    let second = frames[1].start;
    let mut wide = bytes;
    for (high, low) in [(0x8000_0000, 0), (0xffff_ffff, 0xffff_ffff), (1, 0)] {
        set_word(&mut wide, second + 88, high);
        set_word(&mut wide, second + 92, low);
        let file = file_of(&wide);
        let error = open(file.path()).and_then(|xtc| xtc.check_end()).expect_err("2^63 bytes");
        assert!(names_its_place(&error, 1, |byte| byte == second as u64 + 88), "{error}");
    }
}

#[test]
fn a_changed_atom_count_is_an_error_at_its_frame() {
    let (mut bytes, frames) = small_file(40);
    bytes.extend(random_file(&mut Dice::new(&[]), 41, 1, &mut Coverage::default()));
    let end = frames[2].end as u64;
    let file = file_of(&bytes);
    let xtc = open(file.path()).expect("the first frame is whole");
    let error = xtc.check_end().expect_err("another count");
    assert!(names_its_place(&error, 3, |byte| byte == end + 4), "{error}");
    assert!(error.to_string().contains("expected 40 atoms") && error.to_string().contains("got 41"), "{error}");
    read_bytes(&open(file.path()).expect("whole"), &AtomSelection::all(40), 0..bytes.len() as u64)
        .expect_err("another count");
}

#[test]
fn garbage_between_frames_is_an_error_at_its_byte() {
    let (bytes, frames) = small_file(40);
    let border = frames[1].end;
    for garbage in [vec![0; 4], vec![0xff; 400], b"not a frame!".to_vec(), vec![0, 0, 7, 0xcb]] {
        let dirty = [&bytes[..border], &garbage, &bytes[border..]].concat();
        let file = file_of(&dirty);
        let xtc = open(file.path()).expect("the first frame is whole");
        assert_eq!(xtc.n_frames().expect("whole frames are counted"), 2);
        let error = xtc.check_end().expect_err("garbage");
        let inside = border as u64..border as u64 + 96;
        assert!(names_its_place(&error, 2, |byte| inside.contains(&byte)), "{error}");
        read_everything(&dirty).expect_err("garbage");
    }
}

#[test]
fn a_corrupt_frame_is_named_by_its_number_and_byte() {
    // The damaged bytes start a run of ten atoms where only a few atoms are left, so the last group ends after the
    // frame's last atom.
    let mut bytes = Vec::new();
    let mut dice = Dice::new(&[1]);
    for _ in 0..12 {
        let shape = Shape { n_atoms: 12, magic: 1995, width: Width::Packed(8), most_run: 0 };
        append_frame(&mut dice, shape, &mut bytes, &mut Coverage::default());
    }
    let frames = decode_file(&bytes).expect("a valid stream");
    let frame = &frames[8];
    bytes[frame.start + 92..frame.end].fill(0xff);
    let file = file_of(&bytes);
    let inside = frame.start as u64 + 92..frame.end as u64 + 1;
    let atoms = AtomSelection::all(12);
    let xtc = open(file.path()).expect("whole headers");
    let error = read_frames(&xtc, &atoms, FrameSet::all(12)).expect_err("corrupt");
    assert!(names_its_place(&error, 8, |byte| inside.contains(&byte)), "{error}");
    // Blocks of bytes do not know frame numbers. The run therefore returns `None`, and reading by number reports the
    // place.
    for n_parts in [1, 3, 12, 40] {
        let xtc = open(file.path()).expect("whole headers");
        let blocks = plan_bytes(0..bytes.len() as u64, n_parts);
        let void = run_all(&xtc, &atoms, &blocks, 2).expect("no error without a place");
        assert!(void.is_none());
    }
}
