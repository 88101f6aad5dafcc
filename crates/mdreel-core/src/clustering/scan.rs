//! Multithreaded search for the neighbours of frames.

use super::frames::{Frames, Padded};
use super::groups::Groups;
use super::lanes::WIDTH;
use super::pivots::Pivots;
use super::screen::{Comparison, Decision, Limits, Room, Row};
use crate::error::Result;
use crate::pool::{Crew, Monitor, Shared, Worker, run_blocks};
use crate::superpose::Reference;

/// Number of rows that are compared with a group while it is in the cache.
const ROWS: usize = 8;
/// Number of groups between two calls of `tick`.
const PORTION: usize = 64;

/// The frames of the groups with which rows are compared.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// The frames before the row.
    Earlier,
    /// The frames whose bit in the group is set.
    These(&'a [u16]),
}

/// A search among frames with a cutoff.
pub(super) struct Scan<'a> {
    pub frames: &'a Frames<'a>,
    pub pivots: &'a Pivots,
    /// Cutoff in Å.
    pub cutoff: f64,
    pub n_workers: usize,
}

impl Scan<'_> {
    /// Finds the neighbours of each row among the wanted frames of the groups, in ascending order. Calls `merge` with
    /// each row and its neighbours, in row order. If there are several `parts`, the function divides the groups into
    /// parts, so that threads can share a row. It then calls `merge` for each part separately.
    pub(super) fn run(
        &self,
        rows: &[u32],
        groups: &Groups,
        wanted: Wanted<'_>,
        parts: usize,
        monitor: &mut dyn Monitor,
        mut merge: impl FnMut(u32, Vec<u32>) -> Result<()>,
    ) -> Result<()> {
        let half_square = 0.5 * self.cutoff * self.cutoff * self.frames.n_atoms() as f64;
        let limits = Limits { half_square, reach: self.pivots.reach() };
        let make_worker = |_: usize| {
            let (room, columns) = (Room::default(), Padded::default());
            Ok(Searcher { scan: self, rows, groups, wanted, parts, limits, room, columns })
        };
        let n_blocks = rows.len().div_ceil(ROWS) * parts;
        run_blocks(
            0..n_blocks,
            Crew::on_demand(self.n_workers),
            make_worker,
            monitor,
            |found: Vec<(u32, Vec<u32>)>| found.into_iter().try_for_each(|(row, neighbours)| merge(row, neighbours)),
        )?;
        Ok(())
    }
}

struct Searcher<'a> {
    scan: &'a Scan<'a>,
    rows: &'a [u32],
    groups: &'a Groups,
    wanted: Wanted<'a>,
    parts: usize,
    limits: Limits,
    room: Room,
    columns: Padded,
}

impl Worker for Searcher<'_> {
    type Output = Vec<(u32, Vec<u32>)>;

    /// The limit is low because the waiting lists can contain all frames.
    const AHEAD: usize = 4;

    fn work(&mut self, block: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<Self::Output> {
        let (tile, part) = (block / self.parts, block % self.parts);
        let numbers = &self.rows[tile * ROWS..self.rows.len().min((tile + 1) * ROWS)];
        let rows: Vec<Row> = numbers.iter().map(|number| self.row(*number as usize)).collect();
        let mut found: Vec<(u32, Vec<u32>)> = numbers.iter().map(|number| (*number, Vec::new())).collect();
        let mut references: Vec<Option<Reference>> = numbers.iter().map(|_| None).collect();
        let (mut wanted, mut decisions) = ([0; ROWS], Vec::with_capacity(ROWS));
        let n_groups = self.groups.len();
        for group in n_groups * part / self.parts..n_groups * (part + 1) / self.parts {
            if group % PORTION == 0 {
                tick();
                if !shared.wanted(block) {
                    break;
                }
            }
            let ids = self.groups.ids_of(group);
            if matches!(self.wanted, Wanted::Earlier) && ids[0] >= numbers[numbers.len() - 1] {
                break;
            }
            for (wanted, row) in wanted.iter_mut().zip(numbers) {
                *wanted = match self.wanted {
                    Wanted::Earlier => earlier(ids, *row),
                    Wanted::These(bits) => bits[group],
                };
            }
            if wanted[..rows.len()].iter().all(|wanted| *wanted == 0) {
                continue;
            }
            let (limits, groups, wanted) = (self.limits, self.groups, &wanted[..rows.len()]);
            let comparison = Comparison { limits, rows: &rows, groups, group, wanted };
            comparison.decide(self.scan.frames.level(), &mut self.room, &mut decisions);
            for ((decision, reference), (row, found)) in decisions.iter().zip(&mut references).zip(&mut found) {
                self.add(*decision, ids, *row, reference, found)?;
            }
        }
        shared.add_frames(numbers.len());
        Ok(found)
    }
}

impl Searcher<'_> {
    fn row(&self, number: usize) -> Row {
        let mut points = Vec::with_capacity(self.scan.frames.n_atoms());
        let half_moment = 0.5 * self.scan.frames.centred(number, &mut points);
        Row { points, half_moment, distances: self.scan.pivots.of(number) }
    }

    /// Adds the neighbours of a row in a group to `found`. Computes the RMSD of the undecided frames.
    fn add(
        &mut self,
        decision: Decision,
        ids: &[u32],
        row: u32,
        reference: &mut Option<Reference>,
        found: &mut Vec<u32>,
    ) -> Result<()> {
        let mut left = decision.near | decision.undecided;
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            let other = ids[lane];
            if decision.near >> lane & 1 == 1 || self.is_near(row, other, reference)? {
                found.push(other);
            }
        }
        Ok(())
    }

    /// Returns whether the RMSD of the earlier of two frames to the later one is at most the cutoff. `reference` caches
    /// the row as a reference.
    fn is_near(&mut self, row: u32, other: u32, reference: &mut Option<Reference>) -> Result<bool> {
        let (frames, columns) = (self.scan.frames, &mut self.columns);
        let rmsd = if other < row {
            let reference = match reference {
                Some(reference) => reference,
                None => reference.insert(frames.reference(row as usize)?),
            };
            frames.rmsd(reference, other as usize, columns)?
        } else {
            frames.rmsd(&frames.reference(other as usize)?, row as usize, columns)?
        };
        Ok(rmsd <= self.scan.cutoff)
    }
}

/// Returns a bit mask of the numbers below `row`. `ids` must ascend.
fn earlier(ids: &[u32], row: u32) -> u16 {
    let n_earlier = if ids[ids.len() - 1] < row { ids.len() } else { ids.partition_point(|id| *id < row) };
    debug_assert!(n_earlier <= WIDTH);
    ((1u32 << n_earlier) - 1) as u16
}
