//! Files that mislead a search for frames: coordinates whose bytes look like frames.

use mdreel_core::block::{FrameSet, plan_bytes};
use mdreel_core::source::{AtomSelection, LocatedFrames, SourceExt};

use crate::file_of;
use crate::xtc_oracle::{OracleFrame, decode_file};
use crate::xtc_reading::{Kept, expected, open, read_bytes, read_frames, run_all};
use crate::xtc_stream::{Coverage, Dice, Shape, Width, append_frame};

const N_ATOMS: usize = 300;

/// Creates a frame with `payload` in its coordinates. All coordinates are big ones of three 32-bit fields and a flag,
/// which take 97 bits per atom. 32 atoms together take a multiple of complete words, so the words of the payload can be
/// chosen almost freely. Only the flag bits must stay 0.
fn payload_frame(dice: &mut Dice<'_>, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    let shape = Shape { n_atoms: N_ATOMS, magic: 1995, width: Width::Packed(30), most_run: 0 };
    append_frame(dice, shape, &mut frame, &mut Coverage::default());
    frame.truncate(92);
    let (min, max) = (i32::MIN as u32, (i32::MAX - 1) as u32);
    for axis in 0..3 {
        frame[60 + 4 * axis..][..4].copy_from_slice(&min.to_be_bytes());
        frame[72 + 4 * axis..][..4].copy_from_slice(&max.to_be_bytes());
    }
    let n_bytes = (97 * N_ATOMS).div_ceil(8);
    frame[88..92].copy_from_slice(&(n_bytes as u32).to_be_bytes());
    let mut data = vec![0; n_bytes.next_multiple_of(4)];
    data[4..4 + payload.len()].copy_from_slice(payload);
    for atom in 0..N_ATOMS {
        let flag = 97 * atom + 96;
        data[flag / 8] &= !(0x80 >> (flag % 8));
    }
    frame.extend(data);
    frame
}

/// Returns the headers and data of `n` false frames, one after another. The carrying frame clears its flag bits in
/// them.
fn false_frames(n: usize, corrupt: bool) -> Vec<u8> {
    let mut payload = Vec::new();
    for _ in 0..n {
        let n_bytes = 308u32;
        let data_byte = if corrupt { 0xff } else { 0 };
        let box_and_time = [0; 10];
        let words = [1995, N_ATOMS as u32, 5].into_iter().chain(box_and_time).chain([N_ATOMS as u32]);
        let words = words.chain([1000f32.to_bits(), 0, 0, 0, 0, 0, 0, 9, n_bytes]);
        words.for_each(|word: u32| payload.extend(word.to_be_bytes()));
        payload.extend(vec![data_byte; n_bytes as usize]);
    }
    payload
}

/// Creates a file whose frames carry false frames. Returns it with its true frames from the oracle, which is not
/// misled.
fn misleading_file(corrupt: bool) -> (Vec<u8>, Vec<OracleFrame>) {
    let mut dice = Dice::new(b"misled");
    let mut bytes = Vec::new();
    for _ in 0..6 {
        bytes.extend(payload_frame(&mut dice, &false_frames(8, corrupt)));
    }
    let frames = decode_file(&bytes).expect("false frames are coordinates as any other");
    assert_eq!(frames.len(), 6);
    (bytes, frames)
}

#[test]
fn a_search_is_misled_by_bytes_that_look_like_frames() {
    // The tests below are meaningful only if this holds.
    let (bytes, frames) = misleading_file(false);
    let file = file_of(&bytes);
    let xtc = open(file.path()).expect("a valid file");
    let atoms = AtomSelection::new(vec![0]).expect("ascending");
    let inside = frames[2].start as u64 + 4..frames[3].start as u64;
    let misled = match read_bytes(&xtc, &atoms, inside) {
        Ok((_, located)) => located.first.is_some(),
        Err(_) => true,
    };
    assert!(misled);
}

#[test]
fn a_misled_part_does_not_join() {
    let (bytes, frames) = misleading_file(false);
    let file = file_of(&bytes);
    let xtc = open(file.path()).expect("a valid file");
    let starts: Vec<_> = frames.iter().map(|frame| frame.start as u64).collect();
    // The second part begins at a false frame, as after a misled search.
    let (first, end) = (starts[2] + 96, bytes.len() as u64);
    let before = LocatedFrames { first: Some(0), end: starts[3], frames: Vec::new() };
    let misled = LocatedFrames { first: Some(first), end, frames: Vec::new() };
    assert!(!xtc.locate([before, misled].into()).expect("no error"));
    assert!(xtc.unlocated_bytes().is_some());
}

#[test]
fn runs_are_right_or_void_when_searches_are_misled() {
    for corrupt in [false, true] {
        let (bytes, frames) = misleading_file(corrupt);
        let file = file_of(&bytes);
        let atoms = AtomSelection::new((0..N_ATOMS as u32).step_by(7).collect()).expect("ascending");
        let right = Kept(frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms)).collect());
        let mut n_void = 0;
        for n_parts in 1..60 {
            let xtc = open(file.path()).expect("a valid file");
            match run_all(&xtc, &atoms, &plan_bytes(0..bytes.len() as u64, n_parts), 2).expect("a valid file") {
                Some(kept) => assert_eq!(kept, right, "{n_parts} parts"),
                None => n_void += 1,
            }
            let located = read_frames(&xtc, &atoms, FrameSet::all(6)).expect("a valid file");
            assert_eq!(Kept(located), right);
        }
        assert!(n_void > 0, "no search was misled: corrupt {corrupt}");
    }
}

#[test]
fn a_range_behind_the_end_has_no_frames() {
    let (bytes, _) = misleading_file(false);
    let file = file_of(&bytes);
    let xtc = open(file.path()).expect("a valid file");
    let atoms = AtomSelection::all(N_ATOMS);
    let len = bytes.len() as u64;
    for range in [len..len, len - 1..len, len..len + 100, len + 8..len + 100, 5..5, u64::MAX - 9..u64::MAX] {
        let (seen, located) = read_bytes(&xtc, &atoms, range.clone()).expect("nothing there");
        assert!(seen.is_empty() && located.first.is_none(), "{range:?}");
    }
}
