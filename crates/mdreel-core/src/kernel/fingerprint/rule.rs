//! Geometric rules of interactions: the distances and angles that two sites must have.

use super::sites::{Anchor, Atoms, Points, Sites, angle, cross, dot, length};
use crate::error::{Error, Result};

/// Lowest and highest angle, in radians.
pub(super) type Limits = [f64; 2];

/// The geometry that two sites must have to interact. Distances are in Å. Values equal to a limit satisfy the rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Two atoms are near.
    Distance {
        /// The longest distance.
        distance: f64,
    },
    /// Two atoms are no farther apart than the sum of their radii.
    Radii {
        /// Tolerance that is added to the sum.
        tolerance: f64,
    },
    /// An atom (acceptor) is near the first of two bonded atoms (donor and hydrogen), and the angle at the second is within
    /// limits.
    Angle {
        /// The longest distance between acceptor and donor.
        distance: f64,
        /// The angle of donor, hydrogen and acceptor.
        angle: Limits,
    },
    /// The first of two bonded atoms (acceptor and neighbour) is near the second of two other bonded atoms (donor and halogen).
    TwoAngles {
        /// The longest distance between acceptor and halogen.
        distance: f64,
        /// The angle of acceptor, halogen and donor.
        at_halogen: Limits,
        /// The angle of halogen, acceptor and the neighbour of the acceptor.
        at_acceptor: Limits,
    },
    /// An atom is near the centre of a ring, above its plane.
    AboveRing {
        /// The longest distance.
        distance: f64,
        /// The angle between the normal of the ring and the vector to the atom, at most 90 degrees.
        angle: Limits,
    },
    /// Two rings are stacked.
    Rings {
        /// The longest distance between the centres.
        distance: f64,
        /// The angle between the normals, at most 90 degrees.
        plane: Limits,
        /// The angle between one of the normals and the vector between the centres, at most 90 degrees.
        normal: Limits,
        /// The longest distance between one of the centres and the point in which the planes meet; `None` if the planes need
        /// not meet. Among the points in both planes, this is the one nearest to the first centre.
        meeting: Option<f64>,
    },
}

impl Rule {
    /// Creates the rule with this name from its numbers: distances in Å, and limits of angles in degrees.
    ///
    /// Returns an error if there is no rule with this name and number of values, or a value is negative or not finite.
    pub fn from_name(name: &str, numbers: &[f64]) -> Result<Self> {
        let wrong = || Error::mismatch(format!("there is no rule {name} with the numbers {numbers:?}"));
        let Some((&distance, angles)) = numbers.split_first() else { return Err(wrong()) };
        if !numbers.iter().all(|number| number.is_finite() && *number >= 0.0) {
            return Err(wrong());
        }
        let limits = |from: f64, to: f64| [from.to_radians(), to.to_radians()];
        Ok(match (name, angles) {
            ("distance", []) => Rule::Distance { distance },
            ("radii", []) => Rule::Radii { tolerance: distance },
            ("angle", &[a, b]) => Rule::Angle { distance, angle: limits(a, b) },
            ("two-angles", &[a, b, c, d]) => {
                Rule::TwoAngles { distance, at_halogen: limits(a, b), at_acceptor: limits(c, d) }
            }
            ("above-ring", &[a, b]) => Rule::AboveRing { distance, angle: limits(a, b) },
            ("rings", &[a, b, c, d]) => {
                Rule::Rings { distance, plane: limits(a, b), normal: limits(c, d), meeting: None }
            }
            ("meeting-rings", &[a, b, c, d, radius]) => {
                Rule::Rings { distance, plane: limits(a, b), normal: limits(c, d), meeting: Some(radius) }
            }
            _ => return Err(wrong()),
        })
    }

    /// Returns the anchor and the number of atoms of the sites of both parts.
    pub(super) fn parts(&self) -> [(Anchor, usize); 2] {
        let atom = (Anchor::Atom(0), 1);
        match self {
            Rule::Distance { .. } | Rule::Radii { .. } => [atom, atom],
            Rule::Angle { .. } => [atom, (Anchor::Atom(0), 2)],
            Rule::TwoAngles { .. } => [(Anchor::Atom(0), 2), (Anchor::Atom(1), 2)],
            Rule::AboveRing { .. } => [atom, (Anchor::Ring, 0)],
            Rule::Rings { .. } => [(Anchor::Ring, 0), (Anchor::Ring, 0)],
        }
    }

