//! Header of a TRR frame: the sections of the frame and their sizes.
//!
//! Source: the XDR layout written by GROMACS. A header consists of big-endian 32-bit words:
//! `magic 13 12 "GMX_trn_file"`, the sizes in bytes of ten sections (`ir e box vir pres top sym x v f`), and
//! `natoms step nre`. The time, lambda, and the sections follow in that order. All real numbers of a frame have 4 or 8
//! bytes, which follows from the sizes. Every frame has its own header and may have different sections than the
//! previous frame. The step has 32 bits, regardless of the type in GROMACS.

use std::ops::Range;

use crate::frame::{Quantities, Quantity};
use crate::source::fault::Fault;
use crate::source::located::ChainedHeader;
use crate::source::pieces::Section;
use crate::writer::trr::BEGINNING;

/// Magic number.
const MAGIC: u32 = 1993;
/// Number of bytes up to and including `nre`.
const INTEGERS_LEN: usize = 76;
/// Number of bytes of the longest header.
pub(crate) const MAX_HEADER_LEN: usize = INTEGERS_LEN + 16;
/// Names of the sections, in the order of their sizes.
const NAMES: [&str; 10] = ["ir", "e", "box", "virial", "pressure", "top", "sym", "positions", "velocities", "forces"];
/// Index of the box.
const BOX: usize = 2;
/// Indices of the box, the virial and the pressure.
const MATRICES: Range<usize> = 2..5;
/// Indices of the positions, the velocities and the forces.
const QUANTITIES: Range<usize> = 7..10;

/// Sections of a frame and their sizes. Frames of the same shape differ only in their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Number of atoms.
    pub n_atoms: usize,
    /// Number of bytes of a real number: 4 or 8.
    pub real: u64,
    sizes: [u32; 10],
}

/// Header of a frame, in the units of the file (ps, nm).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Header {
    /// Sections of the frame.
    pub shape: Shape,
    /// Integration step.
    pub step: i32,
    /// Time in ps, rounded to single precision as in MDAnalysis.
    pub time: f32,
    /// Free-energy coupling parameter, also rounded to single precision.
    pub lambda: f32,
}

impl Shape {
    /// Returns the number of bytes of the header.
    pub(crate) fn header_len(&self) -> u64 {
        INTEGERS_LEN as u64 + 2 * self.real
    }

    /// Returns the number of bytes of the complete frame.
    pub(crate) fn frame_len(&self) -> u64 {
        self.header_len() + self.sizes.iter().map(|&size| u64::from(size)).sum::<u64>()
    }

    /// Returns the position of the box, if there is one. The box directly follows the header.
    pub(crate) fn box_at(&self) -> Option<u64> {
        (self.sizes[BOX] > 0).then_some(self.header_len())
    }

    /// Returns the quantities of each atom in the frame.
    pub(crate) fn present(&self) -> Quantities {
        Quantities::ALL
            .iter()
            .filter(|&quantity| self.size(quantity) > 0)
            .fold(Quantities::NONE, |set, q| set.with(q, true))
    }

    fn size(&self, quantity: Quantity) -> u32 {
        self.sizes[QUANTITIES.start + quantity as usize]
    }

    /// Returns the position of a quantity in the frame, with x, y and z of one atom after the other. Returns `None` if
    /// the frame does not contain the quantity.
    pub(crate) fn section(&self, quantity: Quantity) -> Option<Section> {
        let before = &self.sizes[..QUANTITIES.start + quantity as usize];
        let start = self.header_len() + before.iter().map(|&size| u64::from(size)).sum::<u64>();
        (self.size(quantity) > 0).then_some(Section { start, stride: 3 * self.real })
    }

