//! The sections of a frame and their data types.

use std::fmt;

/// The content of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SectionKind {
    /// Positions, Å.
    Positions,
    /// Velocities, Å/ps.
    Velocities,
    /// Forces, kJ/(mol Å).
    Forces,
    /// Energies of the whole frame, kJ/mol. The manifest names them.
    Energies,
    /// Any other data. The manifest names it.
    Custom(u16),
}

/// The first number of custom sections.
const FIRST_CUSTOM: u16 = 0x100;

impl SectionKind {
    /// Returns the number of the kind in the table of sections. Custom sections beyond 65,279 have none.
    pub fn number(self) -> Option<u16> {
        match self {
            SectionKind::Positions => Some(1),
            SectionKind::Velocities => Some(2),
            SectionKind::Forces => Some(3),
            SectionKind::Energies => Some(4),
            SectionKind::Custom(which) => FIRST_CUSTOM.checked_add(which),
        }
    }

    /// Returns the kind with a number.
    pub(crate) fn from_number(number: u16) -> Option<Self> {
        match number {
            1 => Some(SectionKind::Positions),
            2 => Some(SectionKind::Velocities),
            3 => Some(SectionKind::Forces),
            4 => Some(SectionKind::Energies),
            FIRST_CUSTOM.. => Some(SectionKind::Custom(number - FIRST_CUSTOM)),
            _ => None,
        }
    }

    /// Returns whether the section has three numbers per atom.
    fn is_of_each_atom(self) -> bool {
        matches!(self, SectionKind::Positions | SectionKind::Velocities | SectionKind::Forces)
    }
}

impl fmt::Display for SectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SectionKind::Positions => f.write_str("positions"),
            SectionKind::Velocities => f.write_str("velocities"),
            SectionKind::Forces => f.write_str("forces"),
            SectionKind::Energies => f.write_str("energies"),
            SectionKind::Custom(which) => write!(f, "custom section {which}"),
        }
    }
}

/// The type of the numbers in a section. All are little endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataType {
    /// 32-bit floating point.
    Float32,
    /// 64-bit floating point.
    Float64,
    /// Positions, compressed as in the XTC format.
    Xtc,
    /// The layout of the 2024 paper: for each atom, an int32 type and three 64-bit floating point coordinates, 28 bytes.
    TypeAndFloat64,
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DataType::Float32 => "float32",
            DataType::Float64 => "float64",
            DataType::Xtc => "xtc",
            DataType::TypeAndFloat64 => "type and float64",
        })
    }
}

impl DataType {
    /// Returns the number of the data type in the table of sections.
    pub fn number(self) -> u16 {
        match self {
            DataType::Float32 => 1,
            DataType::Float64 => 2,
            DataType::Xtc => 3,
            DataType::TypeAndFloat64 => 4,
        }
    }

    /// Returns the data type with a number.
    pub fn from_number(number: u16) -> Option<Self> {
        [DataType::Float32, DataType::Float64, DataType::Xtc, DataType::TypeAndFloat64]
            .into_iter()
            .find(|data_type| data_type.number() == number)
    }
}

/// Describes the error of a section of `length` bytes in a frame of `n_atoms` atoms; `None` if it has none.
pub(super) fn fault(kind: SectionKind, data_type: DataType, n_atoms: u64, length: u64) -> Option<String> {
    let size = match (kind, data_type) {
        (SectionKind::Positions, DataType::Xtc) => return None,
        (_, DataType::Xtc) => return Some(format!("{kind} cannot be compressed as XTC")),
        (SectionKind::Positions, DataType::TypeAndFloat64) => 28,
        (_, DataType::TypeAndFloat64) => return Some(format!("{kind} cannot have the type of each atom")),
        (kind, data_type) => {
            let size = if data_type == DataType::Float32 { 4 } else { 8 };
            if !kind.is_of_each_atom() {
                let wrong = || format!("{kind}: expected a multiple of {size} bytes, got {length}");
                return (!length.is_multiple_of(size)).then(wrong);
            }
            3 * size
        }
    };
    let expected = n_atoms.checked_mul(size);
    let wrong = || format!("{kind} of {n_atoms} atoms: expected {size} bytes an atom, got {length} bytes");
    (expected != Some(length)).then(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_kinds_and_data_types_come_back() {
        for number in 0..=u16::MAX {
            if let Some(kind) = SectionKind::from_number(number) {
                assert_eq!(kind.number(), Some(number));
            }
            if let Some(data_type) = DataType::from_number(number) {
                assert_eq!(data_type.number(), number);
            }
        }
        assert_eq!(SectionKind::Custom(u16::MAX).number(), None);
    }

    #[test]
    fn section_of_a_wrong_length_is_a_fault() {
        assert_eq!(fault(SectionKind::Positions, DataType::Float32, 10, 120), None);
        assert_eq!(fault(SectionKind::Positions, DataType::TypeAndFloat64, 10, 280), None);
        assert_eq!(fault(SectionKind::Energies, DataType::Float64, 10, 16), None);
        assert!(fault(SectionKind::Forces, DataType::Float64, 10, 120).is_some());
        assert!(fault(SectionKind::Positions, DataType::Float64, u64::MAX, 8).is_some());
        assert!(fault(SectionKind::Energies, DataType::Float64, 10, 12).is_some());
        assert!(fault(SectionKind::Velocities, DataType::Xtc, 10, 12).is_some());
    }
}
