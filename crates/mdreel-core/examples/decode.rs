//! Reads a trajectory without analysing it. The time of this program is a lower limit for every analysis.
//!
//! Usage: `decode FILE [all | INDICES] [N_WORKERS]`, where INDICES is a file of atom indices. The program prints one
//! line of JSON: the seconds that reading took, its parts in µs per frame, and the first selected atom of the last
//! frame in Å.

use std::path::Path;
use std::time::Instant;

use mdreel_core::block::{FrameSet, plan_frames};
use mdreel_core::error::{Error, Result};
use mdreel_core::frame::FrameBatch;
use mdreel_core::kernel::Kernel;
use mdreel_core::pool::Unattended;
use mdreel_core::reduce::Partial;
use mdreel_core::run::run;
use mdreel_core::source::AtomSelection;
use mdreel_core::source::open::{Location, Options, open};
use mdreel_core::span::SpanKind;

/// A kernel that keeps the first atom of the last frame of each batch.
#[derive(Clone)]
struct Look {
    n_atoms: usize,
}

#[derive(Default)]
struct Last {
    n_frames: u64,
    position: [f32; 3],
}

impl Partial for Last {
    fn n_frames(&self) -> u64 {
        self.n_frames
    }

    fn merge(&mut self, next: Self) {
        self.n_frames += next.n_frames;
        self.position = next.position;
    }

    fn renumber(&mut self, _first: u64) {}
}

impl Kernel for Look {
    type Partial = Last;

    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn empty(&self) -> Last {
        Last::default()
    }

    fn map(&mut self, batch: &FrameBatch, partial: &mut Last) -> Result<()> {
        let last = batch.columns(batch.len() - 1);
        partial.n_frames += batch.len() as u64;
        partial.position = [last.x[0], last.y[0], last.z[0]];
        Ok(())
    }
}

#[expect(clippy::print_stdout, reason = "the result of this program")]
fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |i: usize, default: &'static str| arguments.get(i).map_or(default, String::as_str);
    let source =
        open(vec![Location::Path(Path::new(argument(0, "")).into())], Options::default(), &std::sync::Arc::default())?
            .source();
    let atoms = match argument(1, "all") {
        "all" => AtomSelection::all(source.n_atoms()),
        file => {
            let text = std::fs::read_to_string(file).map_err(|error| Error::io(Path::new(file), error))?;
            AtomSelection::new(text.split_whitespace().filter_map(|word| word.parse().ok()).collect())?
        }
    };
    let n_workers: usize = argument(2, "1").parse().unwrap_or(1);
    let blocks = plan_frames(&FrameSet::all(source.n_frames()?), source.n_bytes() >> 24);
    let start = Instant::now();
    let outcome =
        run(source.as_ref(), &atoms, &Look { n_atoms: atoms.len() }, &blocks.into(), n_workers, &mut Unattended)?;
    let seconds = start.elapsed().as_secs_f64();
    let Some(outcome) = outcome else { return Err(Error::worker("the blocks did not join")) };
    let n_frames = outcome.result.n_frames;
    let per_frame = |kind: SpanKind| {
        let spans = outcome.spans.iter().filter(|span| span.kind == kind);
        spans.map(|span| span.stop_ns - span.start_ns).sum::<u64>() as f64 / 1e3 / n_frames as f64
    };
    println!(
        "{{\"seconds\": {seconds:.6}, \"n_frames\": {n_frames}, \"n_atoms\": {}, \"last\": {:?}, \
         \"read_us\": {:.3}, \"decompress_us\": {:.3}}}",
        atoms.len(),
        outcome.result.position,
        per_frame(SpanKind::Read),
        per_frame(SpanKind::Decompress),
    );
    Ok(())
}
