//! Pass: several computations on the same frames, which are read only once.

use std::ops::Range;

use super::chosen::Chosen;
use super::{Computation, Kernel};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities};
use crate::reduce::{Layout, Own, Slots, Tally};

/// Computations on the same frames. Each computation receives its own selection of atoms.
#[derive(Clone)]
pub struct Pass {
    n_atoms: usize,
    members: Vec<Member>,
}

struct Member {
    computation: Box<dyn Computation>,
    /// The atoms of the computation among those of the pass.
    chosen: Chosen,
    place: Place,
}

/// A computation and the atoms of the pass that it receives, in ascending order; `None` for all.
pub(crate) type Given = (Box<dyn Computation>, Option<Vec<u32>>);

/// Location of the results of a computation in the tally of a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Values of each frame.
    pub columns: Range<usize>,
    /// Sums over all frames.
    pub sums: Range<usize>,
    /// Counts over all frames.
    pub counts: Range<usize>,
    /// Records: one entry or none.
    pub records: Range<usize>,
    /// The value that only the computation can interpret: one entry or none.
    pub own: Range<usize>,
}

impl Place {
    /// Creates the location of the results of `computation`, after the location `before`.
    fn behind(before: Option<&Place>, computation: &dyn Computation) -> Self {
        let layout = computation.layout();
        let next = |of: fn(&Place) -> &Range<usize>, n: usize| {
            let start = before.map_or(0, |place| of(place).end);
            start..start + n
        };
        Place {
            columns: next(|place| &place.columns, layout.n_columns),
            sums: next(|place| &place.sums, layout.n_sums),
            counts: next(|place| &place.counts, layout.n_counts),
            records: next(|place| &place.records, usize::from(layout.record.is_some())),
            own: next(|place| &place.own, usize::from(computation.own().is_some())),
        }
    }
}

impl Clone for Member {
    fn clone(&self) -> Self {
        Member { computation: self.computation.another(), chosen: self.chosen.clone(), place: self.place.clone() }
    }
}

impl Pass {
    /// Creates a pass of computations on frames of `n_atoms` atoms.
    pub fn new(n_atoms: usize, computations: Vec<Given>) -> Result<Self> {
        let mut members: Vec<Member> = Vec::with_capacity(computations.len());
        for (computation, atoms) in computations {
            let chosen = Chosen::new(n_atoms, atoms, computation.n_atoms(), computation.quantities())?;
            let place = Place::behind(members.last().map(|member| &member.place), &*computation);
            members.push(Member { computation, chosen, place });
        }
        put_widest_first(&mut members);
        Ok(Pass { n_atoms, members })
    }

    /// Creates a pass of a single computation, which receives all atoms.
    pub fn of(computation: impl Computation + 'static) -> Self {
        let (n_atoms, place) = (computation.n_atoms(), Place::behind(None, &computation));
        let member = Member { computation: Box::new(computation), chosen: Chosen::all(n_atoms), place };
        Pass { n_atoms, members: vec![member] }
    }

    /// Returns the number of values of each frame, over all computations.
    pub fn n_columns(&self) -> usize {
        self.members.iter().map(|member| member.place.columns.len()).sum()
    }

    /// Returns the location of the results of each computation.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.members.iter().map(|member| &member.place)
    }
}

/// Moves the columns of the member with the most columns to the front, after frame and time. Its values are then a contiguous
/// part at the start of each row, which can be used without a copy.
fn put_widest_first(members: &mut [Member]) {
    let widths = members.iter().map(|member| member.place.columns.len());
    let Some(widest) = widths.enumerate().rev().max_by_key(|&(_, width)| width).map(|(i, _)| i) else { return };
    let (before, rest) = members.split_at_mut(widest);
    let columns = &mut rest[0].place.columns;
    let (first, width) = (columns.start, columns.len());
    *columns = 0..width;
    debug_assert_eq!(before.last().map_or(0, |member| member.place.columns.end), first);
    for Member { place, .. } in before {
        place.columns = place.columns.start + width..place.columns.end + width;
    }
}

impl Kernel for Pass {
    type Partial = Tally;

    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn quantities(&self) -> Quantities {
        self.members.iter().fold(Quantities::POSITIONS, |all, member| all.either(member.computation.quantities()))
    }

    fn empty(&self) -> Tally {
        let layouts: Vec<Layout> = self.members.iter().map(|member| member.computation.layout()).collect();
        let own = self.members.iter().filter_map(|member| member.computation.own()).map(Own::Here).collect();
        Tally { own, ..Tally::new(&layouts) }
    }

    fn map(&mut self, batch: &FrameBatch, tally: &mut Tally) -> Result<()> {
        if batch.n_atoms() != self.n_atoms {
            let (expected, got) = (self.n_atoms, batch.n_atoms());
            return Err(Error::mismatch(format!("the pass has {expected} atoms, the frames have {got}")));
        }
        let width = tally.rows.width();
        let Tally { rows, sums, counts, records, own } = tally;
        let rows = rows.add(batch.headers());
        for Member { computation, chosen, place } in &mut self.members {
            let mut slots = Slots::new(rows, width, place.columns.clone());
            slots.sums = &mut sums[place.sums.clone()];
            slots.counts = &mut counts[place.counts.clone()];
            slots.records = &mut records[place.records.clone()];
            slots.own = own[place.own.clone()].first_mut();
            computation.map(chosen.of(batch), &mut slots)?;
        }
        Ok(())
    }

    fn complete(&mut self, tally: &mut Tally) -> bool {
        let mut has_added = false;
        for Member { computation, place, .. } in &mut self.members {
            let mut slots = Slots::new(&mut [], tally.rows.width(), place.columns.clone());
            slots.sums = &mut tally.sums[place.sums.clone()];
            slots.counts = &mut tally.counts[place.counts.clone()];
            slots.records = &mut tally.records[place.records.clone()];
            slots.own = tally.own[place.own.clone()].first_mut();
            has_added |= computation.complete(&mut slots);
        }
        has_added
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::dihedrals::{Dihedrals, Measure};
    use crate::kernel::gyration::Gyration;

    fn columns(n_dihedrals: &[usize]) -> Vec<Range<usize>> {
        let given = |&n: &usize| -> Given {
            match n {
                0 => (Box::new(Gyration::new(4, None).unwrap()), None),
                n => (Box::new(Dihedrals::new(4, vec![[0, 1, 2, 3]; n], Measure::Degrees).unwrap()), None),
            }
        };
        let pass = Pass::new(4, n_dihedrals.iter().map(given).collect()).unwrap();
        assert_eq!(pass.n_columns(), pass.empty().rows.width() - 2);
        pass.places().map(|place| place.columns.clone()).collect()
    }

    #[test]
    fn widest_columns_stand_first_and_the_others_in_order() {
        assert_eq!(columns(&[0])[0], 0..4);
        assert_eq!(columns(&[0, 4]), [0..4, 4..8]);
        assert_eq!(columns(&[1, 0, 9, 2]), [9..10, 10..14, 0..9, 14..16]);
        assert_eq!(columns(&[2, 9]), [9..11, 0..9]);
    }
}
