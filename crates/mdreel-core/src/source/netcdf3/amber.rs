//! Convention of AMBER: the variables of a trajectory with their dimensions and units.

use super::header::{Header, Value, Variable};
use super::number::Numbers;
use super::version::Type;
use crate::error::{Error, Result};
use crate::frame::Quantity;
use crate::source::bytes::FileBytes;

/// Contents of a variable of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Time,
    Lengths,
    Angles,
    Atoms(Quantity),
}

impl Content {
    /// All possible contents of frames, with the names and units of the convention.
    const ALL: [(Content, &str, &str); 6] = [
        (Content::Time, "time", "picosecond"),
        (Content::Atoms(Quantity::Positions), "coordinates", "angstrom"),
        (Content::Lengths, "cell_lengths", "angstrom"),
        (Content::Angles, "cell_angles", "degree"),
        (Content::Atoms(Quantity::Velocities), "velocities", "angstrom/picosecond"),
        (Content::Atoms(Quantity::Forces), "forces", "kilocalorie/mole/angstrom"),
    ];
}

/// Units that some programs write instead of those of the convention, with the factor for the conversion.
const OTHER_UNITS: [(Content, &str, f64); 2] =
    [(Content::Time, "femtosecond", 1e-3), (Content::Atoms(Quantity::Velocities), "angstrom/femtosecond", 1e3)];

/// A variable of a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Field {
    pub content: Content,
    pub numbers: Numbers,
    /// Position of the numbers of the first frame.
    pub begin: u64,
    /// Number of bytes in each frame.
    pub n_bytes: u64,
}

/// Number of frames of a trajectory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frames {
    /// The number of records.
    Records,
    /// A fixed number: the length of a dimension, or one for a restart file.
    Fixed(u64),
}

/// A trajectory as described by the header.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trajectory {
    pub n_atoms: usize,
    pub frames: Frames,
    pub fields: Vec<Field>,
}

impl Trajectory {
    /// Finds the trajectory in a file, or returns an error that names the missing part.
    pub(crate) fn new(file: &FileBytes, header: &Header) -> Result<Self> {
        let no_trajectory = |what: String| {
            Error::unsupported(format!("a NetCDF file, but no trajectory of AMBER's convention: {what}"))
                .in_file(file.path())
        };
        let Some(conventions) = header.text("Conventions") else {
            return Err(no_trajectory("it has no attribute Conventions".into()));
        };
        let mut names = conventions.split(|c: char| c == ',' || c.is_whitespace());
        let Some(convention) = names.find(|name| matches!(*name, "AMBER" | "AMBERRESTART")) else {
            return Err(no_trajectory(format!("expected AMBER among its Conventions, got {conventions:?}")));
        };
        let frame: &[&str] = if convention == "AMBER" { &["frame"] } else { &[] };
        let Some(coordinates) = header.variable("coordinates") else {
            return Err(no_trajectory("it has no variable coordinates".into()));
        };
        let expected = [frame, &["atom", "spatial"]].concat();
        let found: Vec<&str> = coordinates.dimensions.iter().map(|&i| header.dimensions[i].name.as_str()).collect();
        if found != expected {
            let (expected, found) = (expected.join(", "), found.join(", "));
            return Err(no_trajectory(format!("expected coordinates({expected}), got coordinates({found})")));
        }
        let len = |i: usize| header.dimensions[coordinates.dimensions[i]].len;
        let (n_atoms, n_spatial) = (len(frame.len()), len(frame.len() + 1));
        if n_spatial != 3 {
            return Err(no_trajectory(format!("expected 3 spatial dimensions, got {n_spatial}")));
        }
        // The number of atoms is not 0 in a valid file. A length of 0 marks the dimension in which a file grows, which
        // must be the first dimension of a variable.
        if n_atoms == 0 || n_atoms > u64::from(u32::MAX) {
            return Err(no_trajectory(format!("expected from 1 to {} atoms, got {n_atoms}", u32::MAX)));
        }
        let frames = match frame.first() {
            None => Frames::Fixed(1),
            Some(_) if coordinates.is_record => Frames::Records,
            Some(_) => Frames::Fixed(len(0)),
        };
        let mut trajectory = Trajectory { n_atoms: n_atoms as usize, frames, fields: Vec::new() };
        for (content, name, unit) in Content::ALL {
            if let Some(variable) = header.variable(name) {
                let field = trajectory.field(header, variable, content, unit, &coordinates.dimensions[..frame.len()]);
                trajectory.fields.push(field.map_err(no_trajectory)?);
            }
        }
        match (trajectory.field_of(Content::Lengths), trajectory.field_of(Content::Angles)) {
            (Some(_), None) => Err(no_trajectory("it has cell_lengths, but no cell_angles".into())),
            _ => Ok(trajectory),
        }
    }

