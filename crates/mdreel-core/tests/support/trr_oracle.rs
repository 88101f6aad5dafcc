//! A minimal implementation of TRR that writes and reads frames one number at a time. It is the oracle of the tests.

use mdreel_core::frame::Quantities;
use mdreel_core::source::AtomSelection;

use crate::reading::{Seen, bits};

/// A frame in the units of the file, with all numbers in double precision.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct RawFrame {
    pub is_double: bool,
    pub step: i32,
    pub time: f64,
    pub lambda: f64,
    pub box_vectors: Option<[f64; 9]>,
    pub virial: Option<[f64; 9]>,
    pub pressure: Option<[f64; 9]>,
    /// Positions, velocities, forces.
    pub quantities: [Option<Vec<[f64; 3]>>; 3],
    pub n_atoms: usize,
    /// The start and end of a frame that was read.
    pub start: usize,
    pub end: usize,
}

/// Appends a frame to `out`.
pub(crate) fn append_frame(frame: &RawFrame, out: &mut Vec<u8>) {
    let real = if frame.is_double { 8 } else { 4 };
    let int = |value: i32, out: &mut Vec<u8>| out.extend(value.to_be_bytes());
    int(1993, out);
    int(13, out);
    int(12, out);
    out.extend(b"GMX_trn_file");
    let matrix = |is_there: bool| if is_there { 9 * real } else { 0 };
    let [x, v, f] = frame.quantities.each_ref().map(|q| if q.is_some() { 3 * real * frame.n_atoms as i32 } else { 0 });
    let matrices = [&frame.box_vectors, &frame.virial, &frame.pressure].map(|m| matrix(m.is_some()));
    let sizes = [0, 0, matrices[0], matrices[1], matrices[2], 0, 0, x, v, f];
    sizes.into_iter().for_each(|size| int(size, out));
    int(frame.n_atoms as i32, out);
    int(frame.step, out);
    int(0, out);
    let number = |value: f64, out: &mut Vec<u8>| match frame.is_double {
        true => out.extend(value.to_be_bytes()),
        false => out.extend((value as f32).to_be_bytes()),
    };
    number(frame.time, out);
    number(frame.lambda, out);
    let matrices = [frame.box_vectors, frame.virial, frame.pressure].into_iter().flatten().flatten();
    matrices.for_each(|value| number(value, out));
    let atoms = frame.quantities.iter().flatten().flatten().flatten();
    atoms.for_each(|&value| number(value, out));
}

/// Returns the bytes of a file with these frames.
pub(crate) fn file_bytes(frames: &[RawFrame]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frames.iter().for_each(|frame| append_frame(frame, &mut bytes));
    bytes
}

/// A reader of bytes. If they end too early, its error names the expected bytes.
struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Words<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let bytes = self.bytes.get(self.at..self.at + N).ok_or(format!("{N} bytes at {}", self.at))?;
        self.at += N;
        Ok(bytes.try_into().expect("as many as were asked for"))
    }

    fn int(&mut self) -> Result<i32, String> {
        self.take().map(i32::from_be_bytes)
    }

    fn number(&mut self, is_double: bool) -> Result<f64, String> {
        match is_double {
            true => self.take().map(f64::from_be_bytes),
            false => self.take().map(|bytes| f64::from(f32::from_be_bytes(bytes))),
        }
    }

    fn matrix(&mut self, size: i32, is_double: bool) -> Result<Option<[f64; 9]>, String> {
        let mut matrix = [0.0; 9];
        if size == 0 {
            return Ok(None);
        }
        for value in &mut matrix {
            *value = self.number(is_double)?;
        }
        Ok(Some(matrix))
    }

    fn frame(&mut self) -> Result<RawFrame, String> {
        let start = self.at;
        if [self.int()?, self.int()?, self.int()?] != [1993, 13, 12] || &self.take::<12>()? != b"GMX_trn_file" {
            return Err(format!("no frame at {start}"));
        }
        let mut sizes = [0; 10];
        for size in &mut sizes {
            *size = self.int()?;
        }
        let (n_atoms, step, _) = (self.int()?, self.int()?, self.int()?);
        if n_atoms <= 0 {
            return Err(format!("{n_atoms} atoms"));
        }
        let numbers = [0, 0, 9, 9, 9, 0, 0].into_iter().chain([3 * i64::from(n_atoms); 3]);
        let fits = |real: i64| {
            let fits = |(&size, n): (&i32, i64)| size == 0 || i64::from(size) == n * real && n > 0;
            sizes.iter().zip(numbers.clone()).all(fits)
        };
        if sizes.iter().all(|&size| size == 0) || !(fits(4) || fits(8)) {
            return Err(format!("sizes {sizes:?}"));
        }
        let is_double = fits(8);
        let (time, lambda) = (self.number(is_double)?, self.number(is_double)?);
        let [box_vectors, virial, pressure] = [sizes[2], sizes[3], sizes[4]];
        let mut frame = RawFrame {
            is_double,
            step,
            time,
            lambda,
            box_vectors: self.matrix(box_vectors, is_double)?,
            virial: self.matrix(virial, is_double)?,
            pressure: self.matrix(pressure, is_double)?,
            n_atoms: n_atoms as usize,
            start,
            ..RawFrame::default()
        };
        for (quantity, &size) in frame.quantities.iter_mut().zip(&sizes[7..]) {
            if size > 0 {
                let mut atoms = Vec::new();
                for _ in 0..n_atoms {
                    atoms.push([self.number(is_double)?, self.number(is_double)?, self.number(is_double)?]);
                }
                *quantity = Some(atoms);
            }
        }
        frame.end = self.at;
        Ok(frame)
    }
}

/// Returns the frames of a file, or a description of its first error.
pub(crate) fn decode_file(bytes: &[u8]) -> Result<Vec<RawFrame>, String> {
    let mut words = Words { bytes, at: 0 };
    let mut frames: Vec<RawFrame> = Vec::new();
    while frames.is_empty() || words.at < bytes.len() {
        let frame = words.frame()?;
        if frames.first().is_some_and(|first| first.n_atoms != frame.n_atoms) {
            return Err(format!("{} atoms", frame.n_atoms));
        }
        frames.push(frame);
    }
    Ok(frames)
}

/// Returns the expected result of a reader for frame `index`.
pub(crate) fn expected(frame: &RawFrame, index: u64, atoms: &AtomSelection, wanted: Quantities) -> Seen {
    let scaled = |value: f64, factor: f32| bits(value as f32 * factor);
    let quantity = |k: usize, factor: f32| {
        let all = frame.quantities[k].as_ref()?;
        Some(atoms.indices().iter().map(|&i| all[i as usize].map(|v| scaled(v, factor))).collect::<Vec<_>>())
    };
    let is_wanted: Vec<_> = Quantities::ALL.iter().map(|quantity| wanted.contains(quantity)).collect();
    let vectors = frame.box_vectors.filter(|vectors| vectors.iter().any(|&v| v as f32 * 10.0 != 0.0));
    Seen {
        index,
        step: i64::from(frame.step),
        time: f64::from(frame.time as f32).to_bits(),
        cell: vectors.map(|v| [0, 3, 6].map(|row| [0, 1, 2].map(|column| scaled(v[row + column], 10.0)))),
        coordinates: quantity(0, 10.0).filter(|_| is_wanted[0]).unwrap_or_default(),
        velocities: quantity(1, 10.0).filter(|_| is_wanted[1]),
        forces: quantity(2, 0.1).filter(|_| is_wanted[2]),
    }
}
