//! Written files read back unchanged and contain the bytes that the oracle writes.

use mdreel_core::block::{Extent, FrameSet};
use mdreel_core::error::Error;
use mdreel_core::frame::{FrameBatch, FrameHeader, Quantities};
use mdreel_core::source::bytes::Access;
use mdreel_core::source::read::read_frames;
use mdreel_core::source::{AtomSelection, Source};
use mdreel_core::span::Recorder;
use mdreel_core::unit_cell::UnitCell;
use mdreel_core::writer::trr::{Precision, TrrEncoder};
use mdreel_core::writer::{Encoder, FileWriter, Outline};
use proptest::prelude::*;

use crate::file_of;
use crate::reading::read_wanted;
use crate::trr_oracle::{decode_file, file_bytes};
use crate::trr_reading::{frames, open, quantities};

fn outline(n_atoms: usize, quantities: Quantities) -> Outline {
    Outline {
        n_atoms,
        quantities,
        has_unit_cell: true,
        first_step: 0,
        steps_per_frame: 1,
        first_time: 0.0,
        interval: 1.0,
    }
}

/// Reads all frames of a file into one batch.
fn batch_of(source: &dyn Source) -> FrameBatch {
    let atoms = AtomSelection::all(source.n_atoms());
    let mut batch = FrameBatch::for_quantities(atoms.len(), Quantities::ALL);
    let mut reader = source.reader(&atoms, Quantities::ALL).expect("all atoms");
    reader.start(&Extent::Frames(FrameSet::all(source.n_frames().expect("whole")))).expect("whole");
    reader.read(&mut batch, &mut Recorder::new(std::time::Instant::now(), 0)).expect("whole");
    batch
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn written_frames_have_what_the_outline_says_in_the_bytes_of_the_oracle(
        n_atoms in 1usize..14, sections in proptest::collection::vec(0u8..16, 1..12), is_double in any::<bool>(),
        kept in 0u8..8, seed in any::<u32>(),
    ) {
        let stored = frames(n_atoms, &sections, u64::from(seed));
        let original = file_of(&file_bytes(&stored));
        let batch = batch_of(&open(original.path(), Access::Auto)?);
        prop_assert_eq!(batch.len(), sections.len());
        let precision = if is_double { Precision::Double } else { Precision::Single };
        let path = original.path().with_extension("out.trr");
        let mut writer = FileWriter::create(&path, TrrEncoder::new(&outline(n_atoms, quantities(kept)), precision)?)?;
        writer.write(&batch)?;
        writer.finish()?;
        let bytes = std::fs::read(&path)?;
        std::fs::remove_file(&path)?;

        // Computes the expected numbers from the batch, by the rule in the encoder's documentation.
        let single = |v: f32, factor: f32| f64::from(v * factor);
        let number = |v: f32, factor: f64| if is_double { f64::from(v) * factor } else { single(v, factor as f32) };
        let written = decode_file(&bytes).expect("a valid file");
        prop_assert_eq!(written.len(), batch.len());
        for (i, frame) in written.iter().enumerate() {
            let header = batch.header(i);
            prop_assert_eq!((i64::from(frame.step), frame.time), (header.step, header.time));
            prop_assert_eq!(header.lambda, Some(stored[i].lambda as f32));
            prop_assert_eq!(frame.lambda, f64::from(stored[i].lambda as f32));
            prop_assert_eq!(frame.is_double, is_double);
            let vectors = header.unit_cell.map_or([[0.0; 3]; 3], |cell| cell.vectors());
            let vectors: Vec<_> = vectors.into_iter().flatten().map(|v| number(v, 0.1)).collect();
            prop_assert_eq!(frame.box_vectors.map(Vec::from), Some(vectors));
            for (quantity, factor) in Quantities::ALL.iter().zip([0.1, 0.1, 10.0]) {
                let columns = batch.columns_of(i, quantity).filter(|_| quantities(kept).contains(quantity));
                let right = columns.map(|columns| {
                    (0..n_atoms).map(|k| [columns.x[k], columns.y[k], columns.z[k]].map(|v| number(v, factor))).collect()
                });
                prop_assert_eq!(&frame.quantities[quantity as usize], &right);
            }
        }
        // The file contains exactly these bytes and nothing else.
        prop_assert_eq!(file_bytes(&written), bytes);
    }
}

