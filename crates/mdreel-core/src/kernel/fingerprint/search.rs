//! Search for the pairs of sites that interact in a frame.

use super::interaction::Interaction;
use super::sites::{Atoms, Points};
use crate::neighbours::{Neighbours, Run, Visit};

/// Number of distances that are computed together.
const MOST: usize = 256;

/// Working memory that is reused from frame to frame.
#[derive(Debug, Default)]
pub(super) struct Search {
    points: [Points; 2],
    /// The sites of the larger part that may be near the smaller part.
    close: Vec<u32>,
    /// The positions of these sites, in Å.
    columns: [Vec<f64>; 3],
    neighbours: Neighbours,
    near: Vec<([u32; 2], f64)>,
}

impl Search {
    /// Calls a function for each pair of sites that interact, with the residues in both groups, the sites and the distance.
    /// Returns whether all distances are finite.
    #[inline(always)]
    pub(super) fn each_pair(
        &mut self,
        interaction: &Interaction,
        atoms: &Atoms<'_>,
        mut call: impl FnMut([u32; 2], [u32; 2], f64),
    ) -> bool {
        let Search { points, close, columns, neighbours, near } = self;
        let Interaction { rule, parts, is_swapped, .. } = interaction;
        if parts.iter().any(|sites| sites.len() == 0) {
            return true;
        }
        for ((points, sites), (anchor, _)) in points.iter_mut().zip(parts).zip(rule.parts()) {
            points.gather(sites, anchor, atoms);
        }
        // The sites of the larger part are sorted into cells. The search visits their neighbours from each site of the smaller
        // part.
        let large = usize::from(parts[1].len() >= parts[0].len());
        let small = 1 - large;
        let reach = rule.reach(parts);
        let is_filtered = points[large].filter(&points[small], atoms, reach, close, columns);
        let placed = if is_filtered { columns.each_ref().map(|column| &column[..]) } else { points[large].columns() };
        if !neighbours.place(placed, atoms.images, reach) {
            return false;
        }
        if is_filtered {
            neighbours.renumber(close);
        }
        near.clear();
        let residues = [&parts[small].residues[..], &parts[large].residues[..]];
        let most = reach * reach * (1.0 + 1e-12);
        let mut visit = Near { residues, most, squares: [0.0; MOST], near };
        for site in 0..parts[small].len() {
            neighbours.near(site as u32, points[small].point(site), &mut visit);
        }
        for &([from, to], square) in near.iter() {
            let of_parts = if small == 0 { [from, to] } else { [to, from] };
            let groups = if *is_swapped { [1, 0] } else { [0, 1] };
            let distance = square.sqrt();
            if rule.holds(atoms, parts, points, of_parts.map(|site| site as usize), distance) {
                let residues = groups.map(|part| parts[part].residues[of_parts[part] as usize]);
                call(residues, groups.map(|part| of_parts[part]), distance);
            }
        }
        true
    }
}

/// Collector for the sites of different residues that may be near each other.
struct Near<'a> {
    residues: [&'a [u32]; 2],
    most: f64,
    squares: [f64; MOST],
    near: &'a mut Vec<([u32; 2], f64)>,
}

impl Visit for Near<'_> {
    #[inline(always)]
    fn visit(&mut self, from: u32, run: Run<'_>) {
        for run in run.turns(MOST) {
            run.squares(&mut self.squares);
            for (&to, square) in run.places.iter().zip(self.squares) {
                if square <= self.most && self.residues[0][from as usize] != self.residues[1][to as usize] {
                    self.near.push(([from, to], square));
                }
            }
        }
    }
}
