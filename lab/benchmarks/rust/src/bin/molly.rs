//! Reads every frame of an XTC file with molly.
//!
//! `molly FILE SELECTION WAY`: SELECTION is a file of atom indices or `all`; WAY is one of the three ways in which
//! molly can be used, all of which are measured so that the fastest is the one compared: `buffered` (its own partial
//! reading of a frame), `plain` (whole frames straight from the file), `bufreader` (whole frames through a buffer).

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::time::Instant;

use mdreel_benchmark_peers::{Outcome, Report, argument, read_indices};
use molly::selection::AtomSelection;
use molly::{Frame, XTCReader};

fn main() -> Outcome {
    let path = argument(1, "FILE")?;
    let selection = match argument(2, "SELECTION")?.as_str() {
        "all" => AtomSelection::All,
        indices => AtomSelection::from_index_list(&read_indices(indices)?),
    };
    let way = argument(3, "WAY")?;
    let mut frame = Frame::default();
    let begin = Instant::now();
    let n_frames = match way.as_str() {
        "buffered" => {
            let mut reader = XTCReader::open(&path)?;
            count(|| reader.read_frame_with_selection_buffered(&mut frame, &selection))?
        }
        "plain" => read_whole(XTCReader::open(&path)?, &mut frame, &selection)?,
        "bufreader" => {
            let file = BufReader::with_capacity(1 << 20, File::open(&path)?);
            read_whole(XTCReader::new(file), &mut frame, &selection)?
        }
        other => return Err(format!("no such way to read: {other}").into()),
    };
    let seconds = begin.elapsed().as_secs_f64();
    let last = [0, 1, 2].map(|axis| frame.positions[axis] * 10.0);
    Report {
        seconds,
        n_frames,
        n_atoms: frame.positions.len() / 3,
        last,
        selected: !matches!(selection, AtomSelection::All),
    }
    .print();
    Ok(())
}

fn read_whole<R: Read>(mut reader: XTCReader<R>, frame: &mut Frame, selection: &AtomSelection) -> io::Result<u64> {
    count(|| reader.read_frame_with_selection(frame, selection))
}

/// Counts the frames until the file ends.
fn count(mut read: impl FnMut() -> io::Result<()>) -> io::Result<u64> {
    let mut n_frames = 0;
    loop {
        match read() {
            Ok(()) => n_frames += 1,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(n_frames),
            Err(error) => return Err(error),
        }
    }
}
