//! Sites that interact: atoms, bonded atoms and rings of two groups, and their positions in a frame.

use crate::error::{Error, Result};
use crate::frame::Columns;
use crate::periodic::Periodic;

/// Smallest ratio of the numbers of sites of both parts for which the sites of the larger part are filtered by their distance
/// from the smaller part.
const FEWER: usize = 8;

/// Sites with the same role in an interaction. Each site has one or more atoms and belongs to a residue.
#[derive(Debug, Clone, Default)]
pub struct Sites {
    /// For each site, the index of its first atom in `atoms`, followed by the number of all atoms.
    pub starts: Vec<u32>,
    /// The indices of the atoms in a frame.
    pub atoms: Vec<u32>,
    /// The number of the residue of each site.
    pub residues: Vec<u32>,
    /// The van der Waals radius of each site, in Å; empty for interactions without radii.
    pub radii: Vec<f64>,
}

impl Sites {
    pub(super) fn len(&self) -> usize {
        self.residues.len()
    }

    #[inline(always)]
    pub(super) fn atoms_of(&self, site: usize) -> &[u32] {
        &self.atoms[self.starts[site] as usize..self.starts[site + 1] as usize]
    }

    /// Returns an error unless all atoms exist and each site has the number of atoms that its interaction needs.
    pub(super) fn check(&self, n_atoms: usize, anchor: Anchor, n_needed: usize) -> Result<()> {
        if let Some(atom) = self.atoms.iter().find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("an interaction needs atom {atom} of {n_atoms}")));
        }
        let ends_with = |end: usize| self.starts.last() == Some(&(end as u32));
        let is_whole = self.starts.len() == self.len() + 1 && self.starts[0] == 0 && ends_with(self.atoms.len());
        let suits = |n: u32| if anchor == Anchor::Ring { n >= 3 } else { n as usize == n_needed };
        if !is_whole || self.starts.windows(2).any(|pair| pair[0] > pair[1] || !suits(pair[1] - pair[0])) {
            let expected = if anchor == Anchor::Ring { "3 or more".into() } else { n_needed.to_string() };
            return Err(Error::mismatch(format!("a site has another number of atoms: expected {expected}")));
        }
        Ok(())
    }
}

/// The point of a site from which distances are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// One of the atoms of the site.
    Atom(usize),
    /// The mean position of the atoms of the site, which form a ring.
    Ring,
}

/// The atoms of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Atoms<'a> {
    pub(super) columns: Columns<'a>,
    pub(super) images: Option<Periodic>,
}

impl Atoms<'_> {
    #[inline(always)]
    pub(super) fn at(&self, atom: u32) -> [f64; 3] {
        let Columns { x, y, z } = self.columns;
        [x, y, z].map(|column| f64::from(column[atom as usize]))
    }

    /// Returns the vector to the nearest image of a point.
    #[inline(always)]
    pub(super) fn vector(&self, from: [f64; 3], to: [f64; 3]) -> [f64; 3] {
        let d = std::array::from_fn(|axis| to[axis] - from[axis]);
        self.images.as_ref().map_or(d, |images| images.shortest(d))
    }

    /// Returns whether all coordinates are finite.
    pub(super) fn are_finite(&self) -> bool {
        let Columns { x, y, z } = self.columns;
        [x, y, z].into_iter().all(|column| column.iter().fold(true, |all, value| all & value.is_finite()))
    }
}

/// The positions of the sites of a part in the current frame.
#[derive(Debug, Default)]
pub(super) struct Points {
    pub(super) columns: [Vec<f64>; 3],
    /// Normal vectors of rings; empty for other sites.
    pub(super) normals: Vec<[f64; 3]>,
}

impl Points {
    #[inline(always)]
    pub(super) fn point(&self, site: usize) -> [f64; 3] {
        self.columns.each_ref().map(|column| column[site])
    }

    pub(super) fn columns(&self) -> [&[f64]; 3] {
        self.columns.each_ref().map(|column| &column[..])
    }

    /// Writes the numbers and positions of the sites that may be within a distance of a much smaller part.
    ///
    /// The smaller part is enclosed by a sphere. Returns false if the filter does not apply, so that all sites must be
    /// searched.
    pub(super) fn filter(
        &self,
        smaller: &Points,
        atoms: &Atoms<'_>,
        distance: f64,
        numbers: &mut Vec<u32>,
        columns: &mut [Vec<f64>; 3],
    ) -> bool {
        if FEWER * smaller.columns[0].len() > self.columns[0].len() {
            return false;
        }
        let centre = smaller.point(0);
        let sites = 0..smaller.columns[0].len();
        let radius = sites.map(|site| length(atoms.vector(centre, smaller.point(site)))).fold(0.0, f64::max);
        let limit = (radius + distance) * (1.0 + 1e-9) + 1e-9;
        if atoms.images.is_some_and(|images| limit >= images.unique_radius()) {
            return false;
        }
        numbers.clear();
        columns.iter_mut().for_each(Vec::clear);
        for site in 0..self.columns[0].len() {
            let point = self.point(site);
            let d = atoms.vector(centre, point);
            if dot(d, d) <= limit * limit {
                numbers.push(site as u32);
                columns.iter_mut().zip(point).for_each(|(column, value)| column.push(value));
            }
        }
        true
    }

    /// Computes the positions of the sites in a frame.
    pub(super) fn gather(&mut self, sites: &Sites, anchor: Anchor, atoms: &Atoms<'_>) {
        self.columns.iter_mut().for_each(Vec::clear);
        self.normals.clear();
        for site in 0..sites.len() {
            let of_site = sites.atoms_of(site);
            let point = match anchor {
                Anchor::Atom(k) => atoms.at(of_site[k]),
                Anchor::Ring => {
                    let (centre, normal) = ring(of_site, atoms);
                    self.normals.push(normal);
                    centre
                }
            };
            self.columns.iter_mut().zip(point).for_each(|(column, value)| column.push(value));
        }
    }
}

/// Returns the mean position of the atoms of a ring, and the normal of the plane through this point and the first two atoms.
fn ring(of_ring: &[u32], atoms: &Atoms<'_>) -> ([f64; 3], [f64; 3]) {
    let first = atoms.at(of_ring[0]);
    let mut sum = [0.0; 3];
    for &atom in of_ring {
        let d = atoms.vector(first, atoms.at(atom));
        sum = std::array::from_fn(|axis| sum[axis] + d[axis]);
    }
    let middle = sum.map(|value| value / of_ring.len() as f64);
    let second = atoms.vector(first, atoms.at(of_ring[1]));
    let normal = cross(middle.map(|value| -value), std::array::from_fn(|axis| second[axis] - middle[axis]));
    (std::array::from_fn(|axis| first[axis] + middle[axis]), normal)
}

#[inline(always)]
pub(super) fn cross(u: [f64; 3], v: [f64; 3]) -> [f64; 3] {
    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
}

#[inline(always)]
pub(super) fn dot(u: [f64; 3], v: [f64; 3]) -> f64 {
    u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
}

#[inline(always)]
pub(super) fn length(u: [f64; 3]) -> f64 {
    dot(u, u).sqrt()
}

/// Returns the angle between two vectors, in radians.
#[inline(always)]
pub(super) fn angle(u: [f64; 3], v: [f64; 3]) -> f64 {
    length(cross(u, v)).atan2(dot(u, v))
}