    /// Determines the size of real numbers, and checks that all sections agree with it.
    fn new(n_atoms: u32, sizes: [u32; 10]) -> Result<Self, Fault> {
        let byte = |section: usize| (BEGINNING.len() + 4 * section) as u64;
        if n_atoms == 0 || n_atoms > i32::MAX as u32 {
            return Err(Fault::new(64, format!("expected a positive number of atoms, got {}", n_atoms as i32)));
        }
        let numbers = |section: usize| match section {
            _ if MATRICES.contains(&section) => 9,
            _ if QUANTITIES.contains(&section) => 3 * u64::from(n_atoms),
            _ => 0,
        };
        let mut real = None;
        for (section, &size) in sizes.iter().enumerate().filter(|&(_, &size)| size != 0) {
            let n_numbers = numbers(section);
            let expected = match real {
                _ if n_numbers == 0 => "none".to_owned(),
                None => format!("0, {} or {}", 4 * n_numbers, 8 * n_numbers),
                Some(real) => format!("0 or {}", real * n_numbers),
            };
            let found = [4, 8].into_iter().find(|bytes| bytes * n_numbers == u64::from(size));
            if found.is_none() || real.is_some() && real != found {
                let message =
                    format!("expected {expected} bytes of {} for {n_atoms} atoms, got {}", NAMES[section], size as i32);
                return Err(Fault::new(byte(section), message));
            }
            real = found;
        }
        match real {
            Some(real) => Ok(Shape { n_atoms: n_atoms as usize, real, sizes }),
            None => {
                Err(Fault::new(byte(BOX), "expected a box, positions, velocities or forces, the frame has nothing"))
            }
        }
    }
}

impl ChainedHeader for Header {
    const FORMAT: &'static str = "TRR";
    const NAME: &'static str = "a TRR";
    const MAX_LEN: usize = MAX_HEADER_LEN;
    const ATOMS_AT: u64 = 64;
    const MOSTLY_ALIKE: bool = true;

    fn parse(bytes: &[u8]) -> Result<Option<Self>, Fault> {
        let word = |k: usize| {
            let at = BEGINNING.len() + 4 * k;
            bytes.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
        };
        let head = &bytes[..bytes.len().min(BEGINNING.len())];
        if let Some(at) = head.iter().zip(&BEGINNING).position(|(got, expected)| got != expected) {
            let at = at / 4 * 4;
            let got = &head[at..head.len().min(at + 4)];
            let message = match at {
                0 => format!("expected the magic number {MAGIC} of a TRR frame, got the bytes {got:02x?}"),
                _ => format!(
                    "expected the name \"GMX_trn_file\" of a TRR frame and its length, got the bytes {got:02x?}"
                ),
            };
            return Err(Fault::new(at as u64, message));
        }
        if bytes.len() < INTEGERS_LEN {
            return Ok(None);
        }
        let shape = Shape::new(word(10).unwrap_or_default(), std::array::from_fn(|k| word(k).unwrap_or_default()))?;
        let real = |at: usize| match shape.real {
            4 => bytes.get(at..at + 4).and_then(|b| Some(f32::from_be_bytes(b.try_into().ok()?))),
            _ => bytes.get(at..at + 8).and_then(|b| Some(f64::from_be_bytes(b.try_into().ok()?) as f32)),
        };
        let step = word(11).unwrap_or_default() as i32;
        let (time, lambda) = (real(INTEGERS_LEN), real(INTEGERS_LEN + shape.real as usize));
        Ok(time.zip(lambda).map(|(time, lambda)| Header { shape, step, time, lambda }))
    }

    #[inline(always)]
    fn looks_right(bytes: &[u8], n_atoms: u32) -> bool {
        bytes.starts_with(&BEGINNING) && bytes.get(64..68) == Some(&n_atoms.to_be_bytes())
    }

    fn n_atoms(&self) -> usize {
        self.shape.n_atoms
    }

    fn frame_len(&self) -> u64 {
        self.shape.frame_len()
    }

    fn step(&self) -> i64 {
        i64::from(self.step)
    }

    fn time(&self) -> f64 {
        f64::from(self.time)
    }
}
