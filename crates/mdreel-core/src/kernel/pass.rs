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
    layout: Layout,
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
    /// Which of the values that only computations understand is its own.
    pub own: Option<usize>,
}

impl Clone for Member {
    fn clone(&self) -> Self {
        Member { computation: self.computation.another(), chosen: self.chosen.clone(), place: self.place.clone() }
    }
}

impl Pass {
    /// Of computations over `n_atoms` atoms.
    pub fn new(n_atoms: usize, computations: Vec<Given>) -> Result<Self> {
        let mut layout = Layout::default();
        let mut members = Vec::with_capacity(computations.len());
        let mut n_own = 0;
        for (computation, atoms) in computations {
            let chosen = Chosen::new(n_atoms, atoms, computation.n_atoms(), computation.quantities())?;
            let own = computation.layout();
            let place = Place {
                columns: layout.n_columns..layout.n_columns + own.n_columns,
                sums: layout.n_sums..layout.n_sums + own.n_sums,
                counts: layout.n_counts..layout.n_counts + own.n_counts,
                own: computation.own().map(|_| n_own),
            };
            layout = Layout { n_columns: place.columns.end, n_sums: place.sums.end, n_counts: place.counts.end };
            n_own += usize::from(place.own.is_some());
            members.push(Member { computation, chosen, place });
        }
        Ok(Pass { n_atoms, members, layout })
    }

    /// Of one computation, which is given all atoms.
    pub fn of(computation: impl Computation + 'static) -> Self {
        let (n_atoms, layout) = (computation.n_atoms(), computation.layout());
        let own = computation.own().map(|_| 0);
        let place = Place { columns: 0..layout.n_columns, sums: 0..layout.n_sums, counts: 0..layout.n_counts, own };
        let member = Member { computation: Box::new(computation), chosen: Chosen::all(n_atoms), place };
        Pass { n_atoms, members: vec![member], layout }
    }

    /// How much room all need.
    pub fn layout(&self) -> Layout {
        self.layout
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
        let own = self.members.iter().filter_map(|member| member.computation.own()).map(Own::Here).collect();
        Tally { own, ..Tally::new(self.layout) }
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
            slots.own = place.own.map(|number| &mut tally.own[number]);
            computation.map(chosen.of(batch), &mut slots)?;
        }
        Ok(())
    }
}
