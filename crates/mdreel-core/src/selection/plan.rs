//! Preparation of an expression: the atoms that it can select, and the atoms whose positions it needs.

use super::classes::{Bonds, Classes};
use super::set::Set;
use super::{Centre, Distance, Expression, Node};
use crate::error::{Error, Result};

impl Node {
    pub(super) fn new(n_atoms: usize, expression: Expression) -> Result<Self> {
        let node = |expression: Expression| Node::new(n_atoms, expression);
        let boxed = |expression: Box<Expression>| Node::new(n_atoms, *expression).map(Box::new);
        Ok(match expression {
            Expression::Fixed(atoms) => Node::Fixed(checked(n_atoms, atoms)?),
            Expression::Group => Node::Group,
            Expression::Not(of) => Node::Not(boxed(of)?),
            Expression::And(all) => {
                let mut all = all.into_iter().map(node).collect::<Result<Vec<_>>>()?;
                all.sort_by_key(Node::cost);
                Node::And(all)
            }
            Expression::Or(each) => Node::Or(each.into_iter().map(node).collect::<Result<_>>()?),
            Expression::Everywhere(of) => Node::Everywhere(boxed(of)?),
            Expression::Within { group, of } => Node::Within { group: boxed(group)?, of: boxed(of)? },
            Expression::Same { labels, of } => Node::Same { classes: Classes::new(n_atoms, &labels)?, of: boxed(of)? },
            Expression::SameCoordinate { axis, of } => Node::SameCoordinate { axis: an_axis(axis)?, of: boxed(of)? },
            Expression::Bonded { bonds, of } => Node::Bonded { bonds: Bonds::new(n_atoms, &bonds)?, of: boxed(of)? },
            Expression::Around { distance, of } => Node::Around { distance: distance.checked()?, of: boxed(of)? },
            Expression::Sphere { distance, centre: Centre::Point(point) } => {
                point.iter().try_for_each(|&value| a_number(f64::from(value)))?;
                Node::Sphere { distance: distance.checked()?, point }
            }
            Expression::Sphere { distance, centre: Centre::Of(of) } => {
                Node::SphereAround { distance: distance.checked()?, of: boxed(of)? }
            }
            Expression::Cylinder { distance, heights, of } => {
                heights.into_iter().try_for_each(a_number)?;
                Node::Cylinder { distance: distance.checked()?, heights, of: boxed(of)? }
            }
            Expression::Coordinate { axis, is_absolute, comparison, value } => {
                a_number(value)?;
                Node::Coordinate { axis: an_axis(axis)?, is_absolute, comparison, value }
            }
        })
    }

    /// Returns a rough estimate of the work for one candidate atom.
    fn cost(&self) -> usize {
        match self {
            Node::Fixed(_) | Node::Group => 0,
            Node::Coordinate { .. } => 1,
            Node::Sphere { .. } => 2,
            Node::Not(of) | Node::Everywhere(of) => of.cost(),
            Node::And(all) => all.iter().map(Node::cost).min().unwrap_or(0),
            Node::Or(each) => each.iter().map(Node::cost).max().unwrap_or(0),
            Node::SphereAround { .. } | Node::Cylinder { .. } => 3,
            Node::Same { .. } | Node::Bonded { .. } | Node::Within { .. } => 4,
            Node::Around { .. } | Node::SameCoordinate { .. } => 5,
        }
    }

    /// Returns the atoms of `wanted` that the expression can select if the group is `group` or a part of it. Adds the
    /// atoms whose positions it needs to `needed`. The steps are the same as in [`super::evaluate`].
    pub(super) fn plan(&self, group: &Set, wanted: &Set, needed: &mut Set) -> Set {
        let all = || Set::all(wanted.n_atoms());
        let candidates = || group.both(wanted);
        match self {
            Node::Fixed(atoms) => atoms.both(wanted),
            Node::Group => candidates(),
            Node::Not(of) => {
                of.plan(group, &candidates(), needed);
                candidates()
            }
            Node::And(nodes) => nodes.iter().fold(wanted.clone(), |found, node| node.plan(group, &found, needed)),
            Node::Or(nodes) => nodes
                .iter()
                .fold(Set::none(wanted.n_atoms()), |found, node| found.either(&node.plan(group, wanted, needed))),
            Node::Everywhere(of) => of.plan(&all(), wanted, needed),
            Node::Within { group: inner, of } => {
                let inner = inner.plan(&all(), &all(), needed);
                of.plan(&inner, wanted, needed)
            }
            Node::Same { classes, of } => classes.alike(&of.plan(group, &all(), needed)).both(&candidates()),
            Node::Bonded { bonds, of } => bonds.of(&of.plan(group, &all(), needed), group).both(wanted),
            Node::SameCoordinate { of, .. }
            | Node::Around { of, .. }
            | Node::SphereAround { of, .. }
            | Node::Cylinder { of, .. } => {
                let of = of.plan(group, &all(), needed);
                *needed = needed.either(&of).either(&candidates());
                candidates()
            }
            Node::Sphere { .. } | Node::Coordinate { .. } => {
                *needed = needed.either(&candidates());
                candidates()
            }
        }
    }

    /// Returns whether the expression uses the nearest images.
    pub(super) fn is_periodic(&self) -> bool {
        match self {
            Node::Fixed(_) | Node::Group | Node::Coordinate { .. } => false,
            Node::Not(of)
            | Node::Everywhere(of)
            | Node::Same { of, .. }
            | Node::SameCoordinate { of, .. }
            | Node::Bonded { of, .. } => of.is_periodic(),
            Node::And(nodes) | Node::Or(nodes) => nodes.iter().any(Node::is_periodic),
            Node::Within { group, of } => group.is_periodic() || of.is_periodic(),
            Node::Sphere { distance, .. } => distance.is_periodic,
            Node::Around { distance, of }
            | Node::SphereAround { distance, of }
            | Node::Cylinder { distance, of, .. } => distance.is_periodic || of.is_periodic(),
        }
    }
}

impl Distance {
    fn checked(self) -> Result<Self> {
        self.inner.into_iter().chain([self.outer]).try_for_each(a_number)?;
        Ok(self)
    }
}

fn checked(n_atoms: usize, atoms: Vec<u32>) -> Result<Set> {
    match atoms.iter().find(|&&atom| atom as usize >= n_atoms) {
        Some(atom) => Err(Error::mismatch(format!("a selection has atom {atom}: there are {n_atoms}"))),
        None => Ok(Set::of(n_atoms, atoms)),
    }
}

fn an_axis(axis: usize) -> Result<usize> {
    if axis < 3 { Ok(axis) } else { Err(Error::mismatch(format!("axis {axis}: expected 0, 1 or 2"))) }
}

fn a_number(value: f64) -> Result<()> {
    if value.is_finite() {
        Ok(())
    } else {
        Err(Error::mismatch(format!("a selection has the limit {value}: expected a finite number")))
    }
}
