//! Header of an XTC frame: everything before the compressed coordinates.
//!
//! Source: the XDR layout written by GROMACS (`xtc_header`, `xdr3dfcoord`). A header consists of big-endian 32-bit
//! words: `magic natoms step time box[9] natoms`. For more than 9 atoms, `precision min[3] max[3] smallidx nbytes` and
//! the compressed bytes follow, padded to a whole word. For 9 atoms or fewer, the coordinates follow as plain floats.
//! With the magic number of 2023, `nbytes` has 64 bits.

use crate::source::fault::Fault;
use crate::source::located::ChainedHeader;

/// Magic number of 1995.
const MAGIC_1995: u32 = 1995;
/// Magic number of 2023, for frames of any size.
const MAGIC_2023: u32 = 2023;
/// Maximum number of atoms that are stored as plain floats.
pub(crate) const MAX_PLAIN_ATOMS: usize = 9;
/// Number of bytes up to and including the second atom count.
const PLAIN_HEADER_LEN: usize = 56;
/// Position of the smallest integer of each axis, in bytes from the start of the frame.
pub(crate) const MIN_AT: u64 = 60;
/// Number of bytes of the longest header.
pub(crate) const MAX_HEADER_LEN: usize = 96;

/// Storage of the coordinates of a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Storage {
    /// Big-endian floats in nm.
    Plain,
    /// Compressed integers.
    Compressed(Compression),
}

/// Parameters of the compression of a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Compression {
    /// Integers per nm.
    pub precision: f32,
    /// Smallest integer coordinate of each axis.
    pub min: [i32; 3],
    /// Number of integers of each axis, at least 1.
    pub sizes: [u32; 3],
    /// Small index with which the frame starts.
    pub small_index: u32,
    /// Number of compressed bytes without the padding.
    pub n_bytes: u64,
}

/// Header of a frame, in the units of the file (ps, nm).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Header {
    /// Magic number of the frame.
    pub magic: u32,
    /// Number of atoms.
    pub n_atoms: usize,
    /// Integration step.
    pub step: i32,
    /// Time in ps.
    pub time: f32,
    /// Box vectors in nm, as rows.
    pub box_vectors: [[f32; 3]; 3],
    /// Storage of the coordinates.
    pub storage: Storage,
    /// Length of the header in bytes.
    pub header_len: usize,
}

impl ChainedHeader for Header {
    const FORMAT: &'static str = "XTC";
    const NAME: &'static str = "an XTC";
    const MAX_LEN: usize = MAX_HEADER_LEN;
    const ATOMS_AT: u64 = 4;
    const MOSTLY_ALIKE: bool = false;

    fn parse(bytes: &[u8]) -> Result<Option<Header>, Fault> {
        let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
        let Some(magic) = word(0) else { return Ok(None) };
        if magic != MAGIC_1995 && magic != MAGIC_2023 {
            return Err(Fault::new(0, format!("expected the magic number 1995 or 2023 of an XTC frame, got {magic}")));
        }
        let Some(n_atoms) = word(4) else { return Ok(None) };
        if n_atoms == 0 || n_atoms > i32::MAX as u32 {
            return Err(Fault::new(4, format!("expected a positive number of atoms, got {}", n_atoms as i32)));
        }
        let Some(plain) = bytes.get(..PLAIN_HEADER_LEN) else { return Ok(None) };
        let float =
            |at: usize| f32::from_bits(u32::from_be_bytes([plain[at], plain[at + 1], plain[at + 2], plain[at + 3]]));
        let repeated = word(52).unwrap_or_default();
        if repeated != n_atoms {
            return Err(Fault::new(52, format!("the frame says {n_atoms} atoms, its coordinates {}", repeated as i32)));
        }
        let mut header = Header {
            magic,
            n_atoms: n_atoms as usize,
            step: word(8).unwrap_or_default() as i32,
            time: float(12),
            box_vectors: [0, 1, 2].map(|row| [0, 1, 2].map(|column| float(16 + 12 * row + 4 * column))),
            storage: Storage::Plain,
            header_len: PLAIN_HEADER_LEN,
        };
        if header.n_atoms > MAX_PLAIN_ATOMS {
            header.header_len = if magic == MAGIC_2023 { MAX_HEADER_LEN } else { MAX_HEADER_LEN - 4 };
            let Some(bytes) = bytes.get(..header.header_len) else { return Ok(None) };
            header.storage = Storage::Compressed(Compression::parse(&bytes[PLAIN_HEADER_LEN..], n_atoms)?);
        }
        Ok(Some(header))
    }

