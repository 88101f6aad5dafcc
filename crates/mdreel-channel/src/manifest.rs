//! The manifest of a channel, with the properties that all frames share. It is written before the first frame and does not
//! change.

use serde::{Deserialize, Serialize};

use super::directory::Directory;
use super::record;
use super::section::DataType;
use mdreel_core::error::Result;

const MAGIC: &[u8; 8] = b"MDREELMF";
const NAME: &str = "manifest";

/// The properties that all frames of a channel share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The number of the stream.
    pub stream: u64,
    /// The hash of the topology. A consumer compares it with the hash of its own topology.
    pub topology_hash: [u8; 32],
    /// The number of atoms.
    pub n_atoms: u64,
    /// Units, as pairs of a quantity and its unit: `("length", "angstrom")`.
    pub units: Vec<(String, String)>,
    /// The time between two steps, ps.
    pub time_step: f64,
    /// The number of steps between two frames.
    pub stride: u64,
    /// The sections of each frame: the number of the kind, the number of the data type, and the name.
    pub sections: Vec<(u16, u16, String)>,
    /// Names of the energies, in order.
    pub energies: Vec<String>,
}

impl Manifest {
    /// Writes the manifest atomically: its file is either complete or absent.
    pub(crate) fn write(&self, directory: &Directory) -> Result<()> {
        record::write(directory, NAME, MAGIC, self, false)
    }

    /// Describes in words the first difference between this manifest, of the channel, and a given one; `None` if they are equal.
    pub(crate) fn difference(&self, given: &Manifest) -> Option<String> {
        let sections = |manifest: &Manifest| {
            let said = manifest.sections.iter().map(|(_, data_type, name)| match DataType::from_number(*data_type) {
                Some(data_type) => format!("{name} as {data_type}"),
                None => name.clone(),
            });
            said.collect::<Vec<_>>().join(", ")
        };
        let units = |manifest: &Manifest| {
            manifest.units.iter().map(|(name, unit)| format!("{name} in {unit}")).collect::<Vec<_>>().join(", ")
        };
        let hash = |manifest: &Manifest| {
            manifest.topology_hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let named = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let there_and_given = |what: &str, there: String, given: String| {
            (there != given).then(|| format!("the channel has {what}{there}, you gave {given}"))
        };
        let atoms = |n_atoms: u64| format!("{} atoms", grouped(n_atoms));
        [
            there_and_given("", atoms(self.n_atoms), atoms(given.n_atoms)),
            there_and_given("the sections ", sections(self), sections(given)),
            there_and_given("the energies ", named(&self.energies), named(&given.energies)),
            there_and_given("a time step of ", format!("{} ps", self.time_step), format!("{} ps", given.time_step)),
            there_and_given("a stride of ", format!("{} steps", self.stride), format!("{} steps", given.stride)),
            there_and_given("a topology with the hash ", hash(self), hash(given)),
            there_and_given("the units ", units(self), units(given)),
            there_and_given("the stream ", self.stream.to_string(), given.stream.to_string()),
            (self != given).then(|| "the channel has other properties than you gave".to_owned()),
        ]
        .into_iter()
        .flatten()
        .next()
    }

    /// Reads the manifest of a channel.
    pub(crate) fn read(directory: &Directory) -> Result<Self> {
        record::read(directory, NAME, MAGIC)
    }
}

/// Formats a number with a comma between its thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_of_two_manifests_is_said_in_words() {
        let manifest = Manifest {
            stream: 3,
            topology_hash: [9; 32],
            n_atoms: 1_000,
            units: vec![("length".into(), "angstrom".into())],
            time_step: 0.002,
            stride: 100,
            sections: vec![(1, 1, "positions".into())],
            energies: Vec::new(),
        };
        type Change = fn(&mut Manifest);
        let said = |change: Change| {
            let mut given = manifest.clone();
            change(&mut given);
            manifest.difference(&given)
        };
        assert_eq!(said(|_| ()), None);
        let expected: [(Change, &str); 8] = [
            (|given| given.n_atoms = 500, "the channel has 1,000 atoms, you gave 500 atoms"),
            (
                |given| given.sections.push((2, 2, "velocities".into())),
                "the channel has the sections positions as float32, you gave positions as float32, velocities as float64",
            ),
            (|given| given.energies.push("potential".into()), "the channel has the energies none, you gave potential"),
            (|given| given.time_step = 0.004, "the channel has a time step of 0.002 ps, you gave 0.004 ps"),
            (|given| given.stride = 10, "the channel has a stride of 100 steps, you gave 10 steps"),
            (
                |given| given.topology_hash = [1; 32],
                "the channel has a topology with the hash 09090909, you gave 01010101",
            ),
            (|given| given.units.clear(), "the channel has the units length in angstrom, you gave "),
            (|given| given.stream = 4, "the channel has the stream 3, you gave 4"),
        ];
        for (change, message) in expected {
            assert_eq!(said(change).as_deref(), Some(message));
        }
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

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
