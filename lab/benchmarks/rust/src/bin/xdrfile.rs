//! Reads every frame of an XTC file with the C library xdrfile: `xdrfile FILE`.

use std::time::Instant;

use mdreel_benchmark_peers::{Outcome, Report, argument};
use xdrfile::{Frame, Trajectory, XTCTrajectory};

fn main() -> Outcome {
    let path = argument(1, "FILE")?;
    let begin = Instant::now();
    let mut trajectory = XTCTrajectory::open_read(&path)?;
    let n_atoms = trajectory.get_num_atoms()?;
    let mut frame = Frame::with_len(n_atoms);
    let mut n_frames = 0;
    loop {
        match trajectory.read(&mut frame) {
            Ok(()) => n_frames += 1,
            Err(error) if error.is_eof() => break,
            Err(error) => return Err(error.into()),
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    let last = frame.coords[0].map(|coordinate| coordinate * 10.0);
    Report { seconds, n_frames, n_atoms, last, selected: false }.print();
    Ok(())
}
