//! Walks over the groups of an XTC file without decoding a coordinate: the floor under every atom-limited read.
//!
//! `control FILE`. Prints one line of JSON; reading the file is not timed.

use std::path::Path;
use std::time::Instant;

use mdreel_core::error::{Error, Result};
use mdreel_core::simd::Level;
use mdreel_core::source::bytes::{Access, FileBytes, MARGIN};
use mdreel_core::source::located::ChainedHeader;
use mdreel_core::source::xtc::coded::Coded;
use mdreel_core::source::xtc::control::{Groups, LANES, Walks, Wanted, walk};
use mdreel_core::source::xtc::header::{Header, MAX_HEADER_LEN, Storage};

#[expect(clippy::print_stdout, reason = "the result of this program")]
fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_default();
    let path = Path::new(&path);
    let file = FileBytes::open(path, Access::Read)?;
    let level = Level::detect();
    let mut reader = file.reader();
    let mut groups = Box::<Groups>::default();
    let (mut at, mut n_frames, mut n_groups, mut seconds) = (0, 0u64, 0, 0.0);
    while at < file.len() {
        let mut headers = Vec::new();
        let mut ranges = Vec::new();
        while at < file.len() && headers.len() < LANES {
            let bytes = file.read_vec(at..file.len().min(at + MAX_HEADER_LEN as u64))?;
            let Ok(Some(header)) = Header::parse(&bytes) else {
                return Err(Error::format(path, Some(n_frames), Some(at), "expected an XTC frame"));
            };
            ranges.push(at..at + header.frame_len());
            at += header.frame_len();
            headers.push(header);
            n_frames += 1;
        }
        reader.load(&ranges)?;
        let mut coded = Vec::new();
        for (i, header) in headers.iter().enumerate() {
            let Storage::Compressed(compression) = &header.storage else { continue };
            let bytes = reader.get_with_margin(i);
            debug_assert!(bytes.len() > MARGIN);
            coded.push(Coded::new(compression, header.n_atoms, &bytes[header.header_len..]));
        }
        let wanted = Wanted::new(&(0..headers[0].n_atoms as u32).collect::<Vec<_>>());
        let mut walks = Walks::none();
        for (lane, frame) in coded.iter().enumerate() {
            frame.begin(&mut walks, lane);
        }
        let start = Instant::now();
        while !walks.are_over(&wanted) {
            walk::<true>(level, &mut walks, &wanted, &mut groups);
            n_groups += (0..coded.len()).map(|lane| groups.lane(lane).len()).sum::<usize>();
        }
        seconds += start.elapsed().as_secs_f64();
    }
    println!("{{\"seconds\": {seconds:.6}, \"n_frames\": {n_frames}, \"n_groups\": {n_groups}}}");
    Ok(())
}
