//! AMBER NetCDF: damaged, truncated and foreign files cause errors that name the problem and its place.

use mdreel_core::error::{Error, Result};
use mdreel_core::source::bytes::Access;
use mdreel_core::source::{Source, SourceExt};
use proptest::prelude::*;

use crate::netcdf3_reading::{file_of, open, open_path, read_all, read_bytes};
use crate::netcdf3_writer::{NetCdf3Writer, Variable, Written};

fn writers() -> Vec<NetCdf3Writer> {
    let all = Variable::NAMES.map(Variable::single).to_vec();
    let make = |version, is_fixed, n_atoms, variables: &[Variable]| NetCdf3Writer {
        version,
        is_fixed,
        n_atoms,
        variables: variables.to_vec(),
        ..NetCdf3Writer::default()
    };
    vec![
        make(1, false, 2, &all),
        make(2, false, 1, &all[..4]),
        make(2, false, 9, &all[1..2]),
        make(2, true, 3, &all[..2]),
        make(5, false, 3, &all),
        make(5, true, 10, &all[..6]),
    ]
}

/// Returns the frame, byte and message of a format error.
fn place<T>(result: Result<T>) -> (Option<u64>, Option<u64>, String) {
    match result.err().expect("an error") {
        Error::Format { place, message } => {
            assert!(place.path.is_absolute());
            (place.frame, place.byte, message)
        }
        error => panic!("another error: {error}"),
    }
}

fn with_bytes(written: &Written, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut changed = written.bytes.clone();
    changed[at..at + bytes.len()].copy_from_slice(bytes);
    changed
}

#[test]
fn test_netcdf3_cut_at_any_byte_is_an_error_with_the_whole_frames_before_it() {
    for writer in writers() {
        let written = writer.write();
        let whole = read_bytes(&written.bytes).expect("a good file");
        for length in 0..last_number(&writer, &written) {
            let file = file_of(&written.bytes[..length]);
            let netcdf = match open_path(file.path(), Access::Auto) {
                Ok(netcdf) => netcdf,
                Err(Error::Format { place, .. }) => {
                    assert!(place.byte.is_some(), "{length}");
                    continue;
                }
                Err(error) => panic!("{length}: {error}"),
            };
            let (frame, byte, message) = place(netcdf.check_end());
            let n_frames = netcdf.n_frames().unwrap();
            assert!(n_frames < 3 && frame == Some(n_frames), "{length}: {message}");
            // The bytes that pad the previous frame may also be missing.
            assert!(byte.is_some_and(|byte| byte < length as u64 + 4), "{length}: {byte:?}");
            assert!(message.contains(&format!("{n_frames} whole frames")), "{message}");
            let read = read_all(&netcdf).expect("whole frames");
            assert_eq!(read.headers, whole.headers[..n_frames as usize]);
            assert_eq!(read.positions, whole.positions[..read.positions.len()]);
        }
    }
}

/// Returns the end of the last number. Padding may follow it in the record.
fn last_number(writer: &NetCdf3Writer, written: &Written) -> usize {
    let last = writer.variables.last().expect("a variable").name;
    written.bytes.len() - usize::from(last == "flags")
}

#[test]
fn test_netcdf3_refuses_a_file_whose_only_frame_is_torn() {
    let written = NetCdf3Writer { n_frames: 1, ..NetCdf3Writer::default() }.write();
    let (frame, byte, message) = place(open(&written.bytes[..written.bytes.len() - 1]));
    assert_eq!((frame, byte), (Some(0), Some(written.first as u64)));
    assert!(message.contains("torn") && message.contains("the header counts 1"), "{message}");
}

#[test]
fn test_netcdf3_without_frames_is_empty() {
    let netcdf = open(&NetCdf3Writer { n_frames: 0, ..NetCdf3Writer::default() }.write().bytes).expect("a good file");
    assert_eq!(netcdf.n_frames().unwrap(), 0);
    netcdf.check_end().expect("a whole file");
}

#[test]
fn test_netcdf3_believes_a_count_of_records_that_are_there() {
    let writer = NetCdf3Writer { n_counted: Some(2), ..NetCdf3Writer::default() };
    let written = writer.write();
    // The lengths occur while a program writes the third frame, which is complete or torn.
    for length in [written.bytes.len(), written.bytes.len() - 5] {
        let netcdf = open(&written.bytes[..length]).expect("a good file");
        netcdf.check_end().expect("no frame that is counted is missed");
        assert_eq!(netcdf.n_frames().unwrap(), 2);
        assert_eq!(netcdf.uncounted_bytes(), (length - written.first - 2 * written.record) as u64);
        assert_eq!(read_all(&netcdf).unwrap().headers.len(), 2);
    }
}

#[test]
fn test_netcdf3_counts_by_the_size_when_the_header_does_not() {
    for (version, n_counted) in [(2, 0), (2, u32::MAX), (5, 0), (5, u32::MAX)] {
        let writer = NetCdf3Writer { version, n_counted: Some(n_counted), ..NetCdf3Writer::default() };
        let written = writer.write();
        assert_eq!(read_bytes(&written.bytes).expect("a good file").headers.len(), 3);
        let torn = open(&written.bytes[..written.bytes.len() - 1]).expect("whole frames");
        assert_eq!(torn.n_frames().unwrap(), 2);
        let (frame, byte, message) = place(torn.check_end());
        assert_eq!((frame, byte), (Some(2), Some((written.first + 2 * written.record) as u64)));
        assert!(message.contains("torn"), "{message}");
    }
}

