//! The costs of a channel, with their lower bounds: copying as many bytes into as many buffers in turn, and waking a process with a
//! futex.
//!
//! `channel N_ATOMS BYTES_AN_ATOM N_SLOTS N_FRAMES` prints one line of JSON: for each measurement, the nanoseconds that each frame
//! took. An atom has 12 bytes (`float32` positions) or 28 bytes (a type and `float64` positions). The waiting consumer is this
//! program again.

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::hint::black_box;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::path::Path;
    use std::process::{Child, ChildStdout, Command, Stdio};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use mdreel_channel::consumer::{Consumer, Next, Start};
    use mdreel_channel::layout::{Section, checksum};
    use mdreel_channel::manifest::Manifest;
    use mdreel_channel::producer::{Moment, Policy, Producer, Settings};
    use mdreel_channel::ring_file::Geometry;
    use mdreel_channel::section::{DataType, SectionKind};

    const LONG: Duration = Duration::from_secs(60);
    const PAGE: usize = 4096;
    /// The pause between two frames, after which a waiting process has fallen asleep.
    const REST: Duration = Duration::from_micros(500);
    /// The number of frames after which the next measurement takes its turn, so that a drift of the machine affects all of them.
    const TURN: usize = 50;

    /// The parameters of a run.
    #[derive(Clone, Copy)]
    struct Frames {
        n_atoms: usize,
        bytes_an_atom: usize,
        n_slots: usize,
        n_frames: usize,
    }

    /// Returns the time in ns on the clock that all processes of a machine share.
    fn now() -> u64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the address belongs to a value that outlives the call.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    /// Keeps this process on the n-th of the cores that it may use, if there are that many.
    fn stay_on(n: usize) {
        // SAFETY: a set of processors is an array of bits. The calls access only this array, and affect only this process.
        unsafe {
            let mut allowed: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, size_of_val(&allowed), &raw mut allowed);
            let mut cores = (0..libc::CPU_SETSIZE as usize).filter(|core| libc::CPU_ISSET(*core, &allowed));
            if let Some(core) = cores.nth(n) {
                let mut one: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(core, &mut one);
                libc::sched_setaffinity(0, size_of_val(&one), &raw const one);
            }
        }
    }

    /// A page with a counter, followed by buffers, in memory that two processes share. It measures the lower bounds.
    struct Floor {
        start: *mut u8,
        stride: usize,
        frames: Frames,
    }

    impl Floor {
        fn map(path: &Path, frames: Frames) -> Self {
            let stride = (frames.n_atoms * frames.bytes_an_atom).next_multiple_of(PAGE);
            let length = PAGE + frames.n_slots * stride;
            let file = File::options().read(true).write(true).create(true).truncate(false).open(path).expect("a file");
            file.set_len(length as u64).expect("room");
            let (rights, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
            // SAFETY: the kernel chooses an address that is not in use, and the file has `length` bytes.
            let start = unsafe { libc::mmap(std::ptr::null_mut(), length, rights, shared, file.as_raw_fd(), 0) };
            assert!(start != libc::MAP_FAILED, "{} cannot be mapped", path.display());
            Floor { start: start.cast(), stride, frames }
        }

        fn alarm(&self) -> &AtomicU32 {
            // SAFETY: the mapping begins with the counter, and stays until this program ends.
            unsafe { &*self.start.cast::<AtomicU32>() }
        }

        fn copy(&self, number: usize, frame: &[u8]) {
            let at = PAGE + (number % self.frames.n_slots) * self.stride;
            // SAFETY: the range lies in the mapping, and the other process does not access its bytes.
            unsafe { std::ptr::copy_nonoverlapping(black_box(frame).as_ptr(), self.start.add(at), frame.len()) };
        }

        fn wake(&self) {
            self.alarm().fetch_add(1, Ordering::Release);
            // SAFETY: the address is that of the alarm. The kernel writes to no memory of this process.
            unsafe { libc::syscall(libc::SYS_futex, self.alarm().as_ptr(), libc::FUTEX_WAKE, 1) };
        }

        fn wait(&self, seen: u32) -> u32 {
            loop {
                let count = self.alarm().load(Ordering::Acquire);
                if count != seen {
                    return count;
                }
                let no_limit = std::ptr::null::<libc::timespec>();
                // SAFETY: the address is that of the alarm, which the call only reads.
                unsafe { libc::syscall(libc::SYS_futex, self.alarm().as_ptr(), libc::FUTEX_WAIT, seen, no_limit) };
            }
        }
    }

    fn open(path: &Path, frames: Frames) -> Producer {
        let manifest = Manifest {
            stream: 1,
            topology_hash: [0; 32],
            n_atoms: frames.n_atoms as u64,
            units: Vec::new(),
            time_step: 0.002,
            stride: 1,
            sections: Vec::new(),
            energies: Vec::new(),
        };
        let slot_len = (frames.bytes_an_atom * frames.n_atoms + 1024) as u64;
        let geometry = Geometry { n_slots: frames.n_slots as u64, slot_len };
        let policy = Policy::Block(LONG);
        Producer::open(path, Settings { geometry, manifest, policy, resume_step: 0, staging: None }).expect("a channel")
    }

    fn publish(producer: &mut Producer, frames: Frames, bytes: &[u8]) {
        let data_type = if frames.bytes_an_atom == 12 { DataType::Float32 } else { DataType::TypeAndFloat64 };
        let section = Section { kind: SectionKind::Positions, data_type, bytes };
        // Steps must increase.
        let moment = Moment { step: now() as i64, time: 0.0, cell: None };
        producer.publish(&moment, &[section]).expect("room in the ring");
    }

    fn took(work: impl FnOnce()) -> u64 {
        let start = now();
        work();
        now() - start
    }

    /// Measures the work of the producer and its parts while no process waits.
    fn alone(place: &Path, frames: Frames, report: &mut Vec<(&str, Vec<u64>)>) {
        let frame = vec![7; frames.n_atoms * frames.bytes_an_atom];
        let floor = Floor::map(&place.join("floor"), frames);
        let mut producer = open(&place.join("alone"), frames);
        let [mut copies, mut sums, mut publishes] = [const { Vec::new() }; 3];
        for number in 0..2 * frames.n_slots {
            floor.copy(number, &frame);
            publish(&mut producer, frames, &frame);
        }
        while publishes.len() < frames.n_frames {
            let turn = TURN.min(frames.n_frames - publishes.len());
            copies.extend((0..turn).map(|number| took(|| floor.copy(number, &frame))));
            publishes.extend((0..turn).map(|_| took(|| publish(&mut producer, frames, black_box(&frame)))));
            sums.extend((0..turn).map(|_| took(|| _ = black_box(checksum(black_box(&frame))))));
        }
        let mut consumer = Consumer::join(&place.join("alone"), Start::Latest).expect("a channel");
        let mut takes = Vec::new();
        while takes.len() < frames.n_frames {
            for _ in 0..frames.n_slots - 1 {
                publish(&mut producer, frames, &frame);
            }
            takes.extend(
                (0..frames.n_slots - 1).map(|_| {
                    took(|| assert!(matches!(consumer.next(LONG), Ok(Next::Frame(_))), "a frame that is there"))
                }),
            );
        }
        report.extend([("copy", copies), ("checksum", sums), ("publish", publishes), ("take", takes)]);
    }

    /// A process that waits for frames and reports when it received each of them.
    struct Waiting(Child, ChildStdout);

    impl Waiting {
        fn start(what: &str, place: &Path, frames: Frames) -> Self {
            let numbers = [frames.n_atoms, frames.bytes_an_atom, frames.n_slots, frames.n_frames];
            let mut command = Command::new(std::env::current_exe().expect("a program"));
            command.args(numbers.map(|number| number.to_string())).arg(what).arg(place);
            let mut child = command.stdout(Stdio::piped()).spawn().expect("a process");
            let output = child.stdout.take().expect("its output");
            let mut waiting = Waiting(child, output);
            waiting.had();
            waiting
        }

        /// Returns the time when the process received the last frame.
        fn had(&mut self) -> u64 {
            let mut time = [0; 8];
            self.1.read_exact(&mut time).expect("a process that lives");
            u64::from_le_bytes(time)
        }
    }

    impl Drop for Waiting {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn tell(time: u64) {
        let mut output = std::io::stdout().lock();
        output.write_all(&time.to_le_bytes()).and_then(|()| output.flush()).expect("somebody who reads");
    }

    /// Runs the other process, which reports when it received each frame.
    fn wait(what: &str, place: &Path, frames: Frames) {
        stay_on(1);
        if what == "futex" {
            let floor = Floor::map(&place.join("floor"), frames);
            let mut seen = floor.alarm().load(Ordering::Acquire);
            tell(0);
            loop {
                seen = floor.wait(seen);
                tell(now());
            }
        }
        let mut consumer = Consumer::join(&place.join("awaited"), Start::Latest).expect("a channel");
        tell(0);
        while let Ok(Next::Frame(frame)) = consumer.next(LONG) {
            let time = now();
            drop(frame);
            tell(time);
        }
    }

    /// Measures how long a frame takes to reach a waiting process, from before it is copied, and how long publishing takes.
    fn awaited(place: &Path, frames: Frames, report: &mut Vec<(&str, Vec<u64>)>) {
        let frame = vec![7; frames.n_atoms * frames.bytes_an_atom];
        let floor = Floor::map(&place.join("floor"), frames);
        let mut producer = open(&place.join("awaited"), frames);
        let mut sleepers = [Waiting::start("futex", place, frames), Waiting::start("channel", place, frames)];
        let [mut woken, mut arrived, mut published] = [const { Vec::new() }; 3];
        for number in 0..frames.n_frames + frames.n_slots {
            std::thread::sleep(REST);
            let start = now();
            floor.copy(number, &frame);
            floor.wake();
            let to_futex = sleepers[0].had() - start;
            std::thread::sleep(REST);
            let start = now();
            publish(&mut producer, frames, &frame);
            let done = now();
            let to_consumer = sleepers[1].had() - start;
            // The first access to each buffer is not measured.
            if number >= frames.n_slots {
                woken.push(to_futex);
                arrived.push(to_consumer);
                published.push(done - start);
            }
        }
        report.extend([("copy and wake-up", woken), ("arrival", arrived), ("publish to a sleeper", published)]);
    }

    #[expect(clippy::print_stdout, reason = "the result of this program")]
    pub(crate) fn main() {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let numbers: Vec<usize> = arguments.iter().take(4).map(|word| word.parse().expect("a number")).collect();
        let [n_atoms, bytes_an_atom, n_slots, n_frames] = numbers[..] else { panic!("expected four numbers") };
        assert!(
            matches!(bytes_an_atom, 12 | 28) && n_slots > 1,
            "expected 12 or 28 bytes an atom, and 2 slots or more"
        );
        let frames = Frames { n_atoms, bytes_an_atom, n_slots, n_frames };
        if let [_, _, _, _, what, place] = &arguments[..] {
            return wait(what, Path::new(place), frames);
        }
        stay_on(0);
        let place = tempfile::tempdir_in("/dev/shm").expect("a directory");
        let mut report = Vec::new();
        alone(place.path(), frames, &mut report);
        awaited(place.path(), frames, &mut report);
        let lists: Vec<String> = report.iter().map(|(name, times)| format!("\"{name}\": {times:?}")).collect();
        println!("{{{}}}", lists.join(", "));
    }
}

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}
