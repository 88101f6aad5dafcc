//! A pass: several computations over the same frames, each of which is read once.

use std::ops::Range;

use super::chosen::Chosen;
use super::{Computation, Kernel};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, Quantities};
use crate::reduce::{Layout, Own, Slots, Tally};

/// Computations that are given the same frames, each its own atoms of them.
#[derive(Clone)]
pub struct Pass {
    n_atoms: usize,
    members: Vec<Member>,
}

struct Member {
    computation: Box<dyn Computation>,
    /// Its atoms among those of the pass.
    chosen: Chosen,
    place: Place,
}

/// A computation, and which of the atoms of the pass it is given: ascending; `None` for all.
pub type Given = (Box<dyn Computation>, Option<Vec<u32>>);

/// Where in a tally a computation of a pass leaves what it finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its values of each frame.
    pub columns: Range<usize>,
    /// Its sums.
    pub sums: Range<usize>,
    /// Its counts.
    pub counts: Range<usize>,
    /// Its records: one or none.
    pub records: Range<usize>,
    /// Its own value: one or none.
    pub own: Range<usize>,
}

impl Place {
    /// Of a computation, behind those of others.
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
    /// Of computations over `n_atoms` atoms.
    pub fn new(n_atoms: usize, computations: Vec<Given>) -> Result<Self> {
        let mut members: Vec<Member> = Vec::with_capacity(computations.len());
        for (computation, atoms) in computations {
            let chosen = Chosen::new(n_atoms, atoms, computation.n_atoms(), computation.quantities())?;
            let place = Place::behind(members.last().map(|member| &member.place), &*computation);
            members.push(Member { computation, chosen, place });
        }
        Ok(Pass { n_atoms, members })
    }

    /// Of one computation, which is given all atoms.
    pub fn of(computation: impl Computation + 'static) -> Self {
        let (n_atoms, place) = (computation.n_atoms(), Place::behind(None, &computation));
        let member = Member { computation: Box::new(computation), chosen: Chosen::all(n_atoms), place };
        Pass { n_atoms, members: vec![member] }
    }

    /// Values of each frame that all leave.
    pub fn n_columns(&self) -> usize {
        self.members.last().map_or(0, |member| member.place.columns.end)
    }

    /// Where each leaves what it finds.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.members.iter().map(|member| &member.place)
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
            return Err(Error::Mismatch(format!("the pass has {expected} atoms, the frames have {got}")));
        }
        let width = tally.rows.width();
        let rows = tally.rows.add(batch.headers());
        for Member { computation, chosen, place } in &mut self.members {
            let mut slots = Slots::new(rows, width, place.columns.clone());
            slots.sums = &mut tally.sums[place.sums.clone()];
            slots.counts = &mut tally.counts[place.counts.clone()];
            slots.records = &mut tally.records[place.records.clone()];
            slots.own = tally.own[place.own.clone()].first_mut();
            computation.map(chosen.of(batch), &mut slots)?;
        }
        Ok(())
    }
}
