//! Benchmarks of the channel: publishing, taking an available frame, and the time until a waiting consumer has a frame. A single
//! copy shows the lower bound.
//!
//! The consumer in another process is this program again, with `MDREEL_CHANNEL_CONSUMER` set to the channel's directory. Latency is
//! measured in rounds: the producer publishes a frame, and the consumer takes it and publishes an empty one on a channel of its
//! own. One way counts as half of a round.

#[cfg(target_os = "linux")]
mod linux {
    use std::hint::black_box;
    use std::path::Path;
    use std::process::{Child, Command};
    use std::sync::LazyLock;
    use std::time::{Duration, Instant};

    use criterion::{BatchSize, Criterion, Throughput};
    use mdreel_channel::consumer::{Consumer, Next, Start};
    use mdreel_channel::end::End;
    use mdreel_channel::layout::Section;
    use mdreel_channel::manifest::Manifest;
    use mdreel_channel::producer::{Moment, Policy, Producer, Settings};
    use mdreel_channel::ring_file::Geometry;
    use mdreel_channel::section::{DataType, SectionKind};

    const LONG: Duration = Duration::from_secs(60);
    const VARIABLE: &str = "MDREEL_CHANNEL_CONSUMER";
    /// The names, the numbers of atoms (28 bytes each) and the numbers of slots for the systems of the 2024 paper.
    const SYSTEMS: [(&str, u64, u64); 2] = [("JAC", 23_558, 16), ("STMV", 1_066_628, 4)];

    fn open(path: &Path, n_atoms: u64, n_slots: u64) -> Producer {
        let manifest = Manifest {
            stream: 1,
            topology_hash: [0; 32],
            n_atoms,
            units: Vec::new(),
            time_step: 0.002,
            stride: 1,
            sections: Vec::new(),
            energies: Vec::new(),
        };
        let geometry = Geometry { n_slots, slot_len: 28 * n_atoms + 1024 };
        let policy = Policy::Block(LONG);
        Producer::open(path, Settings { geometry, manifest, policy, resume_step: 0, staging: None }).expect("a channel")
    }

    fn publish(producer: &mut Producer, bytes: &[u8]) {
        let section = Section { kind: SectionKind::Positions, data_type: DataType::TypeAndFloat64, bytes };
        // Steps must increase.
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        let moment = Moment { step: START.elapsed().as_nanos() as i64, time: 0.0, cell: None };
        producer.publish(&moment, &[section]).expect("room in the ring");
    }

    fn join(path: &Path) -> Consumer {
        loop {
            match Consumer::join(path, Start::Latest) {
                Ok(consumer) => return consumer,
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Answers each frame on another channel, until the end.
    fn answer(path: &Path) {
        let mut consumer = join(path);
        let mut back = open(&path.with_extension("back"), 0, 4);
        while let Ok(Next::Frame(frame)) = consumer.next(LONG) {
            drop(frame);
            publish(&mut back, &[]);
        }
    }

    fn rounds(criterion: &mut Criterion, name: &str, path: &Path, frame: &[u8], producer: &mut Producer) {
        while producer.n_consumers().expect("locks") == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut back = join(&path.with_extension("back"));
        let mut round = || {
            publish(producer, frame);
            assert!(matches!(back.next(LONG), Ok(Next::Frame(_))));
        };
        criterion.bench_function(name, |bencher| {
            // The pause between two frames is long enough for the consumer to fall asleep.
            let rest = || std::thread::sleep(Duration::from_micros(300));
            bencher.iter_batched(rest, |()| round(), BatchSize::PerIteration);
        });
    }

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn measure(criterion: &mut Criterion) {
        for (name, n_atoms, n_slots) in SYSTEMS {
            let directory = tempfile::tempdir_in("/dev/shm").expect("a directory");
            let frame = vec![7; 28 * n_atoms as usize];
            let mut group = criterion.benchmark_group(name);
            group.throughput(Throughput::Bytes(frame.len() as u64));
            let mut copies = vec![vec![0; frame.len()]; n_slots as usize];
            let mut at = 0;
            group.bench_function("copy", |bencher| {
                bencher.iter(|| {
                    at = (at + 1) % copies.len();
                    copies[at].copy_from_slice(black_box(&frame));
                });
            });
            let path = directory.path().join("publish");
            let mut producer = open(&path, n_atoms, n_slots);
            group.bench_function("publish", |bencher| bencher.iter(|| publish(&mut producer, black_box(&frame))));
            let mut consumer = join(&path);
            group.bench_function("take what is there", |bencher| {
                bencher.iter_batched(
                    || publish(&mut producer, &frame),
                    |()| assert!(matches!(consumer.next(LONG), Ok(Next::Frame(_)))),
                    BatchSize::PerIteration,
                );
            });
            group.finish();
            let path = directory.path().join("thread");
            let mut producer = open(&path, n_atoms, n_slots);
            let there = path.clone();
            let thread = std::thread::spawn(move || answer(&there));
            rounds(criterion, &format!("{name}/round with a thread that waits"), &path, &frame, &mut producer);
            producer.end(&End::Finished).expect("an end");
            thread.join().expect("a thread that ends");
            let path = directory.path().join("process");
            let mut producer = open(&path, n_atoms, n_slots);
            let program = std::env::current_exe().expect("a program");
            let child = Ended(Command::new(program).env(VARIABLE, &path).spawn().expect("a process"));
            rounds(criterion, &format!("{name}/round with a process that waits"), &path, &frame, &mut producer);
            producer.end(&End::Finished).expect("an end");
            drop(child);
        }
    }

    pub(crate) fn main() {
        match std::env::var_os(VARIABLE) {
            Some(path) => answer(Path::new(&path)),
            None => {
                let mut criterion = Criterion::default().configure_from_args();
                measure(&mut criterion);
                criterion.final_summary();
            }
        }
    }
}

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}
