//! Interactions: the sites of two groups that can interact, and the required geometry.

use super::rule::Rule;
use super::sites::Sites;
use crate::error::{Error, Result};

/// An interaction between the sites of two groups.
#[derive(Debug, Clone)]
pub struct Interaction {
    /// The number of the interaction. Several rules for the same sites may have the same number.
    pub number: u32,
    /// The geometry that two sites must have.
    pub rule: Rule,
    /// The sites of both parts, for example acceptors and donors.
    pub parts: [Sites; 2],
    /// Whether the first part belongs to the second group.
    pub is_swapped: bool,
}

impl Interaction {
    /// Returns the longest distance of two sites, in Å. Returns an error if the sites are not suitable for the rule.
    pub(super) fn checked_reach(&self, n_atoms: usize) -> Result<f64> {
        for (sites, (anchor, n_needed)) in self.parts.iter().zip(self.rule.parts()) {
            sites.check(n_atoms, anchor, n_needed)?;
            let has_radii = sites.radii.len() == sites.len() && sites.radii.iter().all(|radius| radius.is_finite());
            if matches!(self.rule, Rule::Radii { .. }) && !has_radii {
                return Err(Error::mismatch("van der Waals contacts need a radius of each atom"));
            }
        }
        Ok(self.rule.reach(&self.parts))
    }
}
