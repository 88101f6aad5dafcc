//! What the programs have in common: the selection file they read and the line they print.

use std::fs;
use std::io;

/// Any failure ends the program with its message.
pub type Outcome = Result<(), Box<dyn std::error::Error>>;

/// What a job prints when it is done: one line of JSON.
pub struct Report {
    /// Seconds from before the file is opened until after the last frame is read.
    pub seconds: f64,
    /// Frames read.
    pub n_frames: u64,
    /// Atoms given out of each frame.
    pub n_atoms: usize,
    /// First position given out of the last frame, in Å: proof that it was decoded.
    pub last: [f32; 3],
    /// Whether not all atoms were asked for.
    pub selected: bool,
}

impl Report {
    /// Prints the report.
    pub fn print(&self) {
        let [x, y, z] = self.last;
        let last = if self.selected { "last_selected" } else { "last" };
        println!(
            "{{\"seconds\": {}, \"n_frames\": {}, \"n_atoms\": {}, \"{last}\": [{x}, {y}, {z}]}}",
            self.seconds, self.n_frames, self.n_atoms
        );
    }
}

/// Reads atom indices, 0-based, one a line.
pub fn read_indices(path: &str) -> io::Result<Vec<u32>> {
    fs::read_to_string(path)?
        .lines()
        .map(|line| line.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)))
        .collect()
}

/// An argument of the command line.
pub fn argument(position: usize, name: &str) -> Result<String, String> {
    std::env::args().nth(position).ok_or_else(|| format!("argument {position} is missing: {name}"))
}
