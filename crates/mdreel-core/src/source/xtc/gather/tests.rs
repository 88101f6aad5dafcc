use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::source::bytes::MARGIN;
use crate::source::xtc::header::Compression;

const COMPRESSION: Compression =
    Compression { precision: 1000.0, min: [0; 3], sizes: [1000; 3], small_index: 20, n_bytes: 8 };

/// Gathers groups at the first bit of a frame into columns of these lengths.
fn gathered(level: Level, n_groups: usize, lengths: [usize; 3], at: usize) -> Result<usize, String> {
    let bytes = [0; 8 + MARGIN];
    let frame = Coded::new(&COMPRESSION, 1, &bytes);
    let groups = vec![Group::default(); n_groups];
    let [mut x, mut y, mut z] = lengths.map(|n| vec![0.0; n]);
    let mut gather = Gather::new(level);
    let done = catch_unwind(AssertUnwindSafe(|| {
        let mut columns = ColumnsMut { x: &mut x, y: &mut y, z: &mut z };
        // SAFETY: groups of one big coordinate at bit 0 lie within the frame, whatever their number.
        unsafe { gather.gather::<true>(&frame, &groups, &mut columns, at) }
    }));
    done.map_err(|problem| problem.downcast_ref::<String>().cloned().unwrap_or_default())
}

#[test]
fn more_groups_than_a_chunk_has_and_columns_without_room_are_refused() {
    for level in Level::available() {
        assert_eq!(gathered(level, CHUNK, [200; 3], 7), Ok(CHUNK), "{}", level.name());
        assert_eq!(gathered(level, CHUNK, [50; 3], 7), Ok(43), "{}", level.name());
        assert_eq!(gathered(level, 3, [2; 3], 2), Ok(0), "{}", level.name());
        for (n_groups, lengths, at, expected) in [
            (CHUNK + 1, [200; 3], 0, "97 groups: a chunk has 96 at most"),
            (10 * CHUNK, [20; 3], 0, "960 groups"),
            (1, [8, 8, 7], 0, "columns of 8, 8 and 7"),
            (1, [8, 7, 8], 0, "columns of 8, 7 and 8"),
            (1, [8; 3], 9, "no places from 9 on"),
        ] {
            let message = gathered(level, n_groups, lengths, at).unwrap_err();
            assert!(message.contains(expected), "{}: {message}", level.name());
        }
    }
}
