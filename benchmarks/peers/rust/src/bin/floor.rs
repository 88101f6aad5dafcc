//! What the machine itself takes for the bytes of a job, when nothing is decoded or computed.
//!
//! * `floor pread FILE`: every byte of a file, from the page cache into one buffer of 1 MiB.
//! * `floor memcpy BYTES`: as many bytes copied from one buffer of 256 MiB to another.
//! * `floor gather WAY FILE SELECTION FIRST STRIDE AXES...`: the selected atoms' float32 of each frame of a DCD file, summed.
//!   FIRST is the byte at which the first frame starts, STRIDE the bytes from one frame to the next, AXES the bytes from
//!   a frame's start to its x, y and z. WAY is `mmap` (touch only these values), `span` (one read for each axis, from
//!   the first selected atom to the last) or `frame` (whole frames, 1 MiB a read).

use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use mdreel_benchmark_peers::{Outcome, argument, read_indices};

const PIECE: usize = 1 << 20;
const COPY: usize = 1 << 28;

fn main() -> Outcome {
    match argument(1, "pread, memcpy or gather")?.as_str() {
        "pread" => pread(&argument(2, "FILE")?),
        "memcpy" => memcpy(argument(2, "BYTES")?.parse()?),
        "gather" => gather(),
        other => Err(format!("no such floor: {other}").into()),
    }
}

fn print(begin: Instant, n_bytes: u64, n_frames: u64) {
    let seconds = begin.elapsed().as_secs_f64();
    println!("{{\"seconds\": {seconds}, \"n_bytes\": {n_bytes}, \"n_frames\": {n_frames}}}");
}

fn pread(path: &str) -> Outcome {
    let mut buffer = vec![1_u8; PIECE];
    let begin = Instant::now();
    let file = File::open(path)?;
    let mut offset = 0;
    loop {
        let n_bytes = file.read_at(&mut buffer, offset)?;
        if n_bytes == 0 {
            break;
        }
        black_box(&buffer);
        offset += n_bytes as u64;
    }
    print(begin, offset, 0);
    Ok(())
}

fn memcpy(n_bytes: u64) -> Outcome {
    let from = vec![1_u8; COPY];
    let mut to = vec![2_u8; COPY];
    let begin = Instant::now();
    let mut left = n_bytes;
    while left > 0 {
        let piece = left.min(COPY as u64) as usize;
        to[..piece].copy_from_slice(&from[..piece]);
        black_box(&to);
        left -= piece as u64;
    }
    print(begin, n_bytes, 0);
    Ok(())
}

/// Where the wanted values of a DCD file lie.
struct Layout {
    indices: Vec<usize>,
    first: u64,
    stride: u64,
    axes: [u64; 3],
}

impl Layout {
    fn from_arguments() -> Result<Self, Box<dyn std::error::Error>> {
        let mut axes = [0; 3];
        for (position, axis) in axes.iter_mut().enumerate() {
            *axis = argument(7 + position, "AXES")?.parse()?;
        }
        let indices: Vec<usize> =
            read_indices(&argument(4, "SELECTION")?)?.into_iter().map(|index| index as usize).collect();
        if indices.is_empty() {
            return Err("no atom is selected".into());
        }
        Ok(Layout { indices, first: argument(5, "FIRST")?.parse()?, stride: argument(6, "STRIDE")?.parse()?, axes })
    }

    /// The sum of the selected values of one axis, out of bytes that begin with the value of atom `base`.
    fn sum(&self, bytes: &[u8], base: usize) -> f32 {
        self.indices.iter().map(|index| f32::from_le_bytes(*bytes[4 * (index - base)..].first_chunk().unwrap())).sum()
    }
}

fn gather() -> Outcome {
    let way = argument(2, "WAY")?;
    let path = argument(3, "FILE")?;
    let layout = Layout::from_arguments()?;
    let begin = Instant::now();
    let file = File::open(&path)?;
    let n_frames = (file.metadata()?.len() - layout.first) / layout.stride;
    let sum = match way.as_str() {
        "mmap" => gather_mapped(&file, &layout, n_frames)?,
        "span" => gather_spans(&file, &layout, n_frames)?,
        "frame" => gather_frames(&file, &layout, n_frames)?,
        other => return Err(format!("no such way to gather: {other}").into()),
    };
    black_box(sum);
    print(begin, n_frames * 12 * layout.indices.len() as u64, n_frames);
    Ok(())
}

fn gather_mapped(file: &File, layout: &Layout, n_frames: u64) -> io::Result<f32> {
    let length = file.metadata()?.len() as usize;
    // SAFETY: asks for a new mapping at an address of the kernel's choice; whether it was given is checked below.
    let start =
        unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: mmap gave `length` readable bytes at `start`, which stay mapped until the end of the process.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
    let mut sum = 0.0;
    for frame in 0..n_frames {
        let offset = layout.first + frame * layout.stride;
        for axis in layout.axes {
            sum += layout.sum(&bytes[(offset + axis) as usize..], 0);
        }
    }
    Ok(sum)
}

fn gather_spans(file: &File, layout: &Layout, n_frames: u64) -> io::Result<f32> {
    let (low, high) = (layout.indices[0], layout.indices[layout.indices.len() - 1]);
    let mut buffer = vec![0_u8; 4 * (high - low + 1)];
    let mut sum = 0.0;
    for frame in 0..n_frames {
        for axis in layout.axes {
            file.read_exact_at(&mut buffer, layout.first + frame * layout.stride + axis + 4 * low as u64)?;
            sum += layout.sum(&buffer, low);
        }
    }
    Ok(sum)
}

fn gather_frames(file: &File, layout: &Layout, n_frames: u64) -> io::Result<f32> {
    let at_once = (PIECE as u64 / layout.stride).max(1);
    let mut buffer = vec![0_u8; (at_once * layout.stride) as usize];
    let mut sum = 0.0;
    let mut frame = 0;
    while frame < n_frames {
        let n_read = at_once.min(n_frames - frame);
        let bytes = &mut buffer[..(n_read * layout.stride) as usize];
        file.read_exact_at(bytes, layout.first + frame * layout.stride)?;
        for one in bytes.chunks_exact(layout.stride as usize) {
            for axis in layout.axes {
                sum += layout.sum(&one[axis as usize..], 0);
            }
        }
        frame += n_read;
    }
    Ok(sum)
}
