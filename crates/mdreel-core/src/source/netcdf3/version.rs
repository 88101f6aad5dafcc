//! Versions of the format, and types of numbers.

/// Version of the format, which determines the width of sizes and offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// CDF-1: sizes and offsets of 32 bits.
    Classic,
    /// CDF-2: offsets of 64 bits, which AMBER requires.
    Offset64,
    /// CDF-5: sizes and offsets of 64 bits, and more types.
    Data64,
}

impl Version {
    /// Returns the version for the fourth byte of a file.
    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Version::Classic),
            2 => Some(Version::Offset64),
            5 => Some(Version::Data64),
            _ => None,
        }
    }

    /// Returns the name of the version.
    pub fn name(self) -> &'static str {
        match self {
            Version::Classic => "CDF-1",
            Version::Offset64 => "CDF-2",
            Version::Data64 => "CDF-5",
        }
    }

    pub(super) fn has_wide_sizes(self) -> bool {
        self == Version::Data64
    }
}

/// Type of a variable or an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Char,
    Float,
    Double,
    /// An integer with this number of bytes.
    Integer(u8),
}

impl Type {
    /// Returns the type with this code. Codes above 6 exist only in CDF-5.
    pub(crate) fn from_code(code: u32, version: Version) -> Option<Self> {
        match code {
            1 => Some(Type::Integer(1)),
            2 => Some(Type::Char),
            3 => Some(Type::Integer(2)),
            4 => Some(Type::Integer(4)),
            5 => Some(Type::Float),
            6 => Some(Type::Double),
            _ if version != Version::Data64 => None,
            7 => Some(Type::Integer(1)),
            8 => Some(Type::Integer(2)),
            9 => Some(Type::Integer(4)),
            10 | 11 => Some(Type::Integer(8)),
            _ => None,
        }
    }

    /// Returns the number of bytes of a number.
    pub(crate) fn n_bytes(self) -> u64 {
        match self {
            Type::Char => 1,
            Type::Float => 4,
            Type::Double => 8,
            Type::Integer(n_bytes) => u64::from(n_bytes),
        }
    }
}