    #[inline(always)]
    fn looks_right(bytes: &[u8], n_atoms: u32) -> bool {
        // The atom count is stored at the front and again after the box. Random bytes rarely have this form.
        let atoms = n_atoms.to_be_bytes();
        bytes.get(4..8) == Some(&atoms) && bytes.get(52..56) == Some(&atoms)
    }

    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn step(&self) -> i64 {
        i64::from(self.step)
    }

    fn time(&self) -> f64 {
        f64::from(self.time)
    }

    fn frame_len(&self) -> u64 {
        self.header_len as u64
            + match self.storage {
                Storage::Plain => 12 * self.n_atoms as u64,
                Storage::Compressed(compression) => compression.n_bytes.next_multiple_of(4),
            }
    }
}

impl Compression {
    /// Returns the distance in nm between consecutive integers, in the single precision that all readers use.
    pub(crate) fn inverse_precision(&self) -> f32 {
        (1.0 / f64::from(self.precision)) as f32
    }

    /// Parses the rest of the header after the second atom count. `bytes` ends with `nbytes`.
    fn parse(bytes: &[u8], n_atoms: u32) -> Result<Compression, Fault> {
        let word = |k: usize| u32::from_be_bytes([bytes[4 * k], bytes[4 * k + 1], bytes[4 * k + 2], bytes[4 * k + 3]]);
        let byte = |k: usize| (PLAIN_HEADER_LEN + 4 * k) as u64;
        let precision = f32::from_bits(word(0));
        if !(precision.is_finite() && precision > 0.0) {
            return Err(Fault::new(byte(0), format!("expected a positive precision, got {precision}")));
        }
        let min = [1, 2, 3].map(|k| word(k) as i32);
        let max = [4, 5, 6].map(|k| word(k) as i32);
        let mut sizes = [0; 3];
        for axis in 0..3 {
            let size = i64::from(max[axis]) - i64::from(min[axis]) + 1;
            sizes[axis] = u32::try_from(size).ok().filter(|&size| size > 0).ok_or_else(|| {
                let message = format!("the coordinates of axis {axis} run from {} to {}", min[axis], max[axis]);
                Fault::new(byte(1 + axis), message)
            })?;
        }
        let small_index = word(7);
        if !super::radix::SMALL_INDICES.contains(&small_index) {
            return Err(Fault::new(
                byte(7),
                format!("expected a small index from 9 to 72, got {}", small_index as i32),
            ));
        }
        let n_bytes = if bytes.len() > 36 { u64::from(word(8)) << 32 | u64::from(word(9)) } else { u64::from(word(8)) };
        // The longest group needs 96 bits for a big coordinate and 6 control bits, and a run adds at most 72 bits per
        // atom. The shortest group needs 1 bit and a flag, and a run adds at least 9 bits per atom. These limits
        // prevent a tiny file from claiming 2^31 atoms, for which the reader would allocate memory.
        let most = (u64::from(n_atoms) * (96 + 6) + 64).div_ceil(8);
        let least = (u64::from(n_atoms) * 2).div_ceil(8);
        if n_bytes < least || n_bytes > most {
            let message = format!("expected {least} to {most} compressed bytes for {n_atoms} atoms, got {n_bytes}");
            return Err(Fault::new(byte(8), message));
        }
        Ok(Compression { precision, min, sizes, small_index, n_bytes })
    }
}
