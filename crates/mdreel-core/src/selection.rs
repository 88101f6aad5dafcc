//! Selections that depend on positions and are therefore evaluated in each frame.
//!
//! The evaluation of an expression starts from a group, which consists of all atoms or of a selection. It considers
//! only the requested atoms: `name OW and around 3.5 protein` uses only the oxygen atoms and the protein. Before any
//! frame is read, [`Selection::new`] finds the atoms whose positions the evaluation can need.

mod classes;
mod evaluate;
mod plan;
mod set;

pub use classes::UNLIKE;
pub use evaluate::Selecting;

use classes::{Bonds, Classes};
pub(crate) use set::Set;

use crate::error::{Error, Result};

/// A selection expression. Atoms are given by their numbers in the complete system.
#[derive(Debug)]
pub enum Expression {
    /// The given atoms, in every frame.
    Fixed(Vec<u32>),
    /// All atoms of the group.
    Group,
    /// The atoms of the group that the other expression does not select.
    Not(Box<Expression>),
    /// The atoms that all of these expressions select.
    And(Vec<Expression>),
    /// The atoms that at least one of these expressions selects.
    Or(Vec<Expression>),
    /// The selection with all atoms as the group.
    Everywhere(Box<Expression>),
    /// The selection of `of` with the atoms that `group` selects as the group.
    Within {
        /// The expression for the group.
        group: Box<Expression>,
        /// The expression that is evaluated for this group.
        of: Box<Expression>,
    },
    /// The atoms of the group that have the same label as an atom that `of` selects.
    Same {
        /// The label of each atom. Atoms with the label [`UNLIKE`] match no atom.
        labels: Vec<u32>,
        /// The expression for the atoms to compare with.
        of: Box<Expression>,
    },
    /// The atoms of the group whose x (0), y (1) or z (2) coordinate is close to that of an atom that `of` selects.
    SameCoordinate {
        /// The axis of the coordinate.
        axis: usize,
        /// The expression for the atoms to compare with.
        of: Box<Expression>,
    },
    /// The atoms bonded to an atom that `of` selects, if at least one of the two belongs to the group.
    Bonded {
        /// The bonds of the system.
        bonds: Vec<[u32; 2]>,
        /// The expression for the bonded atoms.
        of: Box<Expression>,
    },
    /// The atoms of the group that `of` does not select and that are near an atom that it selects.
    Around {
        /// The limits of the distance.
        distance: Distance,
        /// The expression for the atoms to search around.
        of: Box<Expression>,
    },
    /// The atoms of the group that are near a point.
    Sphere {
        /// The limits of the distance.
        distance: Distance,
        /// The centre of the sphere.
        centre: Centre,
    },
    /// The atoms of the group in a cylinder along z around the centre of the atoms that `of` selects.
    Cylinder {
        /// The limits of the distance from the axis.
        distance: Distance,
        /// Lower and upper end of the cylinder relative to the centre, Å.
        heights: [f64; 2],
        /// The expression for the atoms that define the centre.
        of: Box<Expression>,
    },
    /// The atoms of the group whose x (0), y (1) or z (2) coordinate satisfies a comparison.
    Coordinate {
        /// The axis of the coordinate.
        axis: usize,
        /// Whether the absolute value of the coordinate is compared.
        is_absolute: bool,
        /// The comparison operator.
        comparison: Comparison,
        /// The value to compare with, Å.
        value: f64,
    },
}

/// Limits of a distance, Å.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// Atoms at this distance or nearer are excluded. `None` excludes no atom.
    pub inner: Option<f64>,
    /// Atoms farther away are excluded. A cylinder also excludes atoms on its surface.
    pub outer: f64,
    /// Whether distances are measured to the nearest images, in frames that have a cell.
    pub is_periodic: bool,
}

/// The centre of a sphere.
#[derive(Debug)]
pub enum Centre {
    /// A point, Å.
    Point([f32; 3]),
    /// The mean position, in float32, of the atoms that an expression selects. If it selects no atom, no atom is near.
    Of(Box<Expression>),
}

/// A comparison of a number with another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Comparison {
    /// The number is less than the other.
    Less,
    /// The number is less than or equal to the other.
    LessEqual,
    /// The number is greater than the other.
    Greater,
    /// The number is greater than or equal to the other.
    GreaterEqual,
    /// The numbers differ.
    NotEqual,
    /// The numbers differ by no more than an absolute tolerance plus a relative one.
    Close {
        /// The absolute tolerance.
        absolute: f64,
        /// The relative tolerance.
        relative: f64,
    },
}

/// A selection that is evaluated again in each frame.
#[derive(Debug)]
pub struct Selection {
    n_atoms: usize,
    node: Node,
    needed: Set,
    possible: Set,
}

/// An expression prepared for evaluation: lists are converted to sets, and the cheapest operands come first.
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
    /// Creates a selection from an expression for `n_atoms` atoms. Returns an error if an atom does not exist, a limit
    /// is not a number, or the number of labels differs from the number of atoms.
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

    /// Returns the number of atoms in the complete system.
    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Returns the atoms whose positions the evaluation may need, in ascending order.
    pub fn needed(&self) -> Vec<u32> {
        self.needed.iter().collect()
    }

    /// Returns the atoms that may be selected, in ascending order.
    pub fn possible(&self) -> Vec<u32> {
        self.possible.iter().collect()
    }
}

#[cfg(test)]
mod tests;
