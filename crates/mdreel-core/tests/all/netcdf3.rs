//! AMBER NetCDF: the reader returns what the writer wrote, for any variables in any order.

use std::path::PathBuf;
use std::sync::Arc;

use mdreel_core::block::{Extent, FrameSet};
use mdreel_core::error::Error;
use mdreel_core::frame::{Quantities, Quantity};
use mdreel_core::source::bytes::Access;
use mdreel_core::source::open::{Opened, Options, chain};
use mdreel_core::source::read::{FrameArray, read_frames};
use mdreel_core::source::{AtomSelection, Source, SourceExt};
use mdreel_core::unit_cell::UnitCell;
use proptest::prelude::*;

use crate::netcdf3_reading::{file_of, open, open_path, read_all, read_bytes};
use crate::netcdf3_writer::{NetCdf3Writer, Variable};
use crate::rows_reading::{check_rows, read_rows};

/// Returns the expected values of a quantity, which are NaN if the file does not contain it.
fn expected(writer: &NetCdf3Writer, quantity: Quantity, frames: &[u64], atoms: &[u32]) -> Vec<f32> {
    let (name, unit) = match quantity {
        Quantity::Positions => ("coordinates", 1.0),
        Quantity::Velocities => ("velocities", 1.0),
        Quantity::Forces => ("forces", 4.184f32),
    };
    let mut numbers = Vec::new();
    for &frame in frames {
        for (&atom, axis) in atoms.iter().flat_map(|atom| (0..3).map(move |axis| (atom, axis))) {
            let number = writer.read(name, frame as usize, 3 * atom as usize + axis) as f32 * unit;
            numbers.push(if writer.variable(name).is_some() { number } else { f32::NAN });
        }
    }
    numbers
}

fn same_bits(left: &[f32], right: &[f32]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
}

/// Compares frames that were read with the written ones, bit by bit.
fn check(writer: &NetCdf3Writer, read: &FrameArray, frames: &[u64], atoms: &[u32], wanted: Quantities) {
    let numbers: Vec<u64> = read.headers.iter().map(|header| header.index).collect();
    assert_eq!(numbers, frames);
    for (quantity, values) in [
        (Quantity::Positions, &read.positions),
        (Quantity::Velocities, &read.velocities),
        (Quantity::Forces, &read.forces),
    ] {
        let is_wanted = quantity == Quantity::Positions || wanted.contains(quantity);
        let right = if is_wanted { expected(writer, quantity, frames, atoms) } else { Vec::new() };
        assert!(same_bits(values, &right), "{}: {values:?} instead of {right:?}", quantity.name());
    }
    for (header, &frame) in read.headers.iter().zip(frames) {
        let time = writer.variable("time").map_or(frame as f64, |_| writer.read("time", frame as usize, 0));
        assert_eq!((header.time, header.step), (time, frame as i64));
        let cell = writer.variable("cell_lengths").map(|_| {
            let number = |i: usize| {
                let name = if i < 3 { "cell_lengths" } else { "cell_angles" };
                writer.read(name, frame as usize, i % 3) as f32
            };
            UnitCell::Dimensions(std::array::from_fn(number))
        });
        assert_eq!(header.unit_cell, cell);
    }
}

#[test]
fn test_netcdf3_gives_what_was_written_in_every_version() {
    for (version, is_fixed) in [1, 2, 5].into_iter().flat_map(|version| [(version, false), (version, true)]) {
        let variables = Variable::NAMES.map(Variable::single).to_vec();
        let writer = NetCdf3Writer { version, is_fixed, variables, ..NetCdf3Writer::default() };
        let netcdf = open(&writer.write().bytes).expect("a good file");
        assert_eq!((netcdf.n_atoms(), netcdf.n_frames().unwrap(), netcdf.uncounted_bytes()), (7, 3, 0));
        assert_eq!(netcdf.quantities(), Quantities::ALL);
        netcdf.check_end().expect("a whole file");
        let atoms: Vec<u32> = (0..7).collect();
        check(&writer, &read_all(&netcdf).expect("good frames"), &[0, 1, 2], &atoms, Quantities::ALL);
    }
}

#[test]
fn test_netcdf3_has_no_padding_when_one_variable_alone_grows() {
    let variables = vec![Variable::single("coordinates")];
    let writer = NetCdf3Writer { variables, n_atoms: 1, ..NetCdf3Writer::default() };
    let written = writer.write();
    assert_eq!(written.record, 12);
    let read = read_bytes(&written.bytes).expect("good frames");
    check(&writer, &read, &[0, 1, 2], &[0], Quantities::POSITIONS);
}

