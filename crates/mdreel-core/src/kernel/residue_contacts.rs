//! Contacts of residues: the pairs of residues whose nearest atoms are within a distance, in each frame.

mod pieces;
mod places;
mod rule;
mod soft_minimum;
mod table;

use std::sync::Arc;

use pieces::{Pieces, Reach};
pub use places::Places;
use rule::Rule;
pub use rule::{Choice, Units};
use soft_minimum::SoftMinimum;
pub use table::{ContactTable, PairStatistics};

use super::images::{Shortest, exceeded_radius};
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::neighbours::{Neighbours, Run, Visit};
use crate::periodic::Periodic;
use crate::reduce::{Layout, Slots, Value};
use crate::simd::{Lanes, Level, Operation};

/// Largest number of pieces for which the boxes of all pairs are compared. Larger numbers of pieces are sorted into cells.
const MOST_COMPARED: usize = 1024;
/// Number of distances that are computed together.
const MOST: usize = 256;

/// Contacts between units (residues): pairs of units whose nearest atoms are no farther apart than a cutoff.
///
/// The value of each frame is the number of contacts. The computation's own value is a [`ContactTable`].
///
/// The computation divides the atoms of a unit into pieces of at most eight. The boxes around pieces rule out most pairs of
/// pieces. For the other pairs, it computes the distances of all atoms in float64.
#[derive(Debug)]
pub struct ResidueContacts {
    n_atoms: usize,
    rows: Pieces,
    /// The units of the second group; `None` for pairs within the first group.
    columns: Option<Pieces>,
    rule: Arc<Rule>,
    cutoff: f64,
    shortest: Shortest,
    keeps_series: bool,
    /// The distance of two units in contact; `None` for the distance of their nearest atoms.
    soft: Option<SoftMinimum>,
    level: Level,
    most_compared: usize,
    work: Work,
}

/// Working memory that is reused from frame to frame.
#[derive(Debug, Default)]
struct Work {
    neighbours: Neighbours,
    gaps: Vec<f32>,
    candidates: Vec<Candidate>,
    /// For each column, the square of its smallest distance to the current row.
    best: Vec<f64>,
    /// The columns that have such a distance.
    touched: Vec<u32>,
    found: Vec<([u32; 2], f64)>,
}

/// A piece that may be near the current piece.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    piece: u32,
    /// The shift of the points to the image that is near; `None` if several images may be near.
    shift: Option<[f64; 3]>,
}

impl ResidueContacts {
    /// Creates the computation for units of atoms among `n_atoms`, within one group or between two, with a cutoff in Å.
    ///
    /// With `keeps_series`, the table also lists the contacts of each frame. Returns an error if a group has no units, an atom
    /// does not exist, the choice names units that do not exist, or the cutoff is not a positive length.
    pub fn new(
        n_atoms: usize,
        first: &Units,
        second: Option<&Units>,
        choice: Choice,
        cutoff: f64,
        shortest: Shortest,
        keeps_series: bool,
    ) -> Result<Self> {
        if !(cutoff.is_finite() && cutoff > 0.0) {
            return Err(Error::mismatch(format!("the cutoff is {cutoff} Å: expected a length above 0")));
        }
        let rule = Arc::new(Rule::new(first, second, choice)?);
        let rows = Pieces::new(n_atoms, first)?;
        let columns = second.map(|second| Pieces::new(n_atoms, second)).transpose()?;
        let (level, most_compared, work) = (Level::detect(), MOST_COMPARED, Work::default());
        Ok(ResidueContacts {
            n_atoms,
            rows,
            columns,
            rule,
            cutoff,
            shortest,
            keeps_series,
            soft: None,
            level,
            most_compared,
            work,
        })
    }

    /// Replaces the distance of two units in contact by the soft minimum of the distances of all their atoms, with this `beta`
    /// in Å.
    ///
    /// The criterion for a contact stays the same. Returns an error if `beta` is not a positive length.
    pub fn with_soft_minimum(self, beta: f64) -> Result<Self> {
        Ok(ResidueContacts { soft: Some(SoftMinimum::new(beta)?), ..self })
    }

    /// Sets the vector instructions. The level does not affect the bits of the result.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn at_level(self, level: Level) -> Self {
        ResidueContacts { level, ..self }
    }
}

impl Clone for ResidueContacts {
    fn clone(&self) -> Self {
        let (rows, columns, rule) = (self.rows.clone(), self.columns.clone(), Arc::clone(&self.rule));
        ResidueContacts { rows, columns, rule, work: Work::default(), ..*self }
    }
}

impl Computation for ResidueContacts {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout::columns(1)
    }

    fn own(&self) -> Option<Box<dyn Value>> {
        Some(Box::new(ContactTable::new(self.rule.n_units(), self.keeps_series)))
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        for i in 0..batch.len() {
            let images = self.shortest.of(batch, i)?;
            if let Some(radius) = exceeded_radius(images.as_ref(), self.cutoff) {
                return Err(Error::mismatch(format!("residues may be {} Å apart, more than half the shortest lattice vector of the cell, \
                     {radius:.3} Å: several images of a residue would be in contact. Shorten the cutoff, or repeat the cell in \
                     the trajectory", self.cutoff)).at_frame(batch.header(i).index));
            }
            let level = self.level;
            level.run(Find { contacts: self, batch, i, images })?;
            let found = &self.work.found;
            slots.row(i)[0] = found.len() as f64;
            let table = slots.own.as_mut().and_then(|own| own.here::<ContactTable>());
            table.ok_or_else(|| Error::worker("contacts of residues have no room for their table"))?.add(found);
        }
        Ok(())
    }
}

