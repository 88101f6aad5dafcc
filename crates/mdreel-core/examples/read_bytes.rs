//! Measures how fast the bytes of a file can be accessed with a memory map and with read calls.
//! `docs/design/002-reading-bytes.md` uses the numbers.
//!
//! `cargo run --release --example read_bytes -- FILE [REPEATS]` reads FILE in several patterns, with 1 and 2 threads,
//! and with and without its pages in memory. FILE should be as large as the trajectories of interest, but small enough
//! for the page cache. The measurement without pages in memory needs permission to write to `/proc/sys/vm/drop_caches`.
//! Without the permission, the program omits it.

use std::error::Error;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use mdreel_core::source::bytes::{Access, ByteReader, FileBytes};

/// Size of the block of frames that a worker takes at a time, in bytes of the file.
const BLOCK: u64 = 32 << 20;

struct Pattern {
    name: &'static str,
    /// Distance between frames in bytes.
    frame: u64,
    /// Number of bytes to read from the start of each frame.
    wanted: u64,
    /// Number of frames loaded at a time.
    batch: u64,
    /// The function that processes the bytes of a frame.
    touch: fn(&[u8]) -> u64,
}

const PATTERNS: [Pattern; 5] = [
    Pattern { name: "all bytes, 1 MiB windows", frame: 1 << 20, wanted: 1 << 20, batch: 1, touch: words },
    Pattern { name: "strided gather, 26 frames a load", frame: 40_140, wanted: 40_140, batch: 26, touch: strided },
    Pattern { name: "strided gather, 1 frame a load", frame: 40_140, wanted: 40_140, batch: 1, touch: strided },
    Pattern { name: "prefixes, 64 frames a load", frame: 150 << 10, wanted: 14 << 10, batch: 64, touch: words },
    Pattern { name: "prefixes, 1 frame a load", frame: 150 << 10, wanted: 14 << 10, batch: 1, touch: words },
];

fn words(bytes: &[u8]) -> u64 {
    bytes.as_chunks::<8>().0.iter().fold(0, |total, word| total.wrapping_add(u64::from_le_bytes(*word)))
}

fn strided(bytes: &[u8]) -> u64 {
    bytes.chunks_exact(62).fold(0, |total, bytes| total.wrapping_add(u64::from(bytes[0])))
}

fn read_block(
    reader: &mut ByteReader<'_>,
    pattern: &Pattern,
    frames: Range<u64>,
) -> Result<u64, mdreel_core::error::Error> {
    let mut total = 0u64;
    let mut ranges = Vec::new();
    for start in frames.clone().step_by(pattern.batch as usize) {
        ranges.clear();
        let batch = start..(start + pattern.batch).min(frames.end);
        ranges.extend(batch.map(|frame| frame * pattern.frame..frame * pattern.frame + pattern.wanted));
        reader.load(&ranges)?;
        for i in 0..ranges.len() {
            total = total.wrapping_add((pattern.touch)(reader.get(i)));
        }
        reader.confirm()?;
    }
    Ok(total)
}

/// Returns the processor time of this process in seconds. Other processes disturb it less than the elapsed time.
fn processor_seconds() -> f64 {
    // SAFETY: an all-zero rusage is a valid value of that plain C structure, which the call fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + 1e-6 * time.tv_usec as f64;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Returns the elapsed time and the processor time, in seconds, for the complete file, from opening to unmapping.
fn run(
    path: &Path,
    pattern: &Pattern,
    access: Access,
    n_threads: usize,
) -> Result<(f64, f64), mdreel_core::error::Error> {
    let worked = processor_seconds();
    let begin = Instant::now();
    {
        let file = FileBytes::open(path, access)?;
        let n_frames = file.len() / pattern.frame;
        let per_block = (BLOCK / pattern.frame).max(1);
        let next = AtomicU64::new(0);
        let work = || {
            let mut reader = file.reader();
            let mut total = 0u64;
            loop {
                let start = next.fetch_add(per_block, Ordering::Relaxed);
                if start >= n_frames {
                    return Ok(total);
                }
                let frames = start..(start + per_block).min(n_frames);
                total = total.wrapping_add(read_block(&mut reader, pattern, frames)?);
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..n_threads).map(|_| scope.spawn(work)).collect();
            let mut outcome = work();
            for other in others {
                let theirs = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                outcome = outcome.and_then(|total| Ok(std::hint::black_box(total.wrapping_add(theirs?))));
            }
            outcome
        })?;
    }
    Ok((begin.elapsed().as_secs_f64(), processor_seconds() - worked))
}

fn drop_caches() -> bool {
    std::fs::write("/proc/sys/vm/drop_caches", "3").is_ok()
}

#[expect(clippy::print_stdout, reason = "the result of this program")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: read_bytes FILE [REPEATS] [PATTERN] [cold|warm]")?;
    let repeats: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let only = arguments.next().unwrap_or_default();
    let state = arguments.next().unwrap_or_default();
    let path = Path::new(&path);
    let len = std::fs::metadata(path)?.len();
    println!("us per frame passed (worked by processors), medians of {repeats}; {:.2} GB", len as f64 / 1e9);
    println!("{:<34} {:<5} {:>2} {:>22} {:>22}", "pattern", "cache", "n", "read", "map");
    for pattern in PATTERNS.iter().filter(|pattern| pattern.name.contains(&only)) {
        for cold in [false, true] {
            if (cold && !drop_caches()) || (if cold { "cold" } else { "warm" }).find(&state).is_none() {
                continue;
            }
            for n_threads in [1, 2] {
                let mut seconds = [Vec::new(), Vec::new()];
                for round in 0..=repeats {
                    for (access, seconds) in [Access::Read, Access::Map].into_iter().zip(&mut seconds) {
                        if cold {
                            drop_caches();
                        }
                        let taken = run(path, pattern, access, n_threads)?;
                        // The first round only loads the file into memory.
                        if round > 0 {
                            seconds.push(taken);
                        }
                    }
                }
                let n_frames = (len / pattern.frame) as f64;
                let figures = seconds.map(|seconds| {
                    let (mut passed, mut worked): (Vec<f64>, Vec<f64>) = seconds.into_iter().unzip();
                    let median = |seconds: &mut Vec<f64>| {
                        seconds.sort_by(f64::total_cmp);
                        1e6 * seconds[seconds.len() / 2] / n_frames
                    };
                    format!("{:.3} ({:.3})", median(&mut passed), median(&mut worked))
                });
                let cache = if cold { "cold" } else { "warm" };
                println!("{:<34} {cache:<5} {n_threads:>2} {:>22} {:>22}", pattern.name, figures[0], figures[1]);
            }
        }
    }
    Ok(())
}