#[test]
fn written_frames_read_back_within_the_rounding_of_units() {
    let original = file_of(&file_bytes(&frames(9, &[0x0f; 4], 5)));
    let first = open(original.path(), Access::Auto).expect("a valid file");
    for precision in [Precision::Single, Precision::Double] {
        let mut bytes = Vec::new();
        let encoder = TrrEncoder::new(&outline(9, Quantities::ALL), precision).expect("few atoms");
        encoder.begin(&mut bytes).expect("nothing");
        encoder.encode(&batch_of(&first), &mut bytes).expect("whole frames");
        assert!(encoder.end(4).expect("nothing").is_empty());
        let again = file_of(&bytes);
        let again = open(again.path(), Access::Auto).expect("a valid file");
        let extent = Extent::Frames(FrameSet::all(4));
        let read = |source: &dyn Source| {
            read_wanted(source, &AtomSelection::all(9), Quantities::ALL, &extent, None).expect("whole").0
        };
        let difference = |a: &[[u32; 3]], b: &[[u32; 3]]| {
            let pairs = a.iter().flatten().zip(b.iter().flatten());
            pairs.map(|(a, b)| (i64::from(*a) - i64::from(*b)).abs()).max().expect("atoms")
        };
        for (ours, theirs) in read(&again).iter().zip(&read(&first)) {
            assert_eq!((ours.step, ours.time, ours.index), (theirs.step, theirs.time, theirs.index));
            assert!(difference(&ours.coordinates, &theirs.coordinates) <= 2);
            let of = |seen: &Option<Vec<[u32; 3]>>| seen.clone().expect("all were written");
            assert!(difference(&of(&ours.velocities), &of(&theirs.velocities)) <= 2);
            assert!(difference(&of(&ours.forces), &of(&theirs.forces)) <= 2);
        }
    }
}

fn batch_with(n_atoms: usize, step: i64) -> FrameBatch {
    let mut batch = FrameBatch::for_atoms(n_atoms);
    let unit_cell = Some(UnitCell::Dimensions([10.0, 20.0, 30.0, 90.0, 90.0, 90.0]));
    batch.push(FrameHeader { index: 7, step, time: 0.0, unit_cell, lambda: None, present: Quantities::POSITIONS });
    batch
}

#[test]
fn lambda_comes_back_in_both_precisions() {
    for precision in [Precision::Single, Precision::Double] {
        let encoder = TrrEncoder::new(&outline(3, Quantities::ALL), precision).expect("few atoms");
        let (mut batch, mut out) = (batch_with(3, 1), Vec::new());
        batch.header_mut(0).lambda = Some(0.375);
        encoder.encode(&batch, &mut out).expect("a whole frame");
        let file = file_of(&out);
        let source = open(file.path(), Access::Auto).expect("a valid file");
        let frames = read_frames(&source, &AtomSelection::all(3), &FrameSet::all(1), Quantities::POSITIONS);
        assert_eq!(frames.expect("a frame").headers[0].lambda, Some(0.375));
    }
}

#[test]
fn steps_beyond_32_bits_keep_their_lower_bits() {
    let encoder = TrrEncoder::new(&outline(3, Quantities::ALL), Precision::Single).expect("few atoms");
    let mut out = Vec::new();
    encoder.encode(&batch_with(3, (7 << 32) - 5), &mut out).expect("as GROMACS does");
    assert_eq!(decode_file(&out).expect("a valid file")[0].step, -5);
}

#[test]
fn frames_that_do_not_fit_are_refused() {
    let encoder = TrrEncoder::new(&outline(3, Quantities::ALL), Precision::Single).expect("few atoms");
    let mut out = Vec::new();
    assert!(matches!(encoder.encode(&batch_with(4, 0), &mut out), Err(Error::Mismatch(_))));
    for (n_atoms, precision) in
        [(0, Precision::Single), (178_956_971, Precision::Single), (89_478_486, Precision::Double)]
    {
        let error = TrrEncoder::new(&outline(n_atoms, Quantities::ALL), precision).expect_err("too many or none");
        assert!(error.to_string().contains(&format!("not {n_atoms}")), "{error}");
    }
}