#[test]
fn test_netcdf3_says_how_many_counted_frames_are_missing() {
    let written = NetCdf3Writer { n_counted: Some(9), ..NetCdf3Writer::default() }.write();
    let netcdf = open(&written.bytes).expect("whole frames");
    let (frame, byte, message) = place(netcdf.check_end());
    assert_eq!((frame, byte), (Some(3), Some(written.bytes.len() as u64)));
    assert!(message.contains("3 whole frames") && message.contains("counts 9"), "{message}");
}

#[test]
fn test_netcdf3_refuses_wrong_magic() {
    let written = NetCdf3Writer::default().write();
    for (version, says) in [(0, "got 0"), (3, "got 3"), (4, "got 4"), (6, "got 6")] {
        let (_, byte, message) = place(open(&with_bytes(&written, 3, &[version])));
        assert_eq!(byte, Some(3));
        assert!(message.contains(says), "{message}");
    }
    let (_, byte, message) = place(open(&with_bytes(&written, 0, b"HDF")));
    assert!(byte == Some(0) && message.contains("not a NetCDF file"), "{message}");
    place(open(b""));
    place(open(b"CDF"));
}

#[test]
fn test_netcdf3_takes_no_memory_for_absurd_sizes() {
    let variables = ["time", "coordinates"].map(Variable::single).to_vec();
    let written = NetCdf3Writer { variables, ..NetCdf3Writer::default() }.write();
    // Numbers of atoms: too large for the file; 0, which marks the unlimited dimension and is allowed only for the
    // first one; negative.
    for (n_atoms, says) in [(8u32, "torn"), (1 << 30, "torn"), (0, "unlimited"), (u32::MAX, "not negative")] {
        let error = read_bytes(&with_bytes(&written, written.lengths_at[2], &n_atoms.to_be_bytes())).unwrap_err();
        assert!(error.to_string().contains(says), "{n_atoms}: {error}");
    }
    // The numbers of entries in the three lists of dimensions, attributes and variables.
    for (tag, len) in [(10u32, 4u32), (12, 2), (11, 2)] {
        let list = [tag.to_be_bytes(), len.to_be_bytes()].concat();
        let at = written.bytes.windows(8).position(|words| words == list).expect("a list");
        for count in [u32::MAX, i32::MAX as u32, 1 << 20, 60_000] {
            let (_, byte, message) = place(open(&with_bytes(&written, at + 4, &count.to_be_bytes())));
            assert!(byte.is_some(), "{message}");
        }
        let (_, byte, message) = place(open(&with_bytes(&written, at, &99u32.to_be_bytes())));
        assert!(byte == Some(at as u64) && message.contains("expected the tag"), "{message}");
    }
}

#[test]
fn test_netcdf3_refuses_variables_where_none_can_be() {
    let written = NetCdf3Writer { n_frames: 1, ..NetCdf3Writer::default() }.write();
    let begin =
        |variable: usize, begin: u64| open(&with_bytes(&written, written.begins_at[variable], &begin.to_be_bytes()));
    for (wrong, says) in [
        (begin(1, 8), "behind the header"),
        (begin(1, u64::MAX), "not negative"),
        (begin(1, i64::MAX as u64), "does not fit into the first record"),
        (begin(1, written.bytes.len() as u64), "does not fit into the first record"),
        (begin(1, written.first as u64), "on top of each other"),
    ] {
        let error = wrong.expect_err("an error").to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn test_netcdf3_refuses_files_of_other_conventions() {
    let says = |writer: NetCdf3Writer, what: &str| {
        let error = open(&writer.write().bytes).expect_err("an error");
        assert!(matches!(&error, Error::Unsupported(problem) if problem.message.contains(what)), "{error}");
    };
    let default = NetCdf3Writer::default;
    says(NetCdf3Writer { conventions: "CF-1.6", ..default() }, "expected AMBER among its Conventions, got \"CF-1.6\"");
    says(NetCdf3Writer { conventions: "AMBERRESTART", ..default() }, "expected coordinates(atom, spatial)");
    says(NetCdf3Writer { variables: vec![Variable::single("time")], ..default() }, "no variable coordinates");
    let lengths = ["coordinates", "cell_lengths"].map(Variable::single).to_vec();
    says(NetCdf3Writer { variables: lengths, ..default() }, "no cell_angles");
    assert!(open(&NetCdf3Writer { conventions: "CF-1.6, AMBER", ..default() }.write().bytes).is_ok());
}

#[test]
fn test_netcdf3_says_so_when_the_file_shrinks_while_open() {
    let written = NetCdf3Writer { n_frames: 50, n_atoms: 2_000, ..NetCdf3Writer::default() }.write();
    let file = file_of(&written.bytes);
    let netcdf = open_path(file.path(), Access::Auto).expect("a good file");
    file.as_file().set_len((written.first + 20 * written.record + 5) as u64).unwrap();
    let (_, byte, _) = place(read_all(&netcdf));
    assert!(byte.is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn test_netcdf3_never_panics_when_bytes_are_changed(
        which in 0usize..6,
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(vec![0u8, 1, 2, 7, 127, 128, 255])), 1..4),
    ) {
        let written = writers()[which].write();
        let mut bytes = written.bytes.clone();
        for (at, value) in changes {
            bytes[at.index(written.header_end)] = value;
        }
        if let Ok(netcdf) = open(&bytes) {
            let n_frames = netcdf.n_frames().unwrap();
            prop_assert!(n_frames * netcdf.n_atoms() as u64 <= bytes.len() as u64 / 12);
            let _ = netcdf.check_end();
            let _ = netcdf.times();
            if n_frames > 0 {
                let _ = read_all(&netcdf);
            }
        }
    }
}
