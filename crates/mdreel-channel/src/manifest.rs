//! The manifest: what holds for all frames of a channel. It is there before the first frame, and stays.

use serde::{Deserialize, Serialize};

use super::directory::Directory;
use super::record;
use mdreel_core::error::Result;

const MAGIC: &[u8; 8] = b"MDREELMF";
const NAME: &str = "manifest";

/// What holds for all frames of a channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The stream's number.
    pub stream: u64,
    /// Of the topology, by which a consumer knows that its own is the same.
    pub topology_hash: [u8; 32],
    /// How many atoms there are.
    pub n_atoms: u64,
    /// Units, as name and unit: `("length", "angstrom")`.
    pub units: Vec<(String, String)>,
    /// The time between two steps, ps.
    pub time_step: f64,
    /// The steps between two frames.
    pub stride: u64,
    /// The sections of each frame: number of the kind, number of the data type, name.
    pub sections: Vec<(u16, u16, String)>,
    /// Names of the energies, in order.
    pub energies: Vec<String>,
}

impl Manifest {
    /// Writes it: whole, or not at all.
    pub(crate) fn write(&self, directory: &Directory) -> Result<()> {
        record::write(directory, NAME, MAGIC, self, false)
    }

    /// Reads it.
    pub(crate) fn read(directory: &Directory) -> Result<Self> {
        record::read(directory, NAME, MAGIC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifest_comes_back_and_is_refused_when_it_is_damaged() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::create(&place.path().join("channel")).unwrap();
        let manifest = Manifest {
            stream: 3,
            topology_hash: [9; 32],
            n_atoms: 23_558,
            units: vec![("length".into(), "angstrom".into())],
            time_step: 0.002,
            stride: 100,
            sections: vec![(1, 1, "positions".into())],
            energies: vec!["potential".into()],
        };
        manifest.write(&directory).unwrap();
        assert_eq!(Manifest::read(&directory).unwrap(), manifest);
        let path = directory.join(NAME);
        let bytes = std::fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            std::fs::write(&path, &bytes[..at]).unwrap();
            assert!(Manifest::read(&directory).is_err());
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, damaged).unwrap();
            assert!(Manifest::read(&directory).is_err());
        }
    }
}
