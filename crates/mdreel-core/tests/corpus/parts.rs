//! Reading a complete file, and reading a part of it in another way.

use mdreel_core::block::FrameSet;
use mdreel_core::frame::Quantities;
use mdreel_core::source::read::read_frames;
use mdreel_core::source::{AtomSelection, Source};

/// Checks that some atoms of all frames, read backwards from `other`, are the same as those from `source`, which is
/// read completely. If `source` can be read completely, `other` must be readable too. Returns whether it can.
pub(crate) fn check_parts(source: &dyn Source, other: &dyn Source) -> bool {
    let (n_atoms, n_frames) = (source.n_atoms(), source.n_frames().expect("counted when opened"));
    let times = source.times().expect("whole frames");
    if n_frames == 0 {
        return true;
    }
    let chosen: Vec<u32> = (0..n_atoms as u32).filter(|atom| atom % 5 == 0 || atom / 40 % 3 == 1).collect();
    let few = AtomSelection::new(chosen.clone()).expect("ascending");
    let backwards = FrameSet::List((0..n_frames).rev().collect());
    let part = read_frames(other, &few, &backwards, Quantities::ALL);
    let whole = match read_frames(source, &AtomSelection::all(n_atoms), &FrameSet::all(n_frames), Quantities::ALL) {
        Ok(whole) => whole,
        // Reading fewer atoms touches fewer bytes, so an error in the others may stay undetected.
        Err(_) => return false,
    };
    let seen: Vec<u64> = whole.headers.iter().map(|header| header.time.to_bits()).collect();
    assert_eq!(seen, times.iter().map(|time| time.to_bits()).collect::<Vec<_>>());
    let part = part.expect("all of it was read");
    for (part, whole) in
        [(part.positions, whole.positions), (part.velocities, whole.velocities), (part.forces, whole.forces)]
    {
        let atom = |frame: u64, atom: u32| 3 * (frame as usize * n_atoms + atom as usize);
        let places = (0..n_frames).rev().flat_map(|frame| chosen.iter().map(move |&chosen| atom(frame, chosen)));
        let right: Vec<u32> = places.flat_map(|at| whole[at..at + 3].iter().map(|v| v.to_bits())).collect();
        assert_eq!(part.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), right);
    }
    true
}
