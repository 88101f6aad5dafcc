use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::simd::Level;

#[test]
fn walk_begins_with_nothing_that_it_could_read_too_far_with() {
    let bytes = [0; MARGIN + 8];
    let begun = |lane: usize, n_bytes: usize, big_bits: u32, small_index: u32| {
        let mut walks = Walks::none();
        let begun = catch_unwind(AssertUnwindSafe(|| walks.begin(lane, &bytes[..n_bytes], big_bits, small_index)));
        begun.map_err(|problem| problem.downcast_ref::<String>().cloned().unwrap_or_default())
    };
    assert_eq!(begun(0, MARGIN, 96, 9), Ok(()));
    assert_eq!(begun(LANES - 1, MARGIN + 8, 0, 72), Ok(()));
    for (lane, n_bytes, big_bits, small_index, expected) in [
        (0, 0, 30, 9, "0 bytes, fewer than the margin of 64"),
        (0, MARGIN - 1, 30, 9, "63 bytes, fewer"),
        (0, MARGIN, 97, 9, "big coordinates of 97 bits"),
        (0, MARGIN, u32::MAX, 9, "big coordinates of"),
        (0, MARGIN, 30, 8, "small index 8"),
        (0, MARGIN, 30, 73, "small index 73"),
        (LANES, MARGIN, 30, 9, ""),
    ] {
        let message = begun(lane, n_bytes, big_bits, small_index).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn walk_of_a_lane_that_had_another_frame_begins_anew() {
    // The first group has a flag and a run of two small coordinates. All groups after it keep this run length.
    let mut first = [0; MARGIN + 64];
    first[0] = 0b1001_1100;
    let second = [0; MARGIN + 64];
    let wanted = Wanted::new(&(0..8).collect::<Vec<_>>());
    let walked = |walks: &mut Walks<'_>| {
        let mut groups = Groups::default();
        walk::<true>(Level::detect(), walks, &wanted, &mut groups);
        groups.lane(0).to_vec()
    };
    let mut fresh = Walks::none();
    fresh.begin(0, &second, 1, 9);
    let mut used = Walks::none();
    used.begin(0, &first, 0, 9);
    assert_eq!(walked(&mut used).iter().map(|group| group.run()).collect::<Vec<_>>(), [2; 3]);
    used.begin(0, &second, 1, 9);
    assert_eq!(walked(&mut used), walked(&mut fresh));
}