#[test]
fn test_netcdf3_pads_the_bytes_of_other_variables() {
    let names = ["flags", "coordinates", "flags"];
    let writer = NetCdf3Writer { variables: names.map(Variable::single).to_vec(), ..NetCdf3Writer::default() };
    let written = writer.write();
    assert_eq!(written.record, 4 + 84 + 4);
    let atoms: Vec<u32> = (0..7).collect();
    // Programs may omit the byte after the last record, which pads the flags.
    for bytes in [&written.bytes[..], &written.bytes[..written.bytes.len() - 1]] {
        check(&writer, &read_bytes(bytes).expect("good frames"), &[0, 1, 2], &atoms, Quantities::POSITIONS);
    }
    assert!(read_bytes(&written.bytes[..written.bytes.len() - 2]).is_err());
}

#[test]
fn test_netcdf3_gives_no_cell_when_the_lengths_are_zero() {
    let writer = NetCdf3Writer::default();
    let mut written = writer.write();
    let lengths = written.first + written.record + 4 + 12 * 7;
    written.bytes[lengths..lengths + 12].fill(0);
    let read = read_bytes(&written.bytes).expect("good frames");
    let has_cell: Vec<bool> = read.headers.iter().map(|header| header.unit_cell.is_some()).collect();
    assert_eq!(has_cell, [true, false, true]);
}

#[test]
fn test_netcdf3_reads_frames_larger_than_a_load() {
    let variables = ["velocities", "time", "coordinates"].map(Variable::single).to_vec();
    let writer = NetCdf3Writer { n_atoms: 200_000, n_frames: 3, variables, ..NetCdf3Writer::default() };
    let file = file_of(&writer.write().bytes);
    let wanted = Quantities::POSITIONS.with(Quantity::Velocities, true);
    for access in [Access::Map, Access::Read] {
        let netcdf = open_path(file.path(), access).expect("a good file");
        for atoms in [(0..200_000).collect(), vec![0, 1, 99_999, 199_999], (5..200_000).step_by(700).collect()] {
            let selection = AtomSelection::new(atoms.clone()).unwrap();
            let read = read_frames(&netcdf, &selection, &FrameSet::all(3), wanted).expect("good frames");
            check(&writer, &read, &[0, 1, 2], &atoms, wanted);
            check_rows(&netcdf, &selection, wanted, &FrameSet::all(3));
        }
    }
}

#[test]
fn test_netcdf3_fills_rows_from_a_chain_of_files() {
    let part = |n_frames: usize, is_double: bool| {
        let variables = ["time", "coordinates"].map(|name| Variable { name, is_double, scale: Some(1.5) }).to_vec();
        let netcdf = open(&NetCdf3Writer { n_frames, variables, ..NetCdf3Writer::default() }.write().bytes);
        (PathBuf::from(format!("{n_frames}.nc")).into(), Opened::Ncdf(Arc::new(netcdf.expect("a good file"))))
    };
    let chain =
        chain(vec![part(3, false), part(1, true), part(4, false)], Options::default().overlaps).unwrap().source();
    let atoms = AtomSelection::new(vec![1, 2, 6]).unwrap();
    for frames in
        [FrameSet::all(8), FrameSet::Range { start: 1, step: 3, count: 3 }, FrameSet::List([7, 0, 3, 3].into())]
    {
        check_rows(&*chain, &atoms, Quantities::POSITIONS, &frames);
        check_rows(&*chain, &AtomSelection::all(7), Quantities::POSITIONS, &frames);
    }
}

#[test]
fn test_netcdf3_gives_rows_the_error_of_columns_when_the_file_shrinks() {
    let writer = NetCdf3Writer { n_frames: 50, n_atoms: 2_000, ..NetCdf3Writer::default() };
    let written = writer.write();
    let cut = (written.first + 20 * written.record + 5) as u64;
    for access in [Access::Map, Access::Read] {
        let error = |takes_values: bool| {
            let file = file_of(&written.bytes);
            let netcdf = open_path(file.path(), access).expect("a good file");
            file.as_file().set_len(cut).unwrap();
            let (atoms, frames) = (AtomSelection::all(2_000), FrameSet::all(50));
            let read = read_rows(&netcdf, &atoms, Quantities::POSITIONS, &frames, (8, 1), takes_values);
            read.expect_err("a file that is cut").to_string().replace(&file.path().display().to_string(), "path")
        };
        assert_eq!(error(true), error(false));
    }
}

