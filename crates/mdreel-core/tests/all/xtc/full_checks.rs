//! The checks of a frame when it is decoded completely, and when only some of its atoms are decoded.

use std::sync::Arc;

use mdreel_core::block::FrameSet;
use mdreel_core::error::{Error, Result};
use mdreel_core::frame::{FrameBatch, FrameHeader, Quantities};
use mdreel_core::source::tolerant::Tolerant;
use mdreel_core::source::{AtomSelection, Source};
use mdreel_core::writer::xtc::XtcEncoder;
use mdreel_core::writer::{Encoder, Outline};

use crate::file_of;
use crate::xtc_oracle::decode_file;
use crate::xtc_reading::{Seen, expected, open, open_in_all_ways, read_frames};
use crate::xtc_stream::{Coverage, Dice, Shape, Width, append_frame};

const HEADER_LEN: usize = 92;

/// Returns atoms in molecules of three, and some single atoms between them, Å.
fn positions(dice: &mut Dice<'_>, n_atoms: usize) -> Vec<[f32; 3]> {
    let mut place = [0.0f32; 3];
    let draw = |reach: f32, dice: &mut Dice<'_>| {
        [0; 3].map(|_| dice.between(-(reach * 1000.0) as i64, (reach * 1000.0) as i64) as f32 / 1000.0)
    };
    (0..n_atoms)
        .map(|i| {
            if i % 3 == 0 || dice.one_in(9) {
                place = draw(30.0, dice);
            }
            let step = draw(1.2, dice);
            [0, 1, 2].map(|axis| place[axis] + step[axis])
        })
        .collect()
}

/// Creates frames as mdreel's writer packs them, and as every known writer does.
fn written(dice: &mut Dice<'_>, n_atoms: usize, n_frames: usize, precision: f32) -> Vec<u8> {
    let present = Quantities::POSITIONS;
    let mut batch = FrameBatch::with_capacity(n_atoms, n_frames);
    for index in 0..n_frames as u64 {
        let time = index as f64;
        let columns = batch.push(FrameHeader { index, step: 0, time, unit_cell: None, lambda: None, present });
        for (i, atom) in positions(dice, n_atoms).into_iter().enumerate() {
            [columns.x[i], columns.y[i], columns.z[i]] = atom;
        }
    }
    let (has_unit_cell, first_step, steps_per_frame, first_time, interval) = (false, 0, 1, 0.0, 1.0);
    let quantities = present;
    let outline = Outline { n_atoms, quantities, has_unit_cell, first_step, steps_per_frame, first_time, interval };
    let mut bytes = Vec::new();
    XtcEncoder::new(&outline, precision).expect("a precision").encode(&batch, &mut bytes).expect("finite positions");
    bytes
}

/// Reads some atoms of frames one by one, with a source that looks for damage.
fn read_tolerantly(bytes: &[u8], atoms: &AtomSelection) -> Vec<Result<Seen>> {
    let file = file_of(bytes);
    let source = Tolerant::skipping(Arc::new(open(file.path()).expect("a first header").past_damage()));
    let n_frames = source.n_frames().expect("frames");
    let read = |i: u64| {
        let mut seen = read_frames(&source, atoms, FrameSet::List([i].as_slice().into()))?;
        seen.pop().ok_or_else(|| Error::mismatch("left out"))
    };
    (0..n_frames).map(read).collect()
}

#[test]
fn every_frame_that_our_writer_packs_passes_all_checks() {
    for (n_atoms, precision) in [(10, 1000.0), (30, 1e6), (500, 1000.0), (501, 10.0), (502, 12345.6), (40, 0.01)] {
        let bytes = written(&mut Dice::new(&[3]), n_atoms, 40, precision);
        let frames = decode_file(&bytes).expect("whole frames");
        assert!(frames.iter().all(|frame| frame.reaches_its_extremes));
        let atoms = AtomSelection::all(n_atoms);
        let file = file_of(&bytes);
        for xtc in open_in_all_ways(file.path()).expect("a whole file") {
            let seen = read_frames(&xtc.past_damage(), &atoms, FrameSet::all(40)).expect("whole frames");
            let expected: Vec<_> = frames.iter().zip(0..).map(|(frame, i)| expected(frame, i, &atoms)).collect();
            assert_eq!(seen, expected, "{n_atoms} atoms, precision {precision}");
        }
    }
}