    /// Returns the longest distance between two anchors, in Å.
    pub(super) fn reach(&self, parts: &[Sites; 2]) -> f64 {
        match self {
            Rule::Radii { tolerance } => {
                parts.iter().map(|sites| sites.radii.iter().copied().fold(0.0, f64::max)).sum::<f64>() + tolerance
            }
            Rule::Distance { distance }
            | Rule::Angle { distance, .. }
            | Rule::TwoAngles { distance, .. }
            | Rule::AboveRing { distance, .. }
            | Rule::Rings { distance, .. } => *distance,
        }
    }

    /// Returns whether two sites interact, one of each part, at the distance `apart`.
    pub(super) fn holds(
        &self,
        atoms: &Atoms<'_>,
        parts: &[Sites; 2],
        points: &[Points; 2],
        [first, second]: [usize; 2],
        apart: f64,
    ) -> bool {
        let at = |part: usize, site: usize, k: usize| atoms.at(parts[part].atoms_of(site)[k]);
        match self {
            Rule::Distance { distance } => apart <= *distance,
            Rule::Radii { tolerance } => apart <= parts[0].radii[first] + parts[1].radii[second] + tolerance,
            Rule::Angle { distance, angle: limits } => {
                let (acceptor, donor, hydrogen) = (at(0, first, 0), at(1, second, 0), at(1, second, 1));
                let to = |point| atoms.vector(hydrogen, point);
                apart <= *distance && is_within(angle(to(donor), to(acceptor)), limits)
            }
            Rule::TwoAngles { distance, at_halogen, at_acceptor } => {
                let (acceptor, neighbour) = (at(0, first, 0), at(0, first, 1));
                let (donor, halogen) = (at(1, second, 0), at(1, second, 1));
                let between = |middle, one, other| angle(atoms.vector(middle, one), atoms.vector(middle, other));
                apart <= *distance
                    && is_within(between(halogen, donor, acceptor), at_halogen)
                    && is_within(between(acceptor, halogen, neighbour), at_acceptor)
            }
            Rule::AboveRing { distance, angle: limits } => {
                let to_atom = atoms.vector(points[1].point(second), points[0].point(first));
                apart <= *distance && is_within(acute(angle(points[1].normals[second], to_atom)), limits)
            }
            Rule::Rings { distance, plane, normal, meeting } => {
                let normals = [points[0].normals[first], points[1].normals[second]];
                let between = atoms.vector(points[0].point(first), points[1].point(second));
                apart <= *distance
                    && is_within(acute(angle(normals[0], normals[1])), plane)
                    && normals.iter().any(|one| is_within(acute(angle(*one, between)), normal))
                    && meeting.is_none_or(|radius| is_meeting(normals, between, radius))
            }
        }
    }
}

#[inline(always)]
fn is_within(angle: f64, [low, high]: &Limits) -> bool {
    (*low..=*high).contains(&angle)
}

/// Returns the angle between two lines whose vectors form this angle.
#[inline(always)]
fn acute(angle: f64) -> f64 {
    angle.min(std::f64::consts::PI - angle)
}

/// Returns whether the planes of two rings meet within a distance of one of the centres. Among the points in both planes, the
/// function uses the one nearest to the first centre.
///
/// In the first plane, this point is on the line through the first centre that is perpendicular to the line in which the planes
/// meet.
fn is_meeting([first, second]: [[f64; 3]; 2], between: [f64; 3], radius: f64) -> bool {
    let along = cross(first, cross(first, second));
    let slope = dot(second, along);
    if slope == 0.0 {
        return false;
    }
    let step = dot(second, between) / slope;
    let point = along.map(|value| value * step);
    let from_second = std::array::from_fn(|axis| point[axis] - between[axis]);
    length(point).min(length(from_second)) <= radius
}