#[test]
fn test_netcdf3_reads_no_more_bytes_than_pay() {
    let writer = NetCdf3Writer { n_atoms: 100_000, n_frames: 2, ..NetCdf3Writer::default() };
    let netcdf = open(&writer.write().bytes).expect("a good file");
    let atoms = AtomSelection::new(vec![50_000, 50_003]).unwrap();
    let mut reader = netcdf.reader(&atoms, Quantities::POSITIONS).unwrap();
    let mut batch = mdreel_core::frame::FrameBatch::for_atoms(2);
    let mut recorder = mdreel_core::span::Recorder::new(std::time::Instant::now(), 0);
    reader.start(&Extent::Frames(FrameSet::all(2))).unwrap();
    reader.read(&mut batch, &mut recorder).unwrap();
    let n_bytes: u64 = recorder.take().iter().map(|span| span.n_bytes).max().unwrap();
    // The reader needs two atoms and the atoms between them, the time, and the cell together with the next frame's
    // time.
    assert_eq!(n_bytes, 2 * (48 + 4 + 24));
}

#[test]
fn test_netcdf3_finds_frames_by_number_only() {
    let netcdf = open(&NetCdf3Writer::default().write().bytes).unwrap();
    let atoms = AtomSelection::all(7);
    let mut reader = netcdf.reader(&atoms, Quantities::POSITIONS).unwrap();
    assert!(matches!(reader.start(&Extent::Bytes(0..100)), Err(Error::Unsupported(_))));
    let error = reader.start(&Extent::Frames(FrameSet::all(4))).unwrap_err();
    assert!(matches!(error, Error::FrameIndex { frame: 3, n_frames: 3, .. }), "{error}");
}

fn variables() -> impl Strategy<Value = Vec<Variable>> {
    let chosen = prop::sample::subsequence(vec!["time", "velocities", "forces", "replica", "flags"], 0..=5);
    let parts = (chosen, any::<bool>(), prop::collection::vec((any::<bool>(), prop::option::of(0.5f32..30.0)), 8));
    let variables = parts.prop_map(|(mut names, has_cell, makes)| {
        names.push("coordinates");
        names.extend(["cell_lengths", "cell_angles"].iter().filter(|_| has_cell));
        let make = |(name, (is_double, scale)): (&'static str, (bool, Option<f32>))| {
            let is_atoms = !matches!(name, "replica" | "flags");
            Variable { name, is_double, scale: scale.filter(|_| is_atoms) }
        };
        names.into_iter().zip(makes).map(make).collect::<Vec<_>>()
    });
    variables.prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn test_netcdf3_gives_any_frames_atoms_and_quantities_of_any_file(
        variables in variables(),
        version in prop::sample::select(vec![1u8, 2, 5]),
        is_fixed: bool,
        n_atoms in prop::sample::select(vec![1usize, 9, 10, 33, 400]),
        n_frames in 1usize..7,
        dimensions in Just(vec!["frame", "spatial", "atom", "cell"]).prop_shuffle(),
        density in 1u32..20,
        list in prop::collection::vec(any::<prop::sample::Index>(), 0..9),
        velocities: bool,
        forces: bool,
        is_mapped: bool,
    ) {
        let writer = NetCdf3Writer { version, n_atoms, n_frames, is_fixed, variables, dimensions, ..NetCdf3Writer::default() };
        let file = file_of(&writer.write().bytes);
        let access = if is_mapped { Access::Map } else { Access::Read };
        let netcdf = open_path(file.path(), access).expect("a good file");
        netcdf.check_end().expect("a whole file");
        let times: Vec<f64> = read_all(&netcdf).unwrap().headers.iter().map(|header| header.time).collect();
        prop_assert_eq!(netcdf.times().unwrap(), times);
        let atoms: Vec<u32> = (0..n_atoms as u32).filter(|atom| (atom / 20 + atom * atom) % density == 0).collect();
        let frames: Vec<u64> = list.iter().map(|index| index.index(n_frames) as u64).collect();
        let wanted =
            Quantities::POSITIONS.with(Quantity::Velocities, velocities).with(Quantity::Forces, forces);
        let selection = AtomSelection::new(atoms.clone()).unwrap();
        let read = read_frames(&netcdf, &selection, &FrameSet::List(frames.clone().into()), wanted).unwrap();
        check(&writer, &read, &frames, &atoms, wanted);
        check_rows(&netcdf, &selection, wanted, &FrameSet::List(frames.into()));
    }
}