#[test]
fn which_altered_frames_are_refused_does_not_depend_on_the_atoms_wanted() {
    let (n_atoms, n_frames) = (60, 6);
    let mut dice = Dice::new(&[5]);
    let bytes = written(&mut dice, n_atoms, n_frames, 1000.0);
    let sound = decode_file(&bytes).expect("whole frames");
    let (all, few) = (AtomSelection::all(n_atoms), AtomSelection::new(vec![3, 17]).expect("ascending"));
    let (mut n_decodable, mut n_refused) = (0, 0);
    for _ in 0..400 {
        let frame = &sound[dice.below(n_frames as u64) as usize];
        let mut damaged = bytes.clone();
        let at = dice.between((frame.start + HEADER_LEN) as i64, frame.end as i64 - 4) as usize;
        damaged[at] ^= 1 << dice.below(8);
        let (seen, some) = (read_tolerantly(&damaged, &all), read_tolerantly(&damaged, &few));
        let places = |read: &[Result<Seen>]| read.iter().map(Result::is_ok).collect::<Vec<_>>();
        assert_eq!(places(&seen), places(&some));
        let number = sound.iter().position(|one| one.start == frame.start).expect("one of them");
        assert!(seen.iter().enumerate().all(|(i, read)| i == number || read.is_ok()));
        let decoded = decode_file(&damaged).ok();
        n_decodable += usize::from(decoded.is_some());
        n_refused += usize::from(decoded.is_some() && seen[number].is_err());
        if seen[number].is_ok() {
            // The oracle also reads every frame that passes, and some atom has each of its extremes.
            let decoded = &decoded.expect("whole frames")[number];
            assert!(decoded.reaches_its_extremes);
        }
    }
    // A large fraction of 60 atoms have an extreme coordinate or determine how others are packed.
    assert!(n_decodable > 300 && n_refused > n_decodable / 5, "{n_refused} of {n_decodable}");
}

