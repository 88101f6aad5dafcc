//! Header of a NetCDF file: dimensions, attributes and variables.

use super::scanner::{HeaderScanner, padding};
use super::version::{Type, Version};
use crate::error::{Error, Result};
use crate::source::bytes::FileBytes;

/// Tag of the list of dimensions.
const DIMENSIONS: u32 = 10;
/// Tag of the list of variables.
const VARIABLES: u32 = 11;
/// Tag of the list of attributes.
const ATTRIBUTES: u32 = 12;

/// Maximum number of dimensions of a variable, which is a limit of the NetCDF library.
const MOST_DIMENSIONS: u64 = 1024;

/// Maximum number of bytes of a text attribute. Longer attributes are skipped.
const LONGEST_TEXT: u64 = 1 << 16;

/// Header of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Header {
    pub version: Version,
    /// Number of records according to the header; `None` if the writer left it open.
    pub n_records: Option<u64>,
    pub dimensions: Vec<Dimension>,
    pub attributes: Vec<Attribute>,
    pub variables: Vec<Variable>,
    /// Position at which the header ends.
    pub end: u64,
}

/// A dimension of variables.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dimension {
    pub name: String,
    /// Length of the dimension; 0 for the dimension in which a file grows.
    pub len: u64,
}

/// An attribute of the file or of a variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attribute {
    pub name: String,
    pub value: Value,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Single(f32),
    Double(f64),
    /// A value that no caller needs: an integer, several numbers, or a very long text.
    Other,
}

/// A variable of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Variable {
    pub name: String,
    /// Indices of its dimensions.
    pub dimensions: Vec<usize>,
    pub attributes: Vec<Attribute>,
    pub number: Type,
    /// Position of its first number.
    pub begin: u64,
    /// Number of bytes in total, or in each record.
    pub n_bytes: u64,
    /// Whether the variable grows with the file.
    pub is_record: bool,
    /// Position of the variable in the header.
    pub at: u64,
}

impl Header {
    /// Reads the header of `file`.
    pub(crate) fn read(file: &FileBytes) -> Result<Self> {
        let mut scanner = HeaderScanner::new(file)?;
        let n_records = scanner.n_records()?;
        let mut dimensions = Vec::new();
        for _ in 0..scanner.list("dimensions", DIMENSIONS)? {
            let name = scanner.name("the name of a dimension")?;
            let len = scanner.size("the length of a dimension")?;
            dimensions.push(Dimension { name, len });
        }
        let attributes = read_attributes(&mut scanner)?;
        let mut variables = Vec::new();
        for _ in 0..scanner.list("variables", VARIABLES)? {
            variables.push(read_variable(&mut scanner, &dimensions)?);
        }
        let (version, end) = (scanner.version(), scanner.at());
        Ok(Header { version, n_records, dimensions, attributes, variables, end })
    }

    /// Returns the variable with this name.
    pub(crate) fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    /// Returns the text of an attribute of the whole file.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        text(&self.attributes, name)
    }

    /// Returns the number of bytes of a record. A record contains all variables that grow, each padded to whole words.
    /// A single variable is not padded.
    pub(crate) fn record_bytes(&self, file: &FileBytes) -> Result<u64> {
        let records = || self.variables.iter().filter(|variable| variable.is_record);
        if let (Some(only), 1) = (records().next(), records().count()) {
            return Ok(only.n_bytes);
        }
        records().try_fold(0u64, |sum, variable| {
            let padded = variable.n_bytes.checked_add(padding(variable.n_bytes));
            padded
                .and_then(|padded| sum.checked_add(padded))
                .ok_or_else(|| too_large(file, variable.at, &variable.name))
        })
    }
}

impl Variable {
    /// Returns the text of an attribute.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        text(&self.attributes, name)
    }

    /// Returns the value of an attribute.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        value(&self.attributes, name)
    }
}

