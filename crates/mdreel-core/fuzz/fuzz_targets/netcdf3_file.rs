//! Any bytes as an AMBER NetCDF file: all atoms through a map are the same as a few atoms at a time, read.
#![no_main]

mod scratch_file;

use libfuzzer_sys::fuzz_target;
use mdreel_core::block::FrameSet;
use mdreel_core::frame::Quantities;
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::netcdf3::NetCdf3;
use mdreel_core::source::read::read_frames;
use mdreel_core::source::{AtomSelection, Source};
use scratch_file::ScratchFile;

fuzz_target!(|bytes: &[u8]| {
    let file = ScratchFile::new(bytes);
    let open = |access| FileBytes::open(file.path(), access).and_then(NetCdf3::open);
    let Ok(netcdf) = open(Access::Map) else {
        assert!(open(Access::Read).is_err());
        return;
    };
    let (n_atoms, n_frames) = (netcdf.n_atoms(), netcdf.n_frames().expect("counted when opened"));
    // What is there takes room: single precision at least.
    assert!(n_frames * n_atoms as u64 <= bytes.len() as u64 / 12);
    let _ = netcdf.check_end();
    let times = netcdf.times().expect("whole frames");
    if n_frames == 0 {
        return;
    }
    let all = AtomSelection::all(n_atoms);
    let whole = read_frames(&netcdf, &all, &FrameSet::all(n_frames), Quantities::ALL).expect("whole frames");
    let seen: Vec<u64> = whole.headers.iter().map(|header| header.time.to_bits()).collect();
    assert_eq!(seen, times.iter().map(|time| time.to_bits()).collect::<Vec<_>>());
    let chosen: Vec<u32> = (0..n_atoms as u32).filter(|atom| atom % 5 == 0 || atom / 40 % 3 == 1).collect();
    let few = AtomSelection::new(chosen.clone()).expect("ascending");
    let backwards = FrameSet::List((0..n_frames).rev().collect());
    let read = open(Access::Read).expect("opened before");
    let read = read_frames(&read, &few, &backwards, Quantities::ALL).expect("whole frames");
    for (part, whole) in
        [(read.positions, whole.positions), (read.velocities, whole.velocities), (read.forces, whole.forces)]
    {
        let atom = |frame: u64, atom: u32| 3 * (frame as usize * n_atoms + atom as usize);
        let places = (0..n_frames).rev().flat_map(|frame| chosen.iter().map(move |&chosen| atom(frame, chosen)));
        let right: Vec<u32> = places.flat_map(|at| whole[at..at + 3].iter().map(|v| v.to_bits())).collect();
        assert_eq!(part.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), right);
    }
});
