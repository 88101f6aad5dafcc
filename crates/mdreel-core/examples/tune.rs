use mdreel_core::frame::{FrameBatch, FrameHeader};
use mdreel_core::source::xtc::control::*;
use mdreel_core::source::xtc::decode::*;
use mdreel_core::source::xtc::header::*;
fn cpu() -> f64 {
    let mut t: libc::timespec = unsafe { std::mem::zeroed() };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut bytes = vec![0u8; 12_000_000];
    {
        use std::io::Read;
        let n = std::fs::File::open(&a[1]).unwrap().read(&mut bytes).unwrap();
        bytes.truncate(n);
    }
    let mut frames = vec![];
    let mut at = 0;
    while let Ok(Some(h)) = Header::parse(&bytes[at..]) {
        if at + h.frame_len() as usize + 64 > bytes.len() {
            break;
        }
        frames.push((h, at));
        at += h.frame_len() as usize;
    }
    frames.truncate(frames.len() / LANES * LANES);
    let n_atoms = frames[0].0.n_atoms;
    let idx: Vec<u32> = if a[2] == "all" {
        (0..n_atoms as u32).collect()
    } else {
        std::fs::read_to_string(&a[2]).unwrap().split_whitespace().map(|w| w.parse().unwrap()).collect()
    };
    let wanted = Wanted::new(&idx);
    let coded: Vec<Coded> = frames
        .iter()
        .map(|(h, at)| {
            let Storage::Compressed(c) = &h.storage else { panic!() };
            let d = at + h.header_len;
            unsafe { Coded::new(c, h.n_atoms, &bytes[d..d + c.n_bytes as usize]) }
        })
        .collect();
    let mut best = [f64::MAX; 2];
    let mut ng = 0;
    let mut dec = Decoder::default();
    let mut ends = vec![];
    let mut groups: Box<Groups> = Default::default();
    let mut batch = FrameBatch::with_capacity(idx.len(), LANES);
    for _ in 0..LANES {
        batch.push(FrameHeader { index: 0, step: 0, time: 0.0, unit_cell: None });
    }
    for _ in 0..30 {
        let t = cpu();
        ng = 0;
        for c in coded.chunks_exact(LANES) {
            let mut w = [Walk::nothing(); LANES];
            for k in 0..LANES {
                w[k] = c[k].walk();
            }
            while !w.iter().all(|w| w.is_over(&wanted)) {
                if wanted.all {
                    walk::<true>(&mut w, &wanted, &mut groups)
                } else {
                    walk::<false>(&mut w, &wanted, &mut groups)
                }
                ng += groups.lane(0).len();
            }
        }
        best[0] = best[0].min(cpu() - t);
        let t = cpu();
        for c in coded.chunks_exact(LANES) {
            let mut cols: Vec<_> = batch.columns_from_mut(0).collect();
            dec.decode(&wanted, c, &mut cols, &mut ends);
        }
        best[1] = best[1].min(cpu() - t);
    }
    let s: f64 = (0..LANES).map(|i| batch.columns(i).x.iter().map(|v| *v as f64).sum::<f64>()).sum();
    println!(
        "frames {} groups {} control {:.3} us  decode {:.3} us  sum {s}",
        frames.len(),
        ng / (frames.len() / LANES),
        best[0] * 1e6 / frames.len() as f64,
        best[1] * 1e6 / frames.len() as f64
    );
}
