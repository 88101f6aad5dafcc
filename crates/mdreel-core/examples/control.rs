//! Walks over the groups of an XTC file without decoding coordinates. The time of this walk is a lower limit for every
//! read of a few atoms.
//!
//! Usage: `control FILE`. The program prints one line of JSON and does not time the reading of the file.

use std::path::Path;
use std::time::Instant;

use mdreel_core::error::{Error, Result};
use mdreel_core::internals::{ControlPass, FRAMES_AT_ONCE, Frames, MOST_HEADER_BYTES, frame_size};
use mdreel_core::simd::Level;
use mdreel_core::source::bytes::{Access, FileBytes};

#[expect(clippy::print_stdout, reason = "the result of this program")]
fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_default();
    let path = Path::new(&path);
    let file = FileBytes::open(path, Access::Read)?;
    let level = Level::detect();
    let mut reader = file.reader();
    let (mut at, mut n_frames, mut n_groups, mut seconds) = (0, 0u64, 0, 0.0);
    while at < file.len() {
        let mut ranges = Vec::new();
        let mut n_atoms = 0;
        while at < file.len() && ranges.len() < FRAMES_AT_ONCE {
            let bytes = file.read_vec(at..file.len().min(at + MOST_HEADER_BYTES as u64))?;
            let Some((length, atoms)) = frame_size(&bytes) else {
                return Err(Error::format(path, Some(n_frames), Some(at), "expected an XTC frame"));
            };
            ranges.push(at..at + length);
            at += length;
            n_atoms = atoms;
            n_frames += 1;
        }
        reader.load(&ranges)?;
        let mut frames = Frames::default();
        for i in 0..ranges.len() {
            frames.push(reader.get_with_margin(i));
        }
        let mut pass = ControlPass::new(level, &(0..n_atoms as u32).collect::<Vec<_>>());
        let start = Instant::now();
        n_groups += pass.walk(&frames);
        seconds += start.elapsed().as_secs_f64();
    }
    println!("{{\"seconds\": {seconds:.6}, \"n_frames\": {n_frames}, \"n_groups\": {n_groups}}}");
    Ok(())
}
