//! A simple writer of NetCDF files of the classic formats, with AMBER's variables in any order. It knows what it wrote
//! and serves as an oracle for readers.

// Each test program uses a part of this module.
#![allow(dead_code, reason = "each test crate uses a part of it")]

/// A variable with its name, type and scale factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Variable {
    pub name: &'static str,
    pub is_double: bool,
    pub scale: Option<f32>,
}

impl Variable {
    pub(crate) const NAMES: [&str; 8] =
        ["time", "coordinates", "cell_lengths", "cell_angles", "velocities", "forces", "replica", "flags"];

    pub(crate) fn single(name: &'static str) -> Self {
        Variable { name, is_double: false, scale: None }
    }
}

/// The properties of the file.
#[derive(Debug, Clone)]
pub(crate) struct NetCdf3Writer {
    /// Version of the format: 1, 2 or 5.
    pub version: u8,
    pub n_atoms: usize,
    pub n_frames: usize,
    /// Whether the dimension of the frames has a fixed length.
    pub is_fixed: bool,
    /// Variables in their order in the header and in the file. `replica` (an integer) and `flags` (three bytes) do not
    /// belong to a trajectory.
    pub variables: Vec<Variable>,
    /// Dimensions in any order.
    pub dimensions: Vec<&'static str>,
    /// Number of records in the header, or the true number if `None`.
    pub n_counted: Option<u32>,
    pub conventions: &'static str,
}

impl Default for NetCdf3Writer {
    fn default() -> Self {
        NetCdf3Writer {
            version: 2,
            n_atoms: 7,
            n_frames: 3,
            is_fixed: false,
            variables: Variable::NAMES[..4].iter().map(|name| Variable::single(name)).collect(),
            dimensions: vec!["frame", "spatial", "atom", "cell"],
            n_counted: None,
            conventions: "AMBER",
        }
    }
}

/// A written file with the positions of its parts.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub bytes: Vec<u8>,
    pub header_end: usize,
    /// The positions in the header of the length of each dimension (`lengths_at`) and of the `begin` of each variable
    /// (`begins_at`).
    pub lengths_at: Vec<usize>,
    pub begins_at: Vec<usize>,
    /// The start of the first record, and the size of a record in bytes.
    pub first: usize,
    pub record: usize,
}

impl NetCdf3Writer {
    pub(crate) fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    /// Returns the `i`-th stored number of a variable in a frame, which is exact in single precision.
    pub(crate) fn stored(&self, name: &str, frame: usize, i: usize) -> f64 {
        let which = Variable::NAMES.iter().position(|other| *other == name).expect("a known name");
        ((which * 40 + frame) * 3 * self.n_atoms + i) as f64 * 0.25 + 1.0
    }

    /// Returns the number that a reader must find, without the unit conversion of forces.
    pub(crate) fn read(&self, name: &str, frame: usize, i: usize) -> f64 {
        let stored = self.stored(name, frame, i);
        match self.variable(name).and_then(|variable| variable.scale.map(|scale| (variable.is_double, scale))) {
            None => stored,
            Some((true, scale)) => stored * f64::from(scale),
            Some((false, scale)) => f64::from(stored as f32 * scale),
        }
    }

    fn dimension_len(&self, name: &str) -> usize {
        match name {
            "frame" if self.is_fixed => self.n_frames,
            "frame" => 0,
            "atom" => self.n_atoms,
            _ => 3,
        }
    }