    /// Returns the variable that contains `content`.
    pub(crate) fn field_of(&self, content: Content) -> Option<&Field> {
        self.fields.iter().find(|field| field.content == content)
    }

    fn field(
        &self,
        header: &Header,
        variable: &Variable,
        content: Content,
        unit: &str,
        frame: &[usize],
    ) -> std::result::Result<Field, String> {
        let name = &variable.name;
        let lengths: &[u64] = match content {
            Content::Time => &[],
            Content::Lengths | Content::Angles => &[3],
            Content::Atoms(_) => &[self.n_atoms as u64, 3],
        };
        let (first, rest) = variable.dimensions.split_at(frame.len().min(variable.dimensions.len()));
        if first != frame || !rest.iter().map(|&i| &header.dimensions[i].len).eq(lengths) {
            let dimension = |&i: &usize| format!("{} = {}", header.dimensions[i].name, header.dimensions[i].len);
            let found: Vec<String> = variable.dimensions.iter().map(dimension).collect();
            let of_frame = if frame.is_empty() { "" } else { " in each frame" };
            let (n, found) = (lengths, found.join(", "));
            return Err(format!("expected {name} of the lengths {n:?}{of_frame}, got {name}({found})"));
        }
        let factor = match variable.text("units") {
            Some(found) if is_unit(found, unit) => 1.0,
            Some(found) => *OTHER_UNITS
                .iter()
                .find_map(|(of, other, factor)| (*of == content && is_unit(found, other)).then_some(factor))
                .ok_or_else(|| format!("expected {name} in {unit}, got {found:?}"))?,
            None => 1.0,
        };
        let numbers = numbers(variable)?.times(factor);
        let n_bytes = lengths.iter().product::<u64>() * numbers.n_bytes();
        Ok(Field { content, numbers, begin: variable.begin, n_bytes })
    }
}

/// Returns whether `found` is the unit that the convention requires. The plural, which some programs write, is also
/// accepted.
fn is_unit(found: &str, unit: &str) -> bool {
    let found = found.trim();
    found.strip_suffix('s').unwrap_or(found).eq_ignore_ascii_case(unit)
}

fn numbers(variable: &Variable) -> std::result::Result<Numbers, String> {
    let name = &variable.name;
    // As in MDAnalysis, a scale that differs from one only by rounding is ignored.
    let is_one = |scale: f64| (scale - 1.0).abs() <= 1e-9 * scale.abs().max(1.0);
    Ok(match (variable.number, variable.value("scale_factor")) {
        (Type::Float, Some(Value::Single(scale))) if !is_one(f64::from(*scale)) => Numbers::SingleTimesSingle(*scale),
        (Type::Float, Some(Value::Double(scale))) if !is_one(*scale) => Numbers::SingleTimesDouble(*scale),
        (Type::Double, Some(Value::Single(scale))) if !is_one(f64::from(*scale)) => {
            Numbers::DoubleTimes(f64::from(*scale))
        }
        (Type::Double, Some(Value::Double(scale))) if !is_one(*scale) => Numbers::DoubleTimes(*scale),
        (Type::Float, None | Some(Value::Single(_) | Value::Double(_))) => Numbers::Single,
        (Type::Double, None | Some(Value::Single(_) | Value::Double(_))) => Numbers::Double,
        (Type::Float | Type::Double, Some(_)) => return Err(format!("expected a number as scale_factor of {name}")),
        (found, _) => return Err(format!("expected {name} as float or double, got {found:?}")),
    })
}
