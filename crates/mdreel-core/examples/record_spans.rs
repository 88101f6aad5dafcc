//! Measures the cost of recording spans: records them as a worker does, and does nothing else.
//!
//! Usage: `record_spans [N]`. The program prints one line of JSON. The default of N is one million.

use std::time::Instant;

use mdreel_core::span::{Recorder, SpanKind};

#[expect(clippy::print_stdout, reason = "the result of this program")]
fn main() {
    let n_spans = std::env::args().nth(1).and_then(|number| number.parse().ok()).unwrap_or(1_000_000);
    let mut recorder = Recorder::new(Instant::now(), 0);
    let start = Instant::now();
    let mut at = recorder.now();
    for number in 0..n_spans {
        at = recorder.record(SpanKind::Compute, at, number, number);
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{{\"seconds\": {seconds:.9}, \"n_spans\": {}}}", recorder.take().len());
}