#[test]
fn extremes_that_no_atom_has_are_an_error_where_frames_are_decoded_in_full() {
    let bytes = written(&mut Dice::new(&[8]), 30, 3, 1000.0);
    let start = decode_file(&bytes).expect("whole frames")[1].start;
    for axis in 0..3 {
        // The damaged header states a largest integer that is greater by one than the true one.
        let mut damaged = bytes.clone();
        let (least, largest) = (start + 60 + 4 * axis, start + 72 + 4 * axis);
        let word = |at: usize| i32::from_be_bytes(bytes[at..at + 4].try_into().expect("a word"));
        let bits_of = |size: i32| 32 - size.leading_zeros();
        let size = word(largest) - word(least) + 1;
        assert!(bits_of(size) > 3);
        damaged[largest..largest + 4].copy_from_slice(&(word(largest) + 1).to_be_bytes());
        let seen = read_tolerantly(&damaged, &AtomSelection::all(30));
        assert_eq!(seen.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    }
}

#[test]
fn a_writer_that_packs_otherwise_is_not_taken_for_damage() {
    let mut dice = Dice::new(&[9]);
    let mut bytes = Vec::new();
    let n_atoms = 40;
    for step in 0..8u32 {
        // All coordinates are big ones, each with a flag that states again that no run follows.
        let atoms: Vec<[u32; 3]> = (0..n_atoms).map(|_| [0; 3].map(|_| dice.below(1000) as u32)).collect();
        let extreme =
            |axis: usize, f: fn(u32, u32) -> u32| atoms.iter().map(|atom| atom[axis]).reduce(f).expect("atoms");
        let (min, max) = ([0, 1, 2].map(|k| extreme(k, u32::min)), [0, 1, 2].map(|k| extreme(k, u32::max)));
        let sizes = [0, 1, 2].map(|k| u64::from(max[k] - min[k] + 1));
        let n_bits = 64 - sizes.iter().product::<u64>().leading_zeros();
        let mut bits = Vec::new();
        for atom in &atoms {
            let [x, y, z] = [0, 1, 2].map(|k| u64::from(atom[k] - min[k]));
            let value = (x * sizes[1] + y) * sizes[2] + z;
            for low in (0..n_bits).step_by(8) {
                bits.extend((low..n_bits.min(low + 8)).rev().map(|k| value >> k & 1 == 1));
            }
            bits.extend([true, false, false, false, false, true]);
        }
        let packed: Vec<u8> =
            bits.chunks(8).map(|byte| (0..byte.len()).fold(0, |sum, k| sum | u8::from(byte[k]) << (7 - k))).collect();
        let words = [1995, n_atoms, step, 0].into_iter().chain([0; 9]).chain([n_atoms, 1000f32.to_bits()]);
        words.chain(min).chain(max).chain([9, packed.len() as u32]).for_each(|word| bytes.extend(word.to_be_bytes()));
        bytes.extend(&packed);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    let frames = decode_file(&bytes).expect("whole frames");
    assert!(frames.len() == 8 && frames.iter().all(|frame| frame.reaches_its_extremes));
    let seen = read_tolerantly(&bytes, &AtomSelection::all(n_atoms as usize));
    assert!(seen.len() == 8 && seen.iter().all(Result::is_ok), "{seen:?}");
}

/// Creates a frame whose header states more compressed bytes than its atoms take.
fn with_bytes_left(width: Width, n_atoms: usize, n_left: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let shape = Shape { n_atoms, magic: 1995, width, most_run: 8 };
    append_frame(&mut Dice::new(&[2]), shape, &mut bytes, &mut Coverage::default());
    let n_bytes = u32::from_be_bytes(bytes[88..92].try_into().expect("a word")) as usize;
    bytes.truncate(HEADER_LEN + n_bytes);
    bytes.resize((HEADER_LEN + n_bytes + n_left).next_multiple_of(4), 0);
    bytes[88..92].copy_from_slice(&((n_bytes + n_left) as u32).to_be_bytes());
    bytes
}

#[test]
fn bytes_behind_the_last_atom_are_an_error_on_every_way_that_reaches_it() {
    let n_atoms = 200;
    for width in [Width::Packed(30), Width::Packed(66), Width::Fields] {
        for n_left in [1, 2, 3, 4, 50] {
            let file = file_of(&with_bytes_left(width, n_atoms, n_left));
            for atoms in [AtomSelection::all(n_atoms), AtomSelection::new(vec![n_atoms as u32 - 1]).expect("ascending")]
            {
                for xtc in open_in_all_ways(file.path()).expect("a whole header") {
                    let error = read_frames(&xtc, &atoms, FrameSet::all(1)).expect_err("bytes are left");
                    assert!(error.to_string().contains("the compressed coordinates end after"), "{error}");
                }
            }
        }
    }
}

#[test]
fn bits_that_the_last_atoms_cannot_take_are_an_error_where_only_atoms_before_them_are_wanted() {
    let n_atoms = 200;
    let bytes = with_bytes_left(Width::Packed(30), n_atoms, 400);
    let file = file_of(&bytes);
    let atoms = AtomSelection::new(vec![5, n_atoms as u32 - 12]).expect("ascending");
    for xtc in open_in_all_ways(file.path()).expect("a whole header") {
        let error = read_frames(&xtc, &atoms, FrameSet::all(1)).expect_err("bits are left");
        assert!(error.to_string().contains("bits are left for the last"), "{error}");
    }
    // A valid frame passes, whichever atom is the last selected one.
    let sound = with_bytes_left(Width::Packed(30), n_atoms, 0);
    let file = file_of(&sound);
    for last in 0..n_atoms as u32 {
        let atoms = AtomSelection::new(vec![last]).expect("ascending");
        let xtc = open(file.path()).expect("a whole header");
        read_frames(&xtc, &atoms, FrameSet::all(1)).expect("a sound frame");
    }
}