fn value<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Value> {
    attributes.iter().find(|attribute| attribute.name == name).map(|attribute| &attribute.value)
}

fn text<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a str> {
    match value(attributes, name)? {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn read_variable(scanner: &mut HeaderScanner<'_>, known: &[Dimension]) -> Result<Variable> {
    let at = scanner.at();
    let name = scanner.name("the name of a variable")?;
    let rank_at = scanner.at();
    let rank = scanner.size("the number of dimensions")?;
    if rank > MOST_DIMENSIONS {
        let message = format!("{name}: expected at most {MOST_DIMENSIONS} dimensions, got {rank}");
        return Err(scanner.error(rank_at, message));
    }
    let mut dimensions = Vec::new();
    for i in 0..rank {
        let at = scanner.at();
        let dimension = scanner.size("a dimension")?;
        match usize::try_from(dimension).ok().and_then(|i| known.get(i)) {
            None => {
                let message = format!("{name}: expected one of {} dimensions, got number {dimension}", known.len());
                return Err(scanner.error(at, message));
            }
            Some(Dimension { len: 0, name: unlimited }) if i > 0 => {
                let message = format!("{name}: {unlimited} may be unlimited as the first dimension only");
                return Err(scanner.error(at, message));
            }
            Some(_) => dimensions.push(dimension as usize),
        }
    }
    let attributes = read_attributes(scanner)?;
    let number = read_type(scanner, &name)?;
    scanner.skip_variable_size()?;
    let begin = scanner.offset("where a variable begins")?;
    let lengths = || dimensions.iter().map(|&i| known[i].len);
    let is_record = lengths().next() == Some(0);
    let n_bytes = lengths().skip(usize::from(is_record)).try_fold(number.n_bytes(), u64::checked_mul);
    let n_bytes =
        n_bytes.ok_or_else(|| scanner.error(at, format!("{name}: its dimensions are larger than any file")))?;
    Ok(Variable { name, dimensions, attributes, number, begin, n_bytes, is_record, at })
}

fn read_attributes(scanner: &mut HeaderScanner<'_>) -> Result<Vec<Attribute>> {
    let mut attributes = Vec::new();
    for _ in 0..scanner.list("attributes", ATTRIBUTES)? {
        let name = scanner.name("the name of an attribute")?;
        let number = read_type(scanner, &name)?;
        let count = scanner.size("the length of an attribute")?;
        let length = count.checked_mul(number.n_bytes()).ok_or_else(|| {
            scanner.error(scanner.at(), format!("attribute {name}: {count} values are larger than any file"))
        })?;
        let value = match (number, count) {
            (Type::Char, _) if length <= LONGEST_TEXT => {
                let text = String::from_utf8_lossy(scanner.bytes("an attribute", length)?).into_owned();
                // Some programs also write the zero that ends a string in C.
                Value::Text(text.trim_end_matches('\0').to_owned())
            }
            (Type::Float, 1) => Value::Single(f32::from_bits(scanner.u32("an attribute")?)),
            (Type::Double, 1) => {
                let mut bits = [0; 8];
                bits.copy_from_slice(scanner.bytes("an attribute", 8)?);
                Value::Double(f64::from_be_bytes(bits))
            }
            _ => {
                scanner.skip("an attribute", length)?;
                Value::Other
            }
        };
        scanner.skip("an attribute", padding(length))?;
        attributes.push(Attribute { name, value });
    }
    Ok(attributes)
}

fn read_type(scanner: &mut HeaderScanner<'_>, name: &str) -> Result<Type> {
    let at = scanner.at();
    let code = scanner.u32("a type")?;
    Type::from_code(code, scanner.version())
        .ok_or_else(|| scanner.error(at, format!("{name}: expected a type of numbers, got code {code}")))
}

fn too_large(file: &FileBytes, at: u64, name: &str) -> Error {
    Error::format(file.path(), None, Some(at), format!("{name}: a record of it is larger than any file"))
}
