//! Selections that depend on positions and are therefore evaluated in each frame.
//!
//! An expression is evaluated for a group, which consists of all atoms or of a selection, and only for the requested
//! atoms: `name OW and around 3.5 protein` uses only the oxygen atoms and the protein. Before any frame is read,
//! [`Selection::new`] finds the atoms whose positions the evaluation can need.

mod classes;
mod evaluate;
mod plan;
mod set;

pub use classes::UNLIKE;
pub use evaluate::Selecting;

use classes::{Bonds, Classes};
pub(crate) use set::Set;

use crate::error::{Error, Result};

/// What is selected. Atoms are given by their numbers in the whole system.
#[derive(Debug)]
pub enum Expression {
    /// These atoms, in every frame.
    Fixed(Vec<u32>),
    /// All atoms of the group.
    Group,
    /// Those of the group that the other expression does not select.
    Not(Box<Expression>),
    /// Those that all of these select.
    And(Vec<Expression>),
    /// Those that one of these selects.
    Or(Vec<Expression>),
    /// What is selected if the group is all atoms.
    Everywhere(Box<Expression>),
    /// What `of` selects if its group is what `group` selects.
    Within {
        /// The group.
        group: Box<Expression>,
        /// What is selected of it.
        of: Box<Expression>,
    },
    /// Those of the group that have the label of an atom that `of` selects.
    Same {
        /// The label of each atom; atoms of label [`UNLIKE`] are like no atom.
        labels: Vec<u32>,
        /// What is compared with.
        of: Box<Expression>,
    },
    /// Those of the group whose x (0), y (1) or z (2) is close to that of an atom that `of` selects.
    SameCoordinate {
        /// Which coordinate.
        axis: usize,
        /// What is compared with.
        of: Box<Expression>,
    },
    /// Those that are bonded to an atom that `of` selects, if one of the two belongs to the group.
    Bonded {
        /// The bonds.
        bonds: Vec<[u32; 2]>,
        /// What they are bonded to.
        of: Box<Expression>,
    },
    /// Those of the group that `of` does not select and that are near an atom that it selects.
    Around {
        /// How near.
        distance: Distance,
        /// What they are near.
        of: Box<Expression>,
    },
    /// Those of the group that are near a point.
    Sphere {
        /// How near.
        distance: Distance,
        /// Which point.
        centre: Centre,
    },
    /// Those of the group in a cylinder along z around the centre of what `of` selects.
    Cylinder {
        /// The distance from the axis.
        distance: Distance,
        /// Lower and upper end, Å, from the centre.
        heights: [f64; 2],
        /// What the cylinder is around.
        of: Box<Expression>,
    },
    /// Those of the group whose x (0), y (1) or z (2) compares as wanted.
    Coordinate {
        /// Which coordinate.
        axis: usize,
        /// Whether its sign is dropped before.
        is_absolute: bool,
        /// How it compares.
        comparison: Comparison,
        /// With what, Å.
        value: f64,
    },
}

/// Limits of a distance, Å.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// Atoms at this distance or nearer are excluded; `None` to exclude none.
    pub inner: Option<f64>,
    /// Atoms farther away are excluded, and those on the surface of a cylinder.
    pub outer: f64,
    /// Whether distances are those of the nearest images, in frames that have a cell.
    pub is_periodic: bool,
}

/// The centre of a sphere.
#[derive(Debug)]
pub enum Centre {
    /// A point, Å.
    Point([f32; 3]),
    /// The mean of the positions of what an expression selects, in float32. Nothing is near where it selects nothing.
    Of(Box<Expression>),
}

/// How a number compares with another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Comparison {
    /// It is less.
    Less,
    /// It is less or equal.
    LessEqual,
    /// It is greater.
    Greater,
    /// It is greater or equal.
    GreaterEqual,
    /// It is another number.
    NotEqual,
    /// It differs by no more than an absolute tolerance plus a relative one.
    Close {
        /// The absolute tolerance.
        absolute: f64,
        /// The relative tolerance.
        relative: f64,
    },
}

/// A selection that is made again in each frame.
#[derive(Debug)]
pub struct Selection {
    n_atoms: usize,
    node: Node,
    needed: Set,
    possible: Set,
}

/// An expression, prepared: sets instead of lists, and the cheapest of several first.
#[derive(Debug)]
enum Node {
    Fixed(Set),
    Group,
    Not(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Everywhere(Box<Node>),
    Within { group: Box<Node>, of: Box<Node> },
    Same { classes: Classes, of: Box<Node> },
    SameCoordinate { axis: usize, of: Box<Node> },
    Bonded { bonds: Bonds, of: Box<Node> },
    Around { distance: Distance, of: Box<Node> },
    Sphere { distance: Distance, point: [f32; 3] },
    SphereAround { distance: Distance, of: Box<Node> },
    Cylinder { distance: Distance, heights: [f64; 2], of: Box<Node> },
    Coordinate { axis: usize, is_absolute: bool, comparison: Comparison, value: f64 },
}

impl Selection {
    /// Of an expression over `n_atoms` atoms. Returns an error if an atom does not exist, a limit is no number, or
    /// there is not one label for each atom.
    pub fn new(n_atoms: usize, expression: Expression) -> Result<Self> {
        if u32::try_from(n_atoms).is_err() {
            return Err(Error::mismatch(format!("{n_atoms} atoms are too many to select from")));
        }
        let node = Node::new(n_atoms, expression)?;
        let all = Set::all(n_atoms);
        let mut needed = Set::none(n_atoms);
        let possible = node.plan(&all, &all, &mut needed);
        Ok(Selection { n_atoms, node, needed, possible })
    }

    /// Atoms in the whole system.
    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// The atoms whose positions may be needed to find what is selected, ascending.
    pub fn needed(&self) -> Vec<u32> {
        self.needed.iter().collect()
    }

    /// The atoms that may be selected, ascending.
    pub fn possible(&self) -> Vec<u32> {
        self.possible.iter().collect()
    }
}

#[cfg(test)]
mod tests;