/// Operation that finds the contacts of a frame.
struct Find<'a> {
    contacts: &'a mut ResidueContacts,
    batch: &'a FrameBatch,
    i: usize,
    images: Option<Periodic>,
}

impl Operation for Find<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Result<()> {
        let Find {
            contacts: ResidueContacts { rows, columns, rule, cutoff, soft, most_compared, work, .. },
            batch,
            i,
            images,
        } = self;
        let mut is_finite = rows.gather(batch, i);
        if let Some(columns) = columns {
            is_finite &= columns.gather(batch, i);
        }
        if !is_finite {
            return Err(not_finite(batch, i, "distances"));
        }
        let n_pieces = columns.as_ref().unwrap_or(rows).len();
        let both = [Some(&*rows), columns.as_ref()];
        let has_images = images.as_ref().is_some_and(|cell| !pieces::is_clear(both, cell, *cutoff));
        let is_compared = !has_images && n_pieces <= *most_compared;
        let cell = images;
        let images = images.filter(|_| has_images);
        if !is_compared {
            rows.make_compact(images.as_ref());
            if let Some(columns) = columns.as_mut() {
                columns.make_compact(images.as_ref());
            }
        }
        let to = columns.as_ref().unwrap_or(rows);
        let reach = Reach::new(*cutoff, [rows, to], images);
        if !is_compared && !work.neighbours.place(to.centres(), images, reach.longest) {
            return Err(not_finite(batch, i, "distances"));
        }
        work.best.resize(to.n_units(), f64::INFINITY);
        work.found.clear();
        let most = cutoff.powi(2) * (1.0 + 1e-12);
        for row in 0..rows.n_units() {
            for piece in rows.of_unit(row) {
                work.candidates.clear();
                if is_compared {
                    for range in rule.ranges(row) {
                        let columns = to.of_unit(range.start).start..to.of_unit(range.end).start;
                        to.near_boxes(rows, piece, columns, *cutoff, &mut work.gaps, |piece| {
                            work.candidates.push(Candidate { piece, shift: Some([0.0; 3]) });
                        });
                    }
                } else {
                    let mut near = Near { reach: &reach, rows, piece, to, candidates: &mut work.candidates };
                    work.neighbours.near(piece as u32, rows.centre(piece), &mut near);
                }
                for candidate in &work.candidates {
                    let column = to.unit(candidate.piece as usize);
                    if !rule.allows(row, column) {
                        continue;
                    }
                    let (one, other) = (rows.points(piece), to.points(candidate.piece as usize));
                    let square = match (candidate.shift, &images) {
                        (Some(shift), _) => one.nearest(other, shift),
                        (None, Some(images)) => one.nearest_image(other, images),
                        (None, None) => one.nearest(other, [0.0; 3]),
                    };
                    if square <= most {
                        let best = &mut work.best[column];
                        if best.is_infinite() {
                            work.touched.push(column as u32);
                        }
                        *best = best.min(square);
                    }
                }
            }
            work.touched.sort_unstable();
            for column in work.touched.drain(..) {
                let square = std::mem::replace(&mut work.best[column as usize], f64::INFINITY);
                let distance = square.sqrt();
                if distance <= *cutoff {
                    let distance = soft.map_or(distance, |soft| {
                        let columns = to.points_of_unit(column as usize);
                        // The soft minimum also includes atoms beyond the cutoff, for which other images may be the nearest.
                        soft.of(distance, rows.points_of_unit(row), columns, cell.as_ref())
                    });
                    work.found.push((rule.pair(row, column as usize), distance));
                }
            }
        }
        if rule.has_repetitions() {
            work.found.sort_unstable_by(|(pair, distance), (other, farther)| {
                pair.cmp(other).then(distance.total_cmp(farther))
            });
            work.found.dedup_by_key(|(pair, _)| *pair);
        }
        Ok(())
    }
}

/// Collector for the pieces that may be near.
struct Near<'a> {
    reach: &'a Reach,
    rows: &'a Pieces,
    piece: usize,
    to: &'a Pieces,
    candidates: &'a mut Vec<Candidate>,
}

impl Visit for Near<'_> {
    #[inline(always)]
    fn visit(&mut self, _: u32, run: Run<'_>) {
        let mut squares = [0.0; MOST];
        for run in run.turns(MOST) {
            run.squares(&mut squares);
            for (k, (&piece, square)) in run.places.iter().zip(squares).enumerate() {
                let reach = self.reach.of(self.rows.radius(self.piece) + self.to.radius(piece as usize));
                if square > reach * reach {
                    continue;
                }
                let shift = self.reach.is_unique(reach).then(|| {
                    let (from, to, vector) =
                        (self.rows.centre(self.piece), self.to.centre(piece as usize), run.vector(k));
                    self.reach.shift(from, to, vector)
                });
                self.candidates.push(Candidate { piece, shift });
            }
        }
    }
}

#[cfg(test)]
mod tests;
