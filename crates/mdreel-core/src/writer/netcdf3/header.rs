//! The header: dimensions, attributes and variables of the convention.

use crate::frame::{Quantities, Quantity};

const CHAR: u32 = 2;
const FLOAT: u32 = 5;
const DOUBLE: u32 = 6;
const DIMENSIONS: u32 = 10;
const VARIABLES: u32 = 11;
const ATTRIBUTES: u32 = 12;

/// The name and length of a dimension. The length is 0 for the dimension along which the file grows.
type Dimension = (&'static str, u32);

const FRAME: Dimension = ("frame", 0);
const SPATIAL: Dimension = ("spatial", 3);
const CELL_SPATIAL: Dimension = ("cell_spatial", 3);
const CELL_ANGULAR: Dimension = ("cell_angular", 3);
const LABEL: Dimension = ("label", 5);

/// The bytes before the first frame.
#[derive(Debug)]
pub(super) struct Header {
    dimensions: Vec<Dimension>,
    variables: Vec<Variable>,
    program_version: &'static str,
}

#[derive(Debug)]
struct Variable {
    name: &'static str,
    dimensions: Vec<Dimension>,
    unit: Option<&'static str>,
    number: u32,
    /// The content, if it does not grow with the file.
    labels: Option<&'static [u8]>,
}

impl Header {
    /// Creates the header of a file with these variables, in the order in which frames contain them.
    pub(crate) fn new(
        n_atoms: usize,
        quantities: Quantities,
        has_unit_cell: bool,
        program_version: &'static str,
    ) -> Self {
        let atom = ("atom", n_atoms as u32);
        let mut dimensions = vec![FRAME, SPATIAL, atom];
        let labels = |name, dimensions: &[Dimension], labels| Variable {
            name,
            dimensions: dimensions.to_vec(),
            unit: None,
            number: CHAR,
            labels: Some(labels),
        };
        let values = |name, dimensions: &[Dimension], number, unit| Variable {
            name,
            dimensions: [&[FRAME], dimensions].concat(),
            unit: Some(unit),
            number,
            labels: None,
        };
        let mut variables = vec![
            labels("spatial", &[SPATIAL], b"xyz"),
            values("time", &[], FLOAT, "picosecond"),
            values("coordinates", &[atom, SPATIAL], FLOAT, "angstrom"),
        ];
        if has_unit_cell {
            dimensions.extend([CELL_SPATIAL, CELL_ANGULAR, LABEL]);
            variables.extend([
                labels("cell_spatial", &[CELL_SPATIAL], b"abc"),
                labels("cell_angular", &[CELL_ANGULAR, LABEL], b"alphabeta gamma"),
                values("cell_lengths", &[CELL_SPATIAL], DOUBLE, "angstrom"),
                values("cell_angles", &[CELL_ANGULAR], DOUBLE, "degree"),
            ]);
        }
        if quantities.contains(Quantity::Velocities) {
            variables.push(values("velocities", &[atom, SPATIAL], FLOAT, "angstrom/picosecond"));
        }
        if quantities.contains(Quantity::Forces) {
            variables.push(values("forces", &[atom, SPATIAL], FLOAT, "kilocalorie/mole/angstrom"));
        }
        Header { dimensions, variables, program_version }
    }

    /// Appends the header, followed by the labels.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        debug_assert!(out.is_empty(), "padding counts from the beginning of the file");
        out.extend(b"CDF\x02");
        // The number of records is still unknown. The specification reserves this value for that case.
        put(out, u32::MAX);
        put_list(out, DIMENSIONS, self.dimensions.len());
        for (name, len) in &self.dimensions {
            put_name(out, name);
            put(out, *len);
        }
        let attributes = [
            ("title", ""),
            ("application", "mdreel"),
            ("program", "mdreel"),
            ("programVersion", self.program_version),
            ("Conventions", "AMBER"),
            ("ConventionVersion", "1.0"),
        ];
        put_attributes(out, &attributes);
        put_list(out, VARIABLES, self.variables.len());
        let begins: Vec<usize> = self.variables.iter().map(|variable| self.put_variable(out, variable)).collect();
        let mut at = out.len();
        let (fixed, growing): (Vec<_>, Vec<_>) =
            self.variables.iter().zip(begins).partition(|(variable, _)| variable.labels.is_some());
        for (variable, begin) in fixed.into_iter().chain(growing) {
            out[begin..begin + 8].copy_from_slice(&(at as u64).to_be_bytes());
            at += variable.n_bytes();
        }
        for labels in self.variables.iter().filter_map(|variable| variable.labels) {
            put_padded(out, labels);
        }
    }

    /// Appends a variable. Returns the position at which its start offset has to be written.
    fn put_variable(&self, out: &mut Vec<u8>, variable: &Variable) -> usize {
        put_name(out, variable.name);
        put(out, variable.dimensions.len() as u32);
        for dimension in &variable.dimensions {
            let place = self.dimensions.iter().position(|other| other == dimension);
            put(out, place.expect("the header has all dimensions of its variables") as u32);
        }
        let units: Vec<_> = variable.unit.iter().map(|unit| ("units", *unit)).collect();
        put_attributes(out, &units);
        put(out, variable.number);
        put(out, variable.n_bytes() as u32);
        out.extend([0; 8]);
        out.len() - 8
    }
}

impl Variable {
    /// Returns the size in bytes, padded to whole words. For a growing variable, it is the size per record.
    fn n_bytes(&self) -> usize {
        let size = match self.number {
            CHAR => 1,
            FLOAT => 4,
            _ => 8,
        };
        let lengths = self.dimensions.iter().filter(|&&dimension| dimension != FRAME);
        (size * lengths.map(|&(_, len)| len as usize).product::<usize>()).next_multiple_of(4)
    }
}

fn put(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_be_bytes());
}

fn put_list(out: &mut Vec<u8>, tag: u32, len: usize) {
    put(out, if len == 0 { 0 } else { tag });
    put(out, len as u32);
}

fn put_padded(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes);
    out.resize(out.len().next_multiple_of(4), 0);
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    put(out, name.len() as u32);
    put_padded(out, name.as_bytes());
}

fn put_attributes(out: &mut Vec<u8>, attributes: &[(&str, &str)]) {
    put_list(out, ATTRIBUTES, attributes.len());
    for (name, text) in attributes {
        put_name(out, name);
        put(out, CHAR);
        put_name(out, text);
    }
}
