//! Solvent-accessible surface: the part of the sphere around each atom that is outside the spheres of all other atoms (Shrake
//! and Rupley, J. Mol. Biol. 79 (1973) 351).

mod caps;
mod changing;
mod sphere;

use std::f64::consts::PI;
use std::sync::Arc;

use caps::{Candidates, Caps};
use changing::{Changing, Members};
use sphere::Sphere;

use super::group::Group;
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::{FrameBatch, FrameHeader};
use crate::neighbours::Neighbours;
use crate::periodic::Periodic;
use crate::reduce::{Layout, Slots, Sum};
use crate::simd::{Lanes, Level, Operation};

/// Largest number of points on a sphere.
const MOST_POINTS: usize = 1 << 20;
/// The largest radius of a sphere, Å.
const MOST_RADIUS: f64 = 1000.0;

/// Results of the computation in addition to the sum of the areas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// No further results.
    Total,
    /// All areas of each frame.
    All,
    /// For each area, the sum over frames and the sum of squares.
    Statistics,
}

impl Keep {
    /// Returns the variant with this name: `total`, `all` or `statistics`.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "total" => Ok(Keep::Total),
            "all" => Ok(Keep::All),
            "statistics" => Ok(Keep::Statistics),
            _ => Err(Error::unsupported(format!("unknown what to keep: {name:?}; known: total, all, statistics"))),
        }
    }
}

/// Solvent-accessible surface areas in Å²: their sum in each frame, and the additional results that [`Keep`] selects.
#[derive(Debug)]
pub struct SurfaceArea {
    spheres: Arc<Spheres>,
    measured: Arc<Vec<[u32; 2]>>,
    changing: Option<Changing>,
    n_areas: usize,
    is_periodic: bool,
    keep: Keep,
    level: Level,
    memory: Memory,
}

/// Spheres around all atoms that may cover others.
#[derive(Debug)]
struct Spheres {
    /// The radii, including the radius of the probe, in Å.
    radii: Vec<f64>,
    largest: f64,
    points: Sphere,
}

/// Working memory for frames.
#[derive(Debug, Default)]
struct Memory {
    /// x, y and z of all atoms that cover others in a frame.
    columns: [Vec<f64>; 3],
    /// Measured atoms of a changing group.
    members: Members,
    neighbours: Neighbours,
    candidates: Candidates,
    caps: Caps,
    areas: Vec<f64>,
}

impl SurfaceArea {
    /// Creates the computation for atoms with these van der Waals radii and a probe (Å), with `n_points` points on each sphere.
    ///
    /// `measured` contains the measured atoms, each with the number of the area to which it contributes. With `is_periodic`,
    /// every frame must have a cell, and periodic images are neighbours as well. Returns an error if a radius or number is out
    /// of range, or an atom does not exist.
    pub fn new(
        radii: &[f64],
        probe: f64,
        n_points: usize,
        measured: Vec<[u32; 2]>,
        is_periodic: bool,
        keep: Keep,
    ) -> Result<Self> {
        let mismatch = |message: String| Err(Error::mismatch(message));
        if !(1..=MOST_POINTS).contains(&n_points) {
            return mismatch(format!("a sphere has {n_points} points: expected 1 to {MOST_POINTS}"));
        }
        if !(0.0..=MOST_RADIUS).contains(&probe) {
            return mismatch(format!("the probe has a radius of {probe} Å: expected 0 to {MOST_RADIUS}"));
        }
        if let Some(atom) = radii.iter().position(|radius| !(0.0..=MOST_RADIUS).contains(radius)) {
            let radius = radii[atom];
            return mismatch(format!("atom {atom} has a radius of {radius} Å: expected 0 to {MOST_RADIUS}"));
        }
        if let Some([atom, _]) = measured.iter().find(|[atom, _]| *atom as usize >= radii.len()) {
            return mismatch(format!("a surface needs atom {atom} of {}", radii.len()));
        }
        let n_areas = measured.iter().map(|[_, area]| *area as usize + 1).max().unwrap_or(0);
        if measured.is_empty() || n_areas > measured.len() {
            return mismatch(format!("{} atoms have no {n_areas} areas", measured.len()));
        }
        let radii: Vec<f64> = radii.iter().map(|radius| radius + probe).collect();
        let largest = radii.iter().copied().fold(0.0, f64::max);
        let spheres = Arc::new(Spheres { radii, largest, points: Sphere::new(n_points) });
        let (measured, level, memory) = (Arc::new(measured), Level::detect(), Memory::default());
        Ok(SurfaceArea { spheres, measured, changing: None, n_areas, is_periodic, keep, level, memory })
    }

    /// Restricts the measured atoms to the members of a group among `n_atoms` atoms that is selected again in each frame.
    ///
    /// `places` contains the atoms to which the radii belong. `measured` contains, for each atom of the group, its index in
    /// `places` and the number of its area. With `is_alone`, only members cover one another. With statistics, the count of each
    /// area is the number of frames in which it has members; only these frames contribute to its sums. Returns an error with
    /// `Keep::All`, because the areas of each frame are not available for a changing group.
    pub fn of_changing(
        self,
        n_atoms: usize,
        places: Vec<u32>,
        group: impl Into<Group>,
        is_alone: bool,
    ) -> Result<Self> {
        if self.keep == Keep::All {
            return Err(Error::unsupported("areas of each frame are not kept of a group that changes"));
        }
        if places.len() != self.spheres.radii.len() {
            let message = format!("{} atoms have {} radii", places.len(), self.spheres.radii.len());
            return Err(Error::mismatch(message));
        }
        let changing = Changing::new(n_atoms, places, group.into(), is_alone, (&self.measured, self.n_areas))?;
        Ok(SurfaceArea { changing: Some(changing), ..self })
    }

