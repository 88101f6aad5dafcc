//! What the machine itself takes for the bytes of a job, when nothing is decoded or computed.
//!
//! * `floor pread FILE`: every byte of a file, from the page cache into one buffer of 1 MiB.
//! * `floor memcpy BYTES`: as many bytes copied from one buffer of 256 MiB to another.
//! * `floor gather WAY FILE SELECTION FIRST STRIDE WIDTH ARRAYS...`: the selected atoms' float32 of each frame of a file
//!   that is not compressed, summed as integers, which costs nothing beside touching them. FIRST is the byte at which
//!   the first frame starts, STRIDE the bytes from one frame to the next, WIDTH how many values of an atom lie together
//!   (1 in a DCD file, 3 in a NetCDF file), ARRAYS the bytes from a frame's start to its arrays of them. WAY is `mmap`
//!   (touch only these values), `span` (one read for each array, from the first selected atom to the last) or `frame`
//!   (whole frames, 1 MiB a read).

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

/// Where the wanted values of a file lie.
struct Layout {
    indices: Vec<usize>,
    first: u64,
    stride: u64,
    width: usize,
    arrays: Vec<u64>,
}

impl Layout {
    fn from_arguments() -> Result<Self, Box<dyn std::error::Error>> {
        let arrays: Vec<u64> = std::env::args().skip(8).map(|word| word.parse()).collect::<Result<_, _>>()?;
        let indices: Vec<usize> =
            read_indices(&argument(4, "SELECTION")?)?.into_iter().map(|index| index as usize).collect();
        if indices.is_empty() || arrays.is_empty() {
            return Err("no atom is selected, or no array is given".into());
        }
        let [first, stride] = [argument(5, "FIRST")?.parse()?, argument(6, "STRIDE")?.parse()?];
        Ok(Layout { indices, first, stride, width: argument(7, "WIDTH")?.parse()?, arrays })
    }

    /// Bytes of an atom's values in one array.
    fn atom(&self) -> usize {
        4 * self.width
    }

    /// The sum of the selected values of one array, out of bytes that begin with the value of atom `base`.
    fn sum(&self, bytes: &[u8], base: usize) -> u32 {
        match self.width {
            1 => self.sum_of::<1>(bytes, base),
            3 => self.sum_of::<3>(bytes, base),
            other => panic!("WIDTH is 1 or 3, not {other}"),
        }
    }

    fn sum_of<const WIDTH: usize>(&self, bytes: &[u8], base: usize) -> u32 {
        let (values, _) = bytes.as_chunks::<4>();
        let mut sum = 0_u32;
        for index in &self.indices {
            for value in &values[WIDTH * (index - base)..][..WIDTH] {
                sum = sum.wrapping_add(u32::from_ne_bytes(*value));
            }
        }
        sum
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

fn gather_mapped(file: &File, layout: &Layout, n_frames: u64) -> io::Result<u32> {
    let length = file.metadata()?.len() as usize;
    // SAFETY: asks for a new mapping at an address of the kernel's choice; whether it was given is checked below.
    let start =
        unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: mmap gave `length` readable bytes at `start`, which stay mapped until the end of the process.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
    let mut sum = 0_u32;
    for frame in 0..n_frames {
        let offset = layout.first + frame * layout.stride;
        for array in &layout.arrays {
            sum = sum.wrapping_add(layout.sum(&bytes[(offset + array) as usize..], 0));
        }
    }
    Ok(sum)
}

fn gather_spans(file: &File, layout: &Layout, n_frames: u64) -> io::Result<u32> {
    let (low, high) = (layout.indices[0], layout.indices[layout.indices.len() - 1]);
    let mut buffer = vec![0_u8; layout.atom() * (high - low + 1)];
    let mut sum = 0_u32;
    for frame in 0..n_frames {
        for array in &layout.arrays {
            let begin = layout.first + frame * layout.stride + array + (layout.atom() * low) as u64;
            file.read_exact_at(&mut buffer, begin)?;
            sum = sum.wrapping_add(layout.sum(&buffer, low));
        }
    }
    Ok(sum)
}

fn gather_frames(file: &File, layout: &Layout, n_frames: u64) -> io::Result<u32> {
    let at_once = (PIECE as u64 / layout.stride).max(1);
    let mut buffer = vec![0_u8; (at_once * layout.stride) as usize];
    let mut sum = 0_u32;
    let mut frame = 0;
    while frame < n_frames {
        let n_read = at_once.min(n_frames - frame);
        let bytes = &mut buffer[..(n_read * layout.stride) as usize];
        file.read_exact_at(bytes, layout.first + frame * layout.stride)?;
        for one in bytes.chunks_exact(layout.stride as usize) {
            for array in &layout.arrays {
                sum = sum.wrapping_add(layout.sum(&one[*array as usize..], 0));
            }
        }
        frame += n_read;
    }
    Ok(sum)
}
