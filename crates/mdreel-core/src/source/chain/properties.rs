//! Properties of a chain that are known before its segments are read.

use std::path::Path;

use crate::error::{Error, Result};
use crate::frame::Quantities;
use crate::source::Source;

/// Properties of a segment that reading does not change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SegmentProperties {
    pub n_atoms: usize,
    pub n_bytes: u64,
    pub is_remote: bool,
    pub precision: Option<f32>,
    pub preferred_step: u64,
    pub quantities: Quantities,
    /// Whether all frames of the file are located, and nothing follows the last one.
    pub is_whole: bool,
}

impl SegmentProperties {
    /// Collects the properties of `source`.
    pub(crate) fn of(source: &dyn Source) -> Self {
        let capabilities = source.capabilities();
        SegmentProperties {
            n_atoms: source.n_atoms(),
            n_bytes: source.n_bytes(),
            is_remote: capabilities.n_fetched.is_some(),
            precision: capabilities.precision,
            preferred_step: capabilities.preferred_step,
            quantities: capabilities.quantities,
            is_whole: false,
        }
    }
}

/// Properties of all segments together.
#[derive(Debug, Clone)]
pub(super) struct ChainProperties {
    pub n_atoms: usize,
    /// The end of each segment in the virtual file.
    pub ends: Vec<u64>,
    pub is_remote: bool,
    pub precision: Option<f32>,
    pub preferred_step: u64,
    pub quantities: Quantities,
    /// Whether all frames of all segments are located, and each file ends with a complete frame.
    pub is_whole: bool,
}

impl ChainProperties {
    /// Combines the properties of the segments. Returns an error if their numbers of atoms differ. Its message names
    /// the segments by their paths.
    pub(super) fn of<'a>(
        each: impl IntoIterator<Item = SegmentProperties>,
        path: impl Fn(usize) -> &'a Path,
    ) -> Result<Self> {
        let mut each = each.into_iter();
        let Some(first) = each.next() else {
            return Err(Error::mismatch("a chain needs at least one trajectory"));
        };
        let SegmentProperties { n_atoms, n_bytes, is_remote, precision, preferred_step, quantities, is_whole } = first;
        let ends = vec![n_bytes];
        let mut all = ChainProperties { n_atoms, ends, is_remote, precision, preferred_step, quantities, is_whole };
        for (i, one) in (1..).zip(each) {
            if one.n_atoms != n_atoms {
                return Err(Error::mismatch(format!(
                    "{} has {n_atoms} atoms, {} has {}: a chain needs the same atoms in every trajectory",
                    path(0).display(),
                    path(i).display(),
                    one.n_atoms
                )));
            }
            all.ends.push(all.ends[i - 1].saturating_add(one.n_bytes));
            all.is_remote |= one.is_remote;
            all.precision = [all.precision, one.precision].into_iter().flatten().reduce(f32::max);
            all.preferred_step = if one.preferred_step == preferred_step { all.preferred_step } else { 1 };
            all.quantities = all.quantities.either(one.quantities);
            all.is_whole &= one.is_whole;
        }
        Ok(all)
    }
}