    /// Sets the vector instructions. The level does not affect the bits of the result.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn at_level(self, level: Level) -> Self {
        SurfaceArea { level, ..self }
    }

    /// Returns the periodic images of a frame. Returns an error if a required cell is missing or too small.
    fn images(&self, header: &FrameHeader) -> Result<Option<Periodic>> {
        if !self.is_periodic {
            return Ok(None);
        }
        let reach = self.spheres.reach();
        match Periodic::of_frame(header)? {
            None => Err(Error::mismatch("no periodic cell: there are no images").at_frame(header.index)),
            Some(cell) if cell.unique_radius() < reach => Err(Error::mismatch(format!(
                "half the shortest lattice vector of the cell is {} Å, below the reach of an atom, {reach} Å: \
                 several images of an atom would be its neighbours",
                cell.unique_radius()
            ))
            .at_frame(header.index)),
            cell => Ok(cell),
        }
    }

    /// Computes the areas of the i-th frame.
    #[inline(always)]
    fn measure<L: Lanes>(&mut self, batch: &FrameBatch, i: usize) -> Result<()> {
        let images = self.images(batch.header(i))?;
        let (columns, spheres) = (batch.columns(i), &*self.spheres);
        let columns = [columns.x, columns.y, columns.z];
        let Memory { columns: points, members, neighbours, candidates, caps, areas } = &mut self.memory;
        match &mut self.changing {
            None => {
                for (point, column) in points.iter_mut().zip(columns) {
                    point.clear();
                    point.extend(column.iter().map(|&value| f64::from(value)));
                }
            }
            Some(changing) => changing.gather(batch, i, &self.measured, points, members)?,
        }
        if !neighbours.place(points.each_ref().map(|column| &column[..]), images, spheres.reach()) {
            return Err(not_finite(batch, i, "surface"));
        }
        let n_measured = match &self.changing {
            None => self.measured.len(),
            Some(changing) => {
                if changing.is_alone() {
                    neighbours.renumber(&members.spheres);
                }
                members.measured.len()
            }
        };
        areas.clear();
        areas.resize(self.n_areas, 0.0);
        for k in 0..n_measured {
            let (place, [sphere, area]) = match &self.changing {
                None => (self.measured[k][0], self.measured[k]),
                Some(_) => members.measured[k],
            };
            candidates.clear();
            neighbours.near(sphere, points.each_ref().map(|column| column[place as usize]), candidates);
            caps.find::<L>(sphere, &spheres.radii, candidates);
            let n_open = caps.n_open::<L>(&spheres.points);
            areas[area as usize] += f64::from(n_open) * spheres.area_of_point(sphere as usize);
        }
        Ok(())
    }

    /// Writes the results for the i-th frame to the slots.
    fn leave(&self, batch: &FrameBatch, i: usize, slots: &mut Slots<'_>) -> Result<()> {
        let (areas, row) = (&self.memory.areas, slots.row(i));
        row[0] = areas.iter().sum();
        match self.keep {
            Keep::Total => {}
            Keep::All => row[1..].copy_from_slice(areas),
            Keep::Statistics => {
                let sums = slots.sums.as_chunks_mut::<2>().0;
                for (number, (area, [sum, sum_of_squares])) in areas.iter().zip(sums).enumerate() {
                    if self.changing.is_some() {
                        if !self.memory.members.has_area[number] {
                            continue;
                        }
                        slots.counts[number] += 1;
                    }
                    let square = area * area;
                    if square > Sum::MOST {
                        let frame = batch.header(i).index;
                        return Err(Error::mismatch(format!("an area is {area} Å²: expected 262 144 Å² at most"))
                            .at_frame(frame));
                    }
                    *sum += Sum::of(*area);
                    *sum_of_squares += Sum::of(square);
                }
            }
        }
        Ok(())
    }
}

impl Spheres {
    /// Returns the largest distance at which the spheres of two atoms can overlap, in Å.
    fn reach(&self) -> f64 {
        2.0 * self.largest
    }

    /// Returns the area that one point on the sphere around an atom represents, in Å².
    fn area_of_point(&self, atom: usize) -> f64 {
        4.0 * PI * self.radii[atom] * self.radii[atom] / self.points.n_points as f64
    }
}

impl Computation for SurfaceArea {
    fn n_atoms(&self) -> usize {
        self.changing.as_ref().map_or(self.spheres.radii.len(), Changing::n_atoms)
    }

    fn layout(&self) -> Layout {
        match self.keep {
            Keep::Total => Layout::columns(1),
            Keep::All => Layout::columns(1 + self.n_areas),
            Keep::Statistics => {
                let n_counts = if self.changing.is_some() { self.n_areas } else { 0 };
                Layout { n_columns: 1, n_sums: 2 * self.n_areas, n_counts, ..Layout::default() }
            }
        }
    }

    fn another(&self) -> Box<dyn Computation> {
        let (spheres, measured, changing) = (self.spheres.clone(), self.measured.clone(), self.changing.clone());
        Box::new(SurfaceArea { spheres, measured, changing, memory: Memory::default(), ..*self })
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        for i in 0..batch.len() {
            self.level.run(Measure { surface: self, batch, i })?;
            self.leave(batch, i, slots)?;
        }
        Ok(())
    }
}

struct Measure<'a> {
    surface: &'a mut SurfaceArea,
    batch: &'a FrameBatch,
    i: usize,
}

impl Operation for Measure<'_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<L: Lanes>(self) -> Result<()> {
        self.surface.measure::<L>(self.batch, self.i)
    }
}

#[cfg(test)]
mod tests;
