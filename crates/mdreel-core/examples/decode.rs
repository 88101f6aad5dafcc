//! Reads a trajectory without analysing it, and says what that cost: the floor under every analysis.
//!
//! `decode FILE [all | INDICES] [N_WORKERS] [located | unlocated]`, where INDICES is a file of atom indices. Prints one
//! line of JSON.

use std::path::Path;
use std::time::Instant;

use mdreel_core::block::{FrameSet, plan_bytes, plan_frames};
use mdreel_core::error::Result;
use mdreel_core::frame::FrameBatch;
use mdreel_core::kernel::Kernel;
use mdreel_core::pool::Unattended;
use mdreel_core::reduce::Series;
use mdreel_core::run::run;
use mdreel_core::source::bytes::{Access, FileBytes};
use mdreel_core::source::frame_index::Keep;
use mdreel_core::source::xtc::Xtc;
use mdreel_core::source::{AtomSelection, Source};
use mdreel_core::span::SpanKind;

/// Looks at one coordinate of each frame.
struct Touch {
    n_atoms: usize,
}

impl Kernel for Touch {
    type Partial = Series;

    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn empty(&self) -> Series {
        Series::default()
    }

    fn map(&self, batch: &FrameBatch, partial: &mut Series) -> Result<()> {
        for (i, header) in batch.headers().iter().enumerate() {
            partial.push(header.index, header.time, f64::from(batch.columns(i).z[self.n_atoms - 1]));
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |i: usize, default: &'static str| arguments.get(i).map_or(default, String::as_str);
    let path = Path::new(argument(0, ""));
    let source = Xtc::open(FileBytes::open(path, Access::Auto)?, Keep::Nowhere)?;
    let atoms = match argument(1, "all") {
        "all" => AtomSelection::all(source.n_atoms()),
        file => {
            let text = std::fs::read_to_string(file).map_err(|error| mdreel_core::Error::io(Path::new(file), error))?;
            AtomSelection::new(text.split_whitespace().filter_map(|word| word.parse().ok()).collect())?
        }
    };
    let n_workers: usize = argument(2, "1").parse().unwrap_or(1);
    let blocks = match (argument(3, "located"), source.unlocated_bytes()) {
        ("unlocated", Some(ranges)) => plan_bytes(ranges[0].clone(), source.n_bytes() >> 24),
        _ => plan_frames(&FrameSet::all(source.n_frames()?), 64),
    };
    let kernel = Touch { n_atoms: atoms.len() };
    let start = Instant::now();
    let outcome = run(&source, &atoms, &kernel, &blocks, n_workers, &mut Unattended)?;
    let seconds = start.elapsed().as_secs_f64();
    let Some(outcome) = outcome else { return Err(mdreel_core::Error::Worker("the blocks did not join".into())) };
    let n_frames = outcome.result.frames.len();
    let per_frame = |kind: SpanKind| {
        let spans = outcome.spans.iter().filter(|span| span.kind == kind);
        spans.map(|span| span.stop_ns - span.start_ns).sum::<u64>() as f64 / 1e3 / n_frames as f64
    };
    let sum: f64 = outcome.result.values.iter().sum();
    println!(
        "{{\"frames\": {n_frames}, \"seconds\": {seconds:.4}, \"us_per_frame\": {:.3}, \"read\": {:.3}, \"decompress\": {:.3}, \"sum\": {sum}}}",
        1e6 * seconds / n_frames as f64,
        per_frame(SpanKind::Read),
        per_frame(SpanKind::Decompress),
    );
    Ok(())
}