    fn shape(name: &str) -> &'static [&'static str] {
        match name {
            "time" | "replica" => &["frame"],
            "cell_lengths" | "cell_angles" | "flags" => &["frame", "cell"],
            _ => &["frame", "atom", "spatial"],
        }
    }

    fn unit(name: &str) -> Option<&'static str> {
        Some(match name {
            "time" => "picosecond",
            "coordinates" | "cell_lengths" => "angstrom",
            "cell_angles" => "degree",
            "velocities" => "angstrom/picosecond",
            "forces" => "kilocalorie/mole/angstrom",
            _ => return None,
        })
    }

    fn number_bytes(variable: &Variable) -> usize {
        match variable.name {
            "flags" => 1,
            "replica" => 4,
            _ if variable.is_double => 8,
            _ => 4,
        }
    }

    /// Returns the number of values of a variable in a frame.
    pub(crate) fn n_numbers(&self, name: &str) -> usize {
        Self::shape(name)[1..].iter().map(|dimension| self.dimension_len(dimension)).product()
    }

    /// Returns the bytes of a variable in a frame, as stored in the file.
    fn numbers(&self, variable: &Variable, frame: usize) -> Vec<u8> {
        let number = |i: usize| {
            let stored = self.stored(variable.name, frame, i);
            match Self::number_bytes(variable) {
                1 => vec![i as u8 + 1],
                4 if variable.name == "replica" => (frame as i32).to_be_bytes().to_vec(),
                4 => (stored as f32).to_be_bytes().to_vec(),
                _ => stored.to_be_bytes().to_vec(),
            }
        };
        (0..self.n_numbers(variable.name)).flat_map(number).collect()
    }

    /// Writes the file.
    pub(crate) fn write(&self) -> Written {
        let mut out = Output { bytes: Vec::new(), version: self.version };
        out.bytes.extend([b'C', b'D', b'F', self.version]);
        let n_records = self.n_counted.unwrap_or(if self.is_fixed { 0 } else { self.n_frames as u32 });
        out.size(if n_records == u32::MAX && self.version == 5 { u64::MAX } else { u64::from(n_records) });
        out.list(10, self.dimensions.len());
        let mut lengths_at = Vec::new();
        for name in &self.dimensions {
            out.name(name);
            lengths_at.push(out.bytes.len());
            out.size(self.dimension_len(name) as u64);
        }
        out.list(12, 2);
        out.text("Conventions", self.conventions);
        out.text("ConventionVersion", "1.0");
        out.list(11, self.variables.len());
        let begins_at: Vec<usize> =
            self.variables.iter().map(|variable| self.write_variable(&mut out, variable)).collect();
        let header_end = out.bytes.len();
        let frame_bytes = |variable: &Variable| self.n_numbers(variable.name) * Self::number_bytes(variable);
        let is_single = self.variables.len() == 1;
        let padded = |bytes: usize| if is_single && !self.is_fixed { bytes } else { bytes.next_multiple_of(4) };
        let mut begin = header_end;
        for (variable, &at) in self.variables.iter().zip(&begins_at) {
            out.put_begin(at, begin);
            begin += padded(frame_bytes(variable) * if self.is_fixed { self.n_frames } else { 1 });
        }
        let record = if self.is_fixed { 0 } else { begin - header_end };
        let mut append = |variable: &Variable, frames: std::ops::Range<usize>| {
            let start = out.bytes.len();
            frames.for_each(|frame| out.bytes.extend(self.numbers(variable, frame)));
            let length = out.bytes.len() - start;
            out.bytes.resize(start + padded(length), 0);
        };
        if self.is_fixed {
            self.variables.iter().for_each(|variable| append(variable, 0..self.n_frames));
        } else {
            for frame in 0..self.n_frames {
                self.variables.iter().for_each(|variable| append(variable, frame..frame + 1));
            }
        }
        Written { bytes: out.bytes, header_end, lengths_at, begins_at, first: header_end, record }
    }

    /// Writes the header entry of a variable. Returns the position of its `begin`, which the caller must fill in.
    fn write_variable(&self, out: &mut Output, variable: &Variable) -> usize {
        out.name(variable.name);
        let shape = Self::shape(variable.name);
        out.size(shape.len() as u64);
        for dimension in shape {
            let place = self.dimensions.iter().position(|other| other == dimension);
            out.size(place.expect("all dimensions are there") as u64);
        }
        let unit = Self::unit(variable.name);
        out.list(12, usize::from(unit.is_some()) + usize::from(variable.scale.is_some()));
        if let Some(unit) = unit {
            out.text("units", unit);
        }
        if let Some(scale) = variable.scale {
            out.name("scale_factor");
            out.word(5);
            out.size(1);
            out.bytes.extend(scale.to_be_bytes());
        }
        out.word(match (variable.name, variable.is_double) {
            ("flags", _) => 1,
            ("replica", _) => 4,
            (_, false) => 5,
            (_, true) => 6,
        });
        // The size of the variable is wrong on purpose, because readers must not rely on it.
        out.size(0x7fff_fff0);
        let at = out.bytes.len();
        out.bytes.extend(vec![0; if self.version == 1 { 4 } else { 8 }]);
        at
    }
}

struct Output {
    bytes: Vec<u8>,
    version: u8,
}

impl Output {
    fn word(&mut self, word: u32) {
        self.bytes.extend(word.to_be_bytes());
    }

    fn size(&mut self, size: u64) {
        if self.version == 5 {
            self.bytes.extend(size.to_be_bytes());
        } else {
            self.word(size as u32);
        }
    }

    fn list(&mut self, tag: u32, len: usize) {
        self.word(if len == 0 { 0 } else { tag });
        self.size(len as u64);
    }

    fn name(&mut self, name: &str) {
        self.size(name.len() as u64);
        self.bytes.extend(name.bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        self.word(2);
        self.name(text);
    }

    fn put_begin(&mut self, at: usize, begin: usize) {
        if self.version == 1 {
            self.bytes[at..at + 4].copy_from_slice(&(begin as u32).to_be_bytes());
        } else {
            self.bytes[at..at + 8].copy_from_slice(&(begin as u64).to_be_bytes());
        }
    }
}
