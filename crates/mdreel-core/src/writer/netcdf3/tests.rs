//! Round-trip tests. `tests/conformance` contains a file that other programs read.

use std::path::{Path, PathBuf};

use super::*;
use crate::frame::FrameHeader;
use crate::unit_cell::UnitCell;
use crate::writer::FileWriter;

const N_ATOMS: usize = 10;

fn outline(quantities: Quantities, has_unit_cell: bool) -> Outline {
    Outline {
        n_atoms: N_ATOMS,
        quantities,
        has_unit_cell,
        first_step: 0,
        steps_per_frame: 1,
        first_time: 0.0,
        interval: 0.5,
    }
}

/// Returns three frames. `tests/conformance/test_written_netcdf.py` computes the same numbers.
fn frames(quantities: Quantities) -> FrameBatch {
    let mut batch = FrameBatch::for_quantities(N_ATOMS, quantities);
    for frame in 0..3u64 {
        let scale = 1.0 + frame as f32 / 64.0;
        let cell = [30.0 * scale, 40.0 * scale, 50.0 * scale, 80.0, 90.0, 100.0];
        let unit_cell = Some(UnitCell::Dimensions(cell));
        batch.push(FrameHeader {
            index: frame,
            step: 0,
            time: 0.5 * frame as f64,
            unit_cell,
            lambda: None,
            present: quantities,
        });
        for (k, quantity) in quantities.iter().enumerate() {
            let columns = batch.columns_of_mut(frame as usize, quantity).expect("a column for each quantity");
            for (axis, column) in [columns.x, columns.y, columns.z].into_iter().enumerate() {
                for (atom, value) in column.iter_mut().enumerate() {
                    let number = (frame as usize * N_ATOMS + atom) * 3 + axis;
                    *value = (number as f32 + 0.125) / 7.0 - 3.0 * k as f32;
                }
            }
        }
    }
    batch
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/written.nc")
}

fn write_golden(path: &Path) {
    let mut encoder = NetCdf3Encoder::new(&outline(Quantities::ALL, true)).unwrap();
    encoder.program_version = "golden";
    let mut writer = FileWriter::create(path, encoder).unwrap();
    writer.write(&frames(Quantities::ALL)).unwrap();
    writer.finish().unwrap();
}

#[test]
fn encoder_writes_the_file_that_other_programs_were_seen_to_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("written.nc");
    write_golden(&path);
    let (written, kept) = (std::fs::read(path).unwrap(), std::fs::read(golden()).unwrap());
    assert!(written == kept, "run the test golden_file_is_made_anew with --ignored if it is meant to change");
}

#[test]
#[ignore = "makes tests/golden/written.nc"]
fn golden_file_is_made_anew() {
    write_golden(&golden());
}

#[test]
fn encoder_leaves_the_number_of_records_open_until_the_end() {
    let encoder = NetCdf3Encoder::new(&outline(Quantities::POSITIONS, false)).unwrap();
    let mut out = Vec::new();
    encoder.begin(&mut out).unwrap();
    assert_eq!(out[..8], *b"CDF\x02\xff\xff\xff\xff");
    assert_eq!(encoder.end(7).unwrap(), [(4, vec![0, 0, 0, 7])]);
    let error = encoder.end(1 << 31).unwrap_err();
    assert!(matches!(&error, Error::Unsupported(problem) if problem.message.contains("2147483648")), "{error}");
}

#[test]
fn encoder_writes_records_of_the_same_bytes_wherever_frames_are_encoded() {
    let encoder = NetCdf3Encoder::new(&outline(Quantities::ALL, true)).unwrap();
    let mut together = Vec::new();
    encoder.encode(&frames(Quantities::ALL), &mut together).unwrap();
    assert_eq!(together.len(), 3 * (4 + 3 * 12 * N_ATOMS + 48));
    let mut apart = Vec::new();
    for frame in 0..3 {
        let all = frames(Quantities::ALL);
        let mut batch = FrameBatch::for_quantities(N_ATOMS, Quantities::ALL);
        batch.push(*all.header(frame));
        for quantity in Quantities::ALL.iter() {
            let (from, to) = (all.columns_of(frame, quantity).unwrap(), batch.columns_of_mut(0, quantity).unwrap());
            to.x.copy_from_slice(from.x);
            to.y.copy_from_slice(from.y);
            to.z.copy_from_slice(from.z);
        }
        encoder.encode(&batch, &mut apart).unwrap();
    }
    assert_eq!(apart, together);
}

#[test]
fn encoder_refuses_what_the_format_cannot_hold() {
    let error = |outline: Outline| NetCdf3Encoder::new(&outline).unwrap_err().to_string();
    let few = outline(Quantities::POSITIONS, false);
    assert!(error(outline(Quantities::NONE, false)).contains("positions"));
    assert!(error(Outline { n_atoms: 0, ..few }).contains("at least one atom"));
    assert!(error(Outline { n_atoms: 357_913_942, ..few }).contains("too many"));
    assert!(NetCdf3Encoder::new(&Outline { n_atoms: 357_913_941, ..few }).is_ok());
}

#[test]
fn encoder_refuses_frames_of_other_atoms_or_without_a_quantity_or_a_cell() {
    let encoder = NetCdf3Encoder::new(&outline(Quantities::ALL, true)).unwrap();
    let mut batch = FrameBatch::for_quantities(N_ATOMS, Quantities::ALL);
    let present = Quantities::POSITIONS.with(Quantity::Velocities, true);
    batch.push(FrameHeader { index: 41, step: 0, time: 0.0, unit_cell: None, lambda: None, present });
    let error = encoder.encode(&batch, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("frame 41: no unit cell"), "{error}");
    let encoder = NetCdf3Encoder::new(&outline(Quantities::ALL, false)).unwrap();
    let error = encoder.encode(&batch, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("frame 41: no forces"), "{error}");
    let error = encoder.encode(&FrameBatch::for_atoms(9), &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("10 atoms") && error.contains("got 9"), "{error}");
}
