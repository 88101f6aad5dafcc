//! A simple writer of DCD files in every variant of the format. It knows what it wrote and serves as an oracle for
//! readers.

// Each test program uses a part of this module.
#![allow(dead_code, reason = "each test crate uses a part of it")]

/// The properties of the file.
#[derive(Debug, Clone)]
pub(crate) struct DcdWriter {
    pub big_endian: bool,
    pub wide_markers: bool,
    /// The version of CHARMM whose conventions apply, or 0 for the conventions of X-PLOR.
    pub charmm_version: i32,
    pub n_atoms: usize,
    pub n_frames: usize,
    /// Cell record of each frame, repeated if there are more frames. If it is empty, the file has no cells.
    pub cells: Vec<[f64; 6]>,
    pub fourth_dimension: bool,
    /// Atoms (from 0) that are not fixed, in any order. `None` if the file has no fixed atoms.
    pub free_atoms: Option<Vec<u32>>,
    /// Number of frames in the header, or the true number if `None`.
    pub n_counted: Option<i32>,
    pub first_step: i32,
    pub steps_per_frame: i32,
    pub time_step: f64,
    pub n_title_lines: i32,
    /// Length in the markers of the title, if it differs from the true length.
    pub title_marker: Option<u64>,
}

impl Default for DcdWriter {
    fn default() -> Self {
        DcdWriter {
            big_endian: false,
            wide_markers: false,
            charmm_version: 24,
            n_atoms: 7,
            n_frames: 3,
            cells: Vec::new(),
            fourth_dimension: false,
            free_atoms: None,
            n_counted: None,
            first_step: 100,
            steps_per_frame: 10,
            time_step: 0.5,
            n_title_lines: 2,
            title_marker: None,
        }
    }
}

/// A written file with the positions of its frames.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub bytes: Vec<u8>,
    pub header_end: usize,
    /// The end of each frame.
    pub frame_ends: Vec<usize>,
    /// The position of each record marker of each frame.
    pub markers: Vec<Vec<usize>>,
}

impl DcdWriter {
    /// Returns the coordinate that a reader must find. The coordinates of all frames are different, so that the tests
    /// detect a wrong frame.
    pub(crate) fn coordinate(&self, frame: usize, atom: usize, axis: usize) -> f32 {
        let is_free = self.free_atoms.as_ref().is_none_or(|free| free.contains(&(atom as u32)));
        self.moving(if is_free { frame } else { 0 }, atom, axis)
    }

    fn moving(&self, frame: usize, atom: usize, axis: usize) -> f32 {
        ((frame * self.n_atoms + atom) * 3 + axis) as f32 * 0.25 - 700.0
    }

    /// Returns the cell record of a frame.
    pub(crate) fn cell(&self, frame: usize) -> Option<[f64; 6]> {
        (!self.cells.is_empty()).then(|| self.cells[frame % self.cells.len()])
    }

    /// Writes the file.
    pub(crate) fn write(&self) -> Written {
        let mut out = Output { writer: self, bytes: Vec::new(), markers: Vec::new() };
        out.record(&self.control(&out));
        let lines: Vec<u8> = (0..80 * self.n_title_lines).map(|i| b'a' + (i % 26) as u8).collect();
        let title = [out.i32(self.n_title_lines).as_slice(), &lines].concat();
        out.record_with_marker(&title, self.title_marker.unwrap_or(title.len() as u64));
        out.record(&out.i32(self.n_atoms as i32));
        if let Some(free) = &self.free_atoms {
            out.record(&free.iter().flat_map(|&atom| out.i32(atom as i32 + 1)).collect::<Vec<u8>>());
        }
        let header_end = out.bytes.len();
        let (mut frame_ends, mut markers) = (Vec::new(), Vec::new());
        for frame in 0..self.n_frames {
            out.markers.clear();
            self.write_frame(&mut out, frame);
            frame_ends.push(out.bytes.len());
            markers.push(out.markers.clone());
        }
        Written { bytes: out.bytes, header_end, frame_ends, markers }
    }

    fn control(&self, out: &Output<'_>) -> Vec<u8> {
        let n_fixed = self.free_atoms.as_ref().map_or(0, |free| self.n_atoms - free.len());
        let mut icntrl = [0i32; 20];
        icntrl[0] = self.n_counted.unwrap_or(self.n_frames as i32);
        icntrl[1] = self.first_step;
        icntrl[2] = self.steps_per_frame;
        icntrl[8] = n_fixed as i32;
        icntrl[19] = self.charmm_version;
        if self.charmm_version != 0 {
            icntrl[10] = i32::from(!self.cells.is_empty());
            icntrl[11] = i32::from(self.fourth_dimension);
        }
        let mut control = b"CORD".to_vec();
        control.extend(icntrl.iter().flat_map(|&v| out.i32(v)));
        if self.charmm_version != 0 {
            control[40..44].copy_from_slice(&out.turned((self.time_step as f32).to_le_bytes()));
        } else {
            control[40..48].copy_from_slice(&out.turned(self.time_step.to_le_bytes()));
        }
        control
    }

    fn write_frame(&self, out: &mut Output<'_>, frame: usize) {
        if let Some(cell) = self.cell(frame) {
            out.record(&cell.iter().flat_map(|v| out.turned(v.to_le_bytes())).collect::<Vec<u8>>());
        }
        let all: Vec<u32> = (0..self.n_atoms as u32).collect();
        let atoms = match &self.free_atoms {
            Some(free) if frame > 0 => free,
            _ => &all,
        };
        for axis in 0..3 + usize::from(self.fourth_dimension) {
            let number = |&atom: &u32| out.turned(self.moving(frame, atom as usize, axis).to_le_bytes());
            out.record(&atoms.iter().flat_map(number).collect::<Vec<u8>>());
        }
    }
}

struct Output<'w> {
    writer: &'w DcdWriter,
    bytes: Vec<u8>,
    markers: Vec<usize>,
}

impl Output<'_> {
    fn turned<const N: usize>(&self, mut bytes: [u8; N]) -> [u8; N] {
        if self.writer.big_endian {
            bytes.reverse();
        }
        bytes
    }

    fn i32(&self, value: i32) -> [u8; 4] {
        self.turned(value.to_le_bytes())
    }

    fn record(&mut self, content: &[u8]) {
        self.record_with_marker(content, content.len() as u64);
    }

    fn record_with_marker(&mut self, content: &[u8], length: u64) {
        self.marker(length);
        self.bytes.extend(content);
        self.marker(length);
    }

    fn marker(&mut self, length: u64) {
        self.markers.push(self.bytes.len());
        if self.writer.wide_markers {
            self.bytes.extend(self.turned(length.to_le_bytes()));
        } else {
            self.bytes.extend(self.turned((length as u32).to_le_bytes()));
        }
    }
}
